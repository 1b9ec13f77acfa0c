/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where boxes' nodes go on cgroup v2.
 *
 * Theory of operation. A node has the controllers that its parent's cgroup.subtree_control names. The kernel
 * lets that be set only for a node without processes of its own (the real root is exempt), so the caller's
 * own node usually cannot be the parent of a node with limits, but its parent often can. Candidates are the
 * own node and those above it, up to the root of the mount, as far as the caller may write there. The nearest
 * candidate that provides memory, cpu and pids is chosen, else the nearest with most of them. As a last
 * resort, one with none still allows killing and freezing. There are two cases where the caller's own node
 * must become the parent: it is the only visible node (a container), or systemd has delegated it
 * (Delegate=yes: what is above stays systemd's). If it contains only the caller, its parent and the parent's
 * processes of ours, these move into a leaf of it. Processes of others are never moved.
 *
 * File modes do not tell whether a process can join a node: that depends on the common ancestor and on
 * namespaces too. So it is tried with a temporary node and process. Nothing is enabled before a node is
 * chosen.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "foundation/sys/cgroup_priv.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"

#define SELF_NODE "cay-self"
#define PROCS_MAX 256 /* a list of our few processes; a longer list contains others */
#define WANTED (1u << SYS_CGROUP_MEMORY | 1u << SYS_CGROUP_CPU | 1u << SYS_CGROUP_PIDS)

/* cgroup2 is not mounted: use a private mount. */
int sys_cgroup_v2_mount(void)
{
        cay_auto_close int fs = sys_fsopen("cgroup2", 1);
        int r;

        if (fs < 0)
                return fs;
        r = sys_fsconfig(fs, 6 /* CMD_CREATE */, NULL, NULL, 0);
        return r < 0 ? r : sys_fsmount(fs, 1, 0);
}

unsigned sys_cgroup_v2_controllers(int dir, const char *file)
{
        char text[512];
        unsigned set = 0;

        if (sys_read_file(dir, file, text, sizeof(text)) <= 0)
                return 0;
        for (const char *at = text; *at;) {
                size_t len = strcspn(at, " \n");

                for (unsigned i = 0; i < SYS_CGROUP_2; i++)
                        if (len == strlen(sys_cgroup_controllers[i]) &&
                            memcmp(at, sys_cgroup_controllers[i], len) == 0)
                                set |= 1u << i;
                at += len;
                at += strspn(at, " \n");
        }
        return set;
}

unsigned sys_cgroup_v2_enable(int dir)
{
        unsigned has = sys_cgroup_v2_controllers(dir, "cgroup.subtree_control");
        unsigned missing = sys_cgroup_v2_controllers(dir, "cgroup.controllers") & ~has;

        for (unsigned i = 0; i < SYS_CGROUP_2;
             i++) { /* one at a time: each may be refused for reasons of its own */
                char text[16];

                snprintf(text, sizeof(text), "+%s", sys_cgroup_controllers[i]);
                if (missing & 1u << i && sys_write_file(dir, "cgroup.subtree_control", text) == 0)
                        has |= 1u << i;
        }
        return has;
}

static void disable(int dir, unsigned set)
{
        for (unsigned i = 0; i < SYS_CGROUP_2; i++) {
                char text[16];

                snprintf(text, sizeof(text), "-%s", sys_cgroup_controllers[i]);
                if (set & 1u << i)
                        sys_write_file(dir, "cgroup.subtree_control", text);
        }
}

static bool is_real_root(int dir)
{
        return faccessat(dir, "cgroup.type", F_OK, 0) < 0;
}

bool sys_cgroup_v2_may_use(int dir)
{
        cay_auto_close int node = -1;
        int status = -1;
        char name[32];
        pid_t pid;

        if (geteuid() == 0 && is_real_root(dir))
                return true; /* the usual case of a machine without systemd; nothing can interfere */
        snprintf(name, sizeof(name), "cay-probe-%d", (int)getpid());
        if (mkdirat(dir, name, 0755) < 0)
                return false;
        node = sys_open_at(dir, name, O_RDONLY | O_DIRECTORY, 0);
        pid = node < 0 ? -1 : fork();
        if (pid == 0)
                _exit(sys_write_file(node, "cgroup.procs", "0") == 0 ? 0 : 1);
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        sys_cgroup_remove_node(dir, name);
        return status == 0;
}

static bool may_write(int dir)
{
        return faccessat(dir, ".", W_OK | X_OK, 0) == 0 && faccessat(dir, "cgroup.procs", W_OK, 0) == 0;
}

static bool is_busy(int dir)
{
        char text[32];

        return !is_real_root(dir) && sys_read_file(dir, "cgroup.procs", text, sizeof(text)) != 0;
}

/* What could be enabled for the children of a node without processes. */
static unsigned could_give(int dir)
{
        unsigned set = sys_cgroup_v2_controllers(dir, "cgroup.subtree_control");

        if (faccessat(dir, "cgroup.subtree_control", W_OK, 0) == 0)
                set |= sys_cgroup_v2_controllers(dir, "cgroup.controllers");
        return set;
}

static int count_wanted(unsigned set)
{
        return __builtin_popcount(set & WANTED);
}

/*
 * A daemon's front is a sibling of its warden: a child of the same parent, and a program of ours by its name.
 */
static bool is_sibling(long pid)
{
        char path[32], text[256], *end;

        snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
        if (sys_read_file(AT_FDCWD, path, text, sizeof(text)) <= 0)
                return false;
        end = strrchr(text, ')'); /* PID (NAME) STATE PARENT … */
        return end && (strstr(text, " (cay)") || strstr(text, " (cay-")) && strlen(end) > 4 &&
               strtol(end + 4, NULL, 10) == getppid();
}

static bool is_ours(long pid)
{
        return pid > 0 && (pid == getpid() || pid == getppid() || is_sibling(pid));
}

/* Only the caller, its parent and its siblings, and at least one of them. */
static bool only_we_are_in(int dir)
{
        char text[PROCS_MAX], *at = text;
        ssize_t len = sys_read_file(dir, "cgroup.procs", text, sizeof(text));

        if (len <= 0 || len >= (ssize_t)sizeof(text) - 1)
                return false;
        while (*at) {
                if (!is_ours(strtol(at, &at, 10)))
                        return false;
                at += *at == '\n';
        }
        return true;
}

/* Moves those of these processes that are in `from`. */
static bool move_us(int from, int to)
{
        char text[PROCS_MAX], *at = text;
        bool all = true;

        if (!only_we_are_in(from) || sys_read_file(from, "cgroup.procs", text, sizeof(text)) <= 0)
                return false;
        while (*at) {
                char pid[16];

                snprintf(pid, sizeof(pid), "%ld", strtol(at, &at, 10));
                all = sys_write_file(to, "cgroup.procs", pid) == 0 && all;
                at += *at == '\n';
        }
        return all;
}

/* Makes the own node a parent; on failure (false) everything stays as it was. */
static bool step_aside(int dir, int want)
{
        cay_auto_close int leaf = -1;
        unsigned has;

        if (mkdirat(dir, SELF_NODE, 0755) < 0 && errno != EEXIST)
                return false;
        leaf = sys_open_at(dir, SELF_NODE, O_RDONLY | O_DIRECTORY, 0);
        if (leaf >= 0 && move_us(dir, leaf)) {
                has = sys_cgroup_v2_enable(dir);
                if (count_wanted(has) >= want)
                        return true;
                disable(dir, has);
        }
        if (leaf >= 0)
                move_us(leaf, dir);
        unlinkat(dir, SELF_NODE, AT_REMOVEDIR);
        return false;
}

/* The nearest node that gives at least `want` of the wanted controllers; `path` becomes its path. */
static int find_giving(char *path, size_t mount_len, int want, bool (*may_use)(int dir))
{
        for (;;) {
                cay_auto_close int dir = sys_open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
                char *slash;

                if (dir >= 0 && may_write(dir) && count_wanted(is_busy(dir) ? 0 : could_give(dir)) >= want &&
                    may_use(dir))
                        return cay_take_fd(dir);
                slash = strrchr(path, '/');
                if (strlen(path) <= mount_len || !slash)
                        return -ENOENT;
                *slash = 0;
        }
}

static int find_own(const char *path, int want, bool (*may_use)(int dir))
{
        cay_auto_close int dir = sys_open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);

        if (dir >= 0 && may_write(dir) && only_we_are_in(dir) && count_wanted(could_give(dir)) >= want &&
            may_use(dir) && step_aside(dir, want))
                return cay_take_fd(dir);
        return -ENOENT;
}

