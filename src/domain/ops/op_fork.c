/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks: several new sandboxes with the files of one, or of a snapshot.
 *
 * Theory of operation. This op calls others. Of a sandbox, a snapshot is taken first, once, and removed
 * afterwards; it expires by itself if the front dies in between. Then sandbox_create makes them all at once.
 * If one cannot be made, the others are destroyed, and the answer is its error: there are as many as were
 * asked for, or none.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/ops/create_args.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/results.h"
#include "domain/ops/view.h"
#include "domain/sandboxes/snapshot.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"

#define FORKS_MAX 100u
#define SNAPSHOT_MS (30u * 60 * 1000)

struct args {
        const char *id;
        uint64_t count;
        struct cay_create_args create; /* as far as there are fields for it */
};

struct fork;

struct one {
        struct fork *fork;
        struct cay_op_call call;
        struct cay_service_call destroy;
        char id[CAY_NAME_MAX + 1]; /* "": it was not made */
};

struct fork {
        struct cay_op_call *call;
        struct cay_viewer viewer;
        struct cay_service_call snapshot; /* taken */
        char shot[CAY_NAME_MAX + 1];
        bool is_own; /* the snapshot is ours, and goes */
        uint64_t frozen_us;
        struct cay_create_args create;
        struct cay_error err; /* the first */
        unsigned count, pending;
        struct one ones[];
};

static const struct cay_field fields[] = {
#define AT(member) offsetof(struct args, member)
        { "id", CAY_FIELD_TEXT, AT(id), 0, "id or name of the sandbox, or of a snapshot", .min = 1,
          .max = CAY_NAME_MAX },
        { "count", CAY_FIELD_U64, AT(count), 0, "how many; default 1", .min = 1, .max = FORKS_MAX },
        { "labels", CAY_FIELD_MAP, AT(create.labels), 0, "labels of each", .max = 255 },
        { "metadata", CAY_FIELD_MAP, AT(create.metadata), 0, "data to store with each", .max = 255 },
        { "env", CAY_FIELD_MAP, AT(create.env), 0,
          "variables, beside those of the sandbox; never shown again", .max = 256, .item_max = 128 * 1024 },
        { "limits", CAY_FIELD_OBJECT, AT(create.limits), 0, "limits; default: those of the sandbox",
          .fields = cay_op_limit_fields },
        { "timeout", CAY_FIELD_DURATION, AT(create.timeout_ms), 0, "time to live; 0: until destroyed",
          .given = CAY_FIELD_GIVEN(struct args, create.has_timeout) },
        { "idle_timeout", CAY_FIELD_DURATION, AT(create.idle_ms), 0,
          "idle time after which each is destroyed", .given = CAY_FIELD_GIVEN(struct args, create.has_idle) },
        { "network", CAY_FIELD_TEXT, AT(create.network), 0,
          "network of each, as when one is created: none, list, bridge or learn; default: the template's",
          .max = 63 },
        { "allow", CAY_FIELD_TEXTS, AT(create.allow), 0, "hosts that each may reach", .item_max = 319,
          .max = CAY_NETWORK_RULES_MAX },
        { "deny", CAY_FIELD_TEXTS, AT(create.deny), 0, "hosts that none may reach", .item_max = 319,
          .max = CAY_NETWORK_RULES_MAX },
        { "secrets", CAY_FIELD_TEXTS, AT(create.secrets), 0,
          "names of your secrets that their requests may use; none of the sandbox's are taken over",
          .max = 32, .item_max = 63 },
#undef AT
        {},
};

/* Removing the snapshot waits for nobody. */

static void on_shot_removed(struct cay_job *job)
{
        struct cay_service_call *c = cay_container_of(job, struct cay_service_call, job);

        if (job->err.code != CAY_OK)
                cay_log_warn("snapshot of a fork not removed; it expires", "id=%s error=%s", c->id,
                             job->err.msg);
        free(c);
}

