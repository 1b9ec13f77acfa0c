/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/browser/logs.h"

#include <stdlib.h>
#include <string.h>

#include "foundation/base/str.h"
#include "foundation/base/utf8.h"

#define URL_MAX 2048u
#define TEXT_MAX 4096u
#define ARGS_MAX 16u /* of one line of the console */

/* Texts, counted */

static void drop_text(struct cay_browser_logs *l, char **text)
{
        size_t bytes = *text ? strlen(*text) + 1 : 0;

        l->bytes -= bytes;
        cay_budget_give(l->budget, bytes);
        free(*text);
        *text = NULL;
}

static void strip(struct cay_browser_logs *l, struct cay_request *r)
{
        drop_text(l, &r->sent);
        drop_text(l, &r->received);
        drop_text(l, &r->post);
}

/* Takes text; NULL: there is no room for it. */
static char *count(struct cay_browser_logs *l, char *text)
{
        size_t bytes = text ? strlen(text) + 1 : 0;

        while (l->bytes + bytes > CAY_BROWSER_LOGS_BYTES && l->bare < l->request_count)
                strip(l, &l->requests[l->bare++]);
        if (l->bytes + bytes > CAY_BROWSER_LOGS_BYTES || cay_budget_take(l->budget, bytes) < 0) {
                free(text);
                return NULL;
        }
        l->bytes += bytes;
        return text;
}

static void *make_rows(struct cay_browser_logs *l, size_t count_of, size_t size)
{
        void *rows;

        if (cay_budget_take(l->budget, count_of * size) < 0)
                return NULL;
        rows = calloc(count_of, size);
        if (!rows)
                cay_budget_give(l->budget, count_of * size);
        return rows;
}

static void drop_rows(struct cay_browser_logs *l, void *rows, size_t count_of, size_t size)
{
        if (rows)
                cay_budget_give(l->budget, count_of * size);
        free(rows);
}

static void drop_request(struct cay_browser_logs *l, struct cay_request *r)
{
        drop_text(l, &r->url);
        strip(l, r);
        *r = (struct cay_request){ 0 };
}

static struct cay_request *find_id(const struct cay_browser_logs *l, const char *id)
{
        for (unsigned i = l->request_count; i-- > 0;)
                if (strcmp(l->requests[i].id, id) == 0)
                        return &l->requests[i];
        return NULL;
}

const struct cay_request *cay_browser_logs_find(const struct cay_browser_logs *l, const char *id)
{
        return find_id(l, id);
}

const struct cay_request *cay_browser_logs_number(const struct cay_browser_logs *l, uint64_t number)
{
        for (unsigned i = 0; i < l->request_count; i++)
                if (l->requests[i].number == number)
                        return &l->requests[i];
        return NULL;
}

/* A text of JSON, cut at a whole character. NULL: none, or no memory. */
static char *copy_text(struct cay_json_view v, size_t max)
{
        char *ret = v.len > 0 ? malloc(max + 1) : NULL, *fit;
        struct cay_json_view text;

        if (!ret)
                return NULL;
        if (cay_json_view_open(v.at, v.len, &text) < 0) {
                ret[0] = '\0';
        } else {
                cay_json_view_copy(text, ret, max + 1);
                ret[cay_utf8_cut(ret, strlen(ret))] = '\0';
        }
        fit = realloc(ret, strlen(ret) + 1);
        return fit ? fit : ret;
}

static char *copy_raw(struct cay_json_view v, size_t max)
{
        return v.len > 0 && v.len <= max ? strndup(v.at, v.len) : NULL;
}

static double number_of(struct cay_json_view v)
{
        char text[40];

        if (v.len == 0 || v.len >= sizeof(text))
                return 0;
        memcpy(text, v.at, v.len);
        text[v.len] = '\0';
        return strtod(text, NULL);
}

/* Network */

static void end_request(struct cay_request *r, const struct cay_cdp_message *event,
                        enum cay_request_state state)
{
        double took = number_of(cay_cdp_find(event->params, "timestamp")) - r->begin;

        r->state = state;
        r->duration_ms = took > 0 && took < 1e6 ? (uint64_t)(took * 1000) : 0;
}

static void take_response(struct cay_browser_logs *l, struct cay_request *r, struct cay_json_view response)
{
        uint64_t status = 0;

        if (cay_json_view_u64(cay_cdp_find(response, "status"), &status))
                r->status = (unsigned)status;
        cay_cdp_find_text(response, "mimeType", r->mime, sizeof(r->mime));
        r->from_cache = cay_json_view_is_true(cay_cdp_find(response, "fromDiskCache"));
        drop_text(l, &r->received);
        r->received = count(l, copy_raw(cay_cdp_find(response, "headers"), CAY_REQUEST_HEADERS_MAX));
}

