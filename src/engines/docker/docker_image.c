/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds and lists. A build's lines arrive on a separate socket, one message each. cay-docker closes it
 * before it answers, so the rest of it is read when the answer arrives.
 */
#include "engines/docker/docker_image.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/str.h"
#include "foundation/loop/loop.h"
#include "links/helper/docker_message.h"

static_assert((int)CAY_IMAGE_STATE_COUNT == (int)DOCKER_IMAGE_STATE_COUNT &&
                      (int)CAY_IMAGE_STATE_STALE == (int)DOCKER_IMAGE_STALE &&
                      (int)CAY_IMAGE_STATE_FAILED == (int)DOCKER_IMAGE_FAILED,
              "the same states");

struct ask { /* one request; freed with its answer */
        struct engine_call call;
        struct engine_link *link;
        struct cay_loop *loop;
        struct cay_job *job;
        struct cay_build *build;   /* NULL: none */
        struct cay_images *images; /* NULL: none */
        struct cay_image *image;   /* NULL: none */
        struct cay_watch lines;
        int fd; /* owned; -1: none (any more) */
};

_Static_assert(sizeof(DOCKER_IMAGE_LACKS) == sizeof(CAY_IMAGE_LACKS), "one word for both");

/* cay-docker's answers are not trusted: texts are terminated, states are checked. */
static void take_image(const struct docker_answer *a, struct cay_image *ret)
{
        *ret = (struct cay_image){
                .state = a->image.state < CAY_IMAGE_STATE_COUNT ? (enum cay_image_state)a->image.state
                                                                : CAY_IMAGE_STATE_NONE,
                .size_bytes = a->image.size_bytes,
                .built_s = a->image.built_s,
                .up_to_date = a->image.up_to_date,
                .dropped = a->image.dropped,
        };
        snprintf(ret->template_name, sizeof(ret->template_name), "%.*s", CAY_IMAGE_NAME - 1, a->image.name);
        snprintf(ret->id, sizeof(ret->id), "%.*s", CAY_IMAGE_ID - 1, a->image.id);
        snprintf(ret->context, sizeof(ret->context), "%.*s", CAY_IMAGE_CONTEXT - 1, a->image.context);
        snprintf(ret->step, sizeof(ret->step), "%.*s", CAY_IMAGE_TEXT - 1, a->image.step);
        snprintf(ret->error, sizeof(ret->error), "%.*s", CAY_IMAGE_TEXT - 1, a->image.error);
}

static void close_lines(struct ask *k)
{
        cay_watch_remove(&k->lines);
        if (k->fd >= 0)
                close(cay_take_fd(k->fd));
}

static void finish(struct ask *k, const struct cay_error *err)
{
        close_lines(k);
        if (k->build)
                k->build->engine = NULL;
        cay_job_finish(cay_loop_jobs(k->loop), k->job, err->code != CAY_OK ? err : NULL);
        free(k);
}

/* One line; false: there is none now. */
static bool read_line(struct ask *k)
{
        char line[DOCKER_LINE_MAX + 1];
        ssize_t n = recv(k->fd, line, sizeof(line), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return false;
        if (n <= 0) {
                close_lines(k);
                return false;
        }
        if (k->build->on_line)
                k->build->on_line(k->build, line, (size_t)(line[n - 1] == '\n' ? n - 1 : n));
        return k->fd >= 0; /* the callback may have ended it */
}

static void on_lines(struct cay_watch *w, uint32_t events)
{
        struct ask *k = cay_container_of(w, struct ask, lines);

        (void)events;
        for (unsigned i = 0; i < 64 && w->events != 0 && read_line(k); i++)
                ;
}

static void on_answer(struct engine_call *call, const struct helper_answer_head *a);

static void ask_row(struct ask *k, unsigned from)
{
        struct docker_request req = { .type = DOCKER_image_list, .list.from = from };

        engine_link_ask(k->link, &k->call, &req, NULL, 0);
}

static void on_answer(struct engine_call *call, const struct helper_answer_head *a)
{
        struct ask *k = cay_container_of(call, struct ask, call);
        const struct docker_answer *whole = (const struct docker_answer *)(const void *)a;
        struct cay_error err = { 0 };

        while (k->fd >= 0 && read_line(k))
                ;
        engine_link_read_error(k->link, a, &err);
        if (err.code == CAY_OK && k->images && whole->image.name[0] && k->images->count < k->images->max) {
                take_image(whole, &k->images->rows[k->images->count++]);
                ask_row(k, k->images->count);
                return;
        }
        if (err.code == CAY_OK && k->image)
                take_image(whole, k->image);
        finish(k, &err);
}

static struct ask *make(struct engine_link *l, struct cay_loop *loop, struct cay_job *job)
{
        struct ask *k = calloc(1, sizeof(*k));
        struct cay_error err = { 0 };

        if (!k) {
                cay_fail(&err, CAY_INTERNAL, "no memory for a request");
                cay_job_finish(cay_loop_jobs(loop), job, &err);
                return NULL;
        }
        k->call.on_answer = on_answer;
        k->link = l;
        k->loop = loop;
        k->job = job;
        k->fd = -1;
        return k;
}

void docker_image_build(struct engine_link *l, struct cay_loop *loop, struct cay_build *b,
                        struct cay_job *job)
{
        struct docker_request req = { .type = DOCKER_image_build };
        struct ask *k = make(l, loop, job);
        struct cay_error err = { 0 };
        int socks[2], r;

        if (!k)
                return;
        k->build = b;
        k->image = &b->image;
        b->engine = k;
        req.image.flags = (b->cancels ? DOCKER_BUILD_CANCEL : 0) | (b->no_cache ? DOCKER_BUILD_NO_CACHE : 0);
        if (!cay_str_copy(req.image.name, sizeof(req.image.name), b->template_name)) {
                cay_fail(&err, CAY_INVALID, "template: the name is too long");
                finish(k, &err);
                return;
        }
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0) {
                cay_fail_sys(&err, CAY_LIMIT, -errno, "make a socket for the build's lines");
                finish(k, &err);
                return;
        }
        k->fd = socks[0];
        r = cay_watch_add(loop, &k->lines, k->fd, EPOLLIN, on_lines);
        if (r < 0)
                cay_fail_sys(&err, CAY_INTERNAL, r, "listen to the build");
        else
                engine_link_ask(l, &k->call, &req, &socks[1], 1);
        close(socks[1]);
        if (r < 0)
                finish(k, &err);
}

void docker_image_flow(struct cay_build *b, enum cay_build_flow flow)
{
        struct ask *k = b->engine;

        if (!k || k->fd < 0)
                return;
        if (flow == CAY_BUILD_LEAVE)
                close_lines(k);
        else
                cay_watch_set(&k->lines, flow == CAY_BUILD_FOLLOW ? EPOLLIN : 0);
}

void docker_image_list(struct engine_link *l, struct cay_loop *loop, struct cay_images *ret,
                       struct cay_job *job)
{
        struct ask *k = make(l, loop, job);

        if (!k)
                return;
        k->images = ret;
        ret->count = 0;
        ask_row(k, 0);
}

void docker_image_remove(struct engine_link *l, struct cay_loop *loop, const char *template_name,
                         struct cay_image *ret, struct cay_job *job)
{
        struct docker_request req = { .type = DOCKER_image_drop };
        struct ask *k = make(l, loop, job);

        if (!k)
                return;
        k->image = ret;
        cay_str_copy(req.image.name, sizeof(req.image.name), template_name); /* too long: "", which is none */
        engine_link_ask(l, &k->call, &req, NULL, 0);
}
