/* SPDX-License-Identifier: Apache-2.0 */
/* The reverse proxy to ports inside sandboxes. */
#include "dialects/rest/rest_proxy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "foundation/base/parse.h"
#include "domain/settings/config.h"
#include "dialects/rest/port_duplex.h"
#include "dialects/rest/proxy_fields.h"
#include "dialects/rest/rest.h"
#include "dialects/rest/rest_error.h"
#include "dialects/rest/rest_location.h"
#include "foundation/http/client.h"
#include "foundation/http/splice.h"

#define FIELDS_MAX (64u * 1024)
#define ANSWER_MS 120000u

struct proxy {
        struct cay_http_client client;
        struct cay_deferred release;
        const struct cay_op_world *world;
        struct cay_http_request *req; /* NULL: ended */
        struct cay_guard guard;       /* of a stream of events */
        char request_id[CAY_GATE_ID + 1];
        struct cay_error why; /* the port's end, if the sandbox gave a reason */
        size_t prefix;        /* by path: how much of it is ours */
        uint16_t port;
        bool begun;    /* the answer's head is out */
        bool own_host; /* asked for by host name */
};

int cay_proxy_parse_port(const char *text, uint16_t *ret)
{
        uint64_t port;

        if (text[0] == '0' || strlen(text) > 5 || strspn(text, "0123456789") != strlen(text) ||
            cay_parse_u64(text, &port) < 0 || port > UINT16_MAX)
                return -EINVAL;
        *ret = (uint16_t)port;
        return 0;
}

/*
 * At a host of its own, a server may say what its pages and workers may do there. Not Clear-Site-Data: its
 * "cookies" reaches to the registrable domain, which is ours as well.
 */
static bool is_own(const char *field)
{
        return strcasecmp(field, "Content-Security-Policy") == 0 ||
               strcasecmp(field, "Service-Worker-Allowed") == 0;
}

static void release_proxy(struct cay_deferred *d)
{
        free(cay_container_of(d, struct proxy, release));
}

/* The request is returned, to be ended. */
static struct cay_http_request *finish(struct proxy *p)
{
        struct cay_http_request *req = cay_take(p->req);

        cay_guard_end(&p->guard);
        req->handler = NULL;
        p->release.run = release_proxy;
        cay_loop_defer(p->world->loop, &p->release);
        return req;
}

static struct proxy *of_client(struct cay_http_client *c)
{
        return cay_container_of(c, struct proxy, client);
}

/* From the client to the port */

static size_t on_req_body(struct cay_http_request *req, const void *bytes, size_t len)
{
        struct proxy *p = req->user;

        return cay_http_client_write(&p->client, bytes, len);
}

static void on_req_body_end(struct cay_http_request *req)
{
        struct proxy *p = req->user;

        cay_http_client_write_end(&p->client);
}

static void on_req_drain(struct cay_http_request *req)
{
        struct proxy *p = req->user;

        cay_http_client_resume(&p->client);
}

static void on_req_gone(struct cay_http_request *req, enum cay_http_gone how)
{
        struct proxy *p = req->user;

        if (how == CAY_HTTP_GONE_HALF)
                return;
        cay_http_client_abort(&p->client);
        cay_http_response_abort(finish(p));
}

static const struct cay_http_handler handler = {
        .on_body = on_req_body,
        .on_body_end = on_req_body_end,
        .on_drain = on_req_drain,
        .on_gone = on_req_gone,
};

/* From the port to the client */

static bool answer_passes(const struct proxy *p, const char *name, const char *value)
{
        if (strcasecmp(name, "Content-Type") == 0)
                return false; /* it has a place of its own */
        if (p->own_host && strcasecmp(name, "Set-Cookie") == 0)
                return cay_proxy_cookie_stays(value);
        return cay_proxy_passes(name, true) || (p->own_host && is_own(name));
}

/*
 * By path the server's own addresses are below our prefix. One that is too long to be rewritten is left
 * out.
 */
static void copy_location(struct proxy *p, const char *name, const char *value)
{
        const char *path = p->req->target.path;
        const struct cay_proxy_place place = {
                .prefix = path,
                .prefix_len = p->prefix,
                .path = path + p->prefix,
                .host = cay_http_request_header(p->req, "Host"),
                .port = p->port,
        };
        cay_auto_buf struct cay_buf text = { 0 };

        cay_buf_init(&text, FIELDS_MAX);
        if (cay_location_put(&text, &place, name, value) == 0)
                cay_http_response_add(p->req, name, cay_buf_data(&text));
}

static void copy_answer_fields(struct proxy *p)
{
        for (unsigned i = 0; i < p->client.head.line_count; i++) {
                const char *name, *value;

                cay_http_client_header_at(&p->client, i, &name, &value);
                if (!answer_passes(p, name, value))
                        continue;
                if (!p->own_host && cay_location_is_in(name))
                        copy_location(p, name, value);
                else
                        cay_http_response_add(p->req, name, value); /* what is no field is left out */
        }
        if (!p->own_host)
                cay_http_response_add(
                        p->req, "Content-Security-Policy",
                        "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts");
}

