/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay_task_run over the fake engine: results, output, cancelling, and what comes back when there was no run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "fake/fake_engine.h"
#include "libcay/api_priv.h"

static struct cay_task *the_task; /* for the signal handler */

static int setup(void **state)
{
        struct cay_task *task = cay_task_new();

        fake_plan_reset();
        assert_non_null(task);
        cay_task_options(task)->engine_ops = &cay_engine_fake_ops;
        assert_int_equal(cay_task_set_program_dir(task, "/nowhere"), 0);
        *state = the_task = task;
        return 0;
}

static int teardown(void **state)
{
        cay_task_free(*state);
        return fake_engine_boxes() == 0 ? 0 : -1;
}

static void command(struct cay_task *task, const char *name, const char *argument)
{
        const char *argv[] = { name, argument, NULL };

        assert_int_equal(cay_task_set_command(task, argv), 0);
}

static struct cay_result *run(struct cay_task *task)
{
        struct cay_result *result = NULL;
        int code = cay_task_run(task, &result);

        if (code != 0)
                fail_msg("%s: %s", cay_error_word(code), cay_task_error(task));
        assert_non_null(result);
        return result;
}

static void assert_fails(struct cay_task *task, int code, const char *part)
{
        struct cay_result *result = (struct cay_result *)(uintptr_t)1;

        assert_int_equal(cay_task_run(task, &result), code);
        assert_null(result);
        if (strstr(cay_task_error(task), part) == NULL)
                fail_msg("'%s' is not in '%s'", part, cay_task_error(task));
}

static void a_result_tells_how_it_ended(void **state)
{
        struct cay_task *task = *state;
        struct cay_result *result;

        command(task, "exit", "7");
        assert_int_equal(cay_task_set_id(task, "named"), 0);
        fake_plan.stats.memory_peak_bytes = 12345;
        fake_plan.script.end.cpu_us = 678;
        result = run(task);
        assert_string_equal(cay_result_id(result), "named");
        assert_int_equal(cay_result_exit_code(result), 7);
        assert_int_equal(cay_result_signal(result), 0);
        assert_int_equal(cay_result_status(result), 7);
        assert_string_equal(cay_result_cause(result), "exited");
        assert_non_null(strstr(cay_result_text(result), "7"));
        assert_string_equal(cay_result_advice(result), "");
        assert_string_equal(cay_result_hints(result), "");
        assert_string_equal(cay_result_skipped(result), "");
        assert_string_equal(cay_result_leftover(result), "");
        assert_int_equal(cay_result_number(result, CAY_NUMBER_MEMORY_PEAK_BYTES), 12345);
        assert_int_equal(cay_result_number(result, CAY_NUMBER_CPU_US), 678);
        assert_true(cay_result_number(result, CAY_NUMBER_TOTAL_US) >=
                    cay_result_number(result, CAY_NUMBER_RUN_US));
        assert_int_equal(cay_result_number(result, (enum cay_number)999), 0);
        cay_result_free(result);
}

static void output_is_kept_apart_and_ended_with_nul(void **state)
{
        struct cay_task *task = *state;
        struct cay_result *result;
        size_t len = 77;

        command(task, "echo", "hello");
        result = run(task);
        assert_string_equal(cay_result_output(result, CAY_STDOUT, &len), "hello\n");
        assert_int_equal(len, 6);
        assert_string_equal(cay_result_output(result, CAY_STDERR, &len), "");
        assert_int_equal(len, 0);
        assert_string_equal(cay_result_output(result, 3, &len), "");
        assert_int_equal(cay_result_number(result, CAY_NUMBER_STDOUT_BYTES), 6);
        cay_result_free(result);

        command(task, "warn", "careful");
        result = run(task); /* a task may run again; its last result is another one's */
        assert_string_equal(cay_result_output(result, CAY_STDERR, NULL), "careful\n");
        assert_int_equal(cay_result_number(result, CAY_NUMBER_STDERR_BYTES), 8);
        cay_result_free(result);
}

static void input_from_memory_is_there_for_every_run(void **state)
{
        struct cay_task *task = *state;

        command(task, "cat", NULL);
        assert_int_equal(cay_task_set_stdin(task, "some\0bytes", 10), 0);
        for (unsigned i = 0; i < 2; i++) {
                struct cay_result *result = run(task);
                size_t len;

                assert_memory_equal(cay_result_output(result, CAY_STDOUT, &len), "some\0bytes", 10);
                assert_int_equal(len, 10);
                cay_result_free(result);
        }
}

