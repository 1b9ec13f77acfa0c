/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: interpreters in a sandbox that keep their state between runs. Making, listing, interrupting,
 * restarting and removing them.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/auth/digest.h"
#include "domain/ops/context.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"
#include "foundation/base/id.h"
#include "foundation/base/language.h"
#include "foundation/base/str.h"

struct context_args {
        const char *id, *context, *name, *language, *cwd;
        struct cay_field_map env;
};

#define CONTEXT_ID                                                                                           \
        {                                                                                                    \
                "id", CAY_FIELD_TEXT, offsetof(struct context_args, id), 0, "the sandbox",                   \
                        .min = 1, .max = CAY_NAME_MAX                                                        \
        }
#define CONTEXT_NAME                                                                                         \
        {                                                                                                    \
                "context", CAY_FIELD_TEXT, offsetof(struct context_args, context), 0, "the context's name",  \
                        .min = 1, .max = CAY_NAME_MAX                                                        \
        }
#define CONTEXT_ENV                                                                                          \
        {                                                                                                    \
                "env", CAY_FIELD_MAP, offsetof(struct context_args, env), 0,                                 \
                        "variables, in addition to the sandbox's own; they are not stored: a restart needs " \
                        "them again",                                                                        \
                        .max = 256, .item_max = 128 * 1024                                                   \
        }

static const struct cay_field list_fields[] = { CONTEXT_ID, {} };
static const struct cay_field one_fields[] = { CONTEXT_ID, CONTEXT_NAME, {} };
static const struct cay_field restart_fields[] = { CONTEXT_ID, CONTEXT_NAME, CONTEXT_ENV, {} };
static const struct cay_field create_fields[] = {
        CONTEXT_ID,
        { "name", CAY_FIELD_TEXT, offsetof(struct context_args, name), 0,
          "name of the context; default: one is made up", .min = 1, .max = CAY_NAME_MAX },
        { "language", CAY_FIELD_TEXT, offsetof(struct context_args, language), 0,
          "python (default), javascript or bash", .min = 1, .max = CAY_LANGUAGE_ALIAS_MAX - 1 },
        { "cwd", CAY_FIELD_TEXT, offsetof(struct context_args, cwd), 0,
          "working directory; default: the workspace", .min = 1, .max = 4095 },
        CONTEXT_ENV,
        {},
};

static void put_context(struct cay_json *j, const struct cay_exec_view *v)
{
        cay_op_key_text(j, "context_id", v->context);
        cay_op_key_text(j, "language", v->language);
        cay_op_key_text(j, "cwd", v->cwd);
        cay_op_key_text(j, "status", cay_exec_state_word(v->state));
        cay_op_key_bool(j, "busy", v->runs_code);
        cay_op_key_text(j, "exec_id", v->id);
        cay_op_key_time(j, "started_at", v->started_wall_ms);
        cay_op_key_text(j, "cause", v->state == CAY_EXEC_ENDED ? cay_cause_word(v->cause) : NULL);
        cay_op_key_text(j, "cause_text", v->state == CAY_EXEC_ENDED ? v->cause_text : NULL);
}

RESULT(result_context, "Context", TEXT("context_id"), TEXT("language"), TEXT("cwd"), TEXT("status"),
       BOOL("busy"), TEXT("exec_id"), TIME("started_at"), MAYBE("cause", TEXT), MAYBE("cause_text", TEXT));
RESULT(result_contexts, NULL, LIST("contexts", result_context));
RESULT(result_context_removed, NULL, TEXT("context_id"), BOOL("removed"));

/* The sandbox's id (sandboxes may be named) and the newest kernel of the context. */
static int find_context(struct cay_op_call *c, char sandbox[CAY_NAME_MAX + 1], struct cay_exec_view *ret,
                        const char **ret_field, struct cay_error *err)
{
        const struct context_args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_sandbox_view view;

        *ret_field = "id";
        if (cay_service_get(c->world->service, &viewer, a->id, &view, err) < 0)
                return -1;
        cay_str_copy(sandbox, CAY_NAME_MAX + 1, view.id);
        *ret_field = "context";
        return cay_context_find(c, sandbox, a->context, ret, err);
}

static void answer_context(struct cay_op_call *c, const struct cay_exec_view *view, enum cay_op_status status)
{
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        put_context(&o.j, view);
        cay_op_result_answer(&o, c, status);
}

/* Making one, and a new kernel for one */

struct making {
        struct cay_context_start start;
        char name[CAY_NAME_MAX + 1], sandbox[CAY_NAME_MAX + 1];
        char *cwd; /* owned; NULL: none */
        enum cay_op_status status;
};

static void free_making(struct making *m)
{
        cay_context_start_done(&m->start);
        free(m->cwd);
        free(m);
}

