/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a browser leaves behind, while it runs and for five minutes after: that it was there, its downloads,
 * its logs.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/browser/browser.h"
#include "domain/ops/files.h"
#include "domain/ops/op.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"

struct args {
        const char *id, *sandbox;
};

/* Browsers of a caller's sandboxes */

RESULT(result_one, "BrowserState", TEXT("sandbox_id"), TEXT("status"), MAYBE("exec_id", TEXT),
       NUMBER("clients"), BOOL("failed"), BOOL("timed_out"), MAYBE("cause_text", TEXT), TIME("started_at"),
       TIME("ended_at"), NUMBER("lived_ms"));
RESULT(result_list, NULL, LIST("browsers", result_one), BOOL("more"));

struct listing {
        struct cay_op_call *call;
        struct cay_viewer viewer;
        struct cay_json *j;
        const char *sandbox; /* id or name; NULL: all */
};

static uint64_t lived(const struct listing *l, const struct cay_browser_state *s)
{
        const struct cay_clock *clock = l->call->world->clock;
        struct cay_clock_reading now;
        uint64_t end = s->ended_wall_ms;

        clock->read(clock, &now);
        if (s->runs || end == 0)
                end = now.wall_ms;
        return s->started_wall_ms > 0 && end > s->started_wall_ms ? end - s->started_wall_ms : 0;
}

static void put_one(void *ctx, const struct cay_sandbox_view *view)
{
        const struct listing *l = ctx;
        struct cay_browser_state s;
        struct cay_error ignored = { 0 };

        if (cay_browser_state(l->call->world->browsers, &l->viewer, view, &s, &ignored) < 0 || !s.is_known)
                return;
        cay_json_begin_object(l->j);
        cay_op_key_text(l->j, "sandbox_id", view->id);
        cay_op_key_text(l->j, "status", !s.runs ? "ended" : s.is_ready ? "running" : "starting");
        cay_op_key_text(l->j, "exec_id", s.exec[0] ? s.exec : NULL);
        cay_op_key_u64(l->j, "clients", s.clients);
        cay_op_key_bool(l->j, "failed", s.has_failed);
        cay_op_key_bool(l->j, "timed_out", s.is_timed_out);
        cay_op_key_text(l->j, "cause_text", s.cause[0] ? s.cause : NULL);
        cay_op_key_time(l->j, "started_at", s.started_wall_ms);
        cay_op_key_time(l->j, "ended_at", s.ended_wall_ms);
        cay_op_key_u64(l->j, "lived_ms", lived(l, &s));
        cay_json_end_object(l->j);
}

/* 1: there are more; 0; -1: err. */
static int list_all(const struct listing *l, struct cay_error *err)
{
        const struct cay_sandbox_filter any = { .newest_first = true };
        char next[CAY_SERVICE_CURSOR_MAX] = "";
        struct cay_sandbox_view view;

        if (l->sandbox) {
                if (cay_service_get(l->call->world->service, &l->viewer, l->sandbox, &view, err) < 0)
                        return -1;
                put_one((void *)l, &view);
                return 0;
        }
        if (cay_service_list(l->call->world->service, &l->viewer, &any, "", CAY_SERVICE_PAGE_MAX, put_one,
                             (void *)l, next, err) < 0)
                return -1;
        return next[0] != '\0';
}

