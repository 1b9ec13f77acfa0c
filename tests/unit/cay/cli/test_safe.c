/* SPDX-License-Identifier: Apache-2.0 */
/* A line of a program's output on a terminal: nothing of it is heard by the terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cay/cli/safe.h"

static void test_lines(void **state)
{
        static const struct {
                const char *line, *shown;
        } rows[] = {
                { "", "" },
                { "Step 1/2 : FROM x\tä", "Step 1/2 : FROM x\tä" },
                { "\x1b[1;31mred\x1b[0m \x1b[?25lno cursor\x1b[38:5:1m", "red no cursor" },
                { "\x1b]0;title\x07"
                  "a\x1b]8;;http://x\x1b\\link\x1b(Bb\x1b"
                  "c",
                  "alinkb" },
                { "\x1bPq#0\x1b\\a\x1b=", "a" },
                { " 10%\r 50%\r100%", "100%" },
                { "done\r", "done" },
                { "a\r\r\r", "a" },
                { "half \x1b[31", "half \\x1b[31" }, /* a sequence that does not end hides nothing */
                { "half \x1b]0;title", "half \\x1b]0;title" },
                { "end \x1b", "end \\x1b" },
                { "\x1b[\x1b[31mx", "\\x1b[x" },
                { "a\x07\x08\x7f\xc2\x9b"
                  "31m\xe2\x80\xae\xff\xc3",
                  "a\\x07\\x08\\x7f\\x9b31m\\u202e\\xff\\xc3" },
        };
        char got[200];

        (void)state;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                assert_string_equal(cay_safe_line(rows[i].line, got, sizeof(got)), rows[i].shown);
                assert_null(strpbrk(got, "\x1b\x07\x08\r\n"));
        }
}

/* Whatever bytes: no control character is left, and it fits. */
static void test_any_bytes(void **state)
{
        static const char some[] = "\x1b[]P0;m\x07\\\r\t\xc2\x9b\xff(a";
        uint32_t seed = 1;

        (void)state;
        for (unsigned round = 0; round < 20000; round++) {
                char line[24], got[40];
                unsigned n = round % (sizeof(line) - 1);
                size_t size = 1 + round % sizeof(got);

                for (unsigned i = 0; i < n; i++) {
                        seed = seed * 1664525u + 1013904223u;
                        line[i] = some[(seed >> 16) % (sizeof(some) - 1)];
                }
                line[n] = '\0';
                cay_safe_line(line, got, size);
                assert_true(strlen(got) < size);
                for (const char *c = got; *c; c++)
                        assert_true((uint8_t)*c >= 0x20 && (uint8_t)*c != 0x7f ? true : *c == '\t');
        }
}

/* All of text in pieces of `step` bytes, as a stream shows it. */
static const char *stream(const char *text, size_t len, size_t step)
{
        static char out[4096];
        struct cay_safe_tail tail = { 0 };
        char shown[CAY_SAFE_SHOWN];
        size_t at = 0, done = 0;

        for (size_t n; at < len; at += n) {
                size_t more;

                n = len - at < step ? len - at : step;
                more = cay_safe_next(&tail, text + at, n, shown);
                memcpy(out + done, shown, more);
                done += more;
        }
        at = cay_safe_end(&tail, shown);
        memcpy(out + done, shown, at);
        out[done + at] = '\0';
        return out;
}

static void test_streams(void **state)
{
        static const struct {
                const char *text, *shown;
        } rows[] = {
                { "plain\n\ttext\r\n", "plain\n\ttext\r\n" },
                { "\033[2Jx\033]0;title\a", "\\x1b[2Jx\\x1b]0;title\\x07" },
                { "over\rwritten\b\b\r", "over\\rwritten\\x08\\x08\\r" },
                { "gr\303\274n \342\202\254 \360\237\230\200", "gr\303\274n \342\202\254 \360\237\230\200" },
                { "\302\2332J \342\200\256x", "\\x9b2J \\u202ex" },
                { "\377\303", "\\xff\\xc3" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
                for (size_t step = 1; step < 20; step++)
                        assert_string_equal(stream(rows[i].text, strlen(rows[i].text), step), rows[i].shown);
        assert_string_equal(stream("a\0b", 3, 2), "a\\x00b");
}

/* The room for a piece is enough whatever comes. */
static void test_the_longest_piece(void **state)
{
        struct cay_safe_tail tail = { .bytes = "\360\237\230", .len = 3 };
        char piece[CAY_SAFE_PIECE], shown[CAY_SAFE_SHOWN];

        (void)state;
        memset(piece, 0xff, sizeof(piece));
        assert_int_equal(cay_safe_next(&tail, piece, sizeof(piece), shown), 4 * (sizeof(piece) + 3));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_lines), cmocka_unit_test(test_any_bytes),
                                            cmocka_unit_test(test_streams),
                                            cmocka_unit_test(test_the_longest_piece) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
