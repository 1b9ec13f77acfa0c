/* SPDX-License-Identifier: Apache-2.0 */
/* A command's output as a stream of events. */
#include "domain/ops/exec_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "foundation/loop/loop.h"
#include "domain/ops/exec_feed.h"
#include "domain/ops/view.h"

#define PIECE (64u * 1024)      /* of an event */
#define RAW_PIECE (128u * 1024) /* of a stream of bytes only: fewer calls */
#define AGAIN_MS 200u           /* between attempts to give input to a command that cannot take any now */

struct stream {
        struct cay_exec_watcher watcher;
        struct cay_deferred release;
        struct cay_op_call *call; /* NULL: ended */
        struct cay_op_feed *feed; /* NULL: the caller may not give input */
        struct cay_timer again;   /* while its input waits */
        struct cay_op_result event;
        char sandbox[CAY_NAME_MAX + 1], exec[CAY_NAME_MAX + 1];
        bool raw;
        unsigned only;
        bool ends_input; /* end of input is pending */
        bool waits; /* the feed's piece must be sent again: its sandbox is paused, or does not answer yet */
        bool deaf;  /* the command takes no more input */
};

static void release_exec_stream(struct cay_deferred *d)
{
        struct stream *s = cay_container_of(d, struct stream, release);

        cay_op_result_done(&s->event);
        free(s);
}

/*
 * The caller ended the call. This is freed after the round, because we may be inside one of the watcher's
 * callbacks.
 */
static void finish(struct stream *s, struct cay_loop *loop)
{
        s->call = NULL;
        cay_timer_clear(&s->again);
        cay_op_feed_free(s->feed);
        cay_service_exec_unwatch(&s->watcher);
        s->release.run = release_exec_stream;
        cay_loop_defer(loop, &s->release);
}

static void drop(struct stream *s)
{
        struct cay_op_call *c = s->call;
        struct cay_loop *loop = c->world->loop;

        cay_op_abort(c);
        finish(s, loop);
}

static ssize_t put(struct stream *s, const char *kind, uint64_t next)
{
        char id[24];

        snprintf(id, sizeof(id), "%" PRIu64, next);
        return cay_op_event_put(&s->event, s->call, id, kind);
}

static struct cay_json *begin(struct stream *s, const char *kind, uint64_t cursor)
{
        cay_op_event_begin(&s->event, s->call);
        cay_op_key_text(&s->event.j, "event", kind);
        cay_op_key_u64(&s->event.j, "cursor", cursor);
        return &s->event.j;
}

static ssize_t put_piece(struct stream *s, const char *bytes, const struct cay_exec_piece *piece)
{
        const char *kind = piece->stream == 2 ? "stderr" : "stdout";
        struct cay_json *j = begin(s, kind, piece->cursor);

        cay_op_key_u64(j, "next", piece->cursor + piece->len);
        cay_op_put_bytes(j, "text", "base64", bytes, piece->len);
        return put(s, kind, piece->cursor + piece->len);
}

static ssize_t put_view(struct stream *s, const char *kind, const char *execution_id)
{
        struct cay_exec_view view;
        struct cay_json *j;

        cay_exec_watcher_view(&s->watcher, &view);
        j = begin(s, kind, view.output_end);
        cay_op_put_exec(j, &view, s->call->dialect);
        if (execution_id)
                cay_op_key_text(j, "execution_id", execution_id);
        return put(s, kind, view.output_end);
}

/* Reports an error in the stream. */
static ssize_t put_trouble(struct stream *s, const struct cay_error *err, uint64_t cursor, uint64_t lost_from)
{
        struct cay_json *j = begin(s, "error", cursor);

        if (err->code == CAY_DAMAGED) {
                cay_op_key_u64(j, "lost_from", lost_from);
                cay_op_key_u64(j, "lost_to", cursor);
        }
        cay_op_key_text(j, "code", cay_code_word(err->code));
        cay_op_key_text(j, "message", err->msg);
        return put(s, "error", cursor);
}

static void end(struct stream *s)
{
        struct cay_op_call *c = s->call;
        struct cay_loop *loop = c->world->loop;

        cay_op_end(c);
        finish(s, loop);
}

static ssize_t pass(struct stream *s, const char *bytes, const struct cay_exec_piece *piece, ssize_t queued)
{
        if (s->only && piece->stream != s->only)
                return queued;
        return s->raw ? cay_op_write(s->call, bytes, piece->len) : put_piece(s, bytes, piece);
}

/* A truncated stream of bytes must not look complete. */
static void end_in_trouble(struct stream *s, const struct cay_error *err, const struct cay_exec_piece *piece)
{
        if (s->raw) {
                drop(s);
                return;
        }
        put_trouble(s, err, piece->cursor, piece->lost_from);
        end(s);
}

