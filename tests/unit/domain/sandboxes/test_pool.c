/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the warm pool: shapes, counts, and what is due. */
#include "domain/sandboxes/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int an_engine, another_engine;
static char something[8]; /* stands for what a box was made with; never looked at here */

static struct cay_pool_made *made(unsigned nr)
{
        return (struct cay_pool_made *)(void *)&something[nr];
}

static struct cay_pool_shape shape(void)
{
        return (struct cay_pool_shape){
                .template_name = "host", .engine = &an_engine, .memory_bytes = 64u << 20, .pids = 50
        };
}

static void make(struct cay_pool *p, const struct cay_pool_shape *s, const char *id, unsigned nr,
                 uint64_t now)
{
        cay_pool_begin(p, s, id);
        assert_true(cay_pool_end(p, id, made(nr), now));
}

static void off_means_off(void **state)
{
        const struct cay_pool_shape s = shape();
        struct cay_pool_box b;
        struct cay_pool p;

        assert_int_equal(cay_pool_init(&p, 0), 0);
        assert_false(cay_pool_claim(&p, &s, 8, 1, &b));
        assert_null(cay_pool_next(&p, 1));
        assert_null(cay_pool_spare(&p, NULL, 1));
        assert_int_equal(p.missed, 0);
        cay_pool_done(&p);
        /* and a shape that wants none has none */
        assert_int_equal(cay_pool_init(&p, 8 * CAY_POOL_BOX_BYTES), 0);
        assert_false(cay_pool_claim(&p, &s, 0, 1, &b));
        assert_null(cay_pool_next(&p, 1));
        cay_pool_done(&p);
}

static void claimed_once(void **state)
{
        const struct cay_pool_shape s = shape();
        struct cay_pool_figures f;
        struct cay_pool_box b;
        struct cay_pool p;

        assert_int_equal(cay_pool_init(&p, 8 * CAY_POOL_BOX_BYTES), 0);
        assert_false(cay_pool_claim(&p, &s, 2, 1, &b)); /* the first one starts it */
        assert_true(cay_pool_shape_equals(cay_pool_next(&p, 1), &s));
        cay_pool_begin(&p, &s, "a");
        assert_false(cay_pool_claim(&p, &s, 2, 2, &b)); /* it is not ready yet */
        assert_true(cay_pool_end(&p, "a", made(0), 3));
        assert_false(cay_pool_end(&p, "a", made(0), 3));
        make(&p, &s, "b", 1, 4);
        assert_null(cay_pool_next(&p, 4));
        assert_true(cay_pool_claim(&p, &s, 2, 5, &b)); /* the oldest first */
        assert_string_equal(b.id, "a");
        assert_ptr_equal(b.made, made(0));
        assert_non_null(cay_pool_next(&p, 5));
        assert_true(cay_pool_claim(&p, &s, 2, 6, &b));
        assert_string_equal(b.id, "b");
        assert_false(cay_pool_claim(&p, &s, 2, 7, &b));
        cay_pool_figures(&p, &f);
        assert_int_equal(f.claimed, 2);
        assert_int_equal(f.missed, 3);
        assert_int_equal(f.ready + f.making, 0);
        assert_int_equal(f.wanted, 2);
        assert_int_equal(f.most, 8);
        cay_pool_done(&p);
}

/* Each member of the shape counts. */
static void another_shape(void **state)
{
        const struct cay_pool_shape s = shape();
        struct cay_pool_shape others[15];
        struct cay_pool_box b;
        struct cay_pool p;
        unsigned n = 0;

        for (unsigned i = 0; i < 15; i++)
                others[i] = s;
        snprintf(others[n++].template_name, sizeof(s.template_name), "python");
        others[n++].engine = &another_engine;
        others[n++].root_dev = 1;
        others[n++].root_ino = 1;
        others[n++].kind = CAY_TEMPLATE_ROOTFS;
        others[n++].memory_bytes++;
        others[n++].swap_bytes++;
        others[n++].cpu_milli++;
        others[n++].pids++;
        others[n++].disk_bytes++;
        others[n++].inodes++;
        others[n++].may_skip++;
        others[n++].read_only = true;
        others[n++].brief = true;
        snprintf(others[n++].warm_modules, sizeof(s.warm_modules), "json");
        assert_int_equal(cay_pool_init(&p, 64 * CAY_POOL_BOX_BYTES), 0);
        cay_pool_claim(&p, &s, 1, 1, &b);
        make(&p, &s, "a", 0, 1);
        for (unsigned i = 0; i < n; i++)
                assert_false(cay_pool_claim(&p, &others[i], 1, 2, &b));
        others[0] = s;
        others[0].own_user_only = true;
        assert_false(cay_pool_shape_equals(&others[0], &s));
        assert_true(cay_pool_claim(&p, &s, 1, 3, &b));
        cay_pool_done(&p);
}

