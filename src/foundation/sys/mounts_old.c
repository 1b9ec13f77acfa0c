/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts by mount(2); the theory is in mounts_old.h. */
#include "foundation/sys/mounts_old.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/mounts.h"
#include "foundation/sys/mounts_below.h"

#ifndef MS_NOSYMFOLLOW
#define MS_NOSYMFOLLOW 256
#endif
#define KNOWN_ATTR (SYS_MOUNT_RDONLY | SYS_MOUNT_NOSUID | SYS_MOUNT_NODEV | SYS_MOUNT_NOEXEC)
#define STATFS_NOSYMFOLLOW 0x2000
#define DATA_MAX 4095 /* the kernel takes one page */
#define DEEP_TRIES 4  /* a mount that moves meanwhile is searched for again */

_Static_assert(SYS_MOUNT_RDONLY == MS_RDONLY && SYS_MOUNT_NOSUID == MS_NOSUID &&
                       SYS_MOUNT_NODEV == MS_NODEV && SYS_MOUNT_NOEXEC == MS_NOEXEC,
               "attributes are flags of the same value");

struct place {
        int dir;        /* owned: the directory that the place is in */
        int fd;         /* owned: what is there before the mount */
        char name[256]; /* in dir */
};

static void place_done(struct place *p)
{
        cay_closep(&p->fd);
        cay_closep(&p->dir);
}

struct fd_name {
        char text[sizeof("/proc/self/fd//") + 10 + 256];
};

static const char *name_of(struct fd_name *n, int fd)
{
        snprintf(n->text, sizeof(n->text), "/proc/self/fd/%d", fd);
        return n->text;
}

static int open_in_dir(const struct place *p)
{
        cay_auto_close int fd = sys_open_at(p->dir, p->name, O_PATH | O_NOFOLLOW, 0);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) < 0)
                return -errno;
        return fd >= 0 && S_ISLNK(st.st_mode) ? -ELOOP : cay_take_fd(fd);
}

