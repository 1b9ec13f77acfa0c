/* SPDX-License-Identifier: Apache-2.0 */
/* A file with XFS in it, and which blocks of the disk it has for what. */
#include "sys_test.h"

#include <sys/statvfs.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/loopdev.h"
#include "foundation/sys/xfs_pool.h"

#define MIB (1ull << 20)
#define BYTES SYS_XFS_POOL_LEAST

struct pool {
        int file, mount, root;
};

static bool make_pool(struct pool *p)
{
        char path[] = "/var/tmp/cay-unit-XXXXXX";

        if (geteuid() != 0 || !sys_layer_image_can() || sys_xfs_pool_can() < 0) {
                print_message("skipped: needs root, loop devices, mkfs.xfs and XFS\n");
                return false;
        }
        p->file = mkostemp(path, O_CLOEXEC);
        assert_true(p->file >= 0 && unlink(path) == 0);
        assert_int_equal(sys_xfs_pool_format(p->file, BYTES), 0);
        p->mount = sys_xfs_pool_mount(p->file);
        if (p->mount == -ENODEV || p->mount == -EPERM) {
                print_message("skipped: no XFS here\n");
                close(p->file);
                return false;
        }
        assert_true(p->mount >= 0);
        p->root = sys_open_at(p->mount, ".", O_RDONLY | O_DIRECTORY, 0);
        assert_true(p->root >= 0 && sys_xfs_pool_is_in(p->root, p->file));
        return true;
}

static void end_pool(struct pool *p)
{
        close(p->root);
        close(p->mount);
        close(p->file);
}

static uint64_t free_in(const struct pool *p)
{
        struct statvfs fs;

        assert_int_equal(fstatvfs(p->root, &fs), 0);
        return (uint64_t)fs.f_bavail * fs.f_frsize;
}

static uint64_t blocks_of(int file)
{
        struct stat st;

        assert_int_equal(fstat(file, &st), 0);
        return (uint64_t)st.st_blocks * 512;
}

static int make_file(const struct pool *p, const char *name, uint64_t bytes)
{
        int fd = sys_open_at(p->root, name, O_RDWR | O_CREAT, 0600);

        assert_true(fd >= 0);
        if (bytes > 0)
                assert_int_equal(fallocate(fd, 0, 0, (off_t)bytes), 0);
        return fd;
}

/*
 * Other files take and free blocks, in pieces, before and while the ballast is made: in the end nothing but
 * the ballast is without blocks of the disk, also what was allocated but not written.
 */
static void test_back_others(void **state)
{
        struct pool p;
        int ballast, other, late;

        if (!make_pool(&p))
                skip();
        other = make_file(&p, "other", 64 * MIB);
        for (off_t at = 0; at < (off_t)(64 * MIB); at += (off_t)(4 * MIB))
                assert_int_equal(fallocate(other, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, MIB), 0);
        ballast = make_file(&p, "ballast", free_in(&p) - 20 * MIB);
        assert_int_equal(sys_xfs_pool_give_back(ballast, p.file), 0);
        late = make_file(&p, "late", 4 * MIB); /* and never written */
        assert_int_equal(sys_xfs_pool_back_others(ballast, p.file), 0);
        assert_in_range(blocks_of(p.file), BYTES - blocks_of(ballast), BYTES - blocks_of(ballast) + MIB);
        /* a part of the ballast gets them too, and gives them back */
        assert_int_equal(sys_xfs_pool_back_file(ballast, blocks_of(ballast) - 10 * MIB, p.file), 0);
        assert_true(blocks_of(p.file) >= BYTES - blocks_of(ballast) + 10 * MIB);
        assert_int_equal(sys_xfs_pool_give_back(ballast, p.file), 0);
        assert_in_range(blocks_of(p.file), BYTES - blocks_of(ballast), BYTES - blocks_of(ballast) + MIB);
        close(ballast);
        close(late);
        close(other);
        end_pool(&p);
}

/* When trim returns, the holes are made: blocks that the file is given after that stay. */
static void test_trim_waits(void **state)
{
        struct pool p;
        int empty;

        if (!make_pool(&p))
                skip();
        empty = make_file(&p, "empty", 0);
        for (unsigned round = 0; round < 20; round++) {
                assert_int_equal(sys_xfs_pool_trim(p.root, 0), 0);
                assert_in_range(blocks_of(p.file), 0, BYTES / 2);
                assert_int_equal(sys_xfs_pool_back_others(empty, p.file), 0);
                assert_true(blocks_of(p.file) >= BYTES);
        }
        nap_ms(50);
        assert_true(blocks_of(p.file) >= BYTES);
        close(empty);
        end_pool(&p);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_back_others),
                cmocka_unit_test(test_trim_waits),
        };

        return cmocka_run_group_tests_name("xfs_pool", tests, NULL, NULL);
}
