/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes in a folder, as a stream of events. The box sends notices (links/box/notice.h), and each becomes
 * one event. They are acknowledged as they are sent on, so a slow client holds the box's watcher back. If its
 * queue then overflows, that is reported: nothing is lost silently, and nothing accumulates here. The head is
 * sent with the first notice, so that a folder that cannot be watched is an error and not a stream.
 */
#include <errno.h>
#include <string.h>

#include "links/box/notice.h"
#include "domain/ops/files.h"
#include "domain/ops/view.h"

struct args {
        const char *id, *path;
        uint64_t folders;
        bool recursive, as_root;
};

struct follow {
        struct cay_op_channel base;
        struct cay_buf rest; /* bytes of a notice that is not whole */
        struct cay_op_result event;
        size_t unacked;
        bool begun;
};

static const struct cay_field fields[] = {
        CAY_OP_SANDBOX_FIELD(struct args, id),
        CAY_OP_PATH_FIELD(struct args, path, "folder to watch"),
        { "recursive", CAY_FIELD_BOOL, offsetof(struct args, recursive), 0,
          "watch everything below it, including new folders; links and other mounts are not followed" },
        { "max_folders", CAY_FIELD_U64, offsetof(struct args, folders), 0,
          "watch at most this many folders; the first one beyond is reported as `unwatched`; default 8192",
          .min = 1, .max = 8192 },
        CAY_OP_USER_FIELD(struct args, as_root),
        {},
};

static void follow_done(struct cay_op_channel *base)
{
        struct follow *s = cay_container_of(base, struct follow, base);

        cay_buf_done(&s->rest);
        cay_op_result_done(&s->event);
}

static void drop(struct follow *s)
{
        struct cay_op_call *c = cay_op_channel_finish(&s->base);

        cay_op_abort(c);
}

static struct cay_json *begin_event(struct follow *s, const char *kind)
{
        cay_op_event_begin(&s->event, s->base.call);
        cay_op_key_text(&s->event.j, "event", kind);
        return &s->event.j;
}

static ssize_t put_event(struct follow *s, const char *kind)
{
        struct cay_op_call *c = s->base.call;
        int r = s->begun ? 0 : cay_op_begin(c, NULL);

        s->begun = true;
        return r < 0 ? r : cay_op_event_put(&s->event, c, NULL, kind);
}

static const char *why_unwatched(uint32_t sys)
{
        switch (sys) {
        case EACCES:
        case EPERM:
                return "denied";
        case EXDEV:
                return "other_mount";
        case ENAMETOOLONG:
                return "too_deep";
        case ENOSPC:
        case ENOMEM:
                return "limit";
        default:
                return "failed";
        }
}

static ssize_t put_notice(struct follow *s, const struct cay_box_notice *m)
{
        const char *kind = cay_box_notice_word(m->kind);
        struct cay_json *j = begin_event(s, kind);

        if (m->name.len > 0) {
                cay_op_put_bytes(j, "path", "path_base64", m->name.ptr, m->name.len);
                cay_op_key_bool(j, "is_directory", m->is_folder);
        }
        if (m->name2.len > 0)
                cay_op_put_bytes(j, "to", "to_base64", m->name2.ptr, m->name2.len);
        if (m->folders > 0)
                cay_op_key_u64(j, "folders", m->folders);
        if (m->kind == CAY_NOTICE_UNWATCHED)
                cay_op_key_text(j, "reason", why_unwatched(m->sys));
        return put_event(s, kind);
}

static void on_notices(struct cay_service_channel *ch, const void *bytes, size_t len)
{
        struct follow *s = cay_container_of(ch, struct follow, base.ch);
        struct cay_box_notice m;
        ssize_t queued = 0;
        int n = cay_buf_put(&s->rest, bytes, len);

        cay_op_channel_await(&s->base, false); /* it is watching: from now on nothing is due */
        s->unacked += len;
        while (n >= 0 && queued >= 0 &&
               (n = cay_box_notice_decode(cay_buf_data(&s->rest), s->rest.len, &m)) > 0) {
                queued = put_notice(s, &m);
                cay_buf_drop(&s->rest, (size_t)n);
        }
        if (n < 0 || queued < 0) {
                drop(s);
        } else if (queued < (ssize_t)CAY_OP_HIGH) {
                cay_service_channel_ack(ch, s->unacked);
                s->unacked = 0;
        }
}

static void on_drain(struct cay_op_call *c)
{
        struct follow *s = c->state;

        if (s->unacked > 0)
                cay_service_channel_ack(&s->base.ch, s->unacked);
        s->unacked = 0;
}

/* The last event says why there are no more. */
static void on_end(struct cay_service_channel *ch, const struct cay_box_end *end, const struct cay_error *err)
{
        struct follow *s = cay_container_of(ch, struct follow, base.ch);
        bool failed = err && err->code != CAY_OK;
        struct cay_op_call *c;
        struct cay_json *j;

        if (!s->begun && failed) {
                cay_op_channel_fail(&s->base, err);
                return;
        }
        j = begin_event(s, "ended");
        cay_op_key_text(j, "reason", !end ? "sandbox" : failed ? "error" : "gone");
        cay_op_key_text(j, "message", failed ? err->msg : "the folder is gone");
        if (put_event(s, "ended") < 0) {
                drop(s);
                return;
        }
        c = cay_op_channel_finish(&s->base);
        cay_op_end(c);
}

static void run_file_watch(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_WATCH, a->path, a->as_root);
        struct follow *s = cay_op_alloc(c, sizeof(*s));

        if (!s)
                return;
        open.window = CAY_BOX_WINDOW / 4;
        open.file.flags = a->recursive ? CAY_BOX_RECURSIVE : 0;
        open.file.max_entries = a->folders;
        cay_buf_init(&s->rest, CAY_BOX_NOTICE_MAX + CAY_BOX_WINDOW);
        s->base.done = follow_done;
        s->base.ch.on_data = on_notices;
        s->base.ch.on_end = on_end;
        if (cay_op_channel_open(&s->base, c, a->id, &open) < 0)
                return;
        c->on_drain = on_drain;
        c->works_for_listener = true;
}

const struct cay_op cay_op_file_watch = {
        .name = "file_watch",
        .route = "GET /api/sandboxes/{id}/files/watch",
        .doc = "What happens in a folder, as a stream of events: ready, created, modified, closed, "
               "attributes, removed, moved, "
               "overflow (look again), unwatched, gone, ended",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_STREAM | CAY_OP_INSIDE,
        .fields = fields,
        .args_size = sizeof(struct args),
        .run = run_file_watch,
};
