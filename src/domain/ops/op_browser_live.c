/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links to the live view of a browser: for a person who has no token, to look at this browser alone, or to
 * take over, until it expires.
 */
#include <stdio.h>
#include <string.h>

#include "domain/ops/files.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"
#include "domain/ops/ws_link.h"

#define LINK_MS (60u * 60 * 1000)
#define LINK_MAX_MS (24u * 60 * 60 * 1000)
#define PAGE "/live.html#" /* what is behind '#' is not sent to any server, and in no log */

struct args {
        const char *id;
        bool view_only;
        uint64_t expires_ms;
};

static const struct cay_field fields[] = {
        CAY_OP_SANDBOX_FIELD(struct args, id),
        { "view_only", CAY_FIELD_BOOL, offsetof(struct args, view_only), 0,
          "only to look at: whoever has the link cannot take over" },
        { "expires_in", CAY_FIELD_DURATION, offsetof(struct args, expires_ms), 0,
          "how long it is good, also for who is connected by then; default one hour, at most a day",
          .min = 1000, .max = LINK_MAX_MS },
        {},
};

RESULT(result_live_link, NULL, TEXT("page_url"), TEXT("url"), BOOL("view_only"), TIME("expires_at"));

static void run_browser_live_link(struct cay_op_call *c)
{
        const struct args *a = c->args;
        char url[CAY_WS_LINK_MAX], page_url[CAY_WS_LINK_MAX + sizeof(PAGE)];
        uint64_t expires_s = 0;
        struct cay_error err = { 0 };
        struct cay_op_result o;

        if (cay_op_make_ws_link(c, a->id, a->view_only ? "browser/view" : "browser/live",
                                a->expires_ms ? a->expires_ms : LINK_MS, url, &expires_s, &err) < 0) {
                cay_op_fail(c, &err, err.code == CAY_NOT_FOUND ? "id" : NULL);
                return;
        }
        /* The daemon's own address, then the path of the WebSocket behind '#'. */
        snprintf(page_url, sizeof(page_url), "%s" PAGE "%s", c->world->url, strstr(url, "/api/"));
        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "page_url", page_url);
        cay_op_key_text(&o.j, "url", url);
        cay_op_key_bool(&o.j, "view_only", a->view_only);
        cay_op_key_time(&o.j, "expires_at", expires_s * 1000);
        explicit_bzero(url, sizeof(url));
        explicit_bzero(page_url, sizeof(page_url));
        cay_op_result_answer(&o, c, CAY_OP_CREATED);
}

const struct cay_op cay_op_browser_live_link = {
        .name = "browser_live_link",
        .route = "POST /api/sandboxes/{id}/browser/live/links",
        .doc = "Makes an address of a page that shows this browser live to whoever opens it, without another "
               "credential, until it expires; they may take over mouse and keys unless view_only is set. url "
               "is "
               "the WebSocket of the same",
        .scope = CAY_SCOPE_EXEC,
        .fields = fields,
        .args_size = sizeof(struct args),
        .result = &result_live_link,
        .status = CAY_OP_CREATED,
        .tool = CAY_TOOL("Live view link",
                         "A link for a person to watch this browser live, and to take over (sign in, solve a "
                         "captcha).",
                         .group = "browser"),
        .verb = CAY_OP_VERB("browser live", "id", NULL, "page=page_url url=url"),
        .run = run_browser_live_link,
};
