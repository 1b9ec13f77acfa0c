/* SPDX-License-Identifier: Apache-2.0 */
/* STAT, MKDIR, SYMLINK, MOVE. */

#include "test_files.h"

static void stat_tells_what_there_is(void **state)
{
        cay_auto(run_done) struct run r = { 0 };
        struct timespec times[2] = { { 0, 0 }, { 1700000000, 5 } };

        (void)state;
        put_file("f", "abc");
        assert_int_equal(chmod("f", 0640), 0);
        assert_int_equal(utimensat(AT_FDCWD, "f", times, 0), 0);
        assert_int_equal(symlink("f", "l"), 0);
        assert_int_equal(run(&r, cay_file_stat, "f", NULL), CAY_OK);
        assert_int_equal(r.res.type, CAY_FILE_REGULAR);
        assert_int_equal(r.res.mode, 0640);
        assert_int_equal(r.res.size, 3);
        assert_int_equal(r.res.mtime_ns, INT64_C(1700000000000000005));
        assert_int_equal(run(&r, cay_file_stat, "l", NULL), CAY_OK);
        assert_int_equal(r.res.type, CAY_FILE_SYMLINK);
        assert_string_equal(r.res.target, "f");
        assert_string_equal(r.res.name, "l");
        r.flags = CAY_BOX_FOLLOW;
        assert_int_equal(run(&r, cay_file_stat, "l", NULL), CAY_OK);
        assert_int_equal(r.res.type, CAY_FILE_REGULAR);
        assert_string_equal(r.res.target, "");
        assert_int_equal(run(&r, cay_file_stat, ".", NULL), CAY_OK);
        assert_int_equal(r.res.type, CAY_FILE_DIRECTORY);
        assert_int_equal(run(&r, cay_file_stat, "/dev/null", NULL), CAY_OK);
        assert_int_equal(r.res.type, CAY_FILE_DEVICE);
        assert_int_equal(run(&r, cay_file_stat, "nothing", NULL), CAY_NOT_FOUND);
        assert_int_equal(run(&r, cay_file_stat, "", NULL), CAY_INVALID);
}

static void a_long_target_is_whole(void **state)
{
        cay_auto(run_done) struct run r = { 0 };
        char target[4096]; /* the longest there is */

        (void)state;
        memset(target, 't', sizeof(target) - 1);
        target[sizeof(target) - 1] = '\0';
        assert_int_equal(symlink(target, "l"), 0);
        assert_int_equal(run(&r, cay_file_stat, "l", NULL), CAY_OK);
        assert_string_equal(r.res.target, target);
        assert_int_equal(r.res.size, sizeof(target) - 1);
}

static void odd_names_are_names(void **state)
{
        static const char *const names[] = { "new\nline", "quo'te\"", "\xff\xfe\x80", "<b>&amp;<b>",
                                             " ",         "-rf",      "%00" };
        cay_auto(run_done) struct run r = { 0 };

        (void)state;
        for (size_t i = 0; i < CAY_COUNT(names); i++) {
                assert_int_equal(run(&r, cay_file_mkdir, names[i], NULL), CAY_OK);
                assert_int_equal(run(&r, cay_file_stat, names[i], NULL), CAY_OK);
                assert_string_equal(r.res.name, names[i]);
                assert_int_equal(run(&r, cay_file_mkdir, names[i], NULL), CAY_EXISTS);
                for (const char *c = r.res.msg; *c; c++)
                        assert_true(*c >= ' ' && *c <= '~');
        }
}

static void mkdir_makes_what_was_asked(void **state)
{
        cay_auto(run_done) struct run r = { .mode = 07750 };

        (void)state;
        umask(077);
        assert_int_equal(run(&r, cay_file_mkdir, "d", NULL), CAY_OK);
        assert_int_equal(mode_of("d"), 0750);
        assert_int_equal(r.res.type, CAY_FILE_DIRECTORY);
        assert_int_equal(run(&r, cay_file_mkdir, "d", NULL), CAY_EXISTS);
        assert_int_equal(run(&r, cay_file_mkdir, "x/y/z", NULL), CAY_NOT_FOUND);
        r.flags = CAY_BOX_PARENTS;
        assert_int_equal(run(&r, cay_file_mkdir, "d", NULL), CAY_OK);
        assert_int_equal(run(&r, cay_file_mkdir, "x/y/z/", NULL), CAY_OK);
        assert_int_equal(mode_of("x"), 0755);
        assert_int_equal(mode_of("x/y/z"), 0750);
        put_file("f", "");
        assert_int_equal(run(&r, cay_file_mkdir, "f", NULL), CAY_EXISTS);
        assert_int_equal(run(&r, cay_file_mkdir, "f/g/h", NULL), CAY_CONFLICT);
}

