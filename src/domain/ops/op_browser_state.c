/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on what a sandbox's browser keeps: tabs, cookies, requests, consoles. As op_browser_act.c. */
#include "domain/ops/browser_act.h"
#include "domain/ops/result_rows.h"

#define TOOL(title, text, ...) CAY_TOOL(title, text, .group = "browser_state", __VA_ARGS__)
#define READS .flags = CAY_TOOL_READS
#define OPEN .flags = CAY_TOOL_OPEN
#define COMMON .args_size = sizeof(struct cay_action_args), .run = cay_op_browser_act

RESULT(result_tab, "BrowserTabState", NUMBER("tab"), TEXT("id"), TEXT("url"), TEXT("title"), BOOL("current"),
       BOOL("crashed"), IF_OBJECT("dialog", cay_result_browser_dialog));
RESULT(result_tabs, NULL, ALSO(cay_result_browser_act), LIST("tabs", result_tab));
RESULT(result_tab_opened, NULL, ALSO(cay_result_browser_act), MAYBE("status", NUMBER), BOOL("download"));

/* Tabs */

static const struct cay_field tabs_fields[] = { ACT_ID, ACT_TIMEOUT, {} };
const struct cay_op cay_op_browser_tabs = {
        COMMON,
        .scope = CAY_SCOPE_READ,
        .name = "browser_tabs",
        .route = "GET /api/sandboxes/{id}/browser/tabs",
        .doc = "Lists the tabs of a browser, with dialogs that are open",
        .flags = CAY_OP_INSIDE,
        .fields = tabs_fields,
        .result = &result_tabs,
        .tool = TOOL("Tabs", "Lists tabs."),
        .verb = CAY_OP_VERB("browser tabs", "id", NULL, "tabs: TAB=tab CURRENT=current URL=url TITLE=title"),
};

static const struct cay_field tab_open_fields[] = {
        ACT_ID, ACT_TEXT("url", url, 0, "default: an empty page", 4096), ACT_UNTIL, ACT_TIMEOUT, {},
};
const struct cay_op cay_op_browser_tab_open = {
        COMMON,
        .scope = CAY_SCOPE_EXEC,
        .name = "browser_tab_open",
        .route = "POST /api/sandboxes/{id}/browser/tabs",
        .doc = "Opens a tab, which is then the one that is used",
        .flags = CAY_OP_INSIDE,
        .fields = tab_open_fields,
        .result = &result_tab_opened,
        .tool = TOOL("Open tab", "Opens a tab and uses it from now on.", OPEN),
        .verb = CAY_OP_VERB("browser open", "id url?", NULL, "tab=tab url=url title=title"),
};

#define ONE_TAB                                                                                              \
        {                                                                                                    \
                "tab", CAY_FIELD_TEXT, ACT_AT(tab), 0, "its number or id", .min = 1, .max = 40               \
        }

static const struct cay_field tab_fields[] = { ACT_ID, ONE_TAB, ACT_TIMEOUT, {} };
const struct cay_op cay_op_browser_tab_close = {
        COMMON,
        .scope = CAY_SCOPE_EXEC,
        .name = "browser_tab_close",
        .route = "DELETE /api/sandboxes/{id}/browser/tabs/{tab}",
        .doc = "Closes a tab",
        .flags = CAY_OP_INSIDE | CAY_OP_DESTRUCTIVE,
        .fields = tab_fields,
        .result = &result_tabs,
        .tool = TOOL("Close tab", "Closes a tab."),
        .verb = CAY_OP_VERB("browser close", "id tab", NULL,
                            "tabs: TAB=tab CURRENT=current URL=url TITLE=title"),
};

const struct cay_op cay_op_browser_tab_select = {
        COMMON,
        .scope = CAY_SCOPE_EXEC,
        .name = "browser_tab_select",
        .route = "POST /api/sandboxes/{id}/browser/tabs/{tab}/select",
        .doc = "Brings a tab to the front, which is then the one that is used",
        .flags = CAY_OP_INSIDE,
        .fields = tab_fields,
        .result = &cay_result_browser_act,
        .tool = TOOL("Use tab", "Uses this tab from now on.", READS),
        .verb = CAY_OP_VERB("browser use", "id tab", NULL, "tab=tab url=url title=title"),
};

