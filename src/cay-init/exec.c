/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Execs.
 *
 * Theory of operation. Init ends an exec for one of the reasons in enum cay_box_killed; the first one is
 * kept. Then everything it has started is killed (group.h), and END waits, bounded, until that is dead. When
 * an exec ends normally in a session, its background processes continue and are counted. In a one-shot box
 * everything ends with it. Processor time is checked at the earliest moment at which it could be used up, so
 * a long exec costs almost nothing.
 */
#include "cay-init/exec.h"

#include <errno.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/statfs.h>
#include <sys/wait.h>

#include "foundation/base/clock.h"
#include "cay-init/pty.h"

#define CPU_POLL_MIN_MS 5
#define CPU_POLL_MAX_MS 1000
#define KILL_EVERY_MS 10
#define KILL_WAIT_MS 2000
#define KEEPER_MS 3
#define DISK_LEFT_MIN 4096u
#define TIMER_MAX_MS (400ull * 24 * 3600 * 1000)

enum { DISK_BLOCKS = 1, DISK_INODES = 2 };

static void copy_cut(char *to, size_t size, struct cay_view v)
{
        size_t len = v.len < size - 1 ? v.len : size - 1;

        memcpy(to, v.ptr, len);
        to[len] = 0;
}

void cay_exec_begin(struct cay_channel *ch, const struct cay_box_exec *exec)
{
        struct cay_view strings = exec->args;

        ch->exec_flags = exec->flags;
        ch->one_shot = exec->flags & CAY_BOX_ONE_SHOT;
        ch->output_max_bytes = exec->output_max_bytes;
        ch->cpu_max_us = exec->cpu_ms * 1000;
        copy_cut(ch->name, sizeof(ch->name), cay_box_next_string(&strings));
        copy_cut(ch->directory, sizeof(ch->directory), exec->cwd);
        if (ch->one_shot)
                ch->init->one_shot = true;
}

static void on_wall_time(struct cay_timer *t)
{
        struct cay_channel *ch = cay_container_of(t, struct cay_channel, wall_timer);

        cay_exec_kill(ch, CAY_KILLED_WALL_TIME);
        cay_channel_step(ch);
}

static void on_cpu_time(struct cay_timer *t)
{
        struct cay_channel *ch = cay_container_of(t, struct cay_channel, cpu_timer);
        uint64_t used_us = cay_group_cpu_us(&ch->group), wait_ms;
        uint32_t cpus = ch->init->config.cpus > 0 ? ch->init->config.cpus : 1;

        if (used_us >= ch->cpu_max_us) {
                cay_exec_kill(ch, CAY_KILLED_CPU_TIME);
                cay_channel_step(ch);
                return;
        }
        wait_ms = (ch->cpu_max_us - used_us) / 1000 / cpus;
        if (wait_ms < CPU_POLL_MIN_MS)
                wait_ms = CPU_POLL_MIN_MS;
        if (wait_ms > CPU_POLL_MAX_MS)
                wait_ms = CPU_POLL_MAX_MS;
        cay_timer_set(ch->init->loop, &ch->cpu_timer, wait_ms, on_cpu_time);
}

static void on_too_many_denied(struct cay_notify *n)
{
        struct cay_channel *ch = cay_container_of(n, struct cay_channel, notify);

        cay_exec_kill(ch, CAY_KILLED_SYSCALL);
        cay_channel_step(ch);
}

/*
 * A dying process releases its filter before it closes its pipes, and is reaped last (Linux 6.11 and later).
 * One check of the pipes is then enough; earlier checks would only delay it.
 */
static void on_last_breath(struct cay_notify *n)
{
        struct cay_channel *ch = cay_container_of(n, struct cay_channel, notify);

        for (int i = 0; i < CAY_CHANNEL_OUTS && ch->state == CAY_CHANNEL_RUNNING && ch->group.pid > 0; i++)
                cay_pump_rest(&ch->pumps[i]);
}

