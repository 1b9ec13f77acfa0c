/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes aimed at process 1 of the box: it has another uid, can't be traced or read, and carries nothing
 * (security.md 2.2).
 */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * What a file of /proc/1 may say to us: nothing. An open that succeeds and then reads nothing is as good as
 * refused.
 */
static int unreadable(const char *path)
{
        char buf[64];
        int fd = open(path, O_RDONLY);
        ssize_t n;

        if (fd < 0)
                return held("%s: %s", path, strerror(errno));
        n = read(fd, buf, sizeof(buf));
        close(fd);
        if (n > 0)
                return broke("read %zd bytes of %s", n, path);
        return held("%s: empty", path);
}

static int init_environ(char **argv)
{
        return unreadable("/proc/1/environ");
}

static int init_maps(char **argv)
{
        return unreadable("/proc/1/maps");
}

static int init_auxv(char **argv)
{
        return unreadable("/proc/1/auxv");
}

static int init_mem(char **argv)
{
        int fd = open("/proc/1/mem", O_RDWR);

        if (fd < 0)
                fd = open("/proc/1/mem", O_RDONLY);
        if (fd >= 0)
                return broke("opened /proc/1/mem");
        return held("/proc/1/mem: %s", strerror(errno));
}

static int init_ptrace(char **argv)
{
        if (ptrace(PTRACE_SEIZE, 1, NULL, NULL) == 0) {
                ptrace(PTRACE_DETACH, 1, NULL, NULL);
                return broke("traced process 1");
        }
        return held("ptrace of process 1: %s", strerror(errno));
}

static int init_process_vm(char **argv)
{
        char buf[8];
        struct iovec local = { buf, sizeof(buf) };
        struct iovec remote = { (void *)0x400000, sizeof(buf) };
        long r = syscall(SYS_process_vm_readv, 1, &local, 1UL, &remote, 1UL, 0UL);

        if (r < 0 && errno != EFAULT)
                return held("process_vm_readv of process 1: %s", strerror(errno));
        return broke("process_vm_readv got to process 1");
}

static int init_fds(char **argv)
{
        char path[300], target[256];
        DIR *dir = opendir("/proc/1/fd");
        struct dirent *e;

        if (!dir)
                return held("/proc/1/fd: %s", strerror(errno));
        while ((e = readdir(dir))) {
                ssize_t n;

                snprintf(path, sizeof(path), "/proc/1/fd/%s", e->d_name);
                n = readlink(path, target, sizeof(target) - 1);
                if (n > 0) {
                        target[n] = '\0';
                        return broke("descriptor %s of process 1 is %s", e->d_name, target);
                }
        }
        closedir(dir);
        return held("/proc/1/fd: nothing to be read in it");
}

/* Not what they are, but how many there are and which: the folder belongs to root of the box. */
static int init_fd_list(char **argv)
{
        static const char *const dirs[] = { "/proc/1/fd", "/proc/1/fdinfo", "/proc/1/task/1/fd",
                                            "/proc/1/task/1/fdinfo" };

        for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
                DIR *dir = opendir(dirs[i]);
                struct dirent *e;

                while (dir && (e = readdir(dir)))
                        if (e->d_name[0] != '.')
                                return broke("process 1 has descriptor %s, says %s", e->d_name, dirs[i]);
                if (dir)
                        closedir(dir);
        }
        return held("descriptors of process 1: none to be seen");
}

static int init_getfd(char **argv)
{
        int fd = (int)syscall(SYS_pidfd_open, 1, 0);

        if (fd < 0)
                return held("pidfd_open of process 1: %s", strerror(errno));
        for (int i = 0; i < 64; i++)
                if (syscall(SYS_pidfd_getfd, fd, i, 0) >= 0)
                        return broke("took descriptor %d of process 1", i);
        return held("pidfd_getfd of process 1: %s", strerror(errno));
}

/* CVE-2019-5736: the runtime's own program, written through the link that the kernel keeps to it. */
static int init_exe(char **argv)
{
        char target[256];
        ssize_t n = readlink("/proc/1/exe", target, sizeof(target) - 1);
        int fd = open("/proc/1/exe", O_WRONLY);

        if (fd >= 0)
                return broke("/proc/1/exe is open for writing");
        if (n > 0) {
                target[n] = '\0';
                return broke("/proc/1/exe is %s", target);
        }
        return held("/proc/1/exe: %s", strerror(errno));
}

static int init_root(char **argv)
{
        int fd = open("/proc/1/root", O_RDONLY | O_DIRECTORY);

        if (fd >= 0)
                return broke("/proc/1/root is open");
        fd = open("/proc/1/cwd", O_RDONLY | O_DIRECTORY);
        if (fd >= 0)
                return broke("/proc/1/cwd is open");
        return held("root and cwd of process 1: %s", strerror(errno));
}

static int init_limits(char **argv)
{
        struct rlimit64 limit = { 1, 1 };

        if (syscall(SYS_prlimit64, 1, RLIMIT_NOFILE, &limit, NULL) == 0)
                return broke("took process 1 its descriptors");
        return held("prlimit of process 1: %s", strerror(errno));
}

static int init_signal(char **argv)
{
        if (kill(1, SIGTERM) == 0)
                return broke("process 1 took a signal");
        return held("kill of process 1: %s", strerror(errno));
}

const struct probe probes_init[] = {
        { "init_environ", init_environ }, { "init_maps", init_maps },
        { "init_auxv", init_auxv },       { "init_mem", init_mem },
        { "init_ptrace", init_ptrace },   { "init_process_vm", init_process_vm },
        { "init_fds", init_fds },         { "init_fd_list", init_fd_list },
        { "init_getfd", init_getfd },     { "init_exe", init_exe },
        { "init_root", init_root },       { "init_limits", init_limits },
        { "init_signal", init_signal },   { NULL, NULL },
};
