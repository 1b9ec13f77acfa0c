/* SPDX-License-Identifier: Apache-2.0 */
/* Header blocks and pax records. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "foundation/tar/tar.h"

static void checksum_fix(uint8_t *block)
{
        unsigned sum = 0;

        memset(block + 148, ' ', 8);
        for (unsigned i = 0; i < CAY_TAR_BLOCK; i++)
                sum += block[i];
        snprintf((char *)block + 148, 8, "%06o", sum);
}

static void block_make(uint8_t *block, const char *name, char type)
{
        memset(block, 0, CAY_TAR_BLOCK);
        memcpy(block, name, strlen(name) < 100 ? strlen(name) : 100);
        memcpy(block + 100, "0000644", 8);
        memcpy(block + 124, "00000000000", 12);
        memcpy(block + 136, "00000000000", 12);
        block[156] = (uint8_t)type;
        memcpy(block + 257, "ustar\00000", 8);
        checksum_fix(block);
}

static void zero_block_is_none(void **state)
{
        uint8_t block[CAY_TAR_BLOCK] = { 0 };
        struct cay_tar_header h;

        (void)state;
        assert_int_equal(cay_tar_header_parse(block, &h), 0);
}

static void checksum_is_checked(void **state)
{
        uint8_t block[CAY_TAR_BLOCK];
        struct cay_tar_header h;

        (void)state;
        block_make(block, "a", '0');
        assert_int_equal(cay_tar_header_parse(block, &h), 1);
        for (unsigned i = 0; i < CAY_TAR_BLOCK; i++) {
                uint8_t kept = block[i];

                if (i >= 148 && i < 156)
                        continue;
                block[i] ^= 1;
                assert_int_equal(cay_tar_header_parse(block, &h), -EBADMSG);
                block[i] = kept;
        }
        memset(block + 148, 'z', 8);
        assert_int_equal(cay_tar_header_parse(block, &h), -EBADMSG);
}

static void old_signed_checksum_is_taken(void **state)
{
        uint8_t block[CAY_TAR_BLOCK];
        struct cay_tar_header h;
        int sum = 0;

        (void)state;
        block_make(block, "\xe4\xf6", '0');
        memset(block + 148, ' ', 8);
        for (unsigned i = 0; i < CAY_TAR_BLOCK; i++)
                sum += (int8_t)block[i];
        snprintf((char *)block + 148, 8, "%06o", (unsigned)sum);
        assert_int_equal(cay_tar_header_parse(block, &h), 1);
}

static void names_are_joined(void **state)
{
        uint8_t block[CAY_TAR_BLOCK];
        struct cay_tar_header h;
        char name[101], prefix[156];

        (void)state;
        memset(name, 'n', 100);
        name[100] = '\0';
        memset(prefix, 'p', 155);
        prefix[155] = '\0';
        block_make(block, name, '0');
        memcpy(block + 345, prefix, 155);
        checksum_fix(block);
        assert_int_equal(cay_tar_header_parse(block, &h), 1);
        assert_int_equal(strlen(h.name), 256);
        assert_memory_equal(h.name, prefix, 155);
        assert_string_equal(h.name + 155 + 1, name);

        /* GNU has times where ustar has the prefix. */
        memcpy(block + 257, "ustar  ", 8);
        checksum_fix(block);
        assert_int_equal(cay_tar_header_parse(block, &h), 1);
        assert_string_equal(h.name, name);
}

