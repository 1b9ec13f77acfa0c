/* SPDX-License-Identifier: Apache-2.0 */
/* Translates containers to sandboxes, and the registry's environments to templates. */
#include "dialects/containers/containers.h"

#include <string.h>

#include "dialects/shared/foreign.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/results.h"

#define ALIVE "creating,ready,busy,paused"
#define ALL ALIVE ",stopped,error"
#define CODE_MAX (1024u * 1024)

/* Lists */

static void put_environment(struct cay_json *j, const struct cay_json_value *t)
{
        bool available = cay_json_value_is_true(cay_json_value_find(t, "available"));
        const char *build =
                cay_json_value_text(cay_json_value_find(cay_json_value_find(t, "build"), "state"));

        cay_json_begin_object(j);
        cay_foreign_copy(j, "name", t, "name");
        cay_foreign_copy(j, "description", t, "description");
        cay_foreign_copy(j, "triggers", t, "triggers");
        cay_op_key_bool(j, "available", available);
        cay_foreign_copy(j, "reason", t, "why");
        cay_op_key_text(j, "build", build ? build : available ? "ready" : "unavailable");
        cay_foreign_copy(j, "source", t, "root");
        cay_json_key(j, "security");
        cay_json_begin_object(j);
        cay_foreign_copy(j, "network_mode", t, "network");
        cay_foreign_copy(j, "read_only", t, "read_only");
        cay_foreign_copy(j, "needs_confirm", t, "needs_confirm");
        cay_json_end_object(j);
        cay_foreign_copy(j, "limits", t, "limits");
        cay_foreign_copy(j, "auto_cleanup", t, "auto_cleanup");
        cay_foreign_copy(j, "max_concurrent", t, "max_concurrent");
        cay_foreign_copy(j, "has_system", t, "has_system");
        cay_json_end_object(j);
}

static void list_answer(const struct cay_foreign *f, const struct cay_json_value *answer, struct cay_json *j)
{
        const struct cay_json_value *rows = cay_json_value_find(answer, "templates");

        (void)f;
        cay_json_key(j, "containers");
        cay_json_begin_array(j);
        for (size_t i = 0; i < cay_json_value_count(rows); i++)
                put_environment(j, cay_json_value_at(rows, i));
        cay_json_end_array(j);
        cay_json_key(j, "settings");
        cay_json_begin_object(j);
        cay_foreign_copy(j, "auto_cleanup", answer, "auto_cleanup");
        cay_foreign_copy(j, "max_concurrent", answer, "max_concurrent");
        cay_json_end_object(j);
}

/* Starting */

struct start_args {
        const char *container, *name, *template_name, *trigger, *task, *code, *language, *workdir, *input;
        const char *confirm, *execution_id;
        struct cay_field_texts command;
        struct cay_field_map env;
        uint64_t timeout_ms;
        bool keep, has_keep, stream;
};

#define AT(member) offsetof(struct start_args, member)

static const struct cay_field start_fields[] = {
        { "container", CAY_FIELD_TEXT, AT(container), 0, "which environment of the registry", .min = 1,
          .max = 63 },
        { "name", CAY_FIELD_TEXT, AT(name), 0, "the same", .min = 1, .max = 63 },
        { "template", CAY_FIELD_TEXT, AT(template_name), 0, "the same", .min = 1, .max = 63 },
        { "trigger", CAY_FIELD_TEXT, AT(trigger), 0, "or: words that choose it", .min = 1, .max = 65536 },
        { "task", CAY_FIELD_TEXT, AT(task), 0, "the same as trigger", .min = 1, .max = 65536 },
        { "code", CAY_FIELD_TEXT, AT(code), 0, "code to run", .min = 1, .max = CODE_MAX },
        { "language", CAY_FIELD_TEXT, AT(language), 0, "of the code", .min = 1, .max = 63 },
        { "command", CAY_FIELD_WORDS, AT(command), 0, "or: a command", .max = 4096, .item_max = 128 * 1024 },
        { "timeout", CAY_FIELD_DURATION, AT(timeout_ms), 0, "of the run; default: the environment's" },
        { "env", CAY_FIELD_MAP, AT(env), 0, "environment", .max = 256, .item_max = 128 * 1024 },
        { "workdir", CAY_FIELD_TEXT, AT(workdir), 0, "folder to run in", .max = 4095 },
        { "stdin", CAY_FIELD_TEXT, AT(input), 0, "what a command reads", .max = CODE_MAX },
        { "keep", CAY_FIELD_BOOL, AT(keep), 0, "the container stays after the run",
          .given = CAY_FIELD_GIVEN(struct start_args, has_keep) },
        { "stream", CAY_FIELD_BOOL, AT(stream), 0, "live output" },
        { "confirm", CAY_FIELD_TEXT, AT(confirm), 0, "the token of a confirmation", .min = 1, .max = 128 },
        { "execution_id", CAY_FIELD_TEXT, AT(execution_id), 0, "single-use id", .min = 1,
          .max = CAY_SERVICE_CLAIM_MAX },
        {},
};

