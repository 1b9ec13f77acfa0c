/* SPDX-License-Identifier: Apache-2.0 */
/* REMOVE: what was named goes, and nothing else. */

#include "test_files.h"

#include <sys/resource.h>
#include <sys/syscall.h>

static void single_entries_go(void **state)
{
        cay_auto(run_done) struct run r = { 0 };

        (void)state;
        shell("touch f keep && ln -s keep l && mkdir empty full && touch full/x && mkfifo p");
        assert_int_equal(run(&r, cay_file_remove, "f", NULL), CAY_OK);
        assert_int_equal(r.res.entries, 1);
        assert_int_equal(run(&r, cay_file_remove, "l", NULL), CAY_OK);
        assert_int_equal(run(&r, cay_file_remove, "p", NULL), CAY_OK);
        assert_int_equal(run(&r, cay_file_remove, "empty/", NULL), CAY_OK);
        assert_true(is_there("keep"));
        assert_int_equal(run(&r, cay_file_remove, "full", NULL), CAY_CONFLICT);
        assert_true(is_there("full/x"));
        assert_int_equal(run(&r, cay_file_remove, "f", NULL), CAY_NOT_FOUND);
        assert_int_equal(run(&r, cay_file_remove, "/", NULL), CAY_INVALID);
        r.flags = CAY_BOX_RECURSIVE;
        assert_int_equal(run(&r, cay_file_remove, "full/..", NULL), CAY_INVALID);
        assert_int_equal(run(&r, cay_file_remove, ".", NULL), CAY_INVALID);
        assert_int_equal(run(&r, cay_file_remove, "f", NULL), CAY_NOT_FOUND);
}

static void trees_go_and_links_are_not_followed(void **state)
{
        cay_auto(run_done) struct run r = { .flags = CAY_BOX_RECURSIVE };

        (void)state;
        shell("mkdir -p outside/dir tree/a/b/c tree/d && touch outside/f outside/dir/g tree/a/1 tree/a/b/c/2 "
              "&& "
              "ln -s ../outside tree/link && ln -s ../../outside/f tree/d/file && ln -s ../outside/dir "
              "tree/a/up && "
              "mkfifo tree/p && touch \"tree/$(printf 'new\\nline')\" \"tree/$(printf '\\377\\376')\"");
        assert_int_equal(run(&r, cay_file_remove, "tree", NULL), CAY_OK);
        assert_int_equal(r.res.entries, 13);
        assert_false(is_there("tree"));
        assert_true(is_there("outside/f") && is_there("outside/dir/g"));
        /* a link that is named goes itself */
        assert_int_equal(symlink("outside", "l"), 0);
        assert_int_equal(run(&r, cay_file_remove, "l", NULL), CAY_OK);
        assert_true(is_there("outside/f"));
}

static void deep_trees_go(void **state)
{
        static const unsigned levels[] = { 1, 127, 128, 129, 130, 2000 };
        cay_auto(run_done) struct run r = { .flags = CAY_BOX_RECURSIVE };
        char name[256];

        (void)state;
        for (size_t i = 0; i < CAY_COUNT(levels); i++) {
                make_deep("d", levels[i]);
                assert_int_equal(run(&r, cay_file_remove, "d", NULL), CAY_OK);
                assert_int_equal(r.res.entries, levels[i] + 1);
                assert_false(is_there("d"));
        }
        /* 380 kB of path: no string could hold its names, and none has to */
        memset(name, 'n', 255);
        name[255] = '\0';
        make_deep(name, 1500);
        assert_int_equal(run(&r, cay_file_remove, name, NULL), CAY_OK);
        assert_false(is_there(name));
}