struct taken {
        struct cay_task *task;
        size_t bytes[2];
        unsigned calls;
        int stop_after; /* bytes; 0: never */
        int answer;
};

static int take(void *ctx, int stream, const void *bytes, size_t len)
{
        struct taken *t = ctx;

        t->calls++;
        t->bytes[stream - 1] += len;
        return t->stop_after > 0 && t->bytes[0] >= (size_t)t->stop_after ? t->answer : 0;
}

static void an_output_function_gets_everything(void **state)
{
        struct cay_task *task = *state;
        struct taken t = { 0 };
        struct cay_result *result;

        command(task, "count", "3000000");
        assert_int_equal(cay_task_set_output(task, take, &t), 0);
        result = run(task);
        assert_int_equal(t.bytes[0], 3000000);
        assert_int_equal(t.bytes[1], 0);
        assert_string_equal(cay_result_output(result, CAY_STDOUT, NULL), "");
        assert_int_equal(cay_result_number(result, CAY_NUMBER_STDOUT_BYTES), 3000000);
        cay_result_free(result);
}

static void an_output_function_may_end_it(void **state)
{
        struct cay_task *task = *state;
        struct taken t = { .stop_after = 1, .answer = -5 };
        struct cay_result *result;

        command(task, "count", "3000000");
        assert_int_equal(cay_task_set_output(task, take, &t), 0);
        result = run(task);
        assert_int_equal(t.calls, 1);
        /* The command may have printed everything before it was stopped. */
        if (strcmp(cay_result_cause(result), "exited") != 0)
                assert_string_equal(cay_result_cause(result), "killed");
        cay_result_free(result);

        assert_int_equal(cay_task_set_output(task, NULL, NULL), 0);
        command(task, "exit", "0");
        result = run(task); /* and the next one is not ended by it */
        assert_string_equal(cay_result_cause(result), "exited");
        cay_result_free(result);
}

static int run_inside(void *ctx, int stream, const void *bytes, size_t len)
{
        struct taken *t = ctx;
        struct cay_result *result;

        t->answer = cay_task_run(t->task, &result);
        assert_null(result);
        return 0;
}

static void a_task_runs_once_at_a_time(void **state)
{
        struct taken t = { .task = *state };
        struct cay_result *result;

        command(t.task, "echo", "x");
        assert_int_equal(cay_task_set_output(t.task, run_inside, &t), 0);
        result = run(t.task);
        assert_int_equal(t.answer, CAY_E_CONFLICT);
        cay_result_free(result);
}

static void assert_cancelled(struct cay_result *result)
{
        assert_string_equal(cay_result_cause(result), "killed");
        assert_int_equal(cay_result_status(result), 128 + SIGTERM);
        assert_int_equal(cay_result_exit_code(result), -1);
        cay_result_free(result);
}

static void a_cancel_before_the_run_ends_the_next_one_only(void **state)
{
        struct cay_task *task = *state;
        struct cay_result *result;

        command(task, "wait", NULL);
        errno = 77;
        cay_task_cancel(task);
        cay_task_cancel(task);
        assert_int_equal(errno, 77);
        assert_cancelled(run(task));
        command(task, "exit", "0");
        result = run(task);
        assert_string_equal(cay_result_cause(result), "exited");
        cay_result_free(result);
}

static void *cancel_it(void *arg)
{
        usleep(50000);
        cay_task_cancel(arg);
        return NULL;
}

static void a_cancel_from_another_thread(void **state)
{
        struct cay_task *task = *state;
        pthread_t thread;

        command(task, "wait", NULL);
        assert_int_equal(pthread_create(&thread, NULL, cancel_it, task), 0);
        assert_cancelled(run(task));
        assert_int_equal(pthread_join(thread, NULL), 0);
}

static void on_alarm(int signo)
{
        cay_task_cancel(the_task);
}

static void a_cancel_from_a_signal_handler(void **state)
{
        struct sigaction act = { .sa_handler = on_alarm }, before;
        struct itimerval soon = { .it_value = { .tv_usec = 50000 } };

        command(*state, "wait", NULL);
        assert_int_equal(sigaction(SIGALRM, &act, &before), 0);
        assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
        assert_cancelled(run(*state));
        assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
}

