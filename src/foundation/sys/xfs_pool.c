/* SPDX-License-Identifier: Apache-2.0 */
/* XFS in a file. */
#include "foundation/sys/xfs_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/fsmap.h>
#include <linux/loop.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/loopdev.h"
#include "foundation/sys/mounts.h"

#define MKFS "/sbin/mkfs.xfs"
#define BLOCK 4096u
#define LOG (char *)"size=64m" /* the least that mkfs.xfs makes; all of it is allocated */
/* In the superblock, the highest byte first. */
#define LOG_START_AT 48 /* 64 bits: where the log begins, as group and block in the group */
#define GROUP_BLOCKS_AT 84
#define GROUPS_AT 88
#define LOG_BLOCKS_AT 96
#define GROUP_LOG_AT 124 /* 8 bits: how many bits a block's number in its group has */
#define GROUP_HEAD (64u << 10)

struct grow { /* XFS_IOC_FSGROWFSDATA */
        __u64 blocks;
        __u32 inodes_percent;
};
#define GROW _IOW('X', 110, struct grow)

int sys_xfs_pool_can(void)
{
        char text[4096];

        if (access(MKFS, X_OK) < 0)
                return -ENOENT;
        if (sys_read_file(AT_FDCWD, "/proc/filesystems", text, sizeof(text)) > 0 && strstr(text, "\txfs\n"))
                return 0;
        return access("/proc/modules", R_OK) == 0 ? 0 : -ENODEV; /* a module is loaded when it is mounted */
}

static uint64_t big_endian(const uint8_t *at, unsigned bytes)
{
        uint64_t n = 0;

        while (bytes-- > 0)
                n = n << 8 | *at++;
        return n;
}

/* What must be writable on a full disk. */
static int allocate(int file)
{
        uint8_t sb[512];
        uint64_t group_bytes, start, group, log_bytes;
        unsigned bits;

        if (pread(file, sb, sizeof(sb), 0) != (ssize_t)sizeof(sb) || memcmp(sb, "XFSB", 4) != 0 ||
            big_endian(sb + 4, 4) != BLOCK)
                return -EPROTO;
        bits = sb[GROUP_LOG_AT];
        start = big_endian(sb + LOG_START_AT, 8);
        group_bytes = big_endian(sb + GROUP_BLOCKS_AT, 4) * BLOCK;
        log_bytes = big_endian(sb + LOG_BLOCKS_AT, 4) * BLOCK;
        if (bits == 0 || bits > 31 || start == 0)
                return -EPROTO;
        group = start >> bits;
        start = group * group_bytes + (start & ((1ull << bits) - 1)) * BLOCK;
        if (fallocate(file, 0, (off_t)start, (off_t)log_bytes) < 0)
                return -errno;
        for (uint64_t i = 0; i < big_endian(sb + GROUPS_AT, 4); i++)
                if (fallocate(file, 0, (off_t)(i * group_bytes), GROUP_HEAD) < 0)
                        return -errno;
        return 0;
}

int sys_xfs_pool_format(int file, uint64_t bytes)
{
        char path[32];
        char *const argv[] = {
                (char *)"mkfs.xfs",           (char *)"-q", (char *)"-f", (char *)"-K", (char *)"-m",
                (char *)"reflink=1,rmapbt=0", (char *)"-l", LOG,          path,         NULL
        };
        int r;

        if (ftruncate(file, (off_t)(bytes & ~(uint64_t)(BLOCK - 1))) < 0)
                return -errno;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
        r = sys_layer_image_run(file, MKFS, argv);
        if (r != 0)
                return r < 0 ? r : -EIO;
        return allocate(file);
}

int sys_xfs_pool_mount(int file)
{
        char source[48] = "source=";
        const char *options[] = { source, NULL };
        cay_auto_close int dev = sys_layer_image_attach(file, source + 7, sizeof(source) - 7);

        if (dev < 0)
                return dev;
        /*
         * Past the page cache of the disk's file system, if it can: what XFS has written is written, so
         * sharing blocks of a file that was just written takes a tenth of the time (measured).
         */
        ioctl(dev, LOOP_SET_DIRECT_IO, 1ul);
        return sys_mount_new("xfs", options, SYS_MOUNT_SAFE);
}