static void few_descriptors_are_enough(void **state)
{
        cay_auto(run_done) struct run r = { .flags = CAY_BOX_RECURSIVE };
        struct rlimit old, small;

        (void)state;
        make_deep("d", 300);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
        small = (struct rlimit){ 24, old.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
        assert_int_equal(run(&r, cay_file_remove, "d", NULL), CAY_OK);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        assert_false(is_there("d"));
}

static void wide_trees_go(void **state)
{
        cay_auto(run_done) struct run r = { .flags = CAY_BOX_RECURSIVE };
        char name[64];

        (void)state;
        assert_int_equal(mkdir("w", 0755), 0);
        for (unsigned i = 0; i < 8000; i++) {
                snprintf(name, sizeof(name), "w/%u", i);
                if (i % 4 == 0) {
                        assert_int_equal(mkdir(name, 0755), 0);
                        snprintf(name, sizeof(name), "w/%u/x", i);
                }
                put_file(name, "");
        }
        assert_int_equal(run(&r, cay_file_remove, "w", NULL), CAY_OK);
        assert_int_equal(r.res.entries, 10001);
        assert_false(is_there("w"));
}

static void mounts_are_not_emptied(void **state)
{
        cay_auto(run_done) struct run r = { .flags = CAY_BOX_RECURSIVE };

        (void)state;
        if (getuid() != 0)
                skip();
        shell("mkdir -p tree/sub data && touch data/precious");
        assert_int_equal(mkdir("other", 0755), 0);
        if (mount("data", "tree/sub", NULL, MS_BIND, NULL) < 0)
                skip();
        if (mount("data", "other", NULL, MS_BIND, NULL) < 0)
                fail();
        assert_int_equal(run(&r, cay_file_remove, "tree", NULL), CAY_CONFLICT);
        assert_non_null(strstr(r.res.msg, "'sub'"));
        assert_int_equal(run(&r, cay_file_remove, "other", NULL), CAY_CONFLICT);
        assert_int_equal(umount2("tree/sub", MNT_DETACH), 0);
        assert_int_equal(umount2("other", MNT_DETACH), 0);
        assert_true(is_there("data/precious"));
}

static void nobody_removes(void)
{
        struct run r = { .flags = CAY_BOX_RECURSIVE };

        NOBODY_CHECK(run(&r, cay_file_remove, "tree", NULL) == CAY_DENIED);
        NOBODY_CHECK(strstr(r.res.msg, "'tree': '"));
        NOBODY_CHECK(run(&r, cay_file_remove, "closed", NULL) == CAY_DENIED);
}

static void permissions_are_the_users(void **state)
{
        (void)state;
        if (getuid() != 0)
                skip();
        shell("mkdir -p tree/a closed/b && touch tree/a/f && chmod 700 closed");
        as_nobody(nobody_removes);
        assert_true(is_there("tree/a/f"));
        assert_true(is_there("closed/b"));
}

/* Somebody swaps a directory of the tree for a link to the outside, all the time. */
static void a_swap_race_removes_nothing_outside(void **state)
{
        pid_t pid;

        (void)state;
        shell("mkdir outside && touch outside/1 outside/2");
        pid = fork_rival();
        if (pid == 0)
                for (;;)
                        syscall(SYS_renameat2, AT_FDCWD, "tree/x", AT_FDCWD, "link", 2u /* exchange */);
        for (unsigned i = 0; i < 3000; i++) {
                struct run r = { .flags = CAY_BOX_RECURSIVE };

                mkdir("tree", 0755);
                mkdir("tree/x", 0755);
                close(open("tree/x/f", O_CREAT | O_WRONLY, 0644));
                if (symlink("../outside", "link") < 0)
                        assert_int_equal(errno, EEXIST);
                run(&r, cay_file_remove, "tree", NULL); /* may succeed or find the tree changed */
                run(&r, cay_file_remove, "link", NULL);
                run_done(&r);
                if (!is_there("outside/1") || !is_there("outside/2"))
                        break;
        }
        end_rival(pid);
        assert_true(is_there("outside/1") && is_there("outside/2"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                FILE_TEST(single_entries_go),
                FILE_TEST(trees_go_and_links_are_not_followed),
                FILE_TEST(deep_trees_go),
                FILE_TEST(few_descriptors_are_enough),
                FILE_TEST(wide_trees_go),
                FILE_TEST(mounts_are_not_emptied),
                FILE_TEST(permissions_are_the_users),
                FILE_TEST(a_swap_race_removes_nothing_outside),
        };

        return cmocka_run_group_tests_name("init/files_remove", tests, NULL, NULL);
}
