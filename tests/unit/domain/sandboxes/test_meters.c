/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of all and of each owner, and what happens when there are more owners than meters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "foundation/base/clock.h"
#include "domain/sandboxes/meters.h"

static struct cay_meters m;

static int set_up(void **state)
{
        m = (struct cay_meters){ 0 };
        (void)state;
        return 0;
}

static int tear_down(void **state)
{
        cay_meters_done(&m);
        (void)state;
        return 0;
}

static void test_each_has_its_own(void **state)
{
        struct cay_window_figures f;

        cay_meters_note(&m, "ann", CAY_METER_CREATE_ASKED, 0);
        cay_meters_note(&m, "ann", CAY_METER_CREATE_DONE, 1500);
        cay_meters_note(&m, "bob", CAY_METER_CREATE_ASKED, 0);
        cay_meters_note(&m, "bob", CAY_METER_CREATE_FAILED, 0);
        cay_meters_note(&m, "ann", CAY_METER_EXEC_STARTED, 0);
        cay_meters_note(&m, "ann", CAY_METER_EXEC_RUNS, 700);
        cay_meters_note_end(&m, "ann", CAY_CAUSE_MEMORY, 90, 40);
        cay_meters_note_end(&m, "bob", CAY_CAUSE_MEMORY, 0, 2);
        assert_int_equal(m.all.creates, 2);
        assert_int_equal(m.all.create_failures, 1);
        assert_int_equal(m.all.execs, 1);
        assert_int_equal(m.all.create.all.count, 1);
        assert_int_equal(m.all.exec_start.all.sum_us, 700);
        assert_int_equal(m.all.exec_ends[CAY_CAUSE_MEMORY], 2);
        assert_int_equal(m.all.exec_cpu_us, 42);
        assert_int_equal(cay_meters_of(&m, "ann")->creates, 1);
        assert_int_equal(cay_meters_of(&m, "ann")->create_failures, 0);
        assert_int_equal(cay_meters_of(&m, "ann")->execs, 1);
        assert_int_equal(cay_meters_of(&m, "ann")->exec_run.all.count, 1);
        assert_int_equal(cay_meters_of(&m, "bob")->create_failures, 1);
        assert_int_equal(cay_meters_of(&m, "bob")->exec_ends[CAY_CAUSE_MEMORY], 1);
        assert_int_equal(cay_meters_of(&m, "bob")->exec_run.all.count, 0); /* nobody measured it */
        cay_window_hour(&cay_meters_of(&m, "ann")->create.recent, cay_clock_ms(), &f);
        assert_int_equal(f.p99_us, 1500);
        cay_window_hour(&cay_meters_of(&m, "bob")->create.recent, cay_clock_ms(), &f);
        assert_int_equal(f.count, 0);
        (void)state;
}

static void test_nobody(void **state)
{
        static char much[CAY_NAME_MAX + 2];

        memset(much, 'x', sizeof(much) - 1);
        cay_meters_note(&m, "", CAY_METER_CREATE_ASKED, 0);
        cay_meters_note(&m, much, CAY_METER_CREATE_ASKED, 0);
        assert_int_equal(m.count, 0);
        assert_int_equal(m.all.creates, 2);
        assert_int_equal(cay_meters_of(&m, "who")->creates, 0);
        (void)state;
}

static void ask(unsigned nr)
{
        char owner[16];

        snprintf(owner, sizeof(owner), "o%u", nr);
        cay_meters_note(&m, owner, CAY_METER_CREATE_ASKED, 0);
}

static void test_the_longest_unheard_goes(void **state)
{
        for (unsigned i = 0; i < CAY_METER_OWNERS; i++)
                ask(i);
        ask(0); /* so that o1 is the one */
        ask(CAY_METER_OWNERS);
        assert_int_equal(m.count, CAY_METER_OWNERS);
        assert_int_equal(cay_meters_of(&m, "o0")->creates, 2);
        assert_int_equal(cay_meters_of(&m, "o1")->creates, 0);
        assert_int_equal(cay_meters_of(&m, "o2")->creates, 1);
        assert_int_equal(cay_meters_of(&m, "o64")->creates, 1);
        assert_int_equal(m.all.creates, CAY_METER_OWNERS + 2);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_each_has_its_own, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_nobody, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_the_longest_unheard_goes, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
