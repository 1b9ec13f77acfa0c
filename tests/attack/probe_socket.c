/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of sockets: families that are not namespaced, and the host's own sockets (security.md 2.2). */
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* A kernel without the family says so in three ways; only without a filter is that the kernel speaking. */
static int family(const char *what, int domain, int type, int protocol)
{
        int fd = socket(domain, type, protocol);

        if (fd < 0 && (errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT || errno == ESOCKTNOSUPPORT))
                return probe_is_filtered() ? held("%s: %s", what, strerror(errno)) : lacks("%s", what);
        return probe_refused(what, fd);
}

static int sock_vsock(char **argv)
{
        return family("a vsock socket", 40, SOCK_STREAM, 0);
}

static int sock_alg(char **argv)
{
        return family("an AF_ALG socket", 38, SOCK_SEQPACKET, 0);
}

static int sock_packet(char **argv)
{
        return family("a packet socket", AF_PACKET, SOCK_RAW, 0);
}

static int sock_packet_old(char **argv)
{
        return family("a packet socket by the old road", AF_INET, SOCK_PACKET, 0);
}

static int sock_raw(char **argv)
{
        return family("a raw socket", AF_INET, SOCK_RAW, IPPROTO_ICMP);
}

static int sock_raw6(char **argv)
{
        return family("a raw IPv6 socket", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6);
}

static int netlink_audit(char **argv)
{
        return family("netlink audit", AF_NETLINK, SOCK_RAW, NETLINK_AUDIT);
}

static int netlink_uevent(char **argv)
{
        return family("netlink uevent", AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT);
}

static int netlink_netfilter(char **argv)
{
        return family("netlink netfilter", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);
}

static int netlink_generic(char **argv)
{
        return family("generic netlink", AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
}

static int sock_mptcp(char **argv)
{
        return family("a multipath TCP socket", AF_INET, SOCK_STREAM, 262);
}

/* Packets in sequence are SCTP's: asking for them loads its module. */
static int sock_sequence(char **argv)
{
        static const int families[] = { AF_INET, AF_INET6 };

        for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
                int fd = socket(families[i], SOCK_SEQPACKET, 0);

                if (fd >= 0 || errno != EPERM)
                        return broke("family %d, SOCK_SEQPACKET: %s", families[i], strerror(errno));
        }
        return held("no SOCK_SEQPACKET of the internet's families");
}

/* Everything else there may be, by number. */
static int sock_others(char **argv)
{
        for (int domain = 0; domain < 64; domain++) {
                if (domain == AF_UNIX || domain == AF_INET || domain == AF_INET6 || domain == AF_NETLINK)
                        continue;
                for (int type = 1; type <= 10; type++) {
                        int fd = socket(domain, type, 0);

                        if (fd >= 0)
                                return broke("a socket of family %d, type %d", domain, type);
                        if (errno != EPERM && errno != EACCES && errno != EAFNOSUPPORT &&
                            errno != ESOCKTNOSUPPORT && errno != EPROTONOSUPPORT && errno != EINVAL)
                                return broke("family %d, type %d: %s", domain, type, strerror(errno));
                }
        }
        return held("no socket of any other family");
}

#define HERE_MS 30000 /* somebody of this machine answers, when the machine gets to it */
#define AWAY_MS 1000  /* that nobody has answered by then says enough */

static int dial(const struct sockaddr *addr, socklen_t len, int wait_ms)
{
        int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err = 0;
        socklen_t size = sizeof(err);
        struct pollfd p = { fd, POLLOUT, 0 };

        if (fd < 0)
                return -errno;
        if (connect(fd, addr, len) < 0) {
                if (errno != EINPROGRESS) {
                        err = errno;
                } else if (poll(&p, 1, wait_ms) != 1) {
                        err = ETIMEDOUT;
                } else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) < 0) {
                        err = errno;
                }
        }
        close(fd);
        return -err;
}

/* host_abstract NAME: a socket without a path, on which the host listens. */
static int host_abstract(char **argv)
{
        const char *name = probe_text(argv, 1);
        struct sockaddr_un un = { .sun_family = AF_UNIX };
        int r;

        snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "%s", name);
        r = dial((struct sockaddr *)&un,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)), HERE_MS);
        return r == 0 ? broke("reached the host's abstract socket")
                      : held("abstract socket: %s", strerror(-r));
}

static int host_path_socket(char **argv)
{
        struct sockaddr_un un = { .sun_family = AF_UNIX };
        int r;

        snprintf(un.sun_path, sizeof(un.sun_path), "%s", probe_text(argv, 1));
        r = dial((struct sockaddr *)&un, sizeof(un), HERE_MS);
        return r == 0 ? broke("reached the host's socket %s", un.sun_path)
                      : held("path socket: %s", strerror(-r));
}

