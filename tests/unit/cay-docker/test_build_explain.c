/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of Docker's classic builder, with what to do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cay-docker/build_explain.h"
#include "foundation/base/utf8.h"

static void test_explained(void **state)
{
        static const char *const errors[] = {
                "the --mount option requires BuildKit. Refer to the manual to learn how to build images with "
                "BuildKit "
                "enabled",
                "dockerfile parse error line 3: Unknown flag: mount",
                "dockerfile parse error line 3: unknown instruction: ECHO",
                "COPY failed: file not found in build context or excluded by .dockerignore: stat <<EOF: file "
                "does not "
                "exist",
        };

        (void)state;
        for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
                char ret[256];

                docker_build_explain(errors[i], ret, sizeof(ret));
                assert_int_equal(strncmp(ret, errors[i], 12), 0);
                assert_non_null(strstr(ret, "classic builder"));
                assert_non_null(strstr(ret, "name it with image:"));
        }
}

static void test_others_stay(void **state)
{
        static const char *const errors[] = {
                "The command '/bin/sh -c cat <<X; exit 7' returned a non-zero code: 7",
                "pull access denied",
                "",
        };
        char ret[256];

        (void)state;
        for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
                docker_build_explain(errors[i], ret, sizeof(ret));
                assert_string_equal(ret, errors[i]);
        }
}

static void test_bounds(void **state)
{
        char error[600] = "unknown instruction: ", ret[256];

        (void)state;
        for (unsigned i = 0; i < 250; i++)
                memcpy(error + 21 + 2 * i, "ä", 3);
        docker_build_explain(error, ret, sizeof(ret));
        assert_true(strlen(ret) < sizeof(ret) && cay_utf8_valid(ret, strlen(ret)));
        docker_build_explain(error, ret, 8);
        assert_true(strlen(ret) < 8);
        docker_build_explain(error + 21, ret, sizeof(ret));
        assert_true(strlen(ret) >= 254 && cay_utf8_valid(ret, strlen(ret)));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_explained),
                cmocka_unit_test(test_others_stay),
                cmocka_unit_test(test_bounds),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
