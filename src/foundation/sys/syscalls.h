/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that libc does not have (or has too young): one wrapper each, returning the result or -errno.
 * Numbers newer than the build machine's headers are given here; from 424 on they are the same on every
 * architecture.
 *
 * Where an older kernel lacks a call, there is a fallback: clone3 and close_range fall back in here; openat2
 * in fd.h, fchmodat2 too; the mount calls in mounts.h; pidfds in child.h. A seccomp filter of an old
 * container runtime may return EPERM for calls it does not know. Where the kernel itself would hardly return
 * EPERM, it is treated as ENOSYS.
 */
#pragma once

#include <errno.h>
#include <linux/sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "foundation/base/banned.h"

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
/* linux/mount.h and glibc's sys/mount.h cannot be included together: the few values we use are here. */
#define SYS_MOUNT_RDONLY 0x00000001u
#define SYS_MOUNT_NOSUID 0x00000002u
#define SYS_MOUNT_NODEV 0x00000004u
#define SYS_MOUNT_NOEXEC 0x00000008u
#define SYS_MOUNT_IDMAP 0x00100000u

#define SYS_NR_PIDFD_SEND_SIGNAL 424
#define SYS_NR_OPEN_TREE 428
#define SYS_NR_MOVE_MOUNT 429
#define SYS_NR_FSOPEN 430
#define SYS_NR_FSCONFIG 431
#define SYS_NR_FSMOUNT 432
#define SYS_NR_PIDFD_OPEN 434
#define SYS_NR_CLONE3 435
#define SYS_NR_CLOSE_RANGE 436
#define SYS_NR_OPENAT2 437
#define SYS_NR_MOUNT_SETATTR 442
#define SYS_NR_FCHMODAT2 452

/* As struct mount_attr and struct open_how of the kernel; libc headers disagree about who defines them. */
struct sys_mount_attr {
        uint64_t attr_set, attr_clr, propagation, userns_fd;
};

struct sys_open_how {
        uint64_t flags, mode, resolve;
};

#define SYS_RESOLVE_NO_XDEV 0x01
#define SYS_RESOLVE_NO_MAGICLINKS 0x02
#define SYS_RESOLVE_NO_SYMLINKS 0x04
#define SYS_RESOLVE_BENEATH 0x08
#define SYS_RESOLVE_IN_ROOT 0x10

static inline long sys_result(long r)
{
        return r < 0 ? -errno : r;
}

static inline int sys_open_tree(int dirfd, const char *path, unsigned flags)
{
        return (int)sys_result(syscall(SYS_NR_OPEN_TREE, dirfd, path, flags));
}

static inline int sys_move_mount(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
        return (int)sys_result(syscall(SYS_NR_MOVE_MOUNT, from_fd, from, to_fd, to, flags));
}

static inline int sys_fsopen(const char *type, unsigned flags)
{
        return (int)sys_result(syscall(SYS_NR_FSOPEN, type, flags));
}

static inline int sys_fsconfig(int fd, unsigned cmd, const char *key, const void *value, int aux)
{
        return (int)sys_result(syscall(SYS_NR_FSCONFIG, fd, cmd, key, value, aux));
}

static inline int sys_fsmount(int fd, unsigned flags, unsigned attr)
{
        return (int)sys_result(syscall(SYS_NR_FSMOUNT, fd, flags, attr));
}

static inline int sys_mount_setattr(int dirfd, const char *path, unsigned flags,
                                    const struct sys_mount_attr *attr)
{
        return (int)sys_result(syscall(SYS_NR_MOUNT_SETATTR, dirfd, path, flags, attr, sizeof(*attr)));
}

static inline int sys_openat2(int dirfd, const char *path, const struct sys_open_how *how)
{
        return (int)sys_result(syscall(SYS_NR_OPENAT2, dirfd, path, how, sizeof(*how)));
}

static inline int sys_pidfd_open(pid_t pid, unsigned flags)
{
        return (int)sys_result(syscall(SYS_NR_PIDFD_OPEN, pid, flags));
}

static inline int sys_pidfd_send_signal(int pidfd, int signo)
{
        return (int)sys_result(syscall(SYS_NR_PIDFD_SEND_SIGNAL, pidfd, signo, NULL, 0));
}

/*
 * Like fork, with namespaces and the like. Do not use it with a stack or thread pointers. Before Linux 5.3 it
 * is clone(2). -EOPNOTSUPP where the kernel lacks one of the flags: the caller omits it or emulates it
 * (CLONE_INTO_CGROUP: the child joins first).
 */
static inline pid_t sys_clone3(struct clone_args *args)
{
        const uint64_t only_clone3 = ~0xffffffffULL | CLONE_NEWTIME; /* clone's low byte is the exit signal */
        pid_t pid = (pid_t)sys_result(syscall(SYS_NR_CLONE3, args, sizeof(*args)));

        if (pid != -ENOSYS && pid != -EPERM && !(pid == -E2BIG && args->flags & CLONE_INTO_CGROUP))
                return pid;
        if (args->flags & only_clone3)
                return -EOPNOTSUPP;
        /*
         * The rest of the arguments is zero, so it does not matter that architectures order them differently.
         */
        return (pid_t)sys_result(syscall(SYS_clone, (unsigned long)(args->flags | args->exit_signal), 0UL,
                                         (unsigned long)args->pidfd, 0UL, 0UL));
}

/*
 * Closes descriptors first to last. Before Linux 5.9, and for flags = 0 only, it closes them one by one:
 * those in /proc/self/fd, else all numbers up to a bound (then 0 means that none of those is open). Uses no
 * heap, no locks and only its own stack: safe in children between fork or vfork and exec.
 */
int sys_close_range(unsigned first, unsigned last, unsigned flags);

static inline int sys_execveat(int fd, const char *path, char *const argv[], char *const env[], int flags)
{
        return (int)sys_result(syscall(SYS_execveat, fd, path, argv, env, flags));
}

static inline int sys_pivot_root(const char *new_root, const char *put_old)
{
        return (int)sys_result(syscall(SYS_pivot_root, new_root, put_old));
}

/* The raw calls affect only the calling task; libc's setresuid would synchronise all threads. */
static inline int sys_setresuid(uid_t r, uid_t e, uid_t s)
{
        return (int)sys_result(syscall(SYS_setresuid, r, e, s));
}

static inline int sys_setresgid(gid_t r, gid_t e, gid_t s)
{
        return (int)sys_result(syscall(SYS_setresgid, r, e, s));
}

static inline int sys_setgroups(size_t count, const gid_t *groups)
{
        return (int)sys_result(syscall(SYS_setgroups, count, groups));
}
