/* SPDX-License-Identifier: Apache-2.0 */
/* Which service and row a request is for, whether its caller may use it, and whether its sandbox is there. */
#include "dialects/e2b/e2b.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/gate/gate_sandbox.h"
#include "dialects/e2b/e2b_build.h"
#include "dialects/e2b/e2b_request.h"
#include "dialects/e2b/e2b_watcher.h"
#include "dialects/rest/rest_proxy.h"
#include "domain/settings/config.h"
#include "foundation/base/str.h"

#define ERROR_MAX 4096u

static int add_rows(struct cay_route *routes, unsigned *count, const struct e2b_rows *rows)
{
        for (unsigned i = 0; i < rows->count; i++) {
                if (*count == E2B_ROUTES_MAX)
                        return -1;
                routes[(*count)++] = (struct cay_route){ .row = rows->rows[i].row, .owner = &rows->rows[i] };
        }
        return 0;
}

/* The list ends with NULL. */
static struct cay_router *make_router(struct cay_route *routes, const struct e2b_rows *const *lists,
                                      struct cay_error *err)
{
        unsigned count = 0;

        for (; *lists; lists++) {
                if (add_rows(routes, &count, *lists) < 0) {
                        cay_fail(err, CAY_INTERNAL, "more routes of E2B than there is room for");
                        return NULL;
                }
        }
        return cay_router_new(routes, count, err);
}

int cay_e2b_new(const struct cay_op_world *world, struct cay_e2b **ret, struct cay_error *err)
{
        static const struct e2b_rows *const control[] = {
                &e2b_control_rows, &e2b_lifecycle_rows, &e2b_snapshot_rows, &e2b_template_rows, &e2b_tag_rows,
                &e2b_volume_rows,  &e2b_content_rows,   &e2b_metrics_rows,  &e2b_missing_rows,  NULL
        };
        static const struct e2b_rows *const envd[] = { &e2b_envd_rows,       &e2b_process_rows,
                                                       &e2b_filesystem_rows, &e2b_watcher_rows,
                                                       &e2b_files_rows,      NULL };
        static const struct e2b_rows *const code[] = { &e2b_envd_rows, &e2b_code_rows, NULL };
        cay_auto(cay_e2b_freep) struct cay_e2b *e = calloc(1, sizeof(*e));

        if (!e)
                return cay_fail(err, CAY_INTERNAL, "no memory for the dialect e2b");
        e->world = world;
        e->control = make_router(e->control_routes, control, err);
        e->envd = e->control ? make_router(e->envd_routes, envd, err) : NULL;
        e->code = e->envd ? make_router(e->code_routes, code, err) : NULL;
        if (!e->code)
                return -1;
        *ret = cay_take(e);
        return 0;
}

void cay_e2b_free(struct cay_e2b *e)
{
        if (!e)
                return;
        cay_router_free(e->control);
        cay_router_free(e->envd);
        cay_router_free(e->code);
        e2b_builds_free(e);
        e2b_watchers_free(e);
        free(e);
}

void cay_e2b_stop(struct cay_e2b *e)
{
        e2b_builds_stop(e);
        e2b_watchers_stop(e);
        while (e->streams) {
                struct cay_rest_stream *s = e->streams;

                cay_rest_stream_remove(s);
                s->stop(s);
        }
}

/* Whom it is for */

/* A signed address of a file, which names no sandbox: its signature does. */
static bool is_signed(const struct cay_http_request *req)
{
        const char *query = req->target.query;

        return strcmp(req->target.path, "/files") == 0 && query &&
               (strncmp(query, "signature=", 10) == 0 || strstr(query, "&signature="));
}

bool cay_e2b_find(const struct cay_e2b *e, const struct cay_http_request *req, const struct cay_visitor *v)
{
        struct cay_route_match m;

        if (v->is_published)
                return false;
        if (v->port.port)
                return v->by_field || cay_gate_is_api_port(v->port.port) ||
                       (!v->is_known && e->world->config->e2b_public_ports);
        return cay_router_find(e->control, req->method, &req->target, &m) || m.allowed != 0 || is_signed(req);
}

/* Refusals before there is a request of ours */

static void refuse(struct cay_http_request *req, unsigned status, const char *text)
{
        cay_auto_buf struct cay_buf body = { 0 };

        cay_buf_init(&body, ERROR_MAX);
        e2b_put_error(&body, E2B_FORM_REST, status, NULL, text);
        cay_http_response_send(req, status, E2B_JSON, cay_buf_data(&body), body.len);
}

