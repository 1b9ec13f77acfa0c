/* SPDX-License-Identifier: Apache-2.0 */
/* REST: finds the op, checks that the visitor may use it, fills its arguments. */
#include "dialect/rest/rest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "config/config.h"
#include "dialect/rest/rest_call.h"
#include "dialect/rest/rest_error.h"
#include "dialect/rest/rest_proxy.h"
#include "dialect/rest/rest_reference.h"
#include "http/router.h"

#define ERROR_MAX 8192u
#define PAGES 3u

/* Our own pages and answers load nothing but our own style sheet, and nobody frames them. */
static const char own_policy[] =
        "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
        "form-action 'none'";

struct page {
        const char *row, *type;
        int (*make)(struct cay_buf *out);
};

struct target { /* what a route stands for: one of the three */
        const struct cay_op *op;
        const struct page *page;
        bool is_proxy;
};

struct cay_rest {
        const struct cay_op_world *world;
        struct cay_arena mem; /* rows with a slash behind them, targets, routes */
        struct cay_router *router;
        struct cay_buf pages[PAGES]; /* made once */
};

static int make_css(struct cay_buf *out)
{
        return cay_buf_puts(out, cay_reference_css);
}

static const struct page pages[PAGES] = {
        { "GET /", "text/html; charset=utf-8", cay_reference_html },
        { "GET /api/reference", CAY_REST_JSON, cay_reference_json },
        { "GET /reference.css", "text/css; charset=utf-8", make_css },
};

static int add_op(struct cay_rest *r, const struct cay_op *op, struct cay_route *routes, unsigned *count)
{
        size_t len = strlen(op->route);
        struct target *t = cay_arena_alloc(&r->mem, sizeof(*t));
        char *slashed = cay_arena_alloc(&r->mem, len + 2);

        if (!t || !slashed)
                return -1;
        t->op = op;
        memcpy(slashed, op->route, len);
        slashed[len] = '/';
        routes[(*count)++] = (struct cay_route){ .row = op->route, .owner = t };
        routes[(*count)++] = (struct cay_route){ .row = slashed, .owner = t };
        return 0;
}

static int add_page(struct cay_rest *r, unsigned i, struct cay_route *routes, unsigned *count)
{
        struct target *t = cay_arena_alloc(&r->mem, sizeof(*t));

        cay_buf_init(&r->pages[i], CAY_REFERENCE_MAX);
        if (!t || pages[i].make(&r->pages[i]) < 0)
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
        return 0;
}

