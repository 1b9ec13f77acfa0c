/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_replay: runs what was recorded of a sandbox again, in a new sandbox with the files with which the
 * recording began, and tells where the results differ. The new sandbox is removed afterwards, unless it is to
 * be kept.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/ops/create_args.h"
#include "domain/ops/replay.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"
#include "domain/sandboxes/step.h"
#include "foundation/base/clock.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"

#define TIMEOUT_MS (10u * 60 * 1000)
#define TIMEOUT_MAX_MS (60u * 60 * 1000)
#define SPARE_MS (2u * 60 * 1000) /* that its sandbox lives longer */

struct args {
        const char *id;
        uint64_t timeout_ms;
        bool keep;
};

struct replaying {
        struct cay_replay replay;
        struct cay_op_call *call;
        struct cay_op_call create;
        struct cay_create_args what;
        struct cay_error err;
        char id[CAY_NAME_MAX + 1], shot[CAY_NAME_MAX + 1], other[CAY_NAME_MAX + 1], template_name[256];
        uint64_t begun_ms;
        bool is_gone;
};

static void on_removed(struct cay_job *job)
{
        struct cay_service_call *c = cay_container_of(job, struct cay_service_call, job);

        if (job->err.code != CAY_OK && job->err.code != CAY_NOT_FOUND)
                cay_log_warn("left by a replay; it expires", "id=%s error=%s", c->id, job->err.msg);
        free(c);
}

static void remove_other(struct replaying *p)
{
        struct cay_service_call *c = p->other[0] ? calloc(1, sizeof(*c)) : NULL;

        if (!c)
                return;
        cay_job_init(&c->job, on_removed);
        cay_service_destroy(p->call->world->service, &p->replay.viewer, p->other, c);
}

static void fail(struct replaying *p, const struct cay_error *err)
{
        struct cay_op_call *c = p->call;
        struct cay_error why = *err;

        remove_other(p);
        free(p);
        cay_op_fail(c, &why, NULL);
}

/* The answer */

static void put_difference(struct cay_json *j, const struct cay_replay_difference *d)
{
        cay_json_begin_object(j);
        cay_op_key_text(j, "exec_id", d->exec[0] ? d->exec : NULL);
        cay_op_key_text(j, "command", d->command);
        cay_op_key_text(j, "what", d->what);
        cay_op_key_text(j, "was", d->was);
        cay_op_key_text(j, "now", d->is);
        cay_json_end_object(j);
}

static void answer(struct replaying *p)
{
        const struct cay_replay *r = &p->replay;
        const struct args *a = p->call->args;
        struct cay_op_call *c = p->call;
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "sandbox_id", p->id);
        cay_op_key_text(&o.j, "snapshot_id", p->shot);
        cay_op_key_text(&o.j, "replay_id", a->keep ? p->other : NULL);
        cay_op_key_bool(&o.j, "same", r->count == 0 && !r->is_late);
        cay_op_key_u64(&o.j, "commands", r->commands);
        cay_op_key_u64(&o.j, "compared", r->compared);
        cay_op_key_u64(&o.j, "files", r->files);
        cay_op_key_u64(&o.j, "variables_left_out", r->hidden);
        cay_op_key_text(&o.j, "stopped", r->stopped[0] ? r->stopped : NULL);
        cay_op_key_bool(&o.j, "timed_out", r->is_late);
        cay_op_key_u64(&o.j, "duration_ms", cay_clock_ms() - p->begun_ms);
        cay_op_key_u64(&o.j, "count", r->count + r->more);
        cay_json_key(&o.j, "differences");
        cay_json_begin_array(&o.j);
        for (unsigned i = 0; i < r->count; i++)
                put_difference(&o.j, &r->differences[i]);
        cay_json_end_array(&o.j);
        if (!a->keep)
                remove_other(p);
        free(p);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

static void on_done(struct cay_replay *r, const struct cay_error *err)
{
        struct replaying *p = cay_container_of(r, struct replaying, replay);

        if (err->code != CAY_OK)
                fail(p, err);
        else
                answer(p);
}

static void on_gone(struct cay_op_call *c)
{
        struct replaying *p = c->state;

        p->is_gone = true;
        if (p->replay.on_done)
                cay_replay_cancel(&p->replay);
}

/* The sandbox for it: as if somebody had asked for it */

static void made(struct replaying *p, const struct cay_error *err)
{
        const struct args *a = p->call->args;
        struct cay_error why = { 0 };

        memcpy(p->other, p->create.made, sizeof(p->other));
        if (!err && p->is_gone)
                cay_fail(&why, CAY_UNAVAILABLE, "the client is gone");
        if (err || why.code != CAY_OK) {
                fail(p, err ? err : &why);
                return;
        }
        p->replay.on_done = on_done;
        p->replay.world = p->call->world;
        p->replay.sandbox = p->id;
        p->replay.other = p->other;
        p->replay.timeout_ms = a->timeout_ms ? a->timeout_ms : TIMEOUT_MS;
        cay_replay_begin(&p->replay);
}

