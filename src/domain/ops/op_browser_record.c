/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings of browsers: what one showed, as frames with times. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "domain/browser/screencast.h"
#include "domain/ops/files.h"
#include "domain/ops/op.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"
#include "foundation/loop/loop.h"

#define PIECE (64u * 1024)
#define ARCHIVE_END 1024u /* zeros */

struct args {
        const char *id, *recording;
        uint64_t time_ms, bytes, gap_ms;
};

#define ID CAY_OP_SANDBOX_FIELD(struct args, id)
#define RECORDING                                                                                            \
        {                                                                                                    \
                "recording", CAY_FIELD_TEXT, offsetof(struct args, recording), 0, "the recording's id",      \
                        .min = 1, .max = CAY_SCREENCAST_ID_LEN                                               \
        }

static const struct cay_field start_fields[] = {
        ID,
        { "time", CAY_FIELD_DURATION, offsetof(struct args, time_ms), 0,
          "the most that it records; default 10 minutes, at most 6 hours", .min = 1000,
          .max = CAY_SCREENCAST_MS_MAX },
        { "size", CAY_FIELD_SIZE, offsetof(struct args, bytes), 0,
          "the most bytes that it keeps, which count as the owner's disk; default 64 MiB, at most 1 GiB",
          .min = CAY_SCREENCAST_BYTES_MIN, .max = CAY_SCREENCAST_BYTES_MAX },
        { "gap", CAY_FIELD_DURATION, offsetof(struct args, gap_ms), 0,
          "the least time between two frames; default 0.1 seconds", .min = 50, .max = 60000 },
        {},
};
static const struct cay_field list_fields[] = { ID, {} };
static const struct cay_field one_fields[] = { ID, RECORDING, {} };

RESULT(result_recording, "BrowserRecording", TEXT("recording_id"), TEXT("sandbox_id"), TEXT("status"),
       MAYBE("cause_text", TEXT), TIME("started_at"), NUMBER("duration_ms"), NUMBER("frames"),
       NUMBER("bytes"));
RESULT(result_recordings, NULL, LIST("recordings", result_recording));
RESULT(result_removed, NULL, TEXT("recording_id"), BOOL("removed"));

static void put_recording(struct cay_json *j, const struct cay_screencast_view *v)
{
        cay_op_key_text(j, "recording_id", v->id);
        cay_op_key_text(j, "sandbox_id", v->sandbox);
        cay_op_key_text(j, "status", v->is_running ? "recording" : "ended");
        cay_op_key_text(j, "cause_text", v->is_running ? NULL : v->why);
        cay_op_key_time(j, "started_at", v->started_wall_ms);
        cay_op_key_u64(j, "duration_ms", v->duration_ms);
        cay_op_key_u64(j, "frames", v->frames);
        cay_op_key_u64(j, "bytes", v->bytes);
}

static void answer(struct cay_op_call *c, const struct cay_screencast_view *view, enum cay_op_status status)
{
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        put_recording(&o.j, view);
        cay_op_result_answer(&o, c, status);
}

/* Starting and ending */

static void run_browser_record_start(struct cay_op_call *c)
{
        const struct args *a = c->args;
        const struct cay_screencast_options options = { a->bytes, a->time_ms, a->gap_ms };
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_screencast_view view;
        struct cay_error err = { 0 };

        if (cay_screencast_start(c->world->browsers, &viewer, a->id, &options, &view, &err) < 0)
                cay_op_fail(c, &err, NULL);
        else
                answer(c, &view, CAY_OP_CREATED);
}

const struct cay_op cay_op_browser_record_start = {
        .name = "browser_record_start",
        .route = "POST /api/sandboxes/{id}/browser/recordings",
        .doc = "Begins to record what the browser of a sandbox shows, as frames with times; the browser is "
               "started if none runs",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_INSIDE,
        .fields = start_fields,
        .args_size = sizeof(struct args),
        .result = &result_recording,
        .status = CAY_OP_CREATED,
        .tool = CAY_TOOL("Record the browser", "Begins to record what the browser shows.",
                         .group = "browser"),
        .verb = CAY_OP_VERB("browser record", "id", NULL, "recording=recording_id status=status"),
        .run = run_browser_record_start,
};