static void types_are_told_apart(void **state)
{
        static const struct {
                char flag;
                enum cay_tar_type type;
        } rows[] = {
                { '0', CAY_TAR_FILE },       { '\0', CAY_TAR_FILE },     { '1', CAY_TAR_LINK },
                { '2', CAY_TAR_SYMLINK },    { '3', CAY_TAR_DEVICE },    { '4', CAY_TAR_DEVICE },
                { '5', CAY_TAR_DIRECTORY },  { '6', CAY_TAR_FIFO },      { 'x', CAY_TAR_PAX },
                { 'g', CAY_TAR_PAX_GLOBAL }, { 'L', CAY_TAR_LONG_NAME }, { 'K', CAY_TAR_LONG_LINK },
                { 'S', CAY_TAR_SPARSE },     { 'V', CAY_TAR_OTHER },     { '9', CAY_TAR_OTHER },
                { '\xff', CAY_TAR_OTHER },
        };
        uint8_t block[CAY_TAR_BLOCK];
        struct cay_tar_header h;

        (void)state;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                block_make(block, "name", rows[i].flag);
                assert_int_equal(cay_tar_header_parse(block, &h), 1);
                assert_int_equal(h.type, rows[i].type);
        }
}

/* A size field, and the size it means; -1: refused. */
static void sizes_are_bounded(void **state)
{
        static const struct {
                const char field[13];
                int64_t size;
        } rows[] = {
                { "00000000000\0", 0 },
                { "00000001750 ", 1000 },
                { "     1750  \0", 1000 },
                { "777777777777", 0777777777777 },
                { "\0\0\0\0\0\0\0\0\0\0\0\0", 0 },
                { "-0000000001\0", -1 },
                { "+0000000001\0", -1 },
                { "0000000000x\0", -1 },
                { "00000 00001\0", -1 },
                { "0x000000001\0", -1 },
                { "00000000008\0", -1 },
                { "\x80\0\0\0\0\0\0\0\0\0\1\0", 256 },
                { "\x80\0\0\0\0\0\2\0\0\0\0\0", INT64_C(0x20000000000) },
                { "\x80\0\0\0\x40\0\0\0\0\0\0\0", INT64_C(1) << 62 },
                { "\x80\0\0\0\x40\0\0\0\0\0\0\1", -1 },
                { "\x80\0\0\0\x80\0\0\0\0\0\0\0", -1 },
                { "\x80\0\0\1\0\0\0\0\0\0\0\0", -1 },
                { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", -1 },
                { "\xbf\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", -1 },
        };
        uint8_t block[CAY_TAR_BLOCK];
        struct cay_tar_header h;

        (void)state;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                block_make(block, "a", '0');
                memcpy(block + 124, rows[i].field, 12);
                checksum_fix(block);
                if (rows[i].size < 0) {
                        assert_int_equal(cay_tar_header_parse(block, &h), -EINVAL);
                } else {
                        assert_int_equal(cay_tar_header_parse(block, &h), 1);
                        assert_int_equal(h.size, rows[i].size);
                }
        }
}