void cay_exec_started(struct cay_channel *ch, const struct cay_box_exec *exec)
{
        uint64_t wall_ms = exec->wall_ms < TIMER_MAX_MS ? exec->wall_ms : TIMER_MAX_MS;
        int r = 0;

        ch->oom_before = cay_counters_oom_kills(&ch->init->counters);
        ch->pids_before = cay_counters_pids_refused(&ch->init->counters);
        ch->notify.on_too_many = on_too_many_denied;
        ch->notify.on_alone = on_last_breath;
        if (wall_ms > 0)
                r = cay_timer_set(ch->init->loop, &ch->wall_timer, wall_ms, on_wall_time);
        if (r == 0 && ch->cpu_max_us > 0)
                r = cay_timer_set(ch->init->loop, &ch->cpu_timer, CPU_POLL_MIN_MS, on_cpu_time);
        if (r < 0) { /* a limit that is not watched would not be enforced */
                cay_group_kill(&ch->group);
                cay_channel_fail(ch, CAY_LIMIT, -r, "cannot set a timer");
        }
}

/*
 * Kills everything in the box except init and, in Docker, the helper that carries the final output: it has no
 * parent in here.
 */
static void kill_box(struct cay_init *init)
{
        if (init->is_pid1 && cay_init_is_isolated(init) && !(init->config.flags & CAY_INIT_DOCKER)) {
                kill(-1, SIGKILL);
                return;
        }
        for (struct cay_channel *ch = init->channels; ch; ch = ch->next)
                cay_group_kill(&ch->group);
        cay_group_kill_below_self();
}

static bool ends_all(const struct cay_channel *ch)
{
        return ch->one_shot && cay_init_has_layer(ch->init, CAY_LAYER_KILL_ALL);
}

static bool is_dead(const struct cay_channel *ch)
{
        if (ch->init->childless)
                return true;
        return ends_all(ch) && ch->exited ? false : cay_group_count(&ch->group) == 0;
}

static void on_kill_time(struct cay_timer *t)
{
        struct cay_channel *ch = cay_container_of(t, struct cay_channel, kill_timer);

        if (ends_all(ch) && ch->exited)
                kill_box(ch->init);
        else
                cay_group_kill(&ch->group);
        if (!ch->exited) /* without a cgroup something may have forked between look and kill */
                cay_timer_set(ch->init->loop, &ch->kill_timer, KILL_EVERY_MS, on_kill_time);
        cay_channel_step(ch);
}

void cay_exec_kill(struct cay_channel *ch, enum cay_box_killed why)
{
        if (ch->killed == CAY_KILLED_NOT && !ch->exited)
                ch->killed = why;
        cay_group_kill(&ch->group);
        cay_timer_clear(&ch->wall_timer);
        cay_timer_clear(&ch->cpu_timer);
        ch->kill_until_ms = cay_clock_ms() + KILL_WAIT_MS;
        if (!ch->kill_timer.loop)
                cay_timer_set(ch->init->loop, &ch->kill_timer, KILL_EVERY_MS, on_kill_time);
}

void cay_exec_signal(struct cay_channel *ch, int signo)
{
        if (ch->exited || ch->group.pid <= 0)
                return;
        if (kill(-ch->group.pid, signo) < 0 && errno == ESRCH)
                kill(ch->group.pid, signo); /* has not started its session yet */
}

void cay_exec_resize(struct cay_channel *ch, unsigned rows, unsigned cols)
{
        if (ch->exec_flags & CAY_BOX_TTY && ch->pumps[0].fd >= 0)
                cay_pty_resize(ch->pumps[0].fd, rows, cols);
}

static uint64_t produced(const struct cay_channel *ch)
{
        return ch->pumps[0].bytes + ch->pumps[1].bytes;
}

uint64_t cay_exec_output_left(const struct cay_channel *ch)
{
        if (ch->output_max_bytes == 0)
                return UINT64_MAX;
        return produced(ch) < ch->output_max_bytes ? ch->output_max_bytes - produced(ch) : 0;
}

void cay_exec_output(struct cay_channel *ch, uint64_t len, bool kept)
{
        if (kept)
                return;
        ch->cut_bytes += len; /* also when it ends before it can be killed: report what is missing */
        if (!(ch->exec_flags & CAY_BOX_CUT) && ch->killed == CAY_KILLED_NOT)
                cay_exec_kill(ch, CAY_KILLED_OUTPUT);
}

