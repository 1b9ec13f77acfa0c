/* SPDX-License-Identifier: Apache-2.0 */
/* Ports of the host for sandboxes: what the keeper is asked, what its answers do, and who comes too late. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/job.h"
#include "cay-front/front_ports.h"
#include "foundation/sys/unix_socket.h"

static struct cay_loop *loop;
static struct cay_front_ports *ports;
static int keeper; /* its end */
static struct cay_job job;
static unsigned done;

static void on_done(struct cay_job *j)
{
        (void)j;
        done++;
}

static int setup(void **state)
{
        struct cay_error err = { 0 };
        int socks[2];

        (void)state;
        loop = cay_loop_new();
        assert_non_null(loop);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
        keeper = socks[0];
        assert_int_equal(cay_front_ports_new(loop, socks[1], &ports, &err), 0);
        done = 0;
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        cay_front_ports_free(cay_take(ports));
        cay_loop_free(loop);
        close(keeper);
        return 0;
}

static void publish(struct cay_spec_port *p, unsigned count)
{
        cay_job_init(&job, on_done);
        cay_front_ports_publish(ports, "box", p, count, &job);
}

static void settle(void)
{
        for (unsigned i = 0; i < 5; i++)
                assert_int_equal(cay_loop_round(loop, 0), 0);
}

static struct cay_hand_listen asked(void)
{
        struct cay_hand_listen a = { 0 };

        assert_int_equal(recv(keeper, &a, sizeof(a), MSG_DONTWAIT), sizeof(a));
        assert_int_equal(a.magic, CAY_HAND_MAGIC);
        assert_int_equal(a.size, sizeof(a));
        return a;
}

static void nothing_asked(void)
{
        char byte;

        assert_int_equal(recv(keeper, &byte, 1, MSG_DONTWAIT), -1);
}

static int answer(uint32_t serial, uint32_t port)
{
        const struct cay_hand_listening say = {
                .magic = CAY_HAND_MAGIC, .size = sizeof(say), .serial = serial, .port = port
        };
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
        assert_int_equal(listen(fd, 1), 0);
        assert_int_equal(sys_send_fds(keeper, &say, sizeof(say), &fd, port != 0, 0), sizeof(say));
        close(fd);
        return cay_front_ports_hear(ports);
}

static void two_ports_are_one_job(void **state)
{
        struct cay_spec_port p[] = { { .inside = 18765, .host = 20000 }, { .inside = 17681 } };
        struct cay_hand_listen first, second;
        struct cay_port_host at;

        (void)state;
        publish(p, 2);
        first = asked();
        second = asked();
        assert_int_equal(first.port, 20000);
        assert_int_equal(second.port, 0);
        assert_int_equal(answer(second.serial, 30001), 1);
        settle();
        assert_int_equal(done, 0);
        assert_int_equal(answer(first.serial, 20003), 1); /* which was taken */
        settle();
        assert_int_equal(done, 1);
        assert_int_equal(job.err.code, CAY_OK);
        assert_int_equal(p[0].host, 20003);
        assert_int_equal(p[1].host, 30001);
        assert_int_equal(cay_front_ports_find(ports, first.serial, &at), 1);
        assert_int_equal(at.port, 18765);
        assert_string_equal(at.sandbox, "box");
        assert_int_equal(cay_front_ports_find(ports, 0, &at), 0); /* one of the daemon's own */
        p[0].host = 0;
        publish(p, 1); /* it has it already */
        settle();
        assert_int_equal(done, 2);
        assert_int_equal(p[0].host, 20003);
        nothing_asked();
        cay_front_ports_unpublish(ports, "other");
        nothing_asked();
        cay_front_ports_unpublish(ports, "box");
        first = asked();
        assert_true(first.is_drop && first.port == 20003);
        assert_int_equal(asked().port, 30001);
        assert_int_equal(cay_front_ports_find(ports, second.serial, &at), -1);
}

static void an_answer_that_nobody_waits_for_is_dropped(void **state)
{
        struct cay_spec_port p = { .inside = 18765 };
        struct cay_hand_listen a;

        (void)state;
        publish(&p, 1);
        a = asked();
        cay_front_ports_unpublish(ports, "box");
        settle();
        assert_int_equal(done, 1);
        assert_int_equal(job.err.code, CAY_LIMIT);
        nothing_asked();
        assert_int_equal(answer(a.serial, 20000), 1);
        a = asked();
        assert_true(a.is_drop && a.port == 20000);
}

static void a_refusal_is_an_error_and_nonsense_the_end(void **state)
{
        struct cay_spec_port p = { .inside = 18765 };

        (void)state;
        publish(&p, 1);
        assert_int_equal(answer(asked().serial, 0), 1);
        settle();
        assert_int_equal(done, 1);
        assert_int_equal(job.err.code, CAY_LIMIT);
        assert_int_equal(cay_front_ports_hear(ports), 0); /* nothing there, or another's */
        assert_int_equal(send(keeper, "0123456789012345", 16, 0), 16);
        assert_int_equal(cay_front_ports_hear(ports), -1);
}

static void the_end_ends_what_is_waited_for(void **state)
{
        struct cay_spec_port p = { .inside = 18765 };

        (void)state;
        publish(&p, 1);
        asked();
        cay_front_ports_stop(ports);
        cay_front_ports_unpublish(ports, "box"); /* the keeper's for the next front */
        nothing_asked();
        cay_front_ports_free(cay_take(ports));
        settle();
        assert_int_equal(done, 1);
        assert_int_not_equal(job.err.code, CAY_OK);
}

static void there_is_a_limit(void **state)
{
        struct cay_spec_port p = { .inside = 18765 };
        char name[16];

        (void)state;
        for (unsigned i = 0; i < CAY_HAND_PORTS_MAX; i++) {
                snprintf(name, sizeof(name), "box%u", i);
                cay_job_init(&job, on_done);
                cay_front_ports_publish(ports, name, &p, 1, &job);
                assert_int_equal(answer(asked().serial, 20000 + i), 1);
                settle();
        }
        publish(&p, 1);
        nothing_asked();
        settle();
        assert_int_equal(job.err.code, CAY_LIMIT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(two_ports_are_one_job, setup, teardown),
                cmocka_unit_test_setup_teardown(an_answer_that_nobody_waits_for_is_dropped, setup, teardown),
                cmocka_unit_test_setup_teardown(a_refusal_is_an_error_and_nonsense_the_end, setup, teardown),
                cmocka_unit_test_setup_teardown(the_end_ends_what_is_waited_for, setup, teardown),
                cmocka_unit_test_setup_teardown(there_is_a_limit, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
