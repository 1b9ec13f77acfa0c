/* SPDX-License-Identifier: Apache-2.0 */
/* Giving up privileges for good. */
#include "foundation/sys/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/caps.h"
#include "foundation/sys/syscalls.h"

#define NOBODY 65534
#define NR_CREATE_RULESET 444
#define NR_RESTRICT_SELF 446

/*
 * All rights that the kernel's landlock knows. A right that is not handled is not denied (truncate by path,
 * before ABI 3).
 */
static uint64_t every_right(long abi)
{
        unsigned bits = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;

        return (1ULL << bits) - 1;
}

/* No rule is added: what is handled is denied. Descriptors that are open stay usable. */
static void landlock_everything(void)
{
        long abi = syscall(NR_CREATE_RULESET, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        /* the oldest form of the attributes, which has only this member */
        uint64_t handled = every_right(abi);
        int fd = abi < 1 ? -1 : (int)syscall(NR_CREATE_RULESET, &handled, sizeof(handled), 0);

        if (fd < 0)
                return; /* no landlock here: the other layers still protect */
        syscall(NR_RESTRICT_SELF, fd, 0);
        close(fd);
}

/* The first line of the map decides: "0 0 4294967295" in the initial namespace, less in others. */
static bool has_no_nobody(void)
{
        char map[128];
        cay_auto_close int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, map, sizeof(map) - 1);
        unsigned long first, count;
        char *end;

        if (n <= 0)
                return false;
        map[n] = 0;
        first = strtoul(map, &end, 10);
        strtoul(end, &end, 10);
        count = strtoul(end, NULL, 10);
        return NOBODY < first || NOBODY - first >= count;
}

/*
 * A user namespace may have no nobody, and groups may be fixed. Its root is then an ordinary user without
 * capabilities.
 */
static int be_nobody(void)
{
        int r = sys_setgroups(0, NULL);

        if (r == 0)
                r = sys_setresgid(NOBODY, NOBODY, NOBODY);
        if (r == 0)
                r = sys_setresuid(NOBODY, NOBODY, NOBODY);
        return (r == -EPERM || r == -EINVAL) && has_no_nobody() ? 0 : r;
}

int sys_self_confine(void)
{
        int r;

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -errno;
        if (geteuid() == 0) { /* before files become inaccessible: it reads one */
                r = be_nobody();
                if (r < 0)
                        return r;
        }
        landlock_everything();
        r = sys_caps_set(0, 0, 0);
        if (r < 0)
                return r;
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        return 0;
}

int sys_give_up_root(unsigned id)
{
        int r = 0;

        if (geteuid() == 0) {
                r = sys_setgroups(0, NULL);
                if (r == 0)
                        r = sys_setresgid(id, id, id);
                if (r == 0)
                        r = sys_setresuid(id, id, id);
        }
        if (r == 0)
                r = sys_caps_set(0, 0, 0);
        if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                r = -errno;
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        return r;
}
