/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts by descriptor: the mount API, and the choice between it and the old way (mounts_old.h). */
#include "foundation/sys/mounts.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/mounts_old.h"

/* Values of the kernel's enum fsconfig_command; glibc and linux/mount.h disagree about who declares it. */
enum { CONFIG_FLAG = 0, CONFIG_STRING = 1, CONFIG_CREATE = 6 };
enum { CLOEXEC_FS = 1, CLOEXEC_MOUNT = 1, MOVE_FROM_EMPTY = 4, MOVE_TO_EMPTY = 0x40, TREE_CLONE = 1 };

/*
 * Tries each call with arguments that it refuses. A seccomp filter that does not know open_tree may return
 * EPERM, which the kernel itself never returns there.
 */
static bool probe_api(void)
{
        int r = sys_open_tree(-1, "", 0);

        return r != -ENOSYS && r != -EPERM && sys_fsopen(NULL, ~0u) != -ENOSYS &&
               sys_fsconfig(-1, ~0u, NULL, NULL, 0) != -ENOSYS && sys_fsmount(-1, ~0u, 0) != -ENOSYS &&
               sys_move_mount(-1, "", -1, "", ~0u) != -ENOSYS;
}

bool sys_mount_has_api(void)
{
        enum { UNKNOWN, YES, NO };
        static int known; /* every caller computes the same value: no lock needed */
        int now = __atomic_load_n(&known, __ATOMIC_RELAXED);

        if (now == UNKNOWN) {
                now = probe_api() ? YES : NO;
                __atomic_store_n(&known, now, __ATOMIC_RELAXED);
        }
        return now == YES;
}

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

static int copy(int dirfd, const char *path, unsigned deep, const struct sys_mount_attr *set)
{
        cay_auto_close int fd = sys_open_tree(dirfd, path, TREE_CLONE | O_CLOEXEC | AT_EMPTY_PATH | deep);
        int r;

        if (fd < 0)
                return fd;
        r = set->attr_set ? sys_mount_setattr(fd, "", AT_EMPTY_PATH | deep, set) : 0;
        return r < 0 ? r : cay_take_fd(fd);
}

int sys_mount_copy(int dirfd, const char *path, uint64_t attr)
{
        struct sys_mount_attr set = { .attr_set = attr };

        return copy(dirfd, path, 0, &set);
}

int sys_mount_copy_idmapped(int dirfd, const char *path, uint64_t attr, int userns_fd, int *ret_plain)
{
        struct sys_mount_attr set = { .attr_set = attr | SYS_MOUNT_IDMAP, .userns_fd = (uint64_t)userns_fd };
        int fd = copy(dirfd, path, 0, &set);

        if (fd == -EINVAL || fd == -EPERM) {
                fd = sys_mount_copy(dirfd, path, attr);
                if (fd >= 0)
                        *ret_plain = 1;
        }
        return fd;
}

int sys_mount_attach(int mount_fd, int dirfd, const char *path)
{
        return sys_move_mount(mount_fd, "", dirfd, path, MOVE_FROM_EMPTY | (*path ? 0 : MOVE_TO_EMPTY));
}

/* Consumes the detached mount. */
static int place_take(int mount_fd, int dirfd, const char *path)
{
        cay_auto_close int fd = mount_fd;
        int r = fd < 0 ? fd : sys_mount_attach(fd, dirfd, path);

        return r < 0 ? r : cay_take_fd(fd);
}

int sys_mount_place_new(const char *type, const char *const *options, unsigned attr, int dirfd,
                        const char *path)
{
        int fd = sys_mount_has_api() ? place_take(sys_mount_new(type, options, attr), dirfd, path) : -ENOSYS;

        return fd == -ENOSYS ? sys_mount_old_new(type, options, attr, dirfd, path) : fd;
}

int sys_mount_place_copy(int from_fd, const char *from, bool deep, uint64_t attr, int dirfd, const char *path)
{
        struct sys_mount_attr set = { .attr_set = attr };
        int fd = -ENOSYS;

        if (sys_mount_has_api())
                fd = place_take(copy(from_fd, from, deep ? AT_RECURSIVE : 0, &set), dirfd, path);
        return fd == -ENOSYS ? sys_mount_old_copy(from_fd, from, deep, attr, dirfd, path) : fd;
}

int sys_mount_change(int dirfd, const char *path, uint64_t set)
{
        struct sys_mount_attr attr = { .attr_set = set };
        int r = sys_mount_setattr(dirfd, path, *path ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH, &attr);

        return r == -ENOSYS ? sys_mount_old_change(dirfd, path, set) : r;
}