static void limits_are_causes(void **state)
{
        struct cay_task *task = *state;
        struct cay_result *result;

        command(task, "exit", "0");
        fake_plan.stats.oom_kills = 1;
        fake_plan.stats.pids_refused = 3;
        result = run(task);
        assert_string_equal(cay_result_cause(result), "exited");
        assert_string_equal(cay_result_hints(result), "memory, pids");
        cay_result_free(result);

        command(task, "exit", "1");
        result = run(task);
        assert_string_equal(cay_result_cause(result), "memory");
        assert_int_equal(cay_result_status(result), 137);
        assert_true(strlen(cay_result_advice(result)) > 0);
        cay_result_free(result);
}

static void output_beyond_the_limit_is_cut(void **state)
{
        struct cay_task *task = *state;
        struct cay_result *result;
        size_t len;

        command(task, "count", "5000");
        fake_plan.script.ignore_limits = true; /* then it is counted here */
        assert_int_equal(cay_task_set_limit(task, "output", "1000:cut"), 0);
        result = run(task);
        cay_result_output(result, CAY_STDOUT, &len);
        assert_int_equal(len, 1000);
        assert_int_equal(cay_result_number(result, CAY_NUMBER_CUT_BYTES), 4000);
        assert_string_equal(cay_result_cause(result), "exited");
        cay_result_free(result);
}

static void skipped_limits_are_named(void **state)
{
        struct cay_task *task = *state;
        struct cay_result *result;

        command(task, "exit", "0");
        fake_plan.cannot_hold = CAY_LIMIT_BIT(memory_bytes) | CAY_LIMIT_BIT(pids);
        assert_fails(task, CAY_E_UNSUPPORTED, "limits");
        assert_int_equal(cay_task_allow_missing(task, "memory,pids"), 0);
        result = run(task);
        assert_string_equal(cay_result_skipped(result), "memory, pids");
        cay_result_free(result);
}

static void what_is_left_is_told(void **state)
{
        struct cay_task *task = *state;
        struct cay_result *result;

        command(task, "exit", "0");
        fake_plan.destroy_fails = CAY_INTERNAL;
        result = run(task);
        assert_true(strlen(cay_result_leftover(result)) > 0);
        assert_int_equal(cay_result_status(result), 125);
        cay_result_free(result);
}

static void failures_before_and_during(void **state)
{
        struct cay_task *task = *state;

        assert_fails(task, CAY_E_INVALID, "command: none is set");
        command(task, "exit", "0");
        assert_int_equal(cay_task_set_limit(task, "output", "257m"), 0);
        assert_fails(task, CAY_E_INVALID, "output: at most 256 MiB");
        assert_int_equal(cay_task_set_output(task, take, &(struct taken){ 0 }), 0);
        cay_result_free(run(task));
        assert_int_equal(cay_task_set_output(task, NULL, NULL), 0);
        assert_int_equal(cay_task_set_limit(task, "output", "1m"), 0);
        fake_plan.open_fails = CAY_UNAVAILABLE;
        assert_fails(task, CAY_E_UNAVAILABLE, "fake engine");
        fake_plan.open_fails = CAY_OK;
        fake_plan.create_fails = CAY_NO_SPACE;
        assert_fails(task, CAY_E_NO_SPACE, "fake engine");
        fake_plan.create_fails = CAY_OK;
        cay_result_free(run(task));
}

static void a_missing_program_is_a_result(void **state)
{
        struct cay_task *task = *state;
        struct cay_result *result;

        command(task, "no-such-thing", NULL);
        result = run(task);
        assert_int_equal(cay_result_status(result), 127);
        assert_non_null(strstr(cay_result_text(result), "no-such-thing"));
        cay_result_free(result);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                CASE(a_result_tells_how_it_ended),
                CASE(output_is_kept_apart_and_ended_with_nul),
                CASE(input_from_memory_is_there_for_every_run),
                CASE(an_output_function_gets_everything),
                CASE(an_output_function_may_end_it),
                CASE(a_task_runs_once_at_a_time),
                CASE(a_cancel_before_the_run_ends_the_next_one_only),
                CASE(a_cancel_from_another_thread),
                CASE(a_cancel_from_a_signal_handler),
                CASE(limits_are_causes),
                CASE(output_beyond_the_limit_is_cut),
                CASE(skipped_limits_are_named),
                CASE(what_is_left_is_told),
                CASE(failures_before_and_during),
                CASE(a_missing_program_is_a_result),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
