/* SPDX-License-Identifier: Apache-2.0 */
/* Which engines a daemon runs with, and when one is given up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cay/keeper/engines.h"

static struct cay_keep_plan plan;
static struct cay_error err;

static int decide(const char *setting, const char *native_why, const char *docker_why)
{
        struct cay_keep_facts facts = { .rows[CAY_ENGINE_docker].where = "it is said" };

        err = (struct cay_error){ 0 };
        snprintf(facts.rows[CAY_ENGINE_native].why, CAY_KEEP_WHY, "%s", native_why);
        snprintf(facts.rows[CAY_ENGINE_docker].why, CAY_KEEP_WHY, "%s", docker_why);
        return cay_keep_decide(setting, &facts, &plan, &err);
}

static bool native_runs(void)
{
        return plan.rows[CAY_ENGINE_native].runs;
}

static bool docker_runs(void)
{
        return plan.rows[CAY_ENGINE_docker].runs;
}

static void by_name_it_is_that_one(void **state)
{
        assert_int_equal(decide("native", "it cannot", ""), 0); /* what it can shows when it is used */
        assert_true(native_runs() && !docker_runs() && !plan.is_auto);
        assert_non_null(strstr(plan.rows[CAY_ENGINE_docker].why, "engine is native"));
        assert_int_equal(decide("docker", "", "it is not there"), 0);
        assert_true(!native_runs() && docker_runs());
}

static void auto_takes_what_there_is(void **state)
{
        assert_int_equal(decide("auto", "", ""), 0);
        assert_true(native_runs() && docker_runs() && plan.is_auto);
        assert_non_null(strstr(plan.rows[CAY_ENGINE_docker].why, "it is said"));
        assert_int_equal(decide("auto", "", "no socket"), 0);
        assert_true(native_runs() && !docker_runs());
        assert_string_equal(plan.rows[CAY_ENGINE_docker].why, "no socket");
        assert_int_equal(decide("auto", "no namespaces", ""), 0);
        assert_true(!native_runs() && docker_runs());
        assert_string_equal(plan.rows[CAY_ENGINE_native].why, "no namespaces");
}

static void auto_with_nothing_says_both_reasons(void **state)
{
        assert_int_equal(decide("auto", "no namespaces", "no socket"), -1);
        assert_int_equal(err.code, CAY_UNSUPPORTED);
        assert_non_null(strstr(err.msg, "native: no namespaces"));
        assert_non_null(strstr(err.msg, "docker: no socket"));
}

static bool process_runs(void)
{
        return plan.rows[CAY_ENGINE_process].runs;
}

static void process_runs_where_it_is_said(void **state)
{
        struct cay_keep_facts on = { .rows = { [CAY_ENGINE_process].on = true,
                                               [CAY_ENGINE_native].why = "it cannot",
                                               [CAY_ENGINE_docker].why = "nor this" } };

        assert_int_equal(decide("process", "", ""), 0);
        assert_true(process_runs() && !native_runs() && !docker_runs() && !plan.is_auto);
        assert_int_equal(cay_keep_decide("native", &on, &plan, &err), 0);
        assert_true(process_runs() && native_runs());
        assert_int_equal(cay_keep_decide("docker", &on, &plan, &err), 0);
        assert_true(process_runs() && docker_runs());
        assert_int_equal(cay_keep_decide("auto", &on, &plan, &err), -1); /* it takes the place of nobody */
        assert_int_equal(err.code, CAY_UNSUPPORTED);
}

static void process_is_off_elsewhere(void **state)
{
        static const char *const settings[] = { "native", "docker", "auto" };

        for (unsigned i = 0; i < CAY_COUNT(settings); i++) {
                assert_int_equal(decide(settings[i], "", ""), 0);
                assert_false(process_runs());
                assert_non_null(strstr(plan.rows[CAY_ENGINE_process].why, "process_engine"));
        }
        assert_int_equal(decide("podman", "", ""), -1);
        assert_int_equal(err.code, CAY_INVALID);
        assert_non_null(strstr(err.msg, "auto, or one of native, docker, process"));
}

