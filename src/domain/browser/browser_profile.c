/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closing a browser. Chromium writes its cookies when it is closed (Browser.close), but never those that end
 * with the session, by which most logins are known. A profile that its caller keeps is to have them too:
 * before the close they get an end, a month from now.
 */
#include <stdio.h>
#include <string.h>

#include "domain/browser/browser_priv.h"
#include "foundation/base/clock.h"
#include "foundation/base/json_out.h"

#define CALL_MS 30000u
#define CLOSE_MS 3000u
#define COOKIE_S (30ull * 24 * 60 * 60)

static void on_ignored(struct cay_cdp_call *call)
{
        (void)call;
}

static void close_now(struct cay_browser *b)
{
        b->close.on_done = on_ignored;
        cay_cdp_call(&b->own, &b->close, "", "Browser.close", NULL, CALL_MS);
}

/* Members of a cookie as Chromium tells it that Storage.setCookies takes: copied as they are. */
static void put_cookie(struct cay_json *j, struct cay_json_view cookie, uint64_t expires_s)
{
        static const char *const same[] = { "name",       "value",       "path",     "secure",
                                            "httpOnly",   "sameSite",    "priority", "sourceScheme",
                                            "sourcePort", "partitionKey" };
        struct cay_json_view v, domain = cay_json_view_find(cookie, "domain");
        char host[256], url[300];

        cay_json_begin_object(j);
        for (unsigned i = 0; i < CAY_COUNT(same); i++) {
                v = cay_json_view_find(cookie, same[i]);
                if (v.len == 0)
                        continue;
                cay_json_key(j, same[i]);
                cay_json_raw(j, v.at, v.len);
        }
        /* One of a host alone has no dot; as `domain` it would become one of all hosts below it. */
        cay_json_view_copy(domain, host, sizeof(host));
        if (host[0] == '.') {
                cay_json_key(j, "domain");
                cay_json_raw(j, domain.at, domain.len);
        } else {
                snprintf(url, sizeof(url), "http%s://%s/",
                         cay_json_view_is_true(cay_json_view_find(cookie, "secure")) ? "s" : "", host);
                cay_json_key(j, "url");
                cay_json_text(j, url);
        }
        cay_json_key(j, "expires");
        cay_json_u64(j, expires_s);
        cay_json_end_object(j);
}

/* How many end with the session, or -1: no memory. */
static int put_cookies(struct cay_buf *out, struct cay_json_view list)
{
        struct cay_json_walk walk;
        struct cay_json_view key, cookie;
        struct cay_json j;
        int count = 0;

        cay_json_init(&j, out);
        cay_json_begin_object(&j);
        cay_json_key(&j, "cookies");
        cay_json_begin_array(&j);
        if (cay_json_view_open(list.at, list.len, &list) == 0) {
                walk = cay_json_view_walk(list);
                while (cay_json_view_next(&walk, &key, &cookie)) {
                        if (!cay_json_view_is_true(cay_json_view_find(cookie, "session")))
                                continue;
                        put_cookie(&j, cookie, cay_clock_wall_ms() / 1000 + COOKIE_S);
                        count++;
                }
        }
        cay_json_end_array(&j);
        cay_json_end_object(&j);
        return cay_json_end(&j) < 0 ? -1 : count;
}

static void on_set(struct cay_cdp_call *call)
{
        close_now(cay_container_of(call, struct cay_browser, cookies));
}

static void on_cookies(struct cay_cdp_call *call)
{
        struct cay_browser *b = cay_container_of(call, struct cay_browser, cookies);
        cay_auto_buf struct cay_buf params = { 0 };

        cay_buf_init(&params, CAY_CDP_MESSAGE_MAX);
        if (call->err.code != CAY_OK || put_cookies(&params, cay_cdp_find(call->result, "cookies")) <= 0) {
                close_now(b);
                return;
        }
        call->on_done = on_set;
        cay_cdp_call(&b->own, call, "", "Storage.setCookies", cay_buf_data(&params), CLOSE_MS);
}

static void on_close_time(struct cay_timer *t)
{
        struct cay_browser *b = cay_container_of(t, struct cay_browser, patience);
        struct cay_viewer viewer = cay_browser_viewer(b);

        if (b->exec[0] != '\0')
                cay_service_exec_abandon(b->all->env.service, &viewer, b->sandbox, b->exec);
}

void cay_browser_close(struct cay_browser *b)
{
        if (cay_browser_is_closing(b) || cay_browser_is_over(b))
                return;
        cay_browser_move(b, b->phase == CAY_BROWSER_READY ? CAY_BROWSER_CLOSING : CAY_BROWSER_WITHDRAWN);
        cay_timer_set(b->all->env.loop, &b->patience, CLOSE_MS, on_close_time);
        if (!b->keeps_profile) {
                close_now(b);
                return;
        }
        b->cookies.on_done = on_cookies;
        cay_cdp_call(&b->own, &b->cookies, "", "Storage.getCookies", NULL, CLOSE_MS);
}
