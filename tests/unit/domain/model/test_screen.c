/* SPDX-License-Identifier: Apache-2.0 */
/* Where a terminal begins to draw, and in which modes. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "domain/model/screen.h"

static char text[CAY_SCREEN_TEXT_MAX + 1];

static const char *modes_of(const struct cay_screen *s)
{
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, CAY_SCREEN_TEXT_MAX);
        assert_int_equal(cay_screen_put(s, &out), 0);
        memcpy(text, cay_buf_data(&out), out.len);
        text[out.len] = '\0';
        return text;
}

/* All of it has gone by: the modes at its end, however it was cut. */
static const char *after(const char *bytes)
{
        struct cay_screen whole, parts;
        size_t len = strlen(bytes);
        char first[sizeof(text)];

        cay_screen_init(&whole, 0, len);
        assert_int_equal(cay_screen_feed(&whole, bytes, len), len);
        modes_of(&whole);
        memcpy(first, text, sizeof(first));
        cay_screen_init(&parts, 0, len);
        for (size_t i = 0; i < len; i++)
                assert_int_equal(cay_screen_feed(&parts, bytes + i, 1), 1);
        assert_string_equal(modes_of(&parts), first);
        return text;
}

static void modes_are_kept(void **state)
{
        (void)state;
        assert_string_equal(after("hello\r\n"), "");
        assert_string_equal(after("\x1b[?1049h\x1b[?25l\x1b[?1h\x1b=vim"),
                            "\x1b[?1049h\x1b[?1h\x1b[?25l\x1b=");
        assert_string_equal(after("\x1b[?1049h\x1b[?25lvim\x1b[?25h\x1b[?1049l"), "");
        assert_string_equal(after("\x1b[?1000;1006h\x1b[?2004h"), "\x1b[?1000h\x1b[?1006h\x1b[?2004h");
        assert_string_equal(after("\x1b[4h"), "\x1b[4h");
        assert_string_equal(after("\x1b[?4h"), ""); /* another one, not kept */
        assert_string_equal(after("\x1b[2;20r"), "\x1b[2;20r");
        assert_string_equal(after("\x1b[2;20r\x1b[r"), "");
        assert_string_equal(after("\x1b(0qqq"), "\x1b(0");
        assert_string_equal(after("\x1b(0qqq\x1b(B"), "");
        assert_string_equal(after("\x1b)0\x0eq"), "\x1b)0\x0e");
        assert_string_equal(after("\x1b[?2004h\x1b[31m\x1b[2;3r\x1b"
                                  "c"),
                            "");
        assert_string_equal(after("\x1b[?2004h\x1b[31m\x1b[2;3r\x1b[!p"), "\x1b[?2004h");
}

static void colours_add_up(void **state)
{
        (void)state;
        assert_string_equal(after("\x1b[1m\x1b[38;5;208mx"), "\x1b[1;38;5;208m");
        assert_string_equal(after("\x1b[1m\x1b[0;32mx"), "\x1b[32m");
        assert_string_equal(after("\x1b[1m\x1b[mx"), "");
        assert_string_equal(after("\x1b[1m\x1b[0mx"), "");
        assert_string_equal(after("\x1b[38:2::1:2:3m"), "\x1b[38:2::1:2:3m");
        for (unsigned i = 0; i < 100; i++)
                assert_non_null(after("\x1b[31m\x1b[42m\x1b[38;2;100;100;100m\x1b[48;2;200;200;200m\x1b["
                                      "1m\x1b[38;2;100;100;100m"
                                      "\x1b[38;2;7;7;7m"));
        assert_true(strlen(text) <= CAY_SCREEN_ARGS + 3);
}

static void what_is_odd_is_passed_over(void **state)
{
        (void)state;
        assert_string_equal(after("\x1b]0;a title with [?25l and ?1049h\a"), "");
        assert_string_equal(after("\x1b]0;a\x1b[?25lb\x1b\\"), "\x1b[?25l"); /* a sequence ends a string */
        assert_string_equal(after("\x1bPq#0;2;0;0;0\x1b\\\x1b[?25l"), "\x1b[?25l");
        assert_string_equal(after("\x1b[?99999999999999999999h\x1b[?h\x1b[;;h\x1b[?25$p"), "");
        assert_string_equal(after("\x1b[1;2;3r\x1b[70000;70001r"), "");
        assert_string_equal(after("\x1b[>4;2m\x1b[?4m"), ""); /* not of colours */
        assert_string_equal(
                after("\x1b[0000000000000000000000000000000000000000000000000000000000000000000000031m"), "");
        assert_string_equal(after("\x1b[?2\x18"
                                  "5l"),
                            "");
}

static void begins_at_a_good_place(void **state)
{
        static const char bytes[] = "one\r\n\x1b[?1049htwo three\r\nfour";
        struct cay_screen s;
        char long_line[CAY_SCREEN_LOOK + 200];

        (void)state;
        cay_screen_init(&s, 0, 0);
        assert_true(s.found); /* all of it */
        cay_screen_init(&s, 100, 101);
        assert_int_equal(cay_screen_feed(&s, bytes, sizeof(bytes) - 1), 5); /* behind a line */
        assert_true(s.found);
        assert_int_equal(s.at, 105);
        assert_string_equal(modes_of(&s), "");
        assert_int_equal(cay_screen_feed(&s, bytes, 3), 0); /* it stays there */
        cay_screen_init(&s, 100, 107);
        cay_screen_feed(&s, bytes, sizeof(bytes) - 1);
        assert_int_equal(s.at, 100 + strlen("one\r\n\x1b[?1049htwo three\r\n")); /* not inside the sequence */
        assert_string_equal(modes_of(&s), "\x1b[?1049h");
        /* What was cut off in front is passed over. */
        cay_screen_init(&s, 50, 50);
        assert_int_equal(cay_screen_feed(&s, "25l\xa4 rest\nnext", 14), 10);
        /* Without a line and a sequence any place between characters will do, in the end. */
        memset(long_line, 'x', sizeof(long_line));
        memcpy(long_line + CAY_SCREEN_LOOK + 2, "\xe2\x82\xac", 3);
        cay_screen_init(&s, 7, 8);
        cay_screen_feed(&s, long_line, sizeof(long_line));
        assert_true(s.found);
        assert_int_equal(s.at, 7 + CAY_SCREEN_LOOK + 5);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(modes_are_kept),
                cmocka_unit_test(colours_add_up),
                cmocka_unit_test(what_is_odd_is_passed_over),
                cmocka_unit_test(begins_at_a_good_place),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
