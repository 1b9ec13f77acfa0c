/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/stat: names that try to look like fields, and trees. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cay-init/proc.h"

#define FIELDS " 5 7 7 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 100 200 300\n"

static void a_plain_line_is_read(void **state)
{
        struct cay_proc p;

        assert_true(cay_proc_parse("42 (sleep) S" FIELDS, &p));
        assert_int_equal(p.pid, 42);
        assert_int_equal(p.parent, 5);
        assert_int_equal(p.state, 'S');
        assert_int_equal(p.ticks, 100);
}

static void names_do_not_become_fields(void **state)
{
        static const char *const names[] = { "a b", ")", ") R 1 1", "((", "x) S 1 (y", "new\nline", "" };
        struct cay_proc p;

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                char line[256];

                snprintf(line, sizeof(line), "7 (%s) D" FIELDS, names[i]);
                assert_true(cay_proc_parse(line, &p));
                assert_int_equal(p.pid, 7);
                assert_int_equal(p.parent, 5);
                assert_int_equal(p.state, 'D');
        }
}

static void broken_lines_are_refused(void **state)
{
        static const char *const lines[] = {
                "",
                "x",
                "42",
                "42 (a",
                "42 (a)",
                "42 (a) ",
                "42 (a) S",
                "42 (a) S 1",
                "42 (a) S 1 2 3 4 5 6 7 8 9 10 11 12",
                "-1 (a) S" FIELDS,
                "0 (a) S" FIELDS,
                "99999999999 (a) S" FIELDS,
                "(a) S" FIELDS,
                "42 (a) S 99999999999999999999 1 1 1 1 1 1 1 1 1 1 1 1 1",
                "42 (a) S x 1 1 1 1 1 1 1 1 1 1 1 1 1",
        };
        struct cay_proc p;

        for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
                assert_false(cay_proc_parse(lines[i], &p));
}

static void a_tree_is_found_in_any_order(void **state)
{
        /* 10 → 11 → 12 → 13, 10 → 14; 20 is another's; rows from the leaves up */
        struct cay_proc rows[] = {
                { .pid = 13, .parent = 12 }, { .pid = 12, .parent = 11 }, { .pid = 20, .parent = 1 },
                { .pid = 11, .parent = 10 }, { .pid = 14, .parent = 10 }, { .pid = 10, .parent = 1 },
        };

        assert_int_equal(cay_proc_mark_below(rows, 6, 10), 4);
        assert_true(rows[0].mark && rows[1].mark && rows[3].mark && rows[4].mark);
        assert_false(rows[2].mark || rows[5].mark);
        assert_int_equal(cay_proc_mark_below(rows, 6, 13), 0);
        assert_int_equal(cay_proc_mark_below(rows, 6, 1), 6);
        assert_int_equal(cay_proc_mark_below(rows, 0, 1), 0);
}

static void the_real_table_has_us(void **state)
{
        static struct cay_proc rows[CAY_PROC_MAX];
        pid_t child = fork();
        unsigned count;
        bool found = false;

        if (child == 0) {
                pause();
                _exit(0);
        }
        count = cay_proc_scan(rows, CAY_PROC_MAX);
        assert_true(count >= 2);
        assert_true(cay_proc_mark_below(rows, count, getpid()) >= 1);
        for (unsigned i = 0; i < count; i++)
                found |= rows[i].pid == child && rows[i].mark;
        assert_true(found);
        assert_int_equal(cay_proc_scan(rows, 1), 1);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_plain_line_is_read),     cmocka_unit_test(names_do_not_become_fields),
                cmocka_unit_test(broken_lines_are_refused), cmocka_unit_test(a_tree_is_found_in_any_order),
                cmocka_unit_test(the_real_table_has_us),
        };

        return cmocka_run_group_tests_name("init/proc", tests, NULL, NULL);
}
