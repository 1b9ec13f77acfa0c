/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup v1 and the v1 + v2 hybrid: limits by v1, a controller-less cgroup2 node for the rest. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "foundation/sys/cgroup_priv.h"
#include "foundation/sys/fd.h"

/* The caller's own node, if nodes can be made in it. */
static int open_parent(const struct sys_cgroup_place *place, bool v2, char path[SYS_CGROUP_PATH])
{
        cay_auto_close int dir = -1;
        char where[2 * SYS_CGROUP_PATH];

        snprintf(where, sizeof(where), "%s%s", place->mount, place->own);
        dir = sys_open_at(AT_FDCWD, where, O_RDONLY | O_DIRECTORY, 0);
        if (dir < 0)
                return dir;
        if (faccessat(dir, ".", W_OK, 0) < 0 || (v2 && faccessat(dir, "cgroup.procs", W_OK, 0) < 0))
                return -EACCES;
        snprintf(path, SYS_CGROUP_PATH, "%.*s", SYS_CGROUP_PATH - 1, where);
        return cay_take_fd(dir);
}

void sys_cgroup_v1_open(struct sys_cgroup_host *host, const struct sys_cgroup_place places[SYS_CGROUP_PARTS])
{
        for (int i = 0; i < SYS_CGROUP_PARTS; i++)
                if (places[i].mount[0])
                        host->parent[i] = open_parent(&places[i], i == SYS_CGROUP_2, host->path[i]);
        if (!places[SYS_CGROUP_2].mount[0])
                host->parent[SYS_CGROUP_2] = sys_cgroup_v2_mount();
        for (int i = 0; i < SYS_CGROUP_PARTS; i++)
                if (host->parent[i] < 0)
                        host->parent[i] = -1;
        host->memory_swap =
                (host->parent[SYS_CGROUP_MEMORY] >= 0 &&
                 faccessat(host->parent[SYS_CGROUP_MEMORY], "memory.memsw.limit_in_bytes", F_OK, 0) == 0) ||
                sys_cgroup_swap_is_off();
}

static unsigned can_hold(const struct sys_cgroup_host *host)
{
        unsigned can = 0;

        if (host->parent[SYS_CGROUP_MEMORY] >= 0 &&
            faccessat(host->parent[SYS_CGROUP_MEMORY], "memory.kmem.tcp.limit_in_bytes", F_OK, 0) == 0)
                can |= SYS_CGROUP_CAN_MEMORY | (host->memory_swap ? SYS_CGROUP_CAN_SWAP : 0);
        if (host->parent[SYS_CGROUP_CPU] >= 0 && host->parent[SYS_CGROUP_CPUSET] >= 0)
                can |= SYS_CGROUP_CAN_CPU;
        if (host->parent[SYS_CGROUP_PIDS] >= 0)
                can |= SYS_CGROUP_CAN_PIDS;
        return can;
}

static ssize_t list_cpus(const struct sys_cgroup_host *host, char *text, size_t size)
{
        int dir = host->parent[SYS_CGROUP_CPUSET];

        return dir < 0 ? 0 : sys_read_file(dir, "cpuset.cpus", text, size);
}

static int limit_cpuset(const struct sys_cgroup_host *host, struct sys_cgroup *cg,
                        const struct sys_cgroup_limits *l, const char **ret_what)
{
        static char text[8192];
        int dir = cg->dir[SYS_CGROUP_CPUSET];
        ssize_t n;
        int r;

        *ret_what = "cpuset.cpus";
        r = sys_cgroup_cpu_list(host, l, text, sizeof(text));
        if (r == 0)
                r = sys_write_file(dir, "cpuset.cpus", text);
        if (r < 0)
                return r;
        *ret_what = "cpuset.mems";
        n = sys_read_file(host->parent[SYS_CGROUP_CPUSET], "cpuset.mems", text, sizeof(text));
        return n < 0 ? (int)n : sys_write_file(dir, "cpuset.mems", text);
}

