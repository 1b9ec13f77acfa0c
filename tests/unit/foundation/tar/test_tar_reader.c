/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of members: states, limits, refusals, and that pieces of any size mean the same. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "foundation/tar/tar_reader.h"

static struct log {
        struct cay_tar_sink sink;
        size_t len;
        char text[8192];
} seen;

static int on_member(struct cay_tar_sink *sink, const struct cay_tar_member *m, struct cay_error *err)
{
        if (strcmp(m->name, "refuse") == 0)
                return cay_fail(err, CAY_DENIED, "no");
        seen.len += (size_t)snprintf(seen.text + seen.len, sizeof(seen.text) - seen.len,
                                     "%d:%.40s:%.40s:%llu:%lld|", m->type, m->name, m->link,
                                     (unsigned long long)m->size, (long long)m->mtime_s);
        return 0;
}

static int on_data(struct cay_tar_sink *sink, const void *bytes, size_t len, struct cay_error *err)
{
        assert_true(len > 0 && seen.len + len < sizeof(seen.text));
        memcpy(seen.text + seen.len, bytes, len);
        seen.len += len;
        return 0;
}

static int on_end(struct cay_tar_sink *sink, struct cay_error *err)
{
        seen.text[seen.len++] = ';';
        return 0;
}

static int on_hole(struct cay_tar_sink *sink, uint64_t len, struct cay_error *err)
{
        assert_true(len > 0);
        seen.len += (size_t)snprintf(seen.text + seen.len, sizeof(seen.text) - seen.len, "<%llu>",
                                     (unsigned long long)len);
        return 0;
}

static const struct cay_tar_sink_ops ops = { on_member, on_data, on_end, on_hole };
static const struct cay_tar_sink_ops no_holes = { on_member, on_data, on_end, NULL };
static const struct cay_tar_sink_ops *sink_ops = &ops;

/* An archive under construction. */
static uint8_t tar[512 * 1024];
static size_t tar_len;

static void raw(const char *name, char type, const char *link, const void *data, size_t size)
{
        uint8_t *b = tar + tar_len;
        unsigned sum = 0;

        memset(b, 0, CAY_TAR_BLOCK);
        memcpy(b, name, strlen(name));
        memcpy(b + 100, "0000644", 8);
        snprintf((char *)b + 124, 12, "%011o", (unsigned)size);
        memcpy(b + 136, "00000000007", 12);
        b[156] = (uint8_t)type;
        memcpy(b + 157, link, strlen(link));
        memcpy(b + 257, "ustar\00000", 8);
        memset(b + 148, ' ', 8);
        for (unsigned i = 0; i < CAY_TAR_BLOCK; i++)
                sum += b[i];
        snprintf((char *)b + 148, 8, "%06o", sum);
        tar_len += CAY_TAR_BLOCK;
        if (data) {
                memset(tar + tar_len, 0, size + cay_tar_padding(size));
                memcpy(tar + tar_len, data, size);
                tar_len += size + cay_tar_padding(size);
        }
}

static void file(const char *name, const char *text)
{
        raw(name, '0', "", text, strlen(text));
}

static void end(void)
{
        memset(tar + tar_len, 0, 2 * CAY_TAR_BLOCK);
        tar_len += 2 * CAY_TAR_BLOCK;
}

static struct cay_error err;

static int read_in_pieces(size_t piece)
{
        static struct cay_tar_reader reader;
        int r = 0;

        seen.len = 0;
        seen.sink.ops = sink_ops;
        err = (struct cay_error){ .code = CAY_OK };
        cay_tar_reader_init(&reader, &seen.sink);
        for (size_t at = 0; r == 0 && at < tar_len; at += piece)
                r = cay_tar_reader_feed(&reader, tar + at, tar_len - at < piece ? tar_len - at : piece, &err);
        if (r < 0) {
                struct cay_error again;

                /* It stays refused. */
                assert_int_equal(cay_tar_reader_feed(&reader, "", 1, &again), -1);
                assert_int_equal(cay_tar_reader_finish(&reader, &again), -1);
        } else {
                r = cay_tar_reader_finish(&reader, &err);
        }
        seen.text[seen.len] = '\0';
        tar_len = 0;
        return r;
}

