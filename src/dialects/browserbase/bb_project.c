/* SPDX-License-Identifier: Apache-2.0 */
/* Projects: each owner has one. And what is not here: the answer says so. */
#include <string.h>

#include "dialects/browserbase/bb_priv.h"
#include "domain/ops/view.h"
#include "domain/settings/config.h"

static void put_project(struct bb_request *q, struct cay_json *j)
{
        const struct cay_config *config = q->world->config;
        char room[BB_ID_LEN + 1];

        cay_json_begin_object(j);
        cay_op_key_text(j, "id", bb_project(q, room));
        cay_op_key_text(j, "name", q->caller.owner);
        cay_op_key_text(j, "ownerId", q->caller.owner);
        cay_op_key_u64(j, "concurrency",
                       config->max_sandboxes_owner > 0 ? config->max_sandboxes_owner : config->max_sandboxes);
        cay_op_key_u64(j, "defaultTimeout", BB_SECONDS);
        cay_op_key_time(j, "createdAt", q->world->started_wall_ms);
        cay_op_key_time(j, "updatedAt", q->world->started_wall_ms);
        cay_json_end_object(j);
}

static void answer_project(struct bb_request *q, bool as_list)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        cay_buf_init(&out, BB_ANSWER_MAX);
        cay_json_init(&j, &out);
        if (as_list)
                cay_json_begin_array(&j);
        put_project(q, &j);
        if (as_list)
                cay_json_end_array(&j);
        bb_answer_json(q, 200, &j);
}

static void run_list(struct bb_request *q)
{
        answer_project(q, true);
}

static bool is_own(struct bb_request *q)
{
        const char *asked = cay_route_value(&q->match, "project");
        char room[BB_ID_LEN + 1];

        if (strcmp(asked, bb_project(q, room)) == 0)
                return true;
        bb_refuse(q, CAY_NOT_FOUND, "project '%.63s' does not exist; yours is %s", asked,
                  bb_project(q, room));
        return false;
}

static void run_get(struct bb_request *q)
{
        if (is_own(q))
                answer_project(q, false);
}

static void on_browsers(struct bb_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "browsers"), *browser;
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;
        uint64_t total = 0;
        int64_t ms;

        for (size_t i = 0; (browser = cay_json_value_at(list, i)); i++)
                if (bb_number(browser, "lived_ms", &ms) && ms > 0)
                        total += (uint64_t)ms;
        cay_buf_init(&out, BB_ANSWER_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        cay_op_key_u64(&j, "browserMinutes", total / 60000);
        cay_op_key_u64(&j, "proxyBytes", 0);
        cay_json_end_object(&j);
        bb_answer_json(q, 200, &j);
}

static void run_usage(struct bb_request *q)
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        if (!is_own(q))
                return;
        cay_call_args_begin(&args);
        bb_ask(q, "browser_list", &args, on_browsers);
}

static const struct bb_row rows[] = {
        { "GET /v1/projects", run_list, 0 },
        { "GET /v1/projects/{project}", run_get, 0 },
        { "GET /v1/projects/{project}/usage", run_usage, 0 },
};

const struct bb_rows bb_project_rows = { rows, CAY_COUNT(rows) };

/* Not here */

static void run_recording(struct bb_request *q)
{
        bb_refuse_status(
                q, 501,
                "this server has no videos of sessions; a session with browserSettings.recordSession "
                "is recorded, and /recording answers with the events");
}

static void run_extension(struct bb_request *q)
{
        bb_refuse_status(q, 501, "extensions are not supported by this server");
}

static void run_fetch(struct bb_request *q)
{
        bb_refuse_status(q, 501,
                         "fetch is not supported by this server's Browserbase interface; see POST "
                         "/api/browser/run");
}

static void run_other(struct bb_request *q)
{
        bb_refuse_status(q, 501, "this part of Browserbase's API is not supported by this server");
}

static const struct bb_row missing[] = {
        { "* /v1/sessions/{id}/recording/*rest", run_recording, 0 },
        { "* /v1/sessions/{id}/replays", run_recording, 0 },
        { "* /v1/sessions/{id}/replays/*rest", run_recording, 0 },
        { "* /v1/extensions", run_extension, 0 },
        { "* /v1/extensions/*rest", run_extension, 0 },
        { "* /v1/fetch", run_fetch, 0 },
        { "* /v1/search", run_other, 0 },
        { "* /v1/certificates", run_other, 0 },
        { "* /v1/certificates/*rest", run_other, 0 },
        { "* /v1/secrets", run_other, 0 },
        { "* /v1/secrets/*rest", run_other, 0 },
        { "* /v1/agents", run_other, 0 },
        { "* /v1/agents/*rest", run_other, 0 },
        { "* /v1/functions", run_other, 0 },
        { "* /v1/functions/*rest", run_other, 0 },
        { "* /v1/webhooks", run_other, 0 },
        { "* /v1/webhooks/*rest", run_other, 0 },
};

const struct bb_rows bb_missing_rows = { missing, CAY_COUNT(missing) };
