/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of layers. See layer_pool.h for the theory. */
#include "cay/keeper/layer_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "foundation/base/log.h"
#include "foundation/sys/dir.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/loopdev.h"
#include "foundation/sys/xfs_pool.h"

#define NEW CAY_LAYER_POOL ".new"
#define INSIDE "layers"
#define VOLUMES "volumes"
#define MOVING ".moving"
#define NAP_MS 20
#define LOCK_TRIES (60 * 1000 / NAP_MS) /* a killed daemon's boxes have files to write out */
#define SAY_AFTER (1000 / NAP_MS)

static int lock(int file)
{
        const struct timespec nap = { .tv_nsec = NAP_MS * 1000000L };

        for (unsigned tries = 0; flock(file, LOCK_EX | LOCK_NB) < 0; tries++) {
                if (errno != EWOULDBLOCK || tries >= LOCK_TRIES)
                        return -errno;
                if (tries == SAY_AFTER)
                        cay_log_info("waiting for the last daemon's layer pool to be written out",
                                     "file=" CAY_LAYER_POOL);
                nanosleep(&nap, NULL);
        }
        return 0;
}

static int fail_make(int r, struct cay_error *err)
{
        if (r == -ENOENT)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "layer_pool: mkfs.xfs is not installed here (Debian: xfsprogs)");
        if (r == -ENODEV)
                return cay_fail(err, CAY_UNSUPPORTED, "layer_pool: this kernel has no XFS");
        return cay_fail_sys(err, r == -ENOSPC ? CAY_NO_SPACE : CAY_INTERNAL, r,
                            "layer_pool: make the file '" CAY_LAYER_POOL "' in the data folder");
}

static int make(int data_fd, uint64_t bytes, struct cay_error *err)
{
        cay_auto_close int file = -1;
        int r = sys_xfs_pool_can();

        if (r < 0)
                return fail_make(r, err);
        unlinkat(data_fd, NEW, 0);
        r = file = sys_open_at(data_fd, NEW, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (r >= 0)
                r = sys_xfs_pool_format(file, bytes);
        if (r == 0 &&
            (fsync(file) < 0 || renameat(data_fd, NEW, data_fd, CAY_LAYER_POOL) < 0 || fsync(data_fd) < 0))
                r = -errno;
        if (r == 0)
                return 0;
        unlinkat(data_fd, NEW, 0);
        return fail_make(r, err);
}

static int mount_file(int file, struct cay_error *err)
{
        int r = lock(file), mount;

        if (r < 0)
                return cay_fail_sys(err, CAY_CONFLICT, r,
                                    "layer_pool: somebody still has '" CAY_LAYER_POOL "' mounted");
        mount = sys_xfs_pool_mount(file);
        if (mount >= 0)
                return mount;
        if (mount == -ENODEV)
                return fail_make(mount, err);
        return cay_fail_sys(
                err, CAY_CONFLICT, mount,
                "layer_pool: '" CAY_LAYER_POOL "' in the data folder cannot be mounted. If it is "
                "damaged, xfs_repair may mend it; without it the files of all sandboxes are gone");
}

/* Only larger: blocks at the end may be in use. */
static int grow(int mount, uint64_t bytes, struct cay_error *err)
{
        struct statvfs fs;
        uint64_t now;
        int r;

        if (fstatvfs(mount, &fs) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "layer_pool: look at its size");
        now = (uint64_t)fs.f_blocks * fs.f_frsize;
        if (bytes <= now + (64ull << 20)) /* its log is not counted */
                return 0;
        r = sys_xfs_pool_grow(mount, bytes);
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "layer_pool: grow '" CAY_LAYER_POOL "'") : 0;
}

/* Moving in what was made without a pool */

struct move {
        int from, to;
        int r;
        unsigned count;
};

