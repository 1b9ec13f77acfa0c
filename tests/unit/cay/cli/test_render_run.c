/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about a run: the JSON object byte by byte, the one line on stderr. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "cay/cli/render_run.h"

static struct cay_run_result result(void)
{
        struct cay_run_result r = {
                .id = "run-1",
                .exit_code = 3,
                .status = 3,
                .started = true,
                .start_ns = 1000000,
                .exec_ns = 3500000,
                .end_ns = 13500000,
                .gone_ns = 14000500,
                .memory_peak_bytes = 4096,
                .cpu_us = 7999,
                .verdict = { .cause = CAY_CAUSE_EXITED, .text = "exited with status 3", .advice = "" },
        };

        return r;
}

static void json_of(const struct cay_run_result *r, const char *out, size_t out_len,
                    const struct cay_error *failure, struct cay_buf *json)
{
        static const struct cay_error fine;
        struct cay_buf stdout_bytes, stderr_bytes;

        cay_buf_init(&stdout_bytes, 1000);
        cay_buf_init(&stderr_bytes, 1000);
        cay_buf_put(&stdout_bytes, out, out_len);
        cay_buf_init(json, 1 << 16);
        assert_int_equal(cay_render_run_json(r, "native", &stdout_bytes, &stderr_bytes,
                                             failure != NULL ? failure : &fine, NULL, json),
                         0);
        cay_buf_done(&stdout_bytes);
        cay_buf_done(&stderr_bytes);
}

static void json_of_a_plain_end(void **state)
{
        struct cay_run_result r = result();
        struct cay_buf json;

        json_of(&r, "hi\n", 3, NULL, &json);
        assert_string_equal(cay_buf_data(&json),
                            "{\"id\":\"run-1\",\"engine\":\"native\",\"status\":\"ended\",\"stdout\":"
                            "\"hi\\n\",\"stderr\":\"\",\"exit_code\":3,\"signal\":null,"
                            "\"exit_status\":3,\"cause\":\"exited\",\"cause_text\":"
                            "\"exited with status 3\",\"advice\":\"\",\"hints\":[],"
                            "\"skipped\":[],\"watched\":[],\"denied_syscalls\":[],\"network_blocked\":[],"
                            "\"lacks_network\":false,"
                            "\"duration_ms\":10,\"wall_us\":10000,\"cpu_us\":7999,\"memory_peak_bytes\":4096,"
                            "\"cut_bytes\":0,\"truncated\":false,\"timings_ms\":{"
                            "\"start\":2.500,\"exec\":10.000,\"teardown\":0.500,"
                            "\"total\":13.000}}\n");
        cay_buf_done(&json);
}

static void json_of_a_bad_end(void **state)
{
        struct cay_run_result r = result();
        struct cay_buf json;

        r.exit_code = -1;
        r.signal = SIGKILL;
        r.status = 137;
        r.skipped = CAY_LIMIT_BIT(disk_bytes);
        r.cut_bytes = 5;
        r.denied_kinds = 1;
        r.denied[0] = (struct cay_run_denied){ .nr = SYS_mount, .count = 2 };
        r.verdict.cause = CAY_CAUSE_MEMORY;
        r.verdict.hints = 1u << CAY_CAUSE_PIDS | 1u << CAY_CAUSE_DISK;
        json_of(&r, "\xff\xfe", 2, NULL, &json);
        assert_non_null(
                strstr(cay_buf_data(&json),
                       "\"stdout\":\"\xef\xbf\xbd\xef\xbf\xbd\",\"stdout_base64\":\"//4=\",\"stderr\":\"\""));
        assert_non_null(
                strstr(cay_buf_data(&json), "\"exit_code\":null,\"signal\":\"SIGKILL\",\"exit_status\":137"));
        assert_non_null(strstr(cay_buf_data(&json), "\"cause\":\"memory\""));
        assert_non_null(strstr(cay_buf_data(&json), "\"hints\":[\"pids\",\"disk\"],\"skipped\":[\"disk\"]"));
        assert_non_null(strstr(cay_buf_data(&json), "{\"name\":\"mount\",\"number\":"));
        assert_non_null(strstr(cay_buf_data(&json), "\"cut_bytes\":5,\"truncated\":true,"));
        assert_null(strstr(cay_buf_data(&json), "stderr_base64"));
        cay_buf_done(&json);
}

static void json_of_a_failure(void **state)
{
        struct cay_run_result r = { .id = "x", .exit_code = -1, .status = 125 };
        struct cay_error failure = { .code = CAY_UNAVAILABLE, .msg = "no \"warden\"" };
        struct cay_buf json;

        json_of(&r, "", 0, &failure, &json);
        assert_non_null(strstr(cay_buf_data(&json),
                               "\"error\":{\"code\":\"unavailable\",\"message\":\"no \\\"warden\\\"\"}"));
        assert_null(strstr(cay_buf_data(&json), "\"cause\""));
        assert_non_null(strstr(cay_buf_data(&json), "\"status\":\"failed\""));
        cay_buf_done(&json);
}