static void on_context_started(struct cay_context_start *start, const struct cay_error *err)
{
        struct making *m = cay_container_of(start, struct making, start);
        struct cay_op_call *c = start->call;
        struct cay_exec_view view;
        struct cay_error why = *err;

        if (why.code != CAY_OK || cay_context_find(c, m->sandbox, m->name, &view, &why) < 0)
                cay_op_fail(c, &why, why.code == CAY_UNSUPPORTED ? "language" : NULL);
        else
                answer_context(c, &view, m->status);
        free_making(m);
}

static struct making *new_making(struct cay_op_call *c, const char *sandbox, const char *name,
                                 const char *cwd, const struct cay_kernel *kernel)
{
        const struct context_args *a = c->args;
        struct making *m = calloc(1, sizeof(*m));

        if (!m)
                return NULL;
        m->cwd = cwd ? strdup(cwd) : NULL;
        cay_str_copy(m->sandbox, sizeof(m->sandbox), sandbox);
        cay_str_copy(m->name, sizeof(m->name), name);
        m->start = (struct cay_context_start){ .call = c,
                                               .kernel = kernel,
                                               .name = m->name,
                                               .cwd = m->cwd,
                                               .env = a->env,
                                               .on_done = on_context_started };
        return m;
}

static int make_name(char ret[CAY_NAME_MAX + 1], struct cay_error *err)
{
        uint8_t random[15];

        if (cay_digest_random(random, sizeof(random)) < 0)
                return cay_fail(err, CAY_INTERNAL, "no random bytes for a name");
        cay_id_make(ret, 0, 0, random);
        return 0;
}

static int check_create(struct cay_op_call *c, char sandbox[CAY_NAME_MAX + 1], char name[CAY_NAME_MAX + 1],
                        const struct cay_kernel **ret, const char **ret_field, struct cay_error *err)
{
        const struct context_args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_sandbox_view view;
        struct cay_exec_view other;
        struct cay_error none = { 0 };
        char names[80];

        *ret_field = "language";
        *ret = cay_kernel_find(a->language ? a->language : CAY_LANGUAGE_DEFAULT);
        if (!*ret)
                return cay_fail(err, CAY_INVALID, "language: '%.31s' has no contexts; these have: %s",
                                a->language, cay_kernel_names(names, sizeof(names)));
        *ret_field = "cwd";
        if (a->cwd && a->cwd[0] != '/')
                return cay_fail(err, CAY_INVALID, "cwd: '%.80s' is not an absolute path", a->cwd);
        *ret_field = "name";
        if (a->name && !cay_id_is_valid(a->name))
                return cay_fail(err, CAY_INVALID,
                                "name: 1 to 63 characters a-z, 0-9 or '-'; must not begin or end with '-'");
        *ret_field = "id";
        if (cay_service_get(c->world->service, &viewer, a->id, &view, err) < 0)
                return -1;
        cay_str_copy(sandbox, CAY_NAME_MAX + 1, view.id);
        *ret_field = "name";
        if (!a->name)
                return make_name(name, err);
        cay_str_copy(name, CAY_NAME_MAX + 1, a->name);
        if (cay_context_find(c, sandbox, name, &other, &none) == 0)
                return cay_fail(err, CAY_CONFLICT,
                                "name: sandbox '%s' has a context '%s'; restart or remove it", sandbox, name);
        return 0;
}

static void run_context_create(struct cay_op_call *c)
{
        const struct context_args *a = c->args;
        const struct cay_kernel *kernel;
        struct cay_error err = { 0 };
        char sandbox[CAY_NAME_MAX + 1], name[CAY_NAME_MAX + 1];
        const char *field;
        struct making *m;

        if (check_create(c, sandbox, name, &kernel, &field, &err) < 0) {
                cay_op_fail(c, &err, field);
                return;
        }
        m = new_making(c, sandbox, name, a->cwd, kernel);
        if (!m) {
                cay_op_fail_memory(c);
                return;
        }
        m->status = CAY_OP_CREATED;
        cay_context_start(&m->start, sandbox);
}

const struct cay_op cay_op_context_create = {
        .name = "context_create",
        .route = "POST /api/sandboxes/{id}/contexts",
        .doc = "Starts an interpreter in a sandbox that keeps its variables between runs of code",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_INSIDE,
        .fields = create_fields,
        .args_size = sizeof(struct context_args),
        .result = &result_context,
        .status = CAY_OP_CREATED,
        .verb = CAY_OP_VERB("context create", "id", NULL,
                            "context=context_id language=language status=status"),
        .run = run_context_create,
};

static void run_context_restart(struct cay_op_call *c)
{
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_exec_view view;
        struct cay_error err = { 0 };
        char sandbox[CAY_NAME_MAX + 1];
        const struct cay_kernel *kernel;
        const char *field;
        struct making *m;

        if (find_context(c, sandbox, &view, &field, &err) < 0) {
                cay_op_fail(c, &err, field);
                return;
        }
        kernel = cay_kernel_find(view.language);
        m = kernel ? new_making(c, sandbox, view.context, view.cwd, kernel) : NULL;
        if (!m) {
                cay_op_fail_memory(c);
                return;
        }
        if ((view.state != CAY_EXEC_ENDED &&
             cay_service_exec_kill(c->world->service, &viewer, sandbox, view.id, &err) < 0) ||
            cay_service_exec_leave_context(c->world->service, &viewer, sandbox, view.id, &err) < 0) {
                free_making(m);
                cay_op_fail(c, &err, NULL);
                return;
        }
        cay_context_start(&m->start, sandbox);
}

