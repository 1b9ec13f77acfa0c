/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A box with a way out: its sockets come to whoever the plan names, belong to the box's namespace, and can be
 * made anew.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

#include "foundation/sys/net_divert.h"
#include "foundation/sys/unix_socket.h"
#include "rig.h"

static struct rig rig;
static struct rig_box box;
static int sockets[SYS_DIVERT_SOCKETS] = { -1, -1, -1, -1, -1, -1, -1 }; /* the first: tcp */

static void close_sockets(void)
{
        for (unsigned i = 0; i < SYS_DIVERT_SOCKETS; i++) {
                if (sockets[i] >= 0)
                        close(sockets[i]);
                sockets[i] = -1;
        }
}

static int set_up(void **state)
{
        int r = rig_set_up(state);

        box.link = -1;
        rig_start(&rig, NULL);
        return r;
}

static int tear_down(void **state)
{
        close_sockets();
        rig_box_close(&box);
        rig_abandon(&rig);
        return rig_tear_down(state);
}

static bool take_sockets(int from)
{
        struct wire_network_sockets head = { 0 };
        struct pollfd p = { .fd = from, .events = POLLIN };
        int fds[SYS_FDS_MAX];
        unsigned count = 0;

        close_sockets();
        if (poll(&p, 1, 0) != 1 || sys_recv_fds(from, &head, sizeof(head), fds, &count, 0) != sizeof(head))
                return false;
        assert_int_equal(head.magic, WIRE_MAGIC);
        assert_int_equal(head.result, 0);
        assert_int_equal(count, SYS_DIVERT_SOCKETS);
        memcpy(sockets, fds, sizeof(sockets));
        return true;
}

static struct wire_answer make(uint32_t mode, int rootfs)
{
        struct wire_plan p = rig_plan("net");
        struct wire_answer a;
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        p.flags |= WIRE_PLAN_NETWORK;
        p.network = mode;
        a = rig_make_network(&rig, &p, rootfs, pair[1], &box);
        close(pair[1]);
        if (a.code == CAY_OK)
                assert_true(take_sockets(pair[0])); /* they are there before the box is */
        close(pair[0]);
        return a;
}

/* The connection that the box makes to an address comes to us under that address. */
static void connects_to(const char *address, unsigned port)
{
        struct sockaddr_in6 name = { 0 };
        socklen_t len = sizeof(name);
        struct pollfd p = { .fd = sockets[0], .events = POLLIN };
        char text[INET6_ADDRSTRLEN], mapped[64];
        int fd;

        assert_string_equal(rig_tell(&box, "connect %s %u", address, port), "begun");
        assert_int_equal(poll(&p, 1, RIG_WAIT_MS), 1);
        fd = accept(sockets[0], NULL, NULL);
        assert_true(fd >= 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &len), 0);
        inet_ntop(AF_INET6, &name.sin6_addr, text, sizeof(text));
        snprintf(mapped, sizeof(mapped), "%s%s", strchr(address, ':') ? "" : "::ffff:", address);
        assert_string_equal(text, mapped);
        assert_int_equal(ntohs(name.sin6_port), port);
        close(fd);
}

static void is_refused(const char *address, unsigned port)
{
        const char *got = rig_tell(&box, "connect %s %u", address, port);

        if (strcmp(got, "refused") != 0)
                fail_msg("connect %s: %s", address, got);
}

static void test_names_only(void **state)
{
        rig_must(make(WIRE_NETWORK_NAMES, -1));
        assert_string_equal(rig_tell(&box, "read /etc/resolv.conf"), "nameserver 127.0.0.1\n");
        connects_to("198.18.0.1", 443);
        connects_to("198.19.255.254", 22);
        connects_to("fdca:c0de::1", 443);
        is_refused("192.0.2.77", 443);
        is_refused("169.254.169.254", 80);
        is_refused("2001:db8::1", 443);
        rig_stop(&rig);
}

static void test_all_addresses(void **state)
{
        rig_must(make(WIRE_NETWORK_ADDRESSES, -1));
        connects_to("203.0.113.5", 8080);
        connects_to("2001:db8::5", 443);
        rig_stop(&rig);
}

/* Private addresses and cloud metadata are the kernel's to refuse. */
static void test_public_addresses(void **state)
{
        rig_must(make(WIRE_NETWORK_PUBLIC | WIRE_NETWORK_UDP, -1));
        connects_to("8.8.8.8", 8080);
        connects_to("198.18.0.1", 443);
        connects_to("2600::5", 443);
        is_refused("10.1.2.3", 80);
        is_refused("169.254.169.254", 80);
        is_refused("fd00::1", 80);
        rig_stop(&rig);
}

static struct wire_answer change(const char *id, uint32_t mode, int to)
{
        struct wire_request req = rig_request(&rig, WIRE_box_network);

        snprintf(req.network.id, sizeof(req.network.id), "%s", id);
        req.network.mode = mode;
        return rig_ask(&rig, &req, &to, to >= 0);
}

