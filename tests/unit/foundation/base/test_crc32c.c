/* SPDX-License-Identifier: Apache-2.0 */
/* Known sums, both ways alike, and parts that add up. */
#include "foundation/base/crc32c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* RFC 3720, B.4 has these (there in the order of bytes on the wire). */
static void known_sums(void **state)
{
        uint8_t bytes[32];

        (void)state;
        assert_int_equal(cay_crc32c(0, "", 0), 0);
        assert_int_equal(cay_crc32c(0, "123456789", 9), 0xe3069283);
        memset(bytes, 0, sizeof(bytes));
        assert_int_equal(cay_crc32c(0, bytes, sizeof(bytes)), 0x8a9136aa);
        memset(bytes, 0xff, sizeof(bytes));
        assert_int_equal(cay_crc32c(0, bytes, sizeof(bytes)), 0x62a8ab43);
        for (unsigned i = 0; i < sizeof(bytes); i++)
                bytes[i] = (uint8_t)i;
        assert_int_equal(cay_crc32c(0, bytes, sizeof(bytes)), 0x46dd794e);
}

static void both_ways_and_all_parts_agree(void **state)
{
        uint8_t bytes[300];

        (void)state;
        for (unsigned i = 0; i < sizeof(bytes); i++)
                bytes[i] = (uint8_t)(i * 167 + i / 7);
        for (unsigned from = 0; from < 9; from++) {
                for (unsigned len = 0; from + len <= sizeof(bytes); len++) {
                        uint32_t whole = cay_crc32c(0, bytes + from, len), half;

                        assert_int_equal(cay_crc32c_by_table(0, bytes + from, len), whole);
                        half = cay_crc32c(0, bytes + from, len / 3);
                        assert_int_equal(cay_crc32c(half, bytes + from + len / 3, len - len / 3), whole);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(known_sums),
                cmocka_unit_test(both_ways_and_all_parts_agree),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