static void begin_request(struct cay_browser_logs *l, const struct cay_cdp_message *event, const char *id,
                          const char *tab, uint64_t wall_ms)
{
        struct cay_json_view request = cay_cdp_find(event->params, "request");
        struct cay_json_view redirect = cay_cdp_find(event->params, "redirectResponse");
        struct cay_request *r = find_id(l, id);

        if (r && redirect.len > 0) {
                take_response(l, r, redirect);
                end_request(r, event, CAY_REQUEST_DONE);
        } else if (r && r->state == CAY_REQUEST_RUNNING) {
                return; /* two sessions tell of it: a frame's and its page's */
        }
        if (!l->requests)
                l->requests = make_rows(l, CAY_REQUESTS_MAX, sizeof(*l->requests));
        if (!l->requests)
                return;
        if (l->request_count == CAY_REQUESTS_MAX) {
                drop_request(l, &l->requests[0]);
                memmove(l->requests, l->requests + 1, (CAY_REQUESTS_MAX - 1) * sizeof(*l->requests));
                l->request_count--;
                l->bare -= l->bare > 0;
        }
        r = &l->requests[l->request_count++];
        *r = (struct cay_request){ .number = ++l->last_request, .wall_ms = wall_ms };
        cay_str_copy(r->id, sizeof(r->id), id);
        cay_str_copy(r->session, sizeof(r->session), event->session);
        cay_str_copy(r->tab, sizeof(r->tab), tab);
        cay_cdp_find_text(event->params, "loaderId", r->loader, sizeof(r->loader));
        cay_cdp_find_text(event->params, "type", r->type, sizeof(r->type));
        cay_cdp_find_text(request, "method", r->method, sizeof(r->method));
        r->begin = number_of(cay_cdp_find(event->params, "timestamp"));
        r->url = count(l, copy_text(cay_cdp_find(request, "url"), URL_MAX));
        r->sent = count(l, copy_raw(cay_cdp_find(request, "headers"), CAY_REQUEST_HEADERS_MAX));
        r->post = count(l, copy_raw(cay_cdp_find(request, "postData"), CAY_REQUEST_POST_MAX));
}

static void hear_network(struct cay_browser_logs *l, const struct cay_cdp_message *event, const char *tab,
                         uint64_t wall_ms)
{
        char id[64];
        struct cay_request *r;
        double bytes;

        cay_cdp_find_text(event->params, "requestId", id, sizeof(id));
        if (id[0] == '\0')
                return;
        if (strcmp(event->method, "Network.requestWillBeSent") == 0) {
                begin_request(l, event, id, tab, wall_ms);
                return;
        }
        r = find_id(l, id);
        if (!r || r->state != CAY_REQUEST_RUNNING)
                return;
        if (strcmp(event->method, "Network.responseReceived") == 0) {
                take_response(l, r, cay_cdp_find(event->params, "response"));
        } else if (strcmp(event->method, "Network.loadingFinished") == 0) {
                bytes = number_of(cay_cdp_find(event->params, "encodedDataLength"));
                r->bytes = bytes > 0 ? (uint64_t)bytes : 0;
                end_request(r, event, CAY_REQUEST_DONE);
        } else if (strcmp(event->method, "Network.loadingFailed") == 0) {
                cay_cdp_find_text(event->params, "errorText", r->error, sizeof(r->error));
                end_request(r, event, CAY_REQUEST_FAILED);
        }
}

/* The console */

static struct cay_printed *add_printed(struct cay_browser_logs *l, const char *tab, uint64_t wall_ms)
{
        struct cay_printed *p;

        if (!l->printed)
                l->printed = make_rows(l, CAY_PRINTED_MAX, sizeof(*l->printed));
        if (!l->printed)
                return NULL;
        if (l->printed_count == CAY_PRINTED_MAX) {
                drop_text(l, &l->printed[0].text);
                memmove(l->printed, l->printed + 1, (CAY_PRINTED_MAX - 1) * sizeof(*l->printed));
                l->printed_count--;
        }
        p = &l->printed[l->printed_count++];
        *p = (struct cay_printed){ .number = ++l->last_printed, .wall_ms = wall_ms };
        cay_str_copy(p->tab, sizeof(p->tab), tab);
        return p;
}

/* What a value of the page looks like: its text, or how Chromium describes it. */
static void put_value(struct cay_buf *out, struct cay_json_view object)
{
        struct cay_json_view value = cay_cdp_find(object, "value"), text;

        if (value.len == 0)
                value = cay_cdp_find(object, "description");
        if (value.len == 0)
                value = cay_cdp_find(object, "unserializableValue");
        if (value.len == 0)
                value = cay_cdp_find(object, "type");
        if (value.len > 0 && value.at[0] != '"')
                cay_buf_put(out, value.at, value.len < TEXT_MAX ? value.len : TEXT_MAX);
        else if (cay_json_view_open(value.at, value.len, &text) == 0)
                cay_json_view_text(text, out);
}

