/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers. The head is built in the connection's queue and sent with the first bytes of the body in one call.
 */
#include <assert.h>
#include <errno.h>

#include "foundation/http/chars.h"
#include "foundation/http/http1.h"
#include "foundation/http/request.h"

enum {
        HEAD_ROOM = 1024, /* upper bound for a head without its fields */
        ERROR_BODY_MAX = 16 * 1024,
};

static const struct {
        unsigned status;
        const char *text;
} texts[] = {
        { 100, "Continue" },
        { 101, "Switching Protocols" },
        { 200, "OK" },
        { 201, "Created" },
        { 202, "Accepted" },
        { 204, "No Content" },
        { 206, "Partial Content" },
        { 301, "Moved Permanently" },
        { 302, "Found" },
        { 303, "See Other" },
        { 304, "Not Modified" },
        { 307, "Temporary Redirect" },
        { 308, "Permanent Redirect" },
        { 400, "Bad Request" },
        { 401, "Unauthorized" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 406, "Not Acceptable" },
        { 408, "Request Timeout" },
        { 409, "Conflict" },
        { 410, "Gone" },
        { 411, "Length Required" },
        { 412, "Precondition Failed" },
        { 413, "Content Too Large" },
        { 414, "URI Too Long" },
        { 415, "Unsupported Media Type" },
        { 416, "Range Not Satisfiable" },
        { 417, "Expectation Failed" },
        { 421, "Misdirected Request" },
        { 422, "Unprocessable Content" },
        { 426, "Upgrade Required" },
        { 428, "Precondition Required" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
        { 499, "Client Closed Request" },
        { 500, "Internal Server Error" },
        { 501, "Not Implemented" },
        { 502, "Bad Gateway" },
        { 503, "Service Unavailable" },
        { 504, "Gateway Timeout" },
        { 505, "HTTP Version Not Supported" },
        { 507, "Insufficient Storage" },
};

const char *cay_http_status_text(unsigned status)
{
        for (size_t i = 0; i < CAY_COUNT(texts); i++) {
                if (texts[i].status == status)
                        return texts[i].text;
        }
        return "";
}

/* The head */

/* Framing fields are written by the library only. */
static bool is_reserved(const char *name)
{
        static const char *const ours[] = { "content-length", "transfer-encoding", "connection", "date" };

        for (size_t i = 0; i < CAY_COUNT(ours); i++) {
                if (cay_http_same_name(name, strlen(name), ours[i]))
                        return true;
        }
        return false;
}

int cay_http_response_add(struct cay_http_request *req, const char *name, const char *value)
{
        size_t name_len = strlen(name), value_len = strlen(value);
        struct cay_buf *b = &req->fields;

        if (!cay_http_is_token(name, name_len) || !cay_http_is_value(value, value_len) || is_reserved(name))
                return -EINVAL;
        if (name_len + value_len + 4 > cay_buf_left(b))
                return -ENOSPC;
        if (!cay_buf_room(b, name_len + value_len + 4))
                return -ENOMEM;
        cay_buf_put(b, name, name_len);
        cay_buf_put(b, ": ", 2);
        cay_buf_put(b, value, value_len);
        cay_buf_put(b, "\r\n", 2);
        return 0;
}

/* Text put together at the end of the connection's queue. */
struct text {
        char *at, *end;
};

static void put(struct text *t, const char *bytes, size_t len)
{
        assert(len <= (size_t)(t->end - t->at));
        memcpy(t->at, bytes, len);
        t->at += len;
}

static void puts_(struct text *t, const char *s)
{
        put(t, s, strlen(s));
}

static void put_number(struct text *t, uint64_t v)
{
        char digits[20];
        unsigned n = sizeof(digits);

        do
                digits[--n] = (char)('0' + v % 10);
        while (v /= 10);
        put(t, digits + n, sizeof(digits) - n);
}

static bool is_bodyless(unsigned status)
{
        return status < 200 || status == 204 || status == 304;
}

static void put_framing(struct text *t, unsigned status, uint64_t length, unsigned minor)
{
        if (is_bodyless(status))
                return;
        if (length != CAY_HTTP_NO_LENGTH) {
                puts_(t, "Content-Length: ");
                put_number(t, length);
                puts_(t, "\r\n");
        } else if (minor > 0) {
                puts_(t, "Transfer-Encoding: chunked\r\n");
        }
}

int cay_http_response_write_head(struct cay_http_conn *c, const struct cay_http_answer_head *h)
{
        const char *date = cay_http_server_date(c->server),
                   *all = cay_http_server_config(c->server)->all_fields;
        const char *type = h->type && cay_http_is_value(h->type, strlen(h->type)) ? h->type : NULL;
        size_t type_len = type ? strlen(type) : 0, all_len = all ? strlen(all) : 0;
        size_t room = 256 + strlen(date) + type_len + h->fields->len + all_len;
        char *start = cay_conn_room(&c->conn, room);
        struct text t = { .at = start, .end = start + room };

        if (!start)
                return -EPIPE;
        cay_http_server_note_answer(c->server, h->status);
        puts_(&t, "HTTP/1.1 ");
        put_number(&t, h->status);
        puts_(&t, " ");
        puts_(&t, cay_http_status_text(h->status));
        puts_(&t, "\r\n");
        puts_(&t, date);
        if (type) { /* a type can never add lines */
                puts_(&t, "Content-Type: ");
                put(&t, type, type_len);
                puts_(&t, "\r\n");
        }
        put(&t, all ? all : "", all_len);
        put(&t, cay_buf_data(h->fields), h->fields->len);
        put_framing(&t, h->status, h->length, h->minor);
        if (h->status != 101 && !h->keep_alive)
                puts_(&t, "Connection: close\r\n");
        puts_(&t, "\r\n");
        cay_conn_put(&c->conn, (size_t)(t.at - start));
        return 0;
}

static int write_head(const struct cay_http_request *req, unsigned status, const char *type, uint64_t length,
                      bool keep_alive)
{
        const struct cay_http_answer_head h = { .fields = &req->fields,
                                                .type = type,
                                                .length = length,
                                                .status = status,
                                                .minor = req->minor,
                                                .keep_alive = keep_alive };

        return cay_http_response_write_head(req->conn, &h);
}

void cay_http_conn_write_error(struct cay_http_conn *c, const struct cay_http_fault *fault, bool is_head,
                               bool keep_alive)
{
        const struct cay_http_server_ops *ops = cay_http_server_config(c->server)->ops;
        cay_auto_buf struct cay_buf body = { 0 }, fields = { 0 };
        struct cay_http_answer_head h = {
                .fields = &fields, .status = fault->status, .minor = 1, .keep_alive = keep_alive
        };

        cay_buf_init(&body, ERROR_BODY_MAX);
        cay_buf_init(&fields, ERROR_BODY_MAX);
        if (ops->make_error)
                h.type = ops->make_error(c->server, fault, &fields, &body);
        h.length = body.len;
        cay_conn_cork(&c->conn);
        if (cay_http_response_write_head(c, &h) == 0 && !is_head)
                cay_conn_write(&c->conn, cay_buf_data(&body), body.len);
        cay_conn_uncork(&c->conn);
}

/* Ending */

/* Frees the request's memory; the connection continues as its state says. */
static void finish(struct cay_http_request *req, bool broken)
{
        struct cay_http_conn *c = req->conn;
        bool keep_alive = req->keep_alive;

        cay_http_request_free(req);
        if (c)
                cay_http_conn_answered(c, keep_alive, broken);
}

/*
 * Keeps the connection only if the next request can be found: a client that never got its 100 may or may not
 * send the announced body.
 */
static bool may_keep_alive(const struct cay_http_request *req)
{
        return req->keep_alive && !req->expects && !cay_http_server_is_stopping(req->conn->server);
}

bool cay_http_response_fits(const struct cay_http_request *req, size_t len)
{
        size_t whole = len + req->fields.len + HEAD_ROOM;
        int r = req->conn ? cay_conn_check(&req->conn->conn, whole) : 0;

        return r != -ENOBUFS && r != -ENOSPC;
}

/* Replaces an answer that does not fit in memory. False: the connection was ended. */
static bool refuse_size(const struct cay_http_request *req)
{
        static const struct cay_http_fault fault = { 503, "no memory is left for an answer of this size: "
                                                          "read the answers that wait, ask for less, or try "
                                                          "again in a moment" };

        cay_http_conn_write_error(req->conn, &fault, false, req->keep_alive);
        return false;
}

void cay_http_response_send(struct cay_http_request *req, unsigned status, const char *type,
                            const void *bytes, size_t len)
{
        struct cay_http_conn *c = req->conn;
        bool broken = true, is_head = req->method == CAY_HTTP_HEAD || is_bodyless(status);

        if (c && req->answer == CAY_HTTP_UNANSWERED) {
                req->keep_alive = may_keep_alive(req);
                cay_conn_cork(&c->conn);
                broken = !is_head && !cay_http_response_fits(req, len)
                                 ? refuse_size(req)
                                 : write_head(req, status, type, len, req->keep_alive) < 0 ||
                                           (!is_head && cay_conn_write(&c->conn, bytes, len) < 0);
        }
        finish(req, broken);
        if (c)
                cay_conn_uncork(&c->conn);
}

int cay_http_response_begin(struct cay_http_request *req, unsigned status, const char *type, uint64_t length)
{
        struct cay_http_conn *c = req->conn;
        int r;

        if (!c || req->answer != CAY_HTTP_UNANSWERED)
                return -EPIPE;
        req->keep_alive = may_keep_alive(req) &&
                          (length != CAY_HTTP_NO_LENGTH || req->minor > 0 || is_bodyless(status));
        cay_conn_cork(&c->conn);
        r = write_head(req, status, type, length, req->keep_alive);
        cay_conn_uncork(&c->conn);
        if (r < 0)
                return r;
        if (req->method == CAY_HTTP_HEAD || is_bodyless(status))
                req->answer = CAY_HTTP_BODYLESS;
        else if (length != CAY_HTTP_NO_LENGTH || req->minor == 0)
                req->answer = CAY_HTTP_PLAIN;
        else
                req->answer = CAY_HTTP_AS_CHUNKS;
        req->answer_left = length;
        return 0;
}

static int write_chunk(struct cay_http_conn *c, const void *bytes, size_t len)
{
        char size[20];
        struct iovec parts[3] = {
                { .iov_base = size, .iov_len = (size_t)snprintf(size, sizeof(size), "%zx\r\n", len) },
                { .iov_base = (void *)bytes, .iov_len = len },
                { .iov_base = "\r\n", .iov_len = 2 },
        };

        return cay_conn_writev(&c->conn, parts, 3);
}

ssize_t cay_http_response_write(struct cay_http_request *req, const void *bytes, size_t len)
{
        struct cay_http_conn *c = req->conn;
        int r = 0;

        if (!c || req->answer == CAY_HTTP_UNANSWERED)
                return -EPIPE;
        if (len > 0 && req->answer == CAY_HTTP_AS_CHUNKS) {
                r = write_chunk(c, bytes, len);
        } else if (len > 0 && req->answer == CAY_HTTP_PLAIN) {
                if (len > req->answer_left)
                        return -EPIPE;
                r = cay_conn_write(&c->conn, bytes, len);
                if (r == 0 && req->answer_left != CAY_HTTP_NO_LENGTH)
                        req->answer_left -= len;
        }
        if (r == -ENOBUFS)
                cay_conn_break(&c->conn, r);
        return r < 0 ? r : (ssize_t)cay_conn_queued(&c->conn);
}

size_t cay_http_response_queued(const struct cay_http_request *req)
{
        return req->conn ? cay_conn_queued(&req->conn->conn) : 0;
}

void cay_http_response_end(struct cay_http_request *req)
{
        struct cay_http_conn *c = req->conn;
        bool broken = true;

        if (c) {
                cay_conn_cork(&c->conn);
                if (req->answer == CAY_HTTP_AS_CHUNKS)
                        broken = cay_conn_write(&c->conn, "0\r\n\r\n", 5) < 0;
                else if (req->answer == CAY_HTTP_PLAIN)
                        broken = req->answer_left != 0 && req->answer_left != CAY_HTTP_NO_LENGTH;
                else
                        broken = req->answer == CAY_HTTP_UNANSWERED;
        }
        finish(req, broken);
        if (c)
                cay_conn_uncork(&c->conn);
}

void cay_http_response_abort(struct cay_http_request *req)
{
        finish(req, true);
}

struct cay_duplex *cay_http_response_upgrade(struct cay_http_request *req, const char *protocol)
{
        struct cay_http_conn *c = req->conn;
        int r;

        if (!c || req->answer != CAY_HTTP_UNANSWERED || !req->upgrade) {
                finish(req, true);
                return NULL;
        }
        r = cay_http_response_add(req, "Upgrade", protocol);
        if (r == 0 && cay_buf_puts(&req->fields, "Connection: Upgrade\r\n") == 0) {
                cay_conn_cork(&c->conn);
                r = write_head(req, 101, NULL, 0, true);
                cay_conn_uncork(&c->conn);
        } else {
                r = -ENOSPC;
        }
        if (r < 0) {
                finish(req, true);
                return NULL;
        }
        cay_http_request_free(req);
        cay_http_conn_upgraded(c);
        return &c->duplex;
}