static void bounded(void **state)
{
        struct cay_pool_shape s = shape();
        struct cay_pool_box b;
        struct cay_pool p;

        assert_int_equal(cay_pool_init(&p, 2 * CAY_POOL_BOX_BYTES), 0);
        cay_pool_claim(&p, &s, 10, 1, &b);
        make(&p, &s, "a", 0, 1);
        make(&p, &s, "b", 1, 1);
        assert_null(cay_pool_next(&p, 1)); /* by memory */
        for (unsigned i = 0; i < 3 * CAY_POOL_SHAPES_MAX;
             i++) { /* and by shapes: those without boxes make room */
                s.pids = 100 + i;
                assert_false(cay_pool_claim(&p, &s, 1, 2 + i, &b));
        }
        s = shape();
        assert_true(cay_pool_claim(&p, &s, 10, 99, &b));
        cay_pool_done(&p);
        assert_int_equal(cay_pool_init(&p, UINT64_MAX), 0);
        assert_int_equal(p.most, CAY_POOL_BOXES_MAX);
        cay_pool_done(&p);
}

static void failures_wait(void **state)
{
        const struct cay_pool_shape s = shape();
        struct cay_pool_box b;
        struct cay_pool p;

        assert_int_equal(cay_pool_init(&p, 8 * CAY_POOL_BOX_BYTES), 0);
        cay_pool_claim(&p, &s, 1, 1000, &b);
        cay_pool_begin(&p, &s, "a");
        assert_true(cay_pool_end(&p, "a", NULL, 1000));
        assert_int_equal(p.failed, 1);
        assert_null(cay_pool_next(&p, 1000 + CAY_POOL_RETRY_MS - 1));
        assert_non_null(cay_pool_next(&p, 1000 + CAY_POOL_RETRY_MS));
        cay_pool_done(&p);
}

static void what_is_old_or_unused_goes(void **state)
{
        const struct cay_pool_shape s = shape();
        struct cay_pool_box b;
        struct cay_pool p;

        assert_int_equal(cay_pool_init(&p, 8 * CAY_POOL_BOX_BYTES), 0);
        cay_pool_claim(&p, &s, 2, 1, &b);
        make(&p, &s, "a", 0, 1);
        make(&p, &s, "b", 1, 1);
        assert_null(cay_pool_spare(&p, NULL, 2));
        assert_true(cay_pool_claim(&p, &s, 0, 3, &b)); /* its template wants none any more */
        assert_string_equal(cay_pool_spare(&p, NULL, 3), "b");
        assert_true(cay_pool_drop(&p, "b", &b));
        assert_false(cay_pool_drop(&p, "b", &b));
        assert_null(cay_pool_next(&p, 3));
        cay_pool_claim(&p, &s, 1, 10, &b);
        make(&p, &s, "c", 2, 10);
        assert_string_equal(cay_pool_spare(&p, NULL, 10 + CAY_POOL_UNUSED_MS), "c");
        p.rows[0].used_ms = 10 + CAY_POOL_AGE_MS; /* in use, but this box is old */
        assert_string_equal(cay_pool_spare(&p, NULL, 10 + CAY_POOL_AGE_MS), "c");
        assert_null(cay_pool_spare(&p, &another_engine, 11));
        assert_string_equal(cay_pool_spare(&p, &an_engine, 11), "c");
        /* one that is being made and is dropped meanwhile: its end belongs to nobody */
        assert_true(cay_pool_drop(&p, "c", &b));
        cay_pool_begin(&p, &s, "d");
        assert_true(cay_pool_drop(&p, "d", &b));
        assert_null(b.made);
        assert_false(cay_pool_end(&p, "d", made(3), 12));
        cay_pool_done(&p);
}