static void run_browser_record_stop(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_screencast_view view;
        struct cay_error err = { 0 };

        if (cay_screencast_stop(c->world->browsers, &viewer, a->id, a->recording, &view, &err) < 0)
                cay_op_fail(c, &err, NULL);
        else
                answer(c, &view, CAY_OP_OK);
}

const struct cay_op cay_op_browser_record_stop = {
        .name = "browser_record_stop",
        .route = "POST /api/sandboxes/{id}/browser/recordings/{recording}/stop",
        .doc = "Ends a recording of a browser, which is kept until its sandbox is destroyed",
        .scope = CAY_SCOPE_EXEC,
        .fields = one_fields,
        .args_size = sizeof(struct args),
        .result = &result_recording,
        .tool = CAY_TOOL("Stop recording", "Ends a recording of the browser.", .flags = CAY_TOOL_REPEATS,
                         .group = "browser"),
        .verb = CAY_OP_VERB("browser finish", "id recording", NULL,
                            "recording=recording_id status=status frames=frames bytes=bytes"),
        .run = run_browser_record_stop,
};

static void run_browser_record_remove(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_error err = { 0 };
        struct cay_op_result o;

        if (cay_screencast_remove(c->world->browsers, &viewer, a->id, a->recording, &err) < 0) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "recording_id", a->recording);
        cay_op_key_bool(&o.j, "removed", true);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

const struct cay_op cay_op_browser_record_remove = {
        .name = "browser_record_remove",
        .route = "DELETE /api/sandboxes/{id}/browser/recordings/{recording}",
        .doc = "Removes a recording of a browser; one that is under way ends",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_DESTRUCTIVE,
        .fields = one_fields,
        .args_size = sizeof(struct args),
        .result = &result_removed,
        .verb = CAY_OP_VERB("browser forget", "id recording", NULL, "recording=recording_id removed=removed"),
        .run = run_browser_record_remove,
};

/* Looking */

static void put_one(void *ctx, const struct cay_screencast_view *view)
{
        struct cay_json *j = ctx;

        cay_json_begin_object(j);
        put_recording(j, view);
        cay_json_end_object(j);
}

