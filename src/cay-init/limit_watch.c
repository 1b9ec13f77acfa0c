/* SPDX-License-Identifier: Apache-2.0 */
/* Limits enforced by watching. The theory is in limit_watch.h. */
#include "cay-init/limit_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "foundation/base/clock.h"
#include "cay-init/channel.h"
#include "cay-init/exec.h"
#include "cay-init/init.h"
#include "cay-init/proc.h"
#include "foundation/sys/dir.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/sock_memory.h"

#define LOOK_MS 10
#define QUICK_LOOK_MS 5 /* while stopped, and at first: most commands are short */
#define QUICK_LOOKS 20
#define FS_EVERY 3 /* looks between two looks at files */
/* processor time that may be used ahead of its share: clocks have a resolution of 10 ms */
#define SLACK_US 40000

static struct cay_proc table[CAY_PROC_MAX];

bool cay_limit_watch_is_ahead(uint64_t elapsed_us, uint64_t used_us, uint32_t cpu_milli)
{
        return used_us > elapsed_us / 1000 * cpu_milli + SLACK_US;
}

static uint64_t field_kb(const char *text, const char *key)
{
        const char *at = strstr(text, key);

        return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/*
 * A process's own memory: anonymous, shared and swapped pages, and page tables. Pages of files can be
 * reclaimed and do not count.
 */
static uint64_t own_bytes(pid_t pid)
{
        char path[40], text[2048];

        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        if (sys_read_file(AT_FDCWD, path, text, sizeof(text)) <= 0)
                return 0;
        return (field_kb(text, "\nRssAnon:") + field_kb(text, "\nRssShmem:") + field_kb(text, "\nVmSwap:") +
                field_kb(text, "\nVmPTE:")) *
               1024;
}

/* files without a name (memfd): found through the processes that have them open, counted once */
struct unnamed {
        ino_t seen[64];
        unsigned count;
        uint64_t bytes;
};

static void add_unnamed(void *ctx, int dirfd, const char *name, unsigned type)
{
        struct unnamed *u = ctx;
        char target[16];
        struct stat st;

        (void)type;
        if (u->count == CAY_COUNT(u->seen) || readlinkat(dirfd, name, target, sizeof(target)) < 8 ||
            memcmp(target, "/memfd:", 7) != 0 || fstatat(dirfd, name, &st, 0) < 0)
                return;
        for (unsigned i = 0; i < u->count; i++)
                if (u->seen[i] == st.st_ino)
                        return;
        u->seen[u->count++] = st.st_ino;
        u->bytes += (uint64_t)st.st_blocks * 512;
}

/* With the ids of the process: these, not a capability of ours, allow us to see its open files. */
static void look_into(struct unnamed *u, pid_t pid)
{
        char path[40];
        cay_auto_close int dir = -1;
        struct stat st;

        snprintf(path, sizeof(path), "/proc/%d", (int)pid);
        if (stat(path, &st) < 0)
                return;
        setfsgid(st.st_gid);
        setfsuid(st.st_uid);
        snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
        dir = sys_open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
        if (dir >= 0)
                sys_dir_each(dir, add_unnamed, u);
}

static uint64_t unnamed_bytes(const struct cay_init *init, unsigned rows)
{
        struct unnamed u = { .count = 0 };

        for (unsigned i = 0; i < rows; i++)
                if (table[i].pid != 1)
                        look_into(&u, table[i].pid);
        setfsuid(init->uid);
        setfsgid(init->gid);
        return u.bytes;
}

static uint64_t used_in(const char *path)
{
        struct statfs st;

        if (statfs(path, &st) < 0 || st.f_type != 0x01021994 /* tmpfs */ || st.f_bfree > st.f_blocks)
                return 0;
        return (uint64_t)(st.f_blocks - st.f_bfree) * (uint64_t)st.f_bsize;
}

/* A kernel without one of the kinds tells of the others. */
static uint64_t socket_bytes(const struct cay_limit_watch *w)
{
        uint64_t bytes = 0;

        if (w->sockets_fd >= 0)
                sys_sock_memory_sum(w->sockets_fd, &bytes);
        return bytes;
}

static uint64_t sum_memory(const struct cay_init *init, struct cay_limit_watch *w, unsigned rows)
{
        uint64_t bytes = 0;

        if (w->looks % FS_EVERY == 0)
                w->fs_bytes = used_in("/tmp") + used_in("/dev/shm") + unnamed_bytes(init, rows);
        if (w->looks % FS_EVERY == 1)
                w->socket_bytes = socket_bytes(w);
        for (unsigned i = 0; i < rows; i++)
                if (table[i].pid != 1)
                        bytes += own_bytes(table[i].pid);
        return bytes + w->fs_bytes + w->socket_bytes;
}

static void end_all(struct cay_init *init)
{
        for (struct cay_channel *ch = init->channels; ch; ch = ch->next) {
                if (ch->kind != CAY_BOX_EXEC || ch->exited)
                        continue;
                cay_exec_kill(ch, CAY_KILLED_MEMORY);
                cay_channel_step(ch);
        }
        kill(-1, SIGKILL);
}

static uint64_t sum_cpu_us(unsigned rows)
{
        long hz = sysconf(_SC_CLK_TCK);
        struct rusage gone;
        uint64_t ticks = 0;

        for (unsigned i = 0; i < rows; i++)
                if (table[i].pid != 1)
                        ticks += table[i].ticks;
        getrusage(RUSAGE_CHILDREN, &gone);
        return ticks * (1000000u / (uint64_t)(hz > 0 ? hz : 100)) +
               (uint64_t)(gone.ru_utime.tv_sec + gone.ru_stime.tv_sec) * 1000000u +
               (uint64_t)(gone.ru_utime.tv_usec + gone.ru_stime.tv_usec);
}

/*
 * Youngest first: a shell with job control is still stopped when its children continue, so it does not notice
 * their stop.
 */
static void go_on(unsigned rows)
{
        for (unsigned i = rows; i > 0; i--)
                if (table[i - 1].pid != 1)
                        kill(table[i - 1].pid, SIGCONT);
}

/*
 * Unused time is not saved: a new period begins when the box is behind its share, so that after a pause it
 * cannot run at full speed for as long.
 */
static void hold_cpus(struct cay_init *init, struct cay_limit_watch *w, unsigned rows)
{
        uint64_t now_ns = cay_clock_ns(), used_us = sum_cpu_us(rows);
        uint64_t elapsed_us = (now_ns - w->start_ns) / 1000;
        bool ahead;

        if (used_us < w->start_us)
                used_us = w->start_us;
        ahead = cay_limit_watch_is_ahead(elapsed_us, used_us - w->start_us, init->config.cpu_milli);
        if (ahead && !w->is_stopped) {
                kill(-1, SIGSTOP);
                w->is_stopped = true;
        } else if (w->is_stopped && used_us - w->start_us <= elapsed_us / 1000 * init->config.cpu_milli) {
                go_on(rows);
                w->is_stopped = false;
        }
        if (!w->is_stopped && elapsed_us / 1000 * init->config.cpu_milli > used_us - w->start_us + SLACK_US) {
                w->start_ns = now_ns;
                w->start_us = used_us;
        }
}

static void count_pids(struct cay_init *init, unsigned rows)
{
        uint64_t tasks = 0;

        if (!(init->config.watch & CAY_INIT_WATCH_PIDS))
                return;
        for (unsigned i = 0; i < rows; i++)
                tasks += table[i].pid != 1 ? table[i].threads : 0;
        if (tasks >= init->config.pids)
                init->limit_watch.pids_hits++;
}

void cay_limit_watch_ending(struct cay_init *init)
{
        if (init->limit_watch.is_running && init->limit_watch.pids_hits == 0)
                count_pids(init, cay_proc_scan(table, CAY_PROC_MAX));
}

static void on_look(struct cay_timer *t)
{
        struct cay_init *init = cay_container_of(t, struct cay_init, limit_watch.timer);
        struct cay_limit_watch *w = &init->limit_watch;
        uint32_t what = init->config.watch;
        unsigned rows;

        if (init->childless) {
                w->is_running = w->is_stopped = false;
                return;
        }
        rows = cay_proc_scan(table, CAY_PROC_MAX);
        if (what & CAY_INIT_WATCH_MEMORY) {
                uint64_t limit = init->config.memory_bytes + init->config.swap_bytes;
                uint64_t bytes = sum_memory(init, w, rows);

                if (bytes > w->peak_bytes && bytes < UINT64_MAX / 4)
                        w->peak_bytes = bytes;
                if (bytes > limit)
                        end_all(init);
        }
        count_pids(init, rows);
        if (what & CAY_INIT_WATCH_CPUS)
                hold_cpus(init, w, rows);
        w->looks++;
        cay_timer_set(init->loop, &w->timer,
                      w->is_stopped || w->looks < QUICK_LOOKS ? QUICK_LOOK_MS : LOOK_MS, on_look);
}

void cay_limit_watch_init(struct cay_init *init)
{
        bool asks = init->config.watch & CAY_INIT_WATCH_MEMORY && cay_init_has_layer(init, CAY_LAYER_NETNS);

        init->limit_watch.sockets_fd =
                asks ? sys_sock_memory_open() : -1; /* without its own network they would be the host's */
}

void cay_limit_watch_wake(struct cay_init *init)
{
        struct cay_limit_watch *w = &init->limit_watch;

        if (init->config.watch == 0 || w->is_running)
                return;
        w->is_running = true;
        w->start_ns = cay_clock_ns();
        w->start_us = sum_cpu_us(cay_proc_scan(table, CAY_PROC_MAX));
        w->looks = 0;
        cay_timer_set(init->loop, &w->timer, QUICK_LOOK_MS, on_look);
}

static int lower(int resource, uint64_t max)
{
        struct rlimit now;

        if (getrlimit(resource, &now) < 0)
                return -errno;
        if (now.rlim_max <= max)
                return 0;
        now.rlim_cur = now.rlim_max = max;
        return setrlimit(resource, &now) < 0 ? -errno : 0;
}

int cay_limit_watch_limit(const struct cay_init *init)
{
        const struct cay_init_config *c = &init->config;

        if (!(c->watch & CAY_INIT_WATCH_PIDS))
                return 0;
        /* init counts, where it has the same id */
        return lower(RLIMIT_NPROC, c->pids + (c->flags & CAY_INIT_ONE_ID ? 1 : 0));
}
