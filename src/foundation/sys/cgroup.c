/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part that is common to all versions: choosing one, making and removing nodes, and calling the version's
 * operations.
 */
#include "foundation/sys/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "foundation/sys/cgroup_priv.h"
#include "foundation/sys/fd.h"

/*
 * Controllers are on one version each, and a host may use both. Choose the version with more controllers that
 * enforce limits.
 */
static bool is_v2(const struct sys_cgroup_place places[SYS_CGROUP_PARTS])
{
        const unsigned limiting = 1u << SYS_CGROUP_MEMORY | 1u << SYS_CGROUP_CPU | 1u << SYS_CGROUP_PIDS;
        cay_auto_close int root = -1;
        unsigned v1 = 0, v2 = 0;

        for (unsigned i = 0; i < SYS_CGROUP_2; i++)
                v1 |= (places[i].mount[0] ? 1u : 0) << i;
        if ((v1 & limiting) == 0)
                return true;
        if (!places[SYS_CGROUP_2].mount[0])
                return false;
        root = sys_open_at(AT_FDCWD, places[SYS_CGROUP_2].mount, O_RDONLY | O_DIRECTORY, 0);
        if (root >= 0)
                v2 = sys_cgroup_v2_controllers(root, "cgroup.controllers");
        return __builtin_popcount(v2 & limiting) > __builtin_popcount(v1 & limiting);
}

int sys_cgroup_host_open(struct sys_cgroup_host *host)
{
        static char mounts[1 << 20], own[16384];
        static struct sys_cgroup_place places[SYS_CGROUP_PARTS];
        ssize_t len;

        memset(host, 0, sizeof(*host));
        for (int i = 0; i < SYS_CGROUP_PARTS; i++)
                host->parent[i] = -1;
        len = sys_read_file(AT_FDCWD, "/proc/self/cgroup", own, sizeof(own));
        if (len < 0 && len != -ENOENT) /* a kernel without cgroups has no such file */
                return (int)len;
        if (len < 0)
                own[0] = 0;
        if (!sys_cgroup_find_usual("/sys/fs/cgroup", own, places)) {
                len = sys_read_file(AT_FDCWD, "/proc/self/mountinfo", mounts, sizeof(mounts));
                if (len < 0)
                        return (int)len;
                if (len == (ssize_t)sizeof(mounts) - 1)
                        return -E2BIG; /* truncated: controllers would seem to be missing */
                sys_cgroup_find(mounts, own, places);
        }
        if (is_v2(places)) {
                host->ops = &sys_cgroup_v2_ops;
                sys_cgroup_v2_open(host, &places[SYS_CGROUP_2]);
        } else {
                host->ops = &sys_cgroup_v1_ops;
                sys_cgroup_v1_open(host, places);
        }
        return 0;
}

void sys_cgroup_host_close(struct sys_cgroup_host *host)
{
        for (int i = 0; i < SYS_CGROUP_PARTS; i++)
                if (host->parent[i] >= 0)
                        close(host->parent[i]);
}

unsigned sys_cgroup_version(const struct sys_cgroup_host *host)
{
        return !host->ops ? 0 : host->ops == &sys_cgroup_v2_ops ? 2 : 1;
}

void sys_cgroup_resume(struct sys_cgroup_host *host, unsigned version)
{
        host->ops = version == 2 ? &sys_cgroup_v2_ops : version == 1 ? &sys_cgroup_v1_ops : NULL;
}

unsigned sys_cgroup_can_hold(const struct sys_cgroup_host *host)
{
        return host->ops ? host->ops->can_hold(host) : 0;
}

bool sys_cgroup_counts_init(const struct sys_cgroup_host *host)
{
        return host->ops && host->ops->counts_init;
}

bool sys_cgroup_path(const struct sys_cgroup_host *host, enum sys_cgroup_part part, const char *name,
                     char ret[SYS_CGROUP_PATH])
{
        return host->path[part][0] &&
               snprintf(ret, SYS_CGROUP_PATH, "%s/%s", host->path[part], name) < SYS_CGROUP_PATH;
}

static int make_node(const struct sys_cgroup_host *host, struct sys_cgroup *cg, int part)
{
        if (host->parent[part] < 0)
                return 0;
        if (mkdirat(host->parent[part], cg->name, 0755) < 0)
                return -errno;
        cg->dir[part] = sys_open_at(host->parent[part], cg->name, O_RDONLY | O_DIRECTORY, 0);
        if (cg->dir[part] < 0)
                unlinkat(host->parent[part], cg->name, AT_REMOVEDIR);
        return cg->dir[part] < 0 ? cg->dir[part] : 0;
}

int sys_cgroup_begin(const struct sys_cgroup_host *host, const char *name, struct sys_cgroup *cg)
{
        for (int i = 0; i < SYS_CGROUP_PARTS; i++)
                cg->dir[i] = -1;
        cg->ops = host->ops;
        cg->is_delegated = false;
        if (snprintf(cg->name, sizeof(cg->name), "%s", name) >= (int)sizeof(cg->name))
                return -ENAMETOOLONG;
        return make_node(host, cg, SYS_CGROUP_2);
}

