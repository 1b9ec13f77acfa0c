/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a change set: what was written is read back, and nothing else is. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "foundation/tar/change.h"
#include "foundation/tar/tar_reader.h"

static void same(const struct cay_change_base *a, const struct cay_change_base *b)
{
        assert_int_equal(a->type, b->type);
        assert_int_equal(a->mode, b->mode);
        assert_true(a->size == b->size && a->ino == b->ino);
        assert_true(a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns);
}

static void records_go_both_ways(void **state)
{
        static const struct cay_change_base rows[] = {
                { CAY_CHANGE_NONE, 0, 0, 0, 0, 0 },
                { CAY_CHANGE_UNKNOWN, 0, 0, 0, 0, 0 },
                { CAY_CHANGE_FILE, 0644, 123, 77, 1600000000123456789, 1600000000987654321 },
                { CAY_CHANGE_DIRECTORY, 01777, 4096, UINT64_MAX, -1, 0 },
                { CAY_CHANGE_SYMLINK, 0777, INT64_MAX, 1, INT64_MIN, INT64_MAX },
                { CAY_CHANGE_OTHER, 07777, 0, 0, 0, 0 },
        };

        (void)state;
        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                char text[CAY_TAR_BASE_MAX + 1];
                struct cay_change_base back;
                unsigned len = cay_change_base_format(&rows[i], text);

                assert_int_equal(len, strlen(text));
                assert_int_equal(cay_change_base_parse(text, &back), 0);
                same(&rows[i], &back);
        }
}

static void other_records_are_refused(void **state)
{
        static const char *const rows[] = {
                "x",
                "f",
                "f:",
                "f:644",
                "f:644:1:2:3",
                "f:644:1:2:3:",
                "f:644:1:2:3:4:",
                "f:644:1:2:3:4:5",
                "F:644:1:2:3:4",
                "x:644:1:2:3:4",
                "f:0644:1:2:3:4",
                "f:8:1:2:3:4",
                "f:17777:1:2:3:4",
                "f:644:01:2:3:4",
                "f:644:-1:2:3:4",
                "f:644:9223372036854775808:2:3:4",
                "f:644:1:-0:3:4",
                "f:644:1:+2:3:4",
                "f:644:1:9223372036854775808:3:4",
                "f:644:1:2:-9223372036854775809:4",
                "f:644:1:2:3:18446744073709551616",
                "f:644:1: 2:3:4",
                "f:644:1:2:3:4 ",
                "??",
                ":644:1:2:3:4",
        };
        struct cay_change_base b;

        (void)state;
        for (size_t i = 0; i < CAY_COUNT(rows); i++)
                if (cay_change_base_parse(rows[i], &b) != -EINVAL)
                        fail_msg("'%s' was taken", rows[i]);
        assert_int_equal(cay_change_base_parse("f:644:1:2:-9223372036854775808:18446744073709551615", &b), 0);
}

static void stat_becomes_a_record(void **state)
{
        struct stat st = { .st_mode = S_IFREG | 0640, .st_size = 9, .st_ino = 5 };
        struct cay_change_base b;

        (void)state;
        st.st_mtim = (struct timespec){ 2, 3 };
        st.st_ctim = (struct timespec){ INT64_MAX / 2, 0 };
        cay_change_base_of(&st, &b);
        same(&b, &(struct cay_change_base){ CAY_CHANGE_FILE, 0640, 9, 5, 2000000003, INT64_MAX });
        st.st_mode = S_IFIFO | 0600;
        st.st_ctim.tv_sec = INT64_MIN / 2;
        cay_change_base_of(&st, &b);
        assert_int_equal(b.type, CAY_CHANGE_OTHER);
        assert_true(b.ctime_ns == INT64_MIN);
}

static void names_are_plain(void **state)
{
        static char longest[CAY_CHANGE_PATH_MAX + 2];
        char name[CAY_CHANGE_NAME_MAX + 2];

        (void)state;
        assert_true(cay_change_path_is_valid("a"));
        assert_true(cay_change_path_is_valid("a/.b/..c/d..."));
        assert_true(cay_change_path_is_valid("\xc3\xa4/\n \xff"));
        assert_false(cay_change_path_is_valid(""));
        assert_false(cay_change_path_is_valid("/a"));
        assert_false(cay_change_path_is_valid("a/"));
        assert_false(cay_change_path_is_valid("a//b"));
        assert_false(cay_change_path_is_valid("."));
        assert_false(cay_change_path_is_valid("./a"));
        assert_false(cay_change_path_is_valid("a/."));
        assert_false(cay_change_path_is_valid(".."));
        assert_false(cay_change_path_is_valid("a/../b"));
        assert_false(cay_change_path_is_valid("a/.."));
        memset(name, 'n', sizeof(name));
        name[CAY_CHANGE_NAME_MAX] = '\0';
        assert_true(cay_change_path_is_valid(name));
        name[CAY_CHANGE_NAME_MAX] = 'n';
        name[CAY_CHANGE_NAME_MAX + 1] = '\0';
        assert_false(cay_change_path_is_valid(name));
        for (size_t i = 0; i < sizeof(longest) - 1; i++)
                longest[i] = i % 100 == 99 ? '/' : 'p';
        longest[CAY_CHANGE_PATH_MAX] = 'p';
        assert_false(cay_change_path_is_valid(longest));
        longest[CAY_CHANGE_PATH_MAX] = '\0';
        assert_true(cay_change_path_is_valid(longest));
}

