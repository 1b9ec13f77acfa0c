/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes are made and removed by path: only root can change anything there. */
#include "isolated/groups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "foundation/sys/cgroup_priv.h"
#include "foundation/sys/fd.h"

#define PATH_SIZE 4096
#define REMOVE_ROUNDS 1000 /* of 10 ms */
#define RUNNER "runner"    /* cgroup2: a node with processes of its own can't give controllers to others */
/* A test is many processes: as one among others it would starve on a busy machine. Eight times the usual. */
#define SHARES_V1 "8192"
#define WEIGHT_V2 "800"

static _Noreturn void give_up(const char *what)
{
        perror(what);
        exit(1);
}

/*
 * The caller's node in a hierarchy: the line of /proc/self/cgroup whose controllers these are ("" for
 * cgroup2).
 */
static bool find_own(const char *controllers, char ret[GROUP_PATH])
{
        char line[1024];
        FILE *f = fopen("/proc/self/cgroup", "re");
        bool found = false;

        while (f && !found && fgets(line, sizeof(line), f)) {
                char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

                if (!path)
                        continue;
                *path++ = 0;
                path[strcspn(path, "\n")] = 0;
                found = strcmp(list + 1, controllers) == 0;
                if (found)
                        snprintf(ret, GROUP_PATH, "%.255s", path);
        }
        if (f)
                fclose(f);
        return found;
}

/*
 * The controllers among the options of a mount, in the order of /proc/self/cgroup, which is that of the
 * kernel.
 */
static void pick_controllers(const char *options, char *ret, size_t size)
{
        static const char *const others[] = { "rw",    "ro",     "relatime", "noatime",        "nosuid",
                                              "nodev", "noexec", "xattr",    "clone_children", "seclabel" };
        char copy[512];

        snprintf(copy, sizeof(copy), "%s", options);
        *ret = 0;
        for (char *rest = copy, *word; (word = strsep(&rest, ","));) {
                bool other = strncmp(word, "release_agent=", 14) == 0;

                for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
                        other = other || strcmp(word, others[i]) == 0;
                if (!other)
                        snprintf(ret + strlen(ret), size - strlen(ret), "%s%s", *ret ? "," : "", word);
        }
}

static bool is_there(const char *path)
{
        return access(path, F_OK) == 0;
}

static unsigned controllers_of(const char *mount, const char *own, const char *file)
{
        char path[2 * GROUP_PATH];
        cay_auto_close int dir = -1;

        snprintf(path, sizeof(path), "%s%s", mount, own);
        dir = sys_open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
        return dir < 0 ? 0 : sys_cgroup_v2_controllers(dir, file);
}

/*
 * On cgroup2 with controllers, nodes with limits can't be made below the node that we are in (it has
 * processes). The nearest one above it that gives memory to its children does, in the end the root.
 */
static void climb(const char *mount, char own[GROUP_PATH])
{
        if (controllers_of(mount, "", "cgroup.controllers") == 0)
                return; /* a hybrid: nodes have no limits here, and can be made anywhere */
        while (own[1] && !(controllers_of(mount, own, "cgroup.subtree_control") & 1u << SYS_CGROUP_MEMORY)) {
                char *last = strrchr(own, '/');

                last[last == own] = 0;
        }
}

static void add(struct test_groups *g, const char *mount, const char *type, const char *options,
                const char *name)
{
        struct test_group *group = &g->all[g->count];
        char own[GROUP_PATH], words[64] = "";
        bool v2 = strcmp(type, "cgroup2") == 0;

        if (g->count == GROUPS_MAX)
                return;
        if (!v2)
                pick_controllers(options, words, sizeof(words));
        if (!find_own(words, own))
                return;
        if (v2)
                climb(mount, own);
        snprintf(group->mount, sizeof(group->mount), "%s", mount);
        snprintf(group->options, sizeof(group->options), "%s", words);
        if (snprintf(group->node, sizeof(group->node), "%s%s/%s", mount, own[1] ? own : "", name) <
                    (int)sizeof(group->node) &&
            access(mount, W_OK) == 0)
                g->count++;
}

static void find(struct test_groups *g, const char *name)
{
        char line[2048], mount[GROUP_PATH], type[64], options[512];
        FILE *f = fopen("/proc/self/mounts", "re");

        if (!f)
                give_up("/proc/self/mounts");
        g->count = 0;
        while (fgets(line, sizeof(line), f))
                if (sscanf(line, "%*s %255s %63s %511s", mount, type, options) == 3 &&
                    (strcmp(type, "cgroup") == 0 || strcmp(type, "cgroup2") == 0))
                        add(g, mount, type, options, name);
        fclose(f);
}

static void write_in(const char *dir, const char *file, const char *text)
{
        char path[PATH_SIZE];

        snprintf(path, sizeof(path), "%s/%s", dir, file);
        if (is_there(path) && sys_write_file(AT_FDCWD, path, text) < 0)
                perror(path);
}

