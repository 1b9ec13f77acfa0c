/* SPDX-License-Identifier: Apache-2.0 */
/* Layers by name, and that only a test build can switch one off. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "foundation/base/cleanup.h"
#include "links/helper/layers.h"

static const struct {
        const char *name, *word, *doc;
} rows[] = {
#define CAY_LAYER(name, word, doc) { #name, word, doc },
#include "links/helper/layers.def"
#undef CAY_LAYER
};

static void test_table(void **state)
{
        assert_int_equal(CAY_COUNT(rows), CAY_LAYER_COUNT);
        assert_true(CAY_LAYER_COUNT <= 32); /* bits of cay_init_config.test_off */
        for (unsigned i = 0; i < CAY_LAYER_COUNT; i++) {
                assert_true(rows[i].word[0] && rows[i].doc[0]);
                assert_int_equal(strspn(rows[i].word, "abcdefghijklmnopqrstuvwxyz_"), strlen(rows[i].word));
                for (unsigned k = 0; k < i; k++)
                        assert_string_not_equal(rows[i].word, rows[k].word);
        }
}

static void test_parse(void **state)
{
        char list[1024] = "";
        size_t at = 0;

        for (unsigned i = 0; i < CAY_LAYER_COUNT; i++) {
                assert_true(cay_layers_parse(rows[i].word) == (int64_t)1 << i);
                at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", i ? "," : "", rows[i].word);
        }
        assert_true(cay_layers_parse(list) == ((int64_t)1 << CAY_LAYER_COUNT) - 1);
        assert_true(cay_layers_parse("seccomp,seccomp") == 1 << CAY_LAYER_SECCOMP);
        assert_int_equal(cay_layers_parse(""), 0);
}

static void test_unknown(void **state)
{
        static const char *const bad[] = { "nothing",         "seccom",      "seccompx", "SECCOMP",
                                           " seccomp",        "seccomp ",    ",",        "seccomp,,caps",
                                           "seccomp,nothing", "seccomp;caps" };

        for (unsigned i = 0; i < CAY_COUNT(bad); i++)
                assert_true(cay_layers_parse(bad[i]) == -1);
}

static void test_switch(void **state)
{
        for (unsigned i = 0; i < CAY_LAYER_COUNT; i++) {
                assert_true(cay_layer_is_on(0, i));
#ifdef CAY_TEST_HOOKS
                assert_false(cay_layer_is_on(1u << i, i));
                assert_true(cay_layer_is_on(~(1u << i), i));
#else
                assert_true(cay_layer_is_on(UINT32_MAX, i));
#endif
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table),
                cmocka_unit_test(test_parse),
                cmocka_unit_test(test_unknown),
                cmocka_unit_test(test_switch),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