const struct cay_op cay_op_context_restart = {
        .name = "context_restart",
        .route = "POST /api/sandboxes/{id}/contexts/{context}/restart",
        .doc = "Ends the interpreter of a context and starts a new one, without variables",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_DESTRUCTIVE | CAY_OP_INSIDE,
        .fields = restart_fields,
        .args_size = sizeof(struct context_args),
        .result = &result_context,
        .verb = CAY_OP_VERB("context restart", "id context", NULL,
                            "context=context_id language=language status=status"),
        .run = run_context_restart,
};

static void put_listed(void *ctx, const struct cay_exec_view *view)
{
        struct cay_json *j = ctx;

        cay_json_begin_object(j);
        put_context(j, view);
        cay_json_end_object(j);
}

static void run_context_list(struct cay_op_call *c)
{
        const struct context_args *a = c->args;
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };
        struct cay_op_result o;

        if (!cay_op_get_sandbox(c, a->id, &view))
                return;
        cay_op_result_begin(&o, c);
        cay_json_key(&o.j, "contexts");
        cay_json_begin_array(&o.j);
        if (cay_context_list(c, view.id, put_listed, &o.j, &err) < 0) {
                cay_op_result_done(&o);
                cay_op_fail(c, &err, "id");
                return;
        }
        cay_json_end_array(&o.j);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

const struct cay_op cay_op_context_list = {
        .name = "context_list",
        .route = "GET /api/sandboxes/{id}/contexts",
        .doc = "Lists the contexts of a sandbox, with the cause where one has ended",
        .scope = CAY_SCOPE_READ,
        .fields = list_fields,
        .args_size = sizeof(struct context_args),
        .result = &result_contexts,
        .verb = CAY_OP_VERB("context", "id", NULL,
                            "contexts: CONTEXT=context_id LANGUAGE=language STATUS=status BUSY=busy "
                            "AGE=started_at/age CAUSE=cause"),
        .run = run_context_list,
};

static void run_context_interrupt(struct cay_op_call *c)
{
        struct cay_exec_view view;
        struct cay_error err = { 0 };
        char sandbox[CAY_NAME_MAX + 1];
        const char *field = NULL;

        if (find_context(c, sandbox, &view, &field, &err) == 0 && view.state == CAY_EXEC_ENDED)
                cay_fail(&err, CAY_CONFLICT, "context '%s' has ended (%s); restart it", view.context,
                         view.cause_text);
        if (err.code != CAY_OK) {
                cay_op_fail(c, &err, field);
                return;
        }
        cay_context_interrupt(c->world, sandbox, view.id, false);
        answer_context(c, &view, CAY_OP_OK);
}

const struct cay_op cay_op_context_interrupt = {
        .name = "context_interrupt",
        .route = "POST /api/sandboxes/{id}/contexts/{context}/interrupt",
        .doc = "Interrupts the code that a context runs; its variables stay",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_INSIDE,
        .fields = one_fields,
        .args_size = sizeof(struct context_args),
        .result = &result_context,
        .verb = CAY_OP_VERB("context interrupt", "id context", NULL,
                            "context=context_id language=language status=status"),
        .run = run_context_interrupt,
};

static void run_context_remove(struct cay_op_call *c)
{
        const struct context_args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_exec_view view;
        struct cay_error err = { 0 };
        char sandbox[CAY_NAME_MAX + 1];
        const char *field;
        struct cay_op_result o;

        if (find_context(c, sandbox, &view, &field, &err) < 0) {
                cay_op_fail(c, &err, field);
                return;
        }
        if ((view.state != CAY_EXEC_ENDED &&
             cay_service_exec_kill(c->world->service, &viewer, sandbox, view.id, &err) < 0) ||
            cay_service_exec_leave_context(c->world->service, &viewer, sandbox, view.id, &err) < 0) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "context_id", a->context);
        cay_op_key_bool(&o.j, "removed", true);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

const struct cay_op cay_op_context_remove = {
        .name = "context_remove",
        .route = "DELETE /api/sandboxes/{id}/contexts/{context}",
        .doc = "Ends the interpreter of a context and forgets the context",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_DESTRUCTIVE | CAY_OP_INSIDE,
        .fields = one_fields,
        .args_size = sizeof(struct context_args),
        .result = &result_context_removed,
        .verb = CAY_OP_VERB("context rm", "id context", NULL, "context=context_id removed=removed"),
        .run = run_context_remove,
};
