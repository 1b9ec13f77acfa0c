/* SPDX-License-Identifier: Apache-2.0 */
/* User namespace maps. */
#include "foundation/sys/idmap.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"

static int write_map(pid_t pid, const char *file, const struct sys_idmap *map)
{
        char path[64], text[64];

        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
        snprintf(text, sizeof(text), "%u %u %u", map->inside, map->outside, map->count);
        return sys_write_file(AT_FDCWD, path, text);
}

int sys_idmap_write(pid_t pid, const struct sys_idmap *uids, const struct sys_idmap *gids)
{
        int r = write_map(pid, "uid_map", uids);

        return r < 0 ? r : write_map(pid, "gid_map", gids);
}

int sys_idmap_open(pid_t pid)
{
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
        return sys_open_at(AT_FDCWD, path, O_RDONLY, 0);
}

int sys_idmap_namespace(const struct sys_idmap *uids, const struct sys_idmap *gids)
{
        struct clone_args args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
        pid_t parent = getpid(), pid = sys_clone3(&args);
        int r;

        if (pid < 0)
                return pid;
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* killed with us, so it is never left behind */
                while (getppid() == parent)
                        pause();
                _exit(0);
        }
        r = sys_idmap_write(pid, uids, gids);
        if (r == 0)
                r = sys_idmap_open(pid);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return r;
}