static void symlinks_are_text(void **state)
{
        cay_auto(run_done) struct run r = { 0 };
        char text[64] = "";

        (void)state;
        assert_int_equal(run(&r, cay_file_symlink, "l", "../../anywhere"), CAY_OK);
        assert_int_equal(readlink("l", text, sizeof(text) - 1), 14);
        assert_string_equal(text, "../../anywhere");
        assert_int_equal(run(&r, cay_file_symlink, "l", "other"), CAY_EXISTS);
        assert_int_equal(run(&r, cay_file_symlink, "m", ""), CAY_INVALID);
        assert_int_equal(run(&r, cay_file_symlink, "no/m", "x"), CAY_NOT_FOUND);
        r.flags = CAY_BOX_PARENTS;
        assert_int_equal(run(&r, cay_file_symlink, "no/m", "x"), CAY_OK);
}

static void move_renames(void **state)
{
        cay_auto(run_done) struct run r = { 0 };

        (void)state;
        put_file("a", "a");
        put_file("b", "b");
        r.flags = CAY_BOX_EXCLUSIVE;
        assert_int_equal(run(&r, cay_file_move, "a", "b"), CAY_EXISTS);
        assert_string_equal(get_file("b"), "b");
        assert_int_equal(run(&r, cay_file_move, "a", "c"), CAY_OK);
        assert_string_equal(get_file("c"), "a");
        assert_false(is_there("a"));
        r.flags = 0;
        assert_int_equal(run(&r, cay_file_move, "c", "b"), CAY_OK);
        assert_string_equal(get_file("b"), "a");
        assert_int_equal(mkdir("d", 0755), 0);
        assert_int_equal(run(&r, cay_file_move, "d/", "e/"), CAY_OK);
        assert_true(is_there("e"));
        assert_int_equal(run(&r, cay_file_move, "nothing", "x"), CAY_NOT_FOUND);
        assert_int_equal(run(&r, cay_file_move, "b", "no/b"), CAY_NOT_FOUND);
        r.flags = CAY_BOX_PARENTS;
        assert_int_equal(run(&r, cay_file_move, "nothing", "no/b"), CAY_NOT_FOUND);
        assert_false(is_there("no"));
        assert_int_equal(run(&r, cay_file_move, "b", "no/b"), CAY_OK);
        assert_int_equal(run(&r, cay_file_move, "e", "e/inside"), CAY_INVALID);
        assert_int_equal(run(&r, cay_file_move, "e/..", "x"), CAY_INVALID);
        /* a link moves as a link */
        assert_int_equal(symlink("no/b", "l"), 0);
        assert_int_equal(run(&r, cay_file_move, "l", "m"), CAY_OK);
        assert_int_equal(readlink("m", (char[8]){ 0 }, 7), 4);
}

static void move_goes_across_file_systems(void **state)
{
        cay_auto(run_done) struct run r = { .flags = CAY_BOX_EXCLUSIVE };
        struct stat st;

        (void)state;
        assert_int_equal(mkdir("other", 0755), 0);
        if (getuid() != 0 || mount("none", "other", "tmpfs", 0, "size=1m") < 0)
                skip();
        put_file("f", "content");
        assert_int_equal(chmod("f", 0750), 0);
        assert_int_equal(utimensat(AT_FDCWD, "f", (struct timespec[2]){ { 5, 0 }, { 1000000000, 0 } }, 0), 0);
        assert_int_equal(run(&r, cay_file_move, "f", "other/g"), CAY_OK);
        assert_false(is_there("f"));
        assert_string_equal(get_file("other/g"), "content");
        assert_int_equal(stat("other/g", &st), 0);
        assert_int_equal(st.st_mode & 07777, 0750);
        assert_int_equal(st.st_mtime, 1000000000);
        put_file("f", "second");
        assert_int_equal(run(&r, cay_file_move, "f", "other/g"), CAY_EXISTS);
        assert_string_equal(get_file("f"), "second");
        assert_string_equal(get_file("other/g"), "content");
        r.flags = 0;
        assert_int_equal(run(&r, cay_file_move, "f", "other/g"), CAY_OK);
        assert_string_equal(get_file("other/g"), "second");
        assert_int_equal(symlink("t", "l"), 0);
        assert_int_equal(run(&r, cay_file_move, "l", "other/l"), CAY_OK);
        assert_int_equal(mkdir("d", 0755), 0);
        assert_int_equal(run(&r, cay_file_move, "d", "other/d"), CAY_CONFLICT);
        /* what does not fit leaves nothing behind */
        assert_int_equal(truncate("other/g", 0), 0);
        shell("head -c 2000000 /dev/zero >big");
        assert_int_equal(run(&r, cay_file_move, "big", "other/big"), CAY_NO_SPACE);
        assert_true(is_there("big"));
        shell("test \"$(ls -A other | tr '\\n' ' ')\" = 'g l '");
        assert_int_equal(umount2("other", MNT_DETACH), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                FILE_TEST(stat_tells_what_there_is),
                FILE_TEST(a_long_target_is_whole),
                FILE_TEST(odd_names_are_names),
                FILE_TEST(mkdir_makes_what_was_asked),
                FILE_TEST(symlinks_are_text),
                FILE_TEST(move_renames),
                FILE_TEST(move_goes_across_file_systems),
        };

        return cmocka_run_group_tests_name("init/files_meta", tests, NULL, NULL);
}