static void changes_say(const struct cay_run_keep *k, bool quiet, const char *line, const char *part)
{
        static const struct cay_error fine;
        struct cay_run_result r = result();
        struct cay_buf none, json;
        char *text = NULL;
        size_t len = 0;
        FILE *to = open_memstream(&text, &len);

        cay_render_run_changes(k, quiet, to);
        fclose(to);
        assert_string_equal(text, line);
        free(text);
        cay_buf_init(&none, 10);
        cay_buf_init(&json, 1 << 16);
        assert_int_equal(cay_render_run_json(&r, "native", &none, &none, &fine, k, &json), 0);
        if (strstr(cay_buf_data(&json), part) == NULL)
                fail_msg("%s", cay_buf_data(&json));
        cay_buf_done(&none);
        cay_buf_done(&json);
}

static void what_was_changed(void **state)
{
        struct cay_run_keep k = { .is_on = true };

        changes_say(&k, false, "",
                    ",\"changes\":{\"run\":null,\"added\":0,\"changed\":0,\"removed\":0,\"bytes\":0,"
                    "\"left_out\":0}}\n");
        k.is_kept = true;
        k.counts = (struct cay_change_counts){ 1, 0, 0, 9 };
        memcpy(k.run.meta.id, "run-1", 6);
        changes_say(&k, false, "cay run: 1 file changed; see: cay diff run-1\n",
                    "\"changes\":{\"run\":\"run-1\",\"added\":1,\"changed\":0,\"removed\":0,\"bytes\":9,"
                    "\"left_out\":0}");
        k.counts.removed = 2;
        k.left_out = 2;
        changes_say(&k, false,
                    "cay run: 3 files changed; see: cay diff run-1\ncay run: not kept: 2 special or "
                    "unreadable files\n",
                    "\"left_out\":2");
        changes_say(&k, true, "", "\"removed\":2");
        k = (struct cay_run_keep){ .is_on = true };
        cay_fail(&k.failure, CAY_NO_SPACE, "no room");
        changes_say(&k, true, "cay run: the changes are lost: no room\n", "\"error\":\"no room\"}");
        changes_say(&(struct cay_run_keep){ .is_on = false }, false, "", "\"run\":null");
}

static void says(const struct cay_run_result *r, const char *expect)
{
        char text[600] = "";
        FILE *f = fmemopen(text, sizeof(text), "w");

        cay_render_run_cause(r, f);
        fclose(f);
        assert_string_equal(text, expect);
}

static void one_line(void **state)
{
        struct cay_run_result r = result();

        says(&r, "");
        r.cut_bytes = 12;
        says(&r, "cay: output cut: 12 bytes dropped\n");
        r = result();
        r.verdict = (struct cay_verdict){ .cause = CAY_CAUSE_WALL_TIME,
                                          .text = "time limit of 60 s reached",
                                          .advice = "hurry" };
        says(&r, "cay: wall_time: time limit of 60 s reached; hurry\n");
        r.skipped = CAY_LIMIT_BIT(pids);
        says(&r, "cay: wall_time: time limit of 60 s reached; hurry\ncay: limits not enforced here: pids\n");
        r = result();
        r.started = false;
        snprintf(r.verdict.text, sizeof(r.verdict.text), "not started: x: not found");
        says(&r, "cay: not started: x: not found\n");
}

static void what_was_blocked(void **state)
{
        struct cay_run_result r = result();

        r.blocked_count = 3;
        r.blocked[0] = (struct cay_run_blocked){ .name = "evil.example", .port = 443, .count = 2 };
        r.blocked[1] = (struct cay_run_blocked){ .name = "fd00::1", .port = 22, .count = 1 };
        r.blocked[2] = (struct cay_run_blocked){ .name = "a\x1b]0;owned\a\nb", .count = 1 };
        says(&r, "cay: network: blocked evil.example:443 (2 times); allow it with --allow evil.example:443\n"
                 "cay: network: blocked [fd00::1]:22 (1 time); allow it with --allow [fd00::1]:22\n"
                 "cay: network: blocked a\\x1b]0;owned\\x07\\nb (1 time); allow it with --allow "
                 "a\\x1b]0;owned\\x07\\nb\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(json_of_a_plain_end),
                cmocka_unit_test(json_of_a_bad_end),
                cmocka_unit_test(json_of_a_failure),
                cmocka_unit_test(what_was_changed),
                cmocka_unit_test(one_line),
                cmocka_unit_test(what_was_blocked),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
