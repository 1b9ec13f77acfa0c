/* SPDX-License-Identifier: Apache-2.0 */
/* Cells, tables, and texts of others made harmless. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "cay/cli/safe.h"
#include "cay/cli/table.h"

static struct cay_json_view open_text(const char *text)
{
        struct cay_json_view v;

        assert_int_equal(cay_json_view_open(text, strlen(text), &v), 0);
        return v;
}

static void cells(void **state)
{
        static const struct {
                const char *json;
                enum cay_cell kind;
                const char *text;
        } rows[] = {
                { "\"x\"", CAY_CELL_TEXT, "x" },
                { "null", CAY_CELL_TEXT, "-" },
                { "\"\"", CAY_CELL_TEXT, "-" },
                { "\"a\\u001b[31mb\\n\"", CAY_CELL_TEXT, "a\\x1b[31mb\\n" },
                { "268435456", CAY_CELL_BYTES, "256M" },
                { "1610612736", CAY_CELL_BYTES, "1.5G" },
                { "12", CAY_CELL_BYTES, "12B" },
                { "0", CAY_CELL_BYTES, "0B" },
                { "0", CAY_CELL_SIZE, "-" },
                { "2048", CAY_CELL_SIZE, "2K" },
                { "500", CAY_CELL_MILLI, "0.5" },
                { "2000", CAY_CELL_MILLI, "2" },
                { "999", CAY_CELL_MS, "999ms" },
                { "1500", CAY_CELL_MS, "1.5s" },
                { "3600000", CAY_CELL_MS, "60m" },
                { "1500000", CAY_CELL_US, "1.5s" },
                { "[\"ls\",\"-l\"]", CAY_CELL_COMMAND, "ls -l" },
                { "\"ls -l\"", CAY_CELL_COMMAND, "ls -l" },
                { "{\"a\":\"1\",\"b\":2}", CAY_CELL_PAIRS, "a=1 b=2" },
                { "{}", CAY_CELL_PAIRS, "-" },
                { "[{\"inside\":80,\"host\":3000},{\"inside\":81,\"host\":null}]", CAY_CELL_PORTS,
                  "3000->80 81" },
                { "[]", CAY_CELL_PORTS, "-" },
                { "[{\"name\":\"a\",\"at\":\"/a\",\"read_only\":true},{\"name\":\"b\",\"at\":\"/\\u001b\"}]",
                  CAY_CELL_VOLUMES, "a:/a:ro b:/\\x1b" },
                { "true", CAY_CELL_BOOL, "yes" },
                { "[\"a b\",\"c\"]", CAY_CELL_QUOTED, "\"a b\" \"c\"" },
                { "0", CAY_CELL_LIMIT_MS, "-" },
                { "300000", CAY_CELL_LIMIT_MS, "5m" },
                { "\"no time\"", CAY_CELL_AGE, "-" },
                { "{\"a\":1}", CAY_CELL_JSON, "{\"a\":1}" },
        };
        char text[CAY_CELL_MAX];

        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                assert_string_equal(cay_cell_format(open_text(rows[i].json), rows[i].kind, text),
                                    rows[i].text);
        assert_string_equal(cay_cell_format((struct cay_json_view){ 0 }, CAY_CELL_BYTES, text), "-");
}

static void columns_are_aligned(void **state)
{
        static const struct cay_column columns[] = { { "NAME", "n", CAY_CELL_TEXT },
                                                     { "SIZE", "s.b", CAY_CELL_BYTES },
                                                     { "" } };
        struct cay_error err = { 0 };
        char *text = NULL;
        size_t len;
        FILE *out = open_memstream(&text, &len);

        assert_int_equal(
                cay_table_print(
                        out,
                        open_text(
                                "[{\"n\":\"\xc3\xa4\xc3\xb6\xc3\xbc-long\",\"s\":{\"b\":1}},{\"n\":\"x\"}]"),
                        columns, &err),
                0);
        fclose(out);
        assert_string_equal(text, "NAME      SIZE\n\xc3\xa4\xc3\xb6\xc3\xbc-long  1B\nx         -\n");
        free(text);
        out = open_memstream(&text, &len);
        assert_int_equal(cay_table_print(out, open_text("[]"), columns, &err), 0);
        fclose(out);
        assert_int_equal(len, 0);
        free(text);
}

static unsigned count_lines(const char *text)
{
        unsigned count = 0;

        for (; *text != '\0'; text++)
                count += *text == '\n';
        return count;
}

/* What is printed (two lines) on a terminal so wide, as it arrives at the other end. */
static void print_on_terminal(unsigned short cols, struct cay_json_view array,
                              const struct cay_column *columns, char *ret, size_t size)
{
        struct winsize size_of_it = { .ws_row = 24, .ws_col = cols };
        int far = posix_openpt(O_RDWR | O_NOCTTY), near;
        struct cay_error err = { 0 };
        ssize_t n;
        FILE *out;

        assert_true(far >= 0 && grantpt(far) == 0 && unlockpt(far) == 0);
        near = open(ptsname(far), O_RDWR | O_NOCTTY);
        assert_true(near >= 0);
        assert_int_equal(ioctl(near, TIOCSWINSZ, &size_of_it), 0);
        out = fdopen(near, "w");
        assert_int_equal(cay_table_print(out, array, columns, &err), 0);
        fflush(out);
        ret[0] = '\0';
        for (size_t len = 0; count_lines(ret) < 2; len += (size_t)n) { /* a terminal hands on as it pleases */
                n = read(far, ret + len, size - 1 - len);
                assert_true(n > 0);
                ret[len + (size_t)n] = '\0';
        }
        fclose(out);
        close(far);
}