void cay_e2b_refuse_gate(struct cay_http_request *req, const struct cay_visitor *v, unsigned status,
                         const char *text)
{
        (void)v;
        refuse(req, status, text);
}

static void refuse_sandbox(struct cay_http_request *req, const char *sandbox, unsigned status,
                           const char *text)
{
        cay_auto_buf struct cay_buf body = { 0 };
        struct cay_json j;

        cay_buf_init(&body, ERROR_MAX);
        cay_json_init(&j, &body);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "sandboxId", sandbox);
        cay_op_key_text(&j, "message", text);
        cay_op_key_u64(&j, "code", status);
        cay_json_end_object(&j);
        cay_http_response_send(req, status, E2B_JSON, cay_buf_data(&body), body.len);
}

/* Requests from pages of allow_origins. */
static void answer_options(struct cay_http_request *req, const struct cay_visitor *v)
{
        if (!v->origin_is_fine) {
                refuse(req, 403, "pages of this origin are not allowed; see allow_origins");
                return;
        }
        cay_http_response_add(req, "Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE");
        cay_http_response_add(req, "Access-Control-Allow-Headers",
                              "Authorization, Content-Type, Content-Encoding, X-API-KEY, X-Access-Token, "
                              "E2b-Sandbox-Id, E2b-Sandbox-Port, E2B-Traffic-Access-Token, "
                              "Connect-Protocol-Version, Connect-Timeout-Ms, Keepalive-Ping-Interval");
        cay_http_response_add(req, "Access-Control-Max-Age", "600");
        cay_http_response_send(req, 204, NULL, NULL, 0);
}

/* NULL: refused. */
static const struct e2b_row *find_row(struct cay_router *router, struct cay_http_request *req,
                                      struct cay_route_match *m)
{
        if (cay_router_find(router, req->method, &req->target, m))
                return m->route->owner;
        refuse(req, m->allowed == 0 ? 404 : 405,
               m->allowed == 0 ? "nothing is at this path" : "this path does not support that method");
        return NULL;
}

static void refuse_unknown(struct cay_http_request *req, const struct cay_visitor *v)
{
        refuse(req, 401,
               v->port.port     ? "X-Access-Token: a valid token of this sandbox is needed"
               : v->was_refused ? "X-API-KEY: this key is not valid; on the daemon's machine `cay key make "
                                  "OWNER --form e2b` makes one"
                                : "X-API-KEY: a key is needed; on the daemon's machine `cay key make OWNER "
                                  "--form e2b` makes one");
}

/* Sandboxes */

enum presence { GONE, RUNS, SLEEPS };

/*
 * One that is being destroyed or stopped is gone for clients: they ask at once, when their streams are cut.
 */
static bool is_up(const struct cay_sandbox_view *view)
{
        return (view->state == CAY_STATE_READY || view->state == CAY_STATE_BUSY) &&
               strcmp(view->busy_with, "destroy") != 0 && strcmp(view->busy_with, "stop") != 0;
}

static const char *find_label(const struct cay_sandbox_view *view, const char *name)
{
        for (unsigned i = 0; i < view->labels.count; i++)
                if (strcmp(view->labels.pairs[i].name, name) == 0)
                        return view->labels.pairs[i].value;
        return NULL;
}

const char *e2b_label(const struct cay_op_world *world, const char *id, const char *label)
{
        const struct cay_viewer everybody = { .owner = "", .sees_all = true };
        struct cay_sandbox_view view;
        struct cay_error ignored = { 0 };

        return cay_service_get(world->service, &everybody, id, &view, &ignored) == 0
                       ? find_label(&view, label)
                       : NULL;
}

bool e2b_runs(const struct cay_op_world *world, const char *id)
{
        const struct cay_viewer everybody = { .owner = "", .sees_all = true };
        struct cay_sandbox_view view;
        struct cay_error ignored = { 0 };

        return cay_service_get(world->service, &everybody, id, &view, &ignored) == 0 && is_up(&view);
}

/* By its id; its owner is not compared: its token or its key says who may use it. */
static enum presence look(const struct cay_e2b *e, const char *id, struct cay_sandbox_view *view)
{
        const struct cay_viewer everybody = { .owner = "", .sees_all = true };
        struct cay_error ignored = { 0 };

        if (cay_service_get(e->world->service, &everybody, id, view, &ignored) < 0 ||
            strcmp(view->id, id) != 0)
                return GONE;
        if (is_up(view))
                return RUNS;
        return view->state == CAY_STATE_PAUSED && find_label(view, E2B_LABEL_RESUME) ? SLEEPS : GONE;
}

