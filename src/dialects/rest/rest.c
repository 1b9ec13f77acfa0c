/* SPDX-License-Identifier: Apache-2.0 */
/* REST: finds the op, checks that the visitor may use it, fills its arguments. */
#include "dialects/rest/rest.h"

#include <stdio.h>
#include <string.h>

#include "foundation/base/log.h"
#include "domain/settings/config.h"
#include "dialects/rest/rest_call.h"
#include "dialects/rest/rest_error.h"
#include "dialects/rest/rest_fill.h"
#include "dialects/rest/rest_login.h"
#include "dialects/rest/rest_openapi.h"
#include "dialects/rest/rest_proxy.h"
#include "dialects/rest/rest_reference.h"
#include "dialects/rest/rest_ws.h"
#include "foundation/http/router.h"

#define PAGES 5u

/*
 * Our own pages and answers load only our own style sheet and script, and cannot be framed. Pictures may come
 * with their own bytes: noVNC draws parts of a desktop, and its pointer, that way. One page may be framed by
 * allow_origins: it has no session, and whoever shows it has its link.
 */
#define POLICY                                                                                               \
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' "       \
        "data:; "                                                                                            \
        "base-uri 'none'; form-action 'none'; frame-ancestors "
#define FRAMED_MAX 4096u

static const char own_policy[] = POLICY "'none'";

struct page {
        const char *row, *type;
        int (*make)(const struct cay_rest_listing *l, struct cay_buf *out);
};

struct target { /* what a route stands for: one of the four */
        const struct cay_op *op;
        const struct page *page;
        const struct cay_rest_more *more;
        bool is_proxy, is_framed;
};

struct cay_rest {
        const struct cay_op_world *world;
        struct cay_arena mem; /* rows with a slash behind them, targets, routes */
        struct cay_router *router;
        struct cay_rest_stream *streams; /* under way */
        struct cay_buf pages[PAGES];     /* made once */
        struct cay_rest_dialect *dialects;
        unsigned dialect_count;
        char framed_policy[FRAMED_MAX]; /* of the page that may be framed */
};

static int make_css(const struct cay_rest_listing *l, struct cay_buf *out)
{
        (void)l;
        return cay_buf_puts(out, cay_reference_css);
}

static int make_script(const struct cay_rest_listing *l, struct cay_buf *out)
{
        (void)l;
        return cay_buf_puts(out, cay_login_js);
}

static const struct page pages[PAGES] = {
        { "GET /reference", "text/html; charset=utf-8", cay_reference_html },
        { "GET /api/reference", CAY_REST_JSON, cay_reference_json },
        { "GET /api/openapi.json", CAY_REST_JSON, cay_openapi_put },
        { "GET /reference.css", "text/css; charset=utf-8", make_css },
        { "GET /login.js", "text/javascript; charset=utf-8", make_script },
};

/* With and without a slash behind it. */
static int add_slashed(struct cay_rest *r, const char *row, const struct target *t, struct cay_route *routes,
                       unsigned *count)
{
        size_t len = strlen(row);
        char *slashed = cay_arena_alloc(&r->mem, len + 2);

        if (!slashed)
                return -1;
        memcpy(slashed, row, len);
        slashed[len] = '/';
        routes[(*count)++] = (struct cay_route){ .row = row, .owner = t };
        routes[(*count)++] = (struct cay_route){ .row = slashed, .owner = t };
        return 0;
}

static int add_op(struct cay_rest *r, const struct cay_op *op, struct cay_route *routes, unsigned *count)
{
        struct target *t = cay_arena_alloc(&r->mem, sizeof(*t));

        if (!t)
                return -1;
        t->op = op;
        return add_slashed(r, op->route, t, routes, count);
}

static int add_page(struct cay_rest *r, unsigned i, const struct cay_rest_listing *l,
                    struct cay_route *routes, unsigned *count)
{
        struct target *t = cay_arena_alloc(&r->mem, sizeof(*t));

