/* SPDX-License-Identifier: Apache-2.0 */
/* The control plane: sandboxes are made, listed, shown and killed. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dialects/e2b/e2b_content.h"
#include "dialects/e2b/e2b_create.h"
#include "dialects/e2b/e2b_start.h"
#include "foundation/base/str.h"

#define LIST_MAX 100
#define QUERY_MAX 4096u

static void answer_object(struct e2b_request *q, unsigned status, const struct cay_json_value *sandbox,
                          void (*put)(struct e2b_request *q, struct cay_json *j,
                                      const struct cay_json_value *sandbox))
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        cay_buf_init(&out, E2B_ANSWER_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        put(q, &j, sandbox);
        cay_json_end_object(&j);
        if (cay_json_end(&j) < 0)
                e2b_fail_memory(q);
        else
                e2b_answer(q, status, &out);
}

/* Create */

static void answer_made(struct e2b_request *q, const struct cay_json_value *sandbox)
{
        answer_object(q, 201, sandbox, e2b_put_made);
}

static void on_ready(struct e2b_request *q)
{
        e2b_ask_sandbox(q, "sandbox_get", answer_made);
}

static void on_made(struct e2b_request *q, const struct cay_json_value *sandbox)
{
        char name[CAY_NAME_MAX + 1];

        e2b_template_of(q->world, cay_json_value_text(e2b_member(q, "templateID")), name);
        if (!e2b_starts(q, name)) {
                answer_made(q, sandbox);
                return;
        }
        cay_str_copy(q->sandbox, sizeof(q->sandbox), e2b_text(sandbox, "sandbox_id"));
        e2b_start(q, name, on_ready);
}

static void run_create(struct e2b_request *q)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_error err = { 0 };

        cay_call_args_begin(&args);
        if (e2b_create_put(q, &args.j, &err) < 0)
                e2b_fail(q, &err);
        else
                e2b_ask(q, "sandbox_create", &args, on_made);
}

/* Get */

static void on_got(struct e2b_request *q, const struct cay_json_value *sandbox)
{
        if (e2b_state(sandbox))
                answer_object(q, 200, sandbox, e2b_put_detail);
        else
                e2b_refuse(q, CAY_NOT_FOUND, "sandbox '%s' has ended: %s", q->sandbox,
                           e2b_text(sandbox, "cause_text"));
}

static void run_get(struct e2b_request *q)
{
        e2b_ask_sandbox(q, "sandbox_get", on_got);
}

/* Kill */

static void on_killed(struct e2b_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        e2b_answer_empty(q, 204);
}

static void run_kill(struct e2b_request *q)
{
        e2b_ask_sandbox(q, "sandbox_destroy", on_killed);
}

/* List */

static void on_listed(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "sandboxes"), *sandbox;
        const char *next = e2b_text(answer, "next");
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        cay_buf_init(&out, E2B_ANSWER_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_array(&j);
        for (size_t i = 0; (sandbox = cay_json_value_at(list, i)); i++) {
                if (e2b_text(cay_json_value_find(sandbox, "labels"), E2B_LABEL_VOLUME))
                        continue; /* it serves a volume's files */
                cay_json_begin_object(&j);
                e2b_put_listed(q, &j, sandbox);
                cay_json_end_object(&j);
        }
        cay_json_end_array(&j);
        if (cay_json_end(&j) < 0) {
                e2b_fail_memory(q);
                return;
        }
        if (next)
                cay_http_response_add(q->req, "X-Next-Token", next);
        e2b_answer(q, 200, &out);
}

