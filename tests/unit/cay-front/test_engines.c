/* SPDX-License-Identifier: Apache-2.0 */
/* What the keeper says of engines, and what the front makes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cay-front/front_engines.h"

static struct cay_front_engines engines;

static int read_words(const char *setting, char *const *words)
{
        struct cay_error err = { 0 };

        engines = (struct cay_front_engines){ 0 };
        return cay_front_engines_read(&engines, setting, words, &err);
}

#define WORDS(...) ((char *const[]){ __VA_ARGS__, NULL })
#define W(text) ((char *)(uintptr_t)(text))

static void as_the_keeper_says(void **state)
{
        struct cay_service_env env = { 0 };

        assert_int_equal(read_words("auto",
                                    WORDS(W("native"), W("no"), W("no namespaces"), W("docker"), W("runs"),
                                          W("it is named"), W("process"), W("no"), W("it is off"))),
                         0);
        assert_true(engines.is_auto && !engines.rows[0].runs && engines.rows[1].runs &&
                    !engines.keeper_is_old);
        assert_string_equal(cay_front_engines_why_not(&engines, "native"), "no namespaces");
        assert_string_equal(cay_front_engines_why_not(&engines, "process"), "it is off");
        assert_null(cay_front_engines_why_not(&engines, "podman"));
        cay_front_engines_fill(&engines, &env);
        assert_int_equal(env.engine_count, 3);
        assert_string_equal(env.engines[1].name, "docker");
        assert_string_equal(env.engines[1].note, "it is named");
        assert_string_equal(cay_front_engines_default(&engines), ""); /* nothing is open yet */
}

static void an_older_keeper_says_nothing(void **state)
{
        char *const none[] = { NULL };

        assert_int_equal(read_words("docker", none), 0);
        assert_true(!engines.rows[0].runs && engines.rows[1].runs && !engines.is_auto);
        assert_int_equal(read_words("native", none), 0);
        assert_true(engines.rows[0].runs && !engines.rows[1].runs);
        assert_int_equal(read_words("process", none), 0); /* which such a keeper does not have */
        assert_false(engines.rows[2].runs);
        assert_true(engines.keeper_is_old);
}

static void a_keeper_of_before_process(void **state)
{
        assert_int_equal(
                read_words("native", WORDS(W("native"), W("runs"), W("x"), W("docker"), W("no"), W("y"))), 0);
        assert_true(engines.rows[0].runs && !engines.rows[1].runs && !engines.rows[2].runs &&
                    engines.keeper_is_old);
        assert_non_null(strstr(cay_front_engines_why_not(&engines, "process"), "start the daemon anew"));
}

static void nonsense_is_refused(void **state)
{
        assert_int_equal(read_words("auto", WORDS(W("native"))), -1);
        assert_int_equal(read_words("auto", WORDS(W("native"), W("runs"))), -1);
        assert_int_equal(read_words("auto", WORDS(W("remote"), W("runs"), W("x"))), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(as_the_keeper_says),
                cmocka_unit_test(an_older_keeper_says_nothing),
                cmocka_unit_test(a_keeper_of_before_process),
                cmocka_unit_test(nonsense_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
