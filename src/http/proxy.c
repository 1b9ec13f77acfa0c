/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reverse proxy. One struct per request, in one of these phases: the request goes out and its answer comes back (client and
 * req are both there), or a splice after an upgrade. It frees itself at the end of the round in which it is over.
 */
#include "http/proxy.h"

#include <errno.h>
#include <strings.h>

#include "http/chars.h"
#include "http/conn.h"

struct proxy {
        struct cay_http_client client;
        struct cay_http_request *req; /* owned: ended exactly once; NULL: it was */
        struct cay_splice splice;
        struct cay_loop *loop;
        struct cay_http_proxy_options options;
        struct cay_deferred release;
        unsigned status;
        uint64_t bytes;
};

static void release(struct cay_deferred *d)
{
        free(cay_container_of(d, struct proxy, release));
}

static void over(struct proxy *p)
{
        cay_http_client_abort(&p->client);
        p->release.run = release;
        cay_loop_defer(p->loop, &p->release);
        if (p->options.on_done)
                p->options.on_done(p->options.user, p->status, p->bytes);
}

/* Fields */

/* RFC 9110, 7.6.1, and those that we write ourselves. */
static bool is_hop_by_hop(const char *name)
{
        static const char *const names[] = {
                "connection",
                "keep-alive",
                "proxy-connection",
                "proxy-authenticate",
                "proxy-authorization",
                "te",
                "trailer",
                "transfer-encoding",
                "upgrade",
                "content-length",
                "expect",
                "http2-settings",
        };

        for (size_t i = 0; i < CAY_COUNT(names); i++) {
                if (cay_http_same_name(name, strlen(name), names[i]))
                        return true;
        }
        return false;
}

static bool is_listed(const char *const *list, const char *name)
{
        for (; list && *list; list++) {
                if (cay_http_same_name(name, strlen(name), *list))
                        return true;
        }
        return false;
}

static bool is_forwarded(const char *name)
{
        return strncasecmp(name, "x-forwarded-", 12) == 0 ||
               cay_http_same_name(name, strlen(name), "forwarded") ||
               cay_http_same_name(name, strlen(name), "x-real-ip");
}

/* Does one of the request's Connection fields name it? */
static bool is_named_by_connection(const struct cay_http_request *req, const char *field)
{
        for (unsigned i = 0; i < req->line_count; i++) {
                const char *name, *value;

                cay_http_request_header_at(req, i, &name, &value);
                if (cay_http_same_name(name, strlen(name), "connection") &&
                    cay_http_list_has(value, strlen(value), field))
                        return true;
        }
        return false;
}

static bool goes_out(const struct proxy *p, const char *name)
{
        return !is_hop_by_hop(name) && !is_forwarded(name) && !is_listed(p->options.strip, name) &&
               !cay_http_same_name(name, strlen(name), "host") && !is_named_by_connection(p->req, name);
}

static int put_line(struct cay_buf *b, const char *name, const char *value)
{
        int r = cay_buf_puts(b, name);

        if (r == 0)
                r = cay_buf_put(b, ": ", 2);
        if (r == 0)
                r = cay_buf_puts(b, value);
        return r == 0 ? cay_buf_put(b, "\r\n", 2) : r;
}

static int put_fields(const struct proxy *p, struct cay_buf *b)
{
        const struct cay_http_request *req = p->req;
        const char *host = cay_http_request_header(req, "host");
        int r = put_line(b, "Host", p->options.host ? p->options.host : host ? host : "localhost");

        for (unsigned i = 0; r == 0 && i < req->line_count; i++) {
                const char *name, *value;

                cay_http_request_header_at(req, i, &name, &value);
                if (goes_out(p, name))
                        r = put_line(b, name, value);
        }
        if (r == 0 && req->peer.address[0])
                r = put_line(b, "X-Forwarded-For", req->peer.address);
        if (r == 0 && host)
                r = put_line(b, "X-Forwarded-Host", host);
        return r == 0 ? put_line(b, "X-Forwarded-Proto", req->peer.is_tls ? "https" : "http") : r;
}

/* The client's side */

static size_t on_req_body(struct cay_http_request *req, const void *bytes, size_t len)
{
        struct proxy *p = req->user;

        return cay_http_client_write(&p->client, bytes, len);
}

static void on_req_end(struct cay_http_request *req)
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

        cay_http_response_abort(cay_take(p->req));
        over(p);
}

static const struct cay_http_handler req_handler = {
        .on_body = on_req_body,
        .on_body_end = on_req_end,
        .on_drain = on_req_drain,
        .on_gone = on_req_gone,
};

/* The answer's side */

static bool comes_back(const struct proxy *p, const char *name, const char *connection)
{
        if (is_hop_by_hop(name) || is_listed(p->options.strip_answer, name))
                return false;
        for (const char *const *add = p->options.add_answer; add && add[0]; add += 2) {
                if (cay_http_same_name(name, strlen(name), add[0]))
                        return false;
        }
        return !connection || !cay_http_list_has(connection, strlen(connection), name);
}

static void copy_answer_fields(struct proxy *p)
{
        const char *connection = cay_http_client_header(&p->client, "connection");

        for (unsigned i = 0; i < p->client.head.line_count; i++) {
                const char *name, *value;

                cay_http_client_header_at(&p->client, i, &name, &value);
                if (comes_back(p, name, connection))
                        cay_http_response_add(p->req, name, value); /* refuses Date, which we say ourselves */
        }
        for (const char *const *add = p->options.add_answer; add && add[0]; add += 2)
                cay_http_response_add(p->req, add[0], add[1]);
}