static void run_list(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_op_result o;
        struct listing l = { .call = c, .viewer = cay_op_viewer(c), .j = &o.j, .sandbox = a->sandbox };
        struct cay_error err = { 0 };
        int more;

        cay_op_result_begin(&o, c);
        cay_json_key(&o.j, "browsers");
        cay_json_begin_array(&o.j);
        more = list_all(&l, &err);
        if (more < 0) {
                cay_op_result_done(&o);
                cay_op_fail(c, &err, err.code == CAY_NOT_FOUND ? "sandbox" : NULL);
                return;
        }
        cay_json_end_array(&o.j);
        cay_op_key_bool(&o.j, "more", more > 0);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

static const struct cay_field list_fields[] = {
        { "sandbox", CAY_FIELD_TEXT, offsetof(struct args, sandbox), 0, "only of this sandbox", .min = 1,
          .max = CAY_NAME_MAX },
        {},
};

const struct cay_op cay_op_browser_list = {
        .name = "browser_list",
        .route = "GET /api/browsers",
        .doc = "Lists browsers of sandboxes: those that run, and of other sandboxes the last one that ended",
        .scope = CAY_SCOPE_READ,
        .fields = list_fields,
        .args_size = sizeof(struct args),
        .result = &result_list,
        .verb = CAY_OP_VERB("browser list", "", NULL,
                            "browsers: SANDBOX=sandbox_id STATUS=status CLIENTS=clients STARTED=started_at "
                            "ENDED=ended_at CAUSE=cause_text"),
        .run = run_list,
};

/* Downloads */

#define ID_FIELD CAY_OP_SANDBOX_FIELD(struct args, id)

RESULT(result_download, "BrowserDownloadKept", TEXT("id"), TEXT("path"), TEXT("name"), TEXT("url"),
       NUMBER("bytes"), TEXT("state"), MAYBE("error", TEXT), TIME("started_at"));
RESULT(result_downloads, NULL, TEXT("sandbox_id"), LIST("downloads", result_download));

static bool get_kept(struct cay_op_call *c, struct cay_browser_kept *ret)
{
        const struct args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_error err = { 0 };

        if (cay_browser_kept(c->world->browsers, &viewer, a->id, ret, &err) == 0)
                return true;
        cay_op_fail(c, &err, "id");
        return false;
}

static void put_download(struct cay_json *j, const struct cay_downloads *d, const struct cay_download *item)
{
        char path[sizeof(CAY_BROWSER_DOWNLOADS) + 64], error[256];

        snprintf(path, sizeof(path), "%s/%s", CAY_BROWSER_DOWNLOADS, item->guid);
        cay_download_error(d, item, error, sizeof(error));
        cay_json_begin_object(j);
        cay_op_key_text(j, "id", item->guid);
        cay_op_key_text(j, "path", path);
        cay_op_key_text(j, "name", item->name);
        cay_op_key_text(j, "url", item->url);
        cay_op_key_u64(j, "bytes", item->bytes);
        cay_op_key_text(j, "state", cay_download_state_word(item->state));
        cay_op_key_text(j, "error", error[0] ? error : NULL);
        cay_op_key_time(j, "started_at", item->wall_ms);
        cay_json_end_object(j);
}

static void run_downloads(struct cay_op_call *c)
{
        struct cay_browser_kept kept;
        struct cay_op_result o;

        if (!get_kept(c, &kept))
                return;
        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "sandbox_id", kept.sandbox);
        cay_json_key(&o.j, "downloads");
        cay_json_begin_array(&o.j);
        for (unsigned i = 0; i < kept.downloads->count; i++)
                put_download(&o.j, kept.downloads, &kept.downloads->items[i]);
        cay_json_end_array(&o.j);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

static const struct cay_field downloads_fields[] = { ID_FIELD, {} };

const struct cay_op cay_op_browser_downloads = {
        .name = "browser_downloads",
        .route = "GET /api/sandboxes/{id}/browser/downloads",
        .doc = "Lists what a browser has downloaded, also for five minutes after its end; of a file that is "
               "not "
               "complete, error says why",
        .scope = CAY_SCOPE_READ,
        .fields = downloads_fields,
        .args_size = sizeof(struct args),
        .result = &result_downloads,
        .tool = CAY_TOOL("Downloads", "Lists what the browser downloaded: paths in the sandbox.",
                         .group = "browser_state", .flags = CAY_TOOL_READS),
        .verb = CAY_OP_VERB("browser downloads", "id", NULL,
                            "downloads: NAME=name STATE=state BYTES=bytes PATH=path ERROR=error"),
        .run = run_downloads,
};

/* Logs */

RESULT(result_log_request, "BrowserLogRequest", NUMBER("number"), TEXT("id"), TEXT("tab_id"),
       TEXT("loader_id"), TEXT("method"), TEXT("url"), TEXT("type"), TEXT("state"), MAYBE("status", NUMBER),
       MAYBE("mime_type", TEXT), MAYBE("error", TEXT), NUMBER("bytes"), NUMBER("at_ms"),
       NUMBER("duration_ms"));
RESULT(result_log_message, "BrowserLogMessage", NUMBER("number"), TEXT("tab_id"), TEXT("level"), TEXT("text"),
       MAYBE("url", TEXT), NUMBER("line"), NUMBER("at_ms"));
RESULT(result_logs, NULL, TEXT("sandbox_id"), LIST("requests", result_log_request),
       LIST("messages", result_log_message));

static void key_maybe(struct cay_json *j, const char *key, const char *text)
{
        cay_op_key_text(j, key, text && text[0] ? text : NULL);
}

static void put_request(struct cay_json *j, const struct cay_request *r)
{
        cay_json_begin_object(j);
        cay_op_key_u64(j, "number", r->number);
        cay_op_key_text(j, "id", r->id);
        cay_op_key_text(j, "tab_id", r->tab);
        cay_op_key_text(j, "loader_id", r->loader);
        cay_op_key_text(j, "method", r->method);
        cay_op_key_text(j, "url", r->url ? r->url : "");
        cay_op_key_text(j, "type", r->type);
        cay_op_key_text(j, "state", cay_request_state_word(r->state));
        cay_json_key(j, "status");
        r->status > 0 ? cay_json_u64(j, r->status) : cay_json_null(j);
        key_maybe(j, "mime_type", r->mime);
        key_maybe(j, "error", r->error);
        cay_op_key_u64(j, "bytes", r->bytes);
        cay_op_key_u64(j, "at_ms", r->wall_ms);
        cay_op_key_u64(j, "duration_ms", r->duration_ms);
        cay_json_end_object(j);
}

static void put_message(struct cay_json *j, const struct cay_printed *p)
{
        cay_json_begin_object(j);
        cay_op_key_u64(j, "number", p->number);
        cay_op_key_text(j, "tab_id", p->tab);
        cay_op_key_text(j, "level", p->level);
        cay_op_key_text(j, "text", p->text ? p->text : "");
        key_maybe(j, "url", p->url);
        cay_op_key_u64(j, "line", p->line);
        cay_op_key_u64(j, "at_ms", p->wall_ms);
        cay_json_end_object(j);
}

static void run_logs(struct cay_op_call *c)
{
        struct cay_browser_kept kept;
        struct cay_op_result o;

        if (!get_kept(c, &kept))
                return;
        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "sandbox_id", kept.sandbox);
        cay_json_key(&o.j, "requests");
        cay_json_begin_array(&o.j);
        for (unsigned i = 0; i < kept.logs->request_count; i++)
                put_request(&o.j, &kept.logs->requests[i]);
        cay_json_end_array(&o.j);
        cay_json_key(&o.j, "messages");
        cay_json_begin_array(&o.j);
        for (unsigned i = 0; i < kept.logs->printed_count; i++)
                put_message(&o.j, &kept.logs->printed[i]);
        cay_json_end_array(&o.j);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

const struct cay_op cay_op_browser_logs = {
        .name = "browser_logs",
        .route = "GET /api/sandboxes/{id}/browser/logs",
        .doc = "Shows what pages of a browser asked of the network and printed, also for five minutes after "
               "its end; "
               "noted since it was first used by an op browser_*, or from its start (browser_start with "
               "logs)",
        .scope = CAY_SCOPE_READ,
        .fields = downloads_fields,
        .args_size = sizeof(struct args),
        .result = &result_logs,
        .verb = CAY_OP_VERB("browser logs", "id", NULL,
                            "requests: NR=number METHOD=method STATUS=status TYPE=type URL=url ERROR=error"),
        .run = run_logs,
};
