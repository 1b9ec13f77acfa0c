/* SPDX-License-Identifier: Apache-2.0 */
/* Sends requests, reads answers. */
#include "cay/client/conn.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "cay/client/connect.h"
#include "foundation/sys/unix_socket.h"

#define HEAD_MAX (64u * 1024)
#define SEND_MS 60000 /* without a byte taken */

void cay_client_conn_init(struct cay_client_conn *c)
{
        c->fd = -1;
        c->helper = 0;
        c->is_chunked = c->answered_early = false;
        c->at = c->have = 0;
        memset(&c->answer, 0, sizeof(c->answer));
}

void cay_client_conn_close(struct cay_client_conn *c)
{
        cay_connect_close(&c->fd, &c->helper);
        cay_answer_done(&c->answer);
}

int cay_client_conn_open(struct cay_client_conn *c, const struct cay_client *client, struct cay_error *err)
{
        return cay_connect(client, &c->fd, &c->helper, err);
}

int cay_client_conn_format(const struct cay_client *client, const struct cay_request *req,
                           struct cay_buf *out)
{
        int r = cay_buf_printf(out, "%s %s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: cay/%s\r\n", req->method,
                               client->url.base, req->target, client->url.authority, CAY_VERSION);

        if (r == 0 && client->token[0] != '\0')
                r = cay_buf_printf(out, "Authorization: Bearer %s\r\n", client->token);
        if (r == 0 && req->type != NULL)
                r = cay_buf_printf(out, "Content-Type: %s\r\n", req->type);
        if (r == 0 && req->type != NULL && req->length == CAY_REQUEST_CHUNKED)
                r = cay_buf_puts(out, "Transfer-Encoding: chunked\r\n");
        else if (r == 0 && (req->type != NULL || strcmp(req->method, "GET") != 0))
                r = cay_buf_printf(out, "Content-Length: %" PRIu64 "\r\n", req->type ? req->length : 0);
        return r == 0 ? cay_buf_puts(out, "\r\n") : r;
}

static int wait_for(struct cay_client_conn *c, short events, int wait_ms)
{
        struct pollfd p = { .fd = c->fd, .events = events };
        int r;

        do {
                r = poll(&p, 1, wait_ms);
        } while (r < 0 && errno == EINTR);
        return r < 0 ? -errno : r == 0 ? -ETIMEDOUT : p.revents;
}

static int lost(int r, const char *what, struct cay_error *err)
{
        if (r == -ETIMEDOUT)
                return cay_fail(err, CAY_TIMEOUT, "%s: the daemon does not answer", what);
        return cay_fail_sys(err, CAY_UNAVAILABLE, r, "%s", what);
}

/*
 * Sends all bytes, unless an answer comes first or the other side stops reading: then its answer says why, or
 * the reader of the answer fails (1). A descriptor goes with the first byte.
 */
static int send_all(struct cay_client_conn *c, const char *bytes, size_t len, int fd, struct cay_error *err)
{
        while (len > 0) {
                int events = wait_for(c, POLLOUT | POLLIN, SEND_MS);
                ssize_t n;

                if (events < 0)
                        return lost(events, "send the request", err);
                if (events & POLLIN) {
                        c->answered_early = true;
                        return 1;
                }
                n = fd >= 0 ? sys_send_fds(c->fd, bytes, len, &fd, 1, MSG_NOSIGNAL | MSG_DONTWAIT)
                            : send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
                if (n < 0 && fd < 0)
                        n = -errno;
                if (n == -EAGAIN || n == -EINTR)
                        continue;
                if (c->begun && (n == -EPIPE || n == -ECONNRESET)) {
                        c->answered_early = true;
                        return 1;
                }
                if (n < 0)
                        return lost((int)n, "send the request", err);
                c->begun = true;
                fd = -1;
                bytes += n;
                len -= (size_t)n;
        }
        return 0;
}

int cay_client_conn_send(struct cay_client_conn *c, const struct cay_client *client,
                         const struct cay_request *req, struct cay_error *err)
{
        cay_auto_buf struct cay_buf head = { 0 };
        int r;

        cay_answer_done(&c->answer);
        cay_answer_init(&c->answer);
        c->at = c->have = 0;
        c->answered_early = c->begun = false;
        c->is_chunked = req->type != NULL && req->length == CAY_REQUEST_CHUNKED;
        cay_buf_init(&head, HEAD_MAX);
        if (cay_client_conn_format(client, req, &head) < 0)
                return cay_fail(err, CAY_INVALID, "the request is too long");
        r = send_all(c, cay_buf_data(&head), head.len, client->url.kind == CAY_URL_UNIX ? req->fd : -1, err);
        if (r == 0 && req->body != NULL)
                r = send_all(c, req->body, (size_t)req->length, -1, err);
        return r < 0 ? -1 : 0;
}