        cay_buf_init(&r->pages[i], CAY_REFERENCE_MAX);
        if (!t || pages[i].make(l, &r->pages[i]) < 0)
                return -1;
        t->page = &pages[i];
        routes[(*count)++] = (struct cay_route){ .row = pages[i].row, .owner = t };
        return 0;
}

static int add_proxy(struct cay_rest *r, struct cay_route *routes, unsigned *count)
{
        struct target *t = cay_arena_alloc(&r->mem, sizeof(*t));

        if (!t)
                return -1;
        t->is_proxy = true;
        routes[(*count)++] = (struct cay_route){ .row = CAY_PROXY_ROW, .owner = t };
        routes[(*count)++] = (struct cay_route){ .row = CAY_PROXY_BARE_ROW, .owner = t };
        return 0;
}

/* More origins than there is room for: none. */
static void make_framed_policy(struct cay_rest *r, const struct cay_config *config)
{
        size_t at = (size_t)snprintf(r->framed_policy, FRAMED_MAX, POLICY "'self'");

        for (unsigned i = 0; config && i < config->allow_origins.count && at < FRAMED_MAX; i++)
                at += (size_t)snprintf(r->framed_policy + at, FRAMED_MAX - at, " %s",
                                       config->allow_origins.items[i]);
        if (at >= FRAMED_MAX)
                memcpy(r->framed_policy, own_policy, sizeof(own_policy));
}

static int add_more(struct cay_rest *r, const struct cay_rest_more *more, const char *framed,
                    struct cay_route *routes, unsigned *count)
{
        struct target *t = cay_arena_alloc(&r->mem, sizeof(*t));

        if (!t)
                return -1;
        if (more->port)
                return 0;
        t->more = more;
        t->is_framed = framed && strcmp(more->row, framed) == 0;
        return add_slashed(r, more->row, t, routes, count);
}

/* Our own ops, then what other dialects have to show. */
static int list_all(struct cay_rest *r, unsigned more, struct cay_rest_listing *ret)
{
        const struct cay_op **ops = cay_arena_array(&r->mem, cay_op_count + more, sizeof(*ops));

        if (!ops)
                return -1;
        *ret = (struct cay_rest_listing){ .ops = ops };
        for (unsigned i = 0; i < cay_op_count; i++)
                ops[ret->count++] = cay_ops[i];
        for (unsigned i = 0; i < r->dialect_count; i++)
                for (unsigned k = 0; k < r->dialects[i].count; k++)
                        if (r->dialects[i].rows[k].listed)
                                ops[ret->count++] = r->dialects[i].rows[k].listed;
        return 0;
}

int cay_rest_new(const struct cay_op_world *world, const struct cay_rest_dialect *dialects,
                 unsigned dialect_count, struct cay_rest **ret, struct cay_error *err)
{
        cay_auto(cay_rest_freep) struct cay_rest *r = calloc(1, sizeof(*r));
        struct cay_rest_listing listing = { 0 };
        struct cay_route *routes;
        unsigned count = 0, more = 0;
        bool ok;

        if (!r)
                return cay_fail(err, CAY_INTERNAL, "no memory for the routes");
        for (unsigned i = 0; i < dialect_count; i++)
                more += dialects[i].count;
        r->world = world;
        make_framed_policy(r, world->config);
        cay_arena_init(&r->mem, 256u * 1024);
        routes = cay_arena_array(&r->mem, 2 * cay_op_count + PAGES + 2 + 2 * more, sizeof(*routes));
        r->dialects = cay_arena_array(&r->mem, dialect_count, sizeof(*r->dialects));
        ok = routes != NULL && (dialect_count == 0 || r->dialects != NULL);
        for (unsigned i = 0; ok && i < dialect_count; i++)
                r->dialects[r->dialect_count++] = dialects[i];
        for (unsigned i = 0; ok && i < cay_op_count; i++)
                ok = add_op(r, cay_ops[i], routes, &count) == 0;
        ok = ok && list_all(r, more, &listing) == 0;
        for (unsigned i = 0; ok && i < PAGES; i++)
                ok = add_page(r, i, &listing, routes, &count) == 0;
        for (unsigned i = 0; i < dialect_count; i++)
                for (unsigned k = 0; ok && k < dialects[i].count; k++)
                        ok = add_more(r, &dialects[i].rows[k], dialects[i].framed, routes, &count) == 0;
        if (!ok || add_proxy(r, routes, &count) < 0)
                return cay_fail(err, CAY_INTERNAL, "no memory for the routes");
        r->router = cay_router_new(routes, count, err);
        if (!r->router)
                return -1;
        *ret = cay_take(r);
        return 0;
}