static void times_may_be_negative(void **state)
{
        uint8_t block[CAY_TAR_BLOCK];
        struct cay_tar_header h;

        (void)state;
        block_make(block, "a", '0');
        memcpy(block + 136, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe", 12);
        checksum_fix(block);
        assert_int_equal(cay_tar_header_parse(block, &h), 1);
        assert_int_equal(h.mtime_s, -2);
}

static int pax(const char *text, size_t len, struct cay_tar_pax *ret)
{
        return cay_tar_pax_parse(text, len, ret);
}
#define PAX(text, ret) pax(text, sizeof(text) - 1, ret)

static void pax_records_are_read(void **state)
{
        struct cay_tar_pax p;

        (void)state;
        assert_int_equal(PAX("", &p), 0);
        assert_false(p.has_path || p.has_link || p.has_size || p.has_mtime || p.sparse);
        assert_int_equal(PAX("9 path=a\n14 linkpath=b\n12 size=123\n14 mtime=-1.5\n12 other=xy\n", &p), 0);
        assert_true(p.has_path && p.has_link && p.has_size && p.has_mtime);
        assert_int_equal(p.path.len, 1);
        assert_memory_equal(p.path.ptr, "a", 1);
        assert_memory_equal(p.link.ptr, "b", 1);
        assert_int_equal(p.size, 123);
        assert_int_equal(p.mtime_s, -2);
        assert_int_equal(p.mtime_ns, 500000000);
        assert_int_equal(PAX("30 mtime=1700000000.000000001\n", &p), 0);
        assert_int_equal(p.mtime_s, 1700000000);
        assert_int_equal(p.mtime_ns, 1);
        assert_int_equal(PAX("13 path=a\nb=c\n", &p), -EINVAL);
        assert_int_equal(PAX("14 path=a\nb=c\n", &p), 0);
        assert_int_equal(p.path.len, 5);
        /* the last one wins, and an empty value takes it back */
        assert_int_equal(PAX("9 path=a\n9 path=b\n", &p), 0);
        assert_memory_equal(p.path.ptr, "b", 1);
        assert_int_equal(PAX("9 path=a\n8 path=\n8 size=\n", &p), 0);
        assert_false(p.has_path || p.has_size);
        assert_int_equal(PAX("22 GNU.sparse.major=1\n", &p), 0);
        assert_true(p.sparse);
}

static void broken_pax_is_refused(void **state)
{
        static const char *const rows[] = {
                "9 path=a",
                "9 path=ab\n",
                "path=a\n",
                "99 path=a\n",
                "0 path=a\n",
                "3 \n",
                "4 =\n",
                "5 =a\n",
                "6 path\n",
                "-9 path=a\n",
                "09999999 a=b\n",
                " 9 path=a\n",
                "9  path=a\n\n",
                "18446744073709551625 path=a\n",
                "11 size=-1\n",
                "12 size=0x1\n",
                "11 size= 1\n",
                "28 size=18446744073709551616\n",
                "27 size=9223372036854775807\n",
                "10 mtime=\nx",
                "11 mtime=x\n",
                "12 mtime=1x\n",
                "11 mtime=-\n",
                "13 mtime=1.x\n",
                "32 mtime=99999999999999999999.0\n",
        };
        struct cay_tar_pax p;

        (void)state;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                if (pax(rows[i], strlen(rows[i]), &p) != -EINVAL)
                        print_message("taken: %s\n", rows[i]);
                assert_int_equal(pax(rows[i], strlen(rows[i]), &p), -EINVAL);
        }
        assert_int_equal(PAX("11 path=a\0b\n", &p), -EINVAL);
        assert_int_equal(PAX("15 linkpath=\0ab\n", &p), -EINVAL);
}

static char formatted[CAY_TAR_HEADERS_MAX];

static void round_trip(const struct cay_tar_member *m, bool needs_pax)
{
        struct cay_tar_header h;
        struct cay_tar_pax p = { 0 };
        uint8_t *at = (uint8_t *)formatted;
        int n = cay_tar_member_format(m, formatted, sizeof(formatted));

        assert_true(n > 0 && n % (int)CAY_TAR_BLOCK == 0);
        assert_int_equal(cay_tar_header_parse(at, &h), 1);
        assert_int_equal(h.type == CAY_TAR_PAX, needs_pax);
        if (needs_pax) {
                assert_int_equal(cay_tar_pax_parse(at + CAY_TAR_BLOCK, h.size, &p), 0);
                at += CAY_TAR_BLOCK + h.size + cay_tar_padding(h.size);
                assert_int_equal(cay_tar_header_parse(at, &h), 1);
        }
        assert_ptr_equal(at + CAY_TAR_BLOCK, formatted + n);
        assert_int_equal(h.type, m->type);
        assert_int_equal(h.mode, m->mode);
        assert_int_equal(p.has_size ? p.size : h.size, m->size);
        assert_int_equal(p.has_mtime ? p.mtime_s : h.mtime_s, m->mtime_s);
        assert_int_equal(p.mtime_ns, needs_pax ? m->mtime_ns : 0);
        if (p.has_path) {
                assert_int_equal(p.path.len, strlen(m->name));
                assert_memory_equal(p.path.ptr, m->name, p.path.len);
        } else {
                assert_string_equal(h.name, m->name);
        }
        if (p.has_link) {
                assert_int_equal(p.link.len, strlen(m->link));
                assert_memory_equal(p.link.ptr, m->link, p.link.len);
        } else {
                assert_string_equal(h.link, m->link);
        }
}