/* A new node of cpuset has no processors, and takes nobody in. */
static void copy_from_parent(const char *node, const char *file)
{
        char path[PATH_SIZE], text[4096];
        const char *last = strrchr(node, '/');

        snprintf(path, sizeof(path), "%.*s/%s", (int)(last - node), node, file);
        if (sys_read_file(AT_FDCWD, path, text, sizeof(text)) > 0)
                write_in(node, file, text);
}

static void signal_tasks(const char *dir)
{
        char path[PATH_SIZE];
        FILE *f;
        int pid;

        snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
        f = fopen(path, "re");
        while (f && fscanf(f, "%d", &pid) == 1)
                if (pid > 1)
                        kill(pid, SIGKILL);
        if (f)
                fclose(f);
}

/* Calls back for every node below this one, the lowest first, then for this one; the last answer. */
static bool each_node(const char *node, bool (*visit)(const char *node))
{
        char path[PATH_SIZE];
        DIR *d = opendir(node);
        struct dirent *e;

        while (d && (e = readdir(d)))
                if (e->d_type == DT_DIR && e->d_name[0] != '.' &&
                    snprintf(path, sizeof(path), "%s/%s", node, e->d_name) < (int)sizeof(path))
                        each_node(path, visit);
        if (d)
                closedir(d);
        return visit(node);
}

static bool thaw_node(const char *node)
{
        write_in(node, "freezer.state", "THAWED");
        return true;
}

/* What v1's freezer holds (a paused container) can't even be killed. True when the node is gone. */
static bool remove_node(const char *node)
{
        char path[PATH_SIZE];

        thaw_node(node);
        snprintf(path, sizeof(path), "%s/cgroup.kill", node);
        if (sys_write_file(AT_FDCWD, path, "1") < 0)
                signal_tasks(node);
        return rmdir(node) == 0 || errno == ENOENT;
}

void test_groups_remove(const struct test_groups *g)
{
        struct timespec nap = { .tv_nsec = 10000000 };
        bool all = false;

        for (unsigned round = 0; round < REMOVE_ROUNDS && !all; round++) {
                if (round)
                        nanosleep(&nap, NULL);
                all = true;
                for (unsigned i = g->count; i-- > 0;) /* cgroup2 is mounted last, and kills */
                        all = each_node(g->all[i].node, remove_node) && all;
        }
        if (!all)
                fprintf(stderr, "run_isolated: control groups are left: %s\n", g->all[0].node);
}

void test_groups_thaw(const struct test_groups *g)
{
        for (unsigned i = 0; i < g->count; i++)
                if (strstr(g->all[i].options, "freezer"))
                        each_node(g->all[i].node, thaw_node);
}

void test_groups_make(struct test_groups *g, const char *name, uint64_t memory)
{
        char bytes[24];

        snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)memory);
        find(g, name);
        test_groups_remove(g);
        for (unsigned i = 0; i < g->count; i++) {
                const char *node = g->all[i].node;

                if (mkdir(node, 0755) < 0)
                        give_up(node);
                copy_from_parent(node, "cpuset.cpus");
                copy_from_parent(node, "cpuset.mems");
                write_in(node, "memory.limit_in_bytes", bytes);
                write_in(node, "memory.max", bytes);
                write_in(node, "cpu.shares", SHARES_V1);
                write_in(node, "cpu.weight", WEIGHT_V2);
        }
}

/* Controllers for what is made below it: possible once nobody is in the node itself. */
static void give_controllers(const char *root)
{
        char path[PATH_SIZE];
        cay_auto_close int dir = sys_open_at(AT_FDCWD, root, O_RDONLY | O_DIRECTORY, 0);

        if (dir < 0 || sys_cgroup_v2_controllers(dir, "cgroup.controllers") == 0)
                return;
        snprintf(path, sizeof(path), "%s/" RUNNER, root);
        if (mkdir(path, 0755) < 0)
                give_up(path);
        write_in(path, "cgroup.procs", "0");
        sys_cgroup_v2_enable(dir);
}

void test_groups_enter(const struct test_groups *g)
{
        for (unsigned i = 0; i < g->count; i++)
                write_in(g->all[i].node, "cgroup.procs", "0");
        if (unshare(CLONE_NEWCGROUP) < 0)
                give_up("unshare cgroup");
        for (unsigned i = 0; i < g->count; i++) {
                const struct test_group *group = &g->all[i];
                bool v2 = !group->options[0];

                umount2(group->mount,
                        MNT_DETACH); /* the kernel refuses the same hierarchy on top of itself */
                if (mount("none", group->mount, v2 ? "cgroup2" : "cgroup", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                          v2 ? NULL : group->options) < 0)
                        give_up(group->mount);
                if (v2)
                        give_controllers(group->mount);
        }
}
