/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trees that make up a box's root, and how they are attached: as mounts that the warden made, or opened
 * and copied by the box's own process ("self", see isolate.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/mounts.h"
#include "cay-warden/isolate.h"

/*
 * A descriptor of the caller belongs to the caller's mount namespace, from which nothing can be copied. So
 * the folder is opened again by its name in ours, with the caller's rights, and must be the same one.
 */
static int open_again(struct isolate *iso, int given, const char *what)
{
        char link[40], path[PATH_MAX];
        struct stat old, now;
        ssize_t len;
        int fd;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", given);
        len = readlink(link, path, sizeof(path) - 1);
        if (len <= 0 || path[0] != '/')
                isolate_fail(iso, -ENOENT, "%s: find the folder's name", what);
        path[len] = 0;
        fd = sys_open_at(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
        if (fd < 0)
                isolate_fail(iso, fd, "%s: open the folder by its name", what);
        if (fstat(given, &old) < 0 || fstat(fd, &now) < 0 || old.st_dev != now.st_dev ||
            old.st_ino != now.st_ino)
                isolate_fail(iso, -ESTALE, "%s: the folder has another name now", what);
        return fd;
}

void isolate_open_trees(struct isolate *iso)
{
        for (unsigned i = 0; i < ISOLATE_MOUNTS; i++)
                iso->mount[i] = -1;
        if (iso->workspace >= 0)
                iso->mount[ISOLATE_WORKSPACE] = open_again(iso, iso->workspace, "workspace");
        if (iso->rootfs >= 0) {
                iso->mount[ISOLATE_LOWER] = open_again(iso, iso->rootfs, "template");
                return;
        }
        for (unsigned i = 0; i < CAY_COUNT(host_trees); i++) {
                char path[64];
                int fd;

                if (!isolate_wants_tree(iso->plan, &host_trees[i]))
                        continue;
                snprintf(path, sizeof(path), "/%s", host_trees[i].path);
                fd = sys_open_at(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
                if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR &&
                    fd != -ELOOP) /* links are made again inside */
                        isolate_fail(iso, fd, "open %s", path);
                iso->mount[ISOLATE_HOST0 + i] = fd < 0 ? -1 : fd;
        }
}

static unsigned safe_attr(const struct isolate *iso)
{
        return (isolate_has(iso, CAY_LAYER_NOSUID) ? SYS_MOUNT_NOSUID : 0) |
               (isolate_has(iso, CAY_LAYER_NODEV) ? SYS_MOUNT_NODEV : 0);
}

/*
 * A tree with other mounts on it cannot be copied without them here: the kernel does not reveal what a more
 * privileged user has covered. The host's own trees include them. A caller's folder is refused: it may
 * contain anything, even another /proc.
 */
static int copy_tree(struct isolate *iso, enum isolate_mount which, uint64_t attr, int dirfd,
                     const char *path)
{
        int r = sys_mount_place_copy(iso->mount[which], "", false, attr, dirfd, path);

        if (r == -EINVAL && which >= ISOLATE_HOST0)
                r = sys_mount_place_copy(iso->mount[which], "", true, attr, dirfd, path);
        else if (r == -EINVAL)
                isolate_fail(iso, 0,
                             "%s: other file systems are mounted below the folder, and only root can leave "
                             "them out: choose one without",
                             which == ISOLATE_WORKSPACE ? "workspace" : "template");
        return r;
}

void isolate_attach(struct isolate *iso, enum isolate_mount which, int dirfd, const char *path)
{
        bool writable = which == ISOLATE_WORKSPACE && iso->plan->flags & WIRE_PLAN_WORKSPACE_RW;
        int r;

        if (!iso->self)
                r = sys_mount_attach(iso->mount[which], dirfd, path);
        else
                r = copy_tree(iso, which, safe_attr(iso) | (writable ? 0 : SYS_MOUNT_RDONLY), dirfd, path);
        if (r < 0)
                isolate_fail(iso, r, "mount /%s", *path ? path : "workspace");
        if (iso->self)
                close(r);
}

int isolate_give(struct isolate *iso, int dirfd, const char *path, uint32_t owner)
{
        uint32_t host;

        if (owner == 0 || !cay_ids_outside(&iso->ids, owner, &host))
                return 0;
        return fchownat(dirfd, path, owner, owner, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}
