/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In a namespace of its own: what leaves arrives at the socket with the address it was for, and what must not
 * is refused at once.
 */
#include "foundation/sys/net_divert.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "patience.h"
#include "foundation/sys/netlink.h"
#include "sys_test.h"

static struct sys_divert_sockets sockets;

static void (*test)(void);

static void enter_and_run(void)
{
        if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
                skip_child("no user namespace can be made here");
        test();
}

/* Runs a test in a child with user and network namespaces of its own, all capabilities in them. */
static void in_namespace(void (*run)(void))
{
        test = run;
        in_child(enter_and_run);
}

static socklen_t address_of(const char *text, uint16_t port, struct sockaddr_storage *ret)
{
        struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

        memset(ret, 0, sizeof(*ret));
        if (strchr(text, ':') == NULL) {
                v4->sin_family = AF_INET;
                v4->sin_port = htons(port);
                check(inet_pton(AF_INET, text, &v4->sin_addr) == 1);
                return sizeof(*v4);
        }
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        check(inet_pton(AF_INET6, text, &v6->sin6_addr) == 1);
        return sizeof(*v6);
}

/* 0, or the errno of the connect. */
static int try_connect(const char *to, uint16_t port, int *ret_fd)
{
        struct sockaddr_storage address;
        socklen_t len = address_of(to, port, &address);
        int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

        check(fd >= 0);
        r = connect(fd, (struct sockaddr *)&address, len) < 0 ? errno : 0;
        if (ret_fd != NULL)
                *ret_fd = fd;
        else
                close(fd);
        return r;
}

static int accept_one(void)
{
        struct pollfd ready = { .fd = sockets.tcp, .events = POLLIN };
        int fd;

        check(poll(&ready, 1, (int)test_patience(5000)) == 1);
        fd = accept(sockets.tcp, NULL, NULL);
        check(fd >= 0);
        return fd;
}

static void nobody_waits(void)
{
        check(accept(sockets.tcp, NULL, NULL) < 0 && errno == EAGAIN);
}

/* The program's connection arrives under the name it asked for, and bytes go both ways. */
static void arrives(const char *to, uint16_t port)
{
        struct sockaddr_in6 own;
        socklen_t len = sizeof(own);
        char text[INET6_ADDRSTRLEN], byte = 0;
        const char *name = text;
        int inside, taken;

        check(try_connect(to, port, &inside) == 0);
        taken = accept_one();
        check(getsockname(taken, (struct sockaddr *)&own, &len) == 0);
        check(own.sin6_family == AF_INET6 && ntohs(own.sin6_port) == port);
        check(inet_ntop(AF_INET6, &own.sin6_addr, text, sizeof(text)) != NULL);
        if (strncmp(name, "::ffff:", 7) == 0)
                name += 7;
        check(strcmp(name, to) == 0);
        check(write(inside, "a", 1) == 1 && read(taken, &byte, 1) == 1 && byte == 'a');
        check(write(taken, "b", 1) == 1 && read(inside, &byte, 1) == 1 && byte == 'b');
        close(taken);
        check(read(inside, &byte, 1) == 0);
        close(inside);
}

static void refused(const char *to, uint16_t port)
{
        check(try_connect(to, port, NULL) == ECONNREFUSED);
        nobody_waits();
}

static void udp_fails_quickly(const char *to)
{
        struct sockaddr_storage address;
        socklen_t len = address_of(to, 443, &address);
        int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        check(fd >= 0);
        check(connect(fd, (struct sockaddr *)&address, len) == 0);
        check(send(fd, "x", 1, 0) < 0);
        check(errno == EPERM || errno == ECONNREFUSED);
        close(fd);
}

/*
 * The error comes a moment later, by ICMP, of which the kernel sends only so many at a time: hence more than
 * one try.
 */
static void udp_is_refused(const char *to)
{
        const struct timeval patience = { .tv_usec = 200000 };
        struct sockaddr_storage address;
        socklen_t len = address_of(to, 443, &address);
        int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        char byte;

        check(connect(fd, (struct sockaddr *)&address, len) == 0);
        check(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0);
        for (unsigned tries = 0; tries < 300; tries++) {
                if (send(fd, "x", 1, 0) < 0 && errno == ECONNREFUSED)
                        break; /* the error of the one before */
                check(recv(fd, &byte, 1, 0) < 0);
                if (errno == ECONNREFUSED)
                        break;
                check(errno == EAGAIN && tries < 299);
        }
        close(fd);
}

