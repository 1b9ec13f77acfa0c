/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the HTTP tests share: a clock that stands still until it is moved (the loop's timers follow it), and a
 * server with a client at the other end of a socket pair, both in this process, stepped by hand.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/clock.h"
#include "foundation/http/server.h"
#include "foundation/loop/loop.h"

/* These stand in for foundation/base/clock.c: the archive's own are not linked. */
static uint64_t test_now_ms = 1000000;

uint64_t cay_clock_ns(void)
{
        return test_now_ms * 1000000;
}

uint64_t cay_clock_ms(void)
{
        return test_now_ms;
}

uint64_t cay_clock_wall_ms(void)
{
        return 784111777000; /* Sun, 06 Nov 1994 08:49:37 GMT */
}

#define TEST_GOT_MAX (4u << 20)

struct test_rig {
        struct cay_loop *loop;
        struct cay_http_server *server;
        struct cay_http_config config;
        int fd;      /* the client's end; -1: closed */
        bool closed; /* the server has closed */
        char *got;   /* what it answered; NUL-terminated */
        size_t got_len;

        /* What the handler was told. */
        struct cay_http_request *req; /* held by a test that answers later */
        char trail[256];
        char body[65536];
        size_t body_len;
        size_t take; /* bytes that on_body takes in total before it holds; SIZE_MAX: all */
        unsigned requests;
};

static struct test_rig rig;

static inline void test_note(const char *what)
{
        size_t len = strlen(rig.trail);

        snprintf(rig.trail + len, sizeof(rig.trail) - len, "%s%s", len ? " " : "", what);
}

static inline void test_read(void)
{
        while (rig.fd >= 0 && !rig.closed && rig.got_len < TEST_GOT_MAX) {
                ssize_t n = recv(rig.fd, rig.got + rig.got_len, TEST_GOT_MAX - rig.got_len, MSG_DONTWAIT);

                if (n < 0 && errno == EAGAIN)
                        return;
                if (n <= 0) {
                        rig.closed = true;
                        return;
                }
                rig.got_len += (size_t)n;
                rig.got[rig.got_len] = '\0';
        }
}

static inline void test_rounds(unsigned count)
{
        while (count-- > 0)
                assert_int_equal(cay_loop_round(rig.loop, 0), 0);
}

/* Lets everything happen that can happen without time passing. */
static inline void test_settle(void)
{
        for (unsigned i = 0; i < 12; i++) {
                test_rounds(1);
                test_read();
        }
}

static inline void test_pass(uint64_t ms)
{
        test_now_ms += ms;
        test_settle();
}

static inline void test_connect(void)
{
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        if (rig.fd >= 0)
                close(rig.fd);
        rig.fd = pair[0];
        rig.closed = false;
        rig.got_len = 0;
        rig.got[0] = '\0';
        rig.trail[0] = '\0';
        rig.body_len = 0;
        rig.take = SIZE_MAX;
        assert_int_equal(cay_http_server_accept_take(rig.server, pair[1], 0), 0);
}

static inline void test_hang_up(void)
{
        close(rig.fd);
        rig.fd = -1;
        test_settle();
}

static inline void test_send_bytes(const void *bytes, size_t len)
{
        const char *at = bytes;

        while (len > 0) {
                ssize_t n = send(rig.fd, at, len, MSG_DONTWAIT | MSG_NOSIGNAL);

                if (n < 0 && errno == EAGAIN) {
                        test_rounds(1);
                        test_read();
                        continue;
                }
                if (n < 0)
                        return; /* the server has closed; the test sees what it got */
                at += n;
                len -= (size_t)n;
        }
        test_settle();
}

static inline void test_send(const char *text)
{
        test_send_bytes(text, strlen(text));
}

/* One request on a connection of its own; what came back. */
static inline const char *test_ask(const char *text)
{
        test_connect();
        test_send(text);
        return rig.got;
}

static inline unsigned test_status(void)
{
        return rig.got_len > 12 && strncmp(rig.got, "HTTP/1.1 ", 9) == 0
                       ? (unsigned)strtoul(rig.got + 9, NULL, 10)
                       : 0;
}

static inline unsigned test_count(const char *text, const char *what)
{
        size_t len = strlen(what);
        unsigned n = 0;

        /* Not strstr: a sanitizer measures all that is left of the text at each call. */
        while (*text) {
                bool is_here = strncmp(text, what, len) == 0;

                n += is_here;
                text += is_here ? len : 1;
        }
        return n;
}

/* A handler that does what the first segment of the path says. */

static inline size_t test_on_body(struct cay_http_request *req, const void *bytes, size_t len)
{
        size_t n = len < rig.take ? len : rig.take;

        if (rig.take != SIZE_MAX)
                rig.take -= n;
        if (rig.body_len + n <= sizeof(rig.body))
                memcpy(rig.body + rig.body_len, bytes, n);
        rig.body_len += n;
        return n;
}

static inline void test_on_body_end(struct cay_http_request *req)
{
        test_note("end");
        if (rig.req == req)
                return;
        if (strcmp(req->target.segments[0], "collect") == 0)
                cay_http_response_send(req, 200, "text/plain", cay_buf_data(&req->body), req->body.len);
        else
                cay_http_response_send(req, 200, "text/plain", rig.body, rig.body_len);
}

static inline void test_on_drain(struct cay_http_request *req)
{
        test_note("drain");
}

static inline void test_on_gone(struct cay_http_request *req, enum cay_http_gone how)
{
        static const char *const words[] = { "half", "lost", "broken", "stopped" };

        test_note(words[how]);
        if (how == CAY_HTTP_GONE_HALF || rig.req == req)
                return;
        cay_http_response_abort(req);
}

static const struct cay_http_handler test_handler = {
        .on_body = test_on_body,
        .on_body_end = test_on_body_end,
        .on_drain = test_on_drain,
        .on_gone = test_on_gone,
};

static inline void test_on_request(struct cay_http_server *s, struct cay_http_request *req)
{
        const char *what = req->target.count ? req->target.segments[0] : "*";

        rig.requests++;
        req->handler = &test_handler;
        if (strcmp(what, "echo") == 0 || strcmp(what, "patient") == 0) {
                rig.body_len = 0;
                if (cay_http_request_read(req, 1 << 20, what[0] == 'p' ? CAY_HTTP_PATIENT : 0) < 0)
                        cay_http_response_send(req, 413, NULL, "", 0);
        } else if (strcmp(what, "collect") == 0) {
                if (cay_http_request_collect(req, 100) < 0)
                        cay_http_response_send(req, 413, NULL, "", 0);
        } else if (strcmp(what, "gather") == 0) {
                assert_int_equal(cay_http_request_collect(req, 1 << 20), 0);
        } else if (strcmp(what, "much") == 0) {
                static const char much[100000];

                cay_http_response_send(req, 200, "text/plain", much, sizeof(much));
        } else if (strcmp(what, "hold") == 0) {
                rig.req = req; /* the test answers, or lets it be */
        } else {
                cay_http_response_send(req, 200, "text/plain", "hello", 5);
        }
}

static inline const char *test_make_error(struct cay_http_server *s, const struct cay_http_fault *fault,
                                          struct cay_buf *fields, struct cay_buf *body)
{
        cay_buf_puts(fields, "X-Request-Id: of-an-error\r\n");
        cay_buf_printf(body, "error: %s", fault->text);
        return "text/plain";
}

static const struct cay_http_server_ops test_ops = { .on_request = test_on_request,
                                                     .make_error = test_make_error };

static inline void test_start(void)
{
        struct cay_error err;

        rig.server = cay_http_server_new(rig.loop, &rig.config, NULL, &err);
        assert_non_null(rig.server);
}

static inline int test_setup(void **state)
{
        memset(&rig, 0, sizeof(rig));
        rig.fd = -1;
        rig.got = calloc(1, TEST_GOT_MAX + 1);
        rig.loop = cay_loop_new();
        cay_http_config_init(&rig.config);
        rig.config.ops = &test_ops;
        test_start();
        return rig.loop && rig.got ? 0 : -1;
}

static inline int test_teardown(void **state)
{
        cay_http_server_free(rig.server);
        cay_loop_free(rig.loop);
        if (rig.fd >= 0)
                close(rig.fd);
        free(rig.got);
        return 0;
}