void cay_rest_free(struct cay_rest *r)
{
        if (!r)
                return;
        cay_router_free(r->router);
        for (unsigned i = 0; i < PAGES; i++)
                cay_buf_done(&r->pages[i]);
        cay_arena_done(&r->mem);
        free(r);
}

void cay_rest_stop(struct cay_rest *r)
{
        while (r->streams) {
                struct cay_rest_stream *s = r->streams;

                cay_rest_stream_remove(s);
                s->stop(s);
        }
}

/* Refusals before there is a call */

void cay_rest_refuse_field(struct cay_http_request *req, unsigned status, const char *message,
                           const char *field, const char *request_id)
{
        cay_auto_buf struct cay_buf body = { 0 };
        struct cay_rest_error e = { .status = status,
                                    .code = cay_rest_status_code(status),
                                    .message = message,
                                    .field = field,
                                    .reason = status == 429 || status == 503
                                                      ? cay_reason_word(CAY_REASON_RETRY)
                                                      : NULL,
                                    .request_id = request_id };

        cay_http_response_add(req, "Content-Security-Policy", own_policy);
        cay_buf_init(&body, CAY_REST_ERROR_MAX);
        cay_rest_error_put(&body, &e);
        cay_http_response_send(req, status, CAY_REST_JSON, cay_buf_data(&body), body.len);
}

void cay_rest_refuse(struct cay_http_request *req, unsigned status, const char *message,
                     const char *request_id)
{
        cay_rest_refuse_field(req, status, message, NULL, request_id);
}

const char *cay_rest_fault(const struct cay_http_fault *fault, struct cay_buf *fields, struct cay_buf *body)
{
        char id[CAY_GATE_ID + 1];
        struct cay_rest_error e = { .status = fault->status,
                                    .code = cay_rest_status_code(fault->status),
                                    .message = fault->text,
                                    .reason = fault->may_repeat ? cay_reason_word(CAY_REASON_RETRY) : NULL,
                                    .request_id = id };

        cay_gate_make_id(id);
        cay_buf_printf(fields, "X-Request-Id: %s\r\n", id);
        cay_log_debug("request refused", "id=%s status=%u why=%s", id, fault->status, fault->text);
        return cay_rest_error_put(body, &e) < 0 ? NULL : CAY_REST_JSON;
}

/* The same error for every invalid token, except for one that was valid before. */
static void refuse_unknown(struct cay_http_request *req, const struct cay_visitor *v)
{
        cay_http_response_add(
                req, "WWW-Authenticate",
                v->has_expired ? "Bearer error=\"invalid_token\", error_description=\"the token has expired\""
                               : "Bearer");
        cay_rest_refuse(req, 401, cay_gate_unknown_text(v), v->request_id);
}

static void refuse_route(struct cay_http_request *req, const struct cay_route_match *m,
                         const struct cay_visitor *v)
{
        char allow[CAY_ROUTE_ALLOW_MAX];

        if (m->allowed == 0) {
                cay_rest_refuse(req, 404, "nothing is at this path; /reference lists the operations",
                                v->request_id);
                return;
        }
        cay_route_allow(m->allowed, allow);
        cay_http_response_add(req, "Allow", allow);
        cay_rest_refuse(req, 405,
                        "this path does not support that method; the field Allow lists those that it does",
                        v->request_id);
}

