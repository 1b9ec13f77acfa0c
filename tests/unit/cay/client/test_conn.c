/* SPDX-License-Identifier: Apache-2.0 */
/* A connection whose other end is this test: requests on the wire, answers from it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "cay/client/conn.h"
#include "foundation/sys/unix_socket.h"

struct ends {
        struct cay_client_conn conn;
        int server;
};

static const struct cay_client client = { .url = { .kind = CAY_URL_UNIX, .authority = "localhost" },
                                          .token = "t.o" };

static const struct cay_request upload = { .method = "PUT",
                                           .target = "/",
                                           .type = "application/octet-stream",
                                           .length = CAY_REQUEST_CHUNKED,
                                           .fd = -1 };

static void open_ends(struct ends *e)
{
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        cay_client_conn_init(&e->conn);
        e->conn.fd = pair[0];
        e->server = pair[1];
}

static void close_ends(struct ends *e)
{
        cay_client_conn_close(&e->conn);
        close(e->server);
}

static void say(struct ends *e, const char *text)
{
        assert_int_equal(write(e->server, text, strlen(text)), (ssize_t)strlen(text));
}

static void hear(struct ends *e, char *ret, size_t size)
{
        ssize_t n = read(e->server, ret, size - 1);

        assert_true(n > 0);
        ret[n] = '\0';
}

static void asks_and_is_answered(void **state)
{
        const struct cay_request req = { .method = "POST",
                                         .target = "/x?y=1",
                                         .type = "application/json",
                                         .body = "{}",
                                         .length = 2,
                                         .fd = -1 };
        cay_auto_buf struct cay_buf body = { 0 };
        struct cay_error err = { 0 };
        struct ends e;
        char text[4096];

        open_ends(&e);
        assert_int_equal(cay_client_conn_send(&e.conn, &client, &req, &err), 0);
        hear(&e, text, sizeof(text));
        assert_non_null(strstr(text, "POST /x?y=1 HTTP/1.1\r\nHost: localhost\r\n"));
        assert_non_null(strstr(text, "\r\nAuthorization: Bearer t.o\r\n"));
        assert_non_null(strstr(text, "\r\nContent-Length: 2\r\n\r\n{}"));
        say(&e, "HTTP/1.1 201 Made\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n123");
        assert_int_equal(cay_client_conn_await_head(&e.conn, 1000, &err), 0);
        assert_int_equal(e.conn.answer.status, 201);
        cay_buf_init(&body, 10);
        assert_int_equal(cay_client_conn_collect(&e.conn, &body, 1000, &err), 0);
        assert_string_equal(cay_buf_data(&body), "123");
        close_ends(&e);
}

static void bodies_go_in_chunks(void **state)
{
        struct cay_error err = { 0 };
        struct ends e;
        char text[4096];

        open_ends(&e);
        assert_int_equal(cay_client_conn_send(&e.conn, &client, &upload, &err), 0);
        assert_int_equal(cay_client_conn_write(&e.conn, "0123456789abcdef", 16, &err), 0);
        assert_int_equal(cay_client_conn_write(&e.conn, "", 0, &err), 0);
        assert_int_equal(cay_client_conn_write_end(&e.conn, &err), 0);
        hear(&e, text, sizeof(text));
        assert_non_null(strstr(text, "\r\nTransfer-Encoding: chunked\r\n"));
        assert_non_null(strstr(text, "\r\n\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n"));
        close_ends(&e);
}

static void an_early_answer_ends_the_sending(void **state)
{
        struct cay_error err = { 0 };
        struct ends e;

        open_ends(&e);
        assert_int_equal(cay_client_conn_send(&e.conn, &client, &upload, &err), 0);
        say(&e, "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n");
        assert_int_equal(cay_client_conn_write(&e.conn, "x", 1, &err), 1);
        assert_int_equal(cay_client_conn_write(&e.conn, "x", 1, &err), 1);
        assert_int_equal(cay_client_conn_write_end(&e.conn, &err), 0);
        assert_int_equal(cay_client_conn_await_head(&e.conn, 1000, &err), 0);
        assert_int_equal(e.conn.answer.status, 404);
        close_ends(&e);
}

/* The server takes no more of a body; its answer is still on the way. */
static void an_answer_behind_a_refusal_is_read(void **state)
{
        struct cay_error err = { 0 };
        struct ends e;

        open_ends(&e);
        assert_int_equal(cay_client_conn_send(&e.conn, &client, &upload, &err), 0);
        shutdown(e.server, SHUT_RD);
        assert_int_equal(cay_client_conn_write(&e.conn, "x", 1, &err), 1);
        say(&e, "HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n");
        assert_int_equal(cay_client_conn_write_end(&e.conn, &err), 0);
        assert_int_equal(cay_client_conn_await_head(&e.conn, 1000, &err), 0);
        assert_int_equal(e.conn.answer.status, 413);
        close_ends(&e);

        open_ends(&e);
        assert_int_equal(cay_client_conn_send(&e.conn, &client, &upload, &err), 0);
        shutdown(e.server, SHUT_RDWR);
        assert_int_equal(cay_client_conn_write(&e.conn, "x", 1, &err), 1);
        assert_int_equal(cay_client_conn_await_head(&e.conn, 1000, &err), -1);
        assert_int_equal(err.code, CAY_UNAVAILABLE);
        assert_int_equal(err.sys, ECONNRESET);
        close_ends(&e);

        open_ends(&e); /* nobody can have taken anything of it */
        shutdown(e.server, SHUT_RD);
        assert_int_equal(cay_client_conn_send(&e.conn, &client, &upload, &err), -1);
        assert_int_equal(err.sys, EPIPE);
        close_ends(&e);
}