static void narrow_terminals(void **state)
{
        static const struct cay_column columns[] = { { "NAME", "n", CAY_CELL_TEXT },
                                                     { "MORE", "m", CAY_CELL_NUMBER, .may_go = true },
                                                     { "COMMAND", "c", CAY_CELL_TEXT },
                                                     { "" } };
        struct cay_json_view array =
                open_text("[{\"n\":\"one\",\"m\":1,\"c\":\"\xc3\xa4\xc3\xb6 and something that is long\"}]");
        char text[500];

        print_on_terminal(24, array, columns, text, sizeof(text));
        assert_string_equal(text, "NAME  MORE  COMMAND\r\none   1     \xc3\xa4\xc3\xb6 and some…\r\n");
        print_on_terminal(16, array, columns, text, sizeof(text)); /* the column that may go has gone */
        assert_string_equal(text, "NAME  COMMAND\r\none   \xc3\xa4\xc3\xb6 and so…\r\n");
        print_on_terminal(200, array, columns, text, sizeof(text));
        assert_non_null(strstr(text, "that is long\r\n"));
}

static void columns_that_nobody_has(void **state)
{
        static const struct cay_column columns[] = { { "NAME", "n", CAY_CELL_TEXT },
                                                     { "PORTS", "p", CAY_CELL_PORTS, .if_any = true },
                                                     { "AGE", "a", CAY_CELL_NUMBER },
                                                     { "" } };
        struct cay_error err = { 0 };
        char *text = NULL;
        size_t len;
        FILE *out = open_memstream(&text, &len);

        assert_int_equal(cay_table_print(out,
                                         open_text("[{\"n\":\"x\",\"a\":1,\"p\":[]},{\"n\":\"y\",\"a\":2}]"),
                                         columns, &err),
                         0);
        assert_int_equal(
                cay_table_print(
                        out,
                        open_text("[{\"n\":\"x\",\"a\":1,\"p\":[{\"inside\":8}]},{\"n\":\"y\",\"a\":2}]"),
                        columns, &err),
                0);
        fclose(out);
        assert_string_equal(
                text, "NAME  AGE\nx     1\ny     2\nNAME  PORTS  AGE\nx     8      1\ny     -      2\n");
        free(text);
}

static void safe_texts(void **state)
{
        char text[32];

        assert_string_equal(cay_safe_copy("a\x7f\xc2\x9b\xff\t", text, sizeof(text)), "a\\x7f\\x9b\\xff\\t");
        assert_string_equal(cay_safe_copy("\xe2\x80\xae", text, sizeof(text)), "\\u202e");
        assert_string_equal(cay_safe_copy("\xc3\xa4\xc3\xa4\xc3\xa4", text, 4),
                            "\xc3\xa4"); /* cut between characters */
        assert_int_equal(cay_safe_width("\xc3\xa4x"), 2);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(cells), cmocka_unit_test(columns_are_aligned),
                                            cmocka_unit_test(narrow_terminals),
                                            cmocka_unit_test(columns_that_nobody_has),
                                            cmocka_unit_test(safe_texts) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
