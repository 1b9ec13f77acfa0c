/* SPDX-License-Identifier: Apache-2.0 */
/* Writable layers in unnamed files on loop devices. */
#include "sys/loopdev.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "sys/child.h"
#include "sys/fd.h"
#include "sys/mounts.h"
#include "sys/syscalls.h"

#define MKE2FS "/sbin/mke2fs"
#define FORMAT_MS 30000

bool sys_layer_image_can(void)
{
        return access(MKE2FS, X_OK) == 0 && access("/dev/loop-control", R_OK | W_OK) == 0;
}

/* Small file systems need room for their own tables; the limit is for what users write. */
static uint64_t with_tables(uint64_t bytes, uint64_t inodes)
{
        return bytes + (inodes ? inodes * 256 : bytes / 64) + bytes / 64 + (256u << 10);
}

/* Bounded: a disk that does not answer must not stop us for ever. */
static int await_format(pid_t pid)
{
        int status, r = sys_child_await(pid, FORMAT_MS, &status);

        if (r == 0) {
                kill(pid, SIGKILL);
                if (waitpid(pid, &status, 0) < 0)
                        return -errno;
        }
        if (r < 0)
                return r;
        return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

static int format(int file, uint64_t inodes)
{
        char path[32], count[24];
        char *const argv[] = { "mke2fs",
                               "-q",
                               "-F",
                               "-t",
                               "ext4",
                               "-m",
                               "0",
                               "-b",
                               "4096",
                               "-O",
                               "^has_journal,^resize_inode",
                               "-E",
                               "nodiscard,lazy_itable_init=1",
                               path,
                               NULL,
                               NULL,
                               NULL };
        char *with_inodes[CAY_COUNT(argv)];
        char *const env[] = { "PATH=/sbin:/usr/sbin:/bin:/usr/bin", NULL };
        pid_t pid;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
        snprintf(count, sizeof(count), "%llu", (unsigned long long)inodes);
        memcpy(with_inodes, argv, sizeof(argv));
        if (inodes) { /* else as many as mke2fs finds right */
                with_inodes[13] = "-N";
                with_inodes[14] = count;
                with_inodes[15] = path;
        }
        pid = vfork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                int null = open("/dev/null", O_RDWR);

                if (fcntl(file, F_SETFD, 0) < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
                    dup2(null, 2) < 0)
                        _exit(126);
                execve(MKE2FS, with_inodes, env);
                _exit(127);
        }
        return await_format(pid);
}

/* LOOP_CONFIGURE came with Linux 5.8; before, it takes two calls. */
static int configure(int dev, int file)
{
        struct loop_config config = { .fd = (uint32_t)file, .info.lo_flags = LO_FLAGS_AUTOCLEAR };

        if (ioctl(dev, LOOP_CONFIGURE, &config) == 0)
                return 0;
        if (errno != EINVAL && errno != ENOTTY)
                return -errno;
        if (ioctl(dev, LOOP_SET_FD, file) < 0)
                return -errno;
        if (ioctl(dev, LOOP_SET_STATUS64, &config.info) < 0) {
                int r = -errno;

                ioctl(dev, LOOP_CLR_FD, 0);
                return r;
        }
        return 0;
}

/* Another process may take the free device between asking and configuring: ask again. */
static int attach(int file, char *ret_path, size_t size)
{
        cay_auto_close int control = sys_open_at(AT_FDCWD, "/dev/loop-control", O_RDWR, 0);

        if (control < 0)
                return control;
        for (int tries = 0; tries < 64; tries++) {
                cay_auto_close int dev = -1;
                int nr = ioctl(control, LOOP_CTL_GET_FREE), r;

                if (nr < 0)
                        return -errno;
                snprintf(ret_path, size, "/dev/loop%d", nr);
                dev = sys_open_at(AT_FDCWD, ret_path, O_RDWR, 0);
                if (dev < 0)
                        return dev;
                r = configure(dev, file);
                if (r == 0)
                        return cay_take_fd(dev);
                if (r != -EBUSY)
                        return r;
        }
        return -EBUSY;
}

/* The formatted file on its device: it lives while the descriptor is open, or a mount of it is there. */
static int make(const char *dir, uint64_t bytes, uint64_t inodes, char *ret_path, size_t size)
{
        cay_auto_close int file = sys_open_at(AT_FDCWD, dir, O_TMPFILE | O_RDWR, 0600);
        int r;

        if (file < 0)
                return file;
        if (ftruncate(file, (off_t)(with_tables(bytes, inodes) & ~4095ull)) < 0)
                return -errno;
        r = format(file, inodes);
        return r < 0 ? r : attach(file, ret_path, size);
}

int sys_layer_image_mount(const char *dir, uint64_t bytes, uint64_t inodes, unsigned attr)
{
        char source[48] = "source=";
        const char *options[] = { source, NULL };
        cay_auto_close int dev = make(dir, bytes, inodes, source + 7, sizeof(source) - 7);

        return dev < 0 ? dev : sys_mount_new("ext4", options, attr);
}

int sys_layer_image_place(const char *dir, uint64_t bytes, uint64_t inodes, unsigned attr, int dirfd,
                          const char *path)
{
        char source[48] = "source=";
        const char *options[] = { source, NULL };
        cay_auto_close int dev = make(dir, bytes, inodes, source + 7, sizeof(source) - 7);

        return dev < 0 ? dev : sys_mount_place_new("ext4", options, attr, dirfd, path);
}