/* As many as in the busiest second of the last slots; later fewer, but one while it is asked for. */
static void learned(void **state)
{
        const struct cay_pool_shape s = shape();
        uint64_t now = 1000 * 1000;
        struct cay_pool_figures f;
        struct cay_pool_box b;
        struct cay_pool p;

        assert_int_equal(cay_pool_init(&p, 64 * CAY_POOL_BOX_BYTES), 0);
        for (unsigned i = 0; i < 5; i++)
                assert_false(cay_pool_claim(&p, &s, CAY_POOL_LEARNED, now + i, &b));
        cay_pool_figures(&p, &f);
        assert_int_equal(f.wanted, 5);
        for (unsigned i = 1; i < 8; i++) /* one in a second is no burst, and the burst is remembered */
                cay_pool_claim(&p, &s, CAY_POOL_LEARNED, now + i * CAY_POOL_SLOT_MS, &b);
        cay_pool_figures(&p, &f);
        assert_int_equal(f.wanted, 5);
        assert_non_null(cay_pool_next(&p, now + 8 * CAY_POOL_SLOT_MS));
        /* until its slot has passed */
        assert_null(cay_pool_spare(&p, NULL, now + CAY_POOL_SLOTS * CAY_POOL_SLOT_MS));
        cay_pool_figures(&p, &f);
        assert_int_equal(f.wanted, 1);
        /* long after: nothing is left of it, and a row that has boxes stays a row */
        cay_pool_spare(&p, NULL, now + 100 * CAY_POOL_SLOT_MS);
        cay_pool_figures(&p, &f);
        assert_int_equal(f.wanted, 1);
        assert_null(cay_pool_next(&p, now + 100 * CAY_POOL_SLOT_MS));
        cay_pool_claim(&p, &s, CAY_POOL_LEARNED, now + 200 * CAY_POOL_SLOT_MS, &b);
        cay_pool_figures(&p, &f);
        assert_int_equal(f.wanted, 1);
        /* a fixed number from now on */
        cay_pool_claim(&p, &s, 7, now + 201 * CAY_POOL_SLOT_MS, &b);
        cay_pool_spare(&p, NULL, now + 201 * CAY_POOL_SLOT_MS);
        cay_pool_figures(&p, &f);
        assert_int_equal(f.wanted, 7);
        cay_pool_done(&p);
        (void)state;
}

/* Interpreters take memory of the pool, so that fewer boxes fit; other shapes still do. */
static void warm_ones_take_more(void **state)
{
        const uint64_t each = CAY_POOL_BOX_BYTES + CAY_POOL_WARM_BYTES;
        struct cay_pool_shape s = shape(), plain = shape();
        struct cay_pool_figures f;
        struct cay_pool_box b;
        struct cay_pool p;

        s.warm = true;
        assert_false(cay_pool_shape_equals(&s, &plain));
        assert_int_equal(cay_pool_init(&p, 2 * each + CAY_POOL_BOX_BYTES), 0);
        assert_false(cay_pool_claim(&p, &s, 9, 1, &b));
        make(&p, &s, "a", 0, 1);
        make(&p, &s, "b", 1, 1);
        assert_null(cay_pool_next(&p, 1));
        assert_false(cay_pool_claim(&p, &plain, 9, 1, &b));
        assert_true(cay_pool_shape_equals(cay_pool_next(&p, 1), &plain));
        make(&p, &plain, "c", 2, 1);
        assert_null(cay_pool_next(&p, 1));
        cay_pool_figures(&p, &f);
        assert_int_equal(f.ready, 3);
        assert_int_equal(f.warm, 2);
        assert_int_equal(f.bytes, f.bytes_most);
        assert_true(cay_pool_claim(&p, &s, 9, 2, &b));
        assert_true(cay_pool_shape_equals(cay_pool_next(&p, 2), &s));
        cay_pool_done(&p);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(off_means_off), cmocka_unit_test(claimed_once),
                cmocka_unit_test(another_shape), cmocka_unit_test(bounded),
                cmocka_unit_test(learned),       cmocka_unit_test(warm_ones_take_more),
                cmocka_unit_test(failures_wait), cmocka_unit_test(what_is_old_or_unused_goes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
