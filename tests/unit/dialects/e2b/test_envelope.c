/* SPDX-License-Identifier: Apache-2.0 */
/* Envelopes of Connect streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dialects/e2b/e2b_envelope.h"

static void test_round_trip(void **state)
{
        cay_auto_buf struct cay_buf out = { 0 };
        const char *payload;
        size_t len;

        cay_buf_init(&out, 64);
        assert_int_equal(e2b_envelope_put(&out, 0, "{}", 2), 0);
        assert_int_equal(out.len, 7);
        assert_memory_equal(cay_buf_data(&out), "\0\0\0\0\2{}", 7);
        assert_int_equal(e2b_envelope_read(cay_buf_data(&out), out.len, &payload, &len), 0);
        assert_int_equal(len, 2);
        assert_memory_equal(payload, "{}", 2);
        cay_buf_clear(&out);
        assert_int_equal(e2b_envelope_put(&out, E2B_ENVELOPE_END, "{}", 2), 0);
        assert_memory_equal(cay_buf_data(&out), "\2\0\0\0\2{}", 7);
        (void)state;
}

static void test_refused(void **state)
{
        static const struct {
                const char *bytes;
                size_t len;
        } rows[] = {
                { "", 0 },              /* nothing */
                { "\0\0\0\0", 4 },      /* half a head */
                { "\0\0\0\0\3{}", 7 },  /* cut */
                { "\0\0\0\0\2{}x", 8 }, /* more behind it */
                { "\1\0\0\0\2{}", 7 },  /* packed */
                { "\2\0\0\0\2{}", 7 },  /* an end is for answers */
                { "\0\377\377\377\377{}", 7 },
        };
        const char *payload;
        size_t len;

        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
                assert_int_equal(e2b_envelope_read(rows[i].bytes, rows[i].len, &payload, &len), -1);
        (void)state;
}

/* One that does not fit leaves nothing of itself. */
static void test_full(void **state)
{
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 8);
        assert_true(e2b_envelope_put(&out, 0, "{\"a\":1}", 7) < 0);
        assert_int_equal(out.len, 0);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_round_trip),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_full),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
