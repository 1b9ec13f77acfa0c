/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the state of one sandbox: each op is one call to the service, answered with the sandbox's view. */
#include <string.h>

#include "domain/ops/template_use.h"
#include "domain/ops/results.h"
#include "domain/ops/view.h"

struct args {
        const char *id;
        struct cay_service_life life;
        bool waits, has_waits;
};

#define ID_FIELD                                                                                             \
        {                                                                                                    \
                "id", CAY_FIELD_TEXT, offsetof(struct args, id), 0, "id or name of the sandbox",             \
                        .min = 1, .max = CAY_NAME_MAX                                                        \
        }

static const struct cay_field fields[] = { ID_FIELD, {} };

static const struct cay_field destroy_fields[] = {
        ID_FIELD,
        { "wait", CAY_FIELD_BOOL, offsetof(struct args, waits), 0,
          "false: answer as soon as it is stored that the sandbox is gone; it is killed and removed right "
          "after",
          .given = CAY_FIELD_GIVEN(struct args, has_waits) },
        {},
};

static const struct cay_field extend_fields[] = {
        ID_FIELD,
        { "timeout", CAY_FIELD_DURATION, offsetof(struct args, life.timeout_ms), 0,
          "time to live from now; 0: until destroyed",
          .given = CAY_FIELD_GIVEN(struct args, life.set_timeout) },
        { "idle_timeout", CAY_FIELD_DURATION, offsetof(struct args, life.idle_ms), 0,
          "new idle limit; 0: none", .given = CAY_FIELD_GIVEN(struct args, life.set_idle) },
        {},
};

struct change {
        struct cay_service_call service;
        struct cay_op_call *call;
        char id[CAY_NAME_MAX + 1];
};

static void on_gone_for_good(struct change *s)
{
        struct cay_op_result o;

        cay_op_result_begin(&o, s->call);
        cay_op_key_text(&o.j, "sandbox_id", s->id);
        cay_op_key_text(&o.j, "status", s->service.early ? "removing" : "destroyed");
        cay_op_result_answer(&o, s->call, CAY_OP_OK);
}

static void on_changed(struct cay_job *job)
{
        struct change *s = cay_container_of(job, struct change, service.job);
        struct cay_op_call *c = s->call;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_sandbox_view view;
        struct cay_error err = job->err;
        struct cay_op_result o;

        if (err.code == CAY_OK && c->op->flags & CAY_OP_DESTRUCTIVE) {
                on_gone_for_good(s);
        } else if (err.code != CAY_OK ||
                   cay_service_get(c->world->service, &viewer, s->id, &view, &err) < 0) {
                cay_op_fail(c, &err, NULL);
        } else {
                cay_op_result_begin(&o, c);
                cay_op_put_sandbox(&o.j, &view, c->dialect);
                cay_op_result_answer(&o, c, CAY_OP_OK);
        }
        free(s);
}

/* Finds the sandbox (by id or name); NULL: the call is answered. */
static struct change *begin(struct cay_op_call *c, struct cay_viewer *viewer)
{
        const struct args *a = c->args;
        struct cay_sandbox_view view;
        struct change *s;

        *viewer = cay_op_viewer(c);
        if (!cay_op_get_sandbox(c, a->id, &view))
                return NULL;
        s = cay_op_alloc(c, sizeof(*s));
        if (!s)
                return NULL;
        memccpy(s->id, view.id, '\0', CAY_NAME_MAX);
        s->call = c;
        cay_job_init(&s->service.job, on_changed);
        return s;
}

/*
 * The folder of a mapped workspace: the descriptor that came along, else the one that the sandbox still has,
 * else its path. The caller decides by whose right; a descriptor counts only with its client.
 */
static struct cay_folder find_folder(struct cay_op_call *c, const struct cay_viewer *viewer, const char *id)
{
        struct cay_folder f = { .fd = c->fd, .peer = c->peer_fd };
        struct cay_error ignored = { 0 };
        struct cay_sandbox_view view;

