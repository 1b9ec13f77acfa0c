/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/recordings/cast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect(const struct cay_buf *b, const char *text)
{
        assert_string_equal(cay_buf_data(b), text);
}

static void test_lines(void **state)
{
        const struct cay_cast_head head = {
                .rows = 24, .cols = 80, .wall_ms = 1700000000999ull, .title = "sh \"x\"", .term = "xterm"
        };
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_cast c = { .from_ms = 1000 };

        cay_buf_init(&out, 4096);
        assert_int_equal(cay_cast_head(&head, &out), 0);
        assert_int_equal(cay_cast_output(&c, 1005, "a\033[0m\r\n", 7, &out), 0);
        assert_int_equal(cay_cast_resize(&c, 62345, 30, 90, &out), 0);
        assert_int_equal(cay_cast_output(&c, 500, "b", 1, &out), 0); /* a clock that went back */
        expect(&out, "{\"version\":2,\"width\":80,\"height\":24,\"timestamp\":1700000000,\"title\":\"sh "
                     "\\\"x\\\"\",\"env\":{\"TERM\":\"xterm\"}}\n"
                     "[0.005,\"o\",\"a\\u001b[0m\\r\\n\"]\n"
                     "[61.345,\"r\",\"90x30\"]\n"
                     "[0.000,\"o\",\"b\"]\n");
}

/* A character in two or more pieces is told once, whole; what is none is told as such. */
static void test_characters(void **state)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_cast c = { 0 };

        cay_buf_init(&out, 4096);
        assert_int_equal(cay_cast_output(&c, 1, "h\xc3", 2, &out), 0);
        assert_int_equal(cay_cast_output(&c, 2, "\xa4\xe2\x82", 3, &out), 0);
        assert_int_equal(cay_cast_output(&c, 3, "\xac", 1, &out), 0);
        assert_int_equal(cay_cast_output(&c, 4, "\xf0\x9f\x98", 3, &out), 0);
        assert_int_equal(cay_cast_output(&c, 5, "\x80", 1, &out), 0);
        assert_int_equal(cay_cast_output(&c, 6, "\xff", 1, &out), 0);
        assert_int_equal(cay_cast_output(&c, 7, "\xe2", 1, &out), 0);
        assert_int_equal(cay_cast_end(&c, 8, &out), 0);
        assert_int_equal(cay_cast_end(&c, 9, &out), 0);
        expect(&out, "[0.001,\"o\",\"h\"]\n[0.002,\"o\",\"\xc3\xa4\"]\n[0.003,\"o\",\"\xe2\x82\xac\"]\n"
                     "[0.005,\"o\",\"\xf0\x9f\x98\x80\"]\n[0.006,\"o\",\"\xef\xbf\xbd\"]\n[0.008,\"o\","
                     "\"\xef\xbf\xbd\"]\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_lines), cmocka_unit_test(test_characters) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
