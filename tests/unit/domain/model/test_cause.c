/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the verdict, row by row. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/banned.h"
#include "domain/model/cause.h"

#define BIT(name) (1u << CAY_CAUSE_##name)

static const struct row {
        const char *what;
        struct cay_cause_facts f;
        enum cay_cause cause;
        unsigned hints;
        const char *text; /* part of it; NULL: any */
        int status;
} rows[] = {
        { "exit 0", { .exit_code = 0 }, CAY_CAUSE_EXITED, 0, "exited with status 0", 0 },
        { "exit 3", { .exit_code = 3 }, CAY_CAUSE_EXITED, 0, "exited with status 3", 3 },
        { "exit 0 is exited whatever was hit",
          { .exit_code = 0,
            .oom_kills = 1,
            .pids_refused = 2,
            .disk_blocks_full = true,
            .output_hit = true,
            .denied_syscall = "mount",
            .denied_count = 3 },
          CAY_CAUSE_EXITED,
          BIT(MEMORY) | BIT(PIDS) | BIT(DISK) | BIT(OUTPUT) | BIT(SYSCALL),
          NULL,
          0 },
        { "exit 0 in the moment of a kill",
          { .exit_code = 0, .killed_by_us = CAY_CAUSE_WALL_TIME },
          CAY_CAUSE_EXITED,
          0,
          NULL,
          0 },
        { "signal",
          { .exit_code = -1, .signal = SIGSEGV },
          CAY_CAUSE_SIGNALLED,
          0,
          "ended by signal SIGSEGV",
          139 },
        { "memory",
          { .exit_code = -1,
            .signal = SIGKILL,
            .oom_kills = 1,
            .memory_peak = 256u << 20,
            .memory_limit = 256u << 20 },
          CAY_CAUSE_MEMORY,
          0,
          "memory limit of 256 MiB reached (peak 256 MiB)",
          137 },
        { "memory, noticed by a parent",
          { .exit_code = 1, .oom_kills = 1, .memory_limit = 32u << 20 },
          CAY_CAUSE_MEMORY,
          0,
          "memory limit of 32 MiB reached",
          137 },
        { "memory before pids before disk before syscall",
          { .exit_code = 1,
            .oom_kills = 1,
            .pids_refused = 1,
            .disk_inodes_full = true,
            .denied_syscall = "bpf",
            .denied_count = 1 },
          CAY_CAUSE_MEMORY,
          BIT(PIDS) | BIT(DISK) | BIT(SYSCALL),
          NULL,
          137 },
        { "pids before disk",
          { .exit_code = 2, .pids_refused = 12, .pids_limit = 50, .disk_blocks_full = true },
          CAY_CAUSE_PIDS,
          BIT(DISK),
          "limit of 50 processes and threads reached (refused 12 times)",
          2 },
        { "disk, blocks",
          { .exit_code = 1, .disk_blocks_full = true, .disk_limit = 64u << 20 },
          CAY_CAUSE_DISK,
          0,
          "disk limit of 64 MiB reached",
          1 },
        { "disk, inodes",
          { .exit_code = 1, .disk_inodes_full = true, .inodes_limit = 16384 },
          CAY_CAUSE_DISK,
          0,
          "limit of 16384 files on disk reached",
          1 },
        { "disk, a volume",
          { .exit_code = 1, .volumes_full = 2, .full_volume = "cache" },
          CAY_CAUSE_DISK,
          0,
          "the volume 'cache' is full",
          1 },
        { "disk before syscall",
          { .exit_code = 1, .disk_blocks_full = true, .denied_syscall = "mount", .denied_count = 1 },
          CAY_CAUSE_DISK,
          BIT(SYSCALL),
          NULL,
          1 },
        { "syscall",
          { .exit_code = 32, .denied_syscall = "mount", .denied_count = 12 },
          CAY_CAUSE_SYSCALL,
          0,
          "blocked system call mount (12 calls denied)",
          32 },
        { "syscall, one",
          { .exit_code = 1, .denied_syscall = "mount", .denied_count = 1 },
          CAY_CAUSE_SYSCALL,
          0,
          "(1 call denied)",
          1 },
        { "denied, but not the last refusal",
          { .exit_code = 1, .denied_count = 2 },
          CAY_CAUSE_EXITED,
          BIT(SYSCALL),
          NULL,
          1 },
        { "SIGSYS", { .exit_code = -1, .signal = SIGSYS }, CAY_CAUSE_SYSCALL, 0, "blocked system call", 159 },
        { "wall time",
          { .exit_code = -1, .signal = SIGKILL, .killed_by_us = CAY_CAUSE_WALL_TIME, .wall_limit_ms = 60000 },
          CAY_CAUSE_WALL_TIME,
          0,
          "time limit of 60 s reached",
          124 },
        { "wall time after an oom kill",
          { .exit_code = -1, .signal = SIGKILL, .killed_by_us = CAY_CAUSE_WALL_TIME, .oom_kills = 1 },
          CAY_CAUSE_WALL_TIME,
          BIT(MEMORY),
          NULL,
          124 },
        { "cpu time",
          { .exit_code = -1, .signal = SIGKILL, .killed_by_us = CAY_CAUSE_CPU_TIME, .cpu_limit_ms = 1500 },
          CAY_CAUSE_CPU_TIME,
          0,
          "processor time limit of 1.5 s reached",
          124 },
        { "output",
          { .exit_code = -1,
            .signal = SIGKILL,
            .killed_by_us = CAY_CAUSE_OUTPUT,
            .output_hit = true,
            .output_limit = 8u << 20 },
          CAY_CAUSE_OUTPUT,
          0,
          "output limit of 8 MiB reached",
          137 },
        { "network, cut for its quota",
          { .exit_code = 1, .network_hit = true, .network_limit = 2 << 20 },
          CAY_CAUSE_NETWORK,
          0,
          "network limit of 2 MiB in all reached",
          1 },
        { "network, and it went on",
          { .exit_code = 0, .network_hit = true, .network_limit = 2 << 20 },
          CAY_CAUSE_EXITED,
          BIT(NETWORK),
          NULL,
          0 },
        { "output, cut", { .exit_code = 4, .output_hit = true }, CAY_CAUSE_EXITED, BIT(OUTPUT), NULL, 4 },
        { "too many denied calls",
          { .exit_code = -1,
            .signal = SIGKILL,
            .killed_by_us = CAY_CAUSE_SYSCALL,
            .denied_syscall = "bpf",
            .denied_count = 1000 },
          CAY_CAUSE_SYSCALL,
          0,
          "blocked system call bpf (1000 calls denied): ended",
          137 },
        { "killed",
          { .exit_code = -1, .signal = SIGKILL, .killed_by_us = CAY_CAUSE_KILLED },
          CAY_CAUSE_KILLED,
          0,
          "ended on request",
          130 },
        { "gone", { .exit_code = -1, .lost = CAY_CAUSE_SANDBOX_GONE }, CAY_CAUSE_SANDBOX_GONE, 0, NULL, 125 },
        { "gone for memory",
          { .exit_code = -1, .lost = CAY_CAUSE_SANDBOX_GONE, .oom_kills = 1, .memory_limit = 1 << 30 },
          CAY_CAUSE_MEMORY,
          0,
          "memory limit of 1 GiB reached",
          137 },
        { "engine lost",
          { .exit_code = -1, .lost = CAY_CAUSE_ENGINE_LOST, .oom_kills = 1 },
          CAY_CAUSE_ENGINE_LOST,
          BIT(MEMORY),
          NULL,
          125 },
        { "killed by us, and lost because of it",
          { .exit_code = -1, .lost = CAY_CAUSE_SANDBOX_GONE, .killed_by_us = CAY_CAUSE_WALL_TIME },
          CAY_CAUSE_WALL_TIME,
          0,
          NULL,
          124 },
        { "not started",
          { .exit_code = 127, .not_started = "nope: not found", .pids_refused = 1 },
          CAY_CAUSE_EXITED,
          BIT(PIDS),
          "not started: nope: not found",
          127 },
};