int sys_cgroup_make(const struct sys_cgroup_host *host, struct sys_cgroup *cg)
{
        int r = 0;

        for (int i = 0; i < SYS_CGROUP_2 && r == 0; i++)
                r = make_node(host, cg, i);
        return r;
}

int sys_cgroup_put_u64(int dir, const char *file, uint64_t value, const char **ret_what)
{
        char text[24];

        *ret_what = file;
        snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
        return sys_write_file(dir, file, text);
}

uint64_t sys_cgroup_get_u64(int dir, const char *file)
{
        char text[64];

        return dir >= 0 && sys_read_file(dir, file, text, sizeof(text)) > 0 ? strtoull(text, NULL, 10) : 0;
}

uint64_t sys_cgroup_get_keyed(int dir, const char *file, const char *key)
{
        char text[1024];

        return dir >= 0 && sys_read_file(dir, file, text, sizeof(text)) > 0 ? sys_keyed_u64(text, key) : 0;
}

bool sys_cgroup_swap_is_off(void)
{
        char swaps[512];
        const char *line;

        if (sys_read_file(AT_FDCWD, "/proc/swaps", swaps, sizeof(swaps)) < 0)
                return true; /* a kernel without swap */
        line = strchr(swaps, '\n');
        return !line || !line[1];
}

/* "0-3,6" → numbers; returns how many, at most SYS_CGROUP_CPUS. */
static unsigned parse_cpus(const char *text, uint16_t ret[SYS_CGROUP_CPUS])
{
        unsigned count = 0;

        while (*text >= '0' && *text <= '9') {
                char *end;
                unsigned long first = strtoul(text, &end, 10), last = first;

                if (*end == '-')
                        last = strtoul(end + 1, &end, 10);
                for (unsigned long cpu = first; cpu <= last && count < SYS_CGROUP_CPUS; cpu++)
                        ret[count++] = (uint16_t)cpu;
                text = *end == ',' ? end + 1 : end;
        }
        return count;
}

/* The processors that we may run on ourselves. A box gets no others, since affinity is inherited. */
static unsigned keep_own(uint16_t cpus[SYS_CGROUP_CPUS], unsigned count)
{
        unsigned kept = 0;
        cpu_set_t own;

        if (sched_getaffinity(0, sizeof(own), &own) < 0)
                return count; /* more processors than we can tell apart */
        for (unsigned i = 0; i < count; i++)
                if (cpus[i] < CPU_SETSIZE && CPU_ISSET(cpus[i], &own))
                        cpus[kept++] = cpus[i];
        return kept > 0 ? kept : count;
}

/* The processors there are, and how many of them a limit needs. */
static unsigned choose_cpus(const struct sys_cgroup_host *host, uint32_t cpu_milli,
                            uint16_t cpus[SYS_CGROUP_CPUS], unsigned *ret_count)
{
        char text[1024];
        unsigned want;

        *ret_count = 0;
        if (host->ops && host->ops->list_cpus(host, text, sizeof(text)) > 0)
                *ret_count = keep_own(cpus, parse_cpus(text, cpus));
        want = cpu_milli ? (cpu_milli + 999) / 1000 : *ret_count;
        return want < *ret_count ? want : *ret_count;
}

uint32_t sys_cgroup_cpus(const struct sys_cgroup_host *host, uint32_t cpu_milli)
{
        static uint16_t cpus[SYS_CGROUP_CPUS];
        unsigned count;

        return choose_cpus(host, cpu_milli, cpus, &count);
}

/* Choose as many whole processors as the quota needs, starting at a position that differs between boxes. */
int sys_cgroup_cpu_list(const struct sys_cgroup_host *host, const struct sys_cgroup_limits *l, char *text,
                        size_t size)
{
        static uint16_t cpus[SYS_CGROUP_CPUS];
        unsigned count, want = choose_cpus(host, l->cpu_milli, cpus, &count);
        size_t len = 0;

        if (count == 0)
                return -ENODEV;
        for (unsigned i = 0; i < want && len < size; i++)
                len += (size_t)snprintf(text + len, size - len, "%s%u", i ? "," : "",
                                        cpus[(l->spread + i) % count]);
        return len < size ? 0 : -E2BIG;
}

/* More than half of the processors were in use over the last minute. */
static bool is_busy(void)
{
        struct sysinfo s;

        return sysinfo(&s) == 0 && s.loads[0] * 2 > (unsigned long)sysconf(_SC_NPROCESSORS_ONLN)
                                                            << SI_LOAD_SHIFT;
}

