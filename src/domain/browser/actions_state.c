/* SPDX-License-Identifier: Apache-2.0 */
/* Actions on what a browser keeps: tabs, cookies, its log of requests and its consoles. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "domain/browser/action_steps.h"
#include "foundation/base/str.h"

#define LIST_DEFAULT 100u

/* Cookies */

static enum cay_step_next take_cookies(struct cay_action *a, struct cay_json_view result)
{
        return cay_action_keep(a, cay_cdp_find(result, "cookies"));
}

static enum cay_step_next put_cookie_urls(struct cay_action *a, struct cay_json *j)
{
        if (!a->args->url)
                return CAY_STEP_SKIP;
        cay_json_key(j, "urls");
        cay_json_begin_array(j);
        cay_json_text(j, a->args->url);
        cay_json_end_array(j);
        return CAY_STEP_SEND;
}

static enum cay_step_next put_all_cookies(struct cay_action *a, struct cay_json *j)
{
        (void)j;
        return a->args->url ? CAY_STEP_SKIP : CAY_STEP_SEND;
}

static const struct cay_step step_all_cookies = {
        .method = "Storage.getCookies", .of_browser = true, .put = put_all_cookies, .take = take_cookies
};
static const struct cay_step step_cookies_of = { .method = "Network.getCookies",
                                                 .put = put_cookie_urls,
                                                 .take = take_cookies };

static void put_cookies_answer(const struct cay_action *a, struct cay_json *j)
{
        struct cay_json_view v = cay_action_kept(a);

        if (v.len == 0)
                v = (struct cay_json_view){ "[]", 2 };
        cay_action_put_raw(j, "cookies", v);
}

static enum cay_step_next put_cookie(struct cay_action *a, struct cay_json *j)
{
        const struct cay_action_args *args = a->args;

        if (!args->url && !args->domain)
                return cay_action_fail(a, "url", CAY_INVALID,
                                       "url: give the address or the domain it is for");
        cay_action_put_text(j, "name", args->name);
        cay_action_put_text(j, "value", args->value);
        if (args->url)
                cay_action_put_text(j, "url", args->url);
        if (args->domain)
                cay_action_put_text(j, "domain", args->domain);
        if (args->path)
                cay_action_put_text(j, "path", args->path);
        if (args->expires)
                cay_action_put_u64(j, "expires", args->expires);
        if (args->http_only)
                cay_action_put_bool(j, "httpOnly", true);
        if (args->secure)
                cay_action_put_bool(j, "secure", true);
        if (args->same_site)
                cay_action_put_text(j, "sameSite", args->same_site);
        return CAY_STEP_SEND;
}

static enum cay_step_next take_set(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view ok = cay_cdp_find(result, "success");

        return ok.len > 0 && !cay_json_view_is_true(ok)
                       ? cay_action_fail(a, NULL, CAY_INVALID, "the browser does not take this cookie")
                       : CAY_STEP_NEXT;
}

static enum cay_step_next refused_cookie(struct cay_action *a)
{
        return cay_action_fail(a, NULL, CAY_INVALID, "the browser does not take this cookie: %.120s",
                               a->call.err.msg);
}

static const struct cay_step step_set_cookie = {
        .method = "Network.setCookie", .put = put_cookie, .take = take_set, .refused = refused_cookie
};

static enum cay_step_next put_clear_all(struct cay_action *a, struct cay_json *j)
{
        (void)j;
        return a->args->name ? CAY_STEP_SKIP : CAY_STEP_SEND;
}

static enum cay_step_next put_clear_one(struct cay_action *a, struct cay_json *j)
{
        if (!a->args->name)
                return CAY_STEP_SKIP;
        if (!a->args->url && !a->args->domain)
                return cay_action_fail(a, "url", CAY_INVALID,
                                       "url: with name, give the address or the domain too");
        cay_action_put_text(j, "name", a->args->name);
        if (a->args->url)
                cay_action_put_text(j, "url", a->args->url);
        if (a->args->domain)
                cay_action_put_text(j, "domain", a->args->domain);
        return CAY_STEP_SEND;
}

static const struct cay_step step_clear_all = { .method = "Storage.clearCookies",
                                                .of_browser = true,
                                                .put = put_clear_all };
static const struct cay_step step_clear_one = { .method = "Network.deleteCookies", .put = put_clear_one };

/* Requests */

static const char *text_or(const char *text, const char *otherwise)
{
        return text ? text : otherwise;
}

