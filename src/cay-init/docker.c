/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration from a file and streams from an abstract socket. The theory is in docker.h. */
#include "cay-init/docker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>

#include "foundation/base/clock.h"
#include "links/box/frame.h"
#include "links/box/message.h"
#include "cay-init/link.h"
#include "foundation/sys/fd.h"

#define CANDIDATES_MAX 8u
#define CANDIDATE_MS 5000 /* for its first frame */
#define LOOK_MS 5         /* polling interval while a frame is incomplete */
#define HELLO_BYTES (CAY_FRAME_HEADER + 36u)
#define BACKLOG 16
#define DRAIN_MS 2000
#define CONNECT_TRIES 2500u /* five seconds */

struct candidate {
        struct cay_init *init; /* NULL: free */
        struct cay_watch watch;
        struct cay_timer timer;
        uint64_t until_ms;
};

static struct { /* like init itself, one per process */
        struct cay_init *init;
        struct cay_watch watch;
        struct candidate candidates[CANDIDATES_MAX];
} listener;

/* Docker mounts a folder by its path. It may have been replaced after the check: then nothing runs here. */
static int check_workspace(const struct cay_init_config *config)
{
        cay_auto_close int fd = -1;
        struct stat st;

        if (config->workspace_ino == 0)
                return 0;
        fd = sys_open_at(AT_FDCWD, "/workspace", O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
        if (fd < 0 || fstat(fd, &st) < 0)
                return fd < 0 ? fd : -errno;
        return ((uint64_t)major(st.st_dev) << 32 | minor(st.st_dev)) == config->workspace_dev &&
                               st.st_ino == config->workspace_ino
                       ? 0
                       : -ESTALE;
}

/*
 * An affinity mask, inherited by all, as the warden sets it for its own boxes. A command may widen it, so it
 * is not a limit, but programs count processors by it. The choice is as random as the secret, so that boxes
 * do not share the first processors.
 */
static void pin_cpus(const struct cay_init_config *config)
{
        unsigned count, left = config->cpus, nr = 0, first;
        cpu_set_t have, want;

        if (left == 0 || sched_getaffinity(0, sizeof(have), &have) < 0)
                return;
        count = (unsigned)CPU_COUNT(&have);
        if (count <= left)
                return;
        first = (config->secret[0] | (unsigned)config->secret[1] << 8) % count;
        CPU_ZERO(&want);
        for (unsigned i = 0; i < 2 * CPU_SETSIZE && left > 0; i++) {
                unsigned cpu = i % CPU_SETSIZE;

                if (!CPU_ISSET(cpu, &have) || nr++ < first)
                        continue;
                CPU_SET(cpu, &want);
                left--;
        }
        sched_setaffinity(0, sizeof(want), &want); /* ignoring: programs then count too many */
}

int cay_docker_read_config(struct cay_init *init)
{
        struct cay_init_config *config = &init->config;
        cay_auto_close int fd = sys_open_at(AT_FDCWD, CAY_DOCKER_CONFIG, O_RDONLY | O_NOFOLLOW, 0);
        ssize_t n;

        for (int i = 0; i < CAY_INIT_FD_COUNT; i++)
                init->fds[i] = -1;
        if (fd < 0)
                return fd;
        n = read(fd, config, sizeof(*config));
        if (unlink(CAY_DOCKER_CONFIG) < 0)
                return -errno; /* a secret that stays readable is worthless */
        if (n != (ssize_t)sizeof(*config) || config->magic != CAY_INIT_MAGIC ||
            config->size != sizeof(*config) || config->fds != 0 || config->inherited != 0 ||
            !(config->flags & CAY_INIT_DOCKER))
                return -EPROTO;
        pin_cpus(config);
        return check_workspace(config);
}

static void let_go(struct candidate *c, bool closes)
{
        int fd = c->watch.fd;

        cay_watch_remove(&c->watch);
        cay_timer_clear(&c->timer);
        c->init = NULL;
        if (closes)
                close(fd);
}

static bool is_equal(const uint8_t *a, const uint8_t *b, size_t len)
{
        volatile uint8_t diff = 0;

        for (size_t i = 0; i < len; i++)
                diff |= a[i] ^ b[i];
        return diff == 0;
}

/* Does the stream begin with HELLO and the secret? Other versions are accepted too: link.c answers them. */
static bool proves_itself(const struct cay_init *init, const uint8_t *bytes)
{
        struct cay_box_hello hello;
        struct cay_frame frame;
        bool known;

        if (cay_frame_decode(bytes, CAY_SIDE_FRONT, &frame) < 0 || frame.type != CAY_FRAME_HELLO ||
            cay_box_hello_decode(bytes + CAY_FRAME_HEADER, frame.len, &hello) < 0)
                return false;
        known = is_equal(hello.secret, init->config.secret, sizeof(hello.secret));
        explicit_bzero(&hello, sizeof(hello));
        return known;
}

static void on_look_time(struct cay_timer *t);

static void look(struct candidate *c)
{
        uint8_t bytes[HELLO_BYTES];
        ssize_t n = recv(c->watch.fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
        struct cay_init *init = c->init;
        int fd = c->watch.fd;

        if (n == (ssize_t)sizeof(bytes)) {
                bool known = proves_itself(init, bytes);

                explicit_bzero(bytes, sizeof(bytes));
                let_go(c, !known);
                if (known)
                        cay_link_take(init, fd); /* ignoring: it closes what it cannot watch */
                return;
        }
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || cay_clock_ms() >= c->until_ms) {
                let_go(c, true);
                return;
        }
        /* An incomplete frame keeps the socket readable: poll by a timer, not by the loop. */
        cay_watch_set(&c->watch, n > 0 ? 0 : EPOLLIN);
        if (cay_timer_set(init->loop, &c->timer, n > 0 ? LOOK_MS : c->until_ms - cay_clock_ms(),
                          on_look_time) < 0)
                let_go(c, true);
}

static void on_look_time(struct cay_timer *t)
{
        look(cay_container_of(t, struct candidate, timer));
}

static void on_candidate(struct cay_watch *w, uint32_t events)
{
        look(cay_container_of(w, struct candidate, watch));
}

/* The oldest candidate is evicted: code that fills the table from inside cannot keep the front out. */
static struct candidate *find_room(void)
{
        struct candidate *oldest = &listener.candidates[0];

        for (unsigned i = 0; i < CANDIDATES_MAX; i++) {
                if (!listener.candidates[i].init)
                        return &listener.candidates[i];
                if (listener.candidates[i].until_ms < oldest->until_ms)
                        oldest = &listener.candidates[i];
        }
        let_go(oldest, true);
        return oldest;
}

static void on_connection(struct cay_watch *w, uint32_t events)
{
        int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct candidate *c;

        if (fd < 0)
                return;
        c = find_room();
        *c = (struct candidate){ .until_ms = cay_clock_ms() + CANDIDATE_MS };
        if (cay_watch_add(w->loop, &c->watch, fd, EPOLLIN, on_candidate) < 0) {
                close(fd);
                return;
        }
        c->init = listener.init;
        look(c);
}

static socklen_t name_socket(struct sockaddr_un *name)
{
        *name = (struct sockaddr_un){ .sun_family = AF_UNIX };
        memcpy(name->sun_path + 1, CAY_DOCKER_SOCKET, sizeof(CAY_DOCKER_SOCKET) - 1);
        return offsetof(struct sockaddr_un, sun_path) + sizeof(CAY_DOCKER_SOCKET);
}

int cay_docker_listen(struct cay_init *init)
{
        cay_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct sockaddr_un name;
        socklen_t len = name_socket(&name);
        int r;

        if (fd < 0 || bind(fd, (struct sockaddr *)&name, len) < 0 || listen(fd, BACKLOG) < 0)
                return -errno;
        listener.init = init;
        r = cay_watch_add(init->loop, &listener.watch, fd, EPOLLIN, on_connection);
        if (r == 0)
                cay_take_fd(fd); /* open for the whole life of init */
        return r;
}

void cay_docker_drain(struct cay_init *init)
{
        struct pollfd p = { .fd = init->peer.fd, .events = POLLIN };
        uint64_t until_ms = cay_clock_ms() + DRAIN_MS, now;
        char bytes[4096];
        ssize_t n;

        if (!cay_peer_is_open(&init->peer) || shutdown(init->peer.fd, SHUT_WR) < 0)
                return;
        while ((now = cay_clock_ms()) < until_ms && poll(&p, 1, (int)(until_ms - now)) >= 0) {
                n = read(init->peer.fd, bytes, sizeof(bytes));
                if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                        return;
        }
}

/* The helper: bytes both ways, one piece in each direction, until either side ends. */

struct way {
        int from, to;
        size_t start, len;
        char bytes[64 * 1024];
};

static bool move(struct way *w, short from_events, short to_events)
{
        ssize_t n;

        if (w->len == 0 && from_events) {
                n = read(w->from, w->bytes, sizeof(w->bytes));
                if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                        return false;
                w->start = 0;
                w->len = n > 0 ? (size_t)n : 0;
                to_events = POLLOUT; /* most likely; if not, EAGAIN says so */
        }
        if (w->len > 0 && to_events) {
                n = write(w->to, w->bytes + w->start, w->len);
                if (n < 0 && errno != EAGAIN && errno != EINTR)
                        return false;
                w->start += n > 0 ? (size_t)n : 0;
                w->len -= n > 0 ? (size_t)n : 0;
        }
        return true;
}

int cay_docker_attach_main(void)
{
        static struct way in, out;
        struct sockaddr_un name;
        socklen_t len = name_socket(&name);
        const struct timespec nap = { .tv_nsec = 2 * 1000 * 1000 };
        int sock;

        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        signal(SIGPIPE, SIG_IGN);
        sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        for (unsigned i = 0; sock >= 0 && connect(sock, (struct sockaddr *)&name, len) < 0; i++) {
                if (errno != ECONNREFUSED || i == CONNECT_TRIES)
                        return 1;
                nanosleep(&nap, NULL); /* init has only just been started */
        }
        if (sock < 0)
                return 1;
        if (write(STDERR_FILENO, ".", 1) != 1) /* cay-docker waits for this sign that init is ready */
                return 1;
        in = (struct way){ .from = STDIN_FILENO, .to = sock };
        out = (struct way){ .from = sock, .to = STDOUT_FILENO };
        fcntl(sock, F_SETFL, O_RDWR | O_NONBLOCK);
        fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
        fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
        for (;;) {
                struct pollfd p[] = {
                        { .fd = in.len == 0 ? STDIN_FILENO : -1, .events = POLLIN },
                        { .fd = sock,
                          .events = (short)((in.len > 0 ? POLLOUT : 0) | (out.len == 0 ? POLLIN : 0)) },
                        { .fd = STDOUT_FILENO, .events = out.len > 0 ? POLLOUT : 0 },
                };

                if (poll(p, CAY_COUNT(p), -1) < 0 && errno != EINTR)
                        return 1;
                if (p[2].revents & POLLERR || !move(&in, p[0].revents, p[1].revents & POLLOUT) ||
                    !move(&out, p[1].revents & (POLLIN | POLLHUP | POLLERR), p[2].revents))
                        return 0;
        }
}