/* Splits path into the directory, which is opened, and the name in it. */
static int place_split(struct place *p, int dirfd, const char *path)
{
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        char dir[PATH_MAX];
        size_t len = slash ? (size_t)(slash - path) + 1 : 0; /* with the slash: of "/x" that is "/" */

        if (*name == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
                return -EINVAL;
        if (len >= sizeof(dir) || strlen(name) >= sizeof(p->name))
                return -ENAMETOOLONG;
        memcpy(dir, path, len);
        dir[len] = 0;
        memcpy(p->name, name, strlen(name) + 1);
        p->dir = sys_open_at(dirfd, len > 0 ? dir : ".", O_PATH | O_DIRECTORY, 0);
        return p->dir < 0 ? p->dir : 0;
}

static bool is_same(int a, int b)
{
        struct stat x, y;

        return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
               sys_mount_id(a) == sys_mount_id(b);
}

/* The place is dirfd itself: get its path, which must lead back to it. */
static int place_of_fd(struct place *p, int dirfd)
{
        char path[PATH_MAX];
        struct fd_name name;
        ssize_t n = readlink(name_of(&name, dirfd), path, sizeof(path));
        int r;

        if (n < 0)
                return -errno;
        if (n >= (ssize_t)sizeof(path))
                return -ENAMETOOLONG;
        path[n] = 0;
        if (path[0] != '/') /* not below our root */
                return -EINVAL;
        r = place_split(p, AT_FDCWD, path);
        if (r < 0)
                return r;
        p->fd = open_in_dir(p);
        if (p->fd < 0)
                return p->fd;
        return is_same(p->fd, dirfd) ? 0 : -EBUSY;
}

static int place_find(struct place *p, int dirfd, const char *path)
{
        int r;

        if (*path == 0 && dirfd >= 0)
                return place_of_fd(p, dirfd);
        r = place_split(p, dirfd, path);
        if (r < 0)
                return r;
        p->fd = open_in_dir(p);
        return p->fd < 0 ? p->fd : 0;
}

static void unmount(const struct place *p)
{
        struct fd_name name;
        size_t len = strlen(name_of(&name, p->dir));

        snprintf(name.text + len, sizeof(name.text) - len, "/%s", p->name);
        umount2(name.text, MNT_DETACH | UMOUNT_NOFOLLOW);
}

/* The root of what was just mounted at the place. */
static int open_root(const struct place *p)
{
        cay_auto_close int fd = open_in_dir(p);
        int before, now;

        if (fd < 0)
                return fd;
        before = sys_mount_id(p->fd);
        now = sys_mount_id(fd);
        if (before < 0 || now < 0)
                return before < 0 ? before : now;
        return before != now ? cay_take_fd(fd) : -ESTALE;
}

/* fd is the root of a mount. */
static int add_attr(int fd, uint64_t attr)
{
        struct fd_name name;
        struct statfs st;
        unsigned long flags = MS_REMOUNT | MS_BIND | (unsigned long)attr;

        if (fstatfs(fd, &st) < 0)
                return -errno;
        flags |= (unsigned long)st.f_flags & KNOWN_ATTR;
        if (st.f_flags & STATFS_NOSYMFOLLOW)
                flags |= MS_NOSYMFOLLOW;
        return mount(NULL, name_of(&name, fd), NULL, flags, NULL) < 0 ? -errno
                                                                      : 0; /* atime: stays as it is */
}

static int add_attr_cb(int fd, void *attr)
{
        return add_attr(fd, *(const uint64_t *)attr);
}

static int add_attr_deep(int root, uint64_t attr)
{
        int r = -EAGAIN;

        for (int tries = 0; r == -EAGAIN && tries < DEEP_TRIES; tries++)
                r = sys_mounts_below(root, add_attr_cb, &attr);
        return r == -EAGAIN ? -EBUSY : r;
}

/* Sets the attributes of what is mounted at the place, or unmounts it. */
static int finish(const struct place *p, uint64_t attr, bool deep)
{
        cay_auto_close int root = open_root(p);
        int r = root < 0 ? root : 0;

        if (r == 0 && attr)
                r = add_attr(root, attr);
        if (r == 0 && attr && deep)
                r = add_attr_deep(root, attr);
        if (r < 0) {
                if (root >= 0) /* else it is not our mount */
                        unmount(p);
                return r;
        }
        return cay_take_fd(root);
}

/* mount(2) expects one text; "source" is a separate parameter. A comma inside an option would split it. */
static int join(const char *const *options, char *ret, const char **ret_source)
{
        size_t len = 0;

        *ret = 0;
        for (; options && *options; options++) {
                size_t more = strlen(*options);

                if (strncmp(*options, "source=", 7) == 0) {
                        *ret_source = *options + 7;
                        continue;
                }
                if (strchr(*options, ','))
                        return -EINVAL;
                if (len + 1 + more > DATA_MAX)
                        return -E2BIG;
                if (len > 0)
                        ret[len++] = ',';
                memcpy(ret + len, *options, more + 1);
                len += more;
        }
        return 0;
}

int sys_mount_old_new(const char *type, const char *const *options, unsigned attr, int dirfd,
                      const char *path)
{
        cay_auto(place_done) struct place place = { .dir = -1, .fd = -1 };
        char data[DATA_MAX + 1];
        const char *source = type;
        struct fd_name at;
        int r;

        if (attr & ~KNOWN_ATTR)
                return -EINVAL;
        r = join(options, data, &source);
        if (r == 0)
                r = place_find(&place, dirfd, path);
        if (r < 0)
                return r;
        if (mount(source, name_of(&at, place.fd), type, attr & ~SYS_MOUNT_RDONLY, *data ? data : NULL) < 0)
                return -errno;
        return finish(&place, attr & SYS_MOUNT_RDONLY, false);
}

int sys_mount_old_copy(int from_fd, const char *from, bool deep, uint64_t attr, int dirfd, const char *path)
{
        cay_auto(place_done) struct place place = { .dir = -1, .fd = -1 };
        cay_auto_close int opened = -1;
        struct fd_name at, what;
        int r;

        if (attr & ~(uint64_t)KNOWN_ATTR)
                return -EINVAL;
        if (*from || from_fd < 0) {
                opened = from_fd = sys_open_at(from_fd, *from ? from : ".", O_PATH, 0);
                if (opened < 0)
                        return opened;
        }
        r = place_find(&place, dirfd, path);
        if (r < 0)
                return r;
        if (mount(name_of(&what, from_fd), name_of(&at, place.fd), NULL, MS_BIND | (deep ? MS_REC : 0),
                  NULL) < 0)
                return -errno;
        return finish(&place, attr, deep);
}

int sys_mount_old_change(int dirfd, const char *path, uint64_t attr)
{
        cay_auto_close int opened = -1;

        if (attr & ~(uint64_t)KNOWN_ATTR)
                return -EINVAL;
        if (*path || dirfd < 0) {
                opened = dirfd = sys_open_at(dirfd, *path ? path : ".", O_PATH | O_NOFOLLOW, 0);
                if (opened < 0)
                        return opened;
        }
        return add_attr(dirfd, attr);
}
