/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of browsers and of their clients, well-formed and not. */
#include "domain/browser/cdp_message.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <string.h>

#define SESSION "0123456789ABCDEF0123456789ABCDEF"

static int read_text(const char *text, struct cay_cdp_message *m)
{
        return cay_cdp_message_read(text, strlen(text), m);
}

static void is_text(struct cay_json_view v, const char *text)
{
        assert_int_equal(v.len, strlen(text));
        assert_memory_equal(v.at, text, v.len);
}

static void test_members(void **state)
{
        struct cay_cdp_message m;

        (void)state;
        assert_int_equal(
                read_text(" {\n \"id\" : 7, \"method\":\"Page.navigate\",\"params\":{\"url\":\"a\\\"}b\"},"
                          "\"sessionId\":\"" SESSION "\"} ",
                          &m),
                0);
        assert_true(m.has_id);
        assert_int_equal(m.id, 7);
        assert_string_equal(m.method, "Page.navigate");
        assert_string_equal(m.session, SESSION);
        is_text(m.params, "{\"url\":\"a\\\"}b\"}");
        assert_int_equal(read_text("{\"id\":-2147483648,\"result\":{\"x\":[1,{\"y\":[]}]}}", &m), 0);
        assert_int_equal(m.id, INT32_MIN);
        is_text(m.result, "{\"x\":[1,{\"y\":[]}]}");
        assert_int_equal(read_text("{}", &m), 0);
        assert_false(m.has_id);
}

static void test_refused(void **state)
{
        static const char *const broken[] = {
                "",
                "[]",
                "1",
                "{",
                "{\"id\":1",
                "{\"id\":1}}",
                "{\"id\":1}{}",
                "{\"id\" 1}",
                "{id:1}",
                "{\"id\":1,}",
                "{\"params\":{\"a\":\"b}}",
                "{\"a\":}",
                "{\"a\":1 2}",
                /* Chromium accepts comments; a quotation mark in one would hide what follows it. */
                "{\"id\":1,\"method\":\"A.b\",\"params\":{/*\"*/},\"sessionId\":\"X\"/*\"*/}}",
                "{\"id\":1,//\n\"method\":\"A.b\"}",
        };
        static const char *const odd[] = {
                "{\"id\":2147483648}",
                "{\"id\":1.5}",
                "{\"id\":\"1\"}",
                "{\"id\":1e3}",
                "{\"method\":1}",
                "{\"method\":\"P\\u0061ge.navigate\"}",
                "{\"method\":\"a b\"}",
                "{\"sessionId\":\"0123\"}",
                "{\"sessionId\":\"0123456789abcdef0123456789abcdef\"}",
                "{\"params\":[]}",
                "{\"params\":1}",
        };
        struct cay_cdp_message m;

        (void)state;
        for (unsigned i = 0; i < CAY_COUNT(broken); i++)
                assert_int_equal(read_text(broken[i], &m), -EBADMSG);
        for (unsigned i = 0; i < CAY_COUNT(odd); i++)
                assert_int_equal(read_text(odd[i], &m), -EINVAL);
        assert_int_equal(cay_cdp_message_read("{\"id\":1}\0{\"id\":2}", 17, &m), -EBADMSG);
        /* The sender of a wrong member is told by its id. */
        assert_int_equal(read_text("{\"id\":5,\"method\":\"a b\"}", &m), -EINVAL);
        assert_true(m.has_id);
        assert_int_equal(m.id, 5);
}

static void test_written(void **state)
{
        static const struct cay_json_view none = { 0 }, object = { "{\"a\":1}", 7 };
        struct cay_buf out;

        (void)state;
        cay_buf_init(&out, 100);
        assert_int_equal(cay_cdp_put_command(&out, 3, "A.b", object, SESSION), 0);
        assert_string_equal(cay_buf_data(&out),
                            "{\"id\":3,\"method\":\"A.b\",\"params\":{\"a\":1},\"sessionId\":\"" SESSION
                            "\"}");
        assert_int_equal(cay_cdp_put_command(&out, 3, "A.b", object, SESSION), -ENOSPC);
        assert_int_equal(out.len, strlen(cay_buf_data(&out))); /* nothing of it */
        cay_buf_clear(&out);
        assert_int_equal(cay_cdp_put_reply(&out, 3, object, none, ""), 0);
        assert_string_equal(cay_buf_data(&out), "{\"id\":3,\"result\":{\"a\":1}}");
        cay_buf_clear(&out);
        assert_int_equal(cay_cdp_put_event(&out, "A.c", none, ""), 0);
        assert_string_equal(cay_buf_data(&out), "{\"method\":\"A.c\"}");
        cay_buf_clear(&out);
        assert_int_equal(cay_cdp_put_refusal(&out, true, 3, -32000, "no \"x\"", ""), 0);
        assert_string_equal(cay_buf_data(&out),
                            "{\"id\":3,\"error\":{\"code\":-32000,\"message\":\"no \\\"x\\\"\"}}");
        cay_buf_done(&out);
}

static void test_find(void **state)
{
        static const char text[] = "{\"a\":{\"b\":\"inner\"},\"b\":\"x\\u00e9\",\"c\":1}";
        const struct cay_json_view v = { text, sizeof(text) - 1 };
        static const char known[] = "{\"good\":\"" SESSION "\",\"short\":\"0123\","
                                    "\"bad\":\"0123456789ABCDEF0123456789ABCDE\\u0022\"}";
        const struct cay_json_view ids = { known, sizeof(known) - 1 };
        char got[8], session[CAY_CDP_SESSION_LEN + 1];
        int32_t id;

        (void)state;
        assert_string_equal(cay_cdp_find_text(v, "b", got, sizeof(got)), "xé");
        assert_string_equal(cay_cdp_find_text(v, "c", got, sizeof(got)), "");
        assert_string_equal(cay_cdp_find_text(v, "none", got, sizeof(got)), "");
        assert_string_equal(cay_cdp_find_text(cay_cdp_find(v, "a"), "b", got, sizeof(got)), "inner");
        assert_true(cay_cdp_find_session(ids, "good", session));
        assert_string_equal(session, SESSION);
        assert_false(cay_cdp_find_session(ids, "bad", session));
        assert_false(cay_cdp_find_session(ids, "short", session));
        assert_true(cay_cdp_message_peek_id("{\"id\":42,\"result\":{\"data", 24, &id));
        assert_int_equal(id, 42);
        assert_false(cay_cdp_message_peek_id("{\"method\":\"A.b\",\"params\"", 24, &id));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_members),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_written),
                cmocka_unit_test(test_find),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
