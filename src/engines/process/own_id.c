/* SPDX-License-Identifier: Apache-2.0 */
/* Switching to an id, and killing all processes that have it. */
#include "engines/process/own_id.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "foundation/sys/child.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"

#define KILL_MS 2000

enum { SOME = 0, NONE = 1, FAILED = 2 }; /* exit status of the one that kills */

/* Lines of a map: first id inside, first outside, how many. */
static bool is_mapped(const char *path)
{
        uint64_t last = (uint64_t)CAY_OWN_ID_FIRST + 2 * CAY_OWN_IDS - 1;
        char text[4096], *line = text, *at;

        if (sys_read_file(AT_FDCWD, path, text, sizeof(text)) <= 0)
                return false;
        while (line && *line) {
                uint64_t first = strtoull(line, &at, 10), count;

                strtoull(at, &at, 10);
                count = strtoull(at, &at, 10);
                if (first <= CAY_OWN_ID_FIRST && count > last - first)
                        return true;
                line = strchr(at, '\n');
                line = line ? line + 1 : NULL;
        }
        return false;
}

bool cay_own_id_is_possible(void)
{
        return geteuid() == 0 && is_mapped("/proc/self/uid_map") && is_mapped("/proc/self/gid_map");
}

int cay_own_id_become(uint32_t id)
{
        int r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : sys_setgroups(0, NULL);

        if (r == 0)
                r = sys_setresgid(id, id, id);
        return r == 0 ? sys_setresuid(id, id, id) : r;
}

/* Who may signal whom: the sender's real or effective id is the receiver's real or saved one. */
static int become_killer(uint32_t id)
{
        const uint32_t own = id + CAY_OWN_IDS;
        int r = sys_setgroups(0, NULL);

        if (r == 0)
                r = sys_setresgid(own, own, own);
        return r == 0 ? sys_setresuid(own, id, own) : r;
}

/* Zombies are reaped by others, and do nothing. */
static bool is_zombie(int proc, const char *name)
{
        char path[32], text[1024];
        const char *at;

        snprintf(path, sizeof(path), "%.20s/stat", name);
        if (sys_read_file(proc, path, text, sizeof(text)) <= 0)
                return true;     /* gone meanwhile */
        at = strrchr(text, ')'); /* of its name, which may hold anything */
        return at && (strncmp(at, ") Z", 3) == 0 || strncmp(at, ") X", 3) == 0);
}

/*
 * Whether there is any process that we, with an id and no privileges, may signal. (The result of kill(-1)
 * does not tell.)
 */
static int look(void)
{
        DIR *dir = opendir("/proc");
        int found = dir ? NONE : FAILED;
        struct dirent *entry;

        while (found == NONE && (entry = readdir(dir)) != NULL) {
                pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

                if (pid > 0 && pid != getpid() && kill(pid, 0) == 0 && !is_zombie(dirfd(dir), entry->d_name))
                        found = SOME;
        }
        return found;
}

/*
 * Kills by a child that has the id itself: then the kernel selects the processes, in one step, and none can
 * escape by forking. If the child is killed itself, retry.
 */
int cay_own_id_kill(uint32_t id)
{
        pid_t pid;
        int r;

        if (!cay_own_id_is(id))
                return -EINVAL;
        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                if (become_killer(id) < 0)
                        _exit(FAILED);
                kill(-1, SIGKILL);
                _exit(look());
        }
        r = sys_child_status(pid, KILL_MS);
        if (r == -ECHILD)
                return 0;
        return r == FAILED ? -EPERM : r;
}