int cay_rest_new(const struct cay_op_world *world, struct cay_rest **ret, struct cay_error *err)
{
        cay_auto(cay_rest_freep) struct cay_rest *r = calloc(1, sizeof(*r));
        struct cay_route *routes;
        unsigned count = 0;
        bool ok;

        if (!r)
                return cay_fail(err, CAY_INTERNAL, "no memory for the routes");
        r->world = world;
        cay_arena_init(&r->mem, 256u * 1024);
        routes = cay_arena_array(&r->mem, 2 * cay_op_count + PAGES + 1, sizeof(*routes));
        ok = routes != NULL;
        for (unsigned i = 0; ok && i < cay_op_count; i++)
                ok = add_op(r, cay_ops[i], routes, &count) == 0;
        for (unsigned i = 0; ok && i < PAGES; i++)
                ok = add_page(r, i, routes, &count) == 0;
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

/* Refusals before there is a call */

void cay_rest_refuse(struct cay_http_request *req, unsigned status, const char *message,
                     const char *request_id)
{
        cay_auto_buf struct cay_buf body = { 0 };
        struct cay_rest_error e = { .status = status,
                                    .code = cay_rest_status_code(status),
                                    .message = message,
                                    .request_id = request_id };

        cay_buf_init(&body, ERROR_MAX);
        cay_rest_error_put(&body, &e);
        cay_http_response_send(req, status, CAY_REST_JSON, cay_buf_data(&body), body.len);
}

const char *cay_rest_fault(const struct cay_http_fault *fault, struct cay_buf *body)
{
        struct cay_rest_error e = { .status = fault->status,
                                    .code = cay_rest_status_code(fault->status),
                                    .message = fault->text };

        return cay_rest_error_put(body, &e) < 0 ? NULL : CAY_REST_JSON;
}

/* The same words whatever was wrong with a token. */
static void refuse_unknown(struct cay_http_request *req, const struct cay_visitor *v)
{
        cay_http_response_add(req, "WWW-Authenticate", "Bearer");
        cay_rest_refuse(req, 401,
                        "a valid token is needed: Authorization: Bearer TOKEN (`cay token` prints one)",
                        v->request_id);
}

static void refuse_route(struct cay_http_request *req, const struct cay_route_match *m,
                         const struct cay_visitor *v)
{
        char allow[CAY_ROUTE_ALLOW_MAX];

        if (m->allowed == 0) {
                cay_rest_refuse(req, 404, "there is nothing at this path; / lists what there is",
                                v->request_id);
                return;
        }
        cay_route_allow(m->allowed, allow);
        cay_http_response_add(req, "Allow", allow);
        cay_rest_refuse(req, 405, "this path does not know that method; Allow says which it knows",
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
                cay_rest_refuse(req, 403, "pages of this origin may not call: see allow_origins",
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
        cay_http_response_send(req, 204, NULL, NULL, 0);
}

static void answer_page(struct cay_rest *r, struct cay_http_request *req, const struct page *page)
{
        const struct cay_buf *body = &r->pages[page - pages];

        cay_http_response_add(req, "Cache-Control", "no-cache");
        cay_http_response_send(req, 200, page->type, cay_buf_data(body), body->len);
}

/* Fields of the request that stand for fields of the op */

static int set_if_known(struct cay_rest_args *a, const char *name, const char *value, struct cay_error *err)
{
        if (!value || !cay_rest_args_has(a, name))
                return 0;
        return cay_rest_args_set(a, name, strlen(name), value, err);
}

/* "bytes=A-B" or "bytes=A-"; other forms (several, from the end) are answered with the whole, as RFC 9110 lets us. */
static int set_range(struct cay_rest_args *a, const char *value, struct cay_error *err)
{
        char text[48], length[24];
        uint64_t from, to;
        char *dash;

        if (!value || strncmp(value, "bytes=", 6) != 0 || strlen(value) >= sizeof(text) ||
            !cay_rest_args_has(a, "offset") || !cay_rest_args_has(a, "length"))
                return 0;
        snprintf(text, sizeof(text), "%s", value + 6);
        dash = strchr(text, '-');
        if (!dash || dash == text)
                return 0;
        *dash = '\0';
        if (cay_parse_u64(text, &from) < 0)
                return 0;
        if (dash[1] != '\0') {
                if (cay_parse_u64(dash + 1, &to) < 0 || to < from)
                        return 0;
                snprintf(length, sizeof(length), "%" PRIu64, to - from + 1);
                if (cay_rest_args_set(a, "length", 6, length, err) < 0)
                        return -1;
        }
        return cay_rest_args_set(a, "offset", 6, text, err);
}

static bool accepts(const struct cay_http_request *req, const char *type)
{
        const char *accept = cay_http_request_header(req, "Accept");

        return accept && strstr(accept, type) != NULL;
}

static int fill(struct cay_rest_call *rc, const struct cay_route_match *m, struct cay_error *err)
{
        struct cay_http_request *req = rc->req;

        rc->is_sse = accepts(req, "text/event-stream");
        rc->call.wants_stream = rc->is_sse || accepts(req, "application/x-ndjson");
        if (cay_rest_args_path(&rc->args, m, err) < 0 ||
            cay_rest_args_query(&rc->args, req->target.query, err) < 0 ||
            set_if_known(&rc->args, "execution_id", cay_http_request_header(req, "Idempotency-Key"), err) <
                    0 ||
            set_if_known(&rc->args, "from", cay_http_request_header(req, "Last-Event-ID"), err) < 0)
                return -1;
        if (req->method == CAY_HTTP_GET || req->method == CAY_HTTP_HEAD)
                return set_range(&rc->args, cay_http_request_header(req, "Range"), err);
        return 0;
}

static void call_op(struct cay_rest *r, const struct cay_op *op, const struct cay_route_match *m,
                    struct cay_http_request *req, const struct cay_visitor *v)
{
        struct cay_rest_call *rc = cay_rest_call_new(op, r->world, req, v);
        struct cay_error err = { 0 };

        if (!rc)
                cay_rest_refuse(req, 503, "no memory for this request", v->request_id);
        else if (cay_op_check_scope(op, &v->caller, &err) < 0)
                cay_rest_call_fail(rc, &err, NULL);
        else if (fill(rc, m, &err) < 0)
                cay_rest_call_fail(rc, &err, rc->args.field);
        else
                cay_rest_call_begin(rc);
}

void cay_rest_handle(struct cay_rest *r, struct cay_http_request *req, const struct cay_visitor *v)
{
        struct cay_route_match m;
        bool found = cay_router_find(r->router, req->method, &req->target, &m);
        const struct target *t = found ? m.route->owner : NULL;

        if (t && t->is_proxy) {
                if (v->is_known && !(v->origin && !v->origin_is_fine && req->upgrade))
                        cay_rest_proxy(r->world, req, &m, v);
                else if (v->is_known)
                        cay_rest_refuse(req, 403, "pages of this origin may not call: see allow_origins",
                                        v->request_id);
                else
                        refuse_unknown(req, v);
                return;
        }
        cay_http_response_add(req, "Content-Security-Policy", own_policy);
        if (req->method == CAY_HTTP_OPTIONS)
                answer_options(r, req, v);
        else if (!found)
                refuse_route(req, &m, v);
        else if (t->page)
                answer_page(r, req, t->page);
        else if (v->was_refused || (!v->is_known && !(t->op->flags & CAY_OP_OPEN)))
                refuse_unknown(req, v);
        else
                call_op(r, t->op, &m, req, v);
}
