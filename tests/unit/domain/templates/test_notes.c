/* SPDX-License-Identifier: Apache-2.0 */
/* Notes: order, bounds, both ways of printing. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/base/utf8.h"
#include "domain/templates/notes.h"

static void lines(void **state)
{
        struct cay_notes n = { 0 };
        char line[400];

        cay_note_error(&n, 3, 7, "%s is wrong", "x");
        cay_note_warning(&n, 1, 2, "odd");
        cay_note_error(&n, 0, 0, "all of it");
        assert_string_equal(cay_note_line(&n.items[0], "a.yaml", line, sizeof(line)),
                            "a.yaml:3:7: x is wrong");
        assert_string_equal(cay_note_line(&n.items[1], "a.yaml", line, sizeof(line)),
                            "a.yaml:1:2: warning: odd");
        assert_string_equal(cay_note_line(&n.items[2], "a.yaml", line, sizeof(line)), "a.yaml: all of it");
        assert_true(n.errors == 2 && n.warnings == 1);
}

static void order_is_by_place(void **state)
{
        struct cay_notes n = { 0 };

        cay_note_error(&n, 2, 9, "c");
        cay_note_error(&n, 2, 1, "b");
        cay_note_error(&n, 1, 5, "a1");
        cay_note_error(&n, 1, 5, "a2");
        cay_notes_sort(&n);
        assert_string_equal(n.items[0].text, "a1");
        assert_string_equal(n.items[1].text, "a2");
        assert_string_equal(n.items[2].text, "b");
        assert_string_equal(n.items[3].text, "c");
}

static void more_than_fit_are_counted(void **state)
{
        struct cay_notes n = { 0 };

        for (unsigned i = 0; i < 100; i++)
                cay_note_error(&n, i, 1, "x");
        assert_int_equal(n.count, CAY_NOTES_MAX);
        assert_int_equal(n.errors, 100);
}

static void texts_stay_one_line_of_utf8(void **state)
{
        struct cay_notes n = { 0 };
        char long_text[400];

        cay_note_error(&n, 1, 1, "a\nb\tc\x7f");
        assert_string_equal(n.items[0].text, "a b c ");
        for (unsigned pad = 0; pad < 4; pad++) { /* the cut falls at each byte of a character */
                n = (struct cay_notes){ 0 };
                memset(long_text, 'x', pad);
                for (size_t at = pad; at + 3 < sizeof(long_text); at += 3)
                        memcpy(long_text + at, "\xe2\x82\xac", 4);
                cay_note_error(&n, 1, 1, "%s", long_text);
                assert_true(cay_utf8_valid(n.items[0].text, strlen(n.items[0].text)));
                assert_true(strlen(n.items[0].text) > CAY_NOTE_TEXT - 5);
        }
}

static void json(void **state)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_notes n = { 0 };

        cay_note_warning(&n, 4, 2, "say \"hi\"");
        cay_buf_init(&out, 4096);
        assert_int_equal(cay_notes_put_json(&n, "f", &out), 0);
        assert_string_equal(cay_buf_data(&out),
                            "{\"file\":\"f\",\"valid\":true,\"errors\":0,\"warnings\":1,\"notes\":[{\"line\":"
                            "4,\"column\":"
                            "2,\"severity\":\"warning\",\"message\":\"say \\\"hi\\\"\"}]}");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(lines),
                cmocka_unit_test(order_is_by_place),
                cmocka_unit_test(more_than_fit_are_counted),
                cmocka_unit_test(texts_stay_one_line_of_utf8),
                cmocka_unit_test(json),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