static void expect_refusal(const char *why)
{
        assert_int_equal(read_in_pieces(4096), -1);
        if (!strstr(err.msg, why))
                print_message("said: %s\n", err.msg);
        assert_non_null(strstr(err.msg, why));
}

static void members_come_in_order(void **state)
{
        static const size_t pieces[] = { 1, 7, 511, 512, 513, 4096, sizeof(tar) };

        (void)state;
        for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
                raw("d/", '5', "", NULL, 0);
                file("d/f", "hello");
                file("empty", "");
                raw("l", '2', "d/f", NULL, 0);
                raw("h", '1', "d/f", NULL, 0);
                raw("fifo", '6', "", NULL, 0);
                end();
                end(); /* more zeros behind the end are padding */
                assert_int_equal(read_in_pieces(pieces[i]), 0);
                assert_string_equal(
                        seen.text,
                        "4:d/::0:7|1:d/f::5:7|hello;1:empty::0:7|;3:l:d/f:0:7|2:h:d/f:0:7|6:fifo::0:7|");
        }
}

static void records_change_the_next_member_only(void **state)
{
        static const char all[] = "9 path=p\n15 linkpath=lt\n10 size=3\n11 mtime=9\n";

        (void)state;
        raw("pax", 'x', "", all, sizeof(all) - 1);
        raw("short", '0', "", NULL, 0);
        memset(tar + tar_len, 0, CAY_TAR_BLOCK);
        memcpy(tar + tar_len, "abc", 3);
        tar_len += CAY_TAR_BLOCK;
        file("next", "n");
        end();
        assert_int_equal(read_in_pieces(100), 0);
        assert_string_equal(seen.text, "1:p::3:9|abc;1:next::1:7|n;");
}

static void gnu_long_names_are_read(void **state)
{
        char name[300] = "", link[400] = "";
        char expected[64];

        (void)state;
        memset(name, 'n', sizeof(name) - 1);
        memset(link, 'k', sizeof(link) - 1);
        raw("././@LongLink", 'L', "", name, sizeof(name));
        raw("././@LongLink", 'K', "", link, sizeof(link));
        raw("cut", '2', "cut", NULL, 0);
        end();
        assert_int_equal(read_in_pieces(333), 0);
        snprintf(expected, sizeof(expected), "3:%.40s", name);
        assert_memory_equal(seen.text, expected, strlen(expected));
        assert_non_null(strstr(seen.text, ":kkkkkkkkkkkkkkkkkkkk"));

        /* pax says it more exactly, whichever comes first */
        raw("././@LongLink", 'L', "", "gnu", 4);
        raw("pax", 'x', "", "12 path=pax\n", 12);
        file("cut", "");
        raw("pax", 'x', "", "12 path=pax\n", 12);
        raw("././@LongLink", 'L', "", "gnu", 4);
        file("cut", "");
        end();
        assert_int_equal(read_in_pieces(512), 0);
        assert_string_equal(seen.text, "1:pax::0:7|;1:pax::0:7|;");
}

static void a_slash_behind_the_whole_name_says_directory(void **state)
{
        (void)state;
        raw("old/", '\0', "", NULL, 0);
        raw("pax", 'x', "", "9 path=f\n", 9);
        raw("cut/", '0', "", "x", 1);
        end();
        assert_int_equal(read_in_pieces(512), 0);
        assert_string_equal(seen.text, "4:old/::0:7|1:f::1:7|x;");
        raw("old/", '0', "", "x", 1);
        expect_refusal("has a size");
}

static void global_records_name_nothing(void **state)
{
        (void)state;
        raw("pax", 'g', "", "17 comment=hello\n", 17);
        raw("pax", 'g', "", "11 mtime=5\n", 11);
        file("a", "");
        end();
        assert_int_equal(read_in_pieces(512), 0);
        assert_string_equal(seen.text, "1:a::0:7|;");
        raw("pax", 'g', "", "9 path=x\n", 9);
        file("a", "");
        end();
        expect_refusal("global pax records");
        raw("pax", 'g', "", "10 size=5\n", 10);
        expect_refusal("global pax records");
}

/*
 * A file with holes: its records, then a member whose data are the map, filled up to a block, and the pieces.
 */