static void on_awake(struct e2b_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        e2b_request_begin(q);
}

/* Another request woke it, or it is gone. */
static void on_not_awake(struct e2b_request *q, const struct cay_error *err)
{
        struct cay_sandbox_view view;

        if (look(q->e2b, q->sandbox, &view) == RUNS)
                e2b_request_begin(q);
        else
                e2b_fail(q, err);
}

static void begin(struct e2b_request *q, enum presence presence)
{
        if (presence != SLEEPS || !q->is_known || q->row->flags & E2B_ANY_STATE) {
                e2b_request_begin(q);
                return;
        }
        q->on_fail = on_not_awake;
        e2b_ask_sandbox(q, "sandbox_resume", on_awake);
}

/* A server inside the sandbox. */
static void handle_port(struct cay_e2b *e, struct cay_http_request *req, const struct cay_visitor *v,
                        const struct cay_sandbox_view *view)
{
        struct cay_visitor as_owner = *v;

        if (v->is_known) {
                cay_rest_proxy_host(e->world, req, v);
                return;
        }
        if (v->was_refused || !e->world->config->e2b_public_ports || find_label(view, E2B_LABEL_PRIVATE)) {
                refuse_sandbox(
                        req, v->port.sandbox, 403,
                        "ports of this sandbox need E2B-Traffic-Access-Token: the trafficAccessToken of "
                        "the sandbox");
                return;
        }
        as_owner.is_known = true;
        as_owner.caller = (struct cay_caller){ .scopes = CAY_SCOPE_READ | CAY_SCOPE_EXEC,
                                               .credential = CAY_CREDENTIAL_TOKEN };
        cay_str_copy(as_owner.caller.owner, sizeof(as_owner.caller.owner), view->owner);
        cay_rest_proxy_host(e->world, req, &as_owner);
}

static void handle_sandbox(struct cay_e2b *e, struct cay_http_request *req, const struct cay_visitor *v)
{
        uint16_t port = v->port.port;
        struct cay_sandbox_view view;
        enum presence presence = look(e, v->port.sandbox, &view);
        const struct e2b_row *row;
        struct cay_route_match m;
        struct e2b_request *q;

        if (presence == GONE) {
                refuse_sandbox(req, v->port.sandbox, 502, "The sandbox was not found");
                return;
        }
        if (!cay_gate_is_api_port(port)) {
                handle_port(e, req, v, &view);
                return;
        }
        if (v->was_refused) {
                refuse_unknown(req, v);
                return;
        }
        row = find_row(port == CAY_GATE_ENVD_PORT ? e->envd : e->code, req, &m);
        if (!row)
                return;
        if (!v->is_known && !(row->flags & (E2B_OPEN | E2B_OWN_AUTH))) {
                refuse_unknown(req, v);
                return;
        }
        q = e2b_request_new(e, row, req, v);
        if (!q) {
                refuse(req, 503, "no memory for this request");
                return;
        }
        q->match = m;
        cay_str_copy(q->sandbox, sizeof(q->sandbox), v->port.sandbox);
        begin(q, presence);
}

static void handle_control(struct cay_e2b *e, struct cay_http_request *req, const struct cay_visitor *v)
{
        struct cay_route_match m;
        const struct e2b_row *row = find_row(is_signed(req) ? e->envd : e->control, req, &m);
        struct e2b_request *q;
        const char *id;

        if (!row)
                return;
        if (!v->is_known && !(row->flags & E2B_OWN_AUTH)) {
                refuse_unknown(req, v);
                return;
        }
        q = e2b_request_new(e, row, req, v);
        if (!q) {
                refuse(req, 503, "no memory for this request");
                return;
        }
        q->match = m;
        id = cay_route_value(&m, "id");
        if (id && !cay_str_copy(q->sandbox, sizeof(q->sandbox), id)) {
                e2b_refuse(q, CAY_NOT_FOUND, "sandbox '%.63s…' does not exist", id);
                return;
        }
        e2b_request_begin(q);
}

void cay_e2b_handle(struct cay_e2b *e, struct cay_http_request *req, const struct cay_visitor *v)
{
        if (req->method == CAY_HTTP_OPTIONS && (!v->port.port || cay_gate_is_api_port(v->port.port)))
                answer_options(req, v);
        else if (v->port.port)
                handle_sandbox(e, req, v);
        else
                handle_control(e, req, v);
}