static int tcp(const char *address, int port, int wait_ms)
{
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

        inet_pton(AF_INET, address, &in.sin_addr);
        return dial((struct sockaddr *)&in, sizeof(in), wait_ms);
}

/* host_loopback PORT: where the host listens on 127.0.0.1. */
static int host_loopback(char **argv)
{
        int r = tcp("127.0.0.1", (int)probe_number(argv, 1, 0), HERE_MS);

        return r == 0 ? broke("reached the host's loopback") : held("loopback: %s", strerror(-r));
}

static int metadata_address(char **argv)
{
        int r = tcp("169.254.169.254", 80, AWAY_MS);

        /* Whatever answer there is, or none: without a way out of here it would be ENETUNREACH. */
        if (r == 0 || r == -ECONNREFUSED || r == -ETIMEDOUT || r == -EHOSTUNREACH)
                return broke("packets went to the metadata address: %s", strerror(-r));
        return held("metadata address: %s", strerror(-r));
}

/* No interface but lo, no address but loopback's, no route. */
static int any_route(char **argv)
{
        char routes[4096];
        struct ifaddrs *list, *i;

        if (getifaddrs(&list) == 0) {
                for (i = list; i; i = i->ifa_next)
                        if (!(i->ifa_flags & IFF_LOOPBACK))
                                return broke("there is an interface %s", i->ifa_name);
                freeifaddrs(list);
        }
        probe_read("/proc/net/route", routes, sizeof(routes));
        if (strchr(routes, '\n') && strchr(routes, '\n')[1])
                return broke("there is a route");
        return held("nothing but lo");
}

/*
 * Tries on the terminal we were given, or else on one of our own, as the controlling one of a fresh session:
 * the case in which TIOCSTI needs no privilege.
 */
static int on_terminal(int (*attempt)(int tty))
{
        int master, slave, status;
        pid_t pid;

        if (isatty(0))
                return attempt(0);
        master = posix_openpt(O_RDWR | O_NOCTTY);
        if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
                return lacks("terminals: %s", strerror(errno));
        pid = fork(); /* the leader of a group can't begin a session */
        if (pid == 0) {
                if (setsid() < 0 || (slave = open(ptsname(master), O_RDWR)) < 0 ||
                    ioctl(slave, TIOCSCTTY, 0) < 0)
                        _exit(lacks("a session with a terminal: %s", strerror(errno)));
                _exit(attempt(slave));
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
                return broke("no child");
        return WEXITSTATUS(status);
}

static int push(int tty)
{
        struct termios quiet;

        if (tcgetattr(tty, &quiet) == 0) { /* or the echo would stand before our own line */
                quiet.c_lflag &= ~(tcflag_t)ECHO;
                tcsetattr(tty, TCSANOW, &quiet);
        }
        errno = 0;
        if (ioctl(tty, TIOCSTI, "x") == 0)
                return broke("TIOCSTI typed into a terminal");
        if (errno == EIO)
                return probe_is_filtered() ? held("TIOCSTI: %s", strerror(errno))
                                           : lacks("TIOCSTI (switched off)");
        return probe_refused("TIOCSTI", -1);
}

static int paste(int tty)
{
        char selection = 3;
        int r = ioctl(tty, TIOCLINUX, &selection);

        if (r < 0 && !probe_is_filtered())
                return lacks("TIOCLINUX on a pseudo-terminal");
        return probe_refused("TIOCLINUX", r);
}

static int discipline(int tty)
{
        int plain = 0;

        return probe_refused("TIOCSETD", ioctl(tty, TIOCSETD, &plain));
}

static int tty_push(char **argv)
{
        return on_terminal(push);
}

static int tty_console(char **argv)
{
        return on_terminal(paste);
}

static int tty_discipline(char **argv)
{
        return on_terminal(discipline);
}

const struct probe probes_socket[] = {
        { "sock_vsock", sock_vsock },
        { "sock_alg", sock_alg },
        { "sock_packet", sock_packet },
        { "sock_packet_old", sock_packet_old },
        { "sock_raw", sock_raw },
        { "sock_raw6", sock_raw6 },
        { "sock_mptcp", sock_mptcp },
        { "sock_sequence", sock_sequence },
        { "sock_others", sock_others },
        { "netlink_audit", netlink_audit },
        { "netlink_uevent", netlink_uevent },
        { "netlink_netfilter", netlink_netfilter },
        { "netlink_generic", netlink_generic },
        { "host_abstract", host_abstract },
        { "host_path_socket", host_path_socket },
        { "host_loopback", host_loopback },
        { "metadata_address", metadata_address },
        { "any_route", any_route },
        { "tty_push", tty_push },
        { "tty_console", tty_console },
        { "tty_discipline", tty_discipline },
        { NULL, NULL },
};