/* Cookies. They come as Chromium has them: names of members are CDP's, which are Playwright's too. */

RESULT(result_cookies, NULL, ALSO(cay_result_browser_act), WHATEVER("cookies"));

static const struct cay_field cookies_fields[] = {
        ACT_ID, ACT_TEXT("url", url, 0, "only those that would be sent there", 4096), ACT_TAB, ACT_TIMEOUT,
        {},
};
const struct cay_op cay_op_browser_cookies = {
        COMMON,
        .scope = CAY_SCOPE_READ,
        .name = "browser_cookies",
        .route = "GET /api/sandboxes/{id}/browser/cookies",
        .doc = "Lists cookies of a browser",
        .flags = CAY_OP_INSIDE,
        .fields = cookies_fields,
        .result = &result_cookies,
        .tool = TOOL("Cookies", "Lists cookies."),
        .verb = CAY_OP_VERB("browser cookies", "id", NULL, "COOKIES=cookies/whole"),
};

static const struct cay_field cookie_set_fields[] = {
        ACT_ID,
        ACT_TEXT("name", name, CAY_FIELD_REQUIRED, "of the cookie", 1024),
        ACT_TEXT("value", value, CAY_FIELD_REQUIRED, "of the cookie", 4096),
        ACT_TEXT("url", url, 0, "an address that it is for; this or domain", 4096),
        ACT_TEXT("domain", domain, 0, "example.com, or .example.com with all below it", 253),
        ACT_TEXT("path", path, 0, "default /", 1024),
        { "expires", CAY_FIELD_U64, ACT_AT(expires), 0, "Unix time in seconds; default: with the browser" },
        ACT_BOOL("http_only", http_only, "not for the page's own code"),
        ACT_BOOL("secure", secure, "for https alone"),
        ACT_TEXT("same_site", same_site, 0, "Strict, Lax or None", 8),
        ACT_TAB,
        ACT_TIMEOUT,
        {},
};
const struct cay_op cay_op_browser_cookie_set = {
        COMMON,
        .scope = CAY_SCOPE_EXEC,
        .name = "browser_cookie_set",
        .route = "POST /api/sandboxes/{id}/browser/cookies",
        .doc = "Sets a cookie",
        .flags = CAY_OP_INSIDE,
        .fields = cookie_set_fields,
        .result = &cay_result_browser_act,
        .tool = TOOL("Set cookie", "Sets a cookie."),
        .verb = CAY_OP_VERB("browser cookie", "id name value", NULL, "tab=tab"),
};

static const struct cay_field cookies_clear_fields[] = {
        ACT_ID,
        ACT_TEXT("name", name, 0, "only this one; default: all", 1024),
        ACT_TEXT("url", url, 0, "with name: that it is for", 4096),
        ACT_TEXT("domain", domain, 0, "with name: the same", 253),
        ACT_TAB,
        ACT_TIMEOUT,
        {},
};
const struct cay_op cay_op_browser_cookies_clear = {
        COMMON,
        .scope = CAY_SCOPE_EXEC,
        .name = "browser_cookies_clear",
        .route = "DELETE /api/sandboxes/{id}/browser/cookies",
        .doc = "Removes cookies of a browser",
        .flags = CAY_OP_INSIDE | CAY_OP_DESTRUCTIVE,
        .fields = cookies_clear_fields,
        .result = &cay_result_browser_act,
        .verb = CAY_OP_VERB("browser clear", "id", NULL, "tab=tab"),
};

/* Requests */

SHARED_RESULT(cay_result_browser_request, "BrowserRequest", NUMBER("number"), NUMBER("tab"), TEXT("method"),
              TEXT("url"), TEXT("type"), TEXT("state"), MAYBE("status", NUMBER), MAYBE("mime_type", TEXT),
              MAYBE("error", TEXT), BOOL("from_cache"), NUMBER("bytes"), TIME("started_at"),
              NUMBER("duration_ms"));