static void set_up(unsigned mode)
{
        int r = sys_divert_set_up(mode, &sockets);

        if (r == -EPROTONOSUPPORT || r == -EOPNOTSUPP || r == -ENOENT)
                skip_child("no nf_tables here");
        errno = -r;
        check(r == 0);
}

/*
 * A datagram arrives with the address it was sent to, whatever that is; nobody else can have the socket's
 * port.
 */
static void datagram_arrives(const char *to)
{
        struct sockaddr_storage address, own;
        struct sockaddr_in6 from, *asked = NULL;
        struct sockaddr_in *asked4 = NULL;
        socklen_t len = address_of(to, 123, &address), own_len = sizeof(own);
        int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), one = 1;
        struct pollfd ready = { .fd = sockets.udp, .events = POLLIN };
        char byte = 0, text[INET6_ADDRSTRLEN];
        _Alignas(struct cmsghdr) char control[256];
        struct iovec part = { &byte, 1 };
        struct msghdr m = { .msg_name = &from,
                            .msg_namelen = sizeof(from),
                            .msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control,
                            .msg_controllen = sizeof(control) };

        check(connect(fd, (struct sockaddr *)&address, len) == 0 && send(fd, "d", 1, 0) == 1);
        check(poll(&ready, 1, (int)test_patience(5000)) == 1);
        check(recvmsg(sockets.udp, &m, 0) == 1 && byte == 'd');
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
                if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_ORIGDSTADDR)
                        asked = (struct sockaddr_in6 *)CMSG_DATA(c);
                if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_ORIGDSTADDR)
                        asked4 = (struct sockaddr_in *)CMSG_DATA(c);
        }
        check(asked != NULL || asked4 != NULL);
        check(inet_ntop(address.ss_family,
                        asked4 != NULL ? (void *)&asked4->sin_addr : (void *)&asked->sin6_addr, text,
                        sizeof(text)) != NULL);
        check(strcmp(text, to) == 0);
        check(ntohs(asked4 != NULL ? asked4->sin_port : asked->sin6_port) == 123);
        check(getsockname(fd, (struct sockaddr *)&own, &own_len) == 0);
        close(fd);
        fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        len = address_of("127.0.0.1", SYS_DIVERT_PORT, &address);
        check(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0);
        check(bind(fd, (struct sockaddr *)&address, len) < 0 && errno == EADDRINUSE);
        close(fd);
}

static void datagrams(void)
{
        set_up(SYS_DIVERT_ADDRESSES | SYS_DIVERT_UDP);
        datagram_arrives("198.18.0.1");
        datagram_arrives("8.8.8.8");
        datagram_arrives("fdca:c0de::5");
        datagram_arrives("2001:db8::1");
        sys_divert_close(&sockets);
        udp_is_refused("2001:db8::1"); /* nobody has the socket any more */
        check(sys_divert_open(SYS_DIVERT_ADDRESSES | SYS_DIVERT_UDP, &sockets) == 0);
        datagram_arrives("8.8.8.8");
}

static void test_datagrams(void **state)
{
        in_namespace(datagrams);
}

/* Sockets that connect inside, from wherever they are used; disconnected they are as new. */
static void dials(void)
{
        const struct sockaddr nobody = { .sa_family = AF_UNSPEC };
        struct sockaddr_storage address;
        socklen_t len = address_of(SYS_DIVERT_OWN_V4, 8000, &address);
        int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
        char byte;

        set_up(SYS_DIVERT_NAMES | SYS_DIVERT_DIAL);
        check(sockets.dial_count == SYS_DIVERT_DIALS);
        check(bind(server, (struct sockaddr *)&address, len) == 0 && listen(server, 1) == 0);
        check(unshare(CLONE_NEWNET) == 0);
        for (unsigned i = 0; i < 3; i++) {
                struct pollfd ready = { .fd = sockets.dials[0], .events = POLLOUT };

                check(connect(sockets.dials[0], (struct sockaddr *)&address, len) == 0 ||
                      errno == EINPROGRESS);
                check(poll(&ready, 1, (int)test_patience(5000)) == 1);
                fd = accept(server, NULL, NULL);
                check(fd >= 0 && write(sockets.dials[0], "x", 1) == 1 && read(fd, &byte, 1) == 1);
                check(connect(sockets.dials[0], &nobody, sizeof(nobody)) == 0);
                close(fd);
        }
}

