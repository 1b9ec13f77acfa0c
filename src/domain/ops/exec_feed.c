/* SPDX-License-Identifier: Apache-2.0 */
/* What a client sends to a running command. */
#include "domain/ops/exec_feed.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "foundation/loop/loop.h"

#define PIECE (64u * 1024)

struct cay_op_feed {
        struct cay_exec_input piece;
        struct cay_deferred release;
        struct cay_loop *loop;
        struct cay_op_call *call; /* NULL: freed after on_taken of the pending piece */
        void (*on_taken)(struct cay_op_call *c, size_t len, const struct cay_error *err);
        char sandbox[CAY_NAME_MAX + 1], exec[CAY_NAME_MAX + 1];
        bool busy, has_offset;
        uint64_t offset, next;
        char bytes[PIECE];
};

static void release_feed(struct cay_deferred *d)
{
        free(cay_container_of(d, struct cay_op_feed, release));
}

static void let_go(struct cay_op_feed *f)
{
        f->release.run = release_feed;
        cay_loop_defer(f->loop, &f->release);
}

struct cay_op_feed *cay_op_feed_new(struct cay_op_call *c, const char *sandbox, const char *exec,
                                    void (*on_taken)(struct cay_op_call *c, size_t len,
                                                     const struct cay_error *err))
{
        struct cay_op_feed *f = calloc(1, sizeof(*f));

        if (!f)
                return NULL;
        f->call = c;
        f->loop = c->world->loop;
        f->on_taken = on_taken;
        memccpy(f->sandbox, sandbox, '\0', CAY_NAME_MAX);
        memccpy(f->exec, exec, '\0', CAY_NAME_MAX);
        return f;
}

/* A piece that is done but not reported yet frees itself when it is reported. */
void cay_op_feed_free(struct cay_op_feed *f)
{
        if (!f)
                return;
        f->call = NULL;
        if (f->busy && !f->piece.job.queued) {
                cay_exec_input_cancel(&f->piece);
                f->busy = false;
        }
        if (!f->busy)
                let_go(f);
}

void cay_op_feed_at(struct cay_op_feed *f, uint64_t offset)
{
        f->has_offset = true;
        f->offset = f->next = offset;
}

uint64_t cay_op_feed_next(const struct cay_op_feed *f)
{
        return f->next;
}

bool cay_op_feed_is_busy(const struct cay_op_feed *f)
{
        return f->busy;
}

static void on_done(struct cay_job *job)
{
        struct cay_op_feed *f = cay_container_of(job, struct cay_op_feed, piece.job);
        struct cay_error err = job->err;

        f->busy = false;
        f->next = f->piece.next;
        if (!f->call)
                let_go(f);
        else
                f->on_taken(f->call, f->piece.len, &err);
}

static void send_piece(struct cay_op_feed *f, size_t len, bool eof)
{
        struct cay_viewer viewer = cay_op_viewer(f->call);

        f->busy = true;
        memset(&f->piece, 0, sizeof(f->piece));
        f->piece.bytes = f->bytes;
        f->piece.len = len;
        f->piece.eof = eof;
        f->piece.has_offset = f->has_offset;
        f->piece.offset = f->offset;
        f->offset += len;
        cay_job_init(&f->piece.job, on_done);
        cay_service_exec_input(f->call->world->service, &viewer, f->sandbox, f->exec, &f->piece);
}

size_t cay_op_feed_put(struct cay_op_feed *f, const void *bytes, size_t len)
{
        size_t n = len < PIECE ? len : PIECE;

        if (f->busy || n == 0)
                return 0;
        memcpy(f->bytes, bytes, n);
        send_piece(f, n, false);
        return n;
}

void cay_op_feed_end(struct cay_op_feed *f)
{
        send_piece(f, 0, true);
}

void cay_op_feed_again(struct cay_op_feed *f)
{
        size_t len = f->piece.len;

        f->offset -= len; /* where it was */
        send_piece(f, len, f->piece.eof);
}

static int find_signal(const char *text, int *ret, struct cay_error *err)
{
        char name[CAY_SIGNAL_NAME_MAX];

        for (int signo = 1; signo <= 64; signo++) {
                char number[12];

                cay_signal_name(signo, name);
                snprintf(number, sizeof(number), "%d", signo);
                if (strcasecmp(name, text) == 0 || strcmp(number, text) == 0 ||
                    (strncmp(name, "SIG", 3) == 0 && strcasecmp(name + 3, text) == 0)) {
                        *ret = signo;
                        return 0;
                }
        }
        return cay_fail(err, CAY_INVALID, "signal: '%.20s' is not a signal", text);
}

int cay_op_exec_order(struct cay_op_call *c, const char *sandbox, const char *exec,
                      const struct cay_op_order *order, struct cay_error *err)
{
        struct cay_viewer viewer = cay_op_viewer(c);
        int signo = 0;

        if ((order->rows || order->cols) &&
            cay_service_exec_resize(c->world->service, &viewer, sandbox, exec, (unsigned)order->rows,
                                    (unsigned)order->cols, err) < 0)
                return -1;
        if (!order->signal)
                return 0;
        if (find_signal(order->signal, &signo, err) < 0)
                return -1;
        return cay_service_exec_signal(c->world->service, &viewer, sandbox, exec, signo, err);
}