static unsigned number_of_tab(const struct cay_browser *b, const char *id)
{
        for (unsigned i = 0; i < b->tabs.count; i++)
                if (strcmp(b->tabs.items[i].id, id) == 0)
                        return b->tabs.items[i].number;
        return 0;
}

static void put_time(struct cay_json *j, const char *key, uint64_t wall_ms)
{
        cay_json_key(j, key);
        cay_json_time(j, wall_ms);
}

static void put_request_facts(const struct cay_browser *b, struct cay_json *j, const struct cay_request *r)
{
        cay_action_put_u64(j, "number", r->number);
        cay_action_put_u64(j, "tab", number_of_tab(b, r->tab));
        cay_action_put_text(j, "method", r->method);
        cay_action_put_text(j, "url", text_or(r->url, ""));
        cay_action_put_text(j, "type", r->type);
        cay_action_put_text(j, "state", cay_request_state_word(r->state));
        cay_json_key(j, "status");
        r->status > 0 ? cay_json_u64(j, r->status) : cay_json_null(j);
        cay_action_put_text(j, "mime_type", r->mime[0] ? r->mime : NULL);
        cay_action_put_text(j, "error", r->error[0] ? r->error : NULL);
        cay_action_put_bool(j, "from_cache", r->from_cache);
        cay_action_put_u64(j, "bytes", r->bytes);
        put_time(j, "started_at", r->wall_ms);
        cay_action_put_u64(j, "duration_ms", r->duration_ms);
}

static bool is_wanted(const struct cay_action *a, const char *tab, uint64_t number, const char *url,
                      const char *type)
{
        const struct cay_action_args *args = a->args;

        if (args->number && number < args->number)
                return false;
        if (args->tab && strcmp(args->tab, tab) != 0) {
                char text[16];

                snprintf(text, sizeof(text), "%u", number_of_tab(a->browser, tab));
                if (strcmp(text, args->tab) != 0)
                        return false;
        }
        if (args->url && (!url || !strstr(url, args->url)))
                return false;
        return !args->state || strcasecmp(args->state, type) == 0;
}

static void put_requests(const struct cay_action *a, struct cay_json *j)
{
        const struct cay_browser_logs *l = &a->browser->driver.logs;
        uint64_t limit = a->args->limit ? a->args->limit : LIST_DEFAULT, count = 0;
        unsigned from = l->request_count;

        while (from > 0 && count < limit) {
                const struct cay_request *r = &l->requests[--from];

                count += is_wanted(a, r->tab, r->number, r->url, r->type);
        }
        if (a->args->number) /* from there on: the oldest ones */
                from = 0;
        cay_json_key(j, "requests");
        cay_json_begin_array(j);
        for (count = 0; from < l->request_count && count < limit; from++) {
                const struct cay_request *r = &l->requests[from];

                if (!is_wanted(a, r->tab, r->number, r->url, r->type))
                        continue;
                cay_json_begin_object(j);
                put_request_facts(a->browser, j, r);
                cay_json_end_object(j);
                count++;
        }
        cay_json_end_array(j);
}

/* The browser has the body as long as the page is there. */
static const struct cay_request *request_of(const struct cay_action *a)
{
        return cay_browser_logs_number(&a->browser->driver.logs, strtoull(a->args->name, NULL, 10));
}

static enum cay_step_next find_request(struct cay_action *a, struct cay_json_view none)
{
        const struct cay_request *r = request_of(a);

        (void)none;
        if (!r)
                return cay_action_fail(a, "number", CAY_NOT_FOUND,
                                       "number: there is no request %.20s in the log", a->args->name);
        cay_str_copy(a->session, sizeof(a->session), r->session);
        return CAY_STEP_NEXT;
}

static enum cay_step_next put_body(struct cay_action *a, struct cay_json *j)
{
        const struct cay_request *r = request_of(a);

        if (!r || r->state != CAY_REQUEST_DONE)
                return CAY_STEP_SKIP;
        cay_action_put_text(j, "requestId", r->id);
        return CAY_STEP_SEND;
}

static enum cay_step_next take_body(struct cay_action *a, struct cay_json_view result)
{
        a->facts = cay_json_view_is_true(cay_cdp_find(result, "base64Encoded"));
        return cay_action_keep(a, cay_cdp_find(result, "body"));
}

/*
 * Of a redirect, of a page that has gone, or of one that took too much memory: there is none, and that is
 * told.
 */
static enum cay_step_next refused_body(struct cay_action *a)
{
        a->err = (struct cay_error){ 0 };
        return CAY_STEP_NEXT;
}