/* --- Through the tar writer and reader --- */

static struct {
        struct cay_tar_sink sink;
        struct cay_tar_reader reader;
        unsigned members;
        char kind[CAY_TAR_KIND_MAX + 1], base[CAY_TAR_BASE_MAX + 1];
        uint32_t mtime_ns;
} seen;

static int on_member(struct cay_tar_sink *sink, const struct cay_tar_member *m, struct cay_error *err)
{
        seen.members++;
        snprintf(seen.kind, sizeof(seen.kind), "%s", m->kind ? m->kind : "");
        snprintf(seen.base, sizeof(seen.base), "%s", m->base ? m->base : "");
        seen.mtime_ns = m->mtime_ns;
        return 0;
}

static int on_end(struct cay_tar_sink *sink, struct cay_error *err)
{
        return 0;
}

static void feed(const struct cay_tar_member *m)
{
        static uint8_t mem[CAY_TAR_HEADERS_MAX];
        struct cay_error err = { .code = CAY_OK };
        int n = cay_tar_member_format(m, mem, sizeof(mem));

        assert_true(n > 0);
        assert_int_equal(cay_tar_reader_feed(&seen.reader, mem, (size_t)n, &err), 0);
}

static void records_travel_with_their_member(void **state)
{
        static const struct cay_tar_sink_ops ops = { .member = on_member, .end = on_end };
        struct cay_tar_member m = { .type = CAY_TAR_FILE, .name = "a", .link = "", .mtime_ns = 5 };
        char base[CAY_TAR_BASE_MAX + 2];

        (void)state;
        seen.sink.ops = &ops;
        cay_tar_reader_init(&seen.reader, &seen.sink);
        m.kind = CAY_CHANGE_REMOVED;
        m.base = "f:644:1:2:3:4";
        feed(&m);
        assert_string_equal(seen.kind, "removed");
        assert_string_equal(seen.base, "f:644:1:2:3:4");
        assert_int_equal(seen.mtime_ns, 5);
        m.kind = m.base = NULL; /* the next member has none of it */
        feed(&m);
        assert_int_equal(seen.members, 2);
        assert_string_equal(seen.kind, "");
        assert_string_equal(seen.base, "");
        memset(base, 'b', sizeof(base));
        base[CAY_TAR_BASE_MAX] = '\0';
        m.base = base;
        feed(&m);
        assert_string_equal(seen.base, base);
        base[CAY_TAR_BASE_MAX] = 'b';
        base[CAY_TAR_BASE_MAX + 1] = '\0';
        assert_int_equal(cay_tar_member_format(&m, NULL, 0), -EINVAL);
}

static void long_records_are_refused(void **state)
{
        static const char kind[] = "29 CAY.kind=aaaaaaaaaaaaaaaa\n", nul[] = "14 CAY.base=\0\n";
        struct cay_tar_pax pax;

        (void)state;
        assert_int_equal(cay_tar_pax_parse(kind, sizeof(kind) - 1, &pax), -EINVAL);
        assert_int_equal(cay_tar_pax_parse(nul, sizeof(nul) - 1, &pax), -EINVAL);
        assert_int_equal(cay_tar_pax_parse("19 CAY.kind=removed\n", 20, &pax), -EINVAL);
        assert_int_equal(cay_tar_pax_parse("20 CAY.kind=removed\n", 20, &pax), 0);
        assert_int_equal(pax.kind.len, 7);
        assert_memory_equal(pax.kind.ptr, "removed", 7);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(records_go_both_ways),
                cmocka_unit_test(other_records_are_refused),
                cmocka_unit_test(stat_becomes_a_record),
                cmocka_unit_test(names_are_plain),
                cmocka_unit_test(records_travel_with_their_member),
                cmocka_unit_test(long_records_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
