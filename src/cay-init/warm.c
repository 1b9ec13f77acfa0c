/* SPDX-License-Identifier: Apache-2.0 */
/* A Python that has started before its command is known. The theory is in warm.h. */
#include "cay-init/warm.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cay-init/child.h"
#include "cay-init/child_priv.h"
#include "cay-init/init.h"
#include "cay-init/init_filter.h"
#include "cay-init/spawn.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/unix_socket.h"
#include "warm_python.inc" /* made by tools/embed_zip: warm_python[] */

#define BOOT_MS 1
#define AFTER_MS 10   /* until then the processors are busy with the answer */
#define BEHIND_MS 100 /* a command that runs this long does not mind another process */
#define KEEP_MS 60000
#define AGAIN_MS 500
#define FAILURES_MAX 3
#define FILES_DEFAULT 4096
#define MEMORY_MIN (64ull << 20)
#define MEMORY_FREE (32ull << 20) /* left in the box's limit: an interpreter takes a fourth of it, or less */
#define MESSAGE_MAX (128u * 1024) /* what a socket takes in one piece */

static bool is_possible(const struct cay_init *init)
{
        uint64_t memory = init->config.memory_bytes;

        return init->config.flags & CAY_INIT_WARM && init->is_pid1 && cay_init_is_isolated(init) &&
               init->fds[CAY_INIT_FD_CGROUP2] >= 0 && init->landlock_fd >= 0 && init->config.watch == 0 &&
               init->config.test_off == 0 && !(init->config.flags & (CAY_INIT_DOCKER | CAY_INIT_ONE_ID)) &&
               (memory == 0 || memory >= MEMORY_MIN);
}