static void test_dials(void **state)
{
        in_namespace(dials);
}

/* What is not public is refused by the kernel; the rest arrives. */
static void public_alone(void)
{
        set_up(SYS_DIVERT_PUBLIC | SYS_DIVERT_UDP);
        arrives("198.18.0.1", 443);
        arrives("fdca:c0de::5", 443);
        arrives("8.8.8.8", 443);
        arrives("192.167.255.255", 443);
        arrives("2600::1", 443);
        arrives("64:ff9b::808:808", 443); /* NAT64: what is inside may be public */
        datagram_arrives("8.8.8.8");
        datagram_arrives("198.18.0.1");
        refused("10.0.0.1", 80);
        refused("100.64.0.1", 80);
        refused("169.254.169.254", 80);
        refused("172.31.255.255", 80);
        refused("192.168.1.1", 80);
        refused("240.0.0.1", 80);
        refused("fd00::1", 80);
        udp_fails_quickly("10.0.0.1");
        udp_fails_quickly("169.254.169.254");
}

static void test_public_alone(void **state)
{
        in_namespace(public_alone);
}

static void names_alone(void)
{
        set_up(SYS_DIVERT_NAMES);
        arrives("198.18.0.1", 443);
        arrives("198.19.255.255", 22);
        arrives("fdca:c0de::5", 8080);
        refused("198.20.0.1", 443);
        refused("198.17.255.255", 443);
        refused("8.8.8.8", 53);
        refused("10.0.0.1", 80);
        refused("169.254.169.254", 80);
        refused("fdca:c0de:0:2::5", 443);
        refused("2001:db8::1", 443);
        udp_fails_quickly("198.18.0.1");
        udp_fails_quickly("2001:db8::1");
}

static void test_names_alone(void **state)
{
        in_namespace(names_alone);
}

static void all_addresses(void)
{
        set_up(SYS_DIVERT_ADDRESSES);
        arrives("198.18.0.1", 443);
        arrives("8.8.8.8", 443);
        arrives("10.0.0.1", 80);
        arrives("2001:db8::1", 443);
        udp_fails_quickly("8.8.8.8");
}

static void test_all_addresses(void **state)
{
        in_namespace(all_addresses);
}

static void loopback(void)
{
        struct sockaddr_storage address;
        socklen_t len = address_of("127.0.0.1", 8000, &address);
        struct sockaddr_in6 own;
        socklen_t own_len = sizeof(own);
        int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), inside, taken;

        set_up(SYS_DIVERT_ADDRESSES);
        check(bind(server, (struct sockaddr *)&address, len) == 0 && listen(server, 1) == 0);
        check(try_connect("127.0.0.1", 8000, NULL) == 0);
        check(accept(server, NULL, NULL) >= 0);
        refused("127.0.0.1", 8001);
        refused("::1", 8001);
        /* Straight to the listener: it shows in the name, which is what is judged. */
        check(try_connect("127.0.0.1", SYS_DIVERT_PORT, &inside) == 0);
        taken = accept_one();
        check(getsockname(taken, (struct sockaddr *)&own, &own_len) == 0);
        check(ntohs(own.sin6_port) == SYS_DIVERT_PORT && own.sin6_addr.s6_addr[12] == 127);
}

static void test_loopback_is_left_alone(void **state)
{
        in_namespace(loopback);
}

static void change(void)
{
        set_up(SYS_DIVERT_NAMES);
        refused("8.8.8.8", 443);
        check(sys_divert_change(SYS_DIVERT_ADDRESSES) == 0);
        arrives("8.8.8.8", 443);
        check(sys_divert_change(SYS_DIVERT_NAMES) == 0);
        refused("8.8.8.8", 443);
        arrives("198.18.0.1", 443);
        check(sys_divert_change(SYS_DIVERT_UDP) == -EINVAL);
        check(sys_divert_change(SYS_DIVERT_ALL + 1) == -EINVAL);
        udp_fails_quickly("198.18.0.1");
        check(sys_divert_change(SYS_DIVERT_NAMES | SYS_DIVERT_UDP) == 0);
        datagram_arrives("198.18.0.1");
        udp_fails_quickly("8.8.8.8");
}

