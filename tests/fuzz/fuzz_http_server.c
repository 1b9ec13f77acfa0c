/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client may send to the server, in pieces of any size. The oracle is llhttp as a whole reader of its
 * own: every request that reaches a handler must be one that it has seen too, in the same order, with the
 * same method, target and body. A request that only one of them sees is a smuggled one. Input: a byte that
 * sets the size of pieces, then the stream.
 */
#include <errno.h>
#include <llhttp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz/must.h"
#include "foundation/http/chars.h"
#include "foundation/http/server.h"

enum { SEEN_MAX = 64 };

struct seen {
        char method[16];
        uint64_t target, body; /* hashes */
};

static struct cay_loop *loop;
static struct cay_http_server *server;
static struct seen ours[SEEN_MAX], theirs[SEEN_MAX];
static unsigned our_count, their_count;

static uint64_t hash(uint64_t h, const void *bytes, size_t len)
{
        const uint8_t *at = bytes;

        for (size_t i = 0; i < len; i++)
                h = (h ^ at[i]) * 0x100000001b3u;
        return h;
}

/* Ours */

static size_t on_body(struct cay_http_request *req, const void *bytes, size_t len)
{
        struct seen *s = req->user;
        size_t n = len > 3 ? len / 2 : len; /* leave some for later */

        s->body = hash(s->body, bytes, n);
        if (n < len)
                cay_http_request_resume(req);
        return n;
}

static void on_body_end(struct cay_http_request *req)
{
        our_count++;
        cay_http_response_send(req, 200, "text/plain", "ok", 2);
}

static void on_gone(struct cay_http_request *req, enum cay_http_gone how)
{
        if (how != CAY_HTTP_GONE_HALF)
                cay_http_response_abort(req);
}

static const struct cay_http_handler handler = { .on_body = on_body,
                                                 .on_body_end = on_body_end,
                                                 .on_gone = on_gone };

static void check(const struct cay_http_request *req)
{
        must(req->target.path[0] == '/' || strcmp(req->target.path, "*") == 0);
        for (unsigned i = 0; i < req->target.count; i++) {
                must(strcmp(req->target.segments[i], "..") != 0 && strcmp(req->target.segments[i], ".") != 0);
                must(req->target.raw[i] > req->target.path && req->target.raw[i][-1] == '/');
        }
        for (unsigned i = 0; i < req->line_count; i++) {
                const char *name, *value;

                cay_http_request_header_at(req, i, &name, &value);
                must(cay_http_is_token(name, strlen(name)) && cay_http_is_value(value, strlen(value)));
        }
        must(req->minor == 0 || req->host[0]);
}

static void on_request(struct cay_http_server *s, struct cay_http_request *req)
{
        struct seen *seen = &ours[our_count];

        check(req);
        if (our_count == SEEN_MAX) {
                cay_http_response_abort(req);
                return;
        }
        *seen = (struct seen){ .body = hash(0, "", 0) };
        snprintf(seen->method, sizeof(seen->method), "%s", cay_http_method_word(req->method));
        seen->target = hash(0, req->target.path, strlen(req->target.path));
        if (req->target.query) {
                seen->target = hash(seen->target, "?", 1);
                seen->target = hash(seen->target, req->target.query, strlen(req->target.query));
        }
        req->user = seen;
        req->handler = &handler;
        must(cay_http_request_read(req, 1 << 20, 0) == 0 || req->body_bytes > 1 << 20);
        if (req->body_bytes > 1 << 20 && req->body_bytes != CAY_HTTP_NO_LENGTH)
                cay_http_response_abort(req);
}

static const char *make_error(struct cay_http_server *s, const struct cay_http_fault *fault,
                              struct cay_buf *fields, struct cay_buf *body)
{
        must(fault->text && fault->status >= 400 && fault->status < 600);
        cay_buf_puts(body, fault->text);
        return "text/plain";
}

static const struct cay_http_server_ops ops = { .on_request = on_request, .make_error = make_error };

static void send_pieces(int fd, const uint8_t *data, size_t size, size_t piece)
{
        char waste[65536];

        while (size > 0) {
                size_t len = size < piece ? size : piece;
                ssize_t n = send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

                cay_loop_round(loop, 0);
                while (recv(fd, waste, sizeof(waste), MSG_DONTWAIT) > 0)
                        ;
                if (n < 0 && errno != EAGAIN)
                        return;
                data += n > 0 ? n : 0;
                size -= n > 0 ? (size_t)n : 0;
        }
}

static void run_ours(const uint8_t *data, size_t size, size_t piece)
{
        int pair[2];

        must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        must(cay_http_server_accept_take(server, pair[1], 0) == 0);
        send_pieces(pair[0], data, size, piece);
        for (unsigned i = 0; i < 8; i++)
                cay_loop_round(loop, 0);
        close(pair[0]);
        for (unsigned i = 0; i < 100 && cay_http_server_count(server) > 0; i++)
                cay_loop_round(loop, 0);
        must(cay_http_server_count(server) == 0);
}

/* Theirs */

static int their_begin(llhttp_t *p)
{
        if (their_count == SEEN_MAX)
                return -1;
        theirs[their_count] = (struct seen){ .body = hash(0, "", 0) };
        return 0;
}

static int their_url(llhttp_t *p, const char *at, size_t len)
{
        theirs[their_count].target = hash(theirs[their_count].target, at, len);
        return 0;
}

static int their_body(llhttp_t *p, const char *at, size_t len)
{
        theirs[their_count].body = hash(theirs[their_count].body, at, len);
        return 0;
}

static int their_end(llhttp_t *p)
{
        snprintf(theirs[their_count].method, sizeof(theirs[their_count].method), "%s",
                 llhttp_method_name((llhttp_method_t)p->method));
        their_count++;
        return 0;
}

static void run_theirs(const char *data, size_t size)
{
        static const llhttp_settings_t settings = { .on_message_begin = their_begin,
                                                    .on_url = their_url,
                                                    .on_body = their_body,
                                                    .on_message_complete = their_end };
        llhttp_t p;

        llhttp_init(&p, HTTP_REQUEST, &settings);
        for (;;) {
                llhttp_errno_t r = llhttp_execute(&p, data, size);
                const char *at = llhttp_get_error_pos(&p);

                if (r != HPE_PAUSED_UPGRADE)
                        return;
                llhttp_resume_after_upgrade(&p); /* nobody upgrades here: what follows are requests */
                size -= (size_t)(at - data);
                data = at;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const size_t pieces[] = { 1, 2, 3, 7, 64, 1000, 4096, 100000 };
        struct cay_http_config config;
        struct cay_error err;

        if (size < 1 || size > 200000)
                return 0;
        cay_http_config_init(&config);
        config.ops = &ops;
        loop = cay_loop_new();
        server = cay_http_server_new(loop, &config, NULL, &err);
        must(loop && server);
        our_count = their_count = 0;
        run_ours(data + 1, size - 1, pieces[data[0] % CAY_COUNT(pieces)]);
        run_theirs((const char *)data + 1, size - 1);
        must(our_count <= their_count);
        for (unsigned i = 0; i < our_count; i++) {
                must(strcmp(ours[i].method, theirs[i].method) == 0);
                must(ours[i].target == theirs[i].target && ours[i].body == theirs[i].body);
        }
        cay_http_server_free(server);
        cay_loop_free(loop);
        return 0;
}
