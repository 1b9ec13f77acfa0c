/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The browser of a sandbox: starting it, how it is, links to its control channel, stopping it. What it does
 * is in other files.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/browser/browser.h"
#include "domain/ops/op.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"
#include "domain/ops/ws_link.h"
#include "foundation/base/str.h"
#include "foundation/loop/loop.h"

#define LINK_MS (60u * 60 * 1000)
#define LINK_MAX_MS (24u * 60 * 60 * 1000)

struct browser_args {
        const char *id;
        uint64_t width, height, expires_ms;
        bool ignore_certificate_errors, isolate_sites, copy, logs;
        const char *profile;
};

#define BROWSER_ID                                                                                           \
        {                                                                                                    \
                "id", CAY_FIELD_TEXT, offsetof(struct browser_args, id), 0, "the sandbox",                   \
                        .min = 1, .max = CAY_NAME_MAX                                                        \
        }

static const struct cay_field one_fields[] = { BROWSER_ID, {} };
static const struct cay_field start_fields[] = {
        BROWSER_ID,
        { "width", CAY_FIELD_U64, offsetof(struct browser_args, width), 0,
          "of a tab, in pixels; default 1280", .min = 100, .max = CAY_BROWSER_SIDE_MAX },
        { "height", CAY_FIELD_U64, offsetof(struct browser_args, height), 0,
          "of a tab, in pixels; default 800", .min = 100, .max = CAY_BROWSER_SIDE_MAX },
        { "ignore_certificate_errors", CAY_FIELD_BOOL,
          offsetof(struct browser_args, ignore_certificate_errors), 0,
          "open pages whose certificate is not valid" },
        { "isolate_sites", CAY_FIELD_BOOL, offsetof(struct browser_args, isolate_sites), 0,
          "frames of other sites in processes of their own: one that hangs or crashes leaves the page alone; "
          "takes more memory and processes" },
        { "profile", CAY_FIELD_TEXT, offsetof(struct browser_args, profile), 0,
          "folder for its profile (cookies, logins, storage), below /: in a volume it outlives the sandbox; "
          "one browser "
          "at a time; default: one that ends with the sandbox",
          .min = 2, .max = CAY_BROWSER_PROFILE_MAX },
        { "copy", CAY_FIELD_BOOL, offsetof(struct browser_args, copy), 0,
          "with profile: begin with a copy of it, and leave it as it is" },
        { "logs", CAY_FIELD_BOOL, offsetof(struct browser_args, logs), 0,
          "note requests and consoles of all pages from the start (browser_logs)" },
        {},
};
static const struct cay_field link_fields[] = {
        BROWSER_ID,
        { "expires_in", CAY_FIELD_DURATION, offsetof(struct browser_args, expires_ms), 0,
          "how long clients may connect with it; default one hour, at most a day", .min = 1000,
          .max = LINK_MAX_MS },
        {},
};

RESULT(result_browser_tab, "BrowserTab", TEXT("id"), TEXT("url"), TEXT("title"));
RESULT(result_browser_download, "BrowserDownload", TEXT("path"), TEXT("name"), TEXT("url"), NUMBER("bytes"),
       TEXT("state"), TIME("started_at"));
RESULT(result_browser, "Browser", TEXT("sandbox_id"), TEXT("status"), MAYBE("exec_id", TEXT), TEXT("product"),
       TEXT("user_agent"), NUMBER("clients"), NUMBER("viewers"), TEXT("cdp_path"),
       LIST("tabs", result_browser_tab), LIST("downloads", result_browser_download));
RESULT(result_browser_stopped, NULL, TEXT("sandbox_id"), BOOL("stopped"));
RESULT(result_browser_link, NULL, TEXT("url"), TIME("expires_at"));

static void put_tabs(struct cay_json *j, const struct cay_tabs *tabs)
{
        cay_json_key(j, "tabs");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < tabs->count; i++) {
                cay_json_begin_object(j);
                cay_op_key_text(j, "id", tabs->items[i].id);
                cay_op_key_text(j, "url", tabs->items[i].url);
                cay_op_key_text(j, "title", tabs->items[i].title);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
}

static void put_downloads(struct cay_json *j, const struct cay_downloads *d)
{
        char path[sizeof(CAY_BROWSER_DOWNLOADS) + 64];

        cay_json_key(j, "downloads");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < d->count; i++) {
                snprintf(path, sizeof(path), "%s/%s", CAY_BROWSER_DOWNLOADS, d->items[i].guid);
                cay_json_begin_object(j);
                cay_op_key_text(j, "path", path);
                cay_op_key_text(j, "name", d->items[i].name);
                cay_op_key_text(j, "url", d->items[i].url);
                cay_op_key_u64(j, "bytes", d->items[i].bytes);
                cay_op_key_text(j, "state", cay_download_state_word(d->items[i].state));
                cay_op_key_time(j, "started_at", d->items[i].wall_ms);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
}

static void answer_browser(struct cay_op_call *c, const char *sandbox)
{
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_browser_view view;
        struct cay_error err = { 0 };
        struct cay_op_result o;
        char path[CAY_NAME_MAX + 48];

        if (cay_browser_get(c->world->browsers, &viewer, sandbox, &view, &err) < 0) {
                cay_op_fail(c, &err, "id");
                return;
        }
        snprintf(path, sizeof(path), "/api/sandboxes/%s/browser/cdp", view.sandbox);
        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "sandbox_id", view.sandbox);
        cay_op_key_text(&o.j, "status", view.is_ready ? "running" : "starting");
        cay_op_key_text(&o.j, "exec_id", view.exec[0] ? view.exec : NULL);
        cay_op_key_text(&o.j, "product", view.product);
        cay_op_key_text(&o.j, "user_agent", view.user_agent);
        cay_op_key_u64(&o.j, "clients", view.clients);
        cay_op_key_u64(&o.j, "viewers", view.viewers);
        cay_op_key_text(&o.j, "cdp_path", path);
        put_tabs(&o.j, view.tabs);
        put_downloads(&o.j, view.downloads);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