static void set_text(struct cay_browser_logs *l, struct cay_printed *p, struct cay_buf *text)
{
        size_t len = text->len < TEXT_MAX ? text->len : TEXT_MAX;

        len = cay_utf8_cut(cay_buf_data(text), len);
        p->text = count(l, strndup(cay_buf_data(text), len));
}

static void set_place(struct cay_printed *p, struct cay_json_view at)
{
        struct cay_json_view frames = cay_cdp_find(cay_cdp_find(at, "stackTrace"), "callFrames"), key, frame;
        struct cay_json_walk walk;

        if (cay_json_view_open(frames.at, frames.len, &frames) == 0) {
                walk = cay_json_view_walk(frames);
                if (cay_json_view_next(&walk, &key, &frame))
                        at = frame;
        }
        cay_cdp_find_text(at, "url", p->url, sizeof(p->url));
        if (cay_json_view_u64(cay_cdp_find(at, "lineNumber"), &p->line))
                p->line++; /* from 0 there */
}

static void hear_console(struct cay_browser_logs *l, const struct cay_cdp_message *event, const char *tab,
                         uint64_t wall_ms)
{
        struct cay_json_view args = cay_cdp_find(event->params, "args"), key, value;
        struct cay_printed *p = add_printed(l, tab, wall_ms);
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_json_walk walk;
        unsigned n = 0;

        if (!p)
                return;
        cay_buf_init(&text, 64 * TEXT_MAX);
        cay_cdp_find_text(event->params, "type", p->level, sizeof(p->level));
        if (cay_json_view_open(args.at, args.len, &args) == 0) {
                walk = cay_json_view_walk(args);
                while (n < ARGS_MAX && cay_json_view_next(&walk, &key, &value)) {
                        if (n++ > 0)
                                cay_buf_putc(&text, ' ');
                        put_value(&text, value);
                }
        }
        set_text(l, p, &text);
        set_place(p, event->params);
}

static void hear_exception(struct cay_browser_logs *l, const struct cay_cdp_message *event, const char *tab,
                           uint64_t wall_ms)
{
        struct cay_json_view details = cay_cdp_find(event->params, "exceptionDetails");
        struct cay_printed *p = add_printed(l, tab, wall_ms);
        cay_auto_buf struct cay_buf text = { 0 };

        if (!p)
                return;
        cay_buf_init(&text, 64 * TEXT_MAX);
        cay_str_copy(p->level, sizeof(p->level), "exception");
        put_value(&text, cay_cdp_find(details, "exception"));
        set_text(l, p, &text);
        set_place(p, details);
}

static void hear_entry(struct cay_browser_logs *l, const struct cay_cdp_message *event, const char *tab,
                       uint64_t wall_ms)
{
        struct cay_json_view entry = cay_cdp_find(event->params, "entry");
        struct cay_printed *p = add_printed(l, tab, wall_ms);

        if (!p)
                return;
        cay_cdp_find_text(entry, "level", p->level, sizeof(p->level));
        p->text = count(l, copy_text(cay_cdp_find(entry, "text"), TEXT_MAX));
        set_place(p, entry);
}

void cay_browser_logs_hear(struct cay_browser_logs *l, const struct cay_cdp_message *event, const char *tab,
                           uint64_t wall_ms)
{
        if (cay_str_starts(event->method, "Network."))
                hear_network(l, event, tab, wall_ms);
        else if (strcmp(event->method, "Runtime.consoleAPICalled") == 0)
                hear_console(l, event, tab, wall_ms);
        else if (strcmp(event->method, "Runtime.exceptionThrown") == 0)
                hear_exception(l, event, tab, wall_ms);
        else if (strcmp(event->method, "Log.entryAdded") == 0)
                hear_entry(l, event, tab, wall_ms);
}

void cay_browser_logs_shrink(struct cay_browser_logs *l)
{
        for (unsigned i = 0; i < l->request_count; i++)
                strip(l, &l->requests[i]);
        l->bare = l->request_count;
}

void cay_browser_logs_done(struct cay_browser_logs *l)
{
        for (unsigned i = 0; i < l->request_count; i++)
                drop_request(l, &l->requests[i]);
        for (unsigned i = 0; i < l->printed_count; i++)
                drop_text(l, &l->printed[i].text);
        drop_rows(l, l->requests, CAY_REQUESTS_MAX, sizeof(*l->requests));
        drop_rows(l, l->printed, CAY_PRINTED_MAX, sizeof(*l->printed));
        *l = (struct cay_browser_logs){ .budget = l->budget };
}

const char *cay_request_state_word(enum cay_request_state state)
{
        return state == CAY_REQUEST_RUNNING ? "running" : state == CAY_REQUEST_DONE ? "done" : "failed";
}