/* Everybody in the box may open it by the descriptor of a waiting process, so that nobody may change it. */
static int make_archive(void)
{
        cay_auto_close int fd = memfd_create("cay", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        if (fd < 0 || write(fd, warm_python, sizeof(warm_python)) != (ssize_t)sizeof(warm_python) ||
            fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
                return -1;
        return cay_take_fd(fd);
}

/* Making */

static void on_said(struct cay_watch *watch, uint32_t events);

static bool has_memory(const struct cay_init *init)
{
        int fd = init->fds[CAY_INIT_FD_MEM_USAGE];
        uint64_t limit = init->config.memory_bytes;
        char text[32];
        ssize_t n;

        if (limit == 0 || fd < 0)
                return true;
        n = pread(fd, text, sizeof(text) - 1, 0);
        if (n <= 0)
                return false;
        text[n] = '\0';
        return strtoull(text, NULL, 10) + MEMORY_FREE <= limit;
}

static bool serves(const struct cay_warm *w)
{
        return w->first.said == CAY_WARM_FORKS;
}

static void drop(struct cay_warm_slot *s)
{
        if (!s->is_forked)
                cay_watch_remove(&s->init->warm.listener);
        cay_warm_slot_drop(s);
}

static void dismiss(struct cay_warm *w)
{
        drop(&w->first);
        for (unsigned i = 0; i < CAY_WARM_FORKS_MAX; i++)
                cay_warm_slot_drop(&w->forks[i]);
}

static void on_late(struct cay_timer *t)
{
        struct cay_warm *w = cay_container_of(t, struct cay_warm, timer);

        w->failures = w->first.said ? 0 : w->failures + 1;
        dismiss(w);
}

static void keep(struct cay_init *init)
{
        if (init->welcomed && cay_timer_set(init->loop, &init->warm.timer, KEEP_MS, on_late) < 0)
                dismiss(&init->warm);
}

static struct cay_warm_filter *free_filter(struct cay_warm *w)
{
        for (unsigned i = 0; i < CAY_WARM_FILTERS_MAX; i++) {
                if (w->filters[i].notify.fd < 0)
                        return &w->filters[i];
        }
        return NULL;
}

static const struct cay_box_open *open_for(const struct cay_warm *w)
{
        static struct cay_box_open open;

        open = (struct cay_box_open){
                .kind = CAY_BOX_EXEC,
                .exec = { .files_max = w->files_max, .file_max_bytes = w->file_max_bytes },
        };
        return &open;
}

static struct cay_child child_of(const struct cay_init *init)
{
        return (struct cay_child){
                .init = init,
                .open = open_for(&init->warm),
                .node_fd = -1,
                .warm = true,
                .uid = init->config.uid,
                .gid = init->config.gid,
                .fds = { -1, -1, -1 },
        };
}

/* One after the other: each that waits asks for the next. */
static void fill(struct cay_init *init)
{
        struct cay_warm *w = &init->warm;

        for (unsigned i = 0; i < CAY_WARM_FORKS_MAX && serves(w); i++) {
                struct cay_warm_slot *s = &w->forks[i];
                struct cay_child c = child_of(init);

                if (!cay_warm_slot_is_free(s) || !has_memory(init))
                        continue;
                if (cay_warm_slot_ask(s, &w->first, &c) < 0 ||
                    cay_watch_add(init->loop, &s->watch, s->ends.ask[0], EPOLLIN, on_said) < 0)
                        cay_warm_slot_drop(s);
                return;
        }
}

static void on_again(struct cay_timer *t)
{
        fill(cay_container_of(t, struct cay_init, warm.again));
}

static void on_listener(struct cay_watch *watch, uint32_t events)
{
        struct cay_warm *w = cay_container_of(watch, struct cay_warm, listener);
        struct cay_warm_filter *f = free_filter(w);
        int r = f ? cay_warm_filter_take(f, &w->first) : -ENOBUFS;

        (void)events;
        if (r == -EAGAIN)
                return;
        cay_watch_remove(watch);
        if (r < 0)
                drop(&w->first); /* nobody would answer its calls */
}

static void failed_fork(struct cay_warm *w)
{
        if (++w->fork_failures < FAILURES_MAX)
                return;
        w->may_fork = false;
        dismiss(w);
}

/* Reads what it says, if anything. */
static void listen_to(struct cay_warm_slot *s)
{
        struct cay_init *init = s->init;
        struct cay_warm *w = &init->warm;
        char before = s->said;

        if (!cay_warm_slot_listen(s)) {
                bool is_full = s->said == CAY_WARM_FULL;

                drop(s);
                if (is_full)
                        cay_timer_set(init->loop, &w->again, AGAIN_MS, on_again);
                else if (s->is_forked && before != CAY_WARM_WAITS)
                        failed_fork(w);
                else if (!s->is_forked && !before)
                        w->failures++;
                return;
        }
        if (before == s->said)
                return;
        if (s->is_forked) /* its helper is at work */
                return;
        if (serves(w) && w->listener.loop) /* the message was there first */
                on_listener(&w->listener, EPOLLIN);
        fill(init);
}

static void on_said(struct cay_watch *watch, uint32_t events)
{
        (void)events;
        listen_to(cay_container_of(watch, struct cay_warm_slot, watch));
}

static int make(struct cay_init *init)
{
        struct cay_warm *w = &init->warm;
        struct cay_warm_slot *s = &w->first;
        struct cay_child c = child_of(init);
        pid_t pid;
        int r;

        cay_init_filter(init); /* as before every command but the first: all that it forks has both filters */
        r = cay_group_make_spare_node(&s->group, init->fds[CAY_INIT_FD_CGROUP2], ++init->spare.serial);
        if (r == 0)
                r = cay_ends_make(&s->ends, &c);
        if (r < 0)
                return r;
        memcpy(c.fds, s->ends.child, sizeof(c.fds));
        c.status_fd = s->ends.status[1];
        c.ask_fd = s->ends.ask[1];
        c.serves = w->is_used && w->may_fork && !(init->config.flags & CAY_INIT_BRIEF) && free_filter(w);
        pid = cay_spawn_fork(&c, s->group.node_fd);
        if (pid < 0)
                return pid;
        cay_ends_close_child(&s->ends);
        s->pid = pid;
        w->own_files_max = w->files_max;
        w->own_file_max_bytes = w->file_max_bytes;
        init->childless = false;
        r = cay_watch_add(init->loop, &s->watch, s->ends.ask[0], EPOLLIN, on_said);
        /*
         * Otherwise the command takes it; but modules may make calls that are denied, and wait for the
         * answer.
         */
        if (r == 0 && (c.serves || (init->config.warm_modules[0] && free_filter(w))))
                r = cay_watch_add(init->loop, &w->listener, s->ends.status[0], EPOLLIN, on_listener);
        return r;
}

static void on_wanted(struct cay_timer *t)
{
        struct cay_init *init = cay_container_of(t, struct cay_init, warm.timer);
        struct cay_warm *w = &init->warm;

        if (init->one_shot || !has_memory(init) || !cay_warm_slot_is_free(&w->first))
                return;
        if (make(init) == 0) {
                keep(init);
                return;
        }
        drop(&w->first); /* commands start without it */
        cay_warm_slot_is_free(&w->first);
}

static void want(struct cay_init *init, uint64_t in_ms)
{
        struct cay_warm *w = &init->warm;

        /* Ended, but not reaped yet: then it is wanted when it is. */
        w->is_wanted = w->first.pid > 0 && !cay_warm_slot_is_expected(&w->first);
        if (w->is_possible && w->first.pid == 0 && w->failures < FAILURES_MAX)
                cay_timer_set(init->loop, &w->timer, in_ms, on_wanted);
}

void cay_warm_init(struct cay_init *init)
{
        struct cay_warm *w = &init->warm;

        *w = (struct cay_warm){ .is_possible = is_possible(init),
                                .may_fork = true,
                                .files_max = FILES_DEFAULT,
                                .file_max_bytes = 2 * init->config.disk_bytes,
                                .archive_fd = -1 };
        cay_warm_slot_init(&w->first, init, false);
        for (unsigned i = 0; i < CAY_WARM_FORKS_MAX; i++)
                cay_warm_slot_init(&w->forks[i], init, true);
        for (unsigned i = 0; i < CAY_WARM_FILTERS_MAX; i++)
                cay_notify_init(&w->filters[i].notify);
        if (w->is_possible)
                w->archive_fd = make_archive();
        w->is_possible = w->archive_fd >= 0;
        want(init, BOOT_MS);
}

void cay_warm_welcome(struct cay_init *init)
{
        if (cay_warm_slot_is_expected(&init->warm.first))
                keep(init);
}

void cay_warm_ended(struct cay_init *init)
{
        if (serves(&init->warm))
                fill(init);
        else if (!(init->config.flags & CAY_INIT_BRIEF))
                want(init, AFTER_MS);
}

void cay_warm_outdated(struct cay_init *init)
{
        if (serves(&init->warm))
                dismiss(&init->warm);
}

bool cay_warm_has(const struct cay_init *init, pid_t pid)
{
        const struct cay_warm *w = &init->warm;
        bool has = w->first.pid == pid;

        for (unsigned i = 0; i < CAY_WARM_FORKS_MAX; i++)
                has |= w->forks[i].pid == pid;
        return pid > 0 && has;
}

bool cay_warm_is_any(const struct cay_init *init)
{
        const struct cay_warm *w = &init->warm;
        bool any = w->first.pid > 0;

        for (unsigned i = 0; i < CAY_WARM_FORKS_MAX; i++)
                any |= w->forks[i].pid > 0 || w->forks[i].helper > 0 ||
                       cay_warm_slot_is_expected(&w->forks[i]);
        return any;
}

static void first_reaped(struct cay_init *init)
{
        struct cay_warm *w = &init->warm;

        if (cay_warm_slot_is_expected(&w->first)) { /* not ended by us */
                bool waited = w->first.said || (cay_warm_slot_listen(&w->first) && w->first.said);

                w->failures = waited ? 0 : w->failures + 1;
        }
        cay_timer_clear(&w->timer);
        w->first.pid = 0;
        dismiss(w);
        cay_warm_slot_is_free(&w->first);
        if (w->is_wanted)
                want(init, AFTER_MS);
}

static void joined(struct cay_warm_slot *s)
{
        bool was_expected = s->said == CAY_WARM_JOINS;

        if (cay_warm_slot_joined(s)) {
                s->init->warm.fork_failures = 0;
                fill(s->init);
                return;
        }
        drop(s);
        if (was_expected)
                failed_fork(&s->init->warm);
}

bool cay_warm_reaped(struct cay_init *init, pid_t pid)
{
        struct cay_warm *w = &init->warm;

        if (w->first.pid == pid) {
                first_reaped(init);
                return true;
        }
        for (unsigned i = 0; i < CAY_WARM_FORKS_MAX; i++) {
                struct cay_warm_slot *s = &w->forks[i];

                if (s->helper == pid) {
                        joined(s);
                        return true;
                }
                if (s->pid != pid)
                        continue;
                s->pid = 0;
                cay_warm_slot_drop(s);
                cay_warm_slot_is_free(s);
                return true;
        }
        return false;
}

/* Taking */

static bool put(char **at, const char *end, struct cay_view v)
{
        if (v.len >= (size_t)(end - *at) || memchr(v.ptr, 0, v.len))
                return false;
        memcpy(*at, v.ptr, v.len);
        *at += v.len;
        *(*at)++ = '\0';
        return true;
}

static bool put_text(char **at, const char *end, const char *text)
{
        return put(at, end, (struct cay_view){ text, (uint32_t)strlen(text) });
}

static bool is_text(struct cay_view v, const char *text)
{
        return v.len == strlen(text) && memcmp(v.ptr, text, v.len) == 0;
}

size_t cay_warm_put(const struct cay_child *c, char *to, size_t size)
{
        const struct cay_box_exec *exec = &c->open->exec;
        struct cay_view strings = exec->args;
        const char *end = to + size;
        char count[16], *at = to;
        bool fits;

        snprintf(count, sizeof(count), "%u", exec->argc);
        fits = put_text(&at, end, exec->flags & CAY_BOX_STDIN ? "1" : "0") && put(&at, end, exec->cwd) &&
               put_text(&at, end, count);
        for (uint32_t i = 0; fits && i < exec->argc + exec->envc; i++) {
                struct cay_view v = cay_box_next_string(&strings);

                if (i == 0 && !is_text(v, "python3") && !is_text(v, "/usr/bin/python3"))
                        return 0;
                if (i == 1 && i < exec->argc && v.len > 1 && v.ptr[0] == '-' && !is_text(v, "-c"))
                        return 0; /* an option: a fresh interpreter knows them */
                fits = put(&at, end, v);
        }
        return fits && exec->argc > 0 ? (size_t)(at - to) : 0;
}

/* False: another limit than its own, which the next one will have. */
static bool has_limits(struct cay_warm *w, const struct cay_box_exec *exec)
{
        w->files_max = exec->files_max;
        w->file_max_bytes = exec->file_max_bytes;
        return w->files_max == w->own_files_max && w->file_max_bytes == w->own_file_max_bytes;
}

static bool send_command(struct cay_warm_slot *s, const struct cay_child *c)
{
        static char message[MESSAGE_MAX];
        size_t len = cay_warm_put(c, message, sizeof(message));

        if (len == 0)
                return false;
        kill(s->pid, SIGCONT); /* code of the box may have stopped it */
        if (send(s->ends.ask[0], message, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len)
                return true;
        drop(s); /* it is dead, and will be reaped */
        return false;
}

/* NULL: none waits. */
static struct cay_warm_slot *choose(struct cay_warm *w)
{
        for (unsigned i = 0; i < 1 + CAY_WARM_FORKS_MAX; i++) {
                struct cay_warm_slot *s = i < CAY_WARM_FORKS_MAX ? &w->forks[i] : &w->first;

                if (!s->said)
                        listen_to(s);
                if (s->said == CAY_WARM_WAITS && s->pid > 0)
                        return s;
        }
        return NULL;
}

static bool may_take(const struct cay_init *init, const struct cay_child *c)
{
        return init->warm.is_possible && !c->worker && !c->tty && c->uid == init->config.uid &&
               c->gid == init->config.gid && !(c->open->exec.flags & CAY_BOX_ONE_SHOT);
}

pid_t cay_warm_take(struct cay_init *init, const struct cay_child *c, struct cay_ends *e,
                    struct cay_group *ret_group)
{
        struct cay_warm *w = &init->warm;
        struct cay_warm_slot *s;
        pid_t pid;

        if (!may_take(init, c))
                return 0;
        if (!has_limits(w, &c->open->exec)) {
                dismiss(w);
                return 0;
        }
        s = choose(w);
        if (!s || !send_command(s, c))
                return 0;
        if (!(c->open->exec.flags & CAY_BOX_STDIN)) {
                close(s->ends.mine[0]);
                s->ends.mine[0] = -1;
        }
        w->failures = 0;
        w->is_used = true;
        if (s == &w->first)
                cay_watch_remove(&w->listener);
        pid = s->pid;
        cay_warm_slot_give(s, e, ret_group);
        cay_timer_clear(&w->timer);
        if (w->first.pid > 0) {
                keep(init);
                fill(init);
        } else if (!(init->config.flags & CAY_INIT_BRIEF)) {
                want(init, BEHIND_MS);
        }
        return pid;
}

enum cay_warm_word cay_warm_hear(int ask_fd, int *ret_errno)
{
        int32_t said[2] = { 0 };
        ssize_t n = recv(ask_fd, said, sizeof(said), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return CAY_WARM_QUIET;
        if (n == 1 && *(const char *)said == 'S')
                return CAY_WARM_OLD;
        *ret_errno = said[0];
        return n == sizeof(said[0]) && said[0] > 0 && said[0] < 4096 ? CAY_WARM_NO_FOLDER : CAY_WARM_OVER;
}

/* Being */

/*
 * As the front says it for the sandbox's own user: what a Python reads when it starts
 * (domain/model/command_env.c).
 */
int cay_warm_exec(const struct cay_child *c)
{
        const struct cay_init *init = c->init;

        static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        static char lang[] = "LANG=C.UTF-8", archive[] = "PYTHONPATH=/proc/self/fd/5";
        static char tmp[] = "HOME=/tmp", home[] = "HOME=/home/sandbox";
        static char name[] = "python3", option[] = "-m", module[] = "cay_command";
        static char one[] = "one", many[] = "many", modules[CAY_INIT_MODULES];
        bool is_own = !(init->config.flags & (CAY_INIT_READ_ONLY | CAY_INIT_ROOTFS));
        char *const argv[] = { name, option, module, c->serves ? many : one, modules, NULL };
        char *const env[] = { path, is_own ? home : tmp, lang, archive, NULL };
        const char *at = path + strlen("PATH=");
        sigset_t none;

        static_assert(CAY_CHILD_ARCHIVE_FD == 5 && CAY_CHILD_ASK_FD == 4,
                      "in the environment and the driver");
        memcpy(modules, init->config.warm_modules, sizeof(modules) - 1);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        for (;;) { /* as a fresh one would be found */
                size_t len = strcspn(at, ":");
                char file[64];

                snprintf(file, sizeof(file), "%.*s/python3", (int)len, at);
                execve(file, argv, env);
                if (errno != ENOENT || at[len] == '\0')
                        return -errno;
                at += len + 1;
        }
}
