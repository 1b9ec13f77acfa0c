/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: list, show, release. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/browserbase/bb_priv.h"
#include "foundation/base/str.h"

#define QUERY_MAX 1024u

/* List */

struct listing {
        char status[16], name[256], value[QUERY_MAX]; /* of the metadata; "": any */
        bool has_query;
        unsigned count;
        struct bb_state states[BB_LIST_MAX];
};

/* user_metadata['key']:'value' */
static int read_query(struct listing *l, const char *text)
{
        static const char head[] = "user_metadata['", middle[] = "']:'";
        const char *at, *end = text + strlen(text);

        if (text[0] == '\0')
                return 0;
        at = cay_str_starts(text, head) ? strstr(text + strlen(head), middle) : NULL;
        if (!at || end - at < (long)strlen(middle) + 1 || end[-1] != '\'')
                return -1;
        snprintf(l->name, sizeof(l->name), "%.*s", (int)(at - text - (long)strlen(head)),
                 text + strlen(head));
        at += strlen(middle);
        snprintf(l->value, sizeof(l->value), "%.*s", (int)(end - at - 1), at);
        l->has_query = true;
        return 0;
}

static bool is_status(const char *text)
{
        for (int i = BB_PENDING; i <= BB_COMPLETED; i++)
                if (strcmp(text, bb_status_word((enum bb_status)i)) == 0)
                        return true;
        return false;
}

static int read_filter(struct bb_request *q, struct listing *l)
{
        char room[QUERY_MAX];
        const char *text = NULL;
        int r = bb_query(q, "status", room, sizeof(room), &text);

        if (r < 0)
                return -1;
        if (r > 0 && text[0] && (!is_status(text) || !cay_str_copy(l->status, sizeof(l->status), text))) {
                bb_refuse(q, CAY_INVALID, "status: must be PENDING, RUNNING, ERROR, TIMED_OUT or COMPLETED");
                return -1;
        }
        r = bb_query(q, "q", room, sizeof(room), &text);
        if (r > 0 && read_query(l, text) < 0) {
                bb_refuse(q, CAY_INVALID, "q: must be user_metadata['NAME']:'VALUE'");
                return -1;
        }
        return r < 0 ? -1 : 0;
}

static const struct bb_state *state_of(const struct listing *l, const struct cay_json_value *sandbox)
{
        static const struct bb_state none = { 0 };
        const char *id = bb_text(sandbox, "sandbox_id");

        for (unsigned i = 0; id && i < l->count; i++)
                if (strcmp(l->states[i].sandbox, id) == 0)
                        return &l->states[i];
        return &none;
}

static bool is_wanted(const struct listing *l, const struct cay_json_value *sandbox,
                      const struct bb_state *state)
{
        const char *value = bb_text(cay_json_value_find(sandbox, "metadata"), l->name);

        if (l->status[0] && strcmp(l->status, bb_status_word(state->status)) != 0)
                return false;
        return !l->has_query || (value && strcmp(value, l->value) == 0);
}

static void on_sandboxes(struct bb_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "sandboxes"), *sandbox;
        const struct listing *l = q->state;
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        cay_buf_init(&out, BB_ANSWER_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_array(&j);
        for (size_t i = 0; (sandbox = cay_json_value_at(list, i)); i++) {
                const struct bb_state *state = state_of(l, sandbox);

                if (!is_wanted(l, sandbox, state))
                        continue;
                cay_json_begin_object(&j);
                bb_put_session(&j, q, sandbox, state, "");
                cay_json_end_object(&j);
        }
        cay_json_end_array(&j);
        bb_answer_json(q, 200, &j);
}

static void on_browsers(struct bb_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "browsers"), *browser;
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct listing *l = q->state;

        for (size_t i = 0; l->count < BB_LIST_MAX && (browser = cay_json_value_at(list, i)); i++)
                bb_state_read(browser, &l->states[l->count++]);
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "label", BB_LABEL_SESSION "=yes");
        cay_op_key_u64(&args.j, "limit", BB_LIST_MAX);
        cay_op_key_bool(&args.j, "newest_first", true);
        bb_ask(q, "sandbox_list", &args, on_sandboxes);
}

static void run_list(struct bb_request *q)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct listing *l = calloc(1, sizeof(*l));

        q->state = l;
        q->free_state = free;
        if (!l) {
                bb_fail_memory(q);
        } else if (read_filter(q, l) == 0) {
                cay_call_args_begin(&args);
                bb_ask(q, "browser_list", &args, on_browsers);
        }
}

/* Release */

static void on_stopped(struct bb_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        bb_show(q);
}

static void on_seen(struct bb_request *q)
{
        bb_ask_session(q, "browser_stop", on_stopped);
}

static void run_update(struct bb_request *q)
{
        const char *status = q->body ? bb_text(cay_json_in_root(q->body), "status") : NULL;

        if (!status || strcmp(status, "REQUEST_RELEASE") != 0)
                bb_refuse(q, CAY_INVALID, "status: must be REQUEST_RELEASE");
        else
                bb_look(q, on_seen);
}

static const struct bb_row rows[] = {
        { "GET /v1/sessions", run_list, 0 },
        { "GET /v1/sessions/{id}", bb_show, 0 },
        { "POST /v1/sessions/{id}", run_update, BB_TAKES_JSON | BB_FINISHES },
};

const struct bb_rows bb_session_rows = { rows, CAY_COUNT(rows) };
