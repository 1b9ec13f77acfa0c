/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where to begin drawing a command's terminal. A client that opens it late needs its last screens, not
 * megabytes. The output must not begin inside an escape sequence, or on the wrong one of two screens
 * (domain/model/screen.h).
 *
 * The output is read from the oldest kept byte, a part in each round of the loop.
 */
#include <string.h>

#include "domain/model/screen.h"
#include "foundation/loop/loop.h"
#include "domain/ops/op.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"

#define REPLAY (256u * 1024) /* bytes to draw, if there are more */
#define PIECE (64u * 1024)
#define ROUND (512u * 1024) /* bytes scanned before others have their turn */

struct args {
        const char *id, *exec;
};

static const struct cay_field fields[] = {
        { "id", CAY_FIELD_TEXT, offsetof(struct args, id), 0, "the sandbox", .min = 1, .max = CAY_NAME_MAX },
        { "exec", CAY_FIELD_TEXT, offsetof(struct args, exec), 0, "the command", .min = 1,
          .max = CAY_NAME_MAX },
        {},
};

struct look {
        struct cay_exec_watcher watcher;
        struct cay_deferred release;
        struct cay_timer next; /* round */
        struct cay_op_call *call;
        struct cay_screen screen;
        uint64_t end; /* end of the output at the time of the request */
};

static void release_exec_screen(struct cay_deferred *d)
{
        free(cay_container_of(d, struct look, release));
}

static void finish(struct look *s)
{
        struct cay_loop *loop = s->call->world->loop;

        cay_timer_clear(&s->next);
        cay_service_exec_unwatch(&s->watcher);
        s->call = NULL;
        s->release.run = release_exec_screen;
        cay_loop_defer(loop, &s->release);
}

static void answer(struct look *s)
{
        struct cay_op_call *c = s->call;
        cay_auto_buf struct cay_buf begin = { 0 };
        struct cay_op_result o;

        cay_buf_init(&begin, CAY_SCREEN_TEXT_MAX);
        if (cay_screen_put(&s->screen, &begin) < 0)
                cay_buf_clear(&begin); /* no room for it: drawn without */
        cay_op_result_begin(&o, c);
        cay_op_key_u64(&o.j, "cursor", s->screen.at);
        cay_op_key_u64(&o.j, "end", s->end);
        cay_json_key(&o.j, "begin");
        cay_json_string(&o.j, cay_buf_data(&begin), begin.len);
        finish(s);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

static void read_on(struct look *s);

static void on_next(struct cay_timer *t)
{
        read_on(cay_container_of(t, struct look, next));
}

static void read_on(struct look *s)
{
        struct cay_op_call *c = s->call;
        char bytes[PIECE];
        struct cay_exec_piece piece;
        struct cay_error err = { 0 };
        size_t seen = 0;
        int r;

        while (!s->screen.found && s->screen.at < s->end && seen < ROUND) {
                r = cay_exec_watcher_read(&s->watcher, bytes, sizeof(bytes), &piece, &err);
                if (r < 0 && (err.code == CAY_CONFLICT || err.code == CAY_DAMAGED)) { /* from what is there */
                        uint64_t want = s->screen.want > piece.cursor ? s->screen.want : piece.cursor;

                        cay_screen_init(&s->screen, piece.cursor, want);
                        err = (struct cay_error){ 0 };
                        continue;
                }
                if (r < 0) {
                        finish(s);
                        cay_op_fail(c, &err, NULL);
                        return;
                }
                if (r == 0)
                        break; /* there is no more */
                seen += piece.len;
                cay_screen_feed(&s->screen, bytes, piece.len);
        }
        if (seen < ROUND)
                answer(s);
        else
                cay_timer_set(c->world->loop, &s->next, 0, on_next);
}

/* The timer always continues it. */
static void on_output(struct cay_exec_watcher *w)
{
        (void)w;
}

static void on_gone(struct cay_op_call *c)
{
        finish(c->state);
        cay_op_abort(c);
}

static int begin(struct cay_op_call *c, struct look *s, struct cay_error *err)
{
        const struct args *a = c->args;
        struct cay_service *service = c->world->service;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_sandbox_view box;
        struct cay_exec_view exec;
        uint64_t want;

        if (cay_service_get(service, &viewer, a->id, &box, err) < 0 ||
            cay_service_exec_get(service, &viewer, box.id, a->exec, &exec, err) < 0)
                return -1;
        if (!exec.tty)
                return cay_fail(err, CAY_INVALID, "exec: this command has no terminal; start it with tty");
        s->end = exec.output_end;
        want = s->end > REPLAY ? s->end - REPLAY : 0;
        cay_screen_init(&s->screen, exec.output_first, want > exec.output_first ? want : exec.output_first);
        return cay_service_exec_watch(service, &viewer, box.id, a->exec, exec.output_first, false,
                                      &s->watcher, err);
}

static void run_exec_screen(struct cay_op_call *c)
{
        struct look *s = calloc(1, sizeof(*s));
        struct cay_error err = { 0 };

        if (!s) {
                cay_op_fail_memory(c);
                return;
        }
        s->watcher.on_output = on_output;
        if (begin(c, s, &err) < 0) {
                free(s);
                cay_op_fail(c, &err, "exec");
                return;
        }
        s->call = c;
        c->state = s;
        c->on_gone = on_gone;
        c->works_for_listener = true;
        cay_timer_set(c->world->loop, &s->next, 0, on_next);
}

RESULT(result_screen, NULL, NUMBER("cursor"), NUMBER("end"), TEXT("begin"));

const struct cay_op cay_op_exec_screen = {
        .name = "exec_screen",
        .route = "GET /api/sandboxes/{id}/execs/{exec}/screen",
        .doc = "Returns where to start drawing a command's terminal, and what to write to it first",
        .scope = CAY_SCOPE_READ,
        .fields = fields,
        .args_size = sizeof(struct args),
        .result = &result_screen,
        .run = run_exec_screen,
};
