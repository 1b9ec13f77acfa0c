/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a session: live URLs, logs; and what recordings are answered with. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/browserbase/bb_priv.h"
#include "foundation/base/parse.h"
#include "foundation/base/str.h"

#define PAGES_MAX 256u
#define ENTRIES_MAX 2048u
#define LINK_S 3600u
#define LINK_MAX_S 86400u

/*
 * Live URLs: the page of this daemon that shows the browser to whoever has the link. Clients hand them on to
 * people who have no account, and add "&navbar=false" to them.
 */

struct debugging {
        uint64_t seconds;
        char page[CAY_OP_TOKEN_MAX + 400];
};

static void free_debugging(void *state)
{
        explicit_bzero(state, sizeof(struct debugging));
        free(state);
}

static void put_urls(const struct bb_request *q, struct cay_json *j)
{
        const struct debugging *d = q->state;
        char whole[sizeof(d->page) + 20];

        snprintf(whole, sizeof(whole), "%s&navbar=false", d->page);
        cay_op_key_text(j, "debuggerUrl", d->page);
        cay_op_key_text(j, "debuggerFullscreenUrl", whole);
        explicit_bzero(whole, sizeof(whole));
}

static void on_browser(struct bb_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *tabs = cay_json_value_find(answer, "tabs"), *tab;
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        cay_buf_init(&out, BB_ANSWER_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        put_urls(q, &j);
        cay_op_key_text(&j, "wsUrl", q->link);
        cay_json_key(&j, "pages");
        cay_json_begin_array(&j);
        for (size_t i = 0; (tab = cay_json_value_at(tabs, i)); i++) {
                cay_json_begin_object(&j);
                cay_op_key_text(&j, "id", bb_text(tab, "id"));
                cay_op_key_text(&j, "url", bb_text(tab, "url"));
                cay_op_key_text(&j, "title", bb_text(tab, "title"));
                cay_op_key_text(&j, "faviconUrl", "");
                put_urls(q, &j);
                cay_json_end_object(&j);
        }
        cay_json_end_array(&j);
        cay_json_end_object(&j);
        bb_answer_json(q, 200, &j);
}

static void on_live_link(struct bb_request *q, const struct cay_json_value *answer)
{
        struct debugging *d = q->state;

        cay_str_copy(d->page, sizeof(d->page), bb_text(answer, "page_url"));
        bb_ask_session(q, "browser_get", on_browser);
}

static void ask_link(struct bb_request *q, const char *op,
                     void (*then)(struct bb_request *q, const struct cay_json_value *answer))
{
        const struct debugging *d = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };

        bb_args_begin(q, &args);
        cay_op_key_u64(&args.j, "expires_in", d->seconds);
        bb_ask(q, op, &args, then);
}

static void on_link(struct bb_request *q, const struct cay_json_value *answer)
{
        cay_str_copy(q->link, sizeof(q->link), bb_text(answer, "url"));
        ask_link(q, "browser_live_link", on_live_link);
}

static void on_seen(struct bb_request *q)
{
        struct debugging *d;
        uint64_t seconds = LINK_S;
        char room[32];
        const char *text = NULL;
        int r = bb_query(q, "expiresIn", room, sizeof(room), &text);

        if (r < 0)
                return;
        if (r > 0 && (cay_parse_u64(text, &seconds) < 0 || seconds < 1 || seconds > LINK_MAX_S)) {
                bb_refuse(q, CAY_INVALID, "expiresIn: must be from 1 to %u seconds", LINK_MAX_S);
                return;
        }
        if (q->seen.status != BB_RUNNING) {
                bb_refuse(q, CAY_DAMAGED, "session '%s' has ended: it has no live view", q->id);
                return;
        }
        d = calloc(1, sizeof(*d));
        if (!d) {
                bb_fail_memory(q);
                return;
        }
        d->seconds = seconds;
        q->state = d;
        q->free_state = free_debugging;
        ask_link(q, "browser_link", on_link);
}

static void run_debug(struct bb_request *q)
{
        bb_look(q, on_seen);
}

/* Logs: events as the DevTools protocol names them */

struct entry {
        int64_t at_ms;
        unsigned nr; /* of equal times, the order in which they came */
        enum { SENT, RECEIVED, FAILED, PRINTED, THROWN } kind;
        const struct cay_json_value *what;
};

struct log {
        struct bb_request *q;
        struct cay_json j;
        struct entry entries[2 * ENTRIES_MAX];
        unsigned count, page_count;
        char pages[PAGES_MAX][40];
};

static void add(struct log *l, int kind, const struct cay_json_value *what, int64_t at_ms)
{
        if (l->count < CAY_COUNT(l->entries)) {
                l->entries[l->count] =
                        (struct entry){ .at_ms = at_ms, .nr = l->count, .kind = kind, .what = what };
                l->count++;
        }
}

static int compare(const void *a, const void *b)
{
        const struct entry *one = a, *other = b;

        if (one->at_ms != other->at_ms)
                return one->at_ms < other->at_ms ? -1 : 1;
        return one->nr < other->nr ? -1 : 1;
}

