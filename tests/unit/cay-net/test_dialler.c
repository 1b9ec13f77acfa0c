/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of the daemon itself: which addresses they may go to, and how their outcome is told. */
#include "cay-net/dialler.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "foundation/base/str.h"
#include "foundation/sys/route.h"
#include "foundation/sys/unix_socket.h"

static struct net_world world;
static struct net_dialler dialler;

static int set_up(void **state)
{
        world = (struct net_world){ .loop = cay_loop_new(), .routes = sys_route_open() };
        world.resolver = net_resolver_new(world.loop, "/etc/resolv.conf");
        dialler = (struct net_dialler){ .world = &world };
        return world.resolver && world.routes >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
        net_dialler_done(&dialler);
        net_resolver_free(world.resolver);
        cay_loop_round(world.loop, 0);
        close(world.routes);
        cay_loop_free(world.loop);
        return 0;
}

static const char *why_not(const char *address, bool may_private)
{
        static char text[NET_WHY];
        struct cay_address a;

        assert_true(cay_address_parse(address, &a));
        return net_dialler_why_not(&world, "h.example", may_private, &a, text);
}

static void only_public_addresses_without_a_permit(void **state)
{
        static const char *const inside[] = { "127.0.0.1",
                                              "127.8.8.8",
                                              "10.0.0.1",
                                              "192.168.1.1",
                                              "172.16.0.1",
                                              "169.254.169.254",
                                              "0.0.0.0",
                                              "100.64.0.1",
                                              "::1",
                                              "::",
                                              "fe80::1",
                                              "fd00::1",
                                              "::ffff:10.0.0.1",
                                              "64:ff9b::a00:1",
                                              "224.0.0.1",
                                              "255.255.255.255" };

        for (unsigned i = 0; i < CAY_COUNT(inside); i++) {
                const char *why = why_not(inside[i], false);

                assert_non_null(why);
                assert_non_null(strstr(why, "h.example"));
                assert_null(
                        strstr(why, inside[i])); /* where a name of the inside leads is nobody's business */
                assert_null(why_not(inside[i], true));
        }
}

/* The outcome, when it is there. */
static int await(int call, int *ret_fd, struct net_dialled *ret)
{
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        ssize_t n;

        while ((n = sys_recv_fds(call, ret, sizeof(*ret), fds, &count, MSG_DONTWAIT)) == -EAGAIN)
                assert_int_equal(cay_loop_round(world.loop, 1000), 0);
        assert_int_equal(n, sizeof(*ret));
        assert_int_equal(ret->magic, NET_DIALLED_MAGIC);
        *ret_fd = count == 1 ? fds[0] : -1;
        return (int)ret->code;
}

static int begin(const char *host, uint16_t port, bool may_private)
{
        struct net_dial_request req = { .port = port, .may_private = may_private };
        int ends[2];

        cay_str_copy(req.host, sizeof(req.host), host);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        net_dialler_begin_take(&dialler, &req, ends[1]);
        return ends[0];
}

static int listen_here(uint16_t *ret_port)
{
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t len = sizeof(at);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
        assert_int_equal(listen(fd, 8), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
        *ret_port = ntohs(at.sin_port);
        return fd;
}

static void a_connection_comes_as_a_descriptor(void **state)
{
        struct net_dialled got;
        uint16_t port;
        int listener = listen_here(&port), call, fd, other;
        char byte = 0;

        call = begin("127.0.0.1", port, true);
        assert_int_equal(await(call, &fd, &got), CAY_OK);
        assert_true(fd >= 0);
        other = accept(listener, NULL, NULL);
        assert_int_equal(write(other, "x", 1), 1);
        while (read(fd, &byte, 1) < 0)
                assert_int_equal(errno, EAGAIN);
        assert_int_equal(byte, 'x');
        close(other);
        close(fd);
        close(call);
        close(listener);
        call = begin("127.0.0.1", port, true); /* nobody listens any more */
        assert_int_equal(await(call, &fd, &got), CAY_UNAVAILABLE);
        assert_non_null(strstr(got.text, "refused"));
        close(call);
        call = begin("127.0.0.1", port, false);
        assert_int_equal(await(call, &fd, &got), CAY_DENIED);
        close(call);
        assert_int_equal(dialler.count, 0);
}

static void calls_are_few_and_end_with_their_front(void **state)
{
        struct net_dialled got;
        int calls[NET_CALLS_MAX + 1], fd;

        for (unsigned i = 0; i <= NET_CALLS_MAX;
             i++) /* an address of documentation: nobody answers, or there is no route */
                calls[i] = begin("192.0.2.1", 9, true);
        if (dialler.count == NET_CALLS_MAX)
                assert_int_equal(await(calls[NET_CALLS_MAX], &fd, &got), CAY_LIMIT);
        for (unsigned i = 0; i <= NET_CALLS_MAX; i++)
                close(calls[i]);
        while (dialler.count > 0)
                assert_int_equal(cay_loop_round(world.loop, 1000), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                T(only_public_addresses_without_a_permit),
                T(a_connection_comes_as_a_descriptor),
                T(calls_are_few_and_end_with_their_front),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
