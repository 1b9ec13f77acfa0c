/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets. */
#include "foundation/http/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "foundation/base/str.h"

enum {
        BACKLOG = 1024,
        KEEPALIVE_S = 60,          /* of silence before the first probe … */
        KEEPALIVE_INTERVAL_S = 15, /* … then as often as this */
        KEEPALIVE_PROBES = 4,
        CHOICES = 16, /* of ports, where any will do */
};

uint16_t cay_listen_port(int fd)
{
        struct sockaddr_storage at = { 0 };
        socklen_t len = sizeof(at);

        if (getsockname(fd, (struct sockaddr *)&at, &len) < 0)
                return 0;
        if (at.ss_family == AF_INET)
                return ntohs(((struct sockaddr_in *)&at)->sin_port);
        return at.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&at)->sin6_port) : 0;
}

/* TCP */

void cay_listen_prepare(int fd)
{
        static const struct {
                int level, name, value;
        } options[] = {
                { IPPROTO_TCP, TCP_NODELAY, 1 },
                { SOL_SOCKET, SO_KEEPALIVE, 1 },
                { IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_S },
                { IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S },
                { IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES },
        };

        for (size_t i = 0; i < CAY_COUNT(options); i++)
                setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                           sizeof(options[i].value));
}

static void set_port(struct sockaddr *at, uint16_t port)
{
        if (at->sa_family == AF_INET)
                ((struct sockaddr_in *)(void *)at)->sin_port = htons(port);
        else
                ((struct sockaddr_in6 *)(void *)at)->sin6_port = htons(port);
}

static int listen_at(const struct addrinfo *a)
{
        cay_auto_close int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        int on = 1;

        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
                return -errno;
        if (a->ai_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
                return -errno;
        cay_listen_prepare(fd);
        if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
                return -errno;
        return cay_take_fd(fd);
}

static int fail_bind(struct cay_error *err, int neg_errno, const char *host, unsigned port)
{
        if (neg_errno == -EADDRINUSE)
                return cay_fail(err, CAY_EXISTS,
                                "port %u of '%s' is in use: stop what listens there or choose another port",
                                port, host);
        return cay_fail_sys(err, neg_errno == -EACCES ? CAY_DENIED : CAY_INVALID, neg_errno,
                            "listen on port %u of '%s'", port, host);
}

/* A machine without IPv6 still resolves names to IPv6 addresses: skip addresses that do not exist here. */
static int listen_all(const struct addrinfo *first, const char *host, uint16_t port, int fds[CAY_LISTEN_MAX],
                      struct cay_error *err)
{
        int missing = -EADDRNOTAVAIL;
        unsigned count = 0;

        for (const struct addrinfo *a = first; a && count < CAY_LISTEN_MAX; a = a->ai_next) {
                int fd;

                if (a->ai_family != AF_INET && a->ai_family != AF_INET6)
                        continue;
                set_port(a->ai_addr, port);
                fd = listen_at(a);
                if (fd == -EADDRNOTAVAIL || fd == -EAFNOSUPPORT) {
                        missing = fd;
                        continue;
                }
                if (fd < 0) {
                        while (count > 0)
                                close(fds[--count]);
                        return fail_bind(err, fd, host, port);
                }
                fds[count++] = fd;
                if (port == 0)
                        port = cay_listen_port(fd);
        }
        return count > 0 ? (int)count : fail_bind(err, missing, host, port);
}

int cay_listen_tcp(const char *host, uint16_t port, int fds[CAY_LISTEN_MAX], struct cay_error *err)
{
        struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM }, *list;
        int r = getaddrinfo(host[0] ? host : NULL, "0", &hints, &list);

        if (r != 0)
                return cay_fail(err, CAY_INVALID, "listen address '%s': %s", host, gai_strerror(r));
        /*
         * The port that the kernel chose for the first address may be in use at the next one: choose again.
         */
        for (unsigned i = 0; i < CHOICES; i++) {
                r = listen_all(list, host, port, fds, err);
                if (r > 0 || port != 0 || err->code != CAY_EXISTS)
                        break;
        }
        freeaddrinfo(list);
        return r;
}

/* Unix */

/* Does a process still listen on this path? */
static bool is_alive(const struct sockaddr_un *at)
{
        cay_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        return fd < 0 || connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0 || errno != ECONNREFUSED;
}

static int remove_dead(const struct sockaddr_un *at, struct cay_error *err)
{
        struct stat st;

        if (lstat(at->sun_path, &st) < 0)
                return errno == ENOENT ? 0
                                       : cay_fail_sys(err, CAY_INTERNAL, -errno, "socket '%s'", at->sun_path);
        if (!S_ISSOCK(st.st_mode))
                return cay_fail(err, CAY_EXISTS, "'%s' exists and is not a socket", at->sun_path);
        if (is_alive(at))
                return cay_fail(err, CAY_EXISTS, "another process listens on '%s'", at->sun_path);
        if (unlink(at->sun_path) < 0 && errno != ENOENT)
                return cay_fail_sys(err, CAY_DENIED, -errno, "remove the dead socket '%s'", at->sun_path);
        return 0;
}

int cay_listen_unix(const char *path, mode_t mode, struct cay_error *err)
{
        cay_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        struct sockaddr_un at = { .sun_family = AF_UNIX };

        if (!cay_str_copy(at.sun_path, sizeof(at.sun_path), path) || !path[0])
                return cay_fail(err, CAY_INVALID, "socket path '%s' is empty or longer than %zu bytes", path,
                                sizeof(at.sun_path) - 1);
        if (fd < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a socket for '%s'", path);
        if (remove_dead(&at, err) < 0)
                return -1;
        /* Nobody can connect before it listens, so the mode is set in time. */
        if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || chmod(path, mode) < 0 ||
            listen(fd, BACKLOG) < 0)
                return cay_fail_sys(err, errno == EACCES ? CAY_DENIED : CAY_INVALID, -errno, "listen on '%s'",
                                    path);
        return cay_take_fd(fd);
}
