/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests: one block of memory each, allocated when the head is valid and freed with the answer. It holds
 * the struct, the offsets of the fields, the head's bytes (with NULs after each name and value), the decoded
 * path and the host.
 */
#include "foundation/http/request.h"

#include <assert.h>
#include <errno.h>

#include "foundation/http/chars.h"
#include "foundation/http/http1.h"

enum { FIELDS_MAX = 128 * 1024 /* a whole head of another server fits */ };

static void end_strings(struct cay_http_request *req)
{
        for (unsigned i = 0; i < req->line_count; i++) {
                const struct cay_http_line *line = &req->lines[i];

                req->head[line->name + line->name_len] = '\0';   /* the colon */
                req->head[line->value + line->value_len] = '\0'; /* a blank or the CR */
        }
}

static int split_host(struct cay_http_request *req, const struct cay_http_head *head, char *room,
                      struct cay_http_fault *ret_fault)
{
        req->host = room;
        room[0] = '\0';
        if (head->host == 0) /* HTTP/1.0 without one */
                return 0;
        if (cay_http_host_split(req->head + head->host, head->host_len, room, &req->port) < 0) {
                *ret_fault = (struct cay_http_fault){ 400, "the Host field is not a host name or address" };
                return -1;
        }
        return 0;
}

static void copy_head(struct cay_http_request *req, const struct cay_http_head *head)
{
        req->method = head->method;
        req->minor = head->minor;
        req->has_body = head->framing != CAY_HTTP_NO_BODY;
        req->body_bytes = head->framing == CAY_HTTP_CHUNKED ? CAY_HTTP_NO_LENGTH : head->length;
        req->upgrade = head->upgrade && !req->has_body;
        req->expects = head->expect_continue && req->has_body;
        req->keep_alive = head->keep_alive;
        req->line_count = head->line_count;
        memcpy(req->lines, head->lines, head->line_count * sizeof(head->lines[0]));
}

struct cay_http_request *cay_http_request_new(struct cay_http_conn *c, const struct cay_http_head *head,
                                              const char *bytes, size_t len, struct cay_http_fault *ret_fault)
{
        size_t lines = head->line_count * sizeof(head->lines[0]), target = (size_t)head->target_len + 1;
        size_t host = CAY_HTTP_HOST_MAX + 1;
        struct cay_http_request *req = malloc(sizeof(*req) + lines + len + target + host);
        char *text;

        if (!req) {
                *ret_fault = (struct cay_http_fault){ 503, "no memory for the request", true };
                return NULL;
        }
        memset(req, 0, sizeof(*req));
        req->passed_fd = -1;
        req->head = (char *)req->lines + lines;
        memcpy(req->head, bytes, len);
        copy_head(req, head);
        end_strings(req);
        text = req->head + head->target;
        text[head->target_len] = '\0';
        if (cay_http_target_split(&req->target, text, req->head + len, ret_fault) < 0 ||
            split_host(req, head, req->head + len + target, ret_fault) < 0) {
                free(req);
                return NULL;
        }
        req->conn = c;
        req->peer = c->peer;
        req->passed_fd = cay_take_fd(c->conn.passed_fd);
        cay_buf_init(&req->fields, FIELDS_MAX);
        return req;
}

void cay_http_request_free(struct cay_http_request *req)
{
        if (req->passed_fd >= 0)
                close(req->passed_fd);
        cay_buf_done(&req->fields);
        cay_buf_done(&req->body);
        free(req);
}

const char *cay_http_request_header(const struct cay_http_request *req, const char *name)
{
        size_t len = strlen(name);

        for (unsigned i = 0; i < req->line_count; i++) {
                const struct cay_http_line *line = &req->lines[i];

                if (line->name_len == len && cay_http_same_name(req->head + line->name, len, name))
                        return req->head + line->value;
        }
        return NULL;
}

unsigned cay_http_request_header_count(const struct cay_http_request *req, const char *name)
{
        unsigned count = 0;

        for (unsigned i = 0; i < req->line_count; i++)
                count += cay_http_same_name(req->head + req->lines[i].name, req->lines[i].name_len, name);
        return count;
}

void cay_http_request_header_at(const struct cay_http_request *req, unsigned i, const char **ret_name,
                                const char **ret_value)
{
        assert(i < req->line_count);
        *ret_name = req->head + req->lines[i].name;
        *ret_value = req->head + req->lines[i].value;
}

static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";

static int begin_reading(struct cay_http_request *req, uint64_t max)
{
        struct cay_http_conn *c = req->conn;

        assert(!req->reading);
        if (!c)
                return 0; /* client is gone: on_gone was called */
        if (req->body_bytes != CAY_HTTP_NO_LENGTH && req->body_bytes > max)
                return -EFBIG;
        if (max < c->body.max)
                c->body.max = max;
        /*
         * A client that is already sending has not waited for it; one that has its answer needs it no more.
         */
        if (req->expects && c->conn.in.len == 0 && req->answer == CAY_HTTP_UNANSWERED)
                cay_conn_write(&c->conn, go_on, sizeof(go_on) - 1);
        req->expects = false;
        req->reading = true;
        cay_http_conn_read_on(c);
        return 0;
}

int cay_http_request_read(struct cay_http_request *req, uint64_t max, unsigned flags)
{
        req->patient = flags & CAY_HTTP_PATIENT;
        return begin_reading(req, max);
}

bool cay_http_request_own(struct cay_http_request *req, const char *owner)
{
        struct cay_http_conn *c = req->conn;
        const struct cay_budget_owner *before = c ? c->owner : NULL;

        if (!c)
                return true;
        cay_http_conn_own(c, owner);
        if (!owner[0])
                return true;
        cay_http_server_know(c->server, c);
        return c->owner == before || cay_http_server_has_room(c->server, c);
}

int cay_http_request_collect(struct cay_http_request *req, size_t max)
{
        cay_buf_init(&req->body, max);
        if (req->conn && req->conn->owner)
                cay_buf_charge(&req->body, &req->conn->held);
        req->collects = true;
        return begin_reading(req, max);
}

void cay_http_request_resume(struct cay_http_request *req)
{
        req->resumed = !req->held; /* from inside on_body, which is about to stop */
        if (!req->held)
                return;
        req->held = false;
        if (req->conn)
                cay_http_conn_read_on(req->conn);
}
