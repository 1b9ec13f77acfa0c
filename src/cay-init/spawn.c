/* SPDX-License-Identifier: Apache-2.0 */
/* Spawning. The child's messages are bounded and checked: a worker reads hostile files. */
#include "cay-init/spawn.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "foundation/base/clock.h"
#include "cay-init/ends.h"
#include "cay-init/exec.h"
#include "cay-init/init_filter.h"
#include "cay-init/prefork.h"
#include "cay-init/warm.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"
#include "foundation/sys/unix_socket.h"

/* All workers share one node: each is a single process, killed by its pid. */
static int workers_node(struct cay_init *init)
{
        int cgroup = init->fds[CAY_INIT_FD_CGROUP2];

        if (init->workers_node < 0 && cgroup >= 0) {
                if (mkdirat(cgroup, CAY_INIT_WORKERS_NODE, 0755) < 0 && errno != EEXIST)
                        return -errno;
                init->workers_node = sys_open_at(cgroup, CAY_INIT_WORKERS_NODE, O_PATH | O_DIRECTORY, 0);
        }
        return init->workers_node;
}

static pid_t fork_into(int node_fd)
{
        struct clone_args args = { .exit_signal = SIGCHLD };

        if (node_fd < 0) {
                pid_t pid = fork();

                return pid < 0 ? -errno : pid;
        }
        args.flags = CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)node_fd;
        return sys_clone3(&args);
}

static bool has_no_clone_into(pid_t r)
{
        return r == -EOPNOTSUPP || r == -EINVAL;
}

/*
 * Kernels before 5.7 cannot fork into a node. There the child joins before it does anything else, so that
 * nothing of it runs outside. We also write its pid, so that from here on killing the node kills it.
 */
static pid_t fork_and_join(struct cay_child *c, int node_fd)
{
        char text[16];
        pid_t pid;

        c->node_fd = node_fd;
        pid = fork_into(-1);
        if (pid > 0) {
                snprintf(text, sizeof(text), "%d", (int)pid);
                sys_write_file(node_fd, "cgroup.procs",
                               text); /* ignoring: the child fails as well, and says so */
        }
        return pid;
}

static pid_t fork_in_node(struct cay_child *c, int node_fd)
{
        pid_t pid = fork_into(node_fd);

        return node_fd >= 0 && has_no_clone_into(pid) ? fork_and_join(c, node_fd) : pid;
}

pid_t cay_spawn_fork(struct cay_child *c, int node_fd)
{
        pid_t pid = fork_in_node(c, node_fd);

        if (pid == 0)
                cay_child_run(c);
        return pid;
}

pid_t cay_spawn_fork_helper(struct cay_init *init)
{
        return fork_into(workers_node(init));
}

static pid_t fork_child(struct cay_channel *ch, struct cay_child *c)
{
        struct cay_init *init = ch->init;
        int cgroup = init->fds[CAY_INIT_FD_CGROUP2];
        pid_t pid;
        int r;

        if (c->worker) {
                pid = fork_in_node(c, workers_node(init));
        } else if (ch->one_shot && init->is_pid1 && (cgroup >= 0 || cay_init_is_isolated(init)) &&
                   !(init->config.flags & CAY_INIT_DOCKER)) { /* there the link's helper is in the box, too */
                cay_group_take_box(&ch->group, cgroup);
                pid = fork_into(-1);
        } else if (cgroup >= 0) {
                r = cay_group_make_node(&ch->group, cgroup, ch->number);
                if (r < 0)
                        return r;
                pid = fork_in_node(c, ch->group.node_fd);
        } else {
                c->kept = true; /* see group.h */
                cay_init_filter(init);
                pid = fork_into(-1);
        }
        if (pid == 0)
                cay_child_run(c);
        return pid;
}

static uint32_t list_execs(const struct cay_init *init, struct cay_worker_exec *rows, uint32_t max)
{
        uint32_t count = 0;

        for (const struct cay_channel *ch = init->channels; ch && count < max; ch = ch->next) {
                if (ch->kind == CAY_BOX_EXEC && ch->opened_pid > 0)
                        rows[count++] = (struct cay_worker_exec){ (int32_t)ch->opened_pid, ch->number,
                                                                  ch->group.serial };
        }
        return count;
}

static void on_status(struct cay_watch *w, uint32_t events);

static int start_streams(struct cay_channel *ch, struct cay_ends *e, bool tty)
{
        int r = 0;

        ch->feed.tty = tty;
        ch->feed.fd = cay_take_fd(e->mine[0]);
        for (int i = 0; r == 0 && i < CAY_CHANNEL_OUTS; i++) {
                if (e->mine[1 + i] >= 0)
                        r = cay_pump_start_take(&ch->pumps[i], cay_take_fd(e->mine[1 + i]));
        }
        ch->status_fd = cay_take_fd(e->status[0]);
        if (ch->group.serial > 0) /* a preforked process has most likely reported everything already */
                cay_spawn_listen(ch);
        if (e->ask[0] >= 0) {
                cay_spawn_hang_up(ch);
                ch->status_fd = cay_take_fd(e->ask[0]);
                ch->is_warm = true;
        }
        /* A driver's last words are read at the end. */
        if (r == 0 && ch->status_fd >= 0 && ch->notify.fd < 0 && !ch->is_warm)
                r = cay_watch_add(ch->init->loop, &ch->status, ch->status_fd, EPOLLIN, on_status);
        return r;
}

