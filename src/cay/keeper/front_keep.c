/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a front, hands descriptors and settings over (hand_over.h), and reads what the front answers. */
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
#define FIXED_FDS 4
#define WORDS_MAX (3u + 4 * CAY_ENGINE_COUNT + 3 * CAY_HELPER_COUNT + 2)

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
                cay_watch_remove(w); /* its exit arrives as SIGCHLD */
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

/*
 * The memory limit of a front: memory for clients, for each sandbox's link, and for the front itself
 * (database pages, answers being built). Beyond it, single requests fail. A front can be ended and started
 * again without loss. So if the machine runs out of memory, the kernel ranks the front with the sandboxes, by
 * size.
 */
static uint64_t data_max(const struct cay_config *c)
{
        return c->client_memory + c->max_sandboxes * BOX_BYTES + OWN_BYTES;
}

_Static_assert(FIXED_FDS + CAY_LISTEN_MAX + CAY_HELPER_COUNT + 1 <= CAY_SPAWN_FDS_MAX,
               "room for all of them");

struct start { /* what a front is given: descriptors and words (hand_over.h) */
        int fds[CAY_SPAWN_FDS_MAX];
        unsigned fd_count, word_count;
        char *words[WORDS_MAX + 1];
        char numbers[2 + CAY_HELPER_COUNT][12];
        unsigned number_count;
};

static void add_word(struct start *s, const char *word)
{
        s->words[s->word_count++] = (char *)(uintptr_t)word;
}

static void add_number(struct start *s, unsigned value)
{
        char *text = s->numbers[s->number_count++];

        snprintf(text, sizeof(s->numbers[0]), "%u", value);
        add_word(s, text);
}

static void add_fd(struct start *s, int fd)
{
        add_number(s, 3 + s->fd_count);
        s->fds[s->fd_count++] = fd;
}

/* links: indexed by helper; -1: none. */
static void fill_start(struct keeper *k, const int links[CAY_HELPER_COUNT], int sock, struct start *s)
{
        const int fixed[FIXED_FDS] = { k->config_fd, k->place.data_fd, sock, k->place.unix_fd };

        for (unsigned i = 0; i < CAY_COUNT(fixed); i++)
                s->fds[s->fd_count++] = fixed[i];
        for (unsigned i = 0; i < k->place.tcp_count; i++)
                s->fds[s->fd_count++] = k->place.tcp_fds[i];
        add_word(s, "cay-front");
        add_word(s, "serve");
        add_number(s, k->place.tcp_count);
        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++) {
                add_word(s, CAY_HAND_ENGINE);
                add_word(s, cay_engine_infos[i].name);
                add_word(s, k->plan.rows[i].runs ? CAY_HAND_RUNS : CAY_HAND_RUNS_NOT);
                add_word(s, k->plan.rows[i].why);
        }
        for (unsigned i = 0; i < CAY_HELPER_COUNT; i++) {
                if (links[i] < 0)
                        continue;
                add_word(s, CAY_HAND_LINK);
                add_word(s, cay_helper_infos[i].name);
                add_fd(s, links[i]);
        }
        if (cay_crashers_before_front(&k->crashers, cay_clock_ms()) >= 0) {
                add_word(s, CAY_HAND_CRASHERS);
                add_fd(s, k->crashers.fd);
        }
}

static int spawn_front(struct keeper *k, const int links[CAY_HELPER_COUNT], int sock, struct cay_error *err)
{
        struct start start = { .fd_count = 0 };
        struct cay_spawn s = { .dir = k->options->program_dir,
                               .program = "cay-front",
                               .argv = start.words,
                               .fds = start.fds,
                               .mask = &k->signals.before,
                               .data_max = data_max(k->options->config),
                               .goes_first = true };

        fill_start(k, links, sock, &start);
        s.fd_count = start.fd_count;
        k->front = cay_spawn(&s, err);
        if (k->front < 0) {
                k->front = 0;
                return -1;
        }
        k->front_since_ms = cay_clock_ms();
        return 0;
}

/* A front that sends invalid messages is ended; SIGCHLD then leads to the next one. */
static void listen_take(struct keeper *k, int sock)
{
        int r = cay_watch_add(k->loop, &k->front_watch, sock, EPOLLIN, on_front_says);
        struct cay_error err = { 0 };

        if (r == 0)
                return;
        cay_fail_sys(&err, CAY_INTERNAL, r, "watch the front's socket");
        cay_log_error("messages of the front cannot be read: killed", "error=%s", err.msg);
        kill(k->front, SIGKILL);
        close(sock);
}

static int start_with(struct keeper *k, const int links[CAY_HELPER_COUNT], struct cay_error *err)
{
        int socks[2], r;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the front's socket");
        cay_registry_keep_before_front(&k->registry);
        cay_ports_keep_before_front(&k->ports);
        r = cay_registry_keep_send(&k->registry, socks[0]);
        r = r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "hand the registry over")
                  : spawn_front(k, links, socks[1], err);
        close(socks[1]);
        if (r == 0)
                listen_take(k, socks[0]);
        else
                close(socks[0]);
        return r;
}

int cay_front_keep_start(struct keeper *k, struct cay_error *err)
{
        int links[CAY_HELPER_COUNT], r = 0;

        for (unsigned i = 0; i < CAY_HELPER_COUNT; i++) {
                links[i] = -1;
                if (r == 0 && k->helpers[i].pid > 0)
                        r = cay_helper_link(&k->helpers[i], &links[i], err);
        }
        if (r == 0)
                r = start_with(k, links, err);
        for (unsigned i = 0; i < CAY_HELPER_COUNT; i++)
                if (links[i] >= 0)
                        close(links[i]);
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
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) /* no front has it yet */
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
