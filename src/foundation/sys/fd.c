/* SPDX-License-Identifier: Apache-2.0 */
/* Small files and descriptors. */
#include "foundation/sys/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/sys/syscalls.h"

int sys_open_at(int dirfd, const char *path, int flags, mode_t mode)
{
        int fd;

        do
                fd = openat(dirfd, path, flags | O_CLOEXEC, mode);
        while (fd < 0 && errno == EINTR);
        return fd < 0 ? -errno : fd;
}

/* The kernel would accept ".." where it stays inside. Here it is always refused, on either code path. */
static bool is_inside(const char *path)
{
        if (*path == '/')
                return false;
        for (; *path; path += strspn(path, "/")) {
                size_t len = strcspn(path, "/");

                if (len == 2 && path[0] == '.' && path[1] == '.')
                        return false;
                path += len;
        }
        return true;
}

/* With O_PATH, O_NOFOLLOW alone would open the link itself. */
static int open_last(int dirfd, const char *name, int flags, mode_t mode)
{
        cay_auto_close int fd = sys_open_at(dirfd, name, flags | O_NOFOLLOW, mode);
        struct stat st;

        if (fd == -ENOTDIR && fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
                return -ELOOP; /* O_DIRECTORY checks the type first */
        if (fd >= 0 && flags & O_PATH && !(flags & O_NOFOLLOW) && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode))
                return -ELOOP;
        return cay_take_fd(fd);
}

/* A directory on the way. */
static int open_next(int dirfd, const char *name)
{
        cay_auto_close int fd = sys_open_at(dirfd, name, O_PATH | O_NOFOLLOW, 0);
        struct stat st;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISDIR(st.st_mode))
                return S_ISLNK(st.st_mode) ? -ELOOP : -ENOTDIR;
        return cay_take_fd(fd);
}

/* One component at a time; path is_inside. */
static int walk_beneath(int dirfd, const char *path, int flags, mode_t mode)
{
        cay_auto_close int at = -1;
        char name[256];

        if (*path == 0)
                return -ENOENT;
        for (;;) {
                size_t len = strcspn(path, "/"), slashes = strspn(path + len, "/");
                int fd;

                if (len >= sizeof(name))
                        return -ENAMETOOLONG;
                memcpy(name, path, len);
                name[len] = 0;
                path += len + slashes;
                if (*path == 0) {
                        if (slashes > 0 && flags & O_CREAT)
                                return -EISDIR;
                        return open_last(at < 0 ? dirfd : at, name, flags | (slashes > 0 ? O_DIRECTORY : 0),
                                         mode);
                }
                fd = open_next(at < 0 ? dirfd : at, name);
                if (fd < 0)
                        return fd;
                if (at >= 0)
                        close(at);
                at = fd;
        }
}

int sys_open_beneath(int dirfd, const char *path, int flags, mode_t mode)
{
        struct sys_open_how how = {
                .flags = (uint64_t)(flags | O_CLOEXEC),
                .mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? mode : 0,
                .resolve = SYS_RESOLVE_BENEATH | SYS_RESOLVE_NO_SYMLINKS | SYS_RESOLVE_NO_MAGICLINKS,
        };
        int fd;

        if (!is_inside(path))
                return -EXDEV;
        fd = sys_openat2(dirfd, path, &how);
        return fd == -ENOSYS || fd == -EPERM ? walk_beneath(dirfd, path, flags, mode) : fd;
}

/* Through the entry's descriptor. -ENOENT can mean that there is no /proc, so the entry was opened before. */
static int chmod_by_proc(int dirfd, const char *name, mode_t mode, bool *ret_has_proc)
{
        cay_auto_close int fd = sys_open_at(dirfd, name, O_PATH | O_NOFOLLOW, 0);
        char path[32];
        struct stat st;

        *ret_has_proc = true;
        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (S_ISLNK(st.st_mode))
                return -ELOOP;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (fchmodat(AT_FDCWD, path, mode, 0) == 0)
                return 0;
        *ret_has_proc = errno != ENOENT && errno != ENOTDIR;
        return -errno;
}

