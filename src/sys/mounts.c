/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts by descriptor. */
#include "sys/mounts.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>

#include "base/cleanup.h"

/* Values of the kernel's enum fsconfig_command; glibc and linux/mount.h disagree about who declares it. */
enum { CONFIG_FLAG = 0, CONFIG_STRING = 1, CONFIG_CREATE = 6 };
enum { CLOEXEC_FS = 1, CLOEXEC_MOUNT = 1, MOVE_FROM_EMPTY = 4, MOVE_TO_EMPTY = 0x40 };

static int configure(int fs, const char *option)
{
        char key[64];
        size_t len = strcspn(option, "=");

        if (option[len] == 0)
                return sys_fsconfig(fs, CONFIG_FLAG, option, NULL, 0);
        if (len >= sizeof(key))
                return -ENAMETOOLONG;
        memcpy(key, option, len);
        key[len] = 0;
        return sys_fsconfig(fs, CONFIG_STRING, key, option + len + 1, 0);
}

int sys_mount_new(const char *type, const char *const *options, unsigned attr)
{
        cay_auto_close int fs = sys_fsopen(type, CLOEXEC_FS);
        int r;

        if (fs < 0)
                return fs;
        for (; options && *options; options++) {
                r = configure(fs, *options);
                if (r < 0)
                        return r;
        }
        r = sys_fsconfig(fs, CONFIG_CREATE, NULL, NULL, 0);
        return r < 0 ? r : sys_fsmount(fs, CLOEXEC_MOUNT, attr);
}

int sys_mount_copy(int dirfd, const char *path, uint64_t attr)
{
        struct sys_mount_attr set = { .attr_set = attr };
        cay_auto_close int fd =
                sys_open_tree(dirfd, path, 1 /* OPEN_TREE_CLONE */ | O_CLOEXEC | AT_EMPTY_PATH);
        int r;

        if (fd < 0)
                return fd;
        r = attr ? sys_mount_setattr(fd, "", AT_EMPTY_PATH, &set) : 0;
        return r < 0 ? r : cay_take_fd(fd);
}

int sys_mount_copy_idmapped(int dirfd, const char *path, uint64_t attr, int userns_fd, int *ret_plain)
{
        struct sys_mount_attr set = { .attr_set = attr | SYS_MOUNT_IDMAP, .userns_fd = (uint64_t)userns_fd };
        cay_auto_close int fd =
                sys_open_tree(dirfd, path, 1 /* OPEN_TREE_CLONE */ | O_CLOEXEC | AT_EMPTY_PATH);
        int r;

        if (fd < 0)
                return fd;
        r = sys_mount_setattr(fd, "", AT_EMPTY_PATH, &set);
        if (r == -EINVAL || r == -EPERM) {
                *ret_plain = 1;
                return sys_mount_copy(dirfd, path, attr);
        }
        return r < 0 ? r : cay_take_fd(fd);
}

int sys_mount_attach(int mount_fd, int dirfd, const char *path)
{
        return sys_move_mount(mount_fd, "", dirfd, path, MOVE_FROM_EMPTY | (*path ? 0 : MOVE_TO_EMPTY));
}

int sys_mount_change(int dirfd, const char *path, uint64_t set)
{
        struct sys_mount_attr attr = { .attr_set = set };

        return sys_mount_setattr(dirfd, path, *path ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH, &attr);
}