        if (f.fd < 0 && cay_service_get(c->world->service, viewer, id, &view, &ignored) == 0 &&
            view.has_workspace && !view.holds_workspace && view.workspace_path[0])
                c->world->find_workspace(c->world, view.workspace_path, &f.root, &f.below, &ignored);
        return f;
}

static void run_start(struct cay_op_call *c)
{
        struct cay_viewer viewer;
        struct change *s = begin(c, &viewer);
        struct cay_error err = { 0 };
        struct cay_folder folder;

        if (!s)
                return;
        if (cay_op_check_room(c->world, &viewer, s->id, &err) < 0) {
                free(s);
                cay_op_fail(c, &err, NULL);
                return;
        }
        folder = find_folder(c, &viewer, s->id);
        cay_service_start(c->world->service, &viewer, s->id, &folder, &s->service);
}

static void run_stop(struct cay_op_call *c)
{
        struct cay_viewer viewer;
        struct change *s = begin(c, &viewer);

        if (s)
                cay_service_stop(c->world->service, &viewer, s->id, &s->service);
}

static void run_pause(struct cay_op_call *c)
{
        struct cay_viewer viewer;
        struct change *s = begin(c, &viewer);

        if (s)
                cay_service_pause(c->world->service, &viewer, s->id, &s->service);
}

static void run_resume(struct cay_op_call *c)
{
        struct cay_viewer viewer;
        struct change *s = begin(c, &viewer);

        if (s)
                cay_service_resume(c->world->service, &viewer, s->id, &s->service);
}

static void run_destroy(struct cay_op_call *c)
{
        struct cay_viewer viewer;
        const struct args *a = c->args;
        struct change *s = begin(c, &viewer);

        if (!s)
                return;
        s->service.early = a->has_waits && !a->waits;
        cay_service_destroy(c->world->service, &viewer, s->id, &s->service);
}

static void run_extend(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_viewer viewer;
        struct change *s = begin(c, &viewer);

        if (s)
                cay_service_extend(c->world->service, &viewer, s->id, &a->life, &s->service);
}

#define CHANGE(verb, http, text, table, more, answer, ...)                                                   \
        const struct cay_op cay_op_sandbox_##verb = { .name = "sandbox_" #verb,                              \
                                                      .route = http,                                         \
                                                      .doc = text,                                           \
                                                      .scope = CAY_SCOPE_EXEC,                               \
                                                      .flags = more,                                         \
                                                      .fields = table,                                       \
                                                      .args_size = sizeof(struct args),                      \
                                                      .result = &(answer),                                   \
                                                      .run = run_##verb,                                     \
                                                      __VA_ARGS__ }

CHANGE(start, "POST /api/sandboxes/{id}/start", "Starts a sandbox that is stopped or failed", fields, 0,
       cay_result_sandbox);
CHANGE(stop, "POST /api/sandboxes/{id}/stop", "Ends all processes in a sandbox and keeps its files", fields,
       0, cay_result_sandbox);
CHANGE(pause, "POST /api/sandboxes/{id}/pause", "Freezes all processes in a sandbox", fields, 0,
       cay_result_sandbox);
CHANGE(resume, "POST /api/sandboxes/{id}/resume", "Continues a paused sandbox", fields, 0,
       cay_result_sandbox);
CHANGE(extend, "POST /api/sandboxes/{id}/extend",
       "Changes how long a sandbox lives, and how long it may be idle", extend_fields, 0, cay_result_sandbox,
       .tool = CAY_TOOL("Extend a sandbox", "Changes how long a sandbox lives, or may be idle.",
                        .flags = CAY_TOOL_REPEATS,
                        .params = CAY_TOOL_PARAMS({ "timeout", "timeout",
                                                    "Seconds that it lives from now on; 0: until destroyed.",
                                                    NULL, false, "timeout_s timeout_seconds" },
                                                  { "idle_timeout", "idle_timeout",
                                                    "Seconds that it may be idle; 0: for ever." }),
                        .picks = CAY_TOOL_SANDBOX_PICKS));
CHANGE(destroy, "DELETE /api/sandboxes/{id}", "Destroys a sandbox and everything that belongs to it",
       destroy_fields, CAY_OP_DESTRUCTIVE, cay_result_destroyed);