void cay_exec_exited(struct cay_channel *ch)
{
        cay_timer_clear(&ch->wall_timer);
        cay_timer_clear(&ch->cpu_timer);
        if (!ends_all(ch) || ch->init->childless)
                return;
        ch->kill_until_ms = cay_clock_ms() + KILL_WAIT_MS;
        if (ch->group.keeper > 0) /* it will exit soon, most likely: not worth a scan of /proc */
                cay_timer_set(ch->init->loop, &ch->kill_timer, KEEPER_MS, on_kill_time);
        else
                kill_box(ch->init);
}

bool cay_exec_is_over(struct cay_channel *ch)
{
        bool must_be_dead = ch->killed != CAY_KILLED_NOT || ends_all(ch);

        if (!must_be_dead || is_dead(ch) || cay_clock_ms() >= ch->kill_until_ms) {
                cay_timer_clear(&ch->kill_timer);
                return true;
        }
        if (!ch->kill_timer.loop)
                cay_timer_set(ch->init->loop, &ch->kill_timer, KILL_EVERY_MS, on_kill_time);
        return false;
}

/*
 * What ext4 reserves for itself when it returns ENOSPC: a fiftieth of its blocks, 4,096 at most. tmpfs
 * reserves nothing.
 */
static uint64_t kept_back(const struct statfs *fs)
{
        uint64_t blocks = (uint64_t)fs->f_blocks / 50;

        if (fs->f_type != EXT4_SUPER_MAGIC && fs->f_type != OVERLAYFS_SUPER_MAGIC)
                return 0;
        return (blocks < 4096 ? blocks : 4096) * (uint64_t)fs->f_bsize;
}