/* A browser asks before a page's request; also plain OPTIONS. */
static void answer_options(struct cay_rest *r, struct cay_http_request *req, const struct cay_visitor *v)
{
        bool asks = cay_http_request_header(req, "Access-Control-Request-Method") != NULL;
        struct cay_route_match m;
        char allow[CAY_ROUTE_ALLOW_MAX];

        cay_router_find(r->router, CAY_HTTP_OPTIONS, &req->target, &m);
        if (asks && !v->origin_is_fine) {
                cay_rest_refuse(req, 403, "pages of this origin are not allowed; see allow_origins",
                                v->request_id);
                return;
        }
        if (m.allowed == 0) {
                refuse_route(req, &m, v);
                return;
        }
        cay_route_allow(m.allowed, allow);
        cay_http_response_add(req, "Allow", allow);
        if (asks) {
                cay_http_response_add(req, "Access-Control-Allow-Methods", allow);
                cay_http_response_add(req, "Access-Control-Allow-Headers",
                                      "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Range");
                cay_http_response_add(req, "Access-Control-Max-Age", "600");
        }
        cay_http_response_add(req, "Content-Security-Policy", own_policy);
        cay_http_response_send(req, 204, NULL, NULL, 0);
}

static void answer_page(struct cay_rest *r, struct cay_http_request *req, const struct page *page)
{
        const struct cay_buf *body = &r->pages[page - pages];

        cay_http_response_add(req, "Content-Security-Policy", own_policy);
        cay_http_response_add(req, "Cache-Control", "no-cache");
        cay_http_response_send(req, 200, page->type, cay_buf_data(body), body->len);
}

static int fill(struct cay_rest_call *rc, const struct cay_route_match *m, struct cay_error *err)
{
        rc->events.is_sse = cay_rest_accepts(rc->req, "text/event-stream");
        rc->call.wants_stream = rc->events.is_sse || cay_rest_accepts(rc->req, "application/x-ndjson");
        return cay_rest_fill(&rc->args, rc->req, m, err);
}

static void call_op(struct cay_rest *r, const struct cay_op *op, const struct cay_route_match *m,
                    struct cay_http_request *req, const struct cay_visitor *v)
{
        struct cay_rest_call *rc = cay_rest_call_new(op, r->world, req, v);
        struct cay_error err = { 0 };

        if (rc)
                cay_http_response_add(req, "Content-Security-Policy", own_policy);
        if (!rc) {
                cay_rest_refuse(req, 503, "no memory for this request", v->request_id);
                return;
        }
        rc->streams = &r->streams;
        if (cay_op_check_scope(op, &v->caller, &err) < 0)
                cay_rest_call_fail(rc, &err, NULL);
        else if (fill(rc, m, &err) < 0)
                cay_rest_call_fail(rc, &err, rc->args.field);
        else
                cay_rest_call_begin(rc);
}

/* A GET that wants to be a WebSocket also finds the rows that stream and are no GET. */
static bool find_stream(const struct cay_rest *r, const struct cay_http_request *req,
                        struct cay_route_match *m)
{
        struct cay_route_match other;
        const struct target *t;

        if (!cay_rest_ws_wanted(req) || !cay_router_find(r->router, CAY_HTTP_POST, &req->target, &other))
                return false;
        t = other.route->owner;
        if (!t->op || !(t->op->flags & CAY_OP_STREAM) || t->op->flags & CAY_OP_RAW_IN)
                return false;
        *m = other;
        return true;
}

static void handle_more(struct cay_rest *r, const struct cay_rest_more *more, bool is_framed,
                        struct cay_http_request *req, const struct cay_visitor *v, const char *sandbox)
{
        const struct cay_rest_place place = { .world = r->world, .streams = &r->streams, .sandbox = sandbox };

