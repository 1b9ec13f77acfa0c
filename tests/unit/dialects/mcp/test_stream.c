/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that keep what they said: within their owner's budget, and never with a hole that nobody is told
 * of.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dialects/mcp/stream.h"

#define ALL (1024u * 1024)

static char text[ALL];

static void begin(struct cay_mcp_stream *s, struct cay_budgets *all, const char *owner)
{
        cay_mcp_stream_init(s, NULL, 1, true);
        cay_mcp_stream_charge(s, all, owner);
}

static void test_what_is_kept_is_counted(void **state)
{
        struct cay_budgets all;
        struct cay_mcp_stream s;

        cay_budgets_init(&all, ALL);
        begin(&s, &all, "a");
        for (unsigned i = 0; i < 8; i++)
                cay_mcp_stream_put(&s, text, 10000);
        assert_int_equal(s.forgotten, 0);
        assert_int_equal(s.bytes, 80000);
        assert_true(s.budget.used >= 80000);
        assert_true(all.all.used >= 70000 && all.all.used <= s.budget.used);
        cay_mcp_stream_done(&s);
        assert_int_equal(all.all.used, 0);
        assert_null(all.owners);
}

static void test_the_oldest_go_first(void **state)
{
        struct cay_budgets all;
        struct cay_mcp_stream s;

        cay_budgets_init(&all, ALL);
        begin(&s, &all, "a");
        for (unsigned i = 0; i < 100; i++)
                cay_mcp_stream_put(&s, text, 10000);
        assert_true(s.budget.used <= ALL / 12 + 8192);
        assert_true(s.forgotten > 85 && s.forgotten < 100);
        assert_int_equal(s.bytes, (100 - s.forgotten) * 10000);
        cay_mcp_stream_done(&s);
        assert_null(all.owners);
}

/* One that is larger than all there is: not kept, and that is known. */
static void test_too_large(void **state)
{
        struct cay_budgets all;
        struct cay_mcp_stream s;

        cay_budgets_init(&all, ALL);
        begin(&s, &all, "a");
        assert_true(cay_mcp_stream_fits(&s, 1000));
        assert_false(cay_mcp_stream_fits(&s, ALL));
        cay_mcp_stream_put(&s, text, 100);
        cay_mcp_stream_put(&s, text, ALL);
        assert_int_equal(s.forgotten, 2);
        assert_int_equal(s.bytes, 0);
        cay_mcp_stream_put(&s, text, 100);
        assert_int_equal(s.bytes, 100);
        cay_mcp_stream_done(&s);
        assert_null(all.owners);
}

/* Twelve sessions that keep all they can leave room for another owner's. */
static void test_others_have_room(void **state)
{
        struct cay_mcp_stream greedy[12], late;
        struct cay_budgets all;

        cay_budgets_init(&all, ALL);
        for (unsigned i = 0; i < 12; i++)
                begin(&greedy[i], &all, "greedy");
        for (unsigned k = 0; k < 50; k++)
                for (unsigned i = 0; i < 12; i++)
                        cay_mcp_stream_put(&greedy[i], text, 5000);
        assert_true(all.all.used <= ALL / 6);
        begin(&late, &all, "late");
        cay_mcp_stream_put(&late, text, 50000);
        assert_int_equal(late.forgotten, 0);
        cay_mcp_stream_done(&late);
        for (unsigned i = 0; i < 12; i++)
                cay_mcp_stream_done(&greedy[i]);
        assert_int_equal(all.all.used, 0);
        assert_null(all.owners);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_is_kept_is_counted),
                cmocka_unit_test(test_the_oldest_go_first),
                cmocka_unit_test(test_too_large),
                cmocka_unit_test(test_others_have_room),
        };

        return cmocka_run_group_tests_name("mcp/stream", tests, NULL, NULL);
}
