/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server made of the HTTP layer alone, for real clients: http_server --tcp --unix PATH --tls CERT KEY.
 * Prints where it listens, then serves until SIGTERM. What a path does is in the table of routes.
 */
#include <errno.h>
#include <sys/stat.h>

#include "fake/http_listen.h"
#include "foundation/base/parse.h"
#include "foundation/http/router.h"
#include "foundation/http/sse.h"
#include "foundation/http/ws.h"
#include "foundation/loop/signal.h"

static struct cay_loop *loop;
static struct cay_router *router;

struct route_run {
        void (*run)(struct cay_http_request *req, const struct cay_route_match *match);
};

static void send_text(struct cay_http_request *req, unsigned status, const char *text)
{
        cay_http_response_send(req, status, "text/plain", text, strlen(text));
}

static void run_hello(struct cay_http_request *req, const struct cay_route_match *match)
{
        send_text(req, 200, "hello\n");
}

static void run_who(struct cay_http_request *req, const struct cay_route_match *match)
{
        char text[512];
        struct stat st = { 0 };

        if (req->passed_fd >= 0)
                fstat(req->passed_fd, &st);
        snprintf(text, sizeof(text), "unix=%d tls=%d uid=%u address=%s host=%s inode=%llu\n",
                 req->peer.is_unix, req->peer.is_tls, req->peer.is_unix ? req->peer.cred.uid : 0,
                 req->peer.address, req->host, (unsigned long long)st.st_ino);
        send_text(req, 200, text);
}

/* Bodies: counted, or sent back as they come. */

struct stream {
        uint64_t count, left, hash;
        bool echoes;
};

static void stream_gone(struct cay_http_request *req, enum cay_http_gone how)
{
        if (how == CAY_HTTP_GONE_HALF)
                return;
        free(req->user);
        cay_http_response_abort(req);
}

static size_t stream_body(struct cay_http_request *req, const void *bytes, size_t len)
{
        struct stream *s = req->user;
        const uint8_t *at = bytes;

        if (s->echoes && cay_http_response_queued(req) >= 256 * 1024)
                return 0;
        for (size_t i = 0; i < len; i++)
                s->hash = s->hash * 31 + at[i];
        s->count += len;
        if (s->echoes)
                cay_http_response_write(req, bytes, len);
        return len;
}

static void stream_end(struct cay_http_request *req)
{
        struct stream *s = req->user;
        char text[128];

        if (s->echoes) {
                cay_http_response_end(req);
        } else {
                snprintf(text, sizeof(text), "%llu %llu\n", (unsigned long long)s->count,
                         (unsigned long long)s->hash);
                send_text(req, 200, text);
        }
        free(s);
}

static void stream_drain(struct cay_http_request *req)
{
        cay_http_request_resume(req);
}

static const struct cay_http_handler stream_handler = {
        .on_body = stream_body, .on_body_end = stream_end, .on_drain = stream_drain, .on_gone = stream_gone
};

static void run_body(struct cay_http_request *req, bool echoes)
{
        struct stream *s = calloc(1, sizeof(*s));

        s->echoes = echoes;
        req->user = s;
        req->handler = &stream_handler;
        if (cay_http_request_read(req, UINT64_MAX, 0) < 0)
                stream_gone(req, CAY_HTTP_GONE_LOST);
        else if (echoes)
                cay_http_response_begin(req, 200, "application/octet-stream", CAY_HTTP_NO_LENGTH);
}

static void run_sink(struct cay_http_request *req, const struct cay_route_match *match)
{
        run_body(req, false);
}

static void run_echo(struct cay_http_request *req, const struct cay_route_match *match)
{
        run_body(req, true);
}

/* Much, as fast as the client takes it. */

static void flood(struct cay_http_request *req)
{
        static char block[65536];
        struct stream *s = req->user;

        memset(block, 'f', sizeof(block));
        while (s->left > 0) {
                size_t n = s->left < sizeof(block) ? (size_t)s->left : sizeof(block);
                ssize_t queued = cay_http_response_write(req, block, n);

                s->left -= n;
                if (queued < 0 || queued >= 256 * 1024)
                        return; /* on_drain or on_gone goes on */
        }
        free(s);
        cay_http_response_end(req);
}

static const struct cay_http_handler flood_handler = { .on_drain = flood, .on_gone = stream_gone };

static void run_flood(struct cay_http_request *req, const struct cay_route_match *match)
{
        struct stream *s = calloc(1, sizeof(*s));

        if (cay_parse_u64(cay_route_value(match, "bytes"), &s->left) < 0) {
                free(s);
                send_text(req, 400, "not a number\n");
                return;
        }
        req->user = s;
        req->handler = &flood_handler;
        cay_http_response_begin(req, 200, "application/octet-stream", CAY_HTTP_NO_LENGTH);
        flood(req);
}

static void run_events(struct cay_http_request *req, const struct cay_route_match *match)
{
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 4096);
        cay_sse_put(&out, "1", "stdout", "one\ntwo", 7);
        cay_sse_put(&out, "2", NULL, "three", 5);
        cay_http_response_begin(req, 200, CAY_SSE_TYPE, CAY_HTTP_NO_LENGTH);
        cay_http_response_write(req, cay_buf_data(&out), out.len);
        cay_http_response_end(req);
}

/* WebSocket echo */

struct echo {
        struct cay_ws ws;
        struct cay_deferred release;
};

