/* SPDX-License-Identifier: Apache-2.0 */
/* What viewers of a browser say: every word, bounds, and what is refused. */
#include "domain/browser/live_order.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <string.h>

static struct cay_live_order o;

static void take(const char *json)
{
        struct cay_error err = { 0 };

        assert_int_equal(cay_live_order_read(json, strlen(json), &o, &err), 0);
}

static void refuse(const char *json, const char *words)
{
        struct cay_error err = { 0 };

        assert_int_equal(cay_live_order_read(json, strlen(json), &o, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        assert_non_null(strstr(err.msg, words));
}

static void test_words(void **state)
{
        take("{\"do\":\"ack\",\"frame\":12}");
        assert_int_equal(o.kind, CAY_LIVE_ACK);
        assert_int_equal(o.number, 12);
        take("{\"do\":\"mouse\",\"type\":\"down\",\"x\":10.7,\"y\":20,\"button\":\"right\",\"clicks\":2}");
        assert_int_equal(o.mouse, CAY_LIVE_DOWN);
        assert_int_equal(o.x, 10);
        assert_string_equal(o.button, "right");
        take("{\"do\":\"key\",\"type\":\"down\",\"key\":\"\\u00e4\",\"code\":\"Quote\",\"vk\":222,\"repeat\":"
             "true}");
        assert_string_equal(o.key, "ä");
        assert_true(o.is_down && o.is_repeat);
        take("{\"do\":\"history\",\"go\":\"forward\"}");
        assert_int_equal(o.history, CAY_LIVE_FORWARD);
        take("{\"do\":\"dialog\",\"accept\":true}");
        assert_true(o.accepts && o.text[0] == '\0');
}

static void test_bounds(void **state)
{
        take("{\"do\":\"mouse\",\"type\":\"wheel\",\"x\":1e9,\"y\":-4,\"dx\":-1e400,\"dy\":70000,\"buttons\":"
             "99,\"clicks\":9,"
             "\"modifiers\":77}");
        assert_int_equal(o.x, CAY_LIVE_FAR);
        assert_int_equal(o.y, 0);
        assert_int_equal(o.dx, -CAY_LIVE_FAR);
        assert_int_equal(o.dy, CAY_LIVE_FAR);
        assert_int_equal(o.buttons, 7);
        assert_int_equal(o.clicks, 3);
        assert_int_equal(o.modifiers, 15);
        take("{\"do\":\"mouse\",\"type\":\"move\",\"x\":\"12\",\"y\":null}"); /* no numbers */
        assert_int_equal(o.x, 0);
}

static void test_refusals(void **state)
{
        static char json[CAY_LIVE_TEXT_MAX + 64];

        refuse("{}", "do: ''");
        refuse("[]", "a JSON object");
        refuse("{\"do\":\"fly\"}", "do: 'fly'");
        refuse("{\"do\":\"ack\"}", "frame:");
        refuse("{\"do\":\"select\",\"tab\":-1}", "tab:");
        refuse("{\"do\":\"mouse\",\"type\":\"down\",\"button\":\"fourth\"}", "button: 'fourth'");
        refuse("{\"do\":\"key\",\"type\":\"down\"}", "key:");
        refuse("{\"do\":\"text\",\"text\":\"a\\u0000b\"}", "NUL");
        refuse("{\"do\":\"take\"", "a JSON object");
        static const char begin[] = "{\"do\":\"text\",\"text\":\"";

        memcpy(json, begin, sizeof(begin) - 1);
        memset(json + sizeof(begin) - 1, 'a', CAY_LIVE_TEXT_MAX + 1);
        memcpy(json + sizeof(begin) + CAY_LIVE_TEXT_MAX, "\"}", 3);
        refuse(json, "text: at most 16384 bytes");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_words),
                cmocka_unit_test(test_bounds),
                cmocka_unit_test(test_refusals),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