static void sparse(const char *real_size, const char *map, const char *data)
{
        static const char fixed[] = "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n23 GNU.sparse.name=d/f\n";
        char records[256], body[4096] = "";
        int n = snprintf(records, sizeof(records), "%s%zu GNU.sparse.realsize=%s\n", fixed,
                         strlen(real_size) + 24, real_size);
        size_t map_len = strlen(map) + cay_tar_padding(strlen(map));

        memcpy(body, map, strlen(map));
        memcpy(body + map_len, data, strlen(data));
        raw("pax", 'x', "", records, (size_t)n);
        raw("GNUSparseFile.0/f", '0', "", body, map_len + strlen(data));
}

static void holes_are_told(void **state)
{
        static const size_t pieces[] = { 1, 7, 511, 512, 513, 4096, sizeof(tar) };

        (void)state;
        for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
                sparse("1000000", "3\n0\n5\n1000\n3\n1000000\n0\n", "helloabc");
                sparse("2000000", "0\n", ""); /* nothing but a hole */
                sparse("4000000", "1\n3999998\n2\n", "zz");
                sparse("1000006", "2\n10\n2\n12\n3\n", "aabbb");
                file("g", "plain");
                end();
                assert_int_equal(read_in_pieces(pieces[i]), 0);
                assert_string_equal(seen.text, "1:d/f::1000000:7|hello<995>abc<998997>;"
                                               "1:d/f::2000000:7|<2000000>;"
                                               "1:d/f::4000000:7|<3999998>zz;"
                                               "1:d/f::1000006:7|<10>aabbb<999991>;1:g::5:7|plain;");
        }
}

static void maps_that_lie_are_refused(void **state)
{
        static const struct {
                const char *map, *data, *why;
        } cases[] = {
                { "1\n0\n5\n", "four", "not what its map says" },
                { "1\n0\n5\n", "sixsix", "not what its map says" },
                { "0\n", "x", "not what its map says" },
                { "2\n5\n2\n6\n2\n", "aabb", "not in order" },
                { "1\n1000001\n0\n", "", "not in order" },
                { "1\n999999\n2\n", "aa", "longer than the file" },
                { "1\n5\n18446744073709551615\n", "", "no list of numbers" },
                { "1\n5\n9999999999999999999\n", "", "longer than the file" },
                { "-1\n", "", "no list of numbers" },
                { "\n", "", "no list of numbers" },
                { "1\n5", "", "no list of numbers" }, /* the padding is no number */
                { "4097\n", "", "4096 at most" },
        };
        char many[513] = "255\n";

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                sparse("1000000", cases[i].map, cases[i].data);
                end();
                expect_refusal(cases[i].why);
        }
        /* A map that goes on behind the member. */
        for (size_t i = 4; i < 512; i += 2)
                memcpy(many + i, "0\n", 2);
        sparse("1000000", many, "");
        file("g", "plain");
        end();
        expect_refusal("cut off");

        sparse("1000000", "0\n", "");
        end();
        sink_ops = &no_holes;
        expect_refusal("sparse files in this form");
        sink_ops = &ops;

        raw("pax", 'x', "", "22 GNU.sparse.major=0\n22 GNU.sparse.minor=1\n", 44);
        expect_refusal("sparse files in this form");
        raw("pax", 'g', "", "22 GNU.sparse.major=1\n", 22);
        expect_refusal("global pax records");
        /* Links and folders have no map. */
        raw("pax", 'x', "",
            "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n21 GNU.sparse.name=f\n24 GNU.sparse.realsize=\n",
            89);
        expect_refusal("broken pax");
        raw("pax", 'x', "",
            "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n21 GNU.sparse.name=f\n25 GNU.sparse.realsize=9\n",
            90);
        raw("l", '5', "", NULL, 0);
        expect_refusal("without a map");
}