/* Without a command, it is only made, to be used with exec. */
static bool runs(const struct start_args *a)
{
        return a->code || a->command.line || a->command.count > 0;
}

static const char *start_choose(const struct cay_foreign *f)
{
        return runs(f->args) ? "code_run" : "sandbox_create";
}

/* Synonyms: at most one may be given. NULL in ret: none was. */
static int one_of(const char *const values[3], const char *const names[3], const char **ret,
                  const char **ret_field, struct cay_error *err)
{
        *ret = NULL;
        for (unsigned i = 0; i < 3; i++) {
                if (!values[i])
                        continue;
                *ret_field = names[i];
                if (*ret)
                        return cay_fail(err, CAY_INVALID, "%s: the same as another field; set only one",
                                        names[i]);
                *ret = values[i];
        }
        *ret_field = NULL;
        return 0;
}

static int put_environment_name(const struct start_args *a, struct cay_json *j, const char **ret_field,
                                struct cay_error *err)
{
        const char *name, *task;

        if (one_of((const char *const[]){ a->container, a->name, a->template_name },
                   (const char *const[]){ "container", "name", "template" }, &name, ret_field, err) < 0 ||
            one_of((const char *const[]){ a->trigger, a->task, NULL },
                   (const char *const[]){ "trigger", "task", NULL }, &task, ret_field, err) < 0)
                return -1;
        cay_foreign_text(j, "template", name);
        if (task && !runs(a)) {
                *ret_field = "trigger";
                return cay_fail(err, CAY_INVALID,
                                "trigger: needs code or a command; otherwise name the container");
        }
        cay_foreign_text(j, "task", name ? NULL : task);
        return 0;
}

static int start_put(const struct cay_foreign *f, struct cay_json *j, const char **ret_field,
                     struct cay_error *err)
{
        const struct start_args *a = f->args;

        if (put_environment_name(a, j, ret_field, err) < 0)
                return -1;
        cay_foreign_map(j, "env", &a->env);
        cay_foreign_text(j, "confirm", a->confirm);
        cay_foreign_text(j, "execution_id", a->execution_id);
        cay_foreign_ms(j, "timeout", a->timeout_ms);
        if (!runs(a))
                return 0;
        cay_foreign_text(j, "code", a->code);
        cay_foreign_text(j, "language", a->language);
        cay_foreign_words(j, "command", &a->command);
        cay_foreign_text(j, "workdir", a->workdir);
        cay_foreign_text(j, "stdin", a->input);
        if (a->has_keep)
                cay_op_key_bool(j, "keep", a->keep);
        if (a->stream)
                cay_op_key_bool(j, "stream", true);
        return 0;
}

/* As the client has said it. */
static const char *start_field(const struct cay_foreign *f, const char *field)
{
        const struct start_args *a = f->args;

        if (strcmp(field, "template") == 0)
                return a->container ? "container" : a->name ? "name" : a->template_name ? "template" : NULL;
        if (strcmp(field, "task") == 0)
                return a->trigger ? "trigger" : "task";
        return NULL;
}

/* The end of a run in one word; `cause` says more. */
static const char *status_of(const struct cay_json_value *answer)
{
        static const struct {
                const char *cause, *status;
        } rows[] = { { "memory", "oom" },       { "wall_time", "timeout" }, { "cpu_time", "timeout" },
                     { "killed", "killed" },    { "output", "killed" },     { "sandbox_gone", "lost" },
                     { "engine_lost", "lost" }, { "daemon_lost", "lost" } };
        const char *cause = cay_json_value_text(cay_json_value_find(answer, "cause"));
        int64_t code = -1;

        for (size_t i = 0; cause && i < CAY_COUNT(rows); i++)
                if (strcmp(rows[i].cause, cause) == 0)
                        return rows[i].status;
        return cay_json_value_i64(cay_json_value_find(answer, "exit_code"), &code) && code == 0 ? "completed"
                                                                                                : "failed";
}

/* A run's result, with the same members for start and exec. */
static void put_run(struct cay_json *j, const struct cay_json_value *answer)
{
        cay_foreign_copy(j, "container_id", answer, "sandbox_id");
        cay_op_key_text(j, "status", status_of(answer));
        cay_foreign_copy(j, "exec_id", answer, "exec_id");
        cay_foreign_copy_run(j, answer);
}

