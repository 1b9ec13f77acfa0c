/* SPDX-License-Identifier: Apache-2.0 */
/* Keys by name and by character. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "domain/desktop/keys.h"

static void chords_are_read(void **state)
{
        const char *at = "  ctrl+shift+T Return ctrl++ é  Page_Down ";
        struct cay_chord c;
        struct cay_error err = { 0 };

        (void)state;
        assert_int_equal(cay_chord_next(&at, &c, &err), 1);
        assert_int_equal(c.count, 3);
        assert_int_equal(c.keys[0], 0xffe3);
        assert_int_equal(c.keys[1], 0xffe1);
        assert_int_equal(c.keys[2], 'T');
        assert_int_equal(cay_chord_next(&at, &c, &err), 1);
        assert_int_equal(c.keys[0], 0xff0d);
        assert_int_equal(cay_chord_next(&at, &c, &err), 1);
        assert_int_equal(c.count, 2);
        assert_int_equal(c.keys[1], '+');
        assert_int_equal(cay_chord_next(&at, &c, &err), 1);
        assert_int_equal(c.keys[0], 0xe9);
        assert_int_equal(cay_chord_next(&at, &c, &err), 1);
        assert_int_equal(c.keys[0], 0xff56);
        assert_int_equal(cay_chord_next(&at, &c, &err), 0);
}

static void other_texts_are_refused(void **state)
{
        static const char *const bad[] = { "hyper+x", "ctrl+", "+a", "ctrl+a+b+c+d+e+f+g+h", "\xff", "\x01" };

        (void)state;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                const char *at = bad[i];
                struct cay_chord c;
                struct cay_error err = { 0 };

                assert_int_equal(cay_chord_next(&at, &c, &err), -1);
                assert_int_equal(err.code, CAY_INVALID);
                assert_int_equal(strncmp(err.msg, "keys: ", 6), 0);
        }
}

static void characters_have_keys(void **state)
{
        (void)state;
        assert_int_equal(cay_key_of('a'), 'a');
        assert_int_equal(cay_key_of('\n'), 0xff0d);
        assert_int_equal(cay_key_of('\t'), 0xff09);
        assert_int_equal(cay_key_of(0xff), 0xff);
        assert_int_equal(cay_key_of(0x4f60), 0x01004f60);
        assert_int_equal(cay_key_of(0x1f600), 0x0101f600);
        assert_int_equal(cay_key_of(7), 0);
        assert_int_equal(cay_key_of(0x85), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(chords_are_read),
                cmocka_unit_test(other_texts_are_refused),
                cmocka_unit_test(characters_have_keys),
        };

        return cmocka_run_group_tests_name("desktop/keys", tests, NULL, NULL);
}
