/* SPDX-License-Identifier: Apache-2.0 */
/* Figures in their two forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "foundation/base/clock.h"
#include "foundation/json/json_in.h"
#include "domain/ops/metrics.h"

static struct cay_service_meter meter;
static struct cay_metrics m = {
        .is_whole = true,
        .meter = &meter,
        .health = { .known = 3,
                    .alive = 2,
                    .creates = 5,
                    .create_failures = 1,
                    .execs = 9,
                    .engine_up = true },
        .used = { .sandboxes = 2, .memory_bytes = 4096, .cpu_us = 1500000 },
        .started_wall_ms = 1500,
};

static int set_up(void **state)
{
        m.health.by_state[CAY_STATE_READY] = 2;
        meter.exec_ends[CAY_CAUSE_MEMORY] = 4;
        meter.exec_cpu_us = 2500001;
        cay_latency_add(&meter.exec_run, 1000);     /* exactly on a bound: in it */
        cay_latency_add(&meter.exec_run, 1001);     /* just above */
        cay_latency_add(&meter.exec_run, 1u << 30); /* above all */
        m.now_ms = cay_clock_ms();
        (void)state;
        return 0;
}

static void has(const char *text, const char *line)
{
        if (!strstr(text, line))
                fail_msg("'%s' is not in:\n%s", line, text);
}

static void test_text(void **state)
{
        cay_auto_buf struct cay_buf out = { 0 };
        const char *text;

        cay_buf_init(&out, CAY_METRICS_TEXT_MAX);
        assert_int_equal(cay_metrics_put_text(&m, &out), 0);
        text = cay_buf_data(&out);
        has(text, "# TYPE cay_sandboxes gauge\n");
        has(text, "\ncay_sandboxes{state=\"ready\"} 2\n");
        has(text, "\ncay_sandboxes{state=\"busy\"} 0\n");
        has(text, "\ncay_execs_ended_total{cause=\"memory\"} 4\n");
        has(text, "\ncay_exec_cpu_seconds_total 2.500001\n");
        has(text, "\ncay_exec_duration_seconds_bucket{le=\"0.001\"} 1\n");
        has(text, "\ncay_exec_duration_seconds_bucket{le=\"0.002\"} 2\n");
        has(text, "\ncay_exec_duration_seconds_bucket{le=\"300.000\"} 2\n");
        has(text, "\ncay_exec_duration_seconds_bucket{le=\"+Inf\"} 3\n");
        has(text, "\ncay_exec_duration_seconds_sum 1073.743825\n");
        has(text, "\ncay_sandbox_cpu_seconds 1.500000\n");
        has(text, "\ncay_start_time_seconds 1\n");
        (void)state;
}

/* Who does not see all is told nothing of the daemon's own. */
static void test_own_text(void **state)
{
        static const char *const daemon[] = { "waiting", "http_answers", "adoptions",
                                              "relinks", "store",        "start_time" };
        struct cay_metrics own = m;
        cay_auto_buf struct cay_buf out = { 0 };

        own.is_whole = false;
        cay_buf_init(&out, CAY_METRICS_TEXT_MAX);
        assert_int_equal(cay_metrics_put_text(&own, &out), 0);
        has(cay_buf_data(&out), "\ncay_sandboxes{state=\"ready\"} 2\n");
        has(cay_buf_data(&out), "\ncay_engine_up 1\n");
        for (unsigned i = 0; i < CAY_COUNT(daemon); i++)
                if (strstr(cay_buf_data(&out), daemon[i]))
                        fail_msg("'%s' is told to others", daemon[i]);
        (void)state;
}

static void test_no_room(void **state)
{
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 100);
        assert_true(cay_metrics_put_text(&m, &out) < 0);
        (void)state;
}

static int64_t number(const struct cay_json_value *at, const char *name)
{
        int64_t n = -1;

        assert_true(cay_json_value_i64(cay_json_value_find(at, name), &n));
        return n;
}

static void test_json(void **state)
{
        cay_auto_buf struct cay_buf out = { 0 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const struct cay_json_value *root, *execs, *run, *hour;
        struct cay_error err = { 0 };
        struct cay_json j;

        cay_buf_init(&out, CAY_METRICS_TEXT_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        cay_op_put_members(&j, &cay_result_metrics, &m);
        cay_json_end_object(&j);
        assert_int_equal(cay_json_end(&j), 0);
        assert_int_equal(cay_json_in_parse(cay_buf_data(&out), out.len, NULL, &doc, &err), 0);
        root = cay_json_in_root(doc);
        execs = cay_json_value_find(root, "execs");
        run = cay_json_value_find(execs, "duration");
        assert_int_equal(number(execs, "ended"), 4);
        assert_int_equal(number(cay_json_value_find(execs, "causes"), "memory"), 4);
        assert_int_equal(number(run, "count"), 3);
        assert_int_equal(number(cay_json_value_at(cay_json_value_find(run, "buckets"), CAY_METER_BUCKETS - 1),
                                "count"),
                         2);
        assert_int_equal(
                number(cay_json_value_find(cay_json_value_find(root, "sandboxes"), "states"), "ready"), 2);
        assert_int_equal(number(cay_json_value_find(root, "creations"), "failed"), 1);
        hour = cay_json_value_find(cay_json_value_find(root, "last_hour"), "exec_run");
        assert_int_equal(number(hour, "count"), 3);
        assert_in_range(number(hour, "p50_us"), 1001, 1100);
        assert_int_equal(number(hour, "p99_us"), 1 << 30);
        assert_int_equal(number(hour, "max_us"), 1 << 30);
        assert_true(number(cay_json_value_at(cay_json_value_find(hour, "minutes"), 0), "count") >= 1);
        assert_int_equal(
                number(cay_json_value_find(cay_json_value_find(root, "last_hour"), "create"), "count"), 0);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_text),
                cmocka_unit_test(test_own_text),
                cmocka_unit_test(test_no_room),
                cmocka_unit_test(test_json),
        };

        return cmocka_run_group_tests(tests, set_up, NULL);
}
