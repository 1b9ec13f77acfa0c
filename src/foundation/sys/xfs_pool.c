/* SPDX-License-Identifier: Apache-2.0 */
/* XFS in a file. */
#include "foundation/sys/xfs_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <linux/types.h>
#include <stdio.h>
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
        const char *options[] = { source, "discard", NULL };
        cay_auto_close int dev = sys_layer_image_attach(file, source + 7, sizeof(source) - 7);

        if (dev < 0)
                return dev;
        /*
         * Past the page cache of the disk's file system, if it can: what XFS has written is written, so sharing
         * blocks of a file that was just written takes a tenth of the time (measured).
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