static uint64_t answer_length(const struct proxy *p)
{
        const struct cay_http_head *h = &p->client.head;

        if (h->framing == CAY_HTTP_LENGTH)
                return h->length;
        /* HEAD: the length that GET would have, if it says one. */
        if (h->framing == CAY_HTTP_NO_BODY && cay_http_client_header(&p->client, "content-length"))
                return h->length;
        return CAY_HTTP_NO_LENGTH;
}

static void on_response(struct cay_http_client *c)
{
        struct proxy *p = cay_container_of(c, struct proxy, client);

        p->status = c->head.status;
        copy_answer_fields(p);
        if (cay_http_response_begin(p->req, c->head.status, NULL, answer_length(p)) < 0) {
                cay_http_response_abort(cay_take(p->req));
                over(p);
        }
}

static size_t on_body(struct cay_http_client *c, const void *bytes, size_t len)
{
        struct proxy *p = cay_container_of(c, struct proxy, client);

        if (cay_http_response_queued(p->req) >= CAY_CONN_HIGH)
                return 0; /* on_req_drain goes on */
        if (cay_http_response_write(p->req, bytes, len) < 0) {
                cay_http_response_abort(cay_take(p->req));
                over(p);
                return 0;
        }
        p->bytes += len;
        return len;
}

static void on_end(struct cay_http_client *c)
{
        struct proxy *p = cay_container_of(c, struct proxy, client);

        cay_http_response_end(cay_take(p->req));
        over(p);
}

static void on_room(struct cay_http_client *c)
{
        cay_http_request_resume(cay_container_of(c, struct proxy, client)->req);
}

static void on_fail(struct cay_http_client *c, const struct cay_http_fault *fault)
{
        struct proxy *p = cay_container_of(c, struct proxy, client);
        struct cay_http_request *req = cay_take(p->req);

        if (p->status) {
                cay_http_response_abort(req); /* half an answer is out: the client must notice */
        } else {
                req->handler = NULL;
                p->options.fail(req, fault);
        }
        over(p);
}

static void on_splice_done(struct cay_splice *s)
{
        struct proxy *p = cay_container_of(s, struct proxy, splice);

        p->bytes = s->bytes;
        over(p);
}

static void on_upgraded(struct cay_http_client *c)
{
        struct proxy *p = cay_container_of(c, struct proxy, client);
        const char *protocol = cay_http_client_header(c, "upgrade");
        struct cay_duplex *down, *up;
        cay_auto_buf struct cay_buf rest = { 0 };

        p->status = 101;
        copy_answer_fields(p);
        down = cay_http_response_upgrade(cay_take(p->req), protocol);
        up = cay_http_client_take_duplex(c, &rest);
        if (!down) {
                cay_duplex_close(up);
                over(p);
                return;
        }
        cay_splice_begin(&p->splice, down, up, on_splice_done);
        cay_splice_say(&p->splice, &p->splice.b, cay_buf_data(&rest), rest.len);
}

static const struct cay_http_client_ops client_ops = {
        .on_response = on_response,
        .on_body = on_body,
        .on_end = on_end,
        .on_upgraded = on_upgraded,
        .on_room = on_room,
        .on_fail = on_fail,
};

/* Beginning */

static int begin(struct proxy *p, struct cay_duplex *upstream)
{
        struct cay_http_request *req = p->req;
        cay_auto_buf struct cay_buf fields = { 0 };
        struct cay_http_client_request ask = {
                .method = req->method,
                .target = p->options.path,
                .query = req->target.query,
                .upgrade = req->upgrade ? cay_http_request_header(req, "upgrade") : NULL,
                .answer_ms = p->options.answer_ms,
        };

        if (req->has_body) {
                ask.framing = req->body_bytes == CAY_HTTP_NO_LENGTH ? CAY_HTTP_CHUNKED : CAY_HTTP_LENGTH;
                ask.length = req->body_bytes;
        }
        cay_buf_init(&fields, CAY_HTTP_HEAD_MAX * 2);
        if (put_fields(p, &fields) < 0) {
                cay_duplex_close(upstream);
                return -ENOMEM;
        }
        ask.fields = cay_buf_data(&fields);
        return cay_http_client_begin(&p->client, upstream, p->loop, &ask, &client_ops);
}

void cay_http_proxy(struct cay_http_request *req, struct cay_duplex *upstream, struct cay_loop *loop,
                    const struct cay_http_proxy_options *options)
{
        static const struct cay_http_fault no_memory = { 503, "no memory for the request" };
        static const struct cay_http_fault too_big = { 413,
                                                       "the body is larger than this request may bring" };
        struct proxy *p = calloc(1, sizeof(*p));

        req->handler = NULL;
        if (!p) {
                cay_duplex_close(upstream);
                options->fail(req, &no_memory);
                return;
        }
        p->req = req;
        p->loop = loop;
        p->options = *options;
        if (begin(p, upstream) < 0) {
                options->fail(cay_take(p->req), &no_memory);
                over(p);
                return;
        }
        req->user = p;
        req->handler = &req_handler;
        if (req->has_body && cay_http_request_read(req, options->body_max, CAY_HTTP_PATIENT) < 0) {
                req->handler = NULL;
                options->fail(cay_take(p->req), &too_big);
                over(p);
        }
}