/* When it ends by itself: after a time, or after a time without use. */
static const char *const life[] = { "expires_in_ms", "idle_limit_ms", "idle_expires_in_ms", NULL };

static void start_answer(const struct cay_foreign *f, const struct cay_json_value *answer, struct cay_json *j)
{
        cay_foreign_copy(j, "container", answer, "template");
        if (runs(f->args)) {
                put_run(j, answer);
                cay_op_key_bool(j, "removed", !cay_json_value_is_true(cay_json_value_find(answer, "kept")));
                cay_foreign_copy(j, "expires_in_ms", answer, "expires_in_ms");
                cay_foreign_copy(j, "idle_limit_ms", answer, "sandbox_idle_limit_ms");
                return;
        }
        cay_foreign_copy(j, "container_id", answer, "sandbox_id");
        cay_op_key_text(j, "status", "running");
        cay_foreign_copy(j, "execution_id", answer, "execution_id");
        cay_foreign_copy_all(j, answer, life);
        cay_op_key_bool(j, "removed", false);
}

/* Live containers */

struct use_args {
        const char *container_id, *container, *name, *workdir, *input, *execution_id;
        struct cay_field_texts command;
        struct cay_field_map env;
        uint64_t timeout_ms;
        bool stream;
};

#define USE(member) offsetof(struct use_args, member)
#define USE_FIELDS                                                                                             \
        {                                                                                                      \
                "container_id",  CAY_FIELD_TEXT, USE(container_id),  0,                                        \
                "the container", .min = 1,       .max = CAY_NAME_MAX                                           \
        },                                                                                                     \
                { "container", CAY_FIELD_TEXT, USE(container), 0, "the same", .min = 1, .max = CAY_NAME_MAX }, \
        {                                                                                                      \
                "name", CAY_FIELD_TEXT, USE(name), 0, "the same", .min = 1, .max = CAY_NAME_MAX                \
        }

static const struct cay_field exec_fields[] = {
        USE_FIELDS,
        { "command", CAY_FIELD_WORDS, USE(command), CAY_FIELD_REQUIRED, "the command", .max = 4096,
          .item_max = 128 * 1024 },
        { "timeout", CAY_FIELD_DURATION, USE(timeout_ms), 0, "end it after this time" },
        { "env", CAY_FIELD_MAP, USE(env), 0, "environment", .max = 256, .item_max = 128 * 1024 },
        { "workdir", CAY_FIELD_TEXT, USE(workdir), 0, "folder to run in", .max = 4095 },
        { "stdin", CAY_FIELD_TEXT, USE(input), 0, "what it reads", .max = CODE_MAX },
        { "stream", CAY_FIELD_BOOL, USE(stream), 0, "live output" },
        { "execution_id", CAY_FIELD_TEXT, USE(execution_id), 0, "single-use id", .min = 1,
          .max = CAY_SERVICE_CLAIM_MAX },
        {},
};

static const struct cay_field stop_fields[] = { USE_FIELDS, {} };

static const char *use_field(const struct cay_foreign *f, const char *field)
{
        const struct use_args *a = f->args;

        if (strcmp(field, "id") != 0)
                return NULL;
        return a->container ? "container" : a->name ? "name" : "container_id";
}

static int put_id(const struct cay_foreign *f, struct cay_json *j, const char **ret_field,
                  struct cay_error *err)
{
        const struct use_args *a = f->args;
        const char *id;

        if (one_of((const char *const[]){ a->container_id, a->container, a->name },
                   (const char *const[]){ "container_id", "container", "name" }, &id, ret_field, err) < 0)
                return -1;
        if (!id) {
                *ret_field = "container_id";
                return cay_fail(err, CAY_INVALID, "container_id: is required");
        }
        cay_op_key_text(j, "id", id);
        return 0;
}

static int exec_put(const struct cay_foreign *f, struct cay_json *j, const char **ret_field,
                    struct cay_error *err)
{
        const struct use_args *a = f->args;

        if (put_id(f, j, ret_field, err) < 0)
                return -1;
        cay_foreign_words(j, "command", &a->command);
        cay_foreign_ms(j, "timeout", a->timeout_ms);
        cay_foreign_map(j, "env", &a->env);
        cay_foreign_text(j, "workdir", a->workdir);
        cay_foreign_text(j, "stdin", a->input);
        cay_foreign_text(j, "execution_id", a->execution_id);
        if (a->stream)
                cay_op_key_bool(j, "stream", true);
        return 0;
}