/* The client must be disconnected: cut the stream, since its content is the sandbox's. */
static void on_over(struct cay_guard *g, const char *why)
{
        struct proxy *p = cay_container_of(g, struct proxy, guard);

        (void)why;
        cay_http_client_abort(&p->client);
        cay_http_response_abort(finish(p));
}

/* A body without an announced length may be endless, whatever its type. */
static void guard(struct proxy *p)
{
        if (!p->guard.back)
                cay_guard_begin(&p->guard, on_over);
}

static void on_response(struct cay_http_client *c)
{
        struct proxy *p = of_client(c);
        /* HEAD says of the body that there would be how long it is, if the server knows. */
        bool has_length = p->req->method == CAY_HTTP_HEAD
                                  ? cay_http_client_header(c, "Content-Length") != NULL
                                  : c->head.framing == CAY_HTTP_LENGTH;
        uint64_t length = has_length                            ? c->head.length
                          : p->req->method == CAY_HTTP_HEAD     ? CAY_HTTP_NO_LENGTH
                          : c->head.framing == CAY_HTTP_NO_BODY ? 0
                                                                : CAY_HTTP_NO_LENGTH;

        copy_answer_fields(p);
        p->begun = true;
        if (length == CAY_HTTP_NO_LENGTH)
                guard(p);
        cay_http_response_begin(p->req, c->head.status, cay_http_client_header(c, "Content-Type"), length);
}

static size_t on_body(struct cay_http_client *c, const void *bytes, size_t len)
{
        struct proxy *p = of_client(c);

        if (cay_http_response_queued(p->req) >= CAY_OP_HIGH)
                return 0; /* on_req_drain goes on */
        return cay_http_response_write(p->req, bytes, len) < 0 ? 0 : len;
}

static void on_end(struct cay_http_client *c)
{
        cay_http_response_end(finish(of_client(c)));
}

static void on_room(struct cay_http_client *c)
{
        cay_http_request_resume(of_client(c)->req);
}

static void on_fail(struct cay_http_client *c, const struct cay_http_fault *fault)
{
        struct proxy *p = of_client(c);
        struct cay_error why = p->why;
        char id[CAY_GATE_ID + 1];

        memcpy(id, p->request_id, sizeof(id));
        if (p->begun)
                cay_http_response_abort(finish(p));
        else if (why.code == CAY_LIMIT) /* somebody may well answer there: we have not asked */
                cay_rest_refuse(finish(p), cay_rest_status(why.code), why.msg, id);
        else
                cay_rest_refuse(finish(p), fault->status == 504 ? 504 : 502,
                                "nothing answers at this port of the sandbox, or it does not speak HTTP", id);
}

/* An upgraded connection: both ends joined until they have ended. */
struct tunnel {
        struct cay_splice splice;
        struct cay_guard guard;
        struct cay_deferred release;
        struct cay_loop *loop;
};

static void release_tunnel(struct cay_deferred *d)
{
        free(cay_container_of(d, struct tunnel, release));
}

static void on_tunnel_done(struct cay_splice *s)
{
        struct tunnel *t = cay_container_of(s, struct tunnel, splice);

        cay_guard_end(&t->guard);
        t->release.run = release_tunnel;
        cay_loop_defer(t->loop, &t->release);
}

static void on_tunnel_over(struct cay_guard *g, const char *why)
{
        struct tunnel *t = cay_container_of(g, struct tunnel, guard);

        (void)why;
        cay_splice_abort(&t->splice);
        on_tunnel_done(&t->splice);
}

/* first: what the inside has said already, owed to it. */
static void join_take(struct cay_loop *loop, const struct cay_pass *pass, struct cay_duplex *outside,
                      struct cay_duplex *inside, struct cay_buf *first)
{
        struct tunnel *t = outside ? calloc(1, sizeof(*t)) : NULL;

        if (t) {
                t->loop = loop;
                t->guard.pass = *pass;
                cay_guard_begin(&t->guard, on_tunnel_over);
                cay_splice_begin(&t->splice, outside, inside, on_tunnel_done);
                cay_splice_say(&t->splice, &t->splice.b, cay_buf_data(first), first->len);
        } else {
                if (outside)
                        cay_duplex_close(outside);
                cay_duplex_close(inside);
        }
        cay_buf_done(first);
}

