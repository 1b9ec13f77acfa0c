/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network namespace of a box, and its way out where it has one.
 *
 * A network namespace takes as long to make as all mounts together, and neither needs the other: the helper
 * that started the box makes it while the box mounts, as a member of the box's user namespace, and hands it
 * over. With a way out, it also sets up the addresses, routes and rules that bring everything that leaves to
 * a few sockets, and sends these to whoever the plan names (the broker's side); neither the warden nor the
 * box ever has them. Nothing of the host's network is touched. Where the kernel has no nf_tables, the box has
 * loopback alone, the first of these sockets is a proxy there, and the environment of cay-init, which its
 * commands inherit, says so.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/sys/dir.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/net_divert.h"
#include "foundation/sys/unix_socket.h"
#include "cay-warden/isolate.h"

static const char resolver[] = "nameserver 127.0.0.1\n";

#define HOST_CERTIFICATES "/etc/ssl/certs/ca-certificates.crt"
#define CERTIFICATES "cay-ca.pem" /* CAY_SPEC_CA_FILE, in /etc */
#define CERTIFICATES_MAX (2u << 20)

static int loopback_up(void)
{
        cay_auto_close int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };

        return sock < 0 || ioctl(sock, SIOCSIFFLAGS, &req) < 0 ? -errno : 0;
}

static_assert((unsigned)WIRE_NETWORK_NAMES == SYS_DIVERT_NAMES &&
                      (unsigned)WIRE_NETWORK_ADDRESSES == SYS_DIVERT_ADDRESSES &&
                      (unsigned)WIRE_NETWORK_PUBLIC == SYS_DIVERT_PUBLIC &&
                      (unsigned)WIRE_NETWORK_UDP == SYS_DIVERT_UDP &&
                      (unsigned)WIRE_NETWORK_DIAL == SYS_DIVERT_DIAL &&
                      (unsigned)WIRE_NETWORK_ALL == SYS_DIVERT_ALL,
              "a plan's modes are those of the namespace");

static int send_sockets(int to, struct sys_divert_sockets *s)
{
        struct wire_network_sockets head = { .magic = WIRE_MAGIC, .size = sizeof(head) };
        int fds[SYS_DIVERT_SOCKETS_MAX];
        unsigned count = sys_divert_list(s, fds);
        ssize_t n = sys_send_fds(to, &head, sizeof(head), fds, count, MSG_DONTWAIT);

        sys_divert_close(s);
        return n < 0 ? (int)n : 0;
}

int isolate_set_up_network(uint32_t mode, int to)
{
        struct sys_divert_sockets s;
        int r = sys_divert_set_up(mode, &s), is_plain = 0;

        if (sys_divert_is_lacking(r)) {
                r = sys_divert_set_up_plain(mode, &s);
                is_plain = 1;
        }
        if (r == 0)
                r = send_sockets(to, &s);
        return r < 0 ? r : is_plain;
}

static int set_up_plain(uint32_t mode, int to)
{
        struct sys_divert_sockets s;
        int r = sys_divert_set_up_plain(mode, &s);

        return r < 0 ? r : send_sockets(to, &s) < 0 ? -EPIPE : 1;
}

int isolate_change_network(uint32_t mode, int to)
{
        struct sys_divert_sockets s;
        int r = sys_divert_change(mode);

        if (sys_divert_is_lacking(r)) /* it has a proxy: there are no rules to change */
                r = 0;
        if (r < 0 || to < 0)
                return r;
        r = sys_divert_open(mode, &s);
        return r < 0 ? r : send_sockets(to, &s);
}

static bool has_way_out(const struct isolate *iso)
{
        return iso->plan->flags & WIRE_PLAN_NETWORK;
}

static int set_up(const struct isolate *iso)
{
        if (!has_way_out(iso))
                return loopback_up();
        return isolate_has(iso, CAY_LAYER_DIVERT) ? isolate_set_up_network(iso->plan->network, iso->network)
                                                  : set_up_plain(iso->plan->network, iso->network);
}

void isolate_make_network(struct isolate *iso, int userns)
{
        cay_auto_close int net = -1;
        int32_t result = userns < 0 ? userns : 0;

        if (result == 0 && (setns(userns, CLONE_NEWUSER) < 0 || unshare(CLONE_NEWNET) < 0))
                result = -errno;
        if (result == 0)
                result = set_up(iso);
        if (result >= 0) {
                net = sys_open_at(AT_FDCWD, "/proc/self/ns/net", O_RDONLY, 0);
                result = net < 0 ? net : result;
        }
        sys_send_fds(iso->net_far, &result, sizeof(result), &net, net >= 0, 0);
}

/* Whatever the image or an earlier box has there: a link of it is replaced, never followed. */
static int make_in_etc(struct isolate *iso, const char *name)
{
        cay_auto_close int etc = isolate_dir(iso, "etc", 0755, 0);
        int file;

        if (unlinkat(etc, name, 0) < 0 && errno != ENOENT)
                return -errno;
        file = sys_open_at(etc, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
        if (file >= 0 && fchmod(file, 0644) < 0) {
                close(file);
                return -errno;
        }
        return file;
}

static void write_resolver(struct isolate *iso)
{
        cay_auto_close int file = make_in_etc(iso, "resolv.conf");
        int r = file < 0 ? file : sys_write_all(file, resolver, sizeof(resolver) - 1);

        if (r < 0)
                isolate_fail(iso, r, "write /etc/resolv.conf");
}

/*
 * Later, by request_box_network.c, which writes no file. Without this file resolvers ask loopback, so only an
 * image's own is in the way.
 */
static bool may_get_one(const struct isolate *iso)
{
        return iso->plan->flags & WIRE_PLAN_ROOTFS && !(iso->plan->flags & WIRE_PLAN_ONE_SHOT);
}

/* A host without certificates has none to add. */
static int copy_host_certificates(int to)
{
        static char bytes[16384];
        cay_auto_close int from = sys_open_at(AT_FDCWD, HOST_CERTIFICATES, O_RDONLY | O_NONBLOCK, 0);
        ssize_t n = 0;
        int r = 0;

        for (size_t all = 0; from >= 0 && r == 0 && all < CERTIFICATES_MAX; all += (size_t)n) {
                n = sys_read_all(from, bytes, sizeof(bytes));
                if (n <= 0)
                        break;
                r = sys_write_all(to, bytes, (size_t)n);
        }
        return r;
}

static void write_certificates(struct isolate *iso)
{
        cay_auto_close int file = make_in_etc(iso, CERTIFICATES);
        int r = file < 0 ? file : copy_host_certificates(file);

        if (r == 0)
                r = sys_write_all(file, iso->plan->ca, strnlen(iso->plan->ca, sizeof(iso->plan->ca)));
        if (r < 0)
                isolate_fail(iso, r, "write /etc/" CERTIFICATES);
}

void isolate_enter_network(struct isolate *iso)
{
        int32_t result = -EPIPE;
        int fds[SYS_FDS_MAX];
        unsigned count = 0;

        if (iso->net < 0)
                return;
        if (sys_recv_fds(iso->net, &result, sizeof(result), fds, &count, 0) == (ssize_t)sizeof(result) &&
            result >= 0) {
                iso->is_proxied = result > 0;
                result = count == 1 && setns(fds[0], CLONE_NEWNET) == 0 ? 0 : -errno;
        }
        if (result < 0)
                isolate_fail(iso, result, "make the network namespace");
        sys_close_fds(fds, count);
        if (has_way_out(iso) || may_get_one(iso))
                write_resolver(iso);
        if (iso->plan->flags & WIRE_PLAN_CA)
                write_certificates(iso);
}
