/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup v1 and the v1 + v2 hybrid: making, limiting, measuring and removing the nodes of a box. */
#include "sys/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sys/dir.h"
#include "sys/fd.h"
#include "sys/syscalls.h"

static const char *const controllers[SYS_CGROUP_PARTS] = {
        [SYS_CGROUP_MEMORY] = "memory", [SYS_CGROUP_CPU] = "cpu", [SYS_CGROUP_PIDS] = "pids",
        [SYS_CGROUP_CPUSET] = "cpuset", [SYS_CGROUP_2] = NULL,
};

static bool has_word(const char *list, const char *word, size_t word_len)
{
        while (*list) {
                size_t len = strcspn(list, ",: \n");

                if (len == word_len && memcmp(list, word, len) == 0)
                        return true;
                list += len;
                if (*list != ',')
                        return false;
                list++;
        }
        return false;
}

/* The caller's own path in a hierarchy, from /proc/self/cgroup ("4:memory:/a/b", "0::/"). */
static bool own_path(const char *text, const char *controller, char *ret, size_t size)
{
        for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                const char *names = strchr(line, ':');
                const char *path = names ? strchr(names + 1, ':') : NULL;
                bool fits;

                if (!path)
                        return false;
                names++;
                fits = controller ? has_word(names, controller, strlen(controller))
                                  : line[0] == '0' && *names == ':';
                if (fits) {
                        int len = (int)strcspn(path + 1, "\n");

                        return snprintf(ret, size, "%.*s", len, path + 1) < (int)size;
                }
        }
        return false;
}

/* One line of mountinfo: id parent dev root point options… - type source super-options. Edits the line. */
static bool split_mount(char *line, char **ret_root, char **ret_point, char **ret_type, char **ret_options)
{
        char *field[5], *save = line, *tail = strstr(line, " - ");

        if (!tail)
                return false;
        *tail = 0;
        for (int i = 0; i < 5; i++) {
                field[i] = save;
                save = strchr(save, ' ');
                if (!save)
                        return false;
                *save++ = 0;
        }
        *ret_root = field[3];
        *ret_point = field[4];
        *ret_type = tail + 3;
        save = strchr(*ret_type, ' ');
        if (!save)
                return false;
        *save++ = 0;
        *ret_options = strchr(save, ' ');
        if (!*ret_options)
                return false;
        (*ret_options)++;
        return true;
}

/* Opens the caller's node below a mount of its hierarchy; the mount may show only a part of the hierarchy (root). */
static void open_own(struct sys_cgroup_host *host, int part, const char *own, const char *root,
                     const char *point)
{
        size_t root_len = strcmp(root, "/") == 0 ? 0 : strlen(root);
        char *path = host->path[part];

        if (host->parent[part] >= 0)
                return;
        if (root_len && strncmp(own, root, root_len) == 0)
                own += root_len;
        else if (root_len)
                own = "";
        if (strcmp(own, "/") == 0)
                own = "";
        if (snprintf(path, SYS_CGROUP_PATH, "%s%s", point, own) >= SYS_CGROUP_PATH - 80) {
                path[0] = 0;
                return;
        }
        host->parent[part] = sys_open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
        if (host->parent[part] < 0) { /* seen from a cgroup namespace: the mount's own root is ours */
                snprintf(path, SYS_CGROUP_PATH, "%s", point);
                host->parent[part] = sys_open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
        }
        if (host->parent[part] < 0)
                path[0] = 0;
}

/* Nobody has mounted cgroup2: a mount that only we can see does as well. */
static void open_private_v2(struct sys_cgroup_host *host)
{
        cay_auto_close int fs = sys_fsopen("cgroup2", 1);

        if (fs < 0 || sys_fsconfig(fs, 6 /* CMD_CREATE */, NULL, NULL, 0) < 0)
                return;
        host->parent[SYS_CGROUP_2] = sys_fsmount(fs, 1, 0);
}

static bool swap_is_bounded(const struct sys_cgroup_host *host)
{
        char swaps[512];
        const char *line;

        if (host->parent[SYS_CGROUP_MEMORY] >= 0 &&
            faccessat(host->parent[SYS_CGROUP_MEMORY], "memory.memsw.limit_in_bytes", F_OK, 0) == 0)
                return true;
        if (sys_read_file(AT_FDCWD, "/proc/swaps", swaps, sizeof(swaps)) < 0)
                return true; /* a kernel without swap */
        line = strchr(swaps, '\n');
        return !line || !line[1];
}

