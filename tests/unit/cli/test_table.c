/* SPDX-License-Identifier: Apache-2.0 */
/* Cells, tables, and texts of others made harmless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/safe.h"
#include "cli/table.h"

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
                { "true", CAY_CELL_BOOL, "yes" },
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
                                                     { 0 } };
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
                                            cmocka_unit_test(safe_texts) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