static void a_descriptor_goes_along(void **state)
{
        struct cay_request req = { .method = "GET", .target = "/" };
        struct cay_error err = { 0 };
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        struct ends e;
        char text[4096];

        open_ends(&e);
        req.fd = e.server;
        assert_int_equal(cay_client_conn_send(&e.conn, &client, &req, &err), 0);
        assert_true(sys_recv_fds(e.server, text, sizeof(text), fds, &count, 0) > 0);
        assert_int_equal(count, 1);
        sys_close_fds(fds, count);
        close_ends(&e);
}

static void what_goes_wrong_is_said(void **state)
{
        const struct cay_request req = { .method = "GET", .target = "/", .fd = -1 };
        cay_auto_buf struct cay_buf body = { 0 };
        struct cay_error err = { 0 };
        struct ends e;

        open_ends(&e);
        assert_int_equal(cay_client_conn_send(&e.conn, &client, &req, &err), 0);
        assert_int_equal(cay_client_conn_await_head(&e.conn, 20, &err), -1);
        assert_int_equal(err.code, CAY_TIMEOUT);
        say(&e, "SSH-2.0-x\r\n\r\n");
        assert_int_equal(cay_client_conn_await_head(&e.conn, 1000, &err), -1);
        assert_int_equal(err.code, CAY_UNAVAILABLE);
        close_ends(&e);

        open_ends(&e);
        assert_int_equal(cay_client_conn_send(&e.conn, &client, &req, &err), 0);
        say(&e, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort");
        shutdown(e.server, SHUT_WR);
        cay_buf_init(&body, 1000);
        assert_int_equal(cay_client_conn_await_head(&e.conn, 1000, &err), 0);
        assert_int_equal(cay_client_conn_collect(&e.conn, &body, 1000, &err), -1);
        assert_int_equal(err.code, CAY_UNAVAILABLE);
        close_ends(&e);

        open_ends(&e);
        assert_int_equal(cay_client_conn_send(&e.conn, &client, &req, &err), 0);
        say(&e, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ntoo long!");
        cay_buf_done(&body);
        cay_buf_init(&body, 5);
        assert_int_equal(cay_client_conn_await_head(&e.conn, 1000, &err), 0);
        assert_int_equal(cay_client_conn_collect(&e.conn, &body, 1000, &err), -1);
        assert_int_equal(err.code, CAY_LIMIT);
        close_ends(&e);
}

static void nobody_is_there(void **state)
{
        struct cay_client none = { .url = { .kind = CAY_URL_UNIX, .path = "/nowhere/cay.sock" } };
        struct cay_error err = { 0 };
        struct cay_client_conn c;

        cay_client_conn_init(&c);
        assert_int_equal(cay_client_conn_open(&c, &none, &err), -1);
        assert_int_equal(err.sys, ENOENT);
        none.url.kind = CAY_URL_HTTPS;
        assert_int_equal(cay_client_conn_open(&c, &none, &err), -1);
        assert_int_equal(err.code, CAY_UNSUPPORTED);
        cay_client_conn_close(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(asks_and_is_answered),
                cmocka_unit_test(bodies_go_in_chunks),
                cmocka_unit_test(an_early_answer_ends_the_sending),
                cmocka_unit_test(an_answer_behind_a_refusal_is_read),
                cmocka_unit_test(a_descriptor_goes_along),
                cmocka_unit_test(what_goes_wrong_is_said),
                cmocka_unit_test(nobody_is_there),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
