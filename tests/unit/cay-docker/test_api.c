/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls between a loop and a Docker that is the test itself: it takes connections between two rounds of the
 * loop, so that what comes first is the test's choice and not the machine's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cay-docker/api.h"

#define ROUNDS 5000 /* of 10 ms at most */
#define MUCH (4u << 20)

static struct {
        char folder[40];
        int listener; /* -1: nobody listens */
        struct docker_options options;
        struct cay_loop *loop;
        struct docker_api api;
        struct docker_call call;
        unsigned ends;
        char *much;
} t;

static void listen_again(void)
{
        struct sockaddr_un name = { .sun_family = AF_UNIX };

        memcpy(name.sun_path, t.options.host.path, sizeof(name.sun_path));
        t.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_int_equal(bind(t.listener, (struct sockaddr *)&name, sizeof(name)), 0);
        assert_int_equal(listen(t.listener, 8), 0);
}

static void listen_no_more(void)
{
        close(t.listener);
        t.listener = -1;
        unlink(t.options.host.path);
}

static int set_up(void **state)
{
        struct cay_error err = { 0 };

        memset(&t, 0, sizeof(t));
        snprintf(t.folder, sizeof(t.folder), "/tmp/docker-api-XXXXXX");
        assert_non_null(mkdtemp(t.folder));
        snprintf(t.options.host.path, sizeof(t.options.host.path), "%s/sock", t.folder);
        t.options.host_text = t.options.host.path;
        t.loop = cay_loop_new();
        t.much = calloc(1, MUCH);
        assert_non_null(t.loop);
        assert_non_null(t.much);
        assert_int_equal(docker_api_init(&t.api, t.loop, &t.options, &err), 0);
        listen_again();
        return 0;
}

static int tear_down(void **state)
{
        docker_call_abort(&t.call);
        docker_api_done(&t.api);
        cay_loop_free(t.loop);
        free(t.much);
        if (t.listener >= 0)
                listen_no_more();
        return rmdir(t.folder);
}

static void on_done(struct docker_call *c)
{
        t.ends++;
}

static void begin(bool repeatable, size_t body_len)
{
        const struct docker_call_request req = { .method = CAY_HTTP_PUT,
                                                 .path = "/containers/cccc/archive",
                                                 .body = t.much,
                                                 .body_len = body_len,
                                                 .repeatable = repeatable };

        t.call.on_done = on_done;
        docker_call_begin(&t.call, &t.api, &req);
}

static void turn(void)
{
        assert_int_equal(cay_loop_round(t.loop, 10), 0);
}

/* The next connection, as soon as there is one. */
static int meet(void)
{
        int fd = -1;

        for (unsigned i = 0; i < ROUNDS && fd < 0 && t.ends == 0; i++) {
                turn();
                fd = accept4(t.listener, NULL, NULL, SOCK_CLOEXEC);
        }
        assert_true(fd >= 0);
        return fd;
}

/* Until the call can say no more to fd: its head and as much of its body as the kernel takes lie there. */
static void let_it_fill(int fd)
{
        struct pollfd p = { .fd = fd, .events = POLLIN };

        for (unsigned i = 0; i < ROUNDS && poll(&p, 1, 0) == 0; i++)
                turn();
        assert_int_equal(p.revents, POLLIN);
        for (unsigned i = 0; i < 3; i++)
                turn();
}

/* The next connection, with all that can be said on it before somebody reads. */
static int meet_full(void)
{
        int fd = meet();

        let_it_fill(fd);
        return fd;
}

/* fd is empty, so that the call goes on writing, and finds out that nobody will take it. */
static void refuse(int fd)
{
        static char bytes[65536];

        while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
                ;
        assert_int_equal(shutdown(fd, SHUT_RD), 0);
        for (unsigned i = 0; i < 3; i++)
                turn();
}

static void answer_take(int fd, const char *text)
{
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        close(fd);
}

static void finish(void)
{
        for (unsigned i = 0; i < ROUNDS && t.ends == 0; i++)
                turn();
        assert_int_equal(t.ends, 1);
}

static bool is_another_there(void)
{
        struct pollfd p = { .fd = t.listener, .events = POLLIN };

        return poll(&p, 1, 0) == 1;
}

/* It closes with most of the body unread. */
static void an_early_answer_counts(void **state)
{
        int fd;

        begin(false, MUCH);
        fd = meet_full();
        answer_take(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}");
        finish();
        assert_int_equal(t.call.status, 404);
        assert_int_equal(t.call.body.len, 2);
}

/* The same when the call finds out first that nobody takes its body any more. */
static void an_answer_behind_a_refusal_counts(void **state)
{
        int fd;

        begin(false, MUCH);
        fd = meet_full();
        refuse(fd);
        assert_int_equal(t.ends, 0);
        answer_take(fd, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n{}");
        finish();
        assert_int_equal(t.call.status, 413);
}

static void a_refusal_without_an_answer_is_a_failure(void **state)
{
        int fd;

        begin(false, MUCH);
        fd = meet_full();
        refuse(fd);
        close(fd);
        finish();
        assert_int_equal(t.call.status, 0);
        assert_int_equal(t.call.err.code, CAY_UNAVAILABLE);
        assert_false(is_another_there()); /* it may have been heard */
}

static void what_may_be_repeated_is_asked_again(void **state)
{
        int fd;

        begin(true, 10);
        fd = meet_full();
        close(fd);
        fd = meet_full();
        answer_take(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        finish();
        assert_int_equal(t.call.status, 200);
}

static void half_an_answer_is_none(void **state)
{
        int fd;

        begin(false, 10);
        fd = meet_full();
        answer_take(fd, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}");
        finish();
        assert_int_equal(t.call.status, 0);
        assert_int_equal(t.call.err.code, CAY_UNAVAILABLE);
        assert_false(is_another_there());
}

/* Nobody can have heard it: also what may not be repeated is tried until there is somebody. */
static void who_is_away_is_waited_for(void **state)
{
        int fd;

        listen_no_more();
        begin(false, 10);
        for (unsigned i = 0; i < ROUNDS && t.call.tries < 2; i++)
                turn();
        assert_int_equal(t.call.tries, 2);
        assert_int_equal(t.ends, 0);
        listen_again();
        fd = meet_full();
        answer_take(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        finish();
        assert_int_equal(t.call.status, 200);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(an_early_answer_counts, set_up, tear_down),
                cmocka_unit_test_setup_teardown(an_answer_behind_a_refusal_counts, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_refusal_without_an_answer_is_a_failure, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_may_be_repeated_is_asked_again, set_up, tear_down),
                cmocka_unit_test_setup_teardown(half_an_answer_is_none, set_up, tear_down),
                cmocka_unit_test_setup_teardown(who_is_away_is_waited_for, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