static void on_upgraded(struct cay_http_client *c)
{
        struct proxy *p = of_client(c);
        struct cay_buf first;
        struct cay_duplex *inside, *outside;
        char protocol[64];
        const char *name = cay_http_client_header(c, "Upgrade");

        snprintf(protocol, sizeof(protocol), "%s", name ? name : "websocket");
        copy_answer_fields(p);
        inside = cay_http_client_take_duplex(c, &first);
        cay_port_duplex_forget(inside);
        outside = cay_http_response_upgrade(finish(p), protocol);
        join_take(p->world->loop, &p->guard.pass, outside, inside, &first);
}

static const struct cay_http_client_ops ops = {
        .on_response = on_response,
        .on_body = on_body,
        .on_end = on_end,
        .on_upgraded = on_upgraded,
        .on_room = on_room,
        .on_fail = on_fail,
};

/* The request, rewritten */

static int put_cookie_field(struct cay_buf *out, const char *value)
{
        size_t before = out->len;
        int r = cay_buf_puts(out, "Cookie: ");

        if (r == 0)
                r = cay_proxy_put_cookies(out, value);
        if (r > 0)
                cay_buf_cut(out, before); /* what comes behind must not become its value */
        return r != 0 ? (r < 0 ? r : 0) : cay_buf_puts(out, "\r\n");
}

static int put_fields(struct cay_buf *out, const struct proxy *p)
{
        const struct cay_http_request *req = p->req;
        const char *host = cay_http_request_header(req, "Host");
        int r = cay_buf_printf(out, "Host: localhost:%u\r\nX-Forwarded-Proto: %s\r\n", (unsigned)p->port,
                               req->peer.is_tls ? "https" : "http");

        if (p->own_host && host && r == 0)
                r = cay_buf_printf(out, "X-Forwarded-Host: %s\r\n", host);
        if (!p->own_host && r == 0) /* for servers that write their addresses by it */
                r = cay_buf_printf(out, "X-Forwarded-Prefix: %.*s\r\n", (int)p->prefix, req->target.path);
        for (unsigned i = 0; i < req->line_count && r == 0; i++) {
                const char *name, *value;

                cay_http_request_header_at(req, i, &name, &value);
                if (cay_proxy_passes(name, false))
                        r = cay_gate_put_field(out, req, name, value); /* without a secret of ours */
                else if (p->own_host && strcasecmp(name, "Cookie") == 0)
                        r = put_cookie_field(out, value);
        }
        return r;
}

static int begin(struct proxy *p, struct cay_duplex *duplex)
{
        cay_auto_buf struct cay_buf fields = { 0 };
        struct cay_http_request *req = p->req;
        const char *path = req->target.path + p->prefix;
        struct cay_http_client_request out = {
                .method = req->method,
                .target = path[0] ? path : "/",
                .query = req->target.query,
                .upgrade = req->upgrade ? cay_http_request_header(req, "Upgrade") : NULL,
                .framing = !req->has_body                          ? CAY_HTTP_NO_BODY
                           : req->body_bytes == CAY_HTTP_NO_LENGTH ? CAY_HTTP_CHUNKED
                                                                   : CAY_HTTP_LENGTH,
                .length = req->has_body && req->body_bytes != CAY_HTTP_NO_LENGTH ? req->body_bytes : 0,
                .answer_ms = ANSWER_MS,
        };

        cay_buf_init(&fields, FIELDS_MAX);
        if (put_fields(&fields, p) < 0) {
                cay_duplex_close(duplex);
                return -ENOSPC;
        }
        out.fields = cay_buf_data(&fields);
        return cay_http_client_begin(&p->client, duplex, p->world->loop, &out, &ops);
}

static void start(struct proxy *p, struct cay_duplex *duplex)
{
        struct cay_http_request *req = p->req;

        req->handler = &handler;
        req->user = p;
        if (begin(p, duplex) < 0) {
                cay_rest_refuse(finish(p), 431, "the request is too large to be forwarded", p->request_id);
                return;
        }
        if (req->has_body && cay_http_request_read(req, p->world->config->max_body, 0) < 0) {
                cay_http_client_abort(&p->client);
                cay_rest_refuse(finish(p), 413, "the body is larger than max_body; send less", p->request_id);
        } else if (!req->has_body) {
                cay_http_client_write_end(&p->client);
        } else if (req->body_bytes == CAY_HTTP_NO_LENGTH) {
                guard(p);
        }
}