static void members_are_written_and_read_back(void **state)
{
        static char name[CAY_TAR_NAME_MAX + 2];
        struct cay_tar_member m = { .type = CAY_TAR_FILE,
                                    .mode = 0644,
                                    .size = 5,
                                    .mtime_s = 1700000000,
                                    .name = "a/b",
                                    .link = "" };

        (void)state;
        round_trip(&m, false);
        m.size = (UINT64_C(1) << 33) - 1;
        round_trip(&m, false);
        m.size++; /* 8 GiB */
        round_trip(&m, true);
        m.size = UINT64_C(1) << 62;
        round_trip(&m, true);
        m.size = 0;
        m.mtime_s = -1;
        round_trip(&m, true);
        m.mtime_ns = 999999999;
        round_trip(&m, true);
        m.mtime_s = -2;
        m.mtime_ns = 1;
        round_trip(&m, true);
        m.mtime_s = INT64_C(1) << 40;
        round_trip(&m, true);
        m.mtime_s = 0;
        round_trip(&m, false);
        m.type = CAY_TAR_SYMLINK;
        m.link = "t";
        round_trip(&m, false);

        /*
         * every length of a name up to beyond ustar's, without a place to cut and with many, then the longest
         */
        m.type = CAY_TAR_FILE;
        m.link = "";
        m.name = name;
        for (size_t len = 1; len <= 300; len++) {
                memset(name, 'n', len);
                name[len] = '\0';
                round_trip(&m, len > 100);
                for (size_t i = 2; i + 1 < len; i += 4)
                        name[i] = '/';
                round_trip(&m, len > 256 || (len == 256 && name[155] != '/'));
        }
        m.type = CAY_TAR_DIRECTORY;
        for (size_t len = 2; len <= 300; len++) {
                memset(name, 'n', len);
                memcpy(name + len - 1, "/", 2);
                round_trip(&m, len > 100);
        }
        memset(name, 'n', CAY_TAR_NAME_MAX);
        name[CAY_TAR_NAME_MAX] = '\0';
        m.type = CAY_TAR_SYMLINK;
        m.link = name;
        m.mtime_s = INT64_MIN + 2;
        round_trip(&m, true);
        name[CAY_TAR_NAME_MAX] = 'n';
        assert_int_equal(cay_tar_member_format(&m, formatted, sizeof(formatted)), -ENAMETOOLONG);
}

static void what_cannot_be_written_is_refused(void **state)
{
        struct cay_tar_member m = { .type = CAY_TAR_DEVICE, .name = "a", .link = "" };

        (void)state;
        assert_int_equal(cay_tar_member_format(&m, formatted, sizeof(formatted)), -EINVAL);
        m.type = CAY_TAR_FILE;
        assert_int_equal(cay_tar_member_format(&m, formatted, CAY_TAR_BLOCK - 1), -EMSGSIZE);
        m.size = UINT64_C(1) << 40;
        assert_int_equal(cay_tar_member_format(&m, formatted, 2 * CAY_TAR_BLOCK), -EMSGSIZE);
        m.size = UINT64_MAX;
        assert_int_equal(cay_tar_member_format(&m, formatted, sizeof(formatted)), -EINVAL);
        m.size = 0;
        m.name = "";
        assert_int_equal(cay_tar_member_format(&m, formatted, sizeof(formatted)), -EINVAL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(zero_block_is_none),
                cmocka_unit_test(checksum_is_checked),
                cmocka_unit_test(old_signed_checksum_is_taken),
                cmocka_unit_test(names_are_joined),
                cmocka_unit_test(types_are_told_apart),
                cmocka_unit_test(sizes_are_bounded),
                cmocka_unit_test(times_may_be_negative),
                cmocka_unit_test(pax_records_are_read),
                cmocka_unit_test(broken_pax_is_refused),
                cmocka_unit_test(members_are_written_and_read_back),
                cmocka_unit_test(what_cannot_be_written_is_refused),
        };

        return cmocka_run_group_tests_name("init/tar", tests, NULL, NULL);
}