static void exec_answer(const struct cay_foreign *f, const struct cay_json_value *answer, struct cay_json *j)
{
        (void)f;
        put_run(j, answer);
}

static void stop_answer(const struct cay_foreign *f, const struct cay_json_value *answer, struct cay_json *j)
{
        (void)f;
        cay_foreign_copy(j, "container_id", answer, "sandbox_id");
        cay_op_key_text(j, "status", "removed");
}

/* All containers */

struct page_args {
        const char *cursor;
};

static const struct cay_field status_fields[] = {
        { "cursor", CAY_FIELD_TEXT, offsetof(struct page_args, cursor), 0, "where the next page begins",
          .max = CAY_SERVICE_CURSOR_MAX },
        {},
};

static int status_put(const struct cay_foreign *f, struct cay_json *j, const char **ret_field,
                      struct cay_error *err)
{
        const struct page_args *a = f->args;

        (void)ret_field;
        (void)err;
        cay_op_key_text(j, "state", ALIVE);
        cay_foreign_text(j, "cursor", a->cursor);
        return 0;
}

static void status_answer(const struct cay_foreign *f, const struct cay_json_value *answer,
                          struct cay_json *j)
{
        const struct cay_json_value *rows = cay_json_value_find(answer, "sandboxes");
        static const char *const same[] = { "name",    "status",        "limits", "created_at",
                                            "idle_ms", "execs_running", NULL };