static void nothing_is_given_up_for_process(void **state)
{
        struct cay_keep_facts on = {
                .rows = { [CAY_ENGINE_process].on = true, [CAY_ENGINE_docker].why = "none" }
        };

        assert_int_equal(cay_keep_decide("auto", &on, &plan, &err), 0);
        for (unsigned i = 0; i < 10; i++)
                assert_false(cay_keep_fell(&plan, CAY_ENGINE_native, i, true));
        assert_true(native_runs());
        assert_true(cay_keep_fell(&plan, CAY_ENGINE_process, 1, false)); /* the other way round it is */
        assert_true(native_runs() && !process_runs());
        decide("process", "", "");
        assert_false(cay_keep_fell(&plan, CAY_ENGINE_process, 1, false)); /* all there is */
}

static void one_that_keeps_falling_is_given_up(void **state)
{
        decide("auto", "", "");
        assert_false(cay_keep_fell(&plan, CAY_ENGINE_docker, 1, true));
        assert_false(cay_keep_fell(&plan, CAY_ENGINE_docker, 2, true));
        assert_true(docker_runs());
        assert_true(cay_keep_fell(&plan, CAY_ENGINE_docker, 3, true));
        assert_true(!docker_runs() && native_runs());
        assert_non_null(strstr(plan.rows[CAY_ENGINE_docker].why, "keeps exiting"));
        /* The last one is never given up. */
        for (unsigned i = 0; i < 10; i++)
                assert_false(cay_keep_fell(&plan, CAY_ENGINE_native, i, true));
        assert_true(native_runs());
}

static void one_that_never_began_is_given_up_at_once(void **state)
{
        decide("auto", "", "");
        assert_true(cay_keep_fell(&plan, CAY_ENGINE_native, 1, false));
        assert_true(!native_runs() && docker_runs());
        decide("native", "", "");
        assert_false(cay_keep_fell(&plan, CAY_ENGINE_native, 1, false)); /* it was asked for by name */
}

static void an_upgrade_keeps_what_ran(void **state)
{
        uint32_t mask;

        decide("auto", "", "");
        mask = cay_keep_mask(&plan);
        decide("auto", "", "the socket is away for a moment");
        cay_keep_apply_mask(&plan, mask);
        assert_true(native_runs() && docker_runs());
        assert_non_null(strstr(plan.rows[CAY_ENGINE_docker].why, "before the upgrade"));
        decide("auto", "", "");
        cay_keep_apply_mask(&plan, 1u << CAY_ENGINE_native);
        assert_true(native_runs() && docker_runs()); /* what is new is welcome */
}

static void a_docker_that_is_named_counts(void **state)
{
        static const char text[] = "docker_host = tcp://127.0.0.1:1\nengine = auto\n";
        cay_auto_config struct cay_config config = { 0 };
        struct cay_keep_facts facts;

        assert_int_equal(cay_config_init(&config, &err), 0);
        assert_int_equal(cay_config_read_text(&config, "test", text, strlen(text), &err), 0);
        cay_keep_look(&config, &facts);
        assert_string_equal(facts.rows[CAY_ENGINE_docker].why, "");
        assert_non_null(strstr(facts.rows[CAY_ENGINE_docker].where, "docker_host"));
        assert_null(strstr(facts.rows[CAY_ENGINE_docker].where, "127.0.0.1"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(by_name_it_is_that_one),
                cmocka_unit_test(auto_takes_what_there_is),
                cmocka_unit_test(auto_with_nothing_says_both_reasons),
                cmocka_unit_test(process_runs_where_it_is_said),
                cmocka_unit_test(process_is_off_elsewhere),
                cmocka_unit_test(nothing_is_given_up_for_process),
                cmocka_unit_test(one_that_keeps_falling_is_given_up),
                cmocka_unit_test(one_that_never_began_is_given_up_at_once),
                cmocka_unit_test(an_upgrade_keeps_what_ran),
                cmocka_unit_test(a_docker_that_is_named_counts),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
