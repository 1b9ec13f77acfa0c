/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of kept layers. See keep_clone.h for the theory. */
#include "cay-warden/keep_clone.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "foundation/base/clock.h"
#include "foundation/sys/dir.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/loopdev.h"
#include "foundation/sys/mounts.h"
#include "cay-warden/keep.h"

#define PREFIX ".clone-"
#define NAME_SIZE (CAY_NAME_MAX + 16)
#define FREEZE_MS 5000u
#define LOCK_MS 20000u
#define NOREPLACE 1u /* RENAME_NOREPLACE */

static void layer_name(const char *id, char ret[NAME_SIZE])
{
        snprintf(ret, NAME_SIZE, "%.*s.img", CAY_NAME_MAX, id);
}

static void clone_name(const char *id, char ret[NAME_SIZE])
{
        snprintf(ret, NAME_SIZE, PREFIX "%.*s", CAY_NAME_MAX, id);
}

static void nap(void)
{
        const struct timespec ms = { .tv_nsec = 1000000 };

        nanosleep(&ms, NULL);
}

static int lock(int file, int how, unsigned wait_ms)
{
        uint64_t until = cay_clock_ms() + wait_ms;

        while (flock(file, how | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK && errno != EINTR)
                        return -errno;
                if (cay_clock_ms() >= until)
                        return -EBUSY;
                nap();
        }
        return 0;
}

/* Freezing takes effect a moment later. */
static int freeze(int cgroup)
{
        uint64_t until = cay_clock_ms() + FREEZE_MS;
        int r = sys_write_file(cgroup, "cgroup.freeze", "1");
        char text[128];

        while (r == 0) {
                if (sys_read_file(cgroup, "cgroup.events", text, sizeof(text)) > 0 &&
                    sys_keyed_u64(text, "frozen") == 1)
                        return 0;
                if (cay_clock_ms() >= until)
                        r = -ETIME;
                else
                        nap();
        }
        sys_write_file(cgroup, "cgroup.freeze", "0");
        return r;
}

static int check_given_room(int from, uint64_t room)
{
        struct stat st;

        if (fstat(from, &st) < 0)
                return -errno;
        return room < (uint64_t)st.st_blocks * 512 ? -ENOSPC : 0;
}

static int check_room(int dir, int disk, int from, uint64_t margin)
{
        struct statvfs fs, below;
        struct stat st;
        uint64_t left, left_below;

        if (fstat(from, &st) < 0 || fstatvfs(dir, &fs) < 0 || fstatvfs(disk, &below) < 0)
                return -errno;
        left = (uint64_t)fs.f_bavail * fs.f_frsize;
        left_below = (uint64_t)below.f_bavail * below.f_frsize;
        left = left < left_below ? left : left_below;
        return left < margin || left - margin < (uint64_t)st.st_blocks * 512 ? -ENOSPC : 0;
}

/* Blocks of a live layer that are shared must fit once more: its box may overwrite them (room_shared.h). */
static int copy(int dir, const struct cay_keep_clone *c, int from, int to, struct cay_keep_cloned *ret)
{
        bool is_live = c->fs >= 0 && sys_layer_image_can_share(from, to);
        int r = 0;

        if (is_live)
                r = c->has_room ? check_given_room(from, c->room)
                                : check_room(dir, c->disk, from, c->margin + c->promised);

        if (r < 0)
                return r;
        ret->is_shared = sys_layer_image_share(from, to) == 0;
        if (ret->is_shared)
                return 0;
        r = check_room(dir, c->disk, from, c->margin);
        return r < 0 ? r : sys_layer_image_copy_data(from, to);
}

/*
 * Sharing blocks writes them out first: that is done here, before the box stands still, and counted. Copying
 * does not need it.
 */
static void measure(int from, int to, struct cay_keep_cloned *ret)
{
        if (sys_layer_image_can_share(from, to))
                sys_layer_image_own_bytes(from, true, &ret->added);
}

/* What is dirty is written once before the box stands still, and the rest of it when it does. */
static int copy_live(int dir, const struct cay_keep_clone *c, int from, int to, struct cay_keep_cloned *ret)
{
        uint64_t begun_ns;
        int r;

        if (syncfs(c->fs) < 0)
                return -errno;
        measure(from, to, ret);
        begun_ns = cay_clock_ns();
        r = c->cgroup >= 0 ? freeze(c->cgroup) : 0;
        if (r < 0)
                return r;
        r = syncfs(c->fs) < 0 ? -errno : copy(dir, c, from, to, ret);
        if (c->cgroup >= 0) {
                sys_write_file(c->cgroup, "cgroup.freeze", "0");
                ret->frozen_us = (cay_clock_ns() - begun_ns) / 1000;
        }
        return r;
}

