/* SPDX-License-Identifier: Apache-2.0 */
/* Closing many descriptors, also where the kernel has no call for it. */
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

#include "foundation/sys/syscalls.h"

#define NUMBERS_MIN 65536u     /* tried without /proc: the limit may have been lowered since */
#define NUMBERS_MAX (1u << 20) /* the kernel's usual maximum of any limit */
#define PASSES_MAX 64          /* over /proc/self/fd; two are enough unless others open more meanwhile */

struct entry { /* as getdents64 gives it */
        uint64_t ino, off;
        uint16_t len;
        uint8_t type;
        char name[];
};

/* The number that a name of /proc/self/fd stands for, or -1. */
static int number_of(const char *name)
{
        unsigned nr = 0;

        if (*name == 0)
                return -1;
        for (; *name; name++) {
                if (*name < '0' || *name > '9' || nr > NUMBERS_MAX * 64)
                        return -1;
                nr = nr * 10 + (unsigned)(*name - '0');
        }
        return (int)nr;
}

/* One pass over what /proc names; how many were closed, or -errno. */
static int close_named(unsigned first, unsigned last)
{
        char entries[1024] __attribute__((aligned(8)));
        int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), closed = 0, r = 0;
        long n;

        if (dir < 0)
                return -errno;
        while ((n = syscall(SYS_getdents64, dir, entries, sizeof(entries))) > 0) {
                for (long at = 0; at < n;) {
                        const struct entry *e = (const void *)(entries + at);
                        int nr = number_of(e->name);

                        at += e->len;
                        if (nr >= 0 && nr != dir && (unsigned)nr >= first && (unsigned)nr <= last &&
                            close(nr) == 0)
                                closed++;
                }
        }
        if (n < 0)
                r = -errno;
        close(dir);
        return r < 0 ? r : closed;
}

static void close_numbers(unsigned first, unsigned last)
{
        struct rlimit limit;
        unsigned end = NUMBERS_MIN;

        if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max > end)
                end = limit.rlim_max < NUMBERS_MAX ? (unsigned)limit.rlim_max : NUMBERS_MAX;
        for (unsigned nr = first; nr < end && nr <= last; nr++)
                close((int)nr);
}

int sys_close_range(unsigned first, unsigned last, unsigned flags)
{
        int r = (int)sys_result(syscall(SYS_NR_CLOSE_RANGE, first, last, flags)), passes = 0;

        if ((r != -ENOSYS && r != -EPERM) || flags != 0)
                return r;
        /*
         * The directory may skip entries while others are removed: repeat until a pass finds nothing to
         * close.
         */
        do
                r = close_named(first, last);
        while (r > 0 && ++passes < PASSES_MAX);
        if (r != 0)
                close_numbers(first, last);
        return 0;
}
