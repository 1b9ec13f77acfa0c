/* SPDX-License-Identifier: Apache-2.0 */
/* base64url: one form per value. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "foundation/base/base64.h"

static void known_values(void **state)
{
        static const struct {
                const char *bytes, *text;
        } rows[] = { { "", "" },
                     { "f", "Zg" },
                     { "fo", "Zm8" },
                     { "foo", "Zm9v" },
                     { "foob", "Zm9vYg" },
                     { "fooba", "Zm9vYmE" },
                     { "foobar", "Zm9vYmFy" },
                     { "\xfb\xff\xfe", "-__-" } };

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                char text[16], bytes[16];
                size_t len = strlen(rows[i].bytes);

                assert_int_equal(cay_base64url_encode(rows[i].bytes, len, text, sizeof(text)),
                                 strlen(rows[i].text));
                assert_string_equal(text, rows[i].text);
                assert_int_equal(cay_base64url_decode(text, strlen(text), bytes, sizeof(bytes)), len);
                assert_memory_equal(bytes, rows[i].bytes, len);
                assert_int_equal(CAY_BASE64URL_LEN(len), strlen(text));
        }
}

static void other_forms_are_refused(void **state)
{
        static const char *const bad[] = { "Zg==", "Zh",   "Zm9",    "Z", "Zm9v Zg",
                                           "Zm+v", "Zm/v", "Zm9v\n", "=", "Zm9vYmF" };
        char bytes[16];

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_int_equal(cay_base64url_decode(bad[i], strlen(bad[i]), bytes, sizeof(bytes)), -EINVAL);
}

static void room_is_respected(void **state)
{
        char text[5];

        assert_int_equal(cay_base64url_encode("foo", 3, text, 4), -ENOSPC);
        assert_int_equal(cay_base64url_encode("foo", 3, text, 5), 4);
        assert_int_equal(cay_base64url_decode("Zm9v", 4, text, 2), -ENOSPC);
        assert_int_equal(cay_base64url_decode("Zm9v", 4, text, 3), 3);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(known_values),
                cmocka_unit_test(other_forms_are_refused),
                cmocka_unit_test(room_is_respected),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