static void run_browser_record_list(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_sandbox_view box;
        struct cay_error err = { 0 };
        struct cay_op_result o;

        if (cay_service_get(c->world->service, &viewer, a->id, &box, &err) < 0) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        cay_op_result_begin(&o, c);
        cay_json_key(&o.j, "recordings");
        cay_json_begin_array(&o.j);
        cay_screencast_list(c->world->browsers, &viewer, a->id, put_one, &o.j, &err);
        cay_json_end_array(&o.j);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

const struct cay_op cay_op_browser_record_list = {
        .name = "browser_record_list",
        .route = "GET /api/sandboxes/{id}/browser/recordings",
        .doc = "Lists the recordings of a sandbox's browser, oldest first",
        .scope = CAY_SCOPE_READ,
        .fields = list_fields,
        .args_size = sizeof(struct args),
        .result = &result_recordings,
        .tool = CAY_TOOL("Recordings", "The recordings of the browser.", .group = "browser"),
        .verb = CAY_OP_VERB("browser recordings", "id", NULL,
                            "recordings: RECORDING=recording_id STATUS=status STARTED=started_at "
                            "FRAMES=frames BYTES=bytes"),
        .run = run_browser_record_list,
};

static void run_browser_record_get(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_screencast_view view;
        struct cay_error err = { 0 };

        if (cay_screencast_get(c->world->browsers, &viewer, a->id, a->recording, &view, &err) < 0)
                cay_op_fail(c, &err, NULL);
        else
                answer(c, &view, CAY_OP_OK);
}

const struct cay_op cay_op_browser_record_get = {
        .name = "browser_record_get",
        .route = "GET /api/sandboxes/{id}/browser/recordings/{recording}",
        .doc = "Shows a recording of a browser: how long it is, how many frames it has, and why it ended",
        .scope = CAY_SCOPE_READ,
        .fields = one_fields,
        .args_size = sizeof(struct args),
        .result = &result_recording,
        .verb = CAY_OP_VERB("browser recording", "id recording", NULL,
                            "recording=recording_id status=status started=started_at duration=duration_ms "
                            "frames=frames bytes=bytes cause=cause_text"),
        .run = run_browser_record_get,
};

/* Export: the file as it is, and the zeros that end an archive. */

struct export
{
        struct cay_op_call *call;
        struct cay_deferred release;
        uint64_t at, bytes;
        int fd; /* owned */
};

static void release_export(struct cay_deferred *d)
{
        struct export *e = cay_container_of(d, struct export, release);

        close(e->fd);
        free(e);
}

static struct cay_op_call *finish(struct export *e)
{
        struct cay_op_call *c = cay_take(e->call);

        c->on_gone = NULL;
        c->on_drain = NULL;
        e->release.run = release_export;
        cay_loop_defer(c->world->loop, &e->release);
        return c;
}

static void send_file(struct export *e)
{
        static const char zeros[ARCHIVE_END];
        char piece[PIECE];
        ssize_t queued = 0;

        while (e->at < e->bytes && queued >= 0 && queued < (ssize_t)CAY_OP_HIGH) {
                size_t n = e->bytes - e->at < sizeof(piece) ? (size_t)(e->bytes - e->at) : sizeof(piece);
                ssize_t got = pread(e->fd, piece, n, (off_t)e->at);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0) { /* its file was cut: the client notices, since the length was told */
                        cay_op_abort(finish(e));
                        return;
                }
                e->at += (uint64_t)got;
                queued = cay_op_write(e->call, piece, (size_t)got);
        }
        if (queued < 0 || e->at < e->bytes)
                return; /* on_gone or on_drain comes */
        cay_op_write(e->call, zeros, sizeof(zeros));
        cay_op_end(finish(e));
}

static void on_drain(struct cay_op_call *c)
{
        send_file(c->state);
}

static void on_gone(struct cay_op_call *c)
{
        cay_op_abort(finish(c->state));
}

static void run_browser_record_export(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct export *e = calloc(1, sizeof(*e));
        struct cay_error err = { 0 };
        struct cay_op_bytes head = { .type = "application/x-tar", .name = "recording.tar" };

        if (!e) {
                cay_op_fail_memory(c);
                return;
        }
        e->fd = cay_screencast_open(c->world->browsers, &viewer, a->id, a->recording, &e->bytes, &err);
        if (e->fd < 0) {
                free(e);
                cay_op_fail(c, &err, NULL);
                return;
        }
        e->call = c;
        c->state = e;
        c->on_gone = on_gone;
        c->on_drain = on_drain;
        head.length = e->bytes + ARCHIVE_END;
        if (cay_op_begin(c, &head) == 0)
                send_file(e);
}

const struct cay_op cay_op_browser_record_export = {
        .name = "browser_record_export",
        .route = "GET /api/sandboxes/{id}/browser/recordings/{recording}/export",
        .doc = "Returns a recording as a tar archive: for each frame a JPEG and a JSON file with its time; "
               "of one "
               "that is under way, what there is so far",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_STREAM | CAY_OP_BYTES,
        .fields = one_fields,
        .args_size = sizeof(struct args),
        .bytes = "application/x-tar",
        .verb = CAY_OP_VERB(
                "browser export", "id recording",
                "Writes a recording to standard output, as a tar archive: for each frame a JPEG and\n"
                "a JSON file with its time."),
        .run = run_browser_record_export,
};
