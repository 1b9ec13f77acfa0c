/* SPDX-License-Identifier: Apache-2.0 */
/* Notices: both ways alike, and nothing but what the table allows. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "foundation/base/cleanup.h"
#include "links/box/notice.h"

#define VIEW(text) ((struct cay_view){ text, sizeof(text) - 1 })

static const struct cay_box_notice good[] = {
        { .kind = CAY_NOTICE_READY, .folders = 7 },
        { .kind = CAY_NOTICE_CREATED, .is_folder = true, .name = VIEW("a/b") },
        { .kind = CAY_NOTICE_MODIFIED, .name = VIEW("\xff") },
        { .kind = CAY_NOTICE_MOVED, .name = VIEW("a"), .name2 = VIEW("b") },
        { .kind = CAY_NOTICE_OVERFLOW, .folders = 1 },
        { .kind = CAY_NOTICE_UNWATCHED, .is_folder = true, .sys = EACCES, .name = VIEW("x") },
        { .kind = CAY_NOTICE_GONE },
};

static void both_ways(void **state)
{
        uint8_t mem[CAY_BOX_NOTICE_MAX];

        (void)state;
        for (size_t i = 0; i < CAY_COUNT(good); i++) {
                const struct cay_box_notice *m = &good[i];
                struct cay_box_notice got;
                int n = cay_box_notice_encode(m, mem, sizeof(mem));

                assert_true(n > 0);
                assert_int_equal(cay_box_notice_encode(m, mem, (size_t)n - 1), -EMSGSIZE);
                assert_int_equal(cay_box_notice_encode(m, mem, sizeof(mem)), n);
                for (int cut = 0; cut < n; cut++)
                        assert_int_equal(cay_box_notice_decode(mem, (size_t)cut, &got), 0);
                assert_int_equal(cay_box_notice_decode(mem, sizeof(mem), &got), n);
                assert_int_equal(got.kind, m->kind);
                assert_int_equal(got.is_folder, m->is_folder);
                assert_int_equal(got.sys, m->sys);
                assert_int_equal(got.folders, m->folders);
                assert_int_equal(got.name.len, m->name.len);
                assert_int_equal(got.name2.len, m->name2.len);
                assert_memory_equal(got.name.ptr, m->name.len ? m->name.ptr : "", m->name.len);
                assert_true(strlen(cay_box_notice_word(m->kind)) > 0);
        }
        assert_string_equal(cay_box_notice_word(CAY_NOTICE_COUNT), "");
}

static void the_longest_fits(void **state)
{
        static char name[CAY_BOX_PATH_MAX];
        uint8_t mem[CAY_BOX_NOTICE_MAX];
        struct cay_box_notice m = { .kind = CAY_NOTICE_MOVED, .name = { name, sizeof(name) - 1 } }, got;

        (void)state;
        memset(name, 'n', sizeof(name));
        m.name2 = m.name;
        assert_int_equal(cay_box_notice_encode(&m, mem, sizeof(mem)), sizeof(mem) - 2);
        assert_int_equal(cay_box_notice_decode(mem, sizeof(mem), &got), sizeof(mem) - 2);
        m.name.len++;
        assert_int_equal(cay_box_notice_encode(&m, mem, sizeof(mem)), -EINVAL);
}

static void bad_ones_are_refused(void **state)
{
        static const struct cay_box_notice bad[] = {
                { .kind = CAY_NOTICE_NONE },
                { .kind = CAY_NOTICE_COUNT },
                { .kind = CAY_NOTICE_CREATED },
                { .kind = CAY_NOTICE_MOVED, .name = VIEW("a") },
                { .kind = CAY_NOTICE_GONE, .name = VIEW("a") },
                { .kind = CAY_NOTICE_GONE, .folders = 1 },
                { .kind = CAY_NOTICE_CREATED, .name = VIEW("a"), .sys = 1 },
                { .kind = CAY_NOTICE_UNWATCHED, .name = VIEW("a"), .sys = 5000 },
        };
        uint8_t mem[CAY_BOX_NOTICE_MAX];
        struct cay_box_notice got;
        int n;

        (void)state;
        for (size_t i = 0; i < CAY_COUNT(bad); i++)
                assert_int_equal(cay_box_notice_encode(&bad[i], mem, sizeof(mem)), -EINVAL);
        n = cay_box_notice_encode(&good[1], mem, sizeof(mem));
        mem[3] = 2; /* is_folder */
        assert_int_equal(cay_box_notice_decode(mem, (size_t)n, &got), -EPROTO);
        n = cay_box_notice_encode(&good[1], mem, sizeof(mem));
        mem[2] = CAY_NOTICE_MOVED;
        assert_int_equal(cay_box_notice_decode(mem, (size_t)n, &got), -EPROTO);
        n = cay_box_notice_encode(&good[1], mem, sizeof(mem));
        mem[0]++; /* a byte behind it */
        assert_int_equal(cay_box_notice_decode(mem, (size_t)n + 1, &got), -EPROTO);
        memset(mem, 0xff, sizeof(mem));
        assert_int_equal(cay_box_notice_decode(mem, sizeof(mem), &got), -EPROTO);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(both_ways),
                cmocka_unit_test(the_longest_fits),
                cmocka_unit_test(bad_ones_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