int sys_xfs_pool_grow(int mount, uint64_t bytes)
{
        struct grow to = { .blocks = bytes / BLOCK, .inodes_percent = 25 };
        cay_auto_close int root = sys_open_at(mount, ".", O_RDONLY | O_DIRECTORY, 0);

        if (root < 0)
                return root;
        return ioctl(root, GROW, &to) < 0 ? -errno : 0;
}

/* --- Blocks of the disk for blocks of the pool --- */

#define RECORDS 64u
#define RECORD_ROUNDS 65536u

static int back_one(int file, const struct fsmap *at)
{
        return fallocate(file, 0, (off_t)at->fmr_physical, (off_t)at->fmr_length) < 0 ? -errno : 0;
}

static bool is_free(const struct fsmap *at)
{
        return (at->fmr_flags & FMR_OF_SPECIAL_OWNER) != 0 && at->fmr_owner == FMR_OWN_FREE;
}

int sys_xfs_pool_back_used(int dir, int file, uint64_t *ret_free)
{
        union { /* the records follow the head */
                struct fsmap_head head;
                char room[sizeof(struct fsmap_head) + RECORDS * sizeof(struct fsmap)];
        } m;
        uint64_t free = 0;
        bool is_last = false;
        int r = 0;

        memset(&m, 0, sizeof(m));
        memset(&m.head.fmh_keys[1], 0xff, sizeof(m.head.fmh_keys[1]));
        m.head.fmh_keys[1].fmr_length = 0;
        memset(m.head.fmh_keys[1].fmr_reserved, 0, sizeof(m.head.fmh_keys[1].fmr_reserved));
        m.head.fmh_count = RECORDS;
        for (unsigned round = 0; r == 0 && !is_last && round < RECORD_ROUNDS; round++) {
                if (ioctl(dir, FS_IOC_GETFSMAP, &m.head) < 0)
                        return -errno;
                if (m.head.fmh_entries == 0)
                        break;
                for (unsigned i = 0; r == 0 && i < m.head.fmh_entries && i < RECORDS; i++) {
                        const struct fsmap *at = &m.head.fmh_recs[i];

                        free += is_free(at) ? at->fmr_length : 0;
                        if (!is_free(at) && file >= 0)
                                r = back_one(file, at);
                        is_last = (at->fmr_flags & FMR_OF_LAST) != 0;
                }
                m.head.fmh_keys[0] = m.head.fmh_recs[m.head.fmh_entries - 1];
        }
        if (ret_free)
                *ret_free = free;
        return r;
}

typedef int extent_f(uint64_t at, uint64_t bytes, void *data);

/* Each piece of the pool's file that a file in the pool has, from a place in that on. */
static int each_extent(int inside, uint64_t at, extent_f *use, void *data)
{
        union { /* the extents follow the head */
                struct fiemap map;
                char room[sizeof(struct fiemap) + RECORDS * sizeof(struct fiemap_extent)];
        } m;
        bool is_last = false;
        int r = 0;

        for (unsigned round = 0; r == 0 && !is_last && round < RECORD_ROUNDS; round++) {
                memset(&m, 0, sizeof(m));
                m.map.fm_start = at;
                m.map.fm_length = FIEMAP_MAX_OFFSET - at;
                m.map.fm_extent_count = RECORDS;
                if (ioctl(inside, FS_IOC_FIEMAP, &m.map) < 0)
                        return -errno;
                if (m.map.fm_mapped_extents == 0)
                        break;
                for (unsigned i = 0; r == 0 && i < m.map.fm_mapped_extents && i < RECORDS; i++) {
                        const struct fiemap_extent *e = &m.map.fm_extents[i];

                        if (!(e->fe_flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC)))
                                r = use(e->fe_physical, e->fe_length, data);
                        at = e->fe_logical + e->fe_length;
                        is_last = (e->fe_flags & FIEMAP_EXTENT_LAST) != 0;
                }
        }
        return r;
}