static void rules(void **state)
{
        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                const struct row *r = &rows[i];
                struct cay_verdict v = cay_cause_judge(&r->f);

                if (v.cause != r->cause || v.hints != r->hints)
                        fail_msg("%s: %s, hints %#x", r->what, cay_cause_word(v.cause), v.hints);
                if (r->text != NULL && strstr(v.text, r->text) == NULL)
                        fail_msg("%s: '%s'", r->what, v.text);
                if (v.text[0] == '\0')
                        fail_msg("%s: no text", r->what);
                if (cay_cause_exit_status(&r->f, v.cause, SIGINT) != r->status)
                        fail_msg("%s: status %d", r->what, cay_cause_exit_status(&r->f, v.cause, SIGINT));
        }
}

static void every_cause_has_a_word_and_advice(void **state)
{
        for (unsigned c = CAY_CAUSE_EXITED; c < CAY_CAUSE_COUNT; c++) {
                assert_true(strlen(cay_cause_word(c)) > 0);
                assert_int_equal(strspn(cay_cause_word(c), "abcdefghijklmnopqrstuvwxyz_"),
                                 strlen(cay_cause_word(c)));
                if (c != CAY_CAUSE_EXITED)
                        assert_true(strlen(cay_cause_advice(c)) > 10);
                assert_null(strchr(cay_cause_advice(c), '\n'));
                for (unsigned other = CAY_CAUSE_EXITED; other < c; other++)
                        assert_string_not_equal(cay_cause_word(c), cay_cause_word(other));
        }
        assert_string_equal(cay_cause_word(CAY_CAUSE_COUNT), "none");
        assert_string_equal(cay_cause_advice((enum cay_cause)99), "");
}

static void statuses_of_signals_to_us(void **state)
{
        struct cay_cause_facts f = { .exit_code = -1, .signal = SIGKILL, .killed_by_us = CAY_CAUSE_KILLED };

        assert_int_equal(cay_cause_exit_status(&f, CAY_CAUSE_KILLED, SIGINT), 130);
        assert_int_equal(cay_cause_exit_status(&f, CAY_CAUSE_KILLED, SIGTERM), 143);
        assert_int_equal(cay_cause_exit_status(&f, CAY_CAUSE_KILLED, SIGHUP), 129);
        assert_int_equal(cay_cause_exit_status(&f, CAY_CAUSE_KILLED, 0), 137);
}

static void signal_names(void **state)
{
        char buf[CAY_SIGNAL_NAME_MAX];

        assert_string_equal(cay_signal_name(SIGSEGV, buf), "SIGSEGV");
        assert_string_equal(cay_signal_name(SIGKILL, buf), "SIGKILL");
        assert_string_equal(cay_signal_name(SIGRTMIN + 3, buf), "SIGRTMIN+3");
        assert_string_equal(cay_signal_name(0, buf), "0");
        assert_string_equal(cay_signal_name(999, buf), "999");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(rules),
                cmocka_unit_test(every_cause_has_a_word_and_advice),
                cmocka_unit_test(statuses_of_signals_to_us),
                cmocka_unit_test(signal_names),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