static void test_a_change_of_rules(void **state)
{
        in_namespace(change);
}

static void dns(void)
{
        static const char *const at[] = { "127.0.0.1", "::1" };
        char byte;

        set_up(SYS_DIVERT_NAMES);
        for (unsigned i = 0; i < 2; i++) {
                struct sockaddr_storage address, from;
                socklen_t len = address_of(at[i], 53, &address), from_len = sizeof(from);
                int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), tcp;
                struct pollfd ready = { .fd = sockets.dns_udp, .events = POLLIN };

                check(connect(fd, (struct sockaddr *)&address, len) == 0 && send(fd, "q", 1, 0) == 1);
                check(poll(&ready, 1, (int)test_patience(5000)) == 1);
                check(recvfrom(sockets.dns_udp, &byte, 1, 0, (struct sockaddr *)&from, &from_len) == 1 &&
                      byte == 'q');
                check(sendto(sockets.dns_udp, "a", 1, 0, (struct sockaddr *)&from, from_len) == 1);
                check(recv(fd, &byte, 1, 0) == 1 && byte == 'a');
                check(try_connect(at[i], 53, &tcp) == 0);
                close(tcp);
                close(fd);
        }
}

static void test_dns_on_loopback(void **state)
{
        in_namespace(dns);
}

/* glibc leaves out a family that no interface has (AI_ADDRCONFIG); loopback does not count. */
static void both_families(void)
{
        const struct addrinfo hints = { .ai_flags = AI_ADDRCONFIG | AI_NUMERICHOST };
        struct addrinfo *found = NULL;

        set_up(SYS_DIVERT_NAMES);
        check(getaddrinfo("198.18.0.1", NULL, &hints, &found) == 0);
        freeaddrinfo(found);
        check(getaddrinfo("fdca:c0de::1", NULL, &hints, &found) == 0);
        freeaddrinfo(found);
}

static void test_both_families_are_there(void **state)
{
        in_namespace(both_families);
}

static void twice(void)
{
        struct sys_divert_sockets more = { -1, -1, -1, -1, -1, -1 };

        set_up(SYS_DIVERT_NAMES);
        check(sys_divert_set_up(SYS_DIVERT_NAMES, &more) == -EEXIST);
        check(more.tcp == -1);
        arrives("198.18.0.1", 443);
}

static void test_a_second_time_is_refused(void **state)
{
        in_namespace(twice);
}

static void overfull(void)
{
        struct sys_netlink n;
        char text[1000];

        memset(text, 'x', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        check(sys_netlink_open(&n, 0 /* NETLINK_ROUTE */) == 0);
        sys_netlink_begin(&n, 16, 0, true, text, 16);
        for (unsigned i = 0; i < 2 * SYS_NETLINK_MAX / sizeof(text); i++)
                sys_netlink_put_text(&n, 1, text);
        sys_netlink_nest_end(&n, sys_netlink_nest(&n, 2));
        sys_netlink_end(&n);
        check(sys_netlink_send(&n) == -ENOBUFS);
        check(n.len == 0 && !n.is_full);
        check(sys_netlink_send(&n) == 0); /* nothing to say */
        sys_netlink_close(&n);
}

static void test_too_much_for_the_buffer(void **state)
{
        in_namespace(overfull);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names_alone),
                cmocka_unit_test(test_all_addresses),
                cmocka_unit_test(test_public_alone),
                cmocka_unit_test(test_datagrams),
                cmocka_unit_test(test_dials),
                cmocka_unit_test(test_loopback_is_left_alone),
                cmocka_unit_test(test_a_change_of_rules),
                cmocka_unit_test(test_dns_on_loopback),
                cmocka_unit_test(test_both_families_are_there),
                cmocka_unit_test(test_a_second_time_is_refused),
                cmocka_unit_test(test_too_much_for_the_buffer),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