/* The rules of a box that runs, while its sockets stay. */
static void test_rules_change(void **state)
{
        rig_must(make(WIRE_NETWORK_NAMES, -1));
        is_refused("203.0.113.5", 443);
        rig_must(change("net", WIRE_NETWORK_ADDRESSES, -1));
        connects_to("203.0.113.5", 443);
        rig_must(change("net", WIRE_NETWORK_NAMES, -1));
        is_refused("203.0.113.5", 443);
        connects_to("198.18.0.1", 443);
        assert_int_equal(change("net", 0, -1).code, CAY_UNAVAILABLE);
        assert_int_equal(change("net", WIRE_NETWORK_ALL + 1, -1).code, CAY_UNAVAILABLE);
        assert_int_equal(change("nobody", WIRE_NETWORK_NAMES, -1).code, CAY_NOT_FOUND);
        rig_stop(&rig);
}

/* Whoever had the sockets is gone: connections are refused, until somebody has new ones. */
static void test_new_sockets(void **state)
{
        int pair[2];

        rig_must(make(WIRE_NETWORK_NAMES, -1));
        close_sockets();
        is_refused("198.18.0.1", 443);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        rig_must(change("net", WIRE_NETWORK_NAMES, pair[1]));
        assert_true(take_sockets(pair[0]));
        connects_to("198.18.0.1", 443);
        /* While somebody has them there are no others. */
        assert_int_equal(change("net", WIRE_NETWORK_NAMES, pair[1]).code, CAY_UNAVAILABLE);
        close(pair[0]);
        close(pair[1]);
        rig_stop(&rig);
}

/* An image's own resolv.conf, even one that is a link out of it, is replaced and not followed. */
static void test_image_with_link(void **state)
{
        int image = rig_image("linked");

        assert_int_equal(mkdirat(image, "etc", 0755), 0);
        assert_int_equal(symlinkat("../../../../tmp/cay-elsewhere", image, "etc/resolv.conf"), 0);
        rig_must(make(WIRE_NETWORK_NAMES, image));
        assert_string_equal(rig_tell(&box, "read /etc/resolv.conf"), "nameserver 127.0.0.1\n");
        assert_int_equal(access("/tmp/cay-elsewhere", F_OK), -1);
        close(image);
        rig_stop(&rig);
}

/* A box that was made without a way out can be given one, and is then as any other. */
static void test_without_one(void **state)
{
        int pair[2];

        rig_must_make(&rig, "plain", &box);
        assert_string_equal(rig_tell(&box, "connect 198.18.0.1 443"), "Network is unreachable");
        assert_int_equal(change("plain", WIRE_NETWORK_NAMES, -1).code,
                         CAY_UNAVAILABLE); /* nobody gets the sockets */
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        rig_must(change("plain", WIRE_NETWORK_NAMES, pair[1]));
        assert_true(take_sockets(pair[0]));
        connects_to("198.18.0.1", 443);
        is_refused("203.0.113.5", 443);
        rig_must(change("plain", WIRE_NETWORK_ADDRESSES, -1));
        connects_to("203.0.113.5", 443);
        close(pair[0]);
        close(pair[1]);
        rig_stop(&rig);
}

/* An image's resolv.conf would be in the way of a network that it is given later. */
static void test_image_without_one(void **state)
{
        struct wire_plan p = rig_plan("image");
        int image = rig_image("plain-image");

        p.flags &= ~(uint32_t)WIRE_PLAN_ONE_SHOT;
        assert_int_equal(mkdirat(image, "etc", 0755), 0);
        rig_must(rig_make(&rig, &p, image, -1, &box));
        assert_string_equal(rig_tell(&box, "read /etc/resolv.conf"), "nameserver 127.0.0.1\n");
        close(image);
        rig_stop(&rig);
}

static void test_bad_plans(void **state)
{
        int file = open("/dev/null", O_RDWR | O_CLOEXEC);
        struct wire_plan p = rig_plan("bad");

        assert_int_equal(make(0, -1).code, CAY_INVALID);
        assert_int_equal(make(WIRE_NETWORK_ALL + 1, -1).code, CAY_INVALID);
        p.flags |= WIRE_PLAN_NETWORK;
        p.network = WIRE_NETWORK_NAMES;
        assert_int_equal(rig_make(&rig, &p, -1, -1, &box).code, CAY_INVALID); /* no socket */
        assert_int_equal(rig_make_network(&rig, &p, -1, file, &box).code, CAY_INVALID);
        close(file);
        rig_stop(&rig);
}

#define rigged(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                rigged(test_names_only),   rigged(test_all_addresses),     rigged(test_public_addresses),
                rigged(test_rules_change), rigged(test_new_sockets),       rigged(test_image_with_link),
                rigged(test_without_one),  rigged(test_image_without_one), rigged(test_bad_plans),
        };

        return cmocka_run_group_tests(tests, rig_group_set_up, rig_group_tear_down);
}
