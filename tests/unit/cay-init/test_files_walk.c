/* SPDX-License-Identifier: Apache-2.0 */
/* Walks: everything once, links not followed, other mounts not entered, any depth and width. */

#include "test_files.h"

#include "cay-init/files_walk.h"

struct totals {
        unsigned entries, left, refused, files, links;
};

static struct totals walk(unsigned only_odd)
{
        static struct cay_files_walk w;
        struct totals t = { 0 };
        int r;

        assert_int_equal(cay_files_walk_init_take(&w, open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), 0);
        while ((r = cay_files_walk_next(&w)) != CAY_FILES_END) {
                assert_true(r > 0);
                if (r == CAY_FILES_LEAVE) {
                        t.left++;
                        continue;
                }
                t.entries++;
                t.files += w.dtype == DT_REG;
                t.links += w.dtype == DT_LNK;
                if (only_odd && t.entries % 2 == 0)
                        continue;
                if (cay_files_walk_descend(&w) < 0)
                        t.refused++;
        }
        assert_int_equal(cay_files_walk_next(&w), CAY_FILES_END);
        cay_files_walk_done(&w);
        return t;
}

static void everything_is_seen_once(void **state)
{
        struct totals t;

        (void)state;
        shell("mkdir -p a/b/c d e && touch a/1 a/2 a/b/3 d/4 5 && ln -s a l && ln -s / root && mkfifo p");
        t = walk(0);
        assert_int_equal(t.entries, 13);
        assert_int_equal(t.left, 5);
        assert_int_equal(t.refused, 8);
        assert_int_equal(t.files, 5);
        assert_int_equal(t.links, 2);
}

static void many_directories_with_something_in_them(void **state)
{
        struct totals t;

        (void)state;
        for (unsigned i = 0; i < 3000; i++) {
                char name[64];

                snprintf(name, sizeof(name), "directory-number-%u", i);
                assert_int_equal(mkdir(name, 0755), 0);
                if (i % 2 == 0) {
                        snprintf(name, sizeof(name), "directory-number-%u/x", i);
                        put_file(name, "");
                }
        }
        t = walk(0);
        assert_int_equal(t.entries, 4500);
        assert_int_equal(t.left, 3000);
        t = walk(1); /* what is not descended into is passed by */
        assert_true(t.entries >= 3000 && t.left < 3000);
}

static void deep_trees_end(void **state)
{
        struct totals t;

        (void)state;
        make_deep("d", 1700);
        shell("mkdir side && touch side/s");
        t = walk(0);
        assert_int_equal(t.entries, 1703);
        assert_int_equal(t.left, 1701);
}

static void too_deep_is_an_error_of_one_entry(void **state)
{
        struct totals t;

        (void)state;
        make_deep("d", CAY_FILES_DEPTH_MAX + 10);
        shell("touch other");
        t = walk(0);
        assert_int_equal(t.left, CAY_FILES_DEPTH_MAX);
        assert_int_equal(t.entries, CAY_FILES_DEPTH_MAX + 2);
}

static void mounts_are_not_entered(void **state)
{
        struct totals t;

        (void)state;
        assert_int_equal(mkdir("other", 0755), 0);
        if (getuid() != 0)
                skip();
        shell("mkdir same same/x");
        /* A bind mount has the same device, and is another mount all the same. */
        if (mount("same", "other", NULL, MS_BIND, NULL) < 0)
                skip();
        t = walk(0);
        assert_int_equal(umount2("other", MNT_DETACH), 0);
        assert_int_equal(t.entries, 3);
        assert_int_equal(t.left, 2);
        assert_int_equal(t.refused, 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                FILE_TEST(everything_is_seen_once), FILE_TEST(many_directories_with_something_in_them),
                FILE_TEST(deep_trees_end),          FILE_TEST(too_deep_is_an_error_of_one_entry),
                FILE_TEST(mounts_are_not_entered),
        };

        return cmocka_run_group_tests_name("init/files_walk", tests, NULL, NULL);
}