static void other_answer(struct cay_op_call *c, enum cay_op_status status, struct cay_op_result *r)
{
        (void)status;
        (void)r;
        made(cay_container_of(c, struct replaying, create), NULL);
}

static void other_fail(struct cay_op_call *c, const struct cay_error *err, const char *field)
{
        struct cay_error why = *err;

        (void)field;
        cay_wrap(&why, "make the sandbox for the replay");
        made(cay_container_of(c, struct replaying, create), &why);
}

static void other_end(struct cay_op_call *c, bool was_cut)
{
        struct cay_error why = { 0 };

        (void)was_cut;
        cay_fail(&why, CAY_UNAVAILABLE, "the sandbox for the replay was not made");
        made(cay_container_of(c, struct replaying, create), &why);
}

static const struct cay_op_responder other_responder = {
        .open = cay_op_open_nowhere, .answer = other_answer, .fail = other_fail, .end = other_end
};

static void make_other(struct replaying *p)
{
        const struct cay_op_call *c = p->call;
        const struct args *a = c->args;

        p->what = (struct cay_create_args){ .snapshot = p->shot,
                                            .purpose = "replay",
                                            .timeout_ms =
                                                    (a->timeout_ms ? a->timeout_ms : TIMEOUT_MS) + SPARE_MS,
                                            .has_timeout = true,
                                            .unrecorded = true };
        p->create = (struct cay_op_call){ .op = &cay_op_sandbox_create,
                                          .responder = &other_responder,
                                          .world = c->world,
                                          .caller = c->caller,
                                          .is_known = c->is_known,
                                          .dialect = c->dialect,
                                          .args = &p->what,
                                          .fd = -1 };
        memcpy(p->create.request_id, c->request_id, sizeof(p->create.request_id));
        p->create.op->run(&p->create);
}

static void run_replay(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_service *service = c->world->service;
        struct replaying *p = calloc(1, sizeof(*p));
        struct cay_recording_view recording;
        struct cay_snapshot_view shot;
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };

        if (!p) {
                cay_op_fail_memory(c);
                return;
        }
        p->call = c;
        p->replay.viewer = (struct cay_viewer){ .owner = c->caller.owner };
        if (cay_service_get(service, &p->replay.viewer, a->id, &view, &err) < 0 ||
            (cay_str_copy(p->id, sizeof(p->id), view.id), false) ||
            cay_service_recording_get(service, &p->replay.viewer, p->id, &recording, &err) < 0) {
                free(p);
                cay_op_fail(c, &err, "id");
                return;
        }
        cay_str_copy(p->shot, sizeof(p->shot), recording.snapshot);
        if (cay_service_snapshot_get(service, &p->replay.viewer, p->shot, &shot, &err) < 0) {
                free(p);
                cay_wrap(&err, "the files with which the recording begins");
                cay_op_fail(c, &err, NULL);
                return;
        }
        p->begun_ms = cay_clock_ms();
        c->state = p;
        c->on_gone = on_gone;
        make_other(p);
}

static const struct cay_field fields[] = {
        { "id", CAY_FIELD_TEXT, offsetof(struct args, id), 0, "id or name of the sandbox", .min = 1,
          .max = CAY_NAME_MAX },
        { "timeout", CAY_FIELD_DURATION, offsetof(struct args, timeout_ms), 0,
          "time for all of it; default 10 minutes", .min = 1, .max = TIMEOUT_MAX_MS },
        { "keep", CAY_FIELD_BOOL, offsetof(struct args, keep), 0,
          "keep the sandbox in which it was run again (replay_id); it expires 2 minutes after that time" },
        {},
};

RESULT(result_difference, "Difference", MAYBE("exec_id", TEXT), TEXT("command"), TEXT("what"), TEXT("was"),
       TEXT("now"));
RESULT(result_replay, "Replay", TEXT("sandbox_id"), TEXT("snapshot_id"), MAYBE("replay_id", TEXT),
       BOOL("same"), NUMBER("commands"), NUMBER("compared"), NUMBER("files"), NUMBER("variables_left_out"),
       MAYBE("stopped", TEXT), BOOL("timed_out"), NUMBER("duration_ms"), NUMBER("count"),
       LIST("differences", result_difference));

const struct cay_op cay_op_sandbox_replay = {
        .name = "sandbox_replay",
        .route = "POST /api/sandboxes/{id}/replay",
        .doc = "Runs what was recorded of a sandbox again, in a new one with the files with which the "
               "recording "
               "began, and tells where exit codes, causes or output differ, the first first",
        .scope = CAY_SCOPE_EXEC,
        .fields = fields,
        .args_size = sizeof(struct args),
        .result = &result_replay,
        .tool = CAY_TOOL("Replay",
                         "Runs what was recorded of a sandbox (created with record) again in a fresh copy of "
                         "its first "
                         "files, and tells where results differ.",
                         .flags = CAY_TOOL_LONG, .group = "time"),
        .run = run_replay,
};
