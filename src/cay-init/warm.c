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
#include "cay-init/spawn.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/unix_socket.h"
#include "warm_python.inc" /* made by tools/embed_zip: warm_python[] */

#define BOOT_MS 1
#define AFTER_MS 10   /* until then the processors are busy with the answer */
#define BEHIND_MS 100 /* a command that runs this long does not mind another process */
#define KEEP_MS 60000
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

/* It has said so, and nobody has ended it. */
static bool is_waiting(struct cay_warm *w)
{
        char said[2];

        if (!w->is_ready && w->ends.ask[0] >= 0)
                w->is_ready = recv(w->ends.ask[0], said, sizeof(said), MSG_DONTWAIT) == 1 && said[0] == 'R';
        return w->is_ready && w->ends.ask[0] >= 0;
}

static void dismiss(struct cay_warm *w)
{
        cay_ends_close(&w->ends);
        kill(w->pid, SIGKILL);
}

static void on_late(struct cay_timer *t)
{
        struct cay_warm *w = cay_container_of(t, struct cay_warm, timer);

        w->failures = is_waiting(w) ? 0 : w->failures + 1;
        dismiss(w);
}

static int make(struct cay_init *init)
{
        struct cay_warm *w = &init->warm;
        const struct cay_box_open open = {
                .kind = CAY_BOX_EXEC,
                .exec = { .files_max = w->files_max, .file_max_bytes = w->file_max_bytes },
        };
        struct cay_child c = {
                .init = init,
                .open = &open,
                .node_fd = -1,
                .warm = true,
                .uid = init->config.uid,
                .gid = init->config.gid,
                .fds = { -1, -1, -1 },
        };
        pid_t pid;
        int r = cay_group_make_spare_node(&w->group, init->fds[CAY_INIT_FD_CGROUP2], ++init->spare.serial);

        if (r == 0)
                r = cay_ends_make(&w->ends, &c);
        if (r < 0)
                return r;
        memcpy(c.fds, w->ends.child, sizeof(c.fds));
        c.status_fd = w->ends.status[1];
        c.ask_fd = w->ends.ask[1];
        pid = cay_spawn_fork(&c, w->group.node_fd);
        if (pid < 0)
                return pid;
        cay_ends_close_child(&w->ends);
        w->pid = pid;
        w->is_ready = false;
        w->own_files_max = w->files_max;
        w->own_file_max_bytes = w->file_max_bytes;
        init->childless = false;
        return 0;
}

/* False: its node is not empty yet. */
static bool forget(struct cay_init *init)
{
        cay_ends_close(&init->warm.ends);
        return cay_group_remove(&init->warm.group, init->fds[CAY_INIT_FD_CGROUP2]);
}

static void keep(struct cay_init *init)
{
        if (init->welcomed && cay_timer_set(init->loop, &init->warm.timer, KEEP_MS, on_late) < 0)
                dismiss(&init->warm);
}

static void on_wanted(struct cay_timer *t)
{
        struct cay_init *init = cay_container_of(t, struct cay_init, warm.timer);
        struct cay_warm *w = &init->warm;

        if (w->pid > 0 || init->one_shot || !has_memory(init) || !forget(init))
                return;
        if (make(init) == 0)
                keep(init);
        else if (w->pid <= 0)
                forget(init); /* commands start without it */
}

static void want(struct cay_init *init, uint64_t in_ms)
{
        struct cay_warm *w = &init->warm;

        if (w->is_possible && w->pid == 0 && w->failures < FAILURES_MAX)
                cay_timer_set(init->loop, &w->timer, in_ms, on_wanted);
}

void cay_warm_init(struct cay_init *init)
{
        struct cay_warm *w = &init->warm;

        *w = (struct cay_warm){ .ends = CAY_ENDS_NONE,
                                .is_possible = is_possible(init),
                                .files_max = FILES_DEFAULT,
                                .file_max_bytes = 2 * init->config.disk_bytes,
                                .archive_fd = -1 };
        cay_group_init(&w->group);
        if (w->is_possible)
                w->archive_fd = make_archive();
        w->is_possible = w->archive_fd >= 0;
        want(init, BOOT_MS);
}

void cay_warm_welcome(struct cay_init *init)
{
        if (init->warm.pid > 0 && init->warm.ends.ask[0] >= 0)
                keep(init);
}

void cay_warm_ended(struct cay_init *init)
{
        if (!(init->config.flags & CAY_INIT_BRIEF))
                want(init, AFTER_MS);
}

bool cay_warm_reaped(struct cay_init *init, pid_t pid)
{
        struct cay_warm *w = &init->warm;

        if (w->pid != pid)
                return false;
        if (w->ends.ask[0] >= 0) /* not ended by us */
                w->failures = is_waiting(w) ? 0 : w->failures + 1;
        w->pid = 0;
        cay_timer_clear(&w->timer);
        forget(init);
        return true;
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

pid_t cay_warm_take(struct cay_init *init, const struct cay_child *c, struct cay_ends *e,
                    struct cay_group *ret_group)
{
        static char message[MESSAGE_MAX];
        struct cay_warm *w = &init->warm;
        pid_t pid = w->pid;
        size_t len;

        if (!w->is_possible || c->worker || c->tty || c->uid != init->config.uid ||
            c->gid != init->config.gid || c->open->exec.flags & CAY_BOX_ONE_SHOT)
                return 0;
        if (pid > 0 && !has_limits(w, &c->open->exec)) {
                if (w->ends.ask[0] >= 0)
                        dismiss(w);
                return 0;
        }
        if (pid <= 0 || w->ends.ask[0] < 0)
                return 0;
        len = cay_warm_put(c, message, sizeof(message));
        if (len == 0 || !is_waiting(w))
                return 0;
        kill(pid, SIGCONT); /* code of the box may have stopped it */
        if (send(w->ends.ask[0], message, len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)len) {
                dismiss(w); /* it is dead, and will be reaped */
                return 0;
        }
        if (!(c->open->exec.flags & CAY_BOX_STDIN)) {
                close(w->ends.mine[0]);
                w->ends.mine[0] = -1;
        }
        w->failures = 0;
        w->pid = 0;
        *e = w->ends;
        *ret_group = w->group;
        w->ends = CAY_ENDS_NONE;
        cay_group_init(&w->group);
        cay_timer_clear(&w->timer);
        if (!(init->config.flags & CAY_INIT_BRIEF))
                want(init, BEHIND_MS);
        return pid;
}

int cay_warm_hear(int ask_fd)
{
        int32_t said[2];
        ssize_t n = recv(ask_fd, said, sizeof(said), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        return n == sizeof(said[0]) && said[0] > 0 && said[0] < 4096 ? said[0] : -1;
}

/* Being */

/* As the front says it for the sandbox's own user: what a Python reads when it starts (domain/model/command_env.c). */
int cay_warm_exec(const struct cay_init *init)
{
        static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        static char lang[] = "LANG=C.UTF-8", archive[] = "PYTHONPATH=/proc/self/fd/5";
        static char tmp[] = "HOME=/tmp", home[] = "HOME=/home/sandbox";
        static char name[] = "python3", option[] = "-m", module[] = "cay_command";
        bool is_own = !(init->config.flags & (CAY_INIT_READ_ONLY | CAY_INIT_ROOTFS));
        char *const argv[] = { name, option, module, NULL };
        char *const env[] = { path, is_own ? home : tmp, lang, archive, NULL };
        const char *at = path + strlen("PATH=");
        sigset_t none;

        static_assert(CAY_CHILD_ARCHIVE_FD == 5 && CAY_CHILD_ASK_FD == 4,
                      "in the environment and the driver");
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