RESULT(result_requests, NULL, ALSO(cay_result_browser_act), LIST("requests", cay_result_browser_request));
RESULT(result_request_whole, NULL, ALSO(cay_result_browser_act),
       OBJECT("request", cay_result_browser_request), PAIRS("request_headers"), PAIRS("response_headers"),
       MAYBE("request_body", TEXT), SOME("body", TEXT), SOME("body_base64", TEXT));

#define LIST_FIELDS(what, from)                                                                              \
        { "from", CAY_FIELD_U64, ACT_AT(number), 0, from, .min = 1 },                                        \
                ACT_TEXT("url", url, 0, "only those with this in their address", 2048),                      \
                ACT_LIMIT("at most so many; default 100: the last ones, or the first ones from `from`",      \
                          1000),                                                                             \
                ACT_TAB, ACT_TIMEOUT,                                                                        \
        {                                                                                                    \
                .name = NULL                                                                                 \
        }

static const struct cay_field requests_fields[] = {
        ACT_ID,
        ACT_TEXT("type", state, 0, "only these: Document, XHR, Fetch, Script, Image …", 20),
        LIST_FIELDS("requests", "the first number to list"),
};
const struct cay_op cay_op_browser_requests = {
        COMMON,
        .scope = CAY_SCOPE_READ,
        .name = "browser_requests",
        .route = "GET /api/sandboxes/{id}/browser/requests",
        .doc = "Lists what the pages of a browser asked of the network, since it was first used by an op "
               "browser_*: the newest 1,000",
        .flags = CAY_OP_INSIDE,
        .fields = requests_fields,
        .result = &result_requests,
        .tool = TOOL("Network requests", "What pages asked of the network."),
        .verb = CAY_OP_VERB("browser requests", "id", NULL,
                            "requests: NR=number METHOD=method STATUS=status TYPE=type BYTES=bytes URL=url "
                            "ERROR=error"),
};

static const struct cay_field request_fields[] = {
        ACT_ID,
        { "number", CAY_FIELD_TEXT, ACT_AT(name), 0, "of the list", .min = 1, .max = 20 },
        ACT_TIMEOUT,
        {},
};
const struct cay_op cay_op_browser_request = {
        COMMON,
        .scope = CAY_SCOPE_READ,
        .name = "browser_request",
        .route = "GET /api/sandboxes/{id}/browser/requests/{number}",
        .doc = "Returns a request of a page with headers and bodies; the body is null when the browser does "
               "not have it any more",
        .flags = CAY_OP_INSIDE,
        .fields = request_fields,
        .result = &result_request_whole,
        .tool = TOOL("One request", "Headers and body of a request."),
        .verb = CAY_OP_VERB("browser request", "id number", NULL, "BODY=body/whole"),
};

/* The console */

SHARED_RESULT(cay_result_browser_message, "BrowserMessage", NUMBER("number"), NUMBER("tab"), TEXT("level"),
              TEXT("text"), MAYBE("url", TEXT), NUMBER("line"), TIME("at"));
RESULT(result_console, NULL, ALSO(cay_result_browser_act), LIST("messages", cay_result_browser_message));

static const struct cay_field console_fields[] = {
        ACT_ID,
        ACT_TEXT("level", state, 0, "only these: log, info, warning, error, exception …", 20),
        LIST_FIELDS("messages", "the first number to list"),
};
const struct cay_op cay_op_browser_console = {
        COMMON,
        .scope = CAY_SCOPE_READ,
        .name = "browser_console",
        .route = "GET /api/sandboxes/{id}/browser/console",
        .doc = "Lists what pages wrote to their consoles, with exceptions, since the browser was first used "
               "by an op browser_*: the newest 500",
        .flags = CAY_OP_INSIDE,
        .fields = console_fields,
        .result = &result_console,
        .tool = TOOL("Console", "What pages wrote to the console, and exceptions."),
        .verb = CAY_OP_VERB("browser console", "id", NULL, "messages: NR=number LEVEL=level TEXT=text"),
};