bool sys_cgroup_send_ahead(const struct sys_cgroup_host *host, const struct sys_cgroup_limits *l, pid_t pid)
{
        static uint16_t cpus[SYS_CGROUP_CPUS];
        unsigned count, want;
        cpu_set_t set;

        if (!is_busy())
                return false;
        want = choose_cpus(host, l->cpu_milli, cpus, &count);
        if (want == count)
                return false;
        CPU_ZERO(&set);
        for (unsigned i = 0; i < want; i++)
                if (cpus[(l->spread + i) % count] < CPU_SETSIZE)
                        CPU_SET(cpus[(l->spread + i) % count], &set);
        return sched_setaffinity(pid, sizeof(set), &set) == 0;
}

/*
 * Opens the node's directory and the files needed to make children and to move processes; none that sets
 * limits.
 */
static int delegate(struct sys_cgroup *cg, uint32_t owner, const char **ret_what)
{
        int dir = cg->dir[SYS_CGROUP_2];

        *ret_what = "cgroup.procs";
        cg->is_delegated =
                fchownat(dir, "cgroup.procs", owner, owner, 0) == 0 && fchown(dir, owner, owner) == 0;
        if (!cg->is_delegated && errno != EPERM)
                return -errno;
        *ret_what = "cgroup.max.descendants";
        if (sys_write_file(dir, "cgroup.max.descendants", "600") < 0 ||
            sys_write_file(dir, "cgroup.max.depth", "1") < 0)
                return -EIO;
        return 0;
}

int sys_cgroup_limit(const struct sys_cgroup_host *host, struct sys_cgroup *cg,
                     const struct sys_cgroup_limits *l, const char **ret_what)
{
        int r = host->ops ? host->ops->limit(host, cg, l, ret_what) : 0;

        if (r == 0 && cg->dir[SYS_CGROUP_2] >= 0)
                r = delegate(cg, l->owner, ret_what);
        return r;
}

int sys_cgroup_open_joins(const struct sys_cgroup *cg, int *fds, unsigned max)
{
        return cg->ops ? cg->ops->open_joins(cg, fds, max) : 0;
}

int sys_cgroup_open_usage(const struct sys_cgroup *cg, int *ret_usage, int *ret_stat)
{
        *ret_usage = *ret_stat = -1;
        return cg->ops ? cg->ops->open_usage(cg, ret_usage, ret_stat) : 0;
}

void sys_cgroup_stats(const struct sys_cgroup *cg, struct sys_cgroup_stats *ret)
{
        *ret = (struct sys_cgroup_stats){ 0 };
        if (cg->ops)
                cg->ops->stats(cg, ret);
}

int sys_cgroup_freeze(const struct sys_cgroup *cg, bool frozen)
{
        return cg->dir[SYS_CGROUP_2] < 0
                       ? -EOPNOTSUPP
                       : sys_write_file(cg->dir[SYS_CGROUP_2], "cgroup.freeze", frozen ? "1" : "0");
}

int sys_cgroup_memory_node(const struct sys_cgroup *cg)
{
        return cg->ops && cg->dir[cg->ops->memory] >= 0 ? cg->dir[cg->ops->memory] : -1;
}

int sys_cgroup_reclaim_node(const struct sys_cgroup_host *host, int dir)
{
        return host->ops ? host->ops->reclaim(dir) : -EOPNOTSUPP;
}

int sys_cgroup_kill(const struct sys_cgroup *cg)
{
        return cg->dir[SYS_CGROUP_2] < 0 ? -EOPNOTSUPP : sys_cgroup_kill_node(cg->dir[SYS_CGROUP_2]);
}

/* The figures come from memory, pids and cgroup2, which also freezes and kills. */
void sys_cgroup_rest(struct sys_cgroup *cg)
{
        static const enum sys_cgroup_part made[] = { SYS_CGROUP_CPU, SYS_CGROUP_CPUSET };

        for (unsigned i = 0; i < sizeof(made) / sizeof(made[0]); i++)
                if (cg->dir[made[i]] >= 0) {
                        close(cg->dir[made[i]]);
                        cg->dir[made[i]] = SYS_CGROUP_RESTS;
                }
}

void sys_cgroup_remove_empty(const struct sys_cgroup_host *host, struct sys_cgroup *cg)
{
        for (int i = 0; i < SYS_CGROUP_2; i++)
                if (cg->dir[i] != -1 && unlinkat(host->parent[i], cg->name, AT_REMOVEDIR) == 0) {
                        if (cg->dir[i] >= 0)
                                close(cg->dir[i]);
                        cg->dir[i] = -1;
                }
}

int sys_cgroup_remove(const struct sys_cgroup_host *host, struct sys_cgroup *cg)
{
        int result = 0;

        for (int i = 0; i < SYS_CGROUP_PARTS; i++) {
                int r;

                if (cg->dir[i] == -1)
                        continue;
                if (i == SYS_CGROUP_2) /* the per-exec nodes that init made */
                        sys_cgroup_remove_children(cg->dir[i]);
                if (cg->dir[i] >= 0)
                        close(cg->dir[i]);
                cg->dir[i] = -1;
                r = sys_cgroup_remove_node(host->parent[i], cg->name);
                if (r < 0 && result == 0)
                        result = r;
        }
        return result;
}
