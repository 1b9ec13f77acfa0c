/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of mounts and namespaces (security.md 2.2). */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A namespace that was made and entered is a break; ENOSPC is the lowered user.max_*_namespaces
 * (a copy of a mount tree counts as a mount namespace). */
static int made(const char *what, long r)
{
        if (r < 0 && errno == ENOSPC)
                return held("%s: %s", what, strerror(errno));
        return probe_refused(what, r);
}

static int mount_tmpfs(char **argv)
{
        return probe_refused("mount of a tmpfs", mount("x", "/tmp", "tmpfs", 0, NULL));
}

static int mount_bind(char **argv)
{
        return probe_refused("bind mount", mount("/usr", "/tmp", NULL, MS_BIND, NULL));
}

static int mount_proc(char **argv)
{
        return probe_refused("mount of a fresh /proc", mount("proc", "/tmp", "proc", 0, NULL));
}

static int mount_remount(char **argv)
{
        int r = mount(NULL, "/dev/shm", NULL, MS_REMOUNT | MS_BIND, NULL);

        return probe_refused("remount without nosuid and nodev", r);
}

static int mount_umount(char **argv)
{
        return probe_refused("unmounting a mask of /proc", umount2("/proc/sys", MNT_DETACH));
}

/* The root of CVE-2022-0492: a cgroup hierarchy to write release_agent in. */
static int mount_cgroup(char **argv)
{
        int r = mount("cgroup", "/tmp", "cgroup", 0, "memory");

        if (r < 0)
                r = mount("cgroup2", "/tmp", "cgroup2", 0, NULL);
        return probe_refused("mount of a cgroup hierarchy", r);
}

static int mount_new_api(char **argv)
{
        int fs = (int)syscall(SYS_fsopen, "tmpfs", 1);

        if (fs >= 0)
                return broke("fsopen worked");
        return probe_refused("fsopen", fs);
}

static int mount_tree(char **argv)
{
        return made("open_tree of a copy",
                    syscall(SYS_open_tree, AT_FDCWD, "/usr", 1 /* clone */ | O_CLOEXEC));
}

static int mount_move(char **argv)
{
        int fd = open("/tmp", O_PATH | O_DIRECTORY);

        /* Not ours to move even where the call is let through: EINVAL is the kernel looking at it. */
        return probe_refused("move_mount",
                             syscall(SYS_move_mount, fd, "", AT_FDCWD, "/dev/shm", 4 /* from empty path */));
}

static int mount_setattr_call(char **argv)
{
        struct {
                uint64_t set, clear, propagation, userns;
        } attr = { .clear = 1 /* read-only */ };

        return probe_refused("mount_setattr",
                             syscall(SYS_mount_setattr, AT_FDCWD, "/dev/shm", 0, &attr, sizeof(attr)));
}

static int pivot(char **argv)
{
        return probe_refused("pivot_root", syscall(SYS_pivot_root, "/dev/shm", "/dev/shm"));
}

static int chroot_call(char **argv)
{
        return probe_refused("chroot", chroot("/usr"));
}

static int unshare_user(char **argv)
{
        return made("unshare of a user namespace", syscall(SYS_unshare, CLONE_NEWUSER));
}

static int unshare_mount(char **argv)
{
        return made("unshare of a mount namespace", syscall(SYS_unshare, CLONE_NEWNS));
}

static int unshare_net(char **argv)
{
        return made("unshare of a network namespace", syscall(SYS_unshare, CLONE_NEWNET));
}

static int unshare_pid(char **argv)
{
        return made("unshare of a pid namespace", syscall(SYS_unshare, CLONE_NEWPID));
}

static int unshare_uts(char **argv)
{
        return made("unshare of a host name namespace", syscall(SYS_unshare, CLONE_NEWUTS));
}

static int clone_user(char **argv)
{
        long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

        if (pid == 0)
                _exit(0);
        if (pid > 0)
                waitpid((pid_t)pid, NULL, 0);
        return made("clone into a user namespace", pid);
}

static int clone3_user(char **argv)
{
        struct {
                uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
        } args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
        long pid = syscall(SYS_clone3, &args, sizeof(args));

        if (pid == 0)
                _exit(0);
        if (pid > 0)
                waitpid((pid_t)pid, NULL, 0);
        return made("clone3 into a user namespace", pid);
}

static int setns_init(char **argv)
{
        static const char *const names[] = { "mnt", "net", "pid", "ipc", "uts", "user", "cgroup", "time" };
        char path[64];

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                int fd;

                snprintf(path, sizeof(path), "/proc/1/ns/%s", names[i]);
                fd = open(path, O_RDONLY);
                if (fd >= 0)
                        return broke("opened %s", path);
        }
        return held("the namespaces of init: %s", strerror(errno));
}

static int setns_self(char **argv)
{
        int fd = open("/proc/self/ns/uts", O_RDONLY);

        return probe_refused("setns", syscall(SYS_setns, fd, CLONE_NEWUTS));
}

const struct probe probes_namespace[] = {
        { "mount_tmpfs", mount_tmpfs },
        { "mount_bind", mount_bind },
        { "mount_proc", mount_proc },
        { "mount_remount", mount_remount },
        { "mount_umount", mount_umount },
        { "mount_cgroup", mount_cgroup },
        { "mount_new_api", mount_new_api },
        { "mount_tree", mount_tree },
        { "mount_move", mount_move },
        { "mount_setattr", mount_setattr_call },
        { "pivot_root", pivot },
        { "chroot", chroot_call },
        { "unshare_user", unshare_user },
        { "unshare_mount", unshare_mount },
        { "unshare_net", unshare_net },
        { "unshare_pid", unshare_pid },
        { "unshare_uts", unshare_uts },
        { "clone_user", clone_user },
        { "clone3_user", clone3_user },
        { "setns_init", setns_init },
        { "setns_self", setns_self },
        { NULL, NULL },
};
