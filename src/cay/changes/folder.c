/* SPDX-License-Identifier: Apache-2.0 */
/* Paths below the host's folder. */
#include "cay/changes/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"

enum { TRIES = 16 };

int cay_folder_init_take(struct cay_folder *f, int fd)
{
        struct stat st;
        int r;

        *f = (struct cay_folder){ .fd = fd, .dir_fd = -1 };
        r = fstat(fd, &st) < 0 ? -errno : S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
        if (r < 0)
                cay_folder_done(f);
        else
                f->dev = st.st_dev;
        return r;
}

void cay_folder_done(struct cay_folder *f)
{
        cay_folder_forget(f);
        if (f->fd >= 0)
                close(cay_take_fd(f->fd));
}

void cay_folder_forget(struct cay_folder *f)
{
        if (f->dir_fd >= 0)
                close(cay_take_fd(f->dir_fd));
        f->is_top = false;
        f->dir[0] = '\0';
}

/* Before openat2 (Linux 5.6), mounts can only be told apart by their device. */
static int open_walking(const struct cay_folder *f, const char *path, int flags)
{
        cay_auto_close int fd = sys_open_beneath(f->fd, path, flags, 0);
        struct stat st;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        return st.st_dev == f->dev ? cay_take_fd(fd) : -EXDEV;
}

static int open_inside(const struct cay_folder *f, const char *path, int flags)
{
        struct sys_open_how how = {
                .flags = (uint64_t)(flags | O_CLOEXEC),
                .resolve = SYS_RESOLVE_BENEATH | SYS_RESOLVE_NO_SYMLINKS | SYS_RESOLVE_NO_MAGICLINKS |
                           SYS_RESOLVE_NO_XDEV,
        };
        int fd = -EAGAIN;

        /* EAGAIN: directories are being renamed right now, so the kernel cannot be sure. */
        for (unsigned i = 0; i < TRIES && (fd == -EAGAIN || fd == -EINTR); i++)
                fd = sys_openat2(f->fd, path, &how);
        return fd == -ENOSYS || fd == -EPERM ? open_walking(f, path, flags) : fd;
}

int cay_folder_parent(struct cay_folder *f, const char *path, const char **ret_name)
{
        const char *slash = strrchr(path, '/');
        size_t len = slash != NULL ? (size_t)(slash - path) : 0;
        int fd;

        *ret_name = slash != NULL ? slash + 1 : path;
        if (f->dir_fd >= 0 && strncmp(f->dir, path, len) == 0 && f->dir[len] == '\0' &&
            (len > 0 || f->is_top))
                return f->dir_fd;
        cay_folder_forget(f);
        if (len > CAY_CHANGE_PATH_MAX)
                return -ENAMETOOLONG;
        memcpy(f->dir, path, len);
        f->dir[len] = '\0';
        fd = open_inside(f, len > 0 ? f->dir : ".", O_PATH | O_DIRECTORY);
        if (fd < 0) {
                f->dir[0] = '\0';
                return fd;
        }
        f->is_top = len == 0;
        f->dir_fd = fd;
        return fd;
}

int cay_folder_stat(struct cay_folder *f, const char *path, struct stat *ret)
{
        const char *name;
        int dir = cay_folder_parent(f, path, &name);

        if (dir < 0)
                return dir;
        return fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

int cay_folder_open_file(struct cay_folder *f, const char *path, struct stat *ret)
{
        cay_auto_close int place = open_inside(f, path, O_PATH | O_NOFOLLOW);
        char link[32];
        int fd;

        if (place < 0)
                return place;
        if (fstat(place, ret) < 0)
                return -errno;
        if (!S_ISREG(ret->st_mode))
                return -EINVAL;
        /* The descriptor is a regular file and stays so, whatever has its name by now. */
        snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
        fd = open(link, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

int cay_folder_open_dir(struct cay_folder *f, const char *path)
{
        return open_inside(f, path, O_RDONLY | O_DIRECTORY);
}

ssize_t cay_folder_readlink(struct cay_folder *f, const char *path, char ret[CAY_CHANGE_PATH_MAX + 1])
{
        const char *name;
        int dir = cay_folder_parent(f, path, &name);
        ssize_t n;

        if (dir < 0)
                return dir;
        n = readlinkat(dir, name, ret, CAY_CHANGE_PATH_MAX + 1);
        if (n < 0)
                return -errno;
        if (n > (ssize_t)CAY_CHANGE_PATH_MAX)
                return -ENAMETOOLONG;
        ret[n] = '\0';
        return n;
}
