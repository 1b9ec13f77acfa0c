/* SPDX-License-Identifier: Apache-2.0 */
/* What an earlier run left on the machine. See leftover.h. */

#include "leftover.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool is_marked(const char *name, const char **marks)
{
        for (; *marks; marks++) {
                size_t n = strlen(*marks);

                if (strncmp(name, *marks, n) == 0 && (name[n] == '\0' || name[n] == '-' || name[n] == '.'))
                        return true;
        }
        return false;
}

static bool process_left(const char **marks)
{
        char path[64], comm[64];
        bool found = false;
        struct dirent *e;
        DIR *proc;
        FILE *f;

        proc = opendir("/proc");
        if (!proc)
                return false;
        while (!found && (e = readdir(proc)) != NULL) {
                if (e->d_name[0] < '1' || e->d_name[0] > '9')
                        continue;
                snprintf(path, sizeof(path), "/proc/%.20s/comm", e->d_name);
                f = fopen(path, "re");
                if (!f)
                        continue;
                if (fgets(comm, sizeof(comm), f)) {
                        comm[strcspn(comm, "\n")] = '\0';
                        found = is_marked(comm, marks);
                        if (found)
                                fprintf(stderr, "bench: process %s '%s'\n", e->d_name, comm);
                }
                fclose(f);
        }
        closedir(proc);
        return found;
}

/* Two levels are enough: every hierarchy's root, and the folders in it. */
static bool cgroup_left(const char **marks)
{
        static const char top[] = "/sys/fs/cgroup";
        char path[PATH_MAX];
        struct dirent *e, *sub;
        bool found = false;
        DIR *outer, *inner;

        outer = opendir(top);
        if (!outer)
                return false;
        while (!found && (e = readdir(outer)) != NULL) {
                if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
                        continue;
                snprintf(path, sizeof(path), "%s/%s", top, e->d_name);
                found = is_marked(e->d_name, marks);
                inner = found ? NULL : opendir(path);
                while (inner && !found && (sub = readdir(inner)) != NULL) {
                        found = sub->d_type == DT_DIR && is_marked(sub->d_name, marks);
                        if (found)
                                fprintf(stderr, "bench: cgroup %s/%s\n", path, sub->d_name);
                }
                if (inner)
                        closedir(inner);
        }
        closedir(outer);
        return found;
}

/* A mount of ours is one whose source or place has a part that starts with a mark, as in /run/cay/… */
static bool mount_left(const char **marks)
{
        bool found = false;
        char line[8192];
        FILE *f;

        f = fopen("/proc/self/mountinfo", "re");
        if (!f)
                return false;
        while (!found && fgets(line, sizeof(line), f)) {
                for (const char **mark = marks; *mark && !found; mark++) {
                        char slash[64], space[64];

                        snprintf(slash, sizeof(slash), "/run/%s", *mark);
                        snprintf(space, sizeof(space), " %s ", *mark);
                        found = strstr(line, slash) != NULL || strstr(line, space) != NULL;
                }
                if (found)
                        fprintf(stderr, "bench: mount %s", line);
        }
        fclose(f);
        return found;
}

bool leftover_find(const char **marks)
{
        return process_left(marks) || cgroup_left(marks) || mount_left(marks);
}
