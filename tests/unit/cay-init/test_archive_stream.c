/* SPDX-License-Identifier: Apache-2.0 */
/* A tar stream through its buffer: sizes that are promises, and a limit that breaks nothing off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cay-init/archive_stream.h"

static struct cay_archive_stream s;
static char text[4 * CAY_FILES_BUFFER];
static int out;

static int set_up(void **state)
{
        (void)state;
        out = memfd_create("out", MFD_CLOEXEC);
        return out < 0;
}

static int tear_down(void **state)
{
        (void)state;
        return close(out);
}

static int make_file(size_t size)
{
        int fd = memfd_create("in", MFD_CLOEXEC);

        assert_true(fd >= 0);
        memset(text, 'x', size);
        assert_int_equal(write(fd, text, size), size);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        return fd;
}

static struct cay_tar_member member(const char *name, uint64_t size)
{
        return (struct cay_tar_member){
                .type = CAY_TAR_FILE, .mode = 0600, .size = size, .name = name, .link = ""
        };
}

static size_t get(void)
{
        struct stat st;

        assert_int_equal(fstat(out, &st), 0);
        assert_true((size_t)st.st_size <= sizeof(text));
        assert_int_equal(pread(out, text, sizeof(text), 0), st.st_size);
        return (size_t)st.st_size;
}

/* Larger than the buffer, so that it is sent in parts. */
static void what_is_promised_is_sent(void **state)
{
        const size_t sizes[] = { 0, 1, CAY_TAR_BLOCK, CAY_FILES_BUFFER - CAY_TAR_BLOCK,
                                 2 * CAY_FILES_BUFFER + 7 };
        struct cay_error err = { 0 };

        for (unsigned i = 0; i < CAY_COUNT(sizes); i++) {
                struct cay_tar_member m = member("a", sizes[i]);
                int fd = make_file(sizes[i] - sizes[i] / 3); /* it has shrunk */
                size_t len;

                assert_int_equal(ftruncate(out, 0), 0);
                assert_int_equal(lseek(out, 0, SEEK_SET), 0);
                cay_archive_stream_init(&s, out, "archive", 0);
                assert_int_equal(cay_archive_stream_member(&s, &m, &err), 0);
                assert_int_equal(cay_archive_stream_file(&s, fd, sizes[i], "a", &err), 0);
                assert_int_equal(cay_archive_stream_end(&s, &err), 0);
                close(fd);
                len = get();
                assert_int_equal(len, 3 * CAY_TAR_BLOCK + sizes[i] + cay_tar_padding(sizes[i]));
                assert_int_equal(s.bytes, len);
                for (size_t at = 0; at < len - CAY_TAR_BLOCK; at++)
                        assert_int_equal(text[CAY_TAR_BLOCK + at], at < sizes[i] - sizes[i] / 3 ? 'x' : '\0');
        }
        (void)state;
}

static void bytes_are_padded(void **state)
{
        struct cay_tar_member m = member("list", 3);
        struct cay_error err = { 0 };

        cay_archive_stream_init(&s, out, "changes", 0);
        assert_int_equal(cay_archive_stream_member(&s, &m, &err), 0);
        assert_int_equal(cay_archive_stream_bytes(&s, "abc", 3, &err), 0);
        assert_int_equal(cay_archive_stream_end(&s, &err), 0);
        assert_int_equal(get(), 4 * CAY_TAR_BLOCK);
        assert_memory_equal(text + CAY_TAR_BLOCK, "abc\0", 4);
        (void)state;
}

/* Exactly as much as fits does; one byte less, and the member is not begun. */
static void the_limit_counts_the_end(void **state)
{
        struct cay_tar_member m = member("a", 1);
        struct cay_error err = { 0 };

        cay_archive_stream_init(&s, out, "archive", 4 * CAY_TAR_BLOCK);
        assert_int_equal(cay_archive_stream_member(&s, &m, &err), 0);
        cay_archive_stream_init(&s, out, "archive", 4 * CAY_TAR_BLOCK - 1);
        assert_int_equal(cay_archive_stream_member(&s, &m, &err), -1);
        assert_int_equal(err.code, CAY_LIMIT);
        assert_non_null(strstr(err.msg, "'a'"));
        assert_int_equal(s.bytes, 0);
        assert_int_equal(cay_archive_stream_end(&s, &err), 0);
        assert_int_equal(get(), 2 * CAY_TAR_BLOCK);
        (void)state;
}

static void a_name_that_cannot_be_written_is_said(void **state)
{
        static char name[CAY_TAR_NAME_MAX + 2];
        struct cay_tar_member m = member(name, 0);
        struct cay_error err = { 0 };

        memset(name, 'n', sizeof(name) - 1);
        cay_archive_stream_init(&s, out, "archive", 0);
        assert_int_equal(cay_archive_stream_member(&s, &m, &err), 1);
        assert_true(s.bytes == 0 && err.code == CAY_OK);
        (void)state;
}

static void a_reader_that_went_is_an_error(void **state)
{
        struct cay_error err = { 0 };

        cay_archive_stream_init(&s, -1, "archive", 0);
        assert_int_equal(cay_archive_stream_end(&s, &err), -1);
        assert_non_null(strstr(err.msg, "send the archive"));
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(what_is_promised_is_sent, set_up, tear_down),
                cmocka_unit_test_setup_teardown(bytes_are_padded, set_up, tear_down),
                cmocka_unit_test_setup_teardown(the_limit_counts_the_end, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_name_that_cannot_be_written_is_said, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_reader_that_went_is_an_error, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