/* The port and the request, or NULL: refused. */
static struct proxy *open_port(const struct cay_op_world *world, struct cay_http_request *req,
                               const struct cay_visitor *v, const char *sandbox, uint16_t port,
                               struct cay_duplex **ret_duplex)
{
        struct cay_viewer viewer = { .owner = v->caller.owner,
                                     .sees_all = cay_scope_has(v->caller.scopes, CAY_SCOPE_ADMIN) };
        struct proxy *p = calloc(1, sizeof(*p));
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };

        *ret_duplex = NULL;
        if (!p)
                cay_fail(&err, CAY_UNAVAILABLE, "no memory for this request");
        else if (!cay_scope_has(v->caller.scopes, CAY_SCOPE_EXEC))
                cay_fail_because(&err, CAY_DENIED, CAY_REASON_SCOPE, "ports need the scope exec");
        else if (port == 0)
                cay_fail(&err, CAY_INVALID, "port: must be a number from 1 to 65535");
        else if (cay_service_get(world->service, &viewer, sandbox, &view, &err) == 0)
                *ret_duplex = cay_port_duplex_open(world->loop, world->service, &viewer, view.id, port,
                                                   &p->why, &err);
        if (!*ret_duplex) {
                cay_rest_refuse_field(req, cay_rest_status(err.code), err.msg,
                                      err.code == CAY_INVALID     ? "port"
                                      : err.code == CAY_NOT_FOUND ? "id"
                                                                  : NULL,
                                      v->request_id);
                free(p);
                return NULL;
        }
        p->world = world;
        p->req = req;
        p->port = port;
        memcpy(p->request_id, v->request_id, sizeof(p->request_id));
        p->guard.pass = v->pass;
        return p;
}

/* Without the slash the page's own relative addresses would be beside the port, not below it. */
static void add_slash(struct cay_http_request *req, const struct cay_visitor *v)
{
        const char *query = req->target.query;
        cay_auto_buf struct cay_buf to = { 0 };

        cay_buf_init(&to, FIELDS_MAX);
        if (cay_buf_printf(&to, "%s/%s%s", req->target.path, query ? "?" : "", query ? query : "") < 0) {
                cay_rest_refuse(req, 414, "the path is too long", v->request_id);
                return;
        }
        cay_http_response_add(req, "Location", cay_buf_data(&to));
        cay_http_response_send(req, 308, NULL, NULL, 0);
}

void cay_rest_proxy(const struct cay_op_world *world, struct cay_http_request *req,
                    const struct cay_route_match *m, const struct cay_visitor *v)
{
        const char *rest = cay_route_value(m, "rest"); /* points into the path */
        struct cay_duplex *duplex;
        struct proxy *p;
        uint16_t port = 0;

        cay_proxy_parse_port(cay_route_value(m, "port"), &port); /* 0: none, which is refused */
        if (!rest && port > 0 && !req->upgrade) {
                add_slash(req, v);
                return;
        }
        p = open_port(world, req, v, cay_route_value(m, "id"), port, &duplex);
        if (!p)
                return;
        p->prefix = rest ? (size_t)(rest - 1 - req->target.path) : strlen(req->target.path);
        start(p, duplex);
}

/* The token of the cookie that replaces the link by which this caller was let in. */
static int make_cookie(const struct cay_op_world *world, const struct cay_visitor *v,
                       char token[CAY_OP_TOKEN_MAX])
{
        struct cay_error err = { 0 };
        uint64_t expires_s;

        return world->make_link(world, v->caller.owner, v->port.label,
                                v->caller.credential == CAY_CREDENTIAL_KEY ? v->caller.id : NULL,
                                CAY_PORT_COOKIE_MS, token, &expires_s, &err);
}

/*
 * The link has been used: a cookie replaces it, and it disappears from the address bar. Who came another way,
 * or as a stranger to a port that is public, gets no cookie for a link that may be no link.
 */
static void exchange_link(const struct cay_op_world *world, struct cay_http_request *req,
                          const struct cay_visitor *v)
{
        cay_auto_buf struct cay_buf to = { 0 };
        char token[CAY_OP_TOKEN_MAX] = "";

        cay_buf_init(&to, FIELDS_MAX);
        /* Two slashes in front would name another host. */
        if (req->target.path[1] == '/' ||
            cay_proxy_put_unlinked(&to, req->target.path, req->target.query) < 0 ||
            (v->by_link && make_cookie(world, v, token) < 0)) {
                cay_rest_refuse(req, 400, "this link cannot be followed", v->request_id);
                return;
        }
        if (v->by_link)
                cay_port_cookie_give(req, token);
        cay_http_response_add(req, "Location", cay_buf_data(&to));
        cay_http_response_send(req, 303, NULL, NULL, 0);
        explicit_bzero(token, sizeof(token));
}

void cay_rest_proxy_host(const struct cay_op_world *world, struct cay_http_request *req,
                         const struct cay_visitor *v)
{
        struct cay_duplex *duplex;
        struct proxy *p;

        if (v->by_link || cay_proxy_has_link(req->target.query)) {
                if (req->method == CAY_HTTP_GET && !req->upgrade)
                        exchange_link(world, req, v);
                else
                        cay_rest_refuse(req, 400, "a link supports only GET", v->request_id);
                return;
        }
        p = open_port(world, req, v, v->port.sandbox, v->port.port, &duplex);
        if (!p)
                return;
        p->own_host = true;
        start(p, duplex);
}
