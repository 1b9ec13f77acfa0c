/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup v2 with its controllers: one node per box, which has the limits and the box's first process. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/sys/cgroup_priv.h"
#include "foundation/sys/fd.h"

#define PERIOD_US 100000u
#define PIDS_MOST 4194304u /* the kernel takes no larger number for pids.max, and has no more pids */

static bool holds(const struct sys_cgroup_host *host, enum sys_cgroup_part part)
{
        return host->held & 1u << part;
}

/*
 * The real root has no limits itself, so it does not show which files children get: make a node and look
 * there.
 */
static bool children_have(int parent, const char *file)
{
        cay_auto_close int dir = -1;
        char name[32];
        bool has;

        if (faccessat(parent, file, F_OK, 0) == 0)
                return true;
        snprintf(name, sizeof(name), "cay-look-%d", (int)getpid());
        if (mkdirat(parent, name, 0755) < 0)
                return false;
        dir = sys_open_at(parent, name, O_RDONLY | O_DIRECTORY, 0);
        has = dir >= 0 && faccessat(dir, file, F_OK, 0) == 0;
        unlinkat(parent, name, AT_REMOVEDIR);
        return has;
}

void sys_cgroup_v2_open(struct sys_cgroup_host *host, const struct sys_cgroup_place *place)
{
        if (place->mount[0]) {
                sys_cgroup_v2_place(host, place, sys_cgroup_v2_may_use);
        } else {
                cay_auto_close int dir = sys_cgroup_v2_mount();

                if (dir >= 0 && sys_cgroup_v2_may_use(dir)) {
                        host->held = sys_cgroup_v2_enable(dir);
                        host->parent[SYS_CGROUP_2] = cay_take_fd(dir);
                }
        }
        host->memory_swap =
                sys_cgroup_swap_is_off() || (holds(host, SYS_CGROUP_MEMORY) &&
                                             children_have(host->parent[SYS_CGROUP_2], "memory.swap.max"));
}

static unsigned can_hold(const struct sys_cgroup_host *host)
{
        unsigned can = 0;

        if (holds(host, SYS_CGROUP_MEMORY))
                can |= SYS_CGROUP_CAN_MEMORY | (host->memory_swap ? SYS_CGROUP_CAN_SWAP : 0);
        if (holds(host, SYS_CGROUP_CPU))
                can |= SYS_CGROUP_CAN_CPU;
        if (holds(host, SYS_CGROUP_PIDS))
                can |= SYS_CGROUP_CAN_PIDS;
        return can;
}

static ssize_t list_cpus(const struct sys_cgroup_host *host, char *text, size_t size)
{
        return holds(host, SYS_CGROUP_CPUSET)
                       ? sys_read_file(host->parent[SYS_CGROUP_2], "cpuset.cpus.effective", text, size)
                       : 0;
}

/* Socket buffers are part of it; swap has a counter of its own. */
static int limit_memory(int dir, const struct sys_cgroup_limits *l, const char **ret_what)
{
        int r = sys_cgroup_put_u64(dir, "memory.max", l->memory_bytes, ret_what);

        if (r < 0 || !l->hold_swap || faccessat(dir, "memory.swap.max", F_OK, 0) < 0)
                return r;
        return sys_cgroup_put_u64(dir, "memory.swap.max", l->swap_bytes, ret_what);
}

static int limit_cpu(int dir, uint32_t milli, const char **ret_what)
{
        char text[48];

        *ret_what = "cpu.max";
        snprintf(text, sizeof(text), "%llu %u", (unsigned long long)milli * (PERIOD_US / 1000), PERIOD_US);
        return sys_write_file(dir, "cpu.max", text);
}

static int limit_cpuset(const struct sys_cgroup_host *host, int dir, const struct sys_cgroup_limits *l,
                        const char **ret_what)
{
        static char text[8192];
        int r = sys_cgroup_cpu_list(host, l, text, sizeof(text));

        *ret_what = "cpuset.cpus";
        return r < 0 ? r : sys_write_file(dir, "cpuset.cpus", text);
}

static int limit(const struct sys_cgroup_host *host, struct sys_cgroup *cg, const struct sys_cgroup_limits *l,
                 const char **ret_what)
{
        int dir = cg->dir[SYS_CGROUP_2], r = 0;

        if (dir < 0)
                return 0;
        if (l->memory_bytes && holds(host, SYS_CGROUP_MEMORY))
                r = limit_memory(dir, l, ret_what);
        if (r == 0 && l->pids && holds(host, SYS_CGROUP_PIDS)) /* one more for the box's first process */
                r = sys_cgroup_put_u64(dir, "pids.max", l->pids + (l->pids < PIDS_MOST), ret_what);
        if (r == 0 && l->cpu_milli && holds(host, SYS_CGROUP_CPU))
                r = limit_cpu(dir, l->cpu_milli, ret_what);
        if (r == 0 && holds(host, SYS_CGROUP_CPUSET))
                r = limit_cpuset(host, dir, l, ret_what);
        return r;
}

static int open_joins(const struct sys_cgroup *cg, int *fds, unsigned max)
{
        (void)cg;
        (void)fds;
        (void)max;
        return 0; /* processes started by the first process are already in the node */
}

static int open_usage(const struct sys_cgroup *cg, int *ret_usage, int *ret_stat)
{
        int dir = cg->dir[SYS_CGROUP_2];

        if (dir < 0 || faccessat(dir, "memory.current", F_OK, 0) < 0)
                return 0;
        *ret_usage = sys_open_at(dir, "memory.current", O_RDONLY, 0);
        *ret_stat = sys_open_at(dir, "memory.stat", O_RDONLY, 0);
        return *ret_usage < 0 ? *ret_usage : *ret_stat < 0 ? *ret_stat : 0;
}

static void stats(const struct sys_cgroup *cg, struct sys_cgroup_stats *ret)
{
        int dir = cg->dir[SYS_CGROUP_2];

        ret->memory_bytes = sys_cgroup_get_u64(dir, "memory.current");
        ret->memory_peak_bytes = sys_cgroup_get_u64(dir, "memory.peak"); /* Linux 5.19 */
        ret->oom_kills = sys_cgroup_get_keyed(dir, "memory.events", "oom_kill");
        ret->pids = sys_cgroup_get_u64(dir, "pids.current");
        if (ret->pids > 0)
                ret->pids--; /* the box's first process */
        ret->pids_refused = sys_cgroup_get_keyed(dir, "pids.events", "max");
        ret->cpu_us = sys_cgroup_get_keyed(dir, "cpu.stat", "usage_usec");
}

/* Linux 5.19. It fails with EAGAIN when less could be had than was asked for. */
static int reclaim(int dir)
{
        char text[24];
        int r;

        snprintf(text, sizeof(text), "%llu", (unsigned long long)sys_cgroup_get_u64(dir, "memory.current"));
        r = sys_write_file(dir, "memory.reclaim", text);
        return r == -EAGAIN ? 0 : r;
}

const struct sys_cgroup_ops sys_cgroup_v2_ops = {
        .counts_init = true,
        .can_hold = can_hold,
        .list_cpus = list_cpus,
        .limit = limit,
        .open_joins = open_joins,
        .open_usage = open_usage,
        .stats = stats,
        .memory = SYS_CGROUP_2,
        .reclaim = reclaim,
};
