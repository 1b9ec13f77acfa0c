/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written to a socket and not read shows in the sum, whatever the family; read, it is gone from it.
 */
#include "foundation/sys/sock_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static uint64_t sum(void)
{
        int fd = sys_sock_memory_open();
        uint64_t bytes = 0;

        assert_true(fd >= 0);
        assert_int_equal(sys_sock_memory_sum(fd, &bytes), 0);
        close(fd);
        return bytes;
}

static size_t fill(int fd)
{
        static char block[4096];
        size_t had = 0;
        ssize_t n;

        while ((n = send(fd, block, sizeof(block), MSG_DONTWAIT)) > 0)
                had += (size_t)n;
        return had;
}

static void grows_by_what_waits(int from, int to)
{
        uint64_t before = sum();
        size_t had = fill(from);

        assert_true(had > 16384);
        assert_true(sum() >= before + had / 2); /* others of this machine may let go of some meanwhile */
        close(from);
        close(to);
}

static void test_unix(void **state)
{
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        grows_by_what_waits(pair[0], pair[1]);
}

static void stream(int family)
{
        struct sockaddr_storage at = { .ss_family = (sa_family_t)family };
        socklen_t len = sizeof(at);
        int listener = socket(family, SOCK_STREAM, 0), from = socket(family, SOCK_STREAM, 0);

        if (family == AF_INET)
                ((struct sockaddr_in *)&at)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        else
                ((struct sockaddr_in6 *)&at)->sin6_addr = in6addr_loopback;
        if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof(at)) < 0)
                skip();
        assert_int_equal(listen(listener, 1), 0);
        assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
        assert_int_equal(connect(from, (struct sockaddr *)&at, len), 0);
        grows_by_what_waits(from, accept(listener, NULL, NULL));
        close(listener);
}

static void test_tcp(void **state)
{
        stream(AF_INET);
}

static void test_tcp6(void **state)
{
        stream(AF_INET6);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_unix), cmocka_unit_test(test_tcp),
                                            cmocka_unit_test(test_tcp6) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