static void pump(struct stream *s)
{
        char bytes[RAW_PIECE];
        size_t size = s->raw ? RAW_PIECE : PIECE;
        struct cay_exec_piece piece;
        struct cay_error err = { 0 };
        ssize_t queued = 0;
        int r;

        while (queued >= 0 && queued < (ssize_t)CAY_OP_HIGH) {
                r = cay_exec_watcher_read(&s->watcher, bytes, size, &piece, &err);
                if (r > 0) {
                        queued = pass(s, bytes, &piece, queued);
                        continue;
                }
                if (r < 0) {
                        end_in_trouble(s, &err, &piece);
                } else if (cay_exec_watcher_is_over(&s->watcher)) {
                        if (!s->raw)
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

/* Input from the client */

/*
 * A sandbox that is paused, or whose box has not answered a new front yet, takes its input later. No input is
 * lost meanwhile, and the client is slowed down: a terminal must not lose keys, because it could not notice.
 */
static bool takes_later(struct stream *s, const struct cay_error *err)
{
        struct cay_viewer viewer = cay_op_viewer(s->call);
        struct cay_sandbox_view box;
        struct cay_exec_view exec;
        struct cay_error other = { 0 };

        cay_exec_watcher_view(&s->watcher, &exec);
        if (exec.state == CAY_EXEC_ENDED)
                return false;
        if (err->code == CAY_UNAVAILABLE || err->code == CAY_LIMIT)
                return true;
        return cay_service_get(s->call->world->service, &viewer, s->sandbox, &box, &other) == 0 &&
               box.state == CAY_STATE_PAUSED;
}

static void on_again(struct cay_timer *timer)
{
        struct stream *s = cay_container_of(timer, struct stream, again);

        s->waits = false;
        cay_op_feed_again(s->feed);
}

/* A command that takes no more input may still print. */
static void on_taken(struct cay_op_call *c, size_t len, const struct cay_error *err)
{
        struct stream *s = c->state;
        struct cay_exec_view view;

        (void)len;
        if (err->code != CAY_OK && takes_later(s, err)) {
                s->waits = true;
                cay_timer_set(c->world->loop, &s->again, AGAIN_MS, on_again);
                return;
        }
        if (err->code != CAY_OK) {
                s->deaf = true;
                cay_exec_watcher_view(&s->watcher, &view);
                if (!s->raw && put_trouble(s, err, view.output_end, 0) < 0) {
                        drop(s);
                        return;
                }
        }
        if (s->ends_input && !s->deaf) {
                s->ends_input = false;
                cay_op_feed_end(s->feed);
        } else {
                cay_op_resume(c);
        }
}

static size_t on_body(struct cay_op_call *c, const void *bytes, size_t len)
{
        struct stream *s = c->state;

        if (s->deaf)
                return len;
        return s->waits ? 0 : cay_op_feed_put(s->feed, bytes, len);
}

static void on_body_end(struct cay_op_call *c)
{
        struct stream *s = c->state;

        if (s->deaf)
                return;
        if (s->waits || cay_op_feed_is_busy(s->feed))
                s->ends_input = true;
        else
                cay_op_feed_end(s->feed);
}

static int on_order(struct cay_op_call *c, const struct cay_op_order *order, struct cay_error *err)
{
        struct stream *s = c->state;

        return cay_op_exec_order(c, s->sandbox, s->exec, order, err);
}

/* Following a command needs the scope read; input needs more. */
static int listen_to(struct stream *s, struct cay_op_call *c)
{
        if (!c->is_two_way || !cay_scope_has(c->caller.scopes, CAY_SCOPE_EXEC))
                return 0;
        s->feed = cay_op_feed_new(c, s->sandbox, s->exec, on_taken);
        if (!s->feed)
                return -1;
        c->on_body = on_body;
        c->on_body_end = on_body_end;
        c->on_order = on_order;
        return cay_op_read(c);
}

static void begin_stream(struct stream *s, const char *execution_id)
{
        static const struct cay_op_bytes bytes = { .type = "application/octet-stream",
                                                   .length = CAY_OP_UNKNOWN_LENGTH };
        struct cay_op_call *c = s->call;
        int r = listen_to(s, c);

        /* The loop reports what there is to read. */
        if (r == 0)
                r = s->raw ? cay_op_begin(c, &bytes) : cay_op_begin(c, NULL);
        if (r < 0 || (!s->raw && put_view(s, "started", execution_id) < 0))
                drop(s);
}

void cay_op_exec_stream(struct cay_op_call *c, const char *sandbox, const char *exec,
                        const struct cay_op_exec_follow *how)
{
        struct cay_viewer viewer = cay_op_viewer(c);
        struct stream *s = calloc(1, sizeof(*s));
        struct cay_error err = { 0 };

        if (!s) {
                cay_op_fail_memory(c);
                return;
        }
        s->watcher.on_output = on_output;
        if (cay_service_exec_watch(c->world->service, &viewer, sandbox, exec, how->from, true, &s->watcher,
                                   &err) < 0) {
                free(s);
                cay_op_fail(c, &err, NULL);
                return;
        }
        s->call = c;
        s->raw = how->raw;
        s->only = how->only;
        memccpy(s->sandbox, sandbox, '\0', CAY_NAME_MAX);
        memccpy(s->exec, exec, '\0', CAY_NAME_MAX);
        c->state = s;
        c->on_drain = on_drain;
        c->on_gone = on_gone;
        c->works_for_listener = true;
        begin_stream(s, how->execution_id);
}
