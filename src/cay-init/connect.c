/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker CONNECT: a TCP port on the sandbox's own loopback, which works with any network policy, none
 * included. A socket is connected to 127.0.0.1, then to ::1, and bytes are moved with two fixed buffers: a
 * side that does not read stops the other.
 *
 * Worker SOCKET: the same for a unix socket. Its path is resolved in the box, with the rights of the user.
 */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/clock.h"
#include "cay-init/worker.h"
#include "cay-init/files.h"

enum {
        CONNECT_MS = 10000, /* a full backlog makes the kernel try again and again */
        RETRY_MS = 10,
        BUFFER = 32 * 1024,
};

struct direction {
        int from, to;
        bool ended;     /* nothing more comes */
        bool done;      /* and everything was passed on */
        size_t at, len; /* of buf: what is still to be written */
        char buf[BUFFER];
};

static int nonblocking(int fd)
{
        int flags = fcntl(fd, F_GETFL);

        return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

/* --- Connecting --- */

static int connect_wait(int fd)
{
        uint64_t deadline_ms = cay_clock_ms() + CONNECT_MS;
        int error = 0;
        socklen_t len = sizeof(error);

        for (;;) {
                struct pollfd p = { .fd = fd, .events = POLLOUT };
                uint64_t now_ms = cay_clock_ms();
                int n = poll(&p, 1, now_ms < deadline_ms ? (int)(deadline_ms - now_ms) : 0);

                if (n == 0)
                        return -ETIMEDOUT;
                if (n > 0)
                        break;
                if (errno != EINTR)
                        return -errno;
        }
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
                return -errno;
        return -error;
}

static int connect_to(const struct sockaddr *address, socklen_t len)
{
        cay_auto_close int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int one = 1, r = 0;

        if (fd < 0)
                return -errno;
        if (connect(fd, address, len) < 0)
                r = errno == EINPROGRESS || errno == EINTR ? connect_wait(fd) : -errno;
        if (r < 0)
                return r;
        if (address->sa_family != AF_UNIX)
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* a hint; ignoring failures */
        return cay_take_fd(fd);
}

static int connect_loopback(uint16_t port)
{
        struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
        struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
                                   .sin6_port = htons(port),
                                   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
        int fd, second;

        v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        fd = connect_to((const struct sockaddr *)&v4, sizeof(v4));
        if (fd >= 0)
                return fd;
        second = connect_to((const struct sockaddr *)&v6, sizeof(v6));
        return second >= 0 ? second : fd;
}

/* --- Moving --- */

/* Reads available data into the empty buffer. */
static int direction_read(struct direction *d)
{
        ssize_t n = read(d->from, d->buf, BUFFER);

        if (n > 0) {
                d->at = 0;
                d->len = (size_t)n;
                return 0;
        }
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        d->ended = true;
        return n < 0 && errno != ECONNRESET && errno != EPIPE ? -errno : 0;
}

static int direction_write(struct direction *d, uint64_t *bytes)
{
        ssize_t n = write(d->to, d->buf + d->at, d->len);

        if (n >= 0) {
                d->at += (size_t)n;
                d->len -= (size_t)n;
                *bytes += (uint64_t)n;
                return 0;
        }
        if (errno == EAGAIN || errno == EINTR)
                return 0;
        /* The reader has closed: drop the rest; its side is finished. */
        if (errno != EPIPE && errno != ECONNRESET)
                return -errno;
        d->ended = true;
        d->len = 0;
        return 0;
}

/*
 * in_fd → sock_fd and sock_fd → out_fd. The end of one direction is passed on (half-close: out_fd is closed
 * then) while the other goes on. All three become non-blocking; out_fd is consumed. *ret_bytes counts both
 * directions.
 */
static int pump(int sock_fd, int in_fd, int out_fd, uint64_t *ret_bytes, struct cay_error *err)
{
        cay_auto_close int out = out_fd;
        cay_auto_free struct direction *d = calloc(2, sizeof(*d));
        int r = d ? 0 : -ENOMEM;

        if (r == 0)
                r = nonblocking(sock_fd);
        if (r == 0)
                r = nonblocking(in_fd);
        if (r == 0)
                r = nonblocking(out);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "prepare the connection");
        d[0].from = in_fd;
        d[0].to = sock_fd;
        d[1].from = sock_fd;
        d[1].to = out;

        while (!d[0].done || !d[1].done) {
                struct pollfd p[4];

                for (unsigned i = 0; i < 2; i++) {
                        /* Poll only for what is needed: otherwise a hang-up would be reported repeatedly. */
                        bool reads = !d[i].done && !d[i].ended && d[i].len == 0, writes = d[i].len > 0;

                        p[2 * i] = (struct pollfd){ .fd = reads ? d[i].from : -1, .events = POLLIN };
                        p[2 * i + 1] = (struct pollfd){ .fd = writes ? d[i].to : -1, .events = POLLOUT };
                }
                if (poll(p, 4, -1) < 0 && errno != EINTR)
                        return cay_fail_sys(err, CAY_INTERNAL, -errno, "wait for the connection");
                for (unsigned i = 0; i < 2 && r == 0; i++) {
                        if (p[2 * i].revents)
                                r = direction_read(&d[i]);
                        if (r == 0 && (p[2 * i + 1].revents || d[i].len > 0))
                                r = direction_write(&d[i], ret_bytes);
                        if (r == 0 && d[i].ended && d[i].len == 0 && !d[i].done) {
                                d[i].done = true;
                                if (i == 0) {
                                        shutdown(sock_fd, SHUT_WR); /* ignoring: gone already */
                                } else {
                                        close(out);
                                        out = -1;
                                }
                        }
                }
                if (r < 0)
                        return cay_fail_sys(err, CAY_UNAVAILABLE, r, "the connection broke");
        }
        return 0;
}

