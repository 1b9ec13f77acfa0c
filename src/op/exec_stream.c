/* SPDX-License-Identifier: Apache-2.0 */
/* A command's output as a stream of events. */
#include "op/exec_stream.h"

#include <inttypes.h>
#include <stdio.h>

#include "loop/loop.h"
#include "op/view.h"

#define PIECE (32u * 1024)

struct stream {
        struct cay_exec_watcher watcher;
        struct cay_deferred release;
        struct cay_op_call *call; /* NULL: ended */
        struct cay_buf json;
};

static void release(struct cay_deferred *d)
{
        struct stream *s = cay_container_of(d, struct stream, release);

        cay_buf_done(&s->json);
        free(s);
}

/* The call was ended by the caller; this goes with the round, for we may be inside one of the watcher's callbacks. */
static void finish(struct stream *s, struct cay_loop *loop)
{
        s->call = NULL;
        cay_service_exec_unwatch(&s->watcher);
        s->release.run = release;
        cay_loop_defer(loop, &s->release);
}

static void drop(struct stream *s)
{
        struct cay_op_call *c = s->call;
        struct cay_loop *loop = c->world->loop;

        c->doors->abort(c);
        finish(s, loop);
}

static ssize_t put(struct stream *s, const char *kind, uint64_t next, struct cay_json *j)
{
        char id[24];
        int r;

        cay_json_end_object(j);
        r = cay_json_end(j);
        snprintf(id, sizeof(id), "%" PRIu64, next);
        return r < 0 ? r : s->call->doors->put_event(s->call, id, kind, cay_buf_data(&s->json), s->json.len);
}

static void begin(struct stream *s, struct cay_json *j, const char *kind, uint64_t cursor)
{
        cay_buf_clear(&s->json);
        cay_json_init(j, &s->json);
        cay_json_begin_object(j);
        cay_op_key_text(j, "event", kind);
        cay_op_key_u64(j, "cursor", cursor);
}

static ssize_t put_piece(struct stream *s, const char *bytes, const struct cay_exec_piece *piece)
{
        const char *kind = piece->stream == 2 ? "stderr" : "stdout";
        struct cay_json j;

        begin(s, &j, kind, piece->cursor);
        cay_op_key_u64(&j, "next", piece->cursor + piece->len);
        cay_op_put_bytes(&j, "text", "base64", bytes, piece->len);
        return put(s, kind, piece->cursor + piece->len, &j);
}

static ssize_t put_view(struct stream *s, const char *kind, const char *execution_id)
{
        struct cay_exec_view view;
        struct cay_json j;

        cay_exec_watcher_view(&s->watcher, &view);
        begin(s, &j, kind, view.output_end);
        cay_op_put_exec(&j, &view);
        if (execution_id)
                cay_op_key_text(&j, "execution_id", execution_id);
        return put(s, kind, view.output_end, &j);
}

/* What went wrong with the reading: told in the stream, which then ends. */
static void put_trouble(struct stream *s, const struct cay_error *err, uint64_t cursor)
{
        struct cay_json j;

        begin(s, &j, "error", cursor);
        cay_op_key_text(&j, "code", cay_code_word(err->code));
        cay_op_key_text(&j, "message", err->msg);
        put(s, "error", cursor, &j);
}

static void end(struct stream *s)
{
        struct cay_op_call *c = s->call;
        struct cay_loop *loop = c->world->loop;

        c->doors->end(c);
        finish(s, loop);
}

static void pump(struct stream *s)
{
        char bytes[PIECE];
        struct cay_exec_piece piece;
        struct cay_error err = { 0 };
        ssize_t queued = 0;
        int r;

        while (queued >= 0 && queued < (ssize_t)CAY_OP_HIGH) {
                r = cay_exec_watcher_read(&s->watcher, bytes, sizeof(bytes), &piece, &err);
                if (r > 0) {
                        queued = put_piece(s, bytes, &piece);
                        continue;
                }
                if (r < 0) {
                        put_trouble(s, &err, piece.cursor);
                        end(s);
                } else if (cay_exec_watcher_is_over(&s->watcher)) {
                        put_view(s, "exited", NULL);
                        end(s);
                }
                return;
        }
        if (queued < 0)
                drop(s);
}

static void on_output(struct cay_exec_watcher *w)
{
        struct stream *s = cay_container_of(w, struct stream, watcher);

        if (s->call)
                pump(s);
}

static void on_drain(struct cay_op_call *c)
{
        pump(c->state);
}

static void on_gone(struct cay_op_call *c)
{
        drop(c->state);
}

void cay_op_exec_stream(struct cay_op_call *c, const char *sandbox, const char *exec, uint64_t from,
                        const char *execution_id)
{
        struct cay_viewer viewer = cay_op_viewer(c);
        struct stream *s = calloc(1, sizeof(*s));
        struct cay_error err = { 0 };

        if (!s) {
                cay_op_fail_memory(c);
                return;
        }
        cay_buf_init(&s->json, 8 * PIECE + 64 * 1024 + CAY_SERVICE_TEXT_MAX * 8);
        s->watcher.on_output = on_output;
        if (cay_service_exec_watch(c->world->service, &viewer, sandbox, exec, from, true, &s->watcher, &err) <
            0) {
                cay_buf_done(&s->json);
                free(s);
                cay_op_fail(c, &err, NULL);
                return;
        }
        s->call = c;
        c->state = s;
        c->on_drain = on_drain;
        c->on_gone = on_gone;
        c->works_for_listener = true;
        /* What is there to read is told from the loop. */
        if (c->doors->begin_events(c) < 0 || put_view(s, "started", execution_id) < 0)
                drop(s);
}
