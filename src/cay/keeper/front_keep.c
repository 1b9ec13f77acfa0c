/* SPDX-License-Identifier: Apache-2.0 */
/* A front's start: what it is handed (hand_over.h), and what it says back over its socket. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/clock.h"
#include "foundation/base/log.h"
#include "cay/keeper/hand_over.h"
#include "cay/keeper/serve_priv.h"
#include "cay/keeper/spawn.h"
#include "cay/keeper/tell.h"
#include "foundation/sys/dir.h"
#include "foundation/sys/fd.h"

#define BOX_BYTES ((uint64_t)16 << 20)
#define OWN_BYTES ((uint64_t)512 << 20)

static void on_front_says(struct cay_watch *w, uint32_t events)
{
        struct keeper *k = cay_container_of(w, struct keeper, front_watch);
        struct cay_hand_ready ready = { 0 };
        struct cay_hand_verdict verdict;
        struct cay_hand_listen listen;
        ssize_t n = recv(w->fd, &ready, sizeof(ready), MSG_DONTWAIT);

        (void)events;
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        memcpy(&verdict, &ready, sizeof(verdict));
        if (n == (ssize_t)sizeof(verdict) && verdict.magic == CAY_HAND_MAGIC &&
            verdict.size == sizeof(verdict)) {
                cay_registry_keep_on_verdict(&k->registry, &verdict);
                return;
        }
        memcpy(&listen, &ready, sizeof(listen));
        if (n == (ssize_t)sizeof(listen) && listen.magic == CAY_HAND_MAGIC && listen.size == sizeof(listen)) {
                cay_ports_keep_on_ask(&k->ports, w->fd, &listen);
                return;
        }
        if (n != (ssize_t)sizeof(ready) || ready.magic != CAY_HAND_MAGIC || ready.size != sizeof(ready)) {
                cay_watch_remove(w); /* its end comes as a signal */
                return;
        }
        ready.token[sizeof(ready.token) - 1] = '\0';
        ready.login[sizeof(ready.login) - 1] = '\0';
        if (!k->was_ready) {
                cay_tell_people(k->options->config, &k->place, &ready);
                cay_tell_systemd("READY=1");
        } else {
                cay_log_info("the front is back", "adopted=%u lost=%u", ready.adopted, ready.lost);
        }
        k->was_ready = k->front_served = true;
        cay_ports_keep_sweep(&k->ports);
        explicit_bzero(&ready, sizeof(ready));
}

static void add_engines(struct keeper *k, char **argv)
{
        for (unsigned i = 0; i < CAY_KEEP_ENGINES; i++) {
                struct cay_keep_row *row = &k->plan.rows[i];

                *argv++ = (char *)(uintptr_t)cay_keep_engine_name((enum cay_keep_engine)i);
                *argv++ = (char *)(uintptr_t)(row->runs ? CAY_HAND_RUNS : CAY_HAND_RUNS_NOT);
                *argv++ = row->why;
        }
        *argv = NULL;
}

/*
 * What a front may have in all: what clients may make it hold, what each sandbox's link takes, and what it needs by itself (the database's
 * pages, an answer in the making). Beyond that its requests fail one by one. It can be ended and started again at any time without loss, so
 * where the machine itself runs out it stands in one row with sandboxes, and the largest of them goes: not all of them before it.
 */
static uint64_t data_max(const struct cay_config *c)
{
        return c->client_memory + c->max_sandboxes * BOX_BYTES + OWN_BYTES;
}

