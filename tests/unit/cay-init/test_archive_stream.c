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
#include "foundation/tar/tar_reader.h"

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

/* Reads a stream back: what is data and what is a hole. */
static struct log {
        struct cay_tar_sink sink;
        char said[512];
        size_t len;
} seen;

static int on_member(struct cay_tar_sink *sink, const struct cay_tar_member *m, struct cay_error *err)
{
        (void)sink, (void)err;
        seen.len += (size_t)snprintf(seen.said + seen.len, sizeof(seen.said) - seen.len, "%s:%llu", m->name,
                                     (unsigned long long)m->size);
        return 0;
}

static uint64_t run_bytes;

static int on_data(struct cay_tar_sink *sink, const void *bytes, size_t len, struct cay_error *err)
{
        (void)sink, (void)err, (void)bytes;
        run_bytes += len;
        return 0;
}

static void run_end(void)
{
        if (run_bytes > 0)
                seen.len += (size_t)snprintf(seen.said + seen.len, sizeof(seen.said) - seen.len, "+%llu",
                                             (unsigned long long)run_bytes);
        run_bytes = 0;
}

static int on_hole(struct cay_tar_sink *sink, uint64_t len, struct cay_error *err)
{
        (void)sink, (void)err;
        run_end();
        seen.len += (size_t)snprintf(seen.said + seen.len, sizeof(seen.said) - seen.len, "-%llu",
                                     (unsigned long long)len);
        return 0;
}

static int on_end(struct cay_tar_sink *sink, struct cay_error *err)
{
        (void)sink, (void)err;
        run_end();
        seen.said[seen.len++] = ';';
        return 0;
}

static const char *read_back(size_t piece)
{
        static const struct cay_tar_sink_ops ops = { on_member, on_data, on_end, on_hole };
        static struct cay_tar_reader reader;
        struct cay_error err = { 0 };
        size_t len = get();

        memset(&seen, 0, sizeof(seen));
        seen.sink.ops = &ops;
        cay_tar_reader_init(&reader, &seen.sink);
        for (size_t at = 0; at < len; at += piece)
                assert_int_equal(cay_tar_reader_feed(&reader, text + at, len - at < piece ? len - at : piece,
                                                     &err),
                                 0);
        assert_int_equal(cay_tar_reader_finish(&reader, &err), 0);
        return seen.said;
}

static uint64_t send_sparse(int fd, const char *name)
{
        struct cay_error err = { 0 };
        struct cay_tar_member m;
        struct stat st;

        assert_int_equal(fstat(fd, &st), 0);
        m = member(name, (uint64_t)st.st_size);
        assert_int_equal(ftruncate(out, 0), 0);
        assert_int_equal(lseek(out, 0, SEEK_SET), 0);
        cay_archive_stream_init(&s, out, "archive", 0);
        m.stored = cay_archive_stream_map(&s, fd, &st);
        assert_int_equal(cay_archive_stream_member(&s, &m, &err), 0);
        if (m.stored > 0)
                assert_int_equal(cay_archive_stream_pieces(&s, fd, name, &err), 0);
        else
                assert_int_equal(cay_archive_stream_file(&s, fd, m.size, name, &err), 0);
        assert_int_equal(cay_archive_stream_end(&s, &err), 0);
        assert_int_equal(s.bytes, get());
        return m.stored;
}

/*
 * A hole at the end, at the beginning, in the middle; one that is too small to be told; a file that is none
 * but a hole.
 */
static void holes_stay_holes(void **state)
{
        static const size_t pieces[] = { 1, 511, 512, 65536 };
        const off_t far = (off_t)1 << 40;
        int fd = make_file(4096);

        for (unsigned i = 0; i < CAY_COUNT(pieces); i++) {
                assert_int_equal(ftruncate(fd, far), 0);
                assert_true(send_sparse(fd, "a") > 0);
                assert_string_equal(read_back(pieces[i]), "a:1099511627776+4096-1099511623680;");
        }
        assert_int_equal(pwrite(fd, "x", 1, far - 4096), 1);
        assert_int_equal(pwrite(fd, "x", 1, 1 << 20), 1);
        assert_int_equal(pwrite(fd, "x", 1, (1 << 20) + 12288), 1); /* 8192 bytes of a hole between them */
        assert_true(send_sparse(fd, "a") > 0);
        assert_string_equal(read_back(700), "a:1099511627776+4096-1044480+16384-1099510558720+4096;");
        close(fd);

        fd = make_file(0);
        assert_int_equal(ftruncate(fd, 1 << 20), 0);
        assert_int_equal(send_sparse(fd, "none"), CAY_TAR_BLOCK);
        assert_string_equal(read_back(700), "none:1048576-1048576;");
        assert_int_equal(pwrite(fd, text, 4096, 1 << 19), 4096);
        assert_true(send_sparse(fd, "b") > 0);
        assert_string_equal(read_back(700), "b:1048576-524288+4096-520192;");
        close(fd);

        fd = make_file(100000); /* none: sent as ever */
        assert_int_equal(send_sparse(fd, "full"), 0);
        assert_string_equal(read_back(700), "full:100000+100000;");
        close(fd);
        (void)state;
}

/* More pieces than a map has: the smaller holes are sent as zeros, the large one is not. */
static void small_holes_give_way(void **state)
{
        int fd = make_file(0);

        for (off_t i = 0; i < 2 * (off_t)CAY_TAR_PIECES_MAX; i++)
                assert_int_equal(pwrite(fd, "x", 1, i * 32768), 1);
        assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        {
                struct stat st;

                assert_int_equal(fstat(fd, &st), 0);
                cay_archive_stream_init(&s, out, "archive", 0);
                /* 8191 × 32768 + 4096 bytes in one piece, and the map of "2\n…": one block */
                assert_int_equal(cay_archive_stream_map(&s, fd, &st),
                                 (2 * (uint64_t)CAY_TAR_PIECES_MAX - 1) * 32768 + 4096 + CAY_TAR_BLOCK);
        }
        close(fd);
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
                cmocka_unit_test_setup_teardown(holes_stay_holes, set_up, tear_down),
                cmocka_unit_test_setup_teardown(small_holes_give_way, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
