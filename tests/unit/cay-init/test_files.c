/* SPDX-License-Identifier: Apache-2.0 */
/* Paths, parents and errors of the file workers. */

#include "test_files.h"

static void relative_paths_start_at_the_base(void **state)
{
        cay_auto_at struct cay_files_at at = { AT_FDCWD, "" };
        struct cay_error err;

        (void)state;
        assert_int_equal(cay_files_at_open(&at, "/etc", &err), 0);
        assert_int_equal(at.fd, AT_FDCWD);
        assert_int_equal(cay_files_at_open(&at, "x", &err), 0);
        assert_true(at.fd >= 0);
        cay_files_at_done(&at);
        assert_int_equal(cay_files_at_open(&at, "", &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        cay_files_base = "/nonexistent-base";
        assert_int_equal(cay_files_at_open(&at, "x", &err), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
}

static void parents_need_a_name(void **state)
{
        static const char *const bad[] = { "/", "//", ".", "..", "a/.", "a/..", "./", "../" };
        struct cay_error err;
        char name[256];
        int fd;

        (void)state;
        assert_int_equal(mkdir("a", 0755), 0);
        for (size_t i = 0; i < CAY_COUNT(bad); i++) {
                assert_int_equal(cay_files_parent_open(bad[i], &fd, name, &err), -1);
                assert_int_equal(err.code, CAY_INVALID);
        }
        assert_int_equal(cay_files_parent_open("a/b//", &fd, name, &err), 0);
        assert_string_equal(name, "b");
        close(fd);
        assert_int_equal(cay_files_parent_open("/etc", &fd, name, &err), 0);
        assert_string_equal(name, "etc");
        close(fd);
        assert_int_equal(cay_files_parent_open("missing/b", &fd, name, &err), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
}

static void parents_are_made_and_undone(void **state)
{
        struct cay_error err;
        unsigned made;

        (void)state;
        assert_int_equal(mkdir("a", 0755), 0);
        assert_int_equal(cay_files_parents_make("a/b/c/f", false, &made, &err), 0);
        assert_int_equal(made, 2);
        assert_true(is_there("a/b/c"));
        assert_false(is_there("a/b/c/f"));
        cay_files_parents_undo("a/b/c/f", false, made);
        assert_true(is_there("a"));
        assert_false(is_there("a/b"));
        assert_int_equal(cay_files_parents_make("a//b/./c/", true, &made, &err), 0);
        assert_true(is_there("a/b/c"));

        put_file("a/file", "");
        assert_int_equal(cay_files_parents_make("a/file/x/y", true, &made, &err), -1);
        assert_int_equal(err.code, CAY_CONFLICT);
        assert_int_equal(made, 0);

        /* what fails half way leaves nothing */
        memset(&err, 0, sizeof(err));
        {
                char path[600] = "a/n1/n2/";

                memset(path + 8, 'x', 300);
                assert_int_equal(cay_files_parents_make(path, true, &made, &err), -1);
                assert_int_equal(err.code, CAY_INVALID);
                assert_false(is_there("a/n1"));
        }
}

static void errors_have_codes_and_safe_names(void **state)
{
        struct cay_error err;

        (void)state;
        assert_int_equal(cay_files_fail(&err, -ENOSPC, "write", "a\nb"), -1);
        assert_int_equal(err.code, CAY_NO_SPACE);
        assert_int_equal(err.sys, ENOSPC);
        assert_non_null(strstr(err.msg, "write 'a%0Ab'"));
        assert_int_equal(cay_files_code(-EEXIST), CAY_EXISTS);
        assert_int_equal(cay_files_code(-EROFS), CAY_DENIED);
        assert_int_equal(cay_files_code(-ENOTEMPTY), CAY_CONFLICT);
        assert_int_equal(cay_files_code(-EIO), CAY_INTERNAL);
}

static void times_beyond_64_bits_are_clamped(void **state)
{
        struct stat st = { .st_mtim = { .tv_sec = INT64_MAX } };

        (void)state;
        assert_true(cay_files_mtime_ns(&st) > INT64_C(9000000000000000000));
        st.st_mtim.tv_sec = INT64_MIN;
        assert_true(cay_files_mtime_ns(&st) < -INT64_C(9000000000000000000));
        st.st_mtim = (struct timespec){ -1, 999999999 };
        assert_int_equal(cay_files_mtime_ns(&st), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                FILE_TEST(relative_paths_start_at_the_base), FILE_TEST(parents_need_a_name),
                FILE_TEST(parents_are_made_and_undone),      FILE_TEST(errors_have_codes_and_safe_names),
                FILE_TEST(times_beyond_64_bits_are_clamped),
        };

        return cmocka_run_group_tests_name("init/files", tests, NULL, NULL);
}
