/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ending what is in a node, and removing it. cgroup.kill (Linux 5.14) does it in one step, frozen tasks
 * included. Without it everything listed is signalled until nothing is; on cgroup2 the node is frozen
 * meanwhile, so that nothing forks away.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "foundation/base/clock.h"
#include "foundation/sys/cgroup_priv.h"
#include "foundation/sys/dir.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/test_no.h"

#define KILL_ROUNDS 250   /* of 2 ms */
#define REMOVE_ROUNDS 500 /* of 1 ms; callers have already waited for the processes */

static void pause_ms(long ms)
{
        struct timespec t = { .tv_nsec = ms * 1000000 };

        nanosleep(&t, NULL);
}

static bool signal_listed(int dir)
{
        static char text[65536]; /* processes that do not fit are handled in the next round */
        bool any = false;
        char *at = text;

        if (sys_read_file(dir, "cgroup.procs", text, sizeof(text)) <= 0)
                return false;
        while (*at) {
                char *end;
                long pid = strtol(at, &end, 10);

                if (end == at)
                        break;
                if (pid > 1 && pid != getpid()) {
                        any = true;
                        kill((pid_t)pid, SIGKILL);
                }
                at = end + (*end == '\n');
        }
        return any;
}

static void signal_child(void *ctx, int dirfd, const char *name, unsigned type)
{
        bool *any = ctx;
        cay_auto_close int dir = -1;

        if (type != DT_DIR)
                return;
        dir = sys_open_at(dirfd, name, O_RDONLY | O_DIRECTORY, 0);
        if (dir >= 0 && signal_listed(dir))
                *any = true;
}

/* There is only one level of children: that limit was set when the node was made. */
static int kill_listed(int dir)
{
        bool any = true;

        sys_write_file(dir, "cgroup.freeze", "1");
        for (int i = 0; i < KILL_ROUNDS; i++) {
                any = signal_listed(dir);
                sys_dir_each(dir, signal_child, &any);
                if (!any)
                        break;
                pause_ms(2);
        }
        sys_write_file(dir, "cgroup.freeze", "0");
        return any ? -EBUSY : 0;
}

int sys_cgroup_kill_node(int dir)
{
        int r = sys_test_no("cgroup.kill") ? -ENOENT : sys_write_file(dir, "cgroup.kill", "1");

        return r < 0 ? kill_listed(dir) : 0;
}

static int remove_now(int parent, const char *name)
{
        return unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -errno;
}

int sys_cgroup_remove_node(int parent, const char *name)
{
        int r = -EBUSY;

        for (int tries = 0; tries < REMOVE_ROUNDS && r == -EBUSY; tries++) {
                r = remove_now(parent, name);
                if (r == -EBUSY)
                        pause_ms(1);
        }
        return r;
}

static void remove_child(void *ctx, int dirfd, const char *name, unsigned type)
{
        (void)ctx;
        if (type == DT_DIR)
                sys_cgroup_remove_node(dirfd, name);
}

int sys_cgroup_remove_children(int dir)
{
        return sys_dir_each(dir, remove_child, NULL);
}

static void remove_child_now(void *ctx, int dirfd, const char *name, unsigned type)
{
        (void)ctx;
        if (type == DT_DIR)
                remove_now(dirfd, name);
}

int sys_cgroup_remove_at(int dirfd, const char *path, uint64_t until_ms)
{
        cay_auto_close int dir = sys_open_at(dirfd, path, O_RDONLY | O_DIRECTORY, 0);
        int r;

        if (dir == -ENOENT)
                return 0;
        if (dir < 0)
                return dir;
        sys_cgroup_kill_node(dir);
        for (;;) {
                sys_dir_each(dir, remove_child_now, NULL);
                r = remove_now(dirfd, path);
                if (r != -EBUSY || cay_clock_ms() >= until_ms)
                        return r;
                pause_ms(1);
        }
}