static void remove_shot(struct fork *f)
{
        const struct cay_viewer viewer = { .owner = f->call->caller.owner };
        struct cay_service_call *c = f->is_own ? calloc(1, sizeof(*c)) : NULL;

        if (!c)
                return;
        cay_job_init(&c->job, on_shot_removed);
        cay_service_snapshot_remove(f->call->world->service, &viewer, f->shot, c);
}

static void fail(struct fork *f)
{
        struct cay_op_call *c = f->call;
        struct cay_error err = f->err;

        free(f);
        cay_op_fail(c, &err, NULL);
}

/* The answer */

static void answer(struct fork *f)
{
        struct cay_op_call *c = f->call;
        struct cay_sandbox_view view;
        struct cay_error ignored = { 0 };
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        cay_json_key(&o.j, "sandboxes");
        cay_json_begin_array(&o.j);
        for (unsigned i = 0; i < f->count; i++) {
                if (cay_service_get(c->world->service, &f->viewer, f->ones[i].id, &view, &ignored) < 0)
                        continue; /* destroyed since */
                cay_json_begin_object(&o.j);
                cay_op_put_sandbox(&o.j, &view, c->dialect);
                cay_json_end_object(&o.j);
        }
        cay_json_end_array(&o.j);
        cay_op_key_u64(&o.j, "count", f->count);
        cay_op_key_u64(&o.j, "frozen_ms", (f->frozen_us + 500) / 1000);
        cay_op_key_bool(&o.j, "processes", false);
        cay_op_result_answer(&o, c, CAY_OP_CREATED);
        free(f);
}

static void on_destroyed(struct cay_job *job)
{
        struct one *o = cay_container_of(job, struct one, destroy.job);

        if (job->err.code != CAY_OK) /* its engine is gone: none of them is to stay */
                cay_service_discard(o->fork->call->world->service, &o->fork->viewer, o->id);
        if (--o->fork->pending == 0)
                fail(o->fork);
}

static void undo(struct fork *f)
{
        f->pending = 1;
        for (unsigned i = 0; i < f->count; i++) {
                struct one *o = &f->ones[i];

                if (!o->id[0])
                        continue;
                f->pending++;
                cay_job_init(&o->destroy.job, on_destroyed);
                cay_service_destroy(f->call->world->service, &f->viewer, o->id, &o->destroy);
        }
        if (--f->pending == 0)
                fail(f);
}

static void made(struct fork *f)
{
        if (--f->pending > 0)
                return;
        remove_shot(f);
        if (f->err.code != CAY_OK)
                undo(f);
        else
                answer(f);
}

/* Responder of each sandbox_create */

static struct one *of_call(struct cay_op_call *c)
{
        return cay_container_of(c, struct one, call);
}

static void one_answer(struct cay_op_call *c, enum cay_op_status status, struct cay_op_result *r)
{
        struct one *o = of_call(c);

        (void)status;
        (void)r;
        memcpy(o->id, c->made, sizeof(o->id));
        made(o->fork);
}

static void one_fail(struct cay_op_call *c, const struct cay_error *err, const char *field)
{
        struct fork *f = of_call(c)->fork;

        (void)field;
        if (f->err.code == CAY_OK && c->confirm[0])
                cay_fail(&f->err, CAY_CONFLICT,
                         "sandboxes of this template need a confirmation each: take a snapshot, and create "
                         "them "
                         "one by one with it");
        else if (f->err.code == CAY_OK)
                f->err = *err;
        made(f);
}

static void one_end(struct cay_op_call *c, bool was_cut)
{
        struct fork *f = of_call(c)->fork;

        (void)was_cut;
        if (f->err.code == CAY_OK)
                cay_fail(&f->err, CAY_UNAVAILABLE, "a sandbox was not made");
        made(f);
}

static const struct cay_op_responder one_responder = {
        .open = cay_op_open_nowhere, .answer = one_answer, .fail = one_fail, .end = one_end
};