/* Name the limit in the error: the user can raise it. */
static void spawn_failed(struct cay_channel *ch, int r, const char *what)
{
        const char *limit =
                r == -EAGAIN ? "the sandbox has as many processes as its limit (pids) allows; end some, "
                               "or give the next sandbox a higher limit"
                : r == -EMFILE || r == -ENFILE
                        ? "cay-init has as many files open as this host lets it (RLIMIT_NOFILE); end "
                          "commands or close connections, or raise the daemon's limit"
                : r == -ENOMEM || r == -ENOSPC ? strerror(-r)
                                               : NULL;

        cay_channel_fail(ch, limit ? CAY_LIMIT : CAY_INTERNAL, -r, "cannot %s: %s", what,
                         limit ? limit : strerror(-r));
}

static uint32_t choose(uint32_t asked, uint32_t otherwise)
{
        return asked == CAY_BOX_ID_DEFAULT ? otherwise : asked;
}

static void choose_ids(const struct cay_init *init, struct cay_child *c)
{
        uint32_t uid = CAY_BOX_ID_DEFAULT, gid = CAY_BOX_ID_DEFAULT;
        bool isolated = cay_init_is_isolated(init);

        if (!c->worker) {
                uid = c->open->exec.uid;
                gid = c->open->exec.gid;
        } else if (!cay_box_has_port(c->open->kind)) {
                uid = c->open->file.uid;
                gid = c->open->file.gid;
        }
        c->uid = choose(uid, isolated ? init->config.uid : geteuid());
        c->gid = choose(gid, isolated ? init->config.gid : getegid());
}

/* The box lacks the requested user. False: the channel has its END. */
static bool check_ids(struct cay_channel *ch, const struct cay_child *c)
{
        const struct cay_init *init = ch->init;

        if (init->config.flags & CAY_INIT_DOCKER && (c->uid != init->uid || c->gid != init->gid))
                cay_channel_fail(ch, CAY_UNSUPPORTED, EINVAL,
                                 "the docker engine has no user %u here: everything runs as %u", c->uid,
                                 init->uid);
        else if (init->config.flags & CAY_INIT_ONE_ID && c->uid != init->uid)
                cay_channel_fail(ch, CAY_UNSUPPORTED, EINVAL,
                                 "there is no user %u here: the account that runs cay has no range of ids "
                                 "(/etc/subuid, /etc/subgid)",
                                 c->uid);
        else if (cay_init_is_isolated(init) && c->uid == init->uid &&
                 !(init->config.flags & CAY_INIT_ONE_ID) && cay_init_has_layer(init, CAY_LAYER_INIT_UID))
                cay_channel_fail(ch, CAY_DENIED, EPERM, "user %u is reserved in a sandbox", c->uid);
        else
                return true;
        return false;
}

/* A process of its own; -errno: the channel has its END. */
static pid_t start_new(struct cay_channel *ch, struct cay_child *c, struct cay_ends *e)
{
        static struct cay_worker_exec execs[CAY_BOX_CHANNELS_MAX];
        struct cay_init *init = ch->init;
        pid_t pid;
        int r = cay_ends_make(e, c);

        if (r < 0) {
                spawn_failed(ch, r, c->tty ? "make a terminal" : "make pipes");
                return r;
        }
        for (int i = 0; i < 3; i++)
                c->fds[i] = e->child[c->tty ? 0 : i];
        c->status_fd = e->status[1];
        if (c->worker && c->open->kind == CAY_BOX_PROCESSES) {
                c->execs = execs;
                c->exec_count = list_execs(init, execs, CAY_COUNT(execs));
        }
        pid = fork_child(ch, c);
        if (pid < 0) {
                cay_group_remove(&ch->group, init->fds[CAY_INIT_FD_CGROUP2]);
                spawn_failed(ch, pid, "start a process");
        }
        return pid;
}

/*
 * The first child has begun where its cpuset lets it be, as we were there. From now on the two may run at the
 * same time. Later commands are prepared ahead (prefork.h), and need not begin at a certain place.
 */
static void use_all_cpus(struct cay_init *init)
{
        cpu_set_t all;

        if (!(init->config.flags & CAY_INIT_PLACED))
                return;
        init->config.flags &= ~(uint32_t)CAY_INIT_PLACED;
        memset(&all, 0xff, sizeof(all));
        sched_setaffinity(0, sizeof(all), &all); /* ignoring: we are slower then */
}

