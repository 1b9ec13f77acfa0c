/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that were started: view, follow, resize, signal, end. */
#include <string.h>

#include "domain/ops/exec_feed.h"
#include "domain/ops/exec_stream.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/results.h"

struct args {
        const char *id, *exec, *signal, *stream;
        uint64_t from, rows, cols;
        bool raw;
};

#define ID_FIELD                                                                                             \
        {                                                                                                    \
                "id", CAY_FIELD_TEXT, offsetof(struct args, id), 0, "the sandbox", .min = 1,                 \
                                                                                   .max = CAY_NAME_MAX       \
        }
#define EXEC_FIELD                                                                                           \
        {                                                                                                    \
                "exec", CAY_FIELD_TEXT, offsetof(struct args, exec), 0, "the command", .min = 1,             \
                                                                                       .max = CAY_NAME_MAX   \
        }

static const struct cay_field list_fields[] = { ID_FIELD, {} };
static const struct cay_field get_fields[] = { ID_FIELD, EXEC_FIELD, {} };

/* Requests may name a sandbox; the service's exec calls take ids. */
static int find(struct cay_op_call *c, struct cay_viewer *viewer, const char **ret_id, struct cay_error *err)
{
        const struct args *a = c->args;
        struct cay_sandbox_view view;

        *viewer = cay_op_viewer(c);
        if (cay_service_get(c->world->service, viewer, a->id, &view, err) < 0)
                return -1;
        *ret_id = view.id;
        return 0;
}

struct listing {
        struct cay_json *j;
        enum cay_op_dialect dialect;
};

static void put_one(void *ctx, const struct cay_exec_view *view)
{
        const struct listing *l = ctx;

        cay_json_begin_object(l->j);
        cay_op_put_exec(l->j, view, l->dialect);
        cay_json_end_object(l->j);
}

