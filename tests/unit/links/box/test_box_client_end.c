/* SPDX-License-Identifier: Apache-2.0 */
/* Init's words as facts. */
#include "links/box/box_client_end.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

static struct cay_box_end ended(int exit_code, int signo)
{
        return (struct cay_box_end){ .kind = CAY_BOX_EXEC,
                                     .exec = { .exit_code = exit_code, .signal = signo, .last_denied = -1 } };
}

static void plausible(void **state)
{
        struct cay_box_end end = ended(0, 0);

        assert_true(cay_box_end_is_plausible(&end));
        end = ended(255, 0);
        assert_true(cay_box_end_is_plausible(&end));
        end = ended(-1, SIGSEGV);
        assert_true(cay_box_end_is_plausible(&end));
        end = ended(-1, 0);
        assert_false(cay_box_end_is_plausible(&end));
        end = ended(256, 0);
        assert_false(cay_box_end_is_plausible(&end));
        end = ended(1, 9);
        assert_false(cay_box_end_is_plausible(&end));
        end.code = CAY_NOT_FOUND;
        assert_true(cay_box_end_is_plausible(&end));
        end.code = CAY_CODE_COUNT;
        assert_false(cay_box_end_is_plausible(&end));
}

static void facts(void **state)
{
        static const enum cay_cause causes[CAY_KILLED_COUNT] = { CAY_CAUSE_NONE,     CAY_CAUSE_WALL_TIME,
                                                                 CAY_CAUSE_CPU_TIME, CAY_CAUSE_OUTPUT,
                                                                 CAY_CAUSE_SYSCALL,  CAY_CAUSE_KILLED,
                                                                 CAY_CAUSE_MEMORY };
        struct cay_box_end end = ended(3, 0);
        struct cay_error err = { 0 };
        struct cay_box_facts f;

        end.exec.disk_full = 3;
        end.exec.cut_bytes = 7;
        end.exec.memory_peak_bytes = 99;
        end.exec.pids_hits = 2;
        end.exec.last_denied = SYS_ptrace;
        end.exec.denied_count = 2;
        end.exec.denied[0] = (struct cay_box_denied){ SYS_ptrace, 4 };
        end.exec.denied[1] = (struct cay_box_denied){ SYS_mount, 1 };
        assert_int_equal(cay_box_end_facts(&end, "x", &f, &err), 0);
        assert_int_equal(f.facts.exit_code, 3);
        assert_true(f.facts.disk_blocks_full && f.facts.disk_inodes_full && f.facts.output_hit);
        assert_int_equal(f.facts.memory_peak, 99);
        assert_int_equal(f.facts.pids_refused, 2);
        assert_string_equal(f.facts.denied_syscall, "ptrace");
        assert_int_equal(f.facts.denied_count, 5);
        assert_null(f.facts.not_started);
        end.exec.last_denied = 99999;
        assert_int_equal(cay_box_end_facts(&end, "x", &f, &err), 0);
        assert_string_equal(f.facts.denied_syscall, "number 99999");
        for (unsigned i = 0; i < CAY_KILLED_COUNT; i++) {
                end = ended(-1, SIGKILL);
                end.exec.killed = i;
                assert_int_equal(cay_box_end_facts(&end, "x", &f, &err), 0);
                assert_int_equal(f.facts.killed_by_us, causes[i]);
        }
        end = ended(-1, SIGXFSZ);
        assert_int_equal(cay_box_end_facts(&end, "x", &f, &err), 0);
        assert_true(f.facts.disk_blocks_full);
}

static void not_started(void **state)
{
        static const char rude[] = "no \x1b[31msuch\nfile";
        struct cay_box_end end = { .kind = CAY_BOX_EXEC,
                                   .code = CAY_NOT_FOUND,
                                   .msg = { rude, sizeof(rude) - 1 } };
        struct cay_error err = { 0 };
        struct cay_box_facts f;

        assert_int_equal(cay_box_end_facts(&end, "ev\til", &f, &err), 0);
        assert_int_equal(f.start_status, 127);
        assert_int_equal(f.facts.exit_code, 127);
        assert_string_equal(f.facts.not_started, "ev?il: no ?[31msuch?file");
        end.code = CAY_DENIED;
        assert_int_equal(cay_box_end_facts(&end, "x", &f, &err), 0);
        assert_int_equal(f.start_status, 126);
        end.code = CAY_LIMIT;
        assert_int_equal(cay_box_end_facts(&end, "x", &f, &err), -1);
        assert_int_equal(err.code, CAY_LIMIT);
        end.code = 200;
        assert_int_equal(cay_box_end_facts(&end, "x", &f, &err), -1);
        assert_int_equal(err.code, CAY_INTERNAL);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(plausible), cmocka_unit_test(facts),
                                            cmocka_unit_test(not_started) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