static const struct cay_step step_find_request = { .take = find_request };
static const struct cay_step step_body = {
        .method = "Network.getResponseBody", .put = put_body, .take = take_body, .refused = refused_body
};

static void put_request(const struct cay_action *a, struct cay_json *j)
{
        const struct cay_request *r = request_of(a);
        const struct cay_request none = { 0 };
        struct cay_json_view body = cay_action_kept(a);

        r = r ? r : &none;
        cay_json_key(j, "request");
        cay_json_begin_object(j);
        put_request_facts(a->browser, j, r);
        cay_json_end_object(j);
        cay_action_put_plain(j, "request_headers",
                             (struct cay_json_view){ text_or(r->sent, "{}"),
                                                     strlen(text_or(r->sent, "{}")) });
        cay_action_put_plain(j, "response_headers",
                             (struct cay_json_view){ text_or(r->received, "{}"),
                                                     strlen(text_or(r->received, "{}")) });
        cay_action_put_plain(j, "request_body",
                             (struct cay_json_view){ r->post, r->post ? strlen(r->post) : 0 });
        cay_action_put_plain(j, a->facts ? "body_base64" : "body", body);
}

/* The console */

static void put_console(const struct cay_action *a, struct cay_json *j)
{
        const struct cay_browser_logs *l = &a->browser->driver.logs;
        uint64_t limit = a->args->limit ? a->args->limit : LIST_DEFAULT, count = 0;
        unsigned from = l->printed_count;

        while (from > 0 && count < limit) {
                const struct cay_printed *p = &l->printed[--from];

                count += is_wanted(a, p->tab, p->number, p->url, p->level);
        }
        if (a->args->number)
                from = 0;
        cay_json_key(j, "messages");
        cay_json_begin_array(j);
        for (count = 0; from < l->printed_count && count < limit; from++) {
                const struct cay_printed *p = &l->printed[from];

                if (!is_wanted(a, p->tab, p->number, p->url, p->level))
                        continue;
                count++;
                cay_json_begin_object(j);
                cay_action_put_u64(j, "number", p->number);
                cay_action_put_u64(j, "tab", number_of_tab(a->browser, p->tab));
                cay_action_put_text(j, "level", p->level);
                cay_action_put_text(j, "text", text_or(p->text, ""));
                cay_action_put_text(j, "url", p->url[0] ? p->url : NULL);
                cay_action_put_u64(j, "line", p->line);
                put_time(j, "at", p->wall_ms);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
}

/* Tabs */

void cay_action_put_dialog(struct cay_json *j, const struct cay_dialog *d)
{
        if (!d || d->type[0] == '\0')
                return;
        cay_json_key(j, "dialog");
        cay_json_begin_object(j);
        cay_action_put_text(j, "type", d->type);
        cay_action_put_text(j, "message", d->message);
        cay_action_put_text(j, "default_text", d->default_text);
        cay_json_end_object(j);
}

static void put_tabs(const struct cay_action *a, struct cay_json *j)
{
        const struct cay_browser *b = a->browser;

        cay_json_key(j, "tabs");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < b->tabs.count; i++) {
                const struct cay_tab *tab = &b->tabs.items[i];
                const struct cay_target *t = cay_driver_tab(&b->driver, tab->id);
                bool is_current = b->driver.current[0] ? strcmp(b->driver.current, tab->id) == 0
                                                       : i + 1 == b->tabs.count;

                cay_json_begin_object(j);
                cay_action_put_u64(j, "tab", tab->number);
                cay_action_put_text(j, "id", tab->id);
                cay_action_put_text(j, "url", tab->url);
                cay_action_put_text(j, "title", tab->title);
                cay_action_put_bool(j, "current", is_current);
                cay_action_put_bool(j, "crashed", t && t->has_crashed);
                cay_action_put_dialog(j, t ? &t->dialog : NULL);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
}

/* Chromium tells of a tab's new address, with that as its title, and not of the title that follows. */
static enum cay_step_next take_titles(struct cay_action *a, struct cay_json_view result)
{
        cay_tabs_hear_all(&a->browser->tabs, result);
        return CAY_STEP_NEXT;
}

static enum cay_step_next refused_titles(struct cay_action *a)
{
        (void)a; /* those that are known are good enough */
        return CAY_STEP_NEXT;
}

static const struct cay_step step_titles = {
        .method = "Target.getTargets", .of_browser = true, .take = take_titles, .refused = refused_titles
};

static enum cay_step_next put_new_tab(struct cay_action *a, struct cay_json *j)
{
        (void)a;
        cay_action_put_text(j, "url", "about:blank");
        return CAY_STEP_SEND;
}

static enum cay_step_next take_new_tab(struct cay_action *a, struct cay_json_view result)
{
        cay_cdp_find_text(result, "targetId", a->tab, sizeof(a->tab));
        return CAY_STEP_NEXT;
}

/* Until we have a session with it. */
static enum cay_step_next take_attached(struct cay_action *a, struct cay_json_view none)
{
        const struct cay_target *t = cay_action_target(a);

        (void)none;
        a->tab_number = number_of_tab(a->browser, a->tab);
        if (!t || a->tab_number == 0) {
                snprintf(a->why, sizeof(a->why), "the tab is not ready");
                return CAY_STEP_AGAIN;
        }
        cay_str_copy(a->browser->driver.current, sizeof(a->browser->driver.current), a->tab);
        cay_str_copy(a->loader, sizeof(a->loader), t->loader);
        a->within = t->within;
        return CAY_STEP_NEXT;
}

static const struct cay_step step_new_tab = {
        .method = "Target.createTarget", .of_browser = true, .put = put_new_tab, .take = take_new_tab
};
static const struct cay_step step_attached = { .take = take_attached };

static enum cay_step_next put_close(struct cay_action *a, struct cay_json *j)
{
        cay_action_put_text(j, "targetId", a->tab);
        return CAY_STEP_SEND;
}

static enum cay_step_next take_closed(struct cay_action *a, struct cay_json_view none)
{
        (void)none;
        snprintf(a->why, sizeof(a->why), "the page asks whether it may be left, or does not answer");
        return number_of_tab(a->browser, a->tab) == 0 ? CAY_STEP_NEXT : CAY_STEP_AGAIN;
}

static enum cay_step_next find_tab(struct cay_action *a, struct cay_json_view none)
{
        (void)none;
        for (unsigned i = 0; i < a->browser->tabs.count; i++) {
                const struct cay_tab *tab = &a->browser->tabs.items[i];
                char number[16];

                snprintf(number, sizeof(number), "%u", tab->number);
                if (strcmp(tab->id, a->args->tab) != 0 && strcmp(number, a->args->tab) != 0)
                        continue;
                cay_str_copy(a->tab, sizeof(a->tab), tab->id);
                a->tab_number = tab->number;
                return CAY_STEP_NEXT;
        }
        return cay_action_fail(a, "tab", CAY_NOT_FOUND, "tab: there is no tab '%.40s'", a->args->tab);
}

static const struct cay_step step_find_tab = { .take = find_tab };
static const struct cay_step step_close = { .method = "Target.closeTarget",
                                            .of_browser = true,
                                            .put = put_close };
static const struct cay_step step_closed = { .take = take_closed };
static const struct cay_step step_activate = { .method = "Target.activateTarget",
                                               .of_browser = true,
                                               .put = put_close };

static enum cay_step_next set_current(struct cay_action *a, struct cay_json_view none)
{
        (void)none;
        cay_str_copy(a->browser->driver.current, sizeof(a->browser->driver.current), a->tab);
        return CAY_STEP_NEXT;
}

static const struct cay_step step_current = { .take = set_current };

const struct cay_action_row cay_action_rows_state[] = {
        { "cookies",
          CAY_ACTION_TAB | CAY_ACTION_DIALOG,
          { &step_all_cookies, &step_cookies_of },
          .put = put_cookies_answer },
        { "cookie_set", CAY_ACTION_TAB | CAY_ACTION_DIALOG, { &step_set_cookie } },
        { "cookies_clear", CAY_ACTION_TAB | CAY_ACTION_DIALOG, { &step_clear_all, &step_clear_one } },
        { "requests", 0, { NULL }, .put = put_requests },
        { "request", 0, { &step_find_request, &step_body }, .put = put_request },
        { "console", 0, { NULL }, .put = put_console },
        { "tabs", 0, { &step_titles }, .put = put_tabs },
        { "tab_open",
          CAY_ACTION_ACTS,
          { &step_new_tab, &step_attached, &cay_step_navigate, &cay_step_loaded },
          .put = cay_action_put_loaded },
        { "tab_close",
          CAY_ACTION_ACTS,
          { &step_find_tab, &step_close, &step_closed, &step_titles },
          .put = put_tabs },
        { "tab_select", CAY_ACTION_ACTS, { &step_find_tab, &step_activate, &step_current } },
};
const unsigned cay_action_rows_state_count = CAY_COUNT(cay_action_rows_state);