        (void)f;
        cay_json_key(j, "containers");
        cay_json_begin_array(j);
        for (size_t i = 0; i < cay_json_value_count(rows); i++) {
                const struct cay_json_value *row = cay_json_value_at(rows, i);

                cay_json_begin_object(j);
                cay_foreign_copy(j, "container_id", row, "sandbox_id");
                cay_foreign_copy(j, "container", row, "template");
                cay_foreign_copy_all(j, row, same);
                cay_foreign_copy_all(j, row, life);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
        cay_op_key_u64(j, "active", cay_json_value_count(rows));
        cay_foreign_copy(j, "next", answer, "next");
}

static int cleanup_put(const struct cay_foreign *f, struct cay_json *j, const char **ret_field,
                       struct cay_error *err)
{
        (void)f;
        (void)ret_field;
        (void)err;
        cay_op_key_text(j, "state", ALL);
        return 0;
}

static void cleanup_answer(const struct cay_foreign *f, const struct cay_json_value *answer,
                           struct cay_json *j)
{
        (void)f;
        cay_foreign_copy(j, "cleaned", answer, "destroyed");
        cay_foreign_copy(j, "failed", answer, "failed");
        cay_foreign_copy(j, "containers", answer, "sandboxes");
        cay_foreign_copy(j, "more", answer, "more");
}

static const struct cay_foreign_row list_row = { .dialect = CAY_OP_CONTAINERS,
                                                 .op = "template_list",
                                                 .put_answer = list_answer };
static const struct cay_foreign_row start_row = { .dialect = CAY_OP_CONTAINERS,
                                                  .op = "code_run",
                                                  .fields = start_fields,
                                                  .args_size = sizeof(struct start_args),
                                                  .choose = start_choose,
                                                  .put_args = start_put,
                                                  .their_field = start_field,
                                                  .put_answer = start_answer };
static const struct cay_foreign_row exec_row = { .dialect = CAY_OP_CONTAINERS,
                                                 .op = "exec_run",
                                                 .fields = exec_fields,
                                                 .args_size = sizeof(struct use_args),
                                                 .put_args = exec_put,
                                                 .their_field = use_field,
                                                 .put_answer = exec_answer };
static const struct cay_foreign_row stop_row = { .dialect = CAY_OP_CONTAINERS,
                                                 .op = "sandbox_destroy",
                                                 .fields = stop_fields,
                                                 .args_size = sizeof(struct use_args),
                                                 .put_args = put_id,
                                                 .their_field = use_field,
                                                 .put_answer = stop_answer };
static const struct cay_foreign_row status_row = { .dialect = CAY_OP_CONTAINERS,
                                                   .op = "sandbox_list",
                                                   .fields = status_fields,
                                                   .args_size = sizeof(struct page_args),
                                                   .put_args = status_put,
                                                   .put_answer = status_answer };
static const struct cay_foreign_row cleanup_row = { .dialect = CAY_OP_CONTAINERS,
                                                    .op = "sandbox_cleanup",
                                                    .put_args = cleanup_put,
                                                    .put_answer = cleanup_answer };

RESULT(result_container_security, NULL, TEXT("network_mode"), BOOL("read_only"), BOOL("needs_confirm"));
RESULT(result_container_row, "ContainerEnvironment", TEXT("name"), TEXT("description"), WORDS("triggers"),
       BOOL("available"), MAYBE("reason", TEXT), TEXT("build"), TEXT("source"),
       OBJECT("security", result_container_security), OBJECT("limits", cay_result_limits),
       BOOL("auto_cleanup"), NUMBER("max_concurrent"), BOOL("has_system"));
RESULT(result_container_settings, NULL, BOOL("auto_cleanup"), NUMBER("max_concurrent"));
RESULT(result_container_list, NULL, LIST("containers", result_container_row),
       OBJECT("settings", result_container_settings));

RESULT(result_container_exec, "ContainerRun", TEXT("container_id"), TEXT("status"), TEXT("exec_id"),
       ALSO(cay_foreign_result_run));
RESULT(result_container_life, NULL, MAYBE("expires_in_ms", NUMBER), MAYBE("idle_limit_ms", NUMBER));
RESULT(result_container_run, "ContainerStart", TEXT("container"), ALSO(result_container_exec),
       BOOL("removed"), ALSO(result_container_life));
RESULT(result_container_made, "ContainerMade", TEXT("container"), TEXT("container_id"), TEXT("status"),
       TEXT("execution_id"), ALSO(result_container_life), MAYBE("idle_expires_in_ms", NUMBER),
       BOOL("removed"));

RESULT(result_container_stopped, NULL, TEXT("container_id"), TEXT("status"));

RESULT(result_container_active, "Container", TEXT("container_id"), TEXT("container"), MAYBE("name", TEXT),
       TEXT("status"), OBJECT("limits", cay_result_limits), TIME("created_at"), NUMBER("idle_ms"),
       NUMBER("execs_running"), ALSO(result_container_life), MAYBE("idle_expires_in_ms", NUMBER));
RESULT(result_container_status, NULL, LIST("containers", result_container_active), NUMBER("active"),
       MAYBE("next", TEXT));

RESULT(result_container_cleaned, NULL, NUMBER("cleaned"), NUMBER("failed"), TEXTS("containers"),
       BOOL("more"));

/* In the order of the reference. */
static const struct cay_op listed[] = {
        {
                .name = "containers_list",
                .route = "GET /containers",
                .doc = "Lists the environments of the registry",
                .scope = CAY_SCOPE_READ,
                .result = &result_container_list,
        },
        {
                .name = "containers_start",
                .route = "POST /containers/start",
                .doc = "Starts a container and runs code or a command in it; without either it stays for "
                       "exec",
                .scope = CAY_SCOPE_EXEC,
                .flags = CAY_OP_STREAM,
                .fields = start_fields,
                .result = &result_container_run,
                .other_status = CAY_OP_CREATED,
                .other_result = &result_container_made,
        },
        {
                .name = "containers_exec",
                .route = "POST /containers/exec",
                .doc = "Runs a command in a container that stays",
                .scope = CAY_SCOPE_EXEC,
                .flags = CAY_OP_STREAM,
                .fields = exec_fields,
                .result = &result_container_exec,
        },
        {
                .name = "containers_stop",
                .route = "POST /containers/stop",
                .doc = "Stops a container and removes it",
                .scope = CAY_SCOPE_EXEC,
                .flags = CAY_OP_DESTRUCTIVE,
                .fields = stop_fields,
                .result = &result_container_stopped,
        },
        {
                .name = "containers_status",
                .route = "GET /containers/status",
                .doc = "Lists the containers that are alive, page by page",
                .scope = CAY_SCOPE_READ,
                .fields = status_fields,
                .result = &result_container_status,
        },
        {
                .name = "containers_cleanup",
                .route = "POST /containers/cleanup",
                .doc = "Removes all of one's containers",
                .scope = CAY_SCOPE_EXEC,
                .flags = CAY_OP_DESTRUCTIVE,
                .result = &result_container_cleaned,
        },
};

#define ROW(nr, route, translation)                                                                          \
        {                                                                                                    \
                .row = route, .listed = &listed[nr], .handle = cay_foreign_handle, .owner = &(translation)   \
        }

const struct cay_rest_more cay_containers_rows[] = {
        ROW(0, "GET /containers", list_row),          ROW(1, "POST /containers/start", start_row),
        ROW(2, "POST /containers/exec", exec_row),    ROW(3, "POST /containers/stop", stop_row),
        ROW(4, "GET /containers/status", status_row), ROW(5, "POST /containers/cleanup", cleanup_row),
};
const unsigned cay_containers_count = CAY_COUNT(cay_containers_rows);