/* links: to helpers, behind the sockets; those that are there. */
static int spawn_front(struct keeper *k, int link, const int links[2], int sock, struct cay_error *err)
{
        char count[4], turns_nr[12];
        char *argv[3 + 3 * CAY_KEEP_ENGINES + 2 + 1] = { (char *)"cay-front", (char *)"serve", count };
        int fds[CAY_SPAWN_FDS_MAX] = { link, k->config_fd, k->place.data_fd, sock, k->place.unix_fd };
        struct cay_spawn s = { .dir = k->options->program_dir,
                               .program = "cay-front",
                               .argv = argv,
                               .fds = fds,
                               .fd_count = 5 + k->place.tcp_count,
                               .mask = &k->signals.before,
                               .data_max = data_max(k->options->config),
                               .goes_first = true };

        snprintf(count, sizeof(count), "%u", k->place.tcp_count);
        add_engines(k, argv + 3);
        for (unsigned i = 0; i < k->place.tcp_count; i++)
                fds[5 + i] = k->place.tcp_fds[i];
        for (unsigned i = 0; i < 2; i++)
                if (links[i] >= 0)
                        fds[s.fd_count++] = links[i];
        if (cay_turns_keep_before_front(&k->turns, cay_clock_ms()) >= 0) {
                snprintf(turns_nr, sizeof(turns_nr), "%u", 3 + s.fd_count);
                fds[s.fd_count++] = k->turns.fd;
                argv[3 + 3 * CAY_KEEP_ENGINES] = (char *)CAY_HAND_TURNS;
                argv[3 + 3 * CAY_KEEP_ENGINES + 1] = turns_nr;
        }
        k->front = cay_spawn(&s, err);
        if (k->front < 0) {
                k->front = 0;
                return -1;
        }
        k->front_since_ms = cay_clock_ms();
        return 0;
}

/* One that cannot be heard is no front: it is ended, and its end, which comes as a signal, leads to the next. */
static void listen_take(struct keeper *k, int sock)
{
        int r = cay_watch_add(k->loop, &k->front_watch, sock, EPOLLIN, on_front_says);
        struct cay_error err = { 0 };

        if (r == 0)
                return;
        cay_fail_sys(&err, CAY_INTERNAL, r, "watch the front's socket");
        cay_log_error("the front cannot be heard: killed", "error=%s", err.msg);
        kill(k->front, SIGKILL);
        close(sock);
}

int cay_front_keep_start(struct keeper *k, struct cay_error *err)
{
        cay_auto_close int docker_link = -1, process_link = -1;
        int socks[2], link = -1, r;

        if (k->docker.pid > 0 && cay_helper_link(&k->docker, "cay-docker", &docker_link, err) < 0)
                return -1;
        if (k->process.pid > 0 && cay_helper_link(&k->process, "cay-process", &process_link, err) < 0)
                return -1;
        if (cay_warden_keep_link(k, &link, err) < 0)
                return -1;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0) {
                close(link);
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the front's socket");
        }
        cay_registry_keep_before_front(&k->registry);
        cay_ports_keep_before_front(&k->ports);
        r = cay_registry_keep_send(&k->registry, socks[0]);
        r = r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "hand the registry over")
                  : spawn_front(k, link, (const int[2]){ docker_link, process_link }, socks[1], err);
        close(link);
        close(socks[1]);
        if (r == 0)
                listen_take(k, socks[0]);
        else
                close(socks[0]);
        return r;
}

static void sweep_lock(void *ctx, int dirfd, const char *name, unsigned type)
{
        cay_auto_close int fd = -1;

        (void)ctx;
        (void)type;
        if (strncmp(name, CAY_HAND_FRONT_LOCK, strlen(CAY_HAND_FRONT_LOCK)) != 0)
                return;
        fd = sys_open_at(dirfd, name, O_RDONLY | O_NOFOLLOW, 0);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) /* no front has it */
                unlinkat(dirfd, name, 0);
}

void cay_front_keep_sweep(const char *run_folder)
{
        cay_auto_close int fd =
                geteuid() != 0 ? -1
                               : sys_open_at(AT_FDCWD, run_folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

        if (fd >= 0)
                sys_dir_each(fd, sweep_lock, NULL);
}

void cay_front_keep_let_go(struct keeper *k)
{
        int fd = k->front_watch.fd;

        cay_watch_remove(&k->front_watch);
        if (fd > 0)
                close(fd);
        k->front_watch.fd = -1;
}