int cay_client_conn_write(struct cay_client_conn *c, const void *bytes, size_t len, struct cay_error *err)
{
        char size[24];
        int n, r = 0;

        if (c->answered_early)
                return 1;
        if (len == 0)
                return 0;
        if (c->is_chunked) {
                n = snprintf(size, sizeof(size), "%zx\r\n", len);
                r = send_all(c, size, (size_t)n, -1, err);
        }
        if (r == 0)
                r = send_all(c, bytes, len, -1, err);
        return r == 0 && c->is_chunked ? send_all(c, "\r\n", 2, -1, err) : r;
}

int cay_client_conn_write_end(struct cay_client_conn *c, struct cay_error *err)
{
        if (!c->is_chunked || c->answered_early)
                return 0;
        return send_all(c, "0\r\n\r\n", 5, -1, err) < 0 ? -1 : 0;
}

int cay_client_conn_take_bytes(struct cay_client_conn *c, const char **ret, size_t *ret_len)
{
        ssize_t n;

        *ret_len = 0;
        if (c->answer.state == CAY_ANSWER_DONE)
                return 0;
        if (c->at == c->have) {
                do {
                        n = recv(c->fd, c->in, sizeof(c->in), MSG_DONTWAIT);
                } while (n < 0 && errno == EINTR);
                if (n < 0)
                        return errno == EWOULDBLOCK ? -EAGAIN : -errno;
                if (n == 0)
                        return cay_answer_end(&c->answer) < 0 ? -ECONNRESET : 0;
                c->at = 0;
                c->have = (size_t)n;
        }
        n = cay_answer_feed(&c->answer, c->in + c->at, c->have - c->at, ret, ret_len);
        if (n < 0)
                return (int)n;
        c->at += (size_t)n;
        return 1;
}

/* One step of the answer, with waiting: as cay_client_conn_take_bytes. */
static int step(struct cay_client_conn *c, const char **ret, size_t *ret_len, int wait_ms,
                struct cay_error *err)
{
        int r = cay_client_conn_take_bytes(c, ret, ret_len);

        if (r == -EAGAIN) {
                r = wait_for(c, POLLIN, wait_ms);
                if (r >= 0)
                        r = cay_client_conn_take_bytes(c, ret, ret_len);
                if (r == -EAGAIN)
                        r = 1;
        }
        if (r == -EBADMSG)
                return cay_fail(err, CAY_UNAVAILABLE,
                                "the server there is not a Cay daemon: its answer is not HTTP");
        if (r == -ECONNRESET) {
                cay_fail(err, CAY_UNAVAILABLE,
                         "the daemon closed the connection before its answer was complete");
                err->sys = ECONNRESET;
                return -1;
        }
        return r < 0 ? lost(r, "read the answer", err) : r;
}

int cay_client_conn_await_head(struct cay_client_conn *c, int wait_ms, struct cay_error *err)
{
        const char *bytes;
        size_t len;

        while (!cay_answer_has_head(&c->answer))
                if (step(c, &bytes, &len, wait_ms, err) < 0)
                        return -1;
        return 0;
}

ssize_t cay_client_conn_read(struct cay_client_conn *c, const char **ret, int wait_ms, struct cay_error *err)
{
        size_t len = 0;
        int r;

        do {
                r = step(c, ret, &len, wait_ms, err);
        } while (r > 0 && len == 0);
        return r <= 0 ? r : (ssize_t)len;
}

int cay_client_conn_collect(struct cay_client_conn *c, struct cay_buf *body, int wait_ms,
                            struct cay_error *err)
{
        const char *bytes;
        ssize_t n;

        while ((n = cay_client_conn_read(c, &bytes, wait_ms, err)) > 0)
                if (cay_buf_put(body, bytes, (size_t)n) < 0)
                        return cay_fail(err, CAY_LIMIT, "the answer is longer than %zu bytes", body->max);
        return (int)n;
}