/* Look, start and stop */

struct changing {
        struct cay_browser_call change;
        struct cay_op_call *call;
        bool stops;
};

static void on_changed(struct cay_job *job)
{
        struct changing *s = cay_container_of(job, struct changing, change.job);
        struct cay_op_call *c = s->call;
        const struct browser_args *a = c->args;
        struct cay_error err = job->err;
        struct cay_op_result o;
        bool stops = s->stops;

        c->on_gone = NULL;
        free(s);
        if (err.code != CAY_OK) {
                cay_op_fail(c, &err,
                            strncmp(err.msg, "limits.", 7) == 0 || err.code != CAY_NOT_FOUND ? NULL : "id");
                return;
        }
        if (!stops) {
                answer_browser(c, a->id);
                return;
        }
        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "sandbox_id", a->id);
        cay_op_key_bool(&o.j, "stopped", true);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

static struct changing *new_changing(struct cay_op_call *c, bool stops)
{
        struct changing *s = calloc(1, sizeof(*s));

        if (!s) {
                cay_op_fail_memory(c);
                return NULL;
        }
        s->call = c;
        s->stops = stops;
        cay_job_init(&s->change.job, on_changed);
        return s;
}

static void run_browser_get(struct cay_op_call *c)
{
        const struct browser_args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct changing *s = new_changing(c, false);

        if (s)
                cay_browser_look(c->world->browsers, &viewer, a->id, &s->change);
}

const struct cay_op cay_op_browser_get = {
        .name = "browser_get",
        .route = "GET /api/sandboxes/{id}/browser",
        .doc = "Shows the browser of a sandbox: its tabs, its downloads and where its control channel is",
        .scope = CAY_SCOPE_READ,
        .fields = one_fields,
        .args_size = sizeof(struct browser_args),
        .result = &result_browser,
        .verb = CAY_OP_VERB("browser", "id", NULL, "status=status product=product clients=clients"),
        .run = run_browser_get,
};

static void run_browser_start(struct cay_op_call *c)
{
        const struct browser_args *a = c->args;
        const struct cay_browser_options options = { .width = (unsigned)a->width,
                                                     .height = (unsigned)a->height,
                                                     .ignore_certificate_errors =
                                                             a->ignore_certificate_errors,
                                                     .profile = a->profile,
                                                     .copies_profile = a->copy,
                                                     .isolates_sites = a->isolate_sites,
                                                     .logs = a->logs };
        struct cay_error err = { 0 };
        struct cay_viewer viewer = cay_op_viewer(c);
        struct changing *s;

        if ((a->profile && a->profile[0] != '/') || (a->copy && !a->profile)) {
                cay_fail(&err, CAY_INVALID,
                         a->profile ? "profile: must be an absolute path" : "copy: needs a profile to copy");
                cay_op_fail(c, &err, a->profile ? "profile" : "copy");
                return;
        }
        s = new_changing(c, false);
        if (s)
                cay_browser_start(c->world->browsers, &viewer, a->id, &options, &s->change);
}

const struct cay_op cay_op_browser_start = {
        .name = "browser_start",
        .route = "POST /api/sandboxes/{id}/browser",
        .doc = "Starts the browser of a sandbox, and answers when it has a tab; one that runs stays as it is",
        .scope = CAY_SCOPE_EXEC,
        .fields = start_fields,
        .args_size = sizeof(struct browser_args),
        .result = &result_browser,
        .verb = CAY_OP_VERB("browser start", "id", NULL, "status=status product=product"),
        .run = run_browser_start,
};

static void run_browser_stop(struct cay_op_call *c)
{
        const struct browser_args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct changing *s = new_changing(c, true);

        if (s)
                cay_browser_stop(c->world->browsers, &viewer, a->id, &s->change);
}

const struct cay_op cay_op_browser_stop = {
        .name = "browser_stop",
        .route = "DELETE /api/sandboxes/{id}/browser",
        .doc = "Closes the browser of a sandbox; its profile with cookies stays until the sandbox is "
               "destroyed",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_DESTRUCTIVE,
        .fields = one_fields,
        .args_size = sizeof(struct browser_args),
        .result = &result_browser_stopped,
        .verb = CAY_OP_VERB("browser stop", "id", NULL, "sandbox=sandbox_id stopped=stopped"),
        .run = run_browser_stop,
};

/* Links */

static void run_browser_link(struct cay_op_call *c)
{
        const struct browser_args *a = c->args;

        cay_op_answer_ws_link(c, a->id, "browser/cdp", a->expires_ms ? a->expires_ms : LINK_MS);
}

const struct cay_op cay_op_browser_link = {
        .name = "browser_link",
        .route = "POST /api/sandboxes/{id}/browser/links",
        .doc = "Makes an address for Playwright, Puppeteer and other clients of the DevTools protocol: it "
               "needs no "
               "other credential, expires, and is good for this browser alone",
        .scope = CAY_SCOPE_EXEC,
        .fields = link_fields,
        .args_size = sizeof(struct browser_args),
        .result = &result_browser_link,
        .status = CAY_OP_CREATED,
        .verb = CAY_OP_VERB("browser link", "id", NULL, "url=url"),
        .run = run_browser_link,
};
