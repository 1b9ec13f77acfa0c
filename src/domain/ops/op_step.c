/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a sandbox: the list, and going back to one (docs/time.md). */
#include <stdlib.h>
#include <string.h>

#include "domain/ops/result_rows.h"
#include "domain/ops/results.h"
#include "domain/ops/view.h"
#include "domain/sandboxes/step.h"
#include "foundation/base/str.h"

struct args {
        const char *id;
        uint64_t step;
};

#define ID_FIELD                                                                                             \
        {                                                                                                    \
                "id", CAY_FIELD_TEXT, offsetof(struct args, id), 0, "id or name of the sandbox",             \
                        .min = 1, .max = CAY_NAME_MAX                                                        \
        }

/* The list */

static void put_step(struct cay_json *j, const struct cay_snapshot_view *v)
{
        cay_op_key_u64(j, "step", v->step);
        cay_op_key_text(j, "snapshot_id", v->id);
        cay_op_key_text(j, "before", v->note);
        cay_op_key_text(j, "status", v->is_missing ? "missing" : "ready");
        cay_op_key_u64(j, "bytes", v->bytes);
        cay_op_key_u64(j, "added_bytes", v->added);
        cay_op_key_text(j, "method", v->is_shared ? "reflink" : "copy");
        cay_op_key_u64(j, "frozen_us", v->frozen_us);
        cay_op_key_time(j, "created_at", v->created_wall_ms);
}

SHARED_RESULT(result_step, "Step", NUMBER("step"), TEXT("snapshot_id"), TEXT("before"), TEXT("status"),
              NUMBER("bytes"), NUMBER("added_bytes"), TEXT("method"), NUMBER("frozen_us"),
              TIME("created_at"));

struct listing {
        struct cay_op_result o;
        unsigned count;
};

static void put_each(void *ctx, const struct cay_snapshot_view *view)
{
        struct listing *l = ctx;

        cay_json_begin_object(&l->o.j);
        put_step(&l->o.j, view);
        cay_json_end_object(&l->o.j);
        l->count++;
}

static void run_list(struct cay_op_call *c)
{
        const struct args *a = c->args;
        const struct cay_viewer viewer = cay_op_viewer(c);
        struct listing l = { 0 };
        struct cay_sandbox_view view;
        char id[CAY_NAME_MAX + 1];

        if (!cay_op_get_sandbox(c, a->id, &view))
                return;
        cay_str_copy(id, sizeof(id), view.id);
        cay_op_result_begin(&l.o, c);
        cay_op_key_text(&l.o.j, "sandbox_id", id);
        cay_json_key(&l.o.j, "steps");
        cay_json_begin_array(&l.o.j);
        cay_service_step_list(c->world->service, &viewer, id, put_each, &l);
        cay_json_end_array(&l.o.j);
        cay_op_key_u64(&l.o.j, "count", l.count);
        cay_op_result_answer(&l.o, c, CAY_OP_OK);
}

static const struct cay_field list_fields[] = { ID_FIELD, {} };

RESULT(result_list, NULL, TEXT("sandbox_id"), LIST("steps", result_step), NUMBER("count"));

const struct cay_op cay_op_step_list = {
        .name = "step_list",
        .route = "GET /api/sandboxes/{id}/steps",
        .doc = "Lists the steps of a sandbox, the newest first: its files as they were before each command. "
               "A "
               "sandbox can be made of one by its snapshot_id",
        .scope = CAY_SCOPE_READ,
        .fields = list_fields,
        .args_size = sizeof(struct args),
        .result = &result_list,
        .tool = CAY_TOOL(
                "List steps",
                "Lists a sandbox's steps: its files as they were before each command (sandboxes made "
                "with checkpoint).",
                .group = "time"),
        .verb = CAY_OP_VERB(
                "log", "id",
                "Lists the steps of a sandbox, the newest first: its files as they were before each\n"
                "command. `cay undo` goes back to one, `cay create --snapshot ID` makes a sandbox\n"
                "of one.",
                "steps: STEP=step CREATED=created_at SNAPSHOT=snapshot_id ADDED=added_bytes "
                "BEFORE=before"),
        .run = run_list,
};

/* Going back */

struct undo {
        struct cay_service_undo service;
        struct cay_op_call *call;
        struct cay_viewer viewer;
        char id[CAY_NAME_MAX + 1];
};

static void on_undone(struct cay_job *job)
{
        struct undo *u = cay_container_of(job, struct undo, service.call.job);
        struct cay_op_call *c = u->call;
        struct cay_error err = job->err;
        struct cay_sandbox_view view;
        struct cay_op_result o;

        if (err.code != CAY_OK || cay_service_get(c->world->service, &u->viewer, u->id, &view, &err) < 0) {
                free(u);
                cay_op_fail(c, &err, NULL);
                return;
        }
        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "sandbox_id", u->id);
        cay_op_key_u64(&o.j, "step", u->service.step);
        cay_op_key_u64(&o.j, "kept_as", u->service.kept_as);
        cay_op_key_u64(&o.j, "commands_ended", u->service.ended);
        cay_op_key_text(&o.j, "status", cay_state_word(view.state));
        cay_op_key_bool(&o.j, "processes", false);
        free(u);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

static void run_undo(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_service *service = c->world->service;
        const struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_sandbox_view view;
        struct cay_snapshot_view step;
        struct cay_error err = { 0 };
        struct undo *u;

        if (!cay_op_get_sandbox(c, a->id, &view))
                return;
        if (cay_service_step_get(service, &viewer, view.id, a->step, &step, &err) < 0) {
                cay_op_fail(c, &err, "step");
                return;
        }
        u = cay_op_alloc(c, sizeof(*u));
        if (!u)
                return;
        u->call = c;
        u->viewer = viewer;
        u->service.step = step.step;
        cay_str_copy(u->id, sizeof(u->id), view.id);
        cay_job_init(&u->service.call.job, on_undone);
        cay_service_undo(service, &u->viewer, u->id, &u->service);
}

static const struct cay_field undo_fields[] = {
        ID_FIELD,
        { "step", CAY_FIELD_U64, offsetof(struct args, step), 0,
          "number of the step (step_list); default: the newest", .min = 1, .max = UINT32_MAX },
        {},
};

RESULT(result_undo, NULL, TEXT("sandbox_id"), NUMBER("step"), NUMBER("kept_as"), NUMBER("commands_ended"),
       TEXT("status"), BOOL("processes"));

const struct cay_op cay_op_sandbox_undo = {
        .name = "sandbox_undo",
        .route = "POST /api/sandboxes/{id}/undo",
        .doc = "Gives a sandbox the files of one of its steps again. What runs in it is ended "
               "(commands_ended). The files that it has now become a step, kept_as, so that the undo can be "
               "undone",
        .scope = CAY_SCOPE_EXEC,
        .fields = undo_fields,
        .args_size = sizeof(struct args),
        .result = &result_undo,
        .tool = CAY_TOOL(
                "Undo",
                "Gives a sandbox the files that it had before a command: the newest step, or the one "
                "named. Ends what runs in it. Can be undone: kept_as is the step of the files as they "
                "were.",
                .group = "time"),
        .verb = CAY_OP_VERB(
                "undo", "id step?",
                "Gives a sandbox the files that it had at a step (`cay log`), by default the newest:\n"
                "before the last command. What runs in it is ended. The files that it has now\n"
                "become a step, so that the undo can be undone.",
                "sandbox=sandbox_id step=step kept_as=kept_as commands_ended=commands_ended "
                "status=status"),
        .run = run_undo,
};
