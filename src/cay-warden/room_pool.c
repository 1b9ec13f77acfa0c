/* SPDX-License-Identifier: Apache-2.0 */
/* Locks the layer pool while the disk is short. See room_pool.h for the theory. */
#include "cay-warden/room_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/base/clock.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"
#include "foundation/sys/xfs_pool.h"
#include "cay-warden/keep.h"
#include "cay-warden/room.h"
#include "cay-warden/room_pool_wish.h"
#include "cay-warden/room_shared.h"

#define BALLAST ".ballast"
#define FILE_FROM_DISK "../layers.pool" /* CAY_LAYER_POOL, beside the folder of layers */
#define RETRY_MS 2000
#define TRIM_MS 1000          /* between two */
#define LINGER_MS 10000       /* the kernel frees the blocks of a removed file some time later */
#define PLENTY (512ull << 20) /* as in room_shared.c */
#define BLOCK 4096ull
#define PIECE (1ull << 20)  /* smaller ones are given back only when it is unlocked */
#define MUCH (256ull << 20) /* is given back; while the disk is short: */
#define MUCH_SHORT (16ull << 20)

enum { LAYERS = 3, DISK = 4, FIRST_CLOSED = 5 }; /* descriptors of the helper */
enum { DONE = 0, FAILED = 1, CANNOT = 2 };       /* its exit status */
enum { POOL_NO_WORK, POOL_LOCKS, POOL_ENLARGES, POOL_SHRINKS, POOL_UNLOCKS, POOL_TRIMS }; /* what it does */