static void make_all(struct fork *f)
{
        const struct cay_op_call *c = f->call;
        unsigned count = f->count;

        f->create.snapshot = f->shot;
        f->pending = count + 1; /* none may end all of them before the last has begun */
        for (unsigned i = 0; i < count; i++) {
                struct one *o = &f->ones[i];

                o->fork = f;
                o->call = (struct cay_op_call){ .op = &cay_op_sandbox_create,
                                                .responder = &one_responder,
                                                .world = c->world,
                                                .caller = c->caller,
                                                .is_known = c->is_known,
                                                .dialect = c->dialect,
                                                .args = &f->create,
                                                .fd = -1 };
                memcpy(o->call.request_id, c->request_id, sizeof(o->call.request_id));
                o->call.op->run(&o->call);
        }
        made(f);
}

static void on_taken(struct cay_job *job)
{
        struct fork *f = cay_container_of(job, struct fork, snapshot.job);
        struct cay_snapshot_view view;

        f->err = job->err;
        cay_str_copy(f->shot, sizeof(f->shot), f->snapshot.id);
        if (f->err.code != CAY_OK ||
            cay_service_snapshot_get(f->call->world->service, &f->viewer, f->shot, &view, &f->err) < 0) {
                fail(f);
                return;
        }
        f->is_own = true;
        f->frozen_us = view.frozen_us;
        make_all(f);
}

/* A sandbox, or a snapshot; of the caller, because that is whose they will be. */
static void find(struct fork *f, const char *id)
{
        const struct cay_viewer own = { .owner = f->call->caller.owner };
        const struct cay_snapshot_new what = { .timeout_ms = SNAPSHOT_MS };
        struct cay_service *service = f->call->world->service;
        struct cay_error none = { 0 };
        struct cay_snapshot_view shot;
        struct cay_sandbox_view view;

        if (cay_service_get(service, &own, id, &view, &f->err) == 0) {
                cay_job_init(&f->snapshot.job, on_taken);
                cay_service_snapshot(service, &own, view.id, &what, &f->snapshot);
                return;
        }
        if (cay_service_snapshot_get(service, &own, id, &shot, &none) < 0) {
                fail(f); /* there is no such sandbox */
                return;
        }
        f->err = none;
        cay_str_copy(f->shot, sizeof(f->shot), shot.id);
        make_all(f);
}

static void run_fork(struct cay_op_call *c)
{
        const struct args *a = c->args;
        unsigned count = a->count > 0 ? (unsigned)a->count : 1;
        struct fork *f = calloc(1, sizeof(*f) + count * sizeof(f->ones[0]));

        if (!f) {
                cay_op_fail_memory(c);
                return;
        }
        f->call = c;
        f->viewer = cay_op_viewer(c);
        f->create = a->create;
        f->count = count;
        find(f, a->id);
}

RESULT(result_fork, NULL, LIST("sandboxes", cay_result_sandbox), NUMBER("count"), NUMBER("frozen_ms"),
       BOOL("processes"));

const struct cay_op cay_op_sandbox_fork = {
        .name = "sandbox_fork",
        .route = "POST /api/sandboxes/{id}/fork",
        .doc = "Makes new sandboxes with the files of a sandbox, running or stopped, or of a snapshot: as "
               "many as were "
               "asked for, or none. Processes are not in them; limits and variables are the sandbox's, "
               "unless given",
        .scope = CAY_SCOPE_EXEC,
        .fields = fields,
        .args_size = sizeof(struct args),
        .result = &result_fork,
        .status = CAY_OP_CREATED,
        .tool = CAY_TOOL(
                "Fork a sandbox",
                "Makes new sandboxes with the files of this one, to try several ways from one state. Running "
                "processes are not in them.",
                .group = "time"),
        .verb = CAY_OP_VERB(
                "fork", "id",
                "Makes new sandboxes with the files of a sandbox or of a snapshot: -n of them, or none.\n"
                "What runs in the sandbox goes on there, and is not in them.",
                "sandboxes: SANDBOX=sandbox_id TEMPLATE=template STATUS=status", .flat = "limits",
                .letters = "count:n env:e", .renames = "labels:label secrets:secret"),
        .run = run_fork,
};