int sys_chmod_at(int dirfd, const char *name, mode_t mode)
{
        bool has_proc;
        struct stat st;
        long r = sys_result(syscall(SYS_NR_FCHMODAT2, dirfd, name, mode, AT_SYMLINK_NOFOLLOW));

        if (r == -EOPNOTSUPP && fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
                return -ELOOP;
        if (r != -ENOSYS && r != -EPERM)
                return (int)r;
        r = chmod_by_proc(dirfd, name, mode, &has_proc);
        if (has_proc)
                return (int)r;
        /*
         * It was not a link a moment ago. Replacing it now gains nothing that its owner could not do to the
         * same file directly.
         */
        return fchmodat(dirfd, name, mode, 0) < 0 ? -errno : 0;
}

int sys_write_file(int dirfd, const char *path, const char *text)
{
        cay_auto_close int fd = sys_open_at(dirfd, path, O_WRONLY, 0);

        if (fd < 0)
                return fd;
        return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static ssize_t read_full(int fd, char *mem, size_t len, bool from_start)
{
        size_t got = 0;

        while (got < len) {
                ssize_t n = from_start ? pread(fd, mem + got, len - got, (off_t)got)
                                       : read(fd, mem + got, len - got);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                got += (size_t)n;
        }
        return (ssize_t)got;
}

ssize_t sys_read_all(int fd, void *mem, size_t len)
{
        return read_full(fd, mem, len, false);
}

ssize_t sys_read_fd(int fd, char *buf, size_t size)
{
        ssize_t n = read_full(fd, buf, size - 1, true);

        if (n >= 0)
                buf[n] = 0;
        return n;
}

ssize_t sys_read_file(int dirfd, const char *path, char *buf, size_t size)
{
        cay_auto_close int fd = sys_open_at(dirfd, path, O_RDONLY, 0);

        return fd < 0 ? fd : sys_read_fd(fd, buf, size);
}

int sys_write_all(int fd, const void *bytes, size_t len)
{
        const char *at = bytes;

        while (len > 0) {
                ssize_t n = write(fd, at, len);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                at += n;
                len -= (size_t)n;
        }
        return 0;
}

int sys_make_file(int dirfd, const char *path, mode_t mode, const void *bytes, size_t len)
{
        cay_auto_close int fd = sys_open_at(dirfd, path, O_WRONLY | O_CREAT | O_EXCL, mode);

        return fd < 0 ? fd : sys_write_all(fd, bytes, len);
}

uint64_t sys_keyed_u64(const char *text, const char *key)
{
        size_t len = strlen(key);

        for (const char *line = text; line && *line; line = strchr(line, '\n')) {
                if (*line == '\n')
                        line++;
                if (strncmp(line, key, len) == 0 && line[len] == ' ')
                        return strtoull(line + len + 1, NULL, 10);
        }
        return 0;
}

void sys_fd_mark(int fd, bool close_on_exec)
{
        if (fd >= 0)
                fcntl(fd, F_SETFD, close_on_exec ? FD_CLOEXEC : 0);
}

int sys_open_folder_of(const char *path)
{
        char real[PATH_MAX], *slash;

        if (!realpath(path, real))
                return -errno;
        slash = strrchr(real, '/');
        *(slash == real ? slash + 1 : slash) = '\0';
        return sys_open_at(AT_FDCWD, real, O_PATH | O_DIRECTORY, 0);
}

/* As the kernel has it; musl 1.2.3 does not declare struct statx. */
int64_t sys_file_born(int dirfd, const char *path)
{
        enum { WANT_BORN = 0x800, BORN_AT = 80 / 8 };
        uint64_t st[32] = { 0 }; /* 256 bytes; the mask of what is known is in the first four */
        uint32_t known;

        if (syscall(SYS_statx, dirfd, path, AT_SYMLINK_NOFOLLOW, WANT_BORN, st) < 0)
                return 0;
        memcpy(&known, st, sizeof(known));
        return known & WANT_BORN ? (int64_t)st[BORN_AT] : 0;
}
