/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budgets: shares that leave room for others, small holders that ask nobody, buffers that pay for what they
 * allocate.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "foundation/base/buf.h"
#include "foundation/base/budget.h"

#define ALL 1000u

static size_t take_all(struct cay_budget *b)
{
        size_t taken = 0;

        while (cay_budget_take(b, 1) == 0)
                taken++;
        return taken;
}

static void test_one_gets_a_third(void **state)
{
        struct cay_budgets all;
        struct cay_budget_owner *owner;
        struct cay_budget conn;

        cay_budgets_init(&all, ALL);
        owner = cay_budget_owner_get(&all, "a");
        conn = (struct cay_budget){ .parent = &owner->budget };
        assert_int_equal(cay_budget_room(NULL), SIZE_MAX);
        assert_int_equal(cay_budget_take(NULL, SIZE_MAX), 0);
        assert_int_equal(cay_budget_take(&conn, ALL / 6 + 1), -ENOBUFS);
        assert_int_equal(conn.used + owner->budget.used + all.all.used, 0);
        assert_int_equal(cay_budget_take(&conn, ALL / 6), 0);
        assert_int_equal(cay_budget_room(&conn), 0);
        assert_int_equal(owner->budget.used, ALL / 6);
        assert_int_equal(all.all.used, ALL / 6);
        cay_budget_give(&conn, ALL / 6);
        assert_int_equal(all.all.used, 0);
        assert_int_equal(take_all(&owner->budget), ALL / 3);
        cay_budget_give(&owner->budget, ALL / 3);
        assert_int_equal(take_all(&owner->kept), ALL / 6);
        cay_budget_give(&owner->kept, ALL / 6);
        cay_budget_owner_put(owner);
        assert_null(all.owners);
}

/* However many take as much as they get, the next one gets about as much as each of them has. */
static void test_greedy_leave_room(void **state)
{
        struct cay_budgets all;
        struct cay_budget_owner *owners[10], *late;
        size_t most = 0;
        char name[8];

        cay_budgets_init(&all, 1u << 20);
        for (unsigned i = 0; i < 10; i++) {
                snprintf(name, sizeof(name), "o%u", i);
                owners[i] = cay_budget_owner_get(&all, name);
        }
        for (bool moved = true; moved;) {
                moved = false;
                for (unsigned i = 0; i < 10; i++)
                        moved |= cay_budget_take(&owners[i]->budget, 64) == 0;
        }
        for (unsigned i = 0; i < 10; i++)
                if (owners[i]->budget.used > most)
                        most = owners[i]->budget.used;
        assert_in_range(most, (1u << 20) / 12 - 128, (1u << 20) / 12 + 128);
        late = cay_budget_owner_get(&all, "late");
        assert_true(cay_budget_room(&late->budget) >= (1u << 20) / 18 - 128);
        cay_budget_owner_put(late);
        for (unsigned i = 0; i < 10; i++) {
                cay_budget_give(&owners[i]->budget, owners[i]->budget.used);
                cay_budget_owner_put(owners[i]);
        }
        assert_int_equal(all.all.used, 0);
        assert_null(all.owners);
}

/* One after the other, each with all that it gets and for good. */
static void test_greedy_in_turn(void **state)
{
        struct cay_budgets all;
        struct cay_budget_owner *owners[11];
        char name[8];

        cay_budgets_init(&all, 1u << 20);
        for (unsigned i = 0; i < 11; i++) {
                snprintf(name, sizeof(name), "o%u", i);
                owners[i] = cay_budget_owner_get(&all, name);
                assert_true(take_all(&owners[i]->budget) >= (1u << 20) / 175);
        }
        for (unsigned i = 0; i < 11; i++) {
                cay_budget_give(&owners[i]->budget, owners[i]->budget.used);
                cay_budget_owner_put(owners[i]);
        }
}

/* Those who hold little ask nobody, even where nothing is left. */
static void test_small_is_free(void **state)
{
        struct cay_budget root = { .max = 0 }, conn = { .parent = &root, .small = 16 };

        assert_int_equal(cay_budget_room(&conn), 16);
        assert_int_equal(cay_budget_take(&conn, 17), -ENOBUFS);
        assert_int_equal(cay_budget_take(&conn, 16), 0);
        assert_int_equal(cay_budget_take(&conn, 1), -ENOBUFS);
        assert_int_equal(root.used, 0);
        root.max = 100;
        assert_int_equal(cay_budget_take(&conn, 10), 0);
        assert_int_equal(root.used, 10);
        cay_budget_give(&conn, 20);
        assert_int_equal(root.used, 0);
        assert_int_equal(conn.used, 6);
        cay_budget_give(&conn, 6);
}

static void test_owner_is_one(void **state)
{
        struct cay_budgets all;
        struct cay_budget_owner *a, *b, *again;

        cay_budgets_init(&all, ALL);
        a = cay_budget_owner_get(&all, "a");
        b = cay_budget_owner_get(&all, "b");
        again = cay_budget_owner_get(&all, "a");
        assert_ptr_equal(a, again);
        assert_ptr_not_equal(a, b);
        cay_budget_owner_put(a);
        cay_budget_owner_put(b);
        assert_ptr_equal(all.owners, a);
        cay_budget_owner_put(again);
        cay_budget_owner_put(NULL);
        assert_null(all.owners);
}

static void test_move(void **state)
{
        struct cay_budget root = { .max = ALL }, a = { .parent = &root }, b = { .parent = &root },
                          conn = { .parent = &a, .small = 10 };

        assert_int_equal(cay_budget_take(&conn, 60), 0);
        assert_int_equal(a.used, 50);
        cay_budget_move(&conn, &b);
        assert_int_equal(a.used, 0);
        assert_int_equal(b.used, 50);
        assert_int_equal(root.used, 50);
        cay_budget_give(&conn, 60);
        assert_int_equal(b.used + root.used, 0);
}

static void test_buffer_pays(void **state)
{
        struct cay_budget root = { .max = ALL }, one = { .parent = &root }, two = { .parent = &root };
        struct cay_buf b;

        cay_buf_init(&b, 10 * ALL);
        cay_buf_charge(&b, &one);
        assert_int_equal(cay_buf_check(&b, ALL / 2), 0);
        assert_int_equal(cay_buf_check(&b, ALL / 2 + 1), -ENOBUFS);
        assert_int_equal(cay_buf_check(&b, 10 * ALL + 1), -ENOSPC);
        assert_int_equal(cay_buf_put(&b, "x", 1), 0);
        assert_int_equal(one.used, b.cap);
        while (cay_buf_put(&b, "x", 1) == 0)
                assert_int_equal(one.used, b.cap);
        assert_int_equal(b.len, ALL / 2); /* doubling is not what ends it */
        assert_int_equal(cay_buf_put(&b, "x", 1), -ENOBUFS);
        assert_null(cay_buf_room(&b, 1));
        cay_buf_charge(&b, &two);
        assert_int_equal(one.used, 0);
        assert_int_equal(two.used, b.cap);
        cay_buf_done(&b);
        assert_int_equal(root.used, 0);
        assert_int_equal(cay_buf_put(&b, "y", 1), 0); /* still of the same budget */
        assert_int_equal(two.used, b.cap);
        cay_buf_charge(&b, NULL);
        assert_int_equal(root.used, 0);
        cay_buf_done(&b);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_gets_a_third), cmocka_unit_test(test_greedy_leave_room),
                cmocka_unit_test(test_greedy_in_turn),   cmocka_unit_test(test_small_is_free),
                cmocka_unit_test(test_owner_is_one),     cmocka_unit_test(test_move),
                cmocka_unit_test(test_buffer_pays),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