static int limit_memory(struct sys_cgroup *cg, const struct sys_cgroup_limits *l, const char **ret_what)
{
        int dir = cg->dir[SYS_CGROUP_MEMORY];
        int r = sys_cgroup_put_u64(dir, "memory.limit_in_bytes", l->memory_bytes, ret_what);

        /*
         * Buffers of TCP and UDP sockets have a counter of their own, and no limit unless one is set (here:
         * an eighth).
         */
        if (r == 0)
                r = sys_cgroup_put_u64(dir, "memory.kmem.tcp.limit_in_bytes", l->memory_bytes / 8, ret_what);
        if (r < 0 || !l->hold_swap || faccessat(dir, "memory.memsw.limit_in_bytes", F_OK, 0) < 0)
                return r;
        return sys_cgroup_put_u64(dir, "memory.memsw.limit_in_bytes", l->memory_bytes + l->swap_bytes,
                                  ret_what);
}

static int limit(const struct sys_cgroup_host *host, struct sys_cgroup *cg, const struct sys_cgroup_limits *l,
                 const char **ret_what)
{
        int r = 0;

        if (l->memory_bytes && cg->dir[SYS_CGROUP_MEMORY] >= 0)
                r = limit_memory(cg, l, ret_what);
        if (r == 0 && l->pids && cg->dir[SYS_CGROUP_PIDS] >= 0)
                r = sys_cgroup_put_u64(cg->dir[SYS_CGROUP_PIDS], "pids.max", l->pids, ret_what);
        if (r == 0 && l->cpu_milli && cg->dir[SYS_CGROUP_CPU] >= 0)
                r = sys_cgroup_put_u64(cg->dir[SYS_CGROUP_CPU], "cpu.cfs_quota_us",
                                       (uint64_t)l->cpu_milli * 100, ret_what);
        if (r == 0 && cg->dir[SYS_CGROUP_CPUSET] >= 0)
                r = limit_cpuset(host, cg, l, ret_what);
        return r;
}

/*
 * The controller that counts processes is last: a preforked process joins it when it gets a command
 * (cay-init/prefork.h).
 */
static int open_joins(const struct sys_cgroup *cg, int *fds, unsigned max)
{
        static const int order[] = { SYS_CGROUP_MEMORY, SYS_CGROUP_CPU, SYS_CGROUP_CPUSET, SYS_CGROUP_PIDS };
        unsigned count = 0;

        for (unsigned i = 0; i < CAY_COUNT(order); i++) {
                int dir = cg->dir[order[i]];

                if (dir < 0 || count == max)
                        continue;
                fds[count] = sys_open_at(dir, "tasks", O_WRONLY, 0);
                if (fds[count] < 0) {
                        int r = fds[count];

                        while (count > 0)
                                close(fds[--count]);
                        return r;
                }
                count++;
        }
        return (int)count;
}

static int open_usage(const struct sys_cgroup *cg, int *ret_usage, int *ret_stat)
{
        int dir = cg->dir[SYS_CGROUP_MEMORY];

        if (dir < 0)
                return 0;
        *ret_usage = sys_open_at(dir, "memory.usage_in_bytes", O_RDONLY, 0);
        *ret_stat = sys_open_at(dir, "memory.stat", O_RDONLY, 0);
        return *ret_usage < 0 ? *ret_usage : *ret_stat < 0 ? *ret_stat : 0;
}

static void stats(const struct sys_cgroup *cg, struct sys_cgroup_stats *ret)
{
        int memory = cg->dir[SYS_CGROUP_MEMORY], pids = cg->dir[SYS_CGROUP_PIDS];

        ret->memory_bytes = sys_cgroup_get_u64(memory, "memory.usage_in_bytes");
        ret->memory_peak_bytes = sys_cgroup_get_u64(memory, "memory.max_usage_in_bytes");
        ret->oom_kills = sys_cgroup_get_keyed(memory, "memory.oom_control", "oom_kill");
        ret->pids = sys_cgroup_get_u64(pids, "pids.current");
        ret->pids_refused = sys_cgroup_get_keyed(pids, "pids.events", "max");
        ret->cpu_us = sys_cgroup_get_keyed(cg->dir[SYS_CGROUP_2], "cpu.stat", "usage_usec");
}

/* Tries until nothing more goes; what is mapped and has no swap stays. */
static int reclaim(int dir)
{
        int r = sys_write_file(dir, "memory.force_empty", "0");

        return r == -EBUSY || r == -EAGAIN ? 0 : r;
}

const struct sys_cgroup_ops sys_cgroup_v1_ops = {
        .counts_init = false,
        .can_hold = can_hold,
        .list_cpus = list_cpus,
        .limit = limit,
        .open_joins = open_joins,
        .open_usage = open_usage,
        .stats = stats,
        .memory = SYS_CGROUP_MEMORY,
        .reclaim = reclaim,
};