static void collect(struct log *l, const struct cay_json_value *answer)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "requests"), *v;

        for (size_t i = 0; (v = cay_json_value_at(list, i)); i++) {
                int64_t at = 0, took = 0;
                const char *state = bb_text(v, "state");

                bb_number(v, "at_ms", &at);
                bb_number(v, "duration_ms", &took);
                add(l, SENT, v, at);
                if (strcmp(state, "failed") == 0)
                        add(l, FAILED, v, at + took);
                else if (bb_has(v, "status"))
                        add(l, RECEIVED, v, at + took);
        }
        list = cay_json_value_find(answer, "messages");
        for (size_t i = 0; (v = cay_json_value_at(list, i)); i++) {
                int64_t at = 0;

                bb_number(v, "at_ms", &at);
                add(l, strcmp(bb_text(v, "level"), "exception") == 0 ? THROWN : PRINTED, v, at);
        }
        qsort(l->entries, l->count, sizeof(l->entries[0]), compare);
}

/* Pages are numbered in the order in which they appear. */
static unsigned number_of(struct log *l, const char *tab)
{
        for (unsigned i = 0; i < l->page_count; i++)
                if (strcmp(l->pages[i], tab) == 0)
                        return i;
        if (l->page_count == PAGES_MAX)
                return PAGES_MAX - 1;
        cay_str_copy(l->pages[l->page_count], sizeof(l->pages[0]), tab);
        return l->page_count++;
}

/* Members of the event's parameters. */
static void put_params(struct cay_json *j, const struct entry *e)
{
        cay_json_begin_object(j);
        if (e->kind <= FAILED) {
                bb_put_copy(j, "requestId", cay_json_value_find(e->what, "id"));
                bb_put_copy(j, "type", cay_json_value_find(e->what, "type"));
        }
        if (e->kind == FAILED) {
                bb_put_copy(j, "errorText", cay_json_value_find(e->what, "error"));
        } else if (e->kind <= RECEIVED) {
                cay_json_key(j, e->kind == SENT ? "request" : "response");
                cay_json_begin_object(j);
                bb_put_copy(j, "url", cay_json_value_find(e->what, "url"));
                if (e->kind == SENT) {
                        bb_put_copy(j, "method", cay_json_value_find(e->what, "method"));
                } else {
                        bb_put_copy(j, "status", cay_json_value_find(e->what, "status"));
                        bb_put_copy(j, "mimeType", cay_json_value_find(e->what, "mime_type"));
                        bb_put_copy(j, "encodedDataLength", cay_json_value_find(e->what, "bytes"));
                }
                cay_json_end_object(j);
        } else {
                bb_put_copy(j, "type", cay_json_value_find(e->what, "level"));
                bb_put_copy(j, "text", cay_json_value_find(e->what, "text"));
                bb_put_copy(j, "url", cay_json_value_find(e->what, "url"));
                bb_put_copy(j, "lineNumber", cay_json_value_find(e->what, "line"));
        }
        cay_json_end_object(j);
}

static void put_entry(struct log *l, const struct entry *e)
{
        static const char *const methods[] = { "Network.requestWillBeSent", "Network.responseReceived",
                                               "Network.loadingFailed", "Runtime.consoleAPICalled",
                                               "Runtime.exceptionThrown" };
        cay_auto_buf struct cay_buf raw = { 0 };
        struct cay_json j;

        cay_buf_init(&raw, 64u * 1024);
        cay_json_init(&j, &raw);
        put_params(&j, e);
        cay_json_begin_object(&l->j);
        cay_op_key_text(&l->j, "method", methods[e->kind]);
        cay_op_key_u64(&l->j, "pageId", number_of(l, bb_text(e->what, "tab_id")));
        cay_op_key_text(&l->j, "sessionId", l->q->id);
        cay_op_key_u64(&l->j, "timestamp", (uint64_t)e->at_ms);
        if (e->kind <= FAILED)
                bb_put_copy(&l->j, "loaderId", cay_json_value_find(e->what, "loader_id"));
        cay_json_key(&l->j, e->kind == RECEIVED ? "response" : "request");
        cay_json_begin_object(&l->j);
        cay_op_key_u64(&l->j, "timestamp", (uint64_t)e->at_ms);
        cay_json_key(&l->j, e->kind == RECEIVED ? "result" : "params");
        put_params(&l->j, e);
        cay_op_key_text(&l->j, "rawBody", cay_buf_data(&raw));
        cay_json_end_object(&l->j);
        cay_json_end_object(&l->j);
}

static void on_logs(struct bb_request *q, const struct cay_json_value *answer)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct log *l = calloc(1, sizeof(*l));

        q->state = l;
        q->free_state = free;
        if (!l) {
                bb_fail_memory(q);
                return;
        }
        l->q = q;
        collect(l, answer);
        cay_buf_init(&out, BB_ANSWER_MAX);
        cay_json_init(&l->j, &out);
        cay_json_begin_array(&l->j);
        for (unsigned i = 0; i < l->count; i++)
                put_entry(l, &l->entries[i]);
        cay_json_end_array(&l->j);
        bb_answer_json(q, 200, &l->j);
}

static void ask_logs(struct bb_request *q)
{
        bb_ask_session(q, "browser_logs", on_logs);
}

static void run_logs(struct bb_request *q)
{
        bb_look(q, ask_logs);
}

static const struct bb_row rows[] = {
        { "GET /v1/sessions/{id}/debug", run_debug, 0 },
        { "GET /v1/sessions/{id}/logs", run_logs, 0 },
};

const struct bb_rows bb_look_rows = { rows, CAY_COUNT(rows) };