static size_t echo_message(struct cay_ws *ws, enum cay_ws_opcode kind, const void *bytes, size_t len)
{
        cay_ws_send(ws, kind, bytes, len);
        return len;
}

static void echo_release(struct cay_deferred *d)
{
        free(cay_container_of(d, struct echo, release));
}

static void echo_closed(struct cay_ws *ws, unsigned code, const char *reason)
{
        struct echo *e = cay_container_of(ws, struct echo, ws);

        e->release.run = echo_release;
        cay_loop_defer(loop, &e->release);
}

static void run_ws(struct cay_http_request *req, const struct cay_route_match *match)
{
        static const struct cay_ws_ops ops = { .on_message = echo_message, .on_closed = echo_closed };
        static const struct cay_ws_options options = { .message_max = 16 << 20 };
        const struct cay_http_fault *fault = cay_ws_check(req);
        struct echo *e;

        if (fault) {
                send_text(req, fault->status, fault->text);
                return;
        }
        e = calloc(1, sizeof(*e));
        if (cay_ws_accept(&e->ws, req, loop, cay_ws_offers(req, "tty") ? "tty" : NULL, &options, &ops) < 0)
                free(e);
}

#define ROW(text, function)                                                                                  \
        {                                                                                                    \
                .row = text, .owner = &(const struct route_run)                                              \
                {                                                                                            \
                        .run = function                                                                      \
                }                                                                                            \
        }

static const struct cay_route routes[] = {
        ROW("GET /hello", run_hello),   ROW("GET /who", run_who),    ROW("POST /sink", run_sink),
        ROW("PUT /sink", run_sink),     ROW("POST /echo", run_echo), ROW("GET /flood/{bytes}", run_flood),
        ROW("GET /events", run_events), ROW("GET /ws", run_ws),
};

static void on_request(struct cay_http_server *s, struct cay_http_request *req)
{
        struct cay_route_match match;
        char allow[CAY_ROUTE_ALLOW_MAX];
        const struct route_run *row;

        if (cay_router_find(router, req->method, &req->target, &match)) {
                row = match.route->owner;
                row->run(req, &match);
        } else if (match.allowed) {
                cay_route_allow(match.allowed, allow);
                cay_http_response_add(req, "Allow", allow);
                send_text(req, 405, "not this method\n");
        } else {
                send_text(req, 404, "not here\n");
        }
}

static const char *make_error(struct cay_http_server *s, const struct cay_http_fault *fault,
                              struct cay_buf *fields, struct cay_buf *body)
{
        cay_buf_printf(body, "{\"error\":\"%s\"}\n", fault->text);
        return "application/json";
}

static void on_idle(struct cay_http_server *s)
{
        cay_loop_stop(loop);
}

static struct cay_http_server *server;

static void on_signal(struct cay_signal *s, int signo, int pid)
{
        cay_http_server_stop(server);
}

static int listen_all(int argc, char **argv, struct cay_tls_context **ret_tls, struct cay_error *err)
{
        int n;

        for (int i = 1; i < argc; i++) {
                if (strcmp(argv[i], "--tcp") == 0) {
                        n = http_listen(server, "127.0.0.1", 0, NULL, err);
                        if (n < 0)
                                return -1;
                        printf("tcp %u\n", http_listen_port);
                } else if (strcmp(argv[i], "--unix") == 0 && i + 1 < argc) {
                        if (http_listen_unix(server, argv[++i], 0600, err) < 0)
                                return -1;
                } else if (strcmp(argv[i], "--tls") == 0 && i + 2 < argc) {
                        *ret_tls = cay_tls_context_new(argv[i + 1], argv[i + 2], err);
                        n = *ret_tls ? http_listen(server, "127.0.0.1", 0, *ret_tls, err) : -1;
                        if (n < 0)
                                return -1;
                        printf("tls %u\n", http_listen_port);
                        i += 2;
                } else {
                        return cay_fail(err, CAY_INVALID, "unknown argument '%s'", argv[i]);
                }
        }
        printf("ready\n");
        fflush(stdout);
        return 0;
}

int main(int argc, char **argv)
{
        static const struct cay_http_server_ops ops = { .on_request = on_request,
                                                        .make_error = make_error,
                                                        .on_idle = on_idle };
        struct cay_tls_context *tls = NULL;
        struct cay_http_config config;
        struct cay_error err = { 0 };
        struct cay_signal signals;
        int r;

        cay_http_config_init(&config);
        config.ops = &ops;
        config.all_fields = "X-Content-Type-Options: nosniff\r\n";
        /* Deadlines are tested elsewhere; here a client may stand still for as long as it is waited for. */
        config.head_ms = config.body_ms = config.idle_ms = config.stall_ms = 60 * 1000;
        memset(&signals, 0, sizeof(signals));
        loop = cay_loop_new();
        router = cay_router_new(routes, CAY_COUNT(routes), &err);
        server = loop && router ? cay_http_server_new(loop, &config, NULL, &err) : NULL;
        r = server ? listen_all(argc, argv, &tls, &err) : -1;
        if (r == 0)
                r = cay_signal_open(loop, &signals, &(const int){ SIGTERM }, 1, on_signal);
        if (r == 0)
                r = cay_loop_run(loop);
        if (r != 0)
                fprintf(stderr, "http_server: %s\n", err.msg);
        cay_signal_close(&signals);
        cay_http_server_free(server);
        cay_tls_context_free(tls);
        cay_router_free(router);
        cay_loop_free(loop);
        return r != 0;
}