void cay_connect_port(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        uint16_t port = req->open->connect.port;
        struct cay_error err = { .code = CAY_OK };
        cay_auto_close int fd = port > 0 ? connect_loopback(port) : -EINVAL;

        if (port == 0)
                cay_fail(&err, CAY_INVALID, "port 0 is none");
        else if (fd == -ECONNREFUSED)
                cay_fail(&err, CAY_UNAVAILABLE, "nothing listens on port %u inside the sandbox", port);
        else if (fd < 0)
                cay_fail_sys(&err, fd == -ETIMEDOUT ? CAY_TIMEOUT : CAY_UNAVAILABLE, fd,
                             "connect to port %u inside the sandbox", port);
        else
                pump(fd, req->in_fd, req->out_fd, &ret->bytes, &err);
        if (err.code != CAY_OK)
                cay_files_answer(ret, &err);
}

/* A full backlog of a unix socket is refused at once (EAGAIN): the server may be about to accept. */
static int connect_path(const char *path)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        uint64_t deadline_ms = cay_clock_ms() + CONNECT_MS;
        size_t len = strlen(path);
        int fd;

        if (len == 0 || len >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        memcpy(address.sun_path, path, len);
        for (;;) {
                fd = connect_to((const struct sockaddr *)&address, sizeof(address));
                if (fd != -EAGAIN || cay_clock_ms() >= deadline_ms)
                        return fd;
                poll(NULL, 0, RETRY_MS);
        }
}

void cay_connect_socket(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        struct cay_error err = { .code = CAY_OK };
        cay_auto_close int fd = connect_path(req->path);

        if (fd == -ECONNREFUSED || fd == -ENOENT)
                cay_fail(&err, CAY_UNAVAILABLE, "nothing listens on the socket %.108s inside the sandbox",
                         req->path);
        else if (fd == -ENAMETOOLONG)
                cay_fail(&err, CAY_INVALID, "the path of a socket has 1 to 107 bytes");
        else if (fd < 0)
                cay_fail_sys(&err, CAY_UNAVAILABLE, fd, "connect to the socket %.108s inside the sandbox",
                             req->path);
        else
                pump(fd, req->in_fd, req->out_fd, &ret->bytes, &err);
        if (err.code != CAY_OK)
                cay_files_answer(ret, &err);
}
