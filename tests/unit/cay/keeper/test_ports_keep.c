/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper's listening sockets: what a front gets, what the next one finds again, and how many there can
 * be.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "cay/keeper/ports_keep.h"
#include "foundation/sys/unix_socket.h"

static struct cay_ports_keep keep;
static int socks[2];

static int setup(void **state)
{
        (void)state;
        memset(&keep, 0, sizeof(keep));
        return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks);
}

static int teardown(void **state)
{
        (void)state;
        cay_ports_keep_done(&keep);
        assert_int_equal(keep.count, 0);
        close(socks[0]);
        close(socks[1]);
        return 0;
}

/* The port that was given, and its socket. */
static unsigned ask(unsigned wish, int *ret_fd)
{
        const struct cay_hand_listen a = {
                .magic = CAY_HAND_MAGIC, .size = sizeof(a), .serial = 7, .port = wish
        };
        struct cay_hand_listening say = { 0 };
        int fds[SYS_FDS_MAX];
        unsigned count = 0;

        cay_ports_keep_on_ask(&keep, socks[0], &a);
        assert_int_equal(sys_recv_fds(socks[1], &say, sizeof(say), fds, &count, MSG_DONTWAIT), sizeof(say));
        assert_int_equal(say.magic, CAY_HAND_MAGIC);
        assert_int_equal(say.serial, 7);
        assert_int_equal(count, say.port != 0);
        *ret_fd = count ? fds[0] : -1;
        return say.port;
}

static void drop(unsigned port)
{
        const struct cay_hand_listen a = {
                .magic = CAY_HAND_MAGIC, .size = sizeof(a), .port = port, .is_drop = 1
        };

        cay_ports_keep_on_ask(&keep, socks[0], &a);
}

/* Does anybody listen there? */
static bool answers(unsigned port, const char *address)
{
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

        assert_true(fd >= 0);
        assert_int_equal(inet_pton(AF_INET, address, &at.sin_addr), 1);
        r = connect(fd, (struct sockaddr *)&at, sizeof(at));
        close(fd);
        return r == 0;
}

static void a_front_gets_one_that_listens_on_loopback(void **state)
{
        unsigned port, next;
        int fd, other;

        (void)state;
        port = ask(0, &fd);
        assert_in_range(port, CAY_HAND_PORT_FIRST, CAY_HAND_PORT_LAST);
        assert_true(answers(port, "127.0.0.1"));
        assert_false(answers(port, "127.0.0.2"));
        next = ask(port, &other); /* taken: no error, another one */
        assert_true(next != 0 && next != port);
        close(fd);
        assert_true(answers(port, "127.0.0.1")); /* the keeper has it */
        drop(port);
        assert_false(answers(port, "127.0.0.1"));
        drop(port); /* which is nobody's */
        close(other);
        assert_int_equal(keep.count, 1);
}

static void the_next_front_finds_its_ports(void **state)
{
        unsigned port, unwanted;
        int fd;

        (void)state;
        port = ask(0, &fd);
        close(fd);
        unwanted = ask(0, &fd);
        close(fd);
        cay_ports_keep_before_front(&keep);
        assert_int_equal(ask(port, &fd), port);
        close(fd);
        assert_int_equal(keep.count, 2);
        cay_ports_keep_sweep(&keep);
        assert_int_equal(keep.count, 1);
        assert_true(answers(port, "127.0.0.1"));
        assert_false(answers(unwanted, "127.0.0.1"));
}

/* Whoever has taken the front over waits nowhere where a service of the host may come back. */
static void no_port_of_others_is_given(void **state)
{
        static const unsigned wishes[] = { 80,    5432, CAY_HAND_PORT_FIRST - 1, CAY_HAND_PORT_LAST + 1,
                                           65535, 65536 };
        int fd;

        (void)state;
        for (unsigned i = 0; i < CAY_COUNT(wishes); i++) {
                assert_in_range(ask(wishes[i], &fd), CAY_HAND_PORT_FIRST, CAY_HAND_PORT_LAST);
                close(fd);
        }
}

static void one_that_was_let_go_comes_back_late(void **state)
{
        unsigned first, second;
        int fd;

        (void)state;
        first = ask(0, &fd);
        close(fd);
        drop(first);
        second = ask(0, &fd);
        close(fd);
        assert_int_not_equal(first, second);
}

static void the_next_program_has_them_all_the_time(void **state)
{
        struct cay_ports_keep next = { 0 };
        int32_t fds[CAY_HAND_PORTS_MAX];
        unsigned port;
        int fd;

        (void)state;
        port = ask(0, &fd);
        close(fd);
        cay_ports_keep_take_over(&next, fds, cay_ports_keep_tell(&keep, fds));
        keep = next; /* as after an execve */
        assert_true(answers(port, "127.0.0.1"));
        assert_int_equal(ask(port, &fd), port);
        close(fd);
        assert_int_equal(keep.count, 1);
}

static void there_is_a_limit(void **state)
{
        int fd;

        (void)state;
        for (unsigned i = 0; i < CAY_HAND_PORTS_MAX; i++) {
                assert_true(ask(0, &fd) != 0);
                close(fd);
        }
        assert_int_equal(ask(0, &fd), 0);
        assert_int_equal(keep.count, CAY_HAND_PORTS_MAX);
}

static void a_front_that_does_not_listen_gets_nothing(void **state)
{
        const struct cay_hand_listen a = { .magic = CAY_HAND_MAGIC, .size = sizeof(a) };

        (void)state;
        shutdown(socks[1], SHUT_RDWR);
        cay_ports_keep_on_ask(&keep, socks[0], &a);
        assert_int_equal(keep.count, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_front_gets_one_that_listens_on_loopback, setup, teardown),
                cmocka_unit_test_setup_teardown(the_next_front_finds_its_ports, setup, teardown),
                cmocka_unit_test_setup_teardown(no_port_of_others_is_given, setup, teardown),
                cmocka_unit_test_setup_teardown(one_that_was_let_go_comes_back_late, setup, teardown),
                cmocka_unit_test_setup_teardown(the_next_program_has_them_all_the_time, setup, teardown),
                cmocka_unit_test_setup_teardown(there_is_a_limit, setup, teardown),
                cmocka_unit_test_setup_teardown(a_front_that_does_not_listen_gets_nothing, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