void cay_spawn_start(struct cay_channel *ch, const struct cay_box_open *open, const struct cay_worker *worker)
{
        cay_auto(cay_ends_close) struct cay_ends e = CAY_ENDS_NONE;
        struct cay_init *init = ch->init;
        struct cay_child c = { .init = init, .open = open, .worker = worker, .node_fd = -1 };
        pid_t pid;
        int r;

        choose_ids(init, &c);
        if (!check_ids(ch, &c))
                return;
        c.tty = !worker && open->exec.flags & CAY_BOX_TTY;
        ch->start_ns = cay_clock_ns();
        pid = cay_warm_take(init, &c, &e, &ch->group);
        if (pid <= 0)
                pid = cay_prefork_take(init, &c, &e, &ch->group);
        if (pid <= 0)
                pid = start_new(ch, &c, &e);
        if (pid < 0)
                return;
        use_all_cpus(init);
        cay_init_filter(init);
        init->childless = false;
        cay_limit_watch_wake(init);
        if (c.kept) {
                ch->group.keeper = pid; /* OPENED follows when it has told the pid */
        } else {
                ch->group.pid = pid;
                ch->opened_pid = (uint32_t)pid;
                ch->opened = true;
        }
        r = start_streams(ch, &e, c.tty);
        if (r < 0) {
                cay_group_kill(&ch->group);
                spawn_failed(ch, r, "watch a process");
        }
}

static void on_note(struct cay_channel *ch, const struct cay_note_result *say, size_t len, int fd)
{
        const struct cay_note *note = &say->note;

        switch (note->what) {
        case CAY_NOTE_LISTENER:
                if (fd >= 0)
                        cay_notify_start_take(ch->init->loop, &ch->notify, fd);
                /*
                 * Only a failure may follow, and it is read at the process's end: no wake-up for the exec is
                 * needed.
                 */
                if (ch->group.keeper == 0)
                        cay_watch_remove(&ch->status);
                return;
        case CAY_NOTE_FAILED:
                ch->failed_step = note->step;
                ch->failed_sys = note->sys;
                break;
        case CAY_NOTE_STARTED:
                if (ch->group.keeper > 0 && note->pid > 0) {
                        ch->group.pid = note->pid;
                        ch->opened_pid = (uint32_t)note->pid;
                        ch->opened = true;
                }
                break;
        case CAY_NOTE_EXITED:
                if (ch->group.keeper <= 0)
                        break;
                ch->group.is_alone = note->alone;
                ch->group.reaped_us = note->tree_us;
                cay_channel_note_memory(ch, note->most_kib);
                cay_channel_exited(ch, note->status, note->user_us, note->sys_us);
                break;
        case CAY_NOTE_RESULT:
                if (len == sizeof(*say) && ch->kind != CAY_BOX_EXEC && !ch->result) {
                        ch->result = malloc(sizeof(*ch->result));
                        if (ch->result)
                                *ch->result = say->result;
                }
                break;
        default:
                break;
        }
        if (fd >= 0)
                close(fd);
}

/* Of the driver of an interpreter that had started before. True: there may be more. */
static bool hear_driver(struct cay_channel *ch)
{
        int sys = 0;

        switch (cay_warm_hear(ch->status_fd, &sys)) {
        case CAY_WARM_QUIET:
                return false;
        case CAY_WARM_OLD:
                cay_warm_outdated(ch->init);
                return true;
        case CAY_WARM_NO_FOLDER:
                if (ch->failed_step == CAY_STEP_NONE) {
                        ch->failed_step = CAY_STEP_DIRECTORY;
                        ch->failed_sys = sys;
                }
                break;
        case CAY_WARM_OVER:
                break;
        }
        cay_spawn_hang_up(ch);
        return false;
}

/* One message; false: there is none (any more). */
static bool hear_one(struct cay_channel *ch)
{
        static struct cay_note_result say;
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        ssize_t n;

        if (ch->status_fd < 0)
                return false;
        if (ch->is_warm)
                return hear_driver(ch);
        n = sys_recv_fds(ch->status_fd, &say, sizeof(say), fds, &count, MSG_DONTWAIT);
        /* it exited without reading that its input is complete; its earlier messages are still there */
        if (n == -ECONNRESET)
                n = sys_recv_fds(ch->status_fd, &say, sizeof(say), fds, &count, MSG_DONTWAIT);
        if (n == -EAGAIN || n == -EINTR)
                return false;
        if (n < (ssize_t)sizeof(say.note)) {
                sys_close_fds(fds, n >= 0 ? count : 0);
                cay_spawn_hang_up(ch);
                return false;
        }
        if (count > 1)
                sys_close_fds(fds + 1, count - 1);
        on_note(ch, &say, (size_t)n, count > 0 ? fds[0] : -1);
        return true;
}

void cay_spawn_listen(struct cay_channel *ch)
{
        while (hear_one(ch))
                ;
}

void cay_spawn_hang_up(struct cay_channel *ch)
{
        cay_watch_remove(&ch->status);
        if (ch->status_fd >= 0)
                close(ch->status_fd);
        ch->status_fd = -1;
}

static void on_status(struct cay_watch *w, uint32_t events)
{
        struct cay_channel *ch = cay_container_of(w, struct cay_channel, status);

        hear_one(ch);
        cay_channel_step(ch);
}