static uint32_t what_is_full(int fd)
{
        uint32_t full = 0;
        struct statfs fs;

        if (fd < 0 || fstatfs(fd, &fs) < 0 || fs.f_blocks == 0)
                return 0;
        if ((uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize < kept_back(&fs) + DISK_LEFT_MIN)
                full |= DISK_BLOCKS;
        if (fs.f_files > 0 && fs.f_ffree == 0)
                full |= DISK_INODES;
        return full;
}

static uint32_t disk_full(const struct cay_init *init)
{
        uint32_t full = what_is_full(init->layer_fds[0]);
        bool has_own_workspace = true;

        for (unsigned i = 0; i < CAY_INIT_VOLUMES; i++) {
                if (what_is_full(init->volume_fds[i]))
                        full |= CAY_BOX_END_VOLUME0 << i;
                has_own_workspace = has_own_workspace && strcmp(init->config.volumes[i], "/workspace") != 0;
        }
        return has_own_workspace ? full | what_is_full(init->layer_fds[1]) : full;
}

static void start_failed(struct cay_channel *ch)
{
        static const char *const steps[CAY_STEP_COUNT] = {
#define CAY_STEP(name, text) [CAY_STEP_##name] = text,
#include "cay-init/child_steps.def"
#undef CAY_STEP
        };
        unsigned step = (unsigned)ch->failed_step;
        int sys = ch->failed_sys;
        bool absent = sys == ENOENT || sys == ENOTDIR;
        bool denied = sys == EACCES || sys == EPERM;
        const char *where = strchr(ch->name, '/') ? "in the sandbox" : "in the sandbox's PATH";

        if (step == CAY_STEP_EXEC && absent)
                cay_channel_fail(ch, CAY_NOT_FOUND, sys, "command '%s' was not found %s", ch->name, where);
        else if (step == CAY_STEP_EXEC && denied)
                cay_channel_fail(ch, CAY_DENIED, sys, "command '%s' is not executable for this user",
                                 ch->name);
        else if (step == CAY_STEP_EXEC && sys == ENOEXEC)
                cay_channel_fail(ch, CAY_INVALID, sys, "command '%s' is not a program that runs here",
                                 ch->name);
        else if (step == CAY_STEP_EXEC && sys == E2BIG)
                cay_channel_fail(ch, CAY_LIMIT, sys, "the arguments of '%s' are too long", ch->name);
        else if (step == CAY_STEP_INTERPRETER)
                cay_channel_fail(ch, CAY_NOT_FOUND, sys,
                                 "the interpreter or loader of '%s' is missing in the sandbox", ch->name);
        else if (step == CAY_STEP_DIRECTORY && absent)
                cay_channel_fail(ch, CAY_NOT_FOUND, sys,
                                 "working directory '%s' does not exist in the sandbox", ch->directory);
        else if (step == CAY_STEP_DIRECTORY && denied)
                cay_channel_fail(ch, CAY_DENIED, sys,
                                 "working directory '%s' is closed to this user: choose another (workdir), "
                                 "or let the user in (chmod o+x, or chown, on it and the folders above it)",
                                 ch->directory);
        else if (step == CAY_STEP_IDS)
                cay_channel_fail(ch, sys == EINVAL ? CAY_INVALID : CAY_DENIED, sys,
                                 "cannot become the user that was asked for: %s", strerror(sys));
        else
                cay_channel_fail(ch, sys == EAGAIN || sys == ENOMEM ? CAY_LIMIT : CAY_INTERNAL, sys,
                                 "cannot %s: %s",
                                 step < CAY_STEP_COUNT && steps[step] ? steps[step] : "start", strerror(sys));
}

/*
 * What the cgroups counted while it ran, where the engine cannot tell. Same rule as in domain/model/cause.h
 * for the engine's figures.
 */
static void add_counted(const struct cay_channel *ch, struct cay_box_exec_end *e)
{
        const struct cay_counters *c = &ch->init->counters;

        if (!c->is_open)
                return;
        e->pids_hits = (uint32_t)(cay_counters_pids_refused(c) - ch->pids_before);
        if (cay_counters_oom_kills(c) == ch->oom_before)
                return;
        e->disk_full |= CAY_BOX_END_OOM;
        if (e->exit_code != 0 && e->killed == CAY_KILLED_NOT)
                e->killed = CAY_KILLED_MEMORY;
}

/*
 * Peak memory. The limit applies to the whole box, so for the command of a one-shot box the box's peak is
 * used. For one command among others only the peak of its single processes is known.
 */
static uint64_t find_peak(const struct cay_channel *ch, bool is_for_memory)
{
        uint64_t box = ch->init->counters.is_open ? cay_counters_memory_peak(&ch->init->counters)
                                                  : ch->init->limit_watch.peak_bytes;

        return (is_for_memory || ch->one_shot) && box > ch->most_bytes ? box : ch->most_bytes;
}

void cay_exec_put_end(struct cay_channel *ch)
{
        struct cay_box_end end = { .kind = CAY_BOX_EXEC, .code = CAY_OK };
        struct cay_box_exec_end *e = &end.exec;

        if (ch->failed_step != CAY_STEP_NONE) {
                start_failed(ch);
                return;
        }
        e->exit_code = WIFEXITED(ch->wait_status) ? WEXITSTATUS(ch->wait_status) : -1;
        e->signal = WIFSIGNALED(ch->wait_status) ? WTERMSIG(ch->wait_status) : 0;
        e->killed = ch->killed;
        e->wall_us = ch->wall_us;
        e->user_us = ch->user_us;
        e->sys_us = ch->sys_us;
        e->cpu_us = cay_group_cpu_us(&ch->group);
        e->out_bytes = ch->pumps[0].bytes;
        e->err_bytes = ch->pumps[1].bytes;
        e->cut_bytes = ch->cut_bytes;
        e->disk_full = disk_full(ch->init);
        e->pids_hits = ch->init->limit_watch.pids_hits;
        add_counted(ch, e);
        e->memory_peak_bytes = find_peak(ch, e->killed == CAY_KILLED_MEMORY);
        e->left = ch->init->childless ? 0 : cay_group_count(&ch->group);
        e->last_denied = ch->notify.last;
        e->denied_count = ch->notify.denied_count;
        memcpy(e->denied, ch->notify.denied, sizeof(e->denied));
        cay_channel_put_end(ch, &end);
}

void cay_exec_stop(struct cay_channel *ch)
{
        cay_timer_clear(&ch->wall_timer);
        cay_timer_clear(&ch->cpu_timer);
        cay_timer_clear(&ch->kill_timer);
        cay_notify_stop(&ch->notify);
}