/* systemd's mark, for root and for users. */
static bool is_given_away(int dir)
{
        char text[4];

        return (fgetxattr(dir, "trusted.delegate", text, sizeof(text)) == 1 && text[0] == '1') ||
               (fgetxattr(dir, "user.delegate", text, sizeof(text)) == 1 && text[0] == '1');
}

static int find_given(const char *path, bool (*may_use)(int dir))
{
        cay_auto_close int dir = sys_open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);

        return dir >= 0 && is_given_away(dir) ? find_own(path, count_wanted(WANTED), may_use) : -ENOENT;
}

static void take_place(struct sys_cgroup_host *host, int dir, const char *path, int want)
{
        host->held = want > 0 ? sys_cgroup_v2_enable(dir) : 0;
        host->parent[SYS_CGROUP_2] = dir;
        snprintf(host->path[SYS_CGROUP_2], SYS_CGROUP_PATH, "%.*s", SYS_CGROUP_PATH - 1, path);
}

void sys_cgroup_v2_place(struct sys_cgroup_host *host, const struct sys_cgroup_place *place,
                         bool (*may_use)(int dir))
{
        size_t mount_len = strlen(place->mount);
        char own[2 * SYS_CGROUP_PATH];
        int given;

        snprintf(own, sizeof(own), "%s%s", place->mount, place->own);
        given = find_given(own, may_use);
        if (given >= 0) {
                take_place(host, given, own, count_wanted(WANTED));
                return;
        }
        for (int want = count_wanted(WANTED); want >= 0; want--) {
                char path[2 * SYS_CGROUP_PATH];
                int dir;

                memcpy(path, own, sizeof(path));
                dir = find_giving(path, mount_len, want, may_use);
                if (dir < 0 && want > 0) {
                        memcpy(path, own, sizeof(path));
                        dir = find_own(path, want, may_use);
                }
                if (dir < 0)
                        continue;
                take_place(host, dir, path, want);
                return;
        }
}
