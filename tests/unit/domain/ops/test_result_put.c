/* SPDX-License-Identifier: Apache-2.0 */
/* Members of structs, written by their rows: every kind, every size of number, texts that are there, empty or not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "domain/ops/op.h"
#include "domain/ops/result_rows.h"

struct thing {
        const char *text, *nothing, *empty;
        char chars[8], no_chars[8];
        uint64_t big, at, never;
        unsigned count;
        uint16_t port;
        bool yes, no;
};

RESULT(result_thing, NULL, MEMBER(TEXT, struct thing, text), TEXT("by_hand"),
       MEMBER_AS("nothing", TEXT, CAY_RESULT_NULLABLE, struct thing, nothing),
       MEMBER_AS("empty", TEXT, CAY_RESULT_NULLABLE, struct thing, empty),
       MEMBER_AS("letters", TEXT, CAY_RESULT_CHARS, struct thing, chars),
       MEMBER_AS("no_letters", TEXT, CAY_RESULT_CHARS | CAY_RESULT_NULLABLE, struct thing, no_chars),
       MEMBER(NUMBER, struct thing, big), MEMBER(TIME, struct thing, at), MEMBER(TIME, struct thing, never),
       MEMBER(NUMBER, struct thing, count), MEMBER(NUMBER, struct thing, port),
       MEMBER(BOOL, struct thing, yes), MEMBER(BOOL, struct thing, no));

static void members(void **state)
{
        const struct thing t = { .text = "a",
                                 .empty = "",
                                 .chars = "bcdefgh",
                                 .big = 1ull << 40,
                                 .at = 1000,
                                 .count = 4000000000u,
                                 .port = 65535,
                                 .yes = true };
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        cay_buf_init(&out, 4096);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        cay_op_put_members(&j, &result_thing, &t);
        cay_json_end_object(&j);
        assert_int_equal(cay_json_end(&j), 0);
        assert_string_equal(cay_buf_data(&out),
                            "{\"text\":\"a\",\"nothing\":null,\"empty\":null,\"letters\":\"bcdefgh\","
                            "\"no_letters\":null,\"big\":1099511627776,\"at\":\"1970-01-01T00:00:01.000Z\","
                            "\"never\":null,\"count\":4000000000,\"port\":65535,\"yes\":true,\"no\":false}");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(members),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