static void move_one(void *ctx, int dirfd, const char *name, unsigned type)
{
        struct move *m = ctx;
        cay_auto_close int from = -1, to = -1;
        struct stat st;

        (void)type;
        if (m->r < 0 || name[0] == '.')
                return;
        from = sys_open_at(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
        if (from < 0 || fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
                return;
        if (flock(from, LOCK_SH | LOCK_NB) < 0) { /* a killed daemon's box */
                m->r = lock(from);
                if (m->r < 0)
                        return;
        }
        unlinkat(m->to, MOVING, 0);
        m->r = to = sys_open_at(m->to, MOVING, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (to >= 0)
                m->r = sys_layer_image_copy_data(from, to);
        if (m->r == 0 && (fsync(to) < 0 || renameat(m->to, MOVING, m->to, name) < 0 || fsync(m->to) < 0))
                m->r = -errno;
        if (m->r == 0 && unlinkat(dirfd, name, 0) < 0)
                m->r = -errno;
        if (m->r < 0)
                unlinkat(m->to, MOVING, 0);
        m->count += m->r == 0;
}

static int move_folder(int from, int to, struct cay_error *err)
{
        struct move m = { .from = from, .to = to };
        int r = sys_dir_each(from, move_one, &m);

        r = m.r < 0 ? m.r : r;
        if (m.count > 0)
                cay_log_info("layers moved into the pool", "count=%u", m.count);
        return r < 0 ? cay_fail_sys(err, r == -ENOSPC ? CAY_NO_SPACE : CAY_INTERNAL, r,
                                    "layer_pool: move the files of sandboxes into '" CAY_LAYER_POOL "'")
                     : 0;
}

static int move_all(int outside, int inside, struct cay_error *err)
{
        cay_auto_close int from = sys_open_at(outside, VOLUMES, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        cay_auto_close int to = -1;

        unlinkat(outside, ".reserve", 0);
        if (move_folder(outside, inside, err) < 0)
                return -1;
        if (from < 0)
                return 0;
        if (mkdirat(inside, VOLUMES, 0700) == 0 || errno == EEXIST)
                to = sys_open_at(inside, VOLUMES, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (to < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "layer_pool: make the folder of volumes");
        return move_folder(from, to, err);
}

int cay_layer_pool_open(int data_fd, int outside, uint64_t bytes, int *ret, struct cay_error *err)
{
        cay_auto_close int file = -1, mount = -1, inside = -1;
        struct stat st;

        *ret = -1;
        if (bytes == 0) {
                if (fstatat(data_fd, CAY_LAYER_POOL, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        return 0;
                return cay_fail(err, CAY_CONFLICT,
                                "layer_pool is not set, but the files of sandboxes are in '" CAY_LAYER_POOL
                                "' of the data folder: set it, or move that file away to begin without them");
        }
        if (bytes < SYS_XFS_POOL_LEAST)
                return cay_fail(err, CAY_INVALID, "layer_pool: at least %llu MiB, or 0 for none",
                                SYS_XFS_POOL_LEAST >> 20);
        if (geteuid() != 0)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "layer_pool: needs loop devices, which need root; leave it out");
        if (fstatat(data_fd, CAY_LAYER_POOL, &st, AT_SYMLINK_NOFOLLOW) < 0 && make(data_fd, bytes, err) < 0)
                return -1;
        file = sys_open_at(data_fd, CAY_LAYER_POOL, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
        if (file < 0 || fstat(file, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
                return cay_fail(err, CAY_CONFLICT,
                                "layer_pool: '" CAY_LAYER_POOL "' is not a file of the daemon's");
        if ((uint64_t)st.st_size < bytes && ftruncate(file, (off_t)(bytes & ~4095ull)) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "layer_pool: make its file longer");
        mount = mount_file(file, err);
        if (mount < 0 || grow(mount, bytes, err) < 0)
                return -1;
        if (mkdirat(mount, INSIDE, 0700) < 0 && errno != EEXIST)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "layer_pool: make a folder in it");
        inside = sys_open_at(mount, INSIDE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (inside < 0)
                return cay_fail_sys(err, CAY_INTERNAL, inside, "layer_pool: open the folder in it");
        /* A daemon that died while the disk was short left it (cay-warden/room_pool.h). */
        if (unlinkat(inside, ".ballast", 0) == 0)
                sys_xfs_pool_trim(inside, 0);
        if (move_all(outside, inside, err) < 0)
                return -1;
        *ret = cay_take_fd(inside);
        return 0;
}
