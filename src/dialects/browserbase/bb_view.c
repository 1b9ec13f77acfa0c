/* SPDX-License-Identifier: Apache-2.0 */
/* A session in Browserbase's words, and how it is. */
#include <stdio.h>
#include <string.h>

#include "dialects/browserbase/bb_priv.h"
#include "foundation/base/str.h"

#define LINK_S 86400           /* the longest that links are good for */
#define VALUE_MAX (64u * 1024) /* bytes of a value of metadata */
#define VALUE_DEPTH 32u

const char *bb_status_word(enum bb_status status)
{
        static const char *const names[] = { "PENDING", "RUNNING", "ERROR", "TIMED_OUT", "COMPLETED" };

        return names[status];
}

void bb_state_read(const struct cay_json_value *browser, struct bb_state *ret)
{
        const char *status = bb_text(browser, "status"), *started = bb_text(browser, "started_at"),
                   *ended = bb_text(browser, "ended_at");

        *ret = (struct bb_state){ 0 };
        if (!status)
                return;
        ret->status = strcmp(status, "ended") != 0           ? BB_RUNNING
                      : bb_flag(browser, "timed_out", false) ? BB_TIMED_OUT
                      : bb_flag(browser, "failed", false)    ? BB_ERROR
                                                             : BB_COMPLETED;
        cay_str_copy(ret->sandbox, sizeof(ret->sandbox), bb_text(browser, "sandbox_id"));
        cay_str_copy(ret->started_at, sizeof(ret->started_at), started ? started : "");
        cay_str_copy(ret->ended_at, sizeof(ret->ended_at), ended ? ended : "");
}

/* Values that are not texts were kept as JSON. */
struct metadata {
        struct cay_json *j;
        const char *values; /* "|name|name|" */
};

static bool put_pair(void *ctx, const char *name, const struct cay_json_value *value)
{
        static const struct cay_json_in_limits limits = { .bytes = VALUE_MAX, .depth = VALUE_DEPTH };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const struct metadata *m = ctx;
        const char *text = cay_json_value_text(value);
        struct cay_error ignored = { 0 };
        char mark[300];

        cay_json_key(m->j, name);
        snprintf(mark, sizeof(mark), "|%.255s|", name);
        /* Labels and metadata are their owner's to write: what is no JSON stays a text. */
        if (text && m->values && strstr(m->values, mark) &&
            cay_json_in_parse(text, strlen(text), &limits, &doc, &ignored) == 0)
                cay_json_value_put(m->j, cay_json_in_root(doc));
        else
                cay_json_value_put(m->j, value);
        return true;
}

static void put_metadata(struct cay_json *j, const struct cay_json_value *sandbox, const char *values)
{
        const struct cay_json_value *pairs = cay_json_value_find(sandbox, "metadata");
        struct metadata m = { j, values };

        if (cay_json_value_count(pairs) == 0)
                return;
        cay_json_key(j, "userMetadata");
        cay_json_begin_object(j);
        cay_json_value_each(pairs, put_pair, &m);
        cay_json_end_object(j);
}

void bb_put_session(struct cay_json *j, const struct bb_request *q, const struct cay_json_value *sandbox,
                    const struct bb_state *state, const char *link)
{
        const struct cay_json_value *labels = cay_json_value_find(sandbox, "labels");
        const char *created = bb_text(sandbox, "created_at"), *region = bb_text(labels, BB_LABEL_REGION),
                   *project = bb_text(labels, BB_LABEL_PROJECT), *context = bb_text(labels, BB_LABEL_CONTEXT),
                   *token = strstr(link, "token=");
        const char *started = state->started_at[0] ? state->started_at : created;
        char room[BB_ID_LEN + 1];

        cay_op_key_text(j, "id", bb_text(sandbox, "name"));
        cay_op_key_text(j, "createdAt", created);
        cay_op_key_text(j, "updatedAt", state->ended_at[0] ? state->ended_at : started);
        cay_op_key_text(j, "projectId", project ? project : bb_project(q, room));
        cay_op_key_text(j, "startedAt", started);
        if (state->ended_at[0])
                cay_op_key_text(j, "endedAt", state->ended_at);
        cay_op_key_text(j, "expiresAt", bb_text(labels, BB_LABEL_EXPIRES));
        cay_op_key_text(j, "status", bb_status_word(state->status));
        cay_op_key_u64(j, "proxyBytes", 0);
        cay_op_key_bool(j, "keepAlive", bb_text(labels, BB_LABEL_KEEP) != NULL);
        cay_op_key_text(j, "region", region ? region : "us-west-2");
        if (context)
                cay_op_key_text(j, "contextId", context);
        put_metadata(j, sandbox, bb_text(labels, BB_LABEL_VALUES));
        if (!link[0])
                return;
        cay_op_key_text(j, "connectUrl", link);
        cay_op_key_text(j, "seleniumRemoteUrl", ""); /* there is no WebDriver */
        cay_op_key_text(j, "signingKey", token ? token + strlen("token=") : "");
}

/* How it is */

static void on_browsers(struct bb_request *q, const struct cay_json_value *answer)
{
        bb_state_read(cay_json_value_at(cay_json_value_find(answer, "browsers"), 0), &q->seen);
        q->on_seen(q);
}

static void on_no_sandbox(struct bb_request *q, const struct cay_error *err)
{
        if (err->code == CAY_NOT_FOUND)
                bb_refuse(q, CAY_NOT_FOUND,
                          "session '%s' does not exist; sessions are forgotten five minutes after their end",
                          q->id);
        else
                bb_fail(q, err);
}

void bb_look(struct bb_request *q, void (*then)(struct bb_request *q))
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        q->on_seen = then;
        q->on_fail = on_no_sandbox;
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "sandbox", q->id);
        bb_ask(q, "browser_list", &args, on_browsers);
}

/* The whole answer */

static void on_sandbox(struct bb_request *q, const struct cay_json_value *sandbox)
{
        const struct cay_json_value *labels = cay_json_value_find(sandbox, "labels");
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        if (!bb_text(labels, BB_LABEL_SESSION)) {
                bb_refuse(q, CAY_NOT_FOUND, "session '%s' does not exist", q->id);
                return;
        }
        cay_buf_init(&out, BB_ANSWER_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        bb_put_session(&j, q, sandbox, &q->seen, q->link);
        cay_json_end_object(&j);
        bb_answer_json(q, 200, &j);
        explicit_bzero(cay_buf_data(&out), out.len);
}

static void ask_sandbox(struct bb_request *q)
{
        q->on_fail = on_no_sandbox;
        bb_ask_session(q, "sandbox_get", on_sandbox);
}

static void on_link(struct bb_request *q, const struct cay_json_value *answer)
{
        cay_str_copy(q->link, sizeof(q->link), bb_text(answer, "url"));
        ask_sandbox(q);
}

static void on_state(struct bb_request *q)
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        if (q->seen.status != BB_RUNNING) {
                ask_sandbox(q);
                return;
        }
        bb_args_begin(q, &args);
        cay_op_key_u64(&args.j, "expires_in", LINK_S);
        bb_ask(q, "browser_link", &args, on_link);
}

void bb_show(struct bb_request *q)
{
        bb_look(q, on_state);
}