/* "running,paused", to the states that each stands for. -1: refused. */
static int put_states(struct e2b_request *q, struct cay_json *j, const char *text)
{
        bool runs = !text, sleeps = !text;

        for (const char *at = text; at && *at; at += *at == ',') {
                size_t len = strcspn(at, ",");

                if (len == 7 && strncmp(at, "running", len) == 0)
                        runs = true;
                else if (len == 6 && strncmp(at, "paused", len) == 0)
                        sleeps = true;
                else {
                        e2b_refuse(q, CAY_INVALID, "state: '%.*s' is not running or paused", (int)len, at);
                        return -1;
                }
                at += len;
        }
        cay_op_key_text(j, "state",
                        runs && sleeps ? "creating,ready,busy,paused,stopped"
                        : runs         ? "creating,ready,busy"
                                       : "paused,stopped");
        return 0;
}

/* Pairs are encoded once more than the op has them. */
static int put_metadata(struct e2b_request *q, struct cay_json *j, const char *text)
{
        char once[QUERY_MAX];

        if (!text || !text[0])
                return 0;
        if (strlen(text) >= sizeof(once) || cay_http_decode(text, strlen(text), false, once) < 0) {
                e2b_refuse(q, CAY_INVALID, "metadata: too long, or not encoded");
                return -1;
        }
        cay_op_key_text(j, "metadata", once);
        return 0;
}

static int put_filter(struct e2b_request *q, struct cay_json *j)
{
        char room[QUERY_MAX], label[QUERY_MAX + 32];
        const char *text = NULL;
        int r = e2b_query(q, "state", room, sizeof(room), &text);

        if (r < 0 || put_states(q, j, r > 0 ? text : NULL) < 0)
                return -1;
        r = e2b_query(q, "metadata", room, sizeof(room), &text);
        if (r < 0 || put_metadata(q, j, r > 0 ? text : NULL) < 0)
                return -1;
        r = e2b_query(q, "startedAfter", room, sizeof(room), &text);
        if (r > 0)
                cay_op_key_text(j, "created_after", text);
        if (r < 0)
                return -1;
        r = e2b_query(q, "template", room, sizeof(room), &text);
        if (r > 0) {
                snprintf(label, sizeof(label), "%s=%s", E2B_LABEL_TEMPLATE, text);
                cay_op_key_text(j, "label", label);
        }
        return r < 0 ? -1 : 0;
}

static int put_page(struct e2b_request *q, struct cay_json *j)
{
        char room[QUERY_MAX];
        const char *text = NULL;
        int r = e2b_query(q, "limit", room, sizeof(room), &text);
        unsigned limit = LIST_MAX;
        char end;

        if (r > 0 && (sscanf(text, "%u%c", &limit, &end) != 1 || limit < 1 || limit > LIST_MAX)) {
                e2b_refuse(q, CAY_INVALID, "limit: must be a number from 1 to %d", LIST_MAX);
                return -1;
        }
        if (r < 0)
                return -1;
        cay_op_key_u64(j, "limit", limit);
        r = e2b_query(q, "nextToken", room, sizeof(room), &text);
        if (r > 0)
                cay_op_key_text(j, "cursor", text);
        if (r < 0)
                return -1;
        r = e2b_query(q, "order", room, sizeof(room), &text);
        cay_op_key_bool(j, "newest_first", r <= 0 || strcmp(text, "asc") != 0);
        return r < 0 ? -1 : 0;
}

static void run_list(struct e2b_request *q)
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        cay_call_args_begin(&args);
        if (put_filter(q, &args.j) == 0 && put_page(q, &args.j) == 0)
                e2b_ask(q, "sandbox_list", &args, on_listed);
}

static const struct e2b_row rows[] = {
        { "POST /v2/sandboxes", run_create, E2B_FORM_REST, E2B_TAKES_JSON },
        { "POST /sandboxes", run_create, E2B_FORM_REST, E2B_TAKES_JSON },
        { "GET /v2/sandboxes", run_list, E2B_FORM_REST, 0 },
        { "GET /sandboxes", run_list, E2B_FORM_REST, 0 },
        { "GET /sandboxes/{id}", run_get, E2B_FORM_REST, 0 },
        { "DELETE /sandboxes/{id}", run_kill, E2B_FORM_REST, 0 },
};

const struct e2b_rows e2b_control_rows = { rows, CAY_COUNT(rows) };
