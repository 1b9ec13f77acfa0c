/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels are found by every name of their language, and are whole. */
#include "domain/contexts/kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void test_found_by_alias(void **state)
{
        (void)state;
        assert_string_equal(cay_kernel_find("py")->language, "python");
        assert_string_equal(cay_kernel_find("NodeJS")->language, "javascript");
        assert_string_equal(cay_kernel_find("bash")->language, "bash");
        assert_null(cay_kernel_find("cobol"));
        assert_null(cay_kernel_find("ruby")); /* a language, without a kernel */
}

static void test_rows(void **state)
{
        static const char *const languages[] = { "python", "javascript", "bash" };
        char names[80];

        (void)state;
        for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++) {
                const struct cay_kernel *k = cay_kernel_find(languages[i]);

                assert_string_equal(k->language, languages[i]);
                assert_true(k->source_len > 500);
                assert_memory_equal(k->source + (k->source[0] == '/' ? 3 : 2), "SPDX", 4);
                assert_non_null(k->argv[0]);
                assert_null(k->argv[CAY_KERNEL_WORDS_MAX - 1]);
        }
        assert_string_equal(cay_kernel_names(names, sizeof(names)), "python, javascript, bash");
        assert_string_equal(cay_kernel_names(names, 5), "pyth");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_found_by_alias),
                cmocka_unit_test(test_rows),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