int sys_cgroup_host_open(struct sys_cgroup_host *host)
{
        static char mounts[1 << 20], own[16384];
        ssize_t len;

        memset(host, 0, sizeof(*host));
        for (int i = 0; i < SYS_CGROUP_PARTS; i++)
                host->parent[i] = -1;
        len = sys_read_file(AT_FDCWD, "/proc/self/mountinfo", mounts, sizeof(mounts));
        if (len < 0)
                return (int)len;
        if (len == (ssize_t)sizeof(mounts) - 1)
                return -E2BIG; /* cut: controllers would seem to be missing */
        len = sys_read_file(AT_FDCWD, "/proc/self/cgroup", own, sizeof(own));
        if (len < 0)
                return (int)len;
        for (char *line = mounts, *next; *line; line = next) {
                char *root, *point, *type, *options, path[SYS_CGROUP_PATH];

                next = line + strcspn(line, "\n");
                if (*next)
                        *next++ = 0;
                if (!strstr(line, " - cgroup") || !split_mount(line, &root, &point, &type, &options))
                        continue;
                for (int i = 0; i < SYS_CGROUP_PARTS; i++) {
                        bool v2 = i == SYS_CGROUP_2;

                        if (strcmp(type, v2 ? "cgroup2" : "cgroup") != 0 ||
                            (!v2 && !has_word(options, controllers[i], strlen(controllers[i]))))
                                continue;
                        if (own_path(own, controllers[i], path, sizeof(path)))
                                open_own(host, i, path, root, point);
                }
        }
        if (host->parent[SYS_CGROUP_2] < 0)
                open_private_v2(host);
        host->memory_swap = swap_is_bounded(host);
        return 0;
}

void sys_cgroup_host_close(struct sys_cgroup_host *host)
{
        for (int i = 0; i < SYS_CGROUP_PARTS; i++)
                if (host->parent[i] >= 0)
                        close(host->parent[i]);
}

unsigned sys_cgroup_can_hold(const struct sys_cgroup_host *host)
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