static void odd_members_are_refused(void **state)
{
        static char big[CAY_TAR_PAX_MAX + 1];

        (void)state;
        raw("l", '2', "t", NULL, 5);
        expect_refusal("member 'l': it is no file, but has a size");
        raw("h", '1', "t", NULL, 5);
        expect_refusal("has a size");
        raw("d", '5', "", NULL, 5);
        expect_refusal("has a size");
        raw("v\n", 'V', "", NULL, 0);
        expect_refusal("member 'v%0A': unknown type");
        raw("s", 'S', "", NULL, 0);
        expect_refusal("sparse");
        raw("pax", 'x', "", "22 GNU.sparse.major=1\n", 22);
        expect_refusal("sparse");
        raw("pax", 'x', "", "22 GNU.sparse.major=1 ", 22);
        expect_refusal("broken pax");
        raw("pax", 'x', "", "9 path=a\n", 9);
        raw("pax", 'x', "", "9 path=b\n", 9);
        expect_refusal("two extended headers");
        raw("L", 'L', "", "a", 2);
        raw("L", 'L', "", "b", 2);
        expect_refusal("two extended headers");
        raw("L", 'L', "", "\0", 1);
        expect_refusal("empty long name");
        raw("pax", 'x', "", NULL, sizeof(big));
        expect_refusal("extended header of 65537 bytes");
        memset(big, 'n', CAY_TAR_NAME_MAX + 1);
        raw("L", 'L', "", big, CAY_TAR_NAME_MAX + 1);
        expect_refusal("longer than 16383 bytes");
        raw("pax", 'x', "", "9 path=a\n", 9);
        end();
        expect_refusal("ends behind an extended header");
        file("refuse", "abc");
        file("other", "");
        expect_refusal("no");
        assert_string_equal(seen.text, "");
}

static void the_longest_pax_is_taken(void **state)
{
        static char big[CAY_TAR_PAX_MAX];
        int n = snprintf(big, sizeof(big), "%u comment=", CAY_TAR_PAX_MAX - 9);

        (void)state;
        memset(big + n, 'c', sizeof(big) - (size_t)n);
        memcpy(big + CAY_TAR_PAX_MAX - 10, "\n9 path=p\n", 10);
        raw("pax", 'x', "", big, sizeof(big));
        file("a", "");
        end();
        assert_int_equal(read_in_pieces(1000), 0);
        assert_string_equal(seen.text, "1:p::0:7|;");
}

static void streams_that_are_no_archives(void **state)
{
        (void)state;
        memset(tar, 'x', 1024);
        tar_len = 1024;
        expect_refusal("no tar archive");
        memset(tar, 'x', 1024);
        memcpy(tar, "\x1f\x8b", 2);
        tar_len = 1024;
        expect_refusal("compressed");
        tar_len = 0;
        expect_refusal("empty");
        file("a", "abc");
        memset(tar + tar_len, 'x', 512);
        tar_len += 512;
        expect_refusal("checksum");
}

static void cut_archives_are_noticed(void **state)
{
        size_t whole;

        (void)state;
        file("a", "abc");
        end();
        whole = tar_len;
        for (size_t len = 1; len <= whole; len++) {
                file("a", "abc");
                end();
                tar_len = len;
                /* One block of zeros is enough of an end, no less. */
                if (len == whole || len == whole - CAY_TAR_BLOCK)
                        assert_int_equal(read_in_pieces(512), 0);
                else
                        expect_refusal("cut off");
        }
}

static void nothing_may_follow_the_end(void **state)
{
        (void)state;
        file("a", "");
        end();
        file("b", "");
        expect_refusal("behind the end");
        file("a", "");
        memset(tar + tar_len, 0, CAY_TAR_BLOCK);
        tar_len += CAY_TAR_BLOCK;
        file("b", "");
        expect_refusal("lone block");
        assert_string_equal(seen.text, "1:a::0:7|;");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(members_come_in_order),
                cmocka_unit_test(records_change_the_next_member_only),
                cmocka_unit_test(gnu_long_names_are_read),
                cmocka_unit_test(a_slash_behind_the_whole_name_says_directory),
                cmocka_unit_test(global_records_name_nothing),
                cmocka_unit_test(holes_are_told),
                cmocka_unit_test(maps_that_lie_are_refused),
                cmocka_unit_test(odd_members_are_refused),
                cmocka_unit_test(the_longest_pax_is_taken),
                cmocka_unit_test(streams_that_are_no_archives),
                cmocka_unit_test(cut_archives_are_noticed),
                cmocka_unit_test(nothing_may_follow_the_end),
        };

        return cmocka_run_group_tests_name("init/tar_reader", tests, NULL, NULL);
}