/* The kernel replays the journal. Released when the lock, which the loop device holds, is free again. */
static int replay(int dir, const char *name)
{
        cay_auto_close int file = sys_open_at(dir, name, O_RDWR | O_NOFOLLOW, 0), again = -1;
        int mount, r;

        if (file < 0)
                return file;
        if (!sys_layer_image_has_journal(file)) {
                r = sys_layer_image_mend(file);
                return r < 0 ? r : 0;
        }
        r = lock(file, LOCK_EX, 0);
        mount = r < 0 ? r : sys_layer_image_mount_file(file, SYS_MOUNT_SAFE);
        if (mount < 0)
                return mount;
        close(mount);
        close(cay_take_fd(file));
        again = sys_open_at(dir, name, O_RDWR | O_NOFOLLOW, 0);
        r = again < 0 ? again : lock(again, LOCK_EX, LOCK_MS);
        return r == 0 && sys_layer_image_is_unclean(again) ? -EUCLEAN : r;
}

static int put_in_place(int dir, const char *name, const char *to, unsigned flags)
{
        cay_auto_close int old = -1;
        int r = 0;

        if (!(flags & WIRE_CLONE_REPLACE))
                return syscall(SYS_renameat2, dir, name, dir, to, NOREPLACE) < 0 ? -errno : 0;
        old = sys_open_at(dir, to, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
        if (old < 0 && old != -ENOENT)
                return old;
        if (old >= 0)
                r = lock(old, LOCK_EX, LOCK_MS); /* nobody has it mounted */
        if (r == 0 && renameat(dir, name, dir, to) < 0)
                r = -errno;
        return r;
}

static int finish(int dir, const struct cay_keep_clone *c, const char *name, struct cay_keep_cloned *ret)
{
        cay_auto_close int file = -1;
        char to[NAME_SIZE];
        struct stat st;
        int r = c->fs >= 0 ? replay(dir, name) : 0;

        if (r < 0)
                return r;
        file = sys_open_at(dir, name, O_RDWR | O_NOFOLLOW, 0);
        if (file < 0)
                return file;
        if (c->fs < 0 && sys_layer_image_is_unclean(file))
                r = replay(dir, name);
        if (r == 0 && sys_layer_image_has_errors(file))
                r = -EUCLEAN;
        if (r == 0 && c->flags & WIRE_CLONE_SYNC && fsync(file) < 0)
                r = -errno;
        if (r == 0 && fstat(file, &st) < 0)
                r = -errno;
        layer_name(c->to, to);
        if (r == 0)
                r = put_in_place(dir, name, to, c->flags);
        if (r == 0 && c->flags & WIRE_CLONE_SYNC && fsync(dir) < 0)
                r = -errno;
        if (r == 0)
                ret->bytes = (uint64_t)st.st_blocks * 512;
        if (r == 0 && !ret->is_shared)
                ret->added = ret->bytes;
        return r;
}

static int open_source(int dir, const struct cay_keep_clone *c)
{
        char name[NAME_SIZE];
        cay_auto_close int from = -1;
        struct stat st;
        int r = 0;

        layer_name(c->from, name);
        from = sys_open_at(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
        if (from < 0)
                return from;
        if (fstat(from, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
                return -EUCLEAN;
        if (c->fs < 0)
                r = lock(from, LOCK_SH, LOCK_MS);
        if (r == 0 && sys_layer_image_has_errors(from))
                r = -EUCLEAN;
        return r < 0 ? r : cay_take_fd(from);
}

int cay_keep_clone(int dir, const struct cay_keep_clone *c, struct cay_keep_cloned *ret)
{
        cay_auto_close int from = open_source(dir, c), to = -1;
        char name[NAME_SIZE];
        int r;

        *ret = (struct cay_keep_cloned){ 0 };
        if (from < 0)
                return from;
        clone_name(c->to, name);
        to = sys_open_at(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (to < 0)
                return to;
        if (c->fs < 0)
                measure(from, to, ret);
        r = c->fs >= 0 ? copy_live(dir, c, from, to, ret) : copy(dir, c, from, to, ret);
        close(cay_take_fd(from));
        close(cay_take_fd(to)); /* a lock on it counts once nobody else has it open */
        if (c->fs >= 0)
                close(c->fs);
        if (r == 0)
                r = finish(dir, c, name, ret);
        if (r < 0)
                unlinkat(dir, name, 0);
        return r;
}

void cay_keep_clone_undo(int dir, const char *to)
{
        char name[NAME_SIZE];

        clone_name(to, name);
        unlinkat(dir, name, 0);
}

static void sweep_one(void *ctx, int dirfd, const char *name, unsigned type)
{
        (void)ctx;
        (void)type;
        if (strncmp(name, PREFIX, strlen(PREFIX)) == 0)
                unlinkat(dirfd, name, 0);
}

void cay_keep_clone_sweep(int dir)
{
        sys_dir_each(dir, sweep_one, NULL);
}
