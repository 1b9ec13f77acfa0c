/* SPDX-License-Identifier: Apache-2.0 */
/* Entries are kept as they were, numbered without gaps, within both limits. */
#include "cay-net/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct net_log l;

static void add(const char *name, const char *rule, const char *why)
{
        struct net_log_entry e = {
                .kind = NET_LOG_TCP, .verdict = NET_LOG_REFUSED, .port = 443, .up_bytes = 7
        };

        snprintf(e.name, sizeof(e.name), "%s", name);
        snprintf(e.rule, sizeof(e.rule), "%s", rule);
        snprintf(e.why, sizeof(e.why), "%s", why);
        net_log_add(&l, &e);
}

static void an_entry_is_read_as_it_was(void **state)
{
        struct net_log_entry e;

        net_log_init(&l, 0);
        assert_false(net_log_read(&l, 0, &e));
        assert_int_equal(e.number, 0);
        add("a.example", "*.example", "it is late");
        add("", "", "");
        assert_true(net_log_read(&l, 0, &e));
        assert_int_equal(e.number, 1);
        assert_int_equal(e.port, 443);
        assert_int_equal(e.up_bytes, 7);
        assert_string_equal(e.name, "a.example");
        assert_string_equal(e.rule, "*.example");
        assert_string_equal(e.why, "it is late");
        assert_true(net_log_read(&l, 2, &e));
        assert_int_equal(e.number, 2);
        assert_string_equal(e.name, "");
        assert_false(net_log_read(&l, 3, &e));
        net_log_done(&l);
        assert_int_equal(l.bytes, 0);
}

static void the_oldest_give_way(void **state)
{
        struct net_log_entry e;

        net_log_init(&l, 100); /* goes on where another one ended */
        for (unsigned i = 0; i < NET_LOG_MAX + 10; i++)
                add("a.example", "", "");
        assert_int_equal(l.first, 110);
        assert_int_equal(l.next, 100 + NET_LOG_MAX + 10);
        assert_true(net_log_read(&l, 5, &e));
        assert_int_equal(e.number, 110);
        net_log_done(&l);
}

static void long_entries_are_fewer(void **state)
{
        char name[NET_NAME], rule[NET_RULE], why[NET_WHY];
        struct net_log_entry e;

        memset(name, 'n', sizeof(name));
        memset(rule, 'r', sizeof(rule));
        memset(why, 'w', sizeof(why));
        name[sizeof(name) - 1] = rule[sizeof(rule) - 1] = why[sizeof(why) - 1] = '\0';
        net_log_init(&l, 0);
        for (unsigned i = 0; i < NET_LOG_MAX; i++)
                add(name, rule, why);
        assert_true(l.bytes <= NET_LOG_BYTES && l.next - l.first < NET_LOG_MAX && l.next - l.first > 100);
        assert_true(net_log_read(&l, l.next - 1, &e));
        assert_string_equal(e.name, name);
        assert_string_equal(e.rule, rule);
        assert_string_equal(e.why, why);
        net_log_done(&l);
        assert_int_equal(l.bytes, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_entry_is_read_as_it_was),
                cmocka_unit_test(the_oldest_give_way),
                cmocka_unit_test(long_entries_are_fewer),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
