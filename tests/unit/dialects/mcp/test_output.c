/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long output keeps its beginning and its end, says what is left out, and where it can be read; characters
 * stay whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "foundation/base/json_out.h"
#include "foundation/base/utf8.h"
#include "dialects/mcp/exec_view.h"
#include "dialects/mcp/stream.h"

static struct cay_mcp_output out;

static size_t take(const char *kind, uint64_t cursor, const char *key, const char *value)
{
        cay_auto_buf struct cay_buf json = { 0 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct cay_error err = { 0 };
        struct cay_json j;

        cay_buf_init(&json, 1024 * 1024);
        cay_json_init(&j, &json);
        cay_json_begin_object(&j);
        cay_json_key(&j, "cursor");
        cay_json_u64(&j, cursor);
        cay_json_key(&j, key);
        cay_json_text(&j, value);
        cay_json_end_object(&j);
        assert_int_equal(cay_json_end(&j), 0);
        assert_int_equal(cay_json_in_parse(cay_buf_data(&json), json.len, NULL, &doc, &err), 0);
        return cay_mcp_output_take(&out, kind, cay_json_in_root(doc));
}

static void check_text(unsigned stream, const char *expected)
{
        cay_auto_buf struct cay_buf text = { 0 };

        cay_buf_init(&text, 1024 * 1024);
        assert_int_equal(cay_mcp_text_put(&out.streams[stream], &text), 0);
        assert_string_equal(cay_buf_data(&text), expected);
}

static void short_output(void **state)
{
        (void)state;
        cay_mcp_output_init(&out);
        assert_int_equal(take("stdout", 0, "text", "one\n"), 4);
        assert_int_equal(take("stderr", 4, "base64", "/wA="), 2);
        assert_int_equal(take("stdout", 6, "text", "two\n"), 4);
        assert_int_equal(take("exited", 10, "text", "x"), 0);
        assert_int_equal(take("stdout", 10, "base64", "!"), 0);
        check_text(0, "one\ntwo\n");
        assert_int_equal(out.streams[1].bytes, 2);
        assert_int_equal(out.next, 10);
        assert_false(out.has_gap);
        cay_mcp_output_done(&out);
}

/* Two bytes a character, pieces of an odd number of them. */
static void long_output(void **state)
{
        char piece[3001] = "";
        cay_auto_buf struct cay_buf text = { 0 };
        uint64_t cursor = 0;
        const char *mark;

        (void)state;
        for (unsigned i = 0; i < 1500; i++)
                memcpy(piece + 2 * i, "\xc3\xbc", 3);
        piece[2998] = '\0';
        cay_mcp_output_init(&out);
        take("stdout", 0, "text", "x");
        for (cursor = 1; cursor < 100000; cursor += 2998)
                take("stdout", cursor, "text", piece);
        assert_true(out.has_gap);
        assert_int_equal(out.gap, CAY_MCP_HEAD_MAX);
        assert_int_equal(out.next, cursor);
        cay_buf_init(&text, 1024 * 1024);
        cay_mcp_text_put(&out.streams[0], &text);
        assert_true(cay_utf8_valid(cay_buf_data(&text), text.len));
        mark = strstr(cay_buf_data(&text), "bytes left out");
        assert_non_null(mark);
        assert_true(text.len < CAY_MCP_HEAD_MAX + CAY_MCP_TAIL_MAX + 100);
        cay_mcp_output_done(&out);
}

static void event_ids(void **state)
{
        unsigned stream = 0, seq = 0;

        (void)state;
        assert_true(cay_mcp_event_id_read("3-17", &stream, &seq));
        assert_int_equal(stream, 3);
        assert_int_equal(seq, 17);
        assert_false(cay_mcp_event_id_read("", &stream, &seq));
        assert_false(cay_mcp_event_id_read("3", &stream, &seq));
        assert_false(cay_mcp_event_id_read("3-", &stream, &seq));
        assert_false(cay_mcp_event_id_read("-3", &stream, &seq));
        assert_false(cay_mcp_event_id_read("99999999999999999-1", &stream, &seq));
        assert_false(cay_mcp_event_id_read("1-99999999999", &stream, &seq));
        assert_false(cay_mcp_event_id_read("a-b", &stream, &seq));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(short_output),
                cmocka_unit_test(long_output),
                cmocka_unit_test(event_ids),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
