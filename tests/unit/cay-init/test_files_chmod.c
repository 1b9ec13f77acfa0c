/* SPDX-License-Identifier: Apache-2.0 */
/* CHMOD: permission bits and nothing else, of what was named and nothing else. */

#include "test_files.h"

#include "tools/old_kernel.h"

static void bits_are_set_and_cut(void **state)
{
        cay_auto(run_done) struct run r = { .mode = 07751 };

        (void)state;
        put_file("f", "");
        assert_int_equal(run(&r, cay_file_chmod, "f", NULL), CAY_OK);
        assert_int_equal(mode_of("f"), 0751);
        assert_int_equal(r.res.mode, 0751);
        assert_int_equal(chmod("f", 06755), 0);
        r.mode = 0700;
        assert_int_equal(run(&r, cay_file_chmod, "f", NULL), CAY_OK);
        assert_int_equal(mode_of("f"), 0700);
        r.mode = 0;
        assert_int_equal(run(&r, cay_file_chmod, "f", NULL), CAY_OK);
        assert_int_equal(mode_of("f"), 0);
        assert_int_equal(run(&r, cay_file_chmod, "none", NULL), CAY_NOT_FOUND);
}

static void links_are_not_followed_unless_asked(void **state)
{
        cay_auto(run_done) struct run r = { .mode = 0600 };

        (void)state;
        put_file("f", "");
        assert_int_equal(symlink("f", "l"), 0);
        assert_int_equal(run(&r, cay_file_chmod, "l", NULL), CAY_CONFLICT);
        assert_int_equal(mode_of("f"), 0644);
        r.flags = CAY_BOX_FOLLOW;
        assert_int_equal(run(&r, cay_file_chmod, "l", NULL), CAY_OK);
        assert_int_equal(mode_of("f"), 0600);
}

static void trees_are_changed_without_leaving_them(void **state)
{
        cay_auto(run_done) struct run r = { .mode = 0700, .flags = CAY_BOX_RECURSIVE };

        (void)state;
        shell("mkdir -p out t/a/b && touch out/f t/a/f t/a/b/g && ln -s ../out t/l && ln -s ../../out/f "
              "t/a/m && mkfifo t/p");
        assert_int_equal(run(&r, cay_file_chmod, "t", NULL), CAY_OK);
        assert_int_equal(r.res.entries, 6);
        assert_int_equal(mode_of("t/a/b/g"), 0700);
        assert_int_equal(mode_of("t/a/f"), 0700);
        assert_int_equal(mode_of("t/p"), 0700);
        assert_int_equal(mode_of("out"), 0755);
        assert_int_equal(mode_of("out/f"), 0644);
        /* of a link to a tree, the link is refused */
        assert_int_equal(run(&r, cay_file_chmod, "t/l", NULL), CAY_CONFLICT);
}

static void nobody_closes_and_opens(void)
{
        struct run r = { .mode = 0, .flags = CAY_BOX_RECURSIVE };

        NOBODY_CHECK(mkdir("mine", 0755) == 0 && mkdir("mine/a", 0755) == 0 && mkdir("mine/a/b", 0755) == 0);
        close(open("mine/a/b/f", O_CREAT | O_WRONLY, 0644));
        NOBODY_CHECK(run(&r, cay_file_chmod, "mine", NULL) == CAY_OK);
        NOBODY_CHECK(r.res.entries == 4);
        NOBODY_CHECK(mode_of("mine") == 0);
        r.mode = 0755;
        NOBODY_CHECK(run(&r, cay_file_chmod, "mine", NULL) == CAY_OK);
        NOBODY_CHECK(mode_of("mine/a/b/f") == 0755);
        NOBODY_CHECK(run(&r, cay_file_chmod, "roots", NULL) == CAY_DENIED);
}

static void closed_trees_are_opened(void **state)
{
        (void)state;
        if (getuid() != 0)
                skip();
        put_file("roots", "");
        as_nobody(nobody_closes_and_opens);
        assert_int_equal(mode_of("roots"), 0644);
}

static void deep_trees_are_changed(void **state)
{
        cay_auto(run_done) struct run r = { .mode = 0750, .flags = CAY_BOX_RECURSIVE };

        (void)state;
        make_deep("d", 1600);
        assert_int_equal(run(&r, cay_file_chmod, "d", NULL), CAY_OK);
        assert_int_equal(r.res.entries, 1601);
        assert_int_equal(mode_of("d/d/d"), 0750);
}

/* From here on there is no fchmodat2; what is blocked stays so, hence at the end. */
static void an_older_kernel(void **state)
{
        (void)state;
        assert_int_equal(old_kernel_block("fchmodat2"), 0);
        assert_true(old_kernel_lacks("fchmodat2"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                FILE_TEST(bits_are_set_and_cut),
                FILE_TEST(links_are_not_followed_unless_asked),
                FILE_TEST(trees_are_changed_without_leaving_them),
                FILE_TEST(closed_trees_are_opened),
                FILE_TEST(deep_trees_are_changed),
                cmocka_unit_test(an_older_kernel),
                FILE_TEST(bits_are_set_and_cut),
                FILE_TEST(links_are_not_followed_unless_asked),
                FILE_TEST(trees_are_changed_without_leaving_them),
                FILE_TEST(closed_trees_are_opened),
                FILE_TEST(deep_trees_are_changed),
        };

        return cmocka_run_group_tests_name("init/files_chmod", tests, NULL, NULL);
}