        if (v->was_refused || (!v->is_known && !more->is_open)) {
                refuse_unknown(req, v);
                return;
        }
        cay_http_response_add(req, "Content-Security-Policy", is_framed ? r->framed_policy : own_policy);
        more->handle(more->owner, &place, req, v);
}

/* A port of sandboxes that a dialect serves itself; at: the segment behind the port. */
static const struct cay_rest_more *find_port(const struct cay_rest *r, const struct cay_http_request *req,
                                             uint16_t port, unsigned at)
{
        const char *name = req->target.count > at ? req->target.segments[at] : "";
        bool is_one = req->target.count <= at + 1;

        for (unsigned i = 0; i < r->dialect_count; i++) {
                for (unsigned k = 0; k < r->dialects[i].count; k++) {
                        const struct cay_rest_more *row = &r->dialects[i].rows[k];

                        if (row->port == port && (!row->row || (is_one && strcmp(row->row, name) == 0)))
                                return row;
                }
        }
        return NULL;
}

/* By host name or below /ports/; NULL: it is none of ours. */
static const struct cay_rest_more *find_own_port(const struct cay_rest *r, const struct cay_http_request *req,
                                                 const struct cay_visitor *v, const struct target *t)
{
        uint16_t port = 0;

        if (v->port.port)
                return find_port(r, req, v->port.port, 0);
        if (!t || !t->is_proxy || req->target.count < 5 ||
            cay_proxy_parse_port(req->target.segments[4], &port) < 0)
                return NULL;
        return find_port(r, req, port, 5);
}

static void refuse_origin(struct cay_http_request *req, const struct cay_visitor *v)
{
        cay_rest_refuse(req, 403, "pages of this origin are not allowed; see allow_origins", v->request_id);
}

static void handle_op(struct cay_rest *r, const struct cay_op *op, const struct cay_route_match *m,
                      struct cay_http_request *req, const struct cay_visitor *v, bool first_is_body)
{
        bool is_ws = op->flags & CAY_OP_STREAM && cay_rest_ws_wanted(req);

        if (v->was_refused || (!v->is_known && !(op->flags & CAY_OP_OPEN)))
                refuse_unknown(req, v);
        else if (is_ws && v->origin && !v->origin_is_fine)
                refuse_origin(req, v);
        else if (is_ws)
                cay_rest_ws(r->world, op, m, req, v, first_is_body, &r->streams);
        else
                call_op(r, op, m, req, v);
}

void cay_rest_handle(struct cay_rest *r, struct cay_http_request *req, const struct cay_visitor *v)
{
        struct cay_route_match m;
        bool found = cay_router_find(r->router, req->method, &req->target, &m);
        bool first_is_body = !found && find_stream(r, req, &m);
        const struct target *t = found || first_is_body ? m.route->owner : NULL;
        const struct cay_rest_more *own = find_own_port(r, req, v, t);

        if (own) {
                handle_more(r, own, false, req, v, v->port.port ? v->port.sandbox : req->target.segments[2]);
                return;
        }
        if (v->port.port) { /* an origin of its own: nothing of ours is there */
                if (v->is_known && v->is_published)
                        cay_rest_refuse(req, 404, "this sandbox has nothing at this path", v->request_id);
                else if (v->is_known)
                        cay_rest_proxy_host(r->world, req, v);
                else
                        refuse_unknown(req, v);
                return;
        }
        if (t && t->is_proxy) {
                if (v->is_known && !(v->origin && !v->origin_is_fine && req->upgrade))
                        cay_rest_proxy(r->world, req, &m, v);
                else if (v->is_known)
                        refuse_origin(req, v);
                else
                        refuse_unknown(req, v);
                return;
        }
        if (req->method == CAY_HTTP_OPTIONS)
                answer_options(r, req, v);
        else if (!t)
                refuse_route(req, &m, v);
        else if (t->page)
                answer_page(r, req, t->page);
        else if (t->more)
                handle_more(r, t->more, t->is_framed, req, v, NULL);
        else
                handle_op(r, t->op, &m, req, v, first_is_body);
}
