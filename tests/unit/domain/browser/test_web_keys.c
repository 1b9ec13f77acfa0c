/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/browser/web_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static struct cay_error err;

static struct cay_web_key one(const char *text)
{
        struct cay_web_key key;

        err = (struct cay_error){ 0 };
        assert_int_equal(cay_web_key_next(&text, &key, &err), 1);
        assert_string_equal(text, "");
        return key;
}

static void test_keys(void **state)
{
        struct cay_web_key k = one("enter");

        (void)state;
        assert_string_equal(k.key, "Enter");
        assert_string_equal(k.text, "\r");
        assert_int_equal(k.vk, 13);
        k = one("shift+a");
        assert_string_equal(k.key, "A");
        assert_string_equal(k.text, "A");
        assert_string_equal(k.code, "KeyA");
        assert_int_equal(k.modifiers, CAY_WEB_SHIFT);
        k = one("Ctrl+Alt+Delete");
        assert_string_equal(k.key, "Delete");
        assert_int_equal(k.modifiers, CAY_WEB_CTRL | CAY_WEB_ALT);
        k = one("ctrl+c");
        assert_string_equal(k.text, ""); /* types nothing */
        assert_string_equal(one("F12").key, "F12");
        assert_int_equal(one("F12").vk, 123);
        assert_string_equal(one("+").key, "+");
        assert_string_equal(one("ctrl++").key, "+");
        assert_string_equal(one("\xc3\xa9").text, "\xc3\xa9");
        assert_string_equal(one("7").code, "Digit7");
}

static void test_sequence(void **state)
{
        const char *at = "  Tab  ctrl+a x ";
        struct cay_web_key key;

        (void)state;
        assert_int_equal(cay_web_key_next(&at, &key, &err), 1);
        assert_string_equal(key.key, "Tab");
        assert_int_equal(cay_web_key_next(&at, &key, &err), 1);
        assert_string_equal(key.key, "a");
        assert_int_equal(cay_web_key_next(&at, &key, &err), 1);
        assert_string_equal(key.key, "x");
        assert_int_equal(cay_web_key_next(&at, &key, &err), 0);
}

static void test_refused(void **state)
{
        static const char *const bad[] = {
                "Hyper+a", "F13",  "F0",   "ctrl+", "nosuchkey",
                "ab",      "\xff", "F1x2", "a+b",   "0123456789012345678901234567890123456789"
        };

        (void)state;
        for (unsigned i = 0; i < CAY_COUNT(bad); i++) {
                const char *at = bad[i];
                struct cay_web_key key;

                err = (struct cay_error){ 0 };
                if (cay_web_key_next(&at, &key, &err) != -1)
                        fail_msg("'%s' was taken", bad[i]);
                assert_int_equal(err.code, CAY_INVALID);
                assert_int_equal(strncmp(err.msg, "keys: ", 6), 0);
        }
}

static void test_modifiers(void **state)
{
        unsigned bits;

        (void)state;
        assert_int_equal(cay_web_modifiers("ctrl+shift", &bits, &err), 0);
        assert_int_equal(bits, CAY_WEB_CTRL | CAY_WEB_SHIFT);
        err = (struct cay_error){ 0 };
        assert_int_equal(cay_web_modifiers("ctrl+a", &bits, &err), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_keys),
                cmocka_unit_test(test_sequence),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_modifiers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