static void run_list(struct cay_op_call *c)
{
        struct cay_viewer viewer;
        struct cay_error err = { 0 };
        const char *id;
        struct cay_op_result o;
        struct listing listing = { &o.j, c->dialect };

        cay_op_result_begin(&o, c);
        cay_json_key(&o.j, "execs");
        cay_json_begin_array(&o.j);
        if (find(c, &viewer, &id, &err) < 0 ||
            cay_service_exec_list(c->world->service, &viewer, id, put_one, &listing, &err) < 0) {
                cay_op_result_done(&o);
                cay_op_fail(c, &err, "id");
                return;
        }
        cay_json_end_array(&o.j);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

RESULT(result_execs, NULL, LIST("execs", cay_result_exec));

const struct cay_op cay_op_exec_list = {
        .name = "exec_list",
        .route = "GET /api/sandboxes/{id}/execs",
        .doc = "Lists the commands of a sandbox, including ended ones",
        .scope = CAY_SCOPE_READ,
        .fields = list_fields,
        .args_size = sizeof(struct args),
        .result = &result_execs,
        .verb = CAY_OP_VERB(
                "ps", "id",
                .shows = "execs: COMMAND-ID=exec_id STATUS=status/status EXIT=exit_code CAUSE=cause "
                         "STARTED=started_at/age TOOK=duration_ms COMMAND=command"),
        .run = run_list,
};

static void answer_view(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_viewer viewer;
        struct cay_exec_view view;
        struct cay_error err = { 0 };
        const char *id;
        struct cay_op_result o;

        if (find(c, &viewer, &id, &err) < 0 ||
            cay_service_exec_get(c->world->service, &viewer, id, a->exec, &view, &err) < 0) {
                cay_op_fail(c, &err, "exec");
                return;
        }
        cay_op_result_begin(&o, c);
        cay_op_put_exec(&o.j, &view, c->dialect);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

const struct cay_op cay_op_exec_get = {
        .name = "exec_get",
        .route = "GET /api/sandboxes/{id}/execs/{exec}",
        .doc = "Shows a command",
        .scope = CAY_SCOPE_READ,
        .fields = get_fields,
        .args_size = sizeof(struct args),
        .result = &cay_result_exec,
        .run = answer_view,
};

/* Following */

static const struct cay_field attach_fields[] = {
        ID_FIELD,
        EXEC_FIELD,
        { "from", CAY_FIELD_U64, offsetof(struct args, from), 0,
          "cursor to start at: the `next` of the last event received; default: the first byte" },
        { "raw", CAY_FIELD_BOOL, offsetof(struct args, raw), 0,
          "the bytes themselves instead of events; of both streams the next cursor is `from` plus their "
          "number" },
        { "stream", CAY_FIELD_TEXT, offsetof(struct args, stream), 0, "only this one: stdout or stderr",
          .max = 6 },
        {},
};

/* 0: both. */
static int find_stream(const char *name, unsigned *ret, struct cay_error *err)
{
        if (!name || strcmp(name, "stdout") == 0 || strcmp(name, "stderr") == 0) {
                *ret = !name ? 0 : strcmp(name, "stdout") == 0 ? 1 : 2;
                return 0;
        }
        return cay_fail(err, CAY_INVALID, "stream: must be stdout or stderr");
}

static void run_attach(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_viewer viewer;
        struct cay_op_exec_follow how = { .from = a->from, .raw = a->raw };
        struct cay_error err = { 0 };
        const char *id;

        if (find_stream(a->stream, &how.only, &err) < 0)
                cay_op_fail(c, &err, "stream");
        else if (find(c, &viewer, &id, &err) < 0)
                cay_op_fail(c, &err, "id");
        else
                cay_op_exec_stream(c, id, a->exec, &how);
}

const struct cay_op cay_op_exec_attach = {
        .name = "exec_attach",
        .route = "GET /api/sandboxes/{id}/execs/{exec}/output",
        .doc = "Streams a command's output from a cursor to its end",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_STREAM,
        .fields = attach_fields,
        .args_size = sizeof(struct args),
        .bytes = "application/octet-stream",
        .run = run_attach,
};

/* Terminal size and signals: done when the call returns, answered with the command. */

static const struct cay_field resize_fields[] = {
        ID_FIELD,
        EXEC_FIELD,
        { "rows", CAY_FIELD_U64, offsetof(struct args, rows), CAY_FIELD_REQUIRED, "of the terminal", .min = 1,
          .max = 65535 },
        { "cols", CAY_FIELD_U64, offsetof(struct args, cols), CAY_FIELD_REQUIRED, "of the terminal", .min = 1,
          .max = 65535 },
        {},
};

static void run_order(struct cay_op_call *c)
{
        const struct args *a = c->args;
        const struct cay_op_order order = { .signal = a->signal, .rows = a->rows, .cols = a->cols };
        struct cay_viewer viewer;
        struct cay_error err = { 0 };
        const char *id;

        if (find(c, &viewer, &id, &err) < 0 || cay_op_exec_order(c, id, a->exec, &order, &err) < 0)
                cay_op_fail(c, &err, a->signal && err.code == CAY_INVALID ? "signal" : NULL);
        else
                answer_view(c);
}

const struct cay_op cay_op_exec_resize = {
        .name = "exec_resize",
        .route = "POST /api/sandboxes/{id}/execs/{exec}/resize",
        .doc = "Sets the size of a command's terminal",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_INSIDE,
        .fields = resize_fields,
        .args_size = sizeof(struct args),
        .result = &cay_result_exec,
        .run = run_order,
};

static const struct cay_field signal_fields[] = {
        ID_FIELD,
        EXEC_FIELD,
        { "signal", CAY_FIELD_TEXT, offsetof(struct args, signal), CAY_FIELD_REQUIRED,
          "a name (TERM, SIGINT) or a number", .min = 1, .max = 15 },
        {},
};

const struct cay_op cay_op_exec_signal = {
        .name = "exec_signal",
        .route = "POST /api/sandboxes/{id}/execs/{exec}/signal",
        .doc = "Sends a signal to a command",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_INSIDE,
        .fields = signal_fields,
        .args_size = sizeof(struct args),
        .result = &cay_result_exec,
        .tool = CAY_TOOL("Signal a command", "Sends a signal to a running command; KILL ends it.",
                         .flags = CAY_TOOL_DESTROYS, .picks = "exec_id status exit_code signal",
                         .params = CAY_TOOL_PARAMS(CAY_TOOL_EXEC_ID,
                                                   { "signal", "signal", "TERM, INT, KILL… or a number.",
                                                     .is_required = true })),
        .run = run_order,
};

static void run_kill(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_viewer viewer;
        struct cay_error err = { 0 };
        const char *id;

        if (find(c, &viewer, &id, &err) < 0 ||
            cay_service_exec_kill(c->world->service, &viewer, id, a->exec, &err) < 0)
                cay_op_fail(c, &err, NULL);
        else
                answer_view(c);
}

const struct cay_op cay_op_exec_kill = {
        .name = "exec_kill",
        .route = "DELETE /api/sandboxes/{id}/execs/{exec}",
        .doc = "Ends a command and all its descendants",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_DESTRUCTIVE | CAY_OP_INSIDE,
        .fields = get_fields,
        .args_size = sizeof(struct args),
        .result = &cay_result_exec,
        .run = run_kill,
};