static int put_u64(int dir, const char *file, uint64_t value, const char **ret_what)
{
        char text[24];

        *ret_what = file;
        snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
        return sys_write_file(dir, file, text);
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

/* The processors there are, and how many of them a limit needs. */
static unsigned choose_cpus(const struct sys_cgroup_host *host, uint32_t cpu_milli,
                            uint16_t cpus[SYS_CGROUP_CPUS], unsigned *ret_count)
{
        char text[1024];
        unsigned want;

        *ret_count = 0;
        if (host->parent[SYS_CGROUP_CPUSET] >= 0 &&
            sys_read_file(host->parent[SYS_CGROUP_CPUSET], "cpuset.cpus", text, sizeof(text)) > 0)
                *ret_count = parse_cpus(text, cpus);
        want = cpu_milli ? (cpu_milli + 999) / 1000 : *ret_count;
        return want < *ret_count ? want : *ret_count;
}

uint32_t sys_cgroup_cpus(const struct sys_cgroup_host *host, uint32_t cpu_milli)
{
        static uint16_t cpus[SYS_CGROUP_CPUS];
        unsigned count;

        return choose_cpus(host, cpu_milli, cpus, &count);
}

/* As many whole processors as the quota needs, starting at a place that differs from box to box. */
static int limit_cpuset(const struct sys_cgroup_host *host, struct sys_cgroup *cg,
                        const struct sys_cgroup_limits *l, const char **ret_what)
{
        static uint16_t cpus[SYS_CGROUP_CPUS];
        static char text[8192];
        unsigned count, want = choose_cpus(host, l->cpu_milli, cpus, &count), len = 0;
        ssize_t n;
        int r;

        *ret_what = "cpuset.cpus";
        if (count == 0)
                return -ENODEV;
        for (unsigned i = 0; i < want; i++)
                len += (unsigned)snprintf(text + len, sizeof(text) - len, "%s%u", i ? "," : "",
                                          cpus[(l->spread + i) % count]);
        r = sys_write_file(cg->dir[SYS_CGROUP_CPUSET], "cpuset.cpus", text);
        if (r < 0)
                return r;
        *ret_what = "cpuset.mems";
        n = sys_read_file(host->parent[SYS_CGROUP_CPUSET], "cpuset.mems", text, sizeof(text));
        return n < 0 ? (int)n : sys_write_file(cg->dir[SYS_CGROUP_CPUSET], "cpuset.mems", text);
}

static int limit_memory(struct sys_cgroup *cg, const struct sys_cgroup_limits *l, const char **ret_what)
{
        int dir = cg->dir[SYS_CGROUP_MEMORY];
        int r = put_u64(dir, "memory.limit_in_bytes", l->memory_bytes, ret_what);

        /* Buffers of TCP and UDP sockets have a counter of their own, and no limit unless one is set (here: an eighth). */
        if (r == 0)
                r = put_u64(dir, "memory.kmem.tcp.limit_in_bytes", l->memory_bytes / 8, ret_what);
        if (r < 0 || !l->hold_swap || faccessat(dir, "memory.memsw.limit_in_bytes", F_OK, 0) < 0)
                return r;
        return put_u64(dir, "memory.memsw.limit_in_bytes", l->memory_bytes + l->swap_bytes, ret_what);
}

/* The node's directory and the files that making children and moving processes need; nothing that sets limits. */
static int delegate(struct sys_cgroup *cg, uint32_t owner, const char **ret_what)
{
        int dir = cg->dir[SYS_CGROUP_2];

        *ret_what = "cgroup.procs";
        if (fchown(dir, owner, owner) < 0 || fchownat(dir, "cgroup.procs", owner, owner, 0) < 0)
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
        int r = 0;

        if (l->memory_bytes && cg->dir[SYS_CGROUP_MEMORY] >= 0)
                r = limit_memory(cg, l, ret_what);
        if (r == 0 && l->pids && cg->dir[SYS_CGROUP_PIDS] >= 0)
                r = put_u64(cg->dir[SYS_CGROUP_PIDS], "pids.max", l->pids, ret_what);
        if (r == 0 && l->cpu_milli && cg->dir[SYS_CGROUP_CPU] >= 0)
                r = put_u64(cg->dir[SYS_CGROUP_CPU], "cpu.cfs_quota_us", (uint64_t)l->cpu_milli * 100,
                            ret_what);
        if (r == 0 && cg->dir[SYS_CGROUP_CPUSET] >= 0)
                r = limit_cpuset(host, cg, l, ret_what);
        if (r == 0 && cg->dir[SYS_CGROUP_2] >= 0)
                r = delegate(cg, l->owner, ret_what);
        return r;
}

int sys_cgroup_open_joins(const struct sys_cgroup *cg, int *fds, unsigned max)
{
        unsigned count = 0;

        for (int i = 0; i < SYS_CGROUP_PARTS; i++) {
                if (i == SYS_CGROUP_2 || cg->dir[i] < 0 || count == max)
                        continue;
                fds[count] = sys_open_at(cg->dir[i], "tasks", O_WRONLY, 0);
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

int sys_cgroup_open_usage(const struct sys_cgroup *cg, int *ret_usage, int *ret_stat)
{
        int dir = cg->dir[SYS_CGROUP_MEMORY];

        *ret_usage = *ret_stat = -1;
        if (dir < 0)
                return 0;
        *ret_usage = sys_open_at(dir, "memory.usage_in_bytes", O_RDONLY, 0);
        *ret_stat = sys_open_at(dir, "memory.stat", O_RDONLY, 0);
        return *ret_usage < 0 ? *ret_usage : *ret_stat < 0 ? *ret_stat : 0;
}

static uint64_t get_u64(int dir, const char *file)
{
        char text[64];

        return dir >= 0 && sys_read_file(dir, file, text, sizeof(text)) > 0 ? strtoull(text, NULL, 10) : 0;
}

static uint64_t get_keyed(int dir, const char *file, const char *key)
{
        char text[1024];

        return dir >= 0 && sys_read_file(dir, file, text, sizeof(text)) > 0 ? sys_keyed_u64(text, key) : 0;
}

void sys_cgroup_stats(const struct sys_cgroup *cg, struct sys_cgroup_stats *ret)
{
        ret->memory_bytes = get_u64(cg->dir[SYS_CGROUP_MEMORY], "memory.usage_in_bytes");
        ret->memory_peak_bytes = get_u64(cg->dir[SYS_CGROUP_MEMORY], "memory.max_usage_in_bytes");
        ret->oom_kills = get_keyed(cg->dir[SYS_CGROUP_MEMORY], "memory.oom_control", "oom_kill");
        ret->pids = get_u64(cg->dir[SYS_CGROUP_PIDS], "pids.current");
        ret->pids_refused = get_keyed(cg->dir[SYS_CGROUP_PIDS], "pids.events", "max");
        ret->cpu_us = get_keyed(cg->dir[SYS_CGROUP_2], "cpu.stat", "usage_usec");
}

int sys_cgroup_freeze(const struct sys_cgroup *cg, bool frozen)
{
        return cg->dir[SYS_CGROUP_2] < 0
                       ? -EOPNOTSUPP
                       : sys_write_file(cg->dir[SYS_CGROUP_2], "cgroup.freeze", frozen ? "1" : "0");
}

/* A frozen node dies too: cgroup.kill reaches frozen tasks on cgroup2. */
int sys_cgroup_kill(const struct sys_cgroup *cg)
{
        return cg->dir[SYS_CGROUP_2] < 0 ? -EOPNOTSUPP
                                         : sys_write_file(cg->dir[SYS_CGROUP_2], "cgroup.kill", "1");
}

static void pause_ms(long ms)
{
        struct timespec t = { .tv_nsec = ms * 1000000 };

        nanosleep(&t, NULL);
}

/* Tasks that were killed need a moment to be gone from the node; the wait is bounded. */
static int remove_node(int parent, const char *name)
{
        for (int tries = 0; tries < 500; tries++) {
                if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
                        return 0;
                if (errno != EBUSY)
                        return -errno;
                pause_ms(1);
        }
        return -EBUSY;
}

static void remove_child(void *ctx, int dirfd, const char *name, unsigned type)
{
        (void)ctx;
        if (type == DT_DIR)
                remove_node(dirfd, name);
}

void sys_cgroup_remove_empty(const struct sys_cgroup_host *host, struct sys_cgroup *cg)
{
        for (int i = 0; i < SYS_CGROUP_2; i++)
                if (cg->dir[i] >= 0 && unlinkat(host->parent[i], cg->name, AT_REMOVEDIR) == 0) {
                        close(cg->dir[i]);
                        cg->dir[i] = -1;
                }
}

int sys_cgroup_remove(const struct sys_cgroup_host *host, struct sys_cgroup *cg)
{
        int result = 0;

        for (int i = 0; i < SYS_CGROUP_PARTS; i++) {
                int r;

                if (cg->dir[i] < 0)
                        continue;
                if (i ==
                    SYS_CGROUP_2) /* the per-exec nodes that init made; depth is one: the kernel was told so */
                        sys_dir_each(cg->dir[i], remove_child, NULL);
                close(cg->dir[i]);
                cg->dir[i] = -1;
                r = remove_node(host->parent[i], cg->name);
                if (r < 0 && result == 0)
                        result = r;
        }
        return result;
}

/* v1 has no cgroup.kill: signal what is listed, until nothing is. */
static void kill_listed(int dir)
{
        static char text[65536];

        for (int tries = 0; tries < 100; tries++) {
                bool any = false;
                char *at = text;

                if (sys_read_file(dir, "cgroup.procs", text, sizeof(text)) <= 0)
                        return;
                while (*at) {
                        long pid = strtol(at, &at, 10);

                        if (pid > 1) {
                                any = true;
                                kill((pid_t)pid, SIGKILL);
                        }
                        at += *at == '\n';
                        if (pid <= 0)
                                break;
                }
                if (!any)
                        return;
                pause_ms(2);
        }
}

int sys_cgroup_remove_at(int dirfd, const char *path)
{
        cay_auto_close int dir = sys_open_at(dirfd, path, O_RDONLY | O_DIRECTORY, 0);

        if (dir == -ENOENT)
                return 0;
        if (dir < 0)
                return dir;
        if (sys_write_file(dir, "cgroup.kill", "1") < 0)
                kill_listed(dir);
        else
                sys_dir_each(dir, remove_child, NULL);
        return remove_node(dirfd, path);
}