static uint64_t least(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

static uint64_t free_in(int dir)
{
        struct statvfs fs;

        return fstatvfs(dir, &fs) < 0 ? 0 : (uint64_t)fs.f_bavail * fs.f_frsize;
}

/* --- The helper --- */

/* The file system may need a little of what it has for that: then it gets less. */
static int lengthen(int ballast, uint64_t size, uint64_t by)
{
        uint64_t least_free = BLOCK;
        int r;

        do {
                r = fallocate(ballast, 0, (off_t)size, (off_t)(by & ~(BLOCK - 1))) < 0 ? -errno : 0;
                if (r < 0 && ftruncate(ballast, (off_t)size) < 0) /* it may have got a part */
                        return -errno;
                by -= least(by, least_free);
                least_free *= 4;
        } while (r == -ENOSPC && by >= BLOCK);
        return r;
}

/* Makes the ballast longer or shorter, until so much is free beside it. */
static int leave_free(int ballast, uint64_t wanted)
{
        uint64_t free = free_in(LAYERS), size;
        struct stat st;

        if (fstat(ballast, &st) < 0)
                return -errno;
        size = (uint64_t)st.st_size;
        if (free >= wanted)
                return free - wanted < BLOCK ? 0 : lengthen(ballast, size, free - wanted);
        size -= least(size, wanted - free);
        return ftruncate(ballast, (off_t)(size & ~(BLOCK - 1))) < 0 ? -errno : 0;
}

/* Emptied first: the blocks of a removed file are free some time later. */
static int unlock_pool(void)
{
        cay_auto_close int ballast = sys_open_at(LAYERS, BALLAST, O_RDWR | O_NOFOLLOW, 0);

        if (ballast >= 0 && ftruncate(ballast, 0) < 0)
                return -errno;
        if (unlinkat(LAYERS, BALLAST, 0) < 0 && errno != ENOENT)
                return -errno;
        return sys_xfs_pool_trim(LAYERS, 0);
}

/* What the pool keeps for its own tables counts as free there, but nobody is given it. */
static uint64_t kept_by_pool(void)
{
        uint64_t all = 0, free = free_in(LAYERS);

        if (sys_xfs_pool_back_used(LAYERS, -1, &all) < 0)
                return 0;
        return all - least(all, free);
}

static int lock_pool(int file, const struct warden_pool_wish *wish)
{
        cay_auto_close int ballast =
                sys_open_at(LAYERS, BALLAST, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
        uint64_t tables = kept_by_pool(), avail, take;
        int r = ballast < 0 ? ballast : sys_xfs_pool_back_used(LAYERS, file, NULL);

        if (r < 0)
                return r;
        cay_keep_reserve(DISK, KEEP_RESERVE); /* what was kept back beside the pool is for this */
        avail = free_in(DISK);
        take = warden_pool_wish_take(wish, 0, avail - least(avail, tables));
        if (take < wish->least)
                return -ENOSPC;
        r = leave_free(ballast, take);
        if (r == 0)
                r = sys_xfs_pool_give_back(ballast, file);
        return r < 0 ? r : sys_xfs_pool_back_others(ballast, file);
}

static int shrink_pool(int file, uint64_t wanted)
{
        cay_auto_close int ballast = sys_open_at(LAYERS, BALLAST, O_RDWR | O_NOFOLLOW, 0);
        int r = ballast < 0 ? ballast : leave_free(ballast, wanted);

        return r < 0 ? r : sys_xfs_pool_give_back(ballast, file);
}

/* What the ballast gives up has blocks of the disk before anybody can write there. */
static int enlarge_pool(int file, uint64_t wanted)
{
        cay_auto_close int ballast = sys_open_at(LAYERS, BALLAST, O_RDWR | O_NOFOLLOW, 0);
        uint64_t free = free_in(LAYERS), size;
        struct stat st;
        int r;

        if (ballast < 0 || fstat(ballast, &st) < 0)
                return ballast < 0 ? ballast : -errno;
        size = (uint64_t)st.st_size;
        size = (size - least(size, wanted - least(wanted, free))) & ~(BLOCK - 1);
        r = sys_xfs_pool_back_file(ballast, size, file);
        if (r == 0)
                r = ftruncate(ballast, (off_t)size) < 0 ? -errno : 0;
        else
                sys_xfs_pool_give_back(ballast, file); /* others were faster */
        return r;
}

static int work(unsigned what, const struct warden_pool_wish *wish)
{
        cay_auto_close int file = sys_open_at(DISK, FILE_FROM_DISK, O_RDWR | O_NOFOLLOW, 0);
        int r;

        if (what == POOL_UNLOCKS)
                return unlock_pool() < 0 ? FAILED : DONE;
        if (what == POOL_TRIMS)
                return sys_xfs_pool_trim(LAYERS, PIECE) < 0 ? FAILED : DONE;
        if (file < 0 || !sys_xfs_pool_is_in(LAYERS, file))
                return CANNOT;
        if (what == POOL_SHRINKS)
                return shrink_pool(file, wish->wanted) < 0 ? FAILED : DONE;
        if (what == POOL_ENLARGES)
                return enlarge_pool(file, wish->wanted) < 0 ? FAILED : DONE;
        r = lock_pool(file, wish);
        if (r == 0)
                return DONE;
        unlock_pool();
        return r == -ENOSPC ? FAILED : CANNOT;
}

static _Noreturn void be_helper(const struct warden *w, unsigned what, const struct warden_pool_wish *wish)
{
        int layers, disk;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        layers = fcntl(w->layers, F_DUPFD, FIRST_CLOSED);
        disk = fcntl(w->disk, F_DUPFD, FIRST_CLOSED);
        if (layers < 0 || disk < 0 || dup2(layers, LAYERS) < 0 || dup2(disk, DISK) < 0)
                _exit(FAILED);
        sys_close_range(FIRST_CLOSED, ~0U, 0);
        _exit(work(what, wish));
}

static void begin(struct warden *w, unsigned what, const struct warden_pool_wish *wish)
{
        struct clone_args args = { .exit_signal = SIGCHLD };
        pid_t pid = sys_clone3(&args);

        if (pid == 0)
                be_helper(w, what, wish);
        w->pool.retry_at_ms = cay_clock_ms() + RETRY_MS;
        if (pid < 0)
                return;
        w->pool.helper = pid;
        w->pool.work = what;
}

/* --- The warden --- */

void warden_pool_begin(struct warden *w)
{
        struct stat pool, disk;

        w->pool.is_one = w->can_share && w->disk >= 0 && fstat(w->layers, &pool) == 0 &&
                         fstat(w->disk, &disk) == 0 && pool.st_dev != disk.st_dev;
        if (!w->pool.is_one)
                return;
        begin(w, POOL_UNLOCKS, NULL);
        warden_room_soon(w);
}

/*
 * Blocks that the disk has for the pool beyond those that are in use there: freed ones, and the pool's own
 * tables.
 */
static uint64_t disk_has_more(const struct warden *w)
{
        uint64_t has, used;
        struct statvfs fs;
        struct stat st;

        if (fstatat(w->disk, FILE_FROM_DISK, &st, AT_SYMLINK_NOFOLLOW) < 0 || fstatvfs(w->layers, &fs) < 0)
                return 0;
        has = (uint64_t)st.st_blocks * 512;
        used = (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize;
        return has - least(has, used);
}

static uint64_t freed_in(const struct warden *w)
{
        uint64_t more = disk_has_more(w);

        return more - least(more, w->pool.tables);
}

void warden_pool_expect(struct warden *w)
{
        if (!w->pool.is_one)
                return;
        w->pool.look_until_ms = cay_clock_ms() + LINGER_MS;
        if (w->room_at_ms == 0)
                warden_room_soon(w);
}

bool warden_pool_is_busy(const struct warden *w)
{
        return w->pool.helper > 0 || w->pool.is_locked || w->pool.is_left ||
               cay_clock_ms() < w->pool.look_until_ms;
}

uint64_t warden_pool_room(const struct warden *w)
{
        uint64_t free = w->pool.is_locked ? free_in(w->layers) : 0;

        return free - least(free, WARDEN_POOL_SLACK);
}

/* false: it still works. */
static bool reap(struct warden *w)
{
        unsigned what = w->pool.work;
        int status = 0;
        pid_t r;

        if (w->pool.helper <= 0)
                return true;
        r = waitpid(w->pool.helper, &status, WNOHANG);
        if (r == 0 || (r < 0 && errno == EINTR))
                return false;
        w->pool.helper = 0;
        w->pool.has_room = false;
        w->pool.work = POOL_NO_WORK;
        if (r > 0 && WIFEXITED(status) && WEXITSTATUS(status) == CANNOT)
                w->pool.cannot = true;
        w->pool.is_left = (r < 0 || !WIFEXITED(status)) && (what == POOL_LOCKS || what == POOL_UNLOCKS);
        if (what == POOL_LOCKS)
                w->reserve = least(w->reserve, KEEP_RESERVE);
        if (r < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != DONE)
                return true;
        w->pool.retry_at_ms = 0;
        w->pool.is_locked = what != POOL_UNLOCKS && what != POOL_TRIMS;
        if (!w->pool.is_locked) {
                w->pool.tables = disk_has_more(w); /* all that is left of it */
                w->pool.trim_at_ms = cay_clock_ms() + TRIM_MS;
        }
        return true;
}

static void unlock(struct warden *w)
{
        w->pool.is_locked = w->pool.is_left = false; /* from its first step on */
        begin(w, POOL_UNLOCKS, NULL);
}

/* has: bytes that are free in the pool, and that the disk has for it. */
static void mind_locked(struct warden *w, const struct warden_pool_wish *wish, uint64_t has, uint64_t avail)
{
        struct warden_pool_wish now = *wish;

        if (wish->least == 0 || avail + has > wish->margin + 3 * wish->least + 2 * PLENTY) {
                unlock(w);
                return;
        }
        now.wanted = warden_pool_wish_change(wish, has, avail);
        if (now.wanted != has)
                begin(w, now.wanted < has ? POOL_SHRINKS : POOL_ENLARGES, &now);
}

bool warden_pool_mind(struct warden *w, uint64_t shared, uint64_t avail, uint64_t margin)
{
        struct warden_pool_wish wish;
        uint64_t has, all;

        if (!w->pool.is_one || !reap(w))
                return w->pool.helper > 0;
        if (cay_clock_ms() < w->pool.retry_at_ms)
                return false;
        has = w->pool.is_locked ? free_in(w->layers) : warden_shared_kept(w);
        all = avail + has;
        wish = warden_pool_wish(shared, all, margin);
        if (w->pool.is_locked)
                mind_locked(w, &wish, has, avail);
        else if (w->pool.is_left)
                unlock(w);
        else if (!w->pool.cannot && shared > 0 && all > margin + shared && all < margin + 2 * shared + PLENTY)
                begin(w, POOL_LOCKS, &wish);
        else if (cay_clock_ms() >= w->pool.trim_at_ms &&
                 freed_in(w) > (avail < margin + 2 * PLENTY ? MUCH_SHORT : MUCH))
                begin(w, POOL_TRIMS, NULL);
        return w->pool.helper > 0;
}
