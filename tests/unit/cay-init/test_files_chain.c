/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of directories: down, up, and back after the window of descriptors has moved on. */

#include "test_files.h"

#include "cay-init/files_chain.h"

static unsigned fds_open(void)
{
        unsigned n = 0;
        DIR *d = opendir("/proc/self/fd");

        while (readdir(d))
                n++;
        closedir(d);
        return n;
}

static int chain_open(struct cay_files_chain *c)
{
        return cay_files_chain_init_take(c, open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static ino_t inode_here(struct cay_files_chain *c)
{
        int fd = cay_files_chain_fd(c);
        struct stat st;

        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &st), 0);
        return st.st_ino;
}

static void steps_go_down_and_up(void **state)
{
        struct cay_files_chain c;
        char path[64];
        ino_t top;

        (void)state;
        shell("mkdir -p a/b && ln -s b a/l && touch a/f");
        assert_int_equal(chain_open(&c), 0);
        top = inode_here(&c);
        assert_int_equal(cay_files_chain_enter(&c, "a", 1), 0);
        assert_int_equal(cay_files_chain_enter(&c, "bXX", 1), 0);
        assert_string_equal(c.path, "a/b");
        assert_int_equal(cay_files_chain_join(&c, "x", path, sizeof(path)), 5);
        assert_string_equal(path, "a/b/x");
        assert_int_equal(cay_files_chain_join(&c, "x", path, 5), -ENAMETOOLONG);
        cay_files_chain_leave(&c);
        assert_string_equal(c.path, "a");
        assert_int_equal(cay_files_chain_enter(&c, "l", 1), -ENOTDIR);
        assert_int_equal(cay_files_chain_enter(&c, "f", 1), -ENOTDIR);
        assert_int_equal(cay_files_chain_enter(&c, "none", 4), -ENOENT);
        assert_string_equal(c.path, "a");
        cay_files_chain_leave(&c);
        assert_int_equal(inode_here(&c), top);
        assert_int_equal(cay_files_chain_join(&c, "x", path, sizeof(path)), 1);
        cay_files_chain_done(&c);
        cay_files_chain_done(&c);
}

static void depth_costs_no_descriptors(void **state)
{
        enum { LEVELS = 2000 };
        static ino_t inodes[LEVELS + 1];
        unsigned before = fds_open();
        struct cay_files_chain c;

        (void)state;
        make_deep("d", LEVELS);
        assert_int_equal(chain_open(&c), 0);
        inodes[0] = inode_here(&c);
        for (unsigned i = 1; i <= LEVELS; i++) {
                assert_int_equal(cay_files_chain_enter(&c, "d", 1), 0);
                inodes[i] = inode_here(&c);
        }
        assert_true(fds_open() <= before + CAY_FILES_WINDOW + 1);
        assert_int_equal(strlen(c.path), 2 * LEVELS - 1);
        for (unsigned i = LEVELS; i-- > 0;) {
                cay_files_chain_leave(&c);
                assert_int_equal(inode_here(&c), inodes[i]);
                /* down and up again from anywhere: the slots of the window never mix up */
                if (i % 97 == 0 && i + 40 < LEVELS) {
                        for (unsigned k = 1; k <= 40; k++) {
                                assert_int_equal(cay_files_chain_enter(&c, "d", 1), 0);
                                assert_int_equal(inode_here(&c), inodes[i + k]);
                        }
                        for (unsigned k = 40; k-- > 0;) {
                                cay_files_chain_leave(&c);
                                assert_int_equal(inode_here(&c), inodes[i + k]);
                        }
                }
        }
        cay_files_chain_done(&c);
        assert_int_equal(fds_open(), before);
}

static void a_directory_that_was_swapped_is_not_taken_for_the_old_one(void **state)
{
        enum { LEVELS = 100 };
        struct cay_files_chain c;
        bool stale = false;

        (void)state;
        make_deep("d", LEVELS);
        assert_int_equal(chain_open(&c), 0);
        for (unsigned i = 0; i < LEVELS; i++)
                assert_int_equal(cay_files_chain_enter(&c, "d", 1), 0);
        shell("mv d/d old && mkdir -p d/d/d && ln -s ../../../old/d/d d/d/d/d");
        while (c.depth > 2 && !stale) {
                cay_files_chain_leave(&c);
                stale = cay_files_chain_fd(&c) == -ESTALE;
        }
        assert_true(stale);
        /* and it stays so until a level is reached that is where it was */
        while (c.depth > 1) {
                assert_int_equal(cay_files_chain_fd(&c), -ESTALE);
                cay_files_chain_leave(&c);
        }
        assert_true(cay_files_chain_fd(&c) >= 0);
        cay_files_chain_done(&c);
}

static void limits_hold(void **state)
{
        struct cay_files_chain c;
        char name[256];
        unsigned n = 0;
        int r;

        (void)state;
        memset(name, 'n', 255);
        name[255] = '\0';
        make_deep(name, 70);
        assert_int_equal(chain_open(&c), 0);
        while ((r = cay_files_chain_enter(&c, name, 255)) == 0)
                n++;
        assert_int_equal(r, -ENAMETOOLONG);
        assert_int_equal(n, (CAY_FILES_PATH_MAX + 1) / 256);
        assert_true(cay_files_chain_fd(&c) >= 0);
        assert_int_equal(strlen(c.path), n * 256 - 1);
        cay_files_chain_done(&c);
}

static void nobody_enters(void)
{
        struct cay_files_chain c;

        NOBODY_CHECK(chain_open(&c) == 0);
        NOBODY_CHECK(cay_files_chain_enter(&c, "closed", 6) == 0);
        NOBODY_CHECK(mkdirat(cay_files_chain_fd(&c), "x", 0700) < 0 && errno == EACCES);
        cay_files_chain_leave(&c);
        /* no listing, but things can be made in it */
        NOBODY_CHECK(cay_files_chain_enter(&c, "drop", 4) == 0);
        NOBODY_CHECK(mkdirat(cay_files_chain_fd(&c), "x", 0700) == 0);
        cay_files_chain_done(&c);
}

static void permissions_count(void **state)
{
        (void)state;
        if (getuid() != 0)
                skip();
        shell("mkdir -m 0700 closed above && mkdir -m 0733 drop");
        assert_int_equal(chmod("closed", 0), 0);
        as_nobody(nobody_enters);
}

static void mounts_differ(void **state)
{
        cay_auto_close int root = open("/", O_PATH | O_CLOEXEC), proc = open("/proc", O_PATH | O_CLOEXEC);

        (void)state;
        assert_true(cay_files_mount_of(root) > 0);
        assert_int_equal(cay_files_mount_of(root), cay_files_mount_of(root));
        assert_int_not_equal(cay_files_mount_of(root), cay_files_mount_of(proc));
        assert_int_equal(cay_files_mount_of(-1), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                FILE_TEST(steps_go_down_and_up),
                FILE_TEST(depth_costs_no_descriptors),
                FILE_TEST(a_directory_that_was_swapped_is_not_taken_for_the_old_one),
                FILE_TEST(limits_hold),
                FILE_TEST(permissions_count),
                FILE_TEST(mounts_differ),
        };

        return cmocka_run_group_tests_name("init/files_chain", tests, NULL, NULL);
}