static int punch(uint64_t at, uint64_t bytes, void *data)
{
        const int *file = data;

        return fallocate(*file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes) < 0
                       ? -errno
                       : 0;
}

static int back_piece(uint64_t at, uint64_t bytes, void *data)
{
        const int *file = data;

        return fallocate(*file, 0, (off_t)at, (off_t)bytes) < 0 ? -errno : 0;
}

int sys_xfs_pool_give_back(int inside, int file)
{
        return each_extent(inside, 0, punch, &file);
}

int sys_xfs_pool_back_file(int inside, uint64_t from, int file)
{
        return each_extent(inside, from, back_piece, &file);
}

struct pieces {
        struct piece {
                uint64_t at, end;
        } * list;
        size_t count, room;
};

static int note_piece(uint64_t at, uint64_t bytes, void *data)
{
        struct pieces *p = data;

        if (p->count == p->room) {
                size_t room = p->room > 0 ? 2 * p->room : RECORDS;
                struct piece *list = reallocarray(p->list, room, sizeof(*list));

                if (!list)
                        return -ENOMEM;
                p->list = list;
                p->room = room;
        }
        p->list[p->count++] = (struct piece){ .at = at, .end = at + bytes };
        return 0;
}

static int compare_pieces(const void *a, const void *b)
{
        const struct piece *x = a, *y = b;

        return x->at < y->at ? -1 : x->at > y->at;
}

int sys_xfs_pool_back_others(int inside, int file)
{
        struct pieces p = { 0 };
        uint64_t at = 0, size;
        struct stat st;
        int r;

        if (fstat(file, &st) < 0)
                return -errno;
        size = (uint64_t)st.st_size;
        r = each_extent(inside, 0, note_piece, &p);
        if (r == 0 && p.count > 0)
                qsort(p.list, p.count, sizeof(*p.list), compare_pieces);
        for (size_t i = 0; r == 0 && i < p.count; i++) {
                if (p.list[i].at > at)
                        r = back_piece(at, p.list[i].at - at, &file);
                at = p.list[i].end;
        }
        if (r == 0 && at < size)
                r = back_piece(at, size - at, &file);
        free(p.list);
        return r;
}

/* Opens the loop device that dir is on. */
static int open_device(int dir)
{
        char path[32] = "/dev/";
        int r = sys_layer_device(dir, path + 5, sizeof(path) - 5);

        return r < 0 ? r : sys_open_at(AT_FDCWD, path, O_RDONLY, 0);
}

/*
 * XFS does not wait for what it gives back: a hole that is made late would take blocks that it was given
 * since. A loop device completes all requests before it takes settings, also the same ones.
 */
static int wait_for_requests(int dir)
{
        struct loop_info64 info = { 0 };
        cay_auto_close int dev = open_device(dir);

        if (dev < 0)
                return dev;
        return ioctl(dev, LOOP_GET_STATUS64, &info) < 0 || ioctl(dev, LOOP_SET_STATUS64, &info) < 0 ? -errno
                                                                                                    : 0;
}

int sys_xfs_pool_trim(int dir, uint64_t least)
{
        struct fstrim_range all = { .len = UINT64_MAX, .minlen = least };
        int r = ioctl(dir, FITRIM, &all) < 0 ? -errno : 0, waited = wait_for_requests(dir);

        return r < 0 ? r : waited;
}

bool sys_xfs_pool_is_in(int dir, int file)
{
        struct loop_info64 info = { 0 };
        cay_auto_close int dev = open_device(dir);
        struct stat st;

        if (fstat(file, &st) < 0 || !S_ISREG(st.st_mode))
                return false;
        return dev >= 0 && ioctl(dev, LOOP_GET_STATUS64, &info) == 0 && info.lo_inode == st.st_ino &&
               info.lo_device == st.st_dev;
}
