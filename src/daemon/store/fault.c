/* SPDX-License-Identifier: Apache-2.0 */
/* In test builds, all of SQLite's write calls are replaced by those below. */

#include "daemon/store/fault.h"

#ifdef CAY_TEST_HOOKS

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic int fault;
static _Atomic unsigned long fault_at, writes;

/*
 * How many of len bytes may be written now; -1: none, see errno. *ret_die: the process is killed afterwards.
 */
static ssize_t judge(size_t len, int *ret_die)
{
        unsigned long nr = atomic_fetch_add(&writes, 1) + 1, at = atomic_load(&fault_at);

        *ret_die = 0;
        switch (atomic_load(&fault)) {
        case CAY_FAULT_FULL:
                errno = ENOSPC;
                return nr >= at ? -1 : (ssize_t)len;
        case CAY_FAULT_IO:
                errno = EIO;
                return nr == at ? -1 : (ssize_t)len;
        case CAY_FAULT_KILL:
                if (nr == at)
                        raise(SIGKILL);
                break;
        case CAY_FAULT_KILL_TORN:
                *ret_die = nr == at;
                return nr == at ? (ssize_t)(len / 2) : (ssize_t)len;
        case CAY_FAULT_KILL_AFTER:
                *ret_die = nr == at;
                break;
        }
        return (ssize_t)len;
}

static ssize_t fault_pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
        int die;
        ssize_t n = judge(len, &die);

        if (n >= 0)
                n = pwrite(fd, bytes, (size_t)n, offset);
        if (die)
                raise(SIGKILL);
        return n;
}

static ssize_t fault_write(int fd, const void *bytes, size_t len)
{
        int die;
        ssize_t n = judge(len, &die);

        if (n >= 0)
                n = write(fd, bytes, (size_t)n);
        if (die)
                raise(SIGKILL);
        return n;
}

static int fault_ftruncate(int fd, off_t size)
{
        int die;

        if (judge(0, &die) < 0)
                return -1;
        if (die)
                raise(SIGKILL);
        return ftruncate(fd, size);
}

void cay_store_fault_set(enum cay_fault how, unsigned long at)
{
        sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

        vfs->xSetSystemCall(vfs, "write", (sqlite3_syscall_ptr)fault_write);
        vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)fault_pwrite);
        vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)fault_pwrite);
        vfs->xSetSystemCall(vfs, "ftruncate", (sqlite3_syscall_ptr)fault_ftruncate);
        atomic_store(&fault_at, at);
        atomic_store(&writes, 0);
        atomic_store(&fault, how);
}

#endif
