/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where the hierarchies are mounted and which nodes the caller is in, from /proc. Usually they are
 * where they always are, and a few looks there find that out. Otherwise mountinfo tells, for which the kernel
 * writes a line about every mount of the machine: 0.1 ms for a few, a millisecond for hundreds.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "foundation/sys/cgroup_priv.h"

#define V1_MAGIC 0x27e0eb
#define V2_MAGIC 0x63677270

const char *const sys_cgroup_controllers[SYS_CGROUP_2] = {
        [SYS_CGROUP_MEMORY] = "memory",
        [SYS_CGROUP_CPU] = "cpu",
        [SYS_CGROUP_PIDS] = "pids",
        [SYS_CGROUP_CPUSET] = "cpuset",
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

/* The path of a node as seen in a mount that shows only a part of the hierarchy (from `root` on). */
static const char *below(const char *own, const char *root)
{
        size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);

        if (strncmp(own, root, len) != 0 || (len && own[len] && own[len] != '/'))
                return "";
        own += len;
        return strcmp(own, "/") == 0 || strstr(own, "/..") ? "" : own;
}

/* A mount can be hidden by another one on top of it. */
static bool is_hierarchy(const char *path, bool v2)
{
        struct statfs fs;

        return statfs(path, &fs) == 0 && (unsigned long)fs.f_type == (v2 ? V2_MAGIC : V1_MAGIC);
}

static void note(struct sys_cgroup_place *place, bool v2, const char *own, const char *root,
                 const char *point)
{
        char path[2 * SYS_CGROUP_PATH];

        if (place->mount[0] || !is_hierarchy(point, v2))
                return;
        own = below(own, root);
        /* In a cgroup namespace, the mount's root may be our own node. */
        if (snprintf(path, sizeof(path), "%s%s", point, own) >= (int)sizeof(path) || access(path, F_OK) < 0)
                own = "";
        /* The path of a box's node must still fit into SYS_CGROUP_PATH of a record. */
        if (strlen(point) + strlen(own) >= SYS_CGROUP_PATH - sizeof(((struct sys_cgroup *)0)->name))
                return;
        snprintf(place->mount, sizeof(place->mount), "%s", point);
        snprintf(place->own, sizeof(place->own), "%s", own);
}

/*
 * The root of a hierarchy, and not a part of it that a container is shown: only that one has (v1) or lacks
 * (v2) these files. `below` then has nothing to strip.
 */
static bool is_whole(const char *point, bool v2)
{
        char path[2 * SYS_CGROUP_PATH];

        if (!is_hierarchy(point, v2) || snprintf(path, sizeof(path), "%s/%s", point,
                                                 v2 ? "cgroup.events" : "release_agent") >= (int)sizeof(path))
                return false;
        return access(path, F_OK) == 0 ? !v2 : v2 && errno == ENOENT;
}

bool sys_cgroup_find_usual(const char *top, const char *own, struct sys_cgroup_place ret[SYS_CGROUP_PARTS])
{
        bool unified = is_whole(top, true);

        memset(ret, 0, SYS_CGROUP_PARTS * sizeof(*ret));
        for (int i = 0; i < SYS_CGROUP_PARTS; i++) {
                bool v2 = i == SYS_CGROUP_2;
                const char *controller = v2 ? NULL : sys_cgroup_controllers[i];
                char path[SYS_CGROUP_PATH], point[SYS_CGROUP_PATH];

                if (!own_path(own, controller, path, sizeof(path)))
                        continue;
                if (unified && !v2)
                        return false; /* v1 beside it: somewhere else */
                if (snprintf(point, sizeof(point), "%s%s%s", top, unified ? "" : "/",
                             unified ? ""
                             : v2    ? "unified"
                                     : controller) >= (int)sizeof(point) ||
                    !is_whole(point, v2))
                        return false;
                note(&ret[i], v2, path, "/", point);
                if (!ret[i].mount[0])
                        return false;
        }
        return true;
}

void sys_cgroup_find(char *mounts, const char *own, struct sys_cgroup_place ret[SYS_CGROUP_PARTS])
{
        memset(ret, 0, SYS_CGROUP_PARTS * sizeof(*ret));
        for (char *line = mounts, *next; *line; line = next) {
                char *root, *point, *type, *options, path[SYS_CGROUP_PATH];

                next = line + strcspn(line, "\n");
                if (*next)
                        *next++ = 0;
                if (!strstr(line, " - cgroup") || !split_mount(line, &root, &point, &type, &options))
                        continue;
                for (int i = 0; i < SYS_CGROUP_PARTS; i++) {
                        bool v2 = i == SYS_CGROUP_2;
                        const char *controller = v2 ? NULL : sys_cgroup_controllers[i];

                        if (strcmp(type, v2 ? "cgroup2" : "cgroup") != 0 ||
                            (!v2 && !has_word(options, controller, strlen(controller))))
                                continue;
                        if (own_path(own, controller, path, sizeof(path)))
                                note(&ret[i], v2, path, root, point);
                }
        }
}
