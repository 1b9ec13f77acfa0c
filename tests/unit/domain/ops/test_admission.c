/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many may be alive, and the queue: who is let in, when, in which order, and how a wait ends otherwise.
 */
#include "unit/domain/sandboxes/service_test.h"

#include "foundation/base/str.h"
#include "domain/ops/admission.h"

#define LONG_MS 600000

enum { SMALL, BIG, ROWS };

static struct cay_template rows[ROWS];
static struct cay_template_set set;
static const struct cay_template_set *in_force;
static struct cay_admission admission;

struct guest {
        struct cay_waiter waiter;
        struct test *t;
        const char *template_name;
        struct call made;
        unsigned order;        /* of being let in, from 1; 0: was not */
        enum cay_code refused; /* CAY_OK: was not */
};

static struct guest a, b, c; /* not of a test's own stack: those that still wait are told at the end */
static unsigned let_in_count;
static const char *as = "me"; /* who comes */

static int any_template(void *ctx, const char *name, enum cay_template_kind *ret_kind, int *ret_fd,
                        struct cay_error *err)
{
        *ret_kind = CAY_TEMPLATE_HOST;
        *ret_fd = -1;
        return 0;
}

static int set_up(void **state)
{
        struct test *t;

        if (setup(state) < 0)
                return -1;
        t = *state;
        service_close(t);
        t->env.open_template = any_template;
        t->env.max_alive = 100;
        service_open(t);
        let_in_count = 0;
        for (unsigned i = 0; i < ROWS; i++)
                rows[i] = (struct cay_template){ .name = i == SMALL ? "small" : "big",
                                                 .engine = "auto",
                                                 .available = true,
                                                 .root_fd = -1 };
        rows[SMALL].max_concurrent = 1;
        set = (struct cay_template_set){ .rows = rows, .count = ROWS, .queue = 4, .queue_ms = LONG_MS };
        in_force = &set;
        cay_admission_init(&admission, t->loop, t->service, &in_force);
        return 0;
}

static int tear_down(void **state)
{
        cay_admission_done(&admission);
        return teardown(state);
}

static void make(struct guest *g)
{
        struct cay_sandbox_new what = plain();

        what.template_name = g->template_name;
        call_init(&g->made);
        cay_service_create(g->t->service, &what, &g->made.call);
}

static void let_in(struct cay_waiter *w)
{
        struct guest *g = cay_container_of(w, struct guest, waiter);

        assert_int_equal(g->order + (unsigned)g->refused, 0);
        g->order = ++let_in_count;
        make(g);
}

static void refuse(struct cay_waiter *w, const struct cay_error *err)
{
        struct guest *g = cay_container_of(w, struct guest, waiter);

        assert_int_equal(g->order + (unsigned)g->refused, 0);
        g->refused = err->code;
}

/* As an op does: who may come in makes its sandbox at once. */
static int come(struct test *t, const struct cay_template *row, struct guest *g, struct cay_error *err)
{
        int r;

        *g = (struct guest){ .waiter = { .let_in = let_in, .refuse = refuse },
                             .t = t,
                             .template_name = row ? row->name : NULL };
        cay_str_copy(g->waiter.owner, sizeof(g->waiter.owner), as);
        r = cay_admission_ask(&admission, row, &g->waiter, err);
        if (r > 0)
                let_in(&g->waiter);
        return r;
}

static void come_in(struct test *t, const struct cay_template *row, struct guest *g)
{
        struct cay_error err = { 0 };

        assert_int_equal(come(t, row, g, &err), 1);
        assert_int_equal(call_wait(t, &g->made), CAY_OK);
}

static void come_and_wait(struct test *t, const struct cay_template *row, struct guest *g)
{
        struct cay_error err = { 0 };

        assert_int_equal(come(t, row, g, &err), 0);
        assert_int_equal(g->order, 0);
}

static void leave(struct test *t, struct guest *g)
{
        assert_int_equal(change(t, destroy, g->made.call.id), CAY_OK);
}

static void without_limits_nobody_waits(void **state)
{
        struct test *t = *state;
        struct guest guests[5];

        for (unsigned i = 0; i < 5; i++)
                come_in(t, &rows[BIG], &guests[i]);
        assert_int_equal(admission.waiting, 0);
}

/* Counted from the first moment: the second comes before the first one's box is there. */
static void one_in_the_making_counts(void **state)
{
        struct test *t = *state;
        struct cay_error err = { 0 };

        set.queue = 0;
        assert_int_equal(come(t, &rows[SMALL], &a, &err), 1);
        assert_int_equal(come(t, &rows[SMALL], &b, &err), -1);
        assert_int_equal(err.code, CAY_LIMIT);
        assert_non_null(strstr(err.msg, "template 'small'"));
        assert_int_equal(call_wait(t, &a.made), CAY_OK);
        err = (struct cay_error){ 0 };
        assert_int_equal(cay_admission_check(&admission, &rows[SMALL], as, &err), -1);
        assert_int_equal(err.code, CAY_LIMIT);
        leave(t, &a);
        assert_int_equal(cay_admission_check(&admission, &rows[SMALL], as, &err), 0);
}

static void in_the_order_of_coming(void **state)
{
        struct test *t = *state;

        come_in(t, &rows[SMALL], &a);
        come_and_wait(t, &rows[SMALL], &b);
        come_and_wait(t, &rows[SMALL], &c);
        assert_int_equal(admission.waiting, 2);
        leave(t, &a);
        wait_for(t, b.order != 0);
        assert_int_equal(call_join(t, &b.made), CAY_OK);
        settle(t);
        assert_int_equal(c.order, 0); /* one place, one guest */
        leave(t, &b);
        wait_for(t, c.order != 0);
        assert_true(b.order < c.order);
        assert_int_equal(call_join(t, &c.made), CAY_OK);
        assert_int_equal(admission.waiting, 0);
}

static void a_stop_makes_room_as_well(void **state)
{
        struct test *t = *state;

        come_in(t, &rows[SMALL], &a);
        come_and_wait(t, &rows[SMALL], &b);
        assert_int_equal(change(t, stop, a.made.call.id), CAY_OK);
        wait_for(t, b.order != 0);
        assert_int_equal(call_join(t, &b.made), CAY_OK);
}

static void one_template_holds_no_other_up(void **state)
{
        struct test *t = *state;

        come_in(t, &rows[SMALL], &a);
        come_and_wait(t, &rows[SMALL], &b);
        come_in(t, &rows[BIG], &c);
        assert_int_equal(b.order, 0);
}

static void all_templates_together(void **state)
{
        struct test *t = *state;
        struct cay_error err = { 0 };
        char id[CAY_NAME_MAX + 1];

        set.max_concurrent = 2;
        create(t, id); /* of no template: does not count */
        come_in(t, &rows[BIG], &a);
        come_in(t, &rows[SMALL], &b);
        come_and_wait(t, &rows[BIG], &c);
        assert_int_equal(cay_admission_check(&admission, &rows[BIG], as, &err), -1);
        assert_non_null(strstr(err.msg, "registry's templates"));
        leave(t, &b);
        wait_for(t, c.order != 0);
        assert_int_equal(call_join(t, &c.made), CAY_OK);
}

static void the_queue_has_an_end(void **state)
{
        struct test *t = *state;
        struct cay_error err = { 0 };

        set.queue = 1;
        come_in(t, &rows[SMALL], &a);
        come_and_wait(t, &rows[SMALL], &b);
        assert_int_equal(come(t, &rows[SMALL], &c, &err), -1);
        assert_int_equal(err.code, CAY_LIMIT);
        assert_int_equal(admission.waiting, 1);
}

static void every_wait_ends(void **state)
{
        struct test *t = *state;

        come_in(t, &rows[SMALL], &a);
        set.queue_ms = 1;
        come_and_wait(t, &rows[SMALL], &b);
        set.queue_ms = LONG_MS;
        come_and_wait(t, &rows[SMALL], &c);
        wait_for(t, b.refused != CAY_OK);
        assert_int_equal(b.refused, CAY_LIMIT);
        assert_int_equal(c.refused, CAY_OK);
        assert_int_equal(admission.waiting, 1);
}

static void who_leaves_gives_the_place_away(void **state)
{
        struct test *t = *state;

        come_in(t, &rows[SMALL], &a);
        come_and_wait(t, &rows[SMALL], &b);
        come_and_wait(t, &rows[SMALL], &c);
        cay_admission_leave(&admission, &b.waiter);
        cay_admission_leave(&admission, &b.waiter); /* fine twice */
        assert_int_equal(admission.waiting, 1);
        leave(t, &a);
        wait_for(t, c.order != 0);
        assert_int_equal(b.order, 0);
        assert_int_equal(call_join(t, &c.made), CAY_OK);
}

static void a_template_goes_while_one_waits(void **state)
{
        static const struct cay_template_set none = { .origin = "none" };
        struct test *t = *state;

        come_in(t, &rows[SMALL], &a);
        come_and_wait(t, &rows[SMALL], &b);
        in_force = &none;
        wait_for(t, b.refused != CAY_OK);
        assert_int_equal(b.refused, CAY_NOT_FOUND);
        in_force = &set;
        come_and_wait(t, &rows[SMALL], &c);
        rows[SMALL].available = false;
        wait_for(t, c.refused != CAY_OK);
        assert_int_equal(c.refused, CAY_CONFLICT);
}

static void more_room_by_a_reload(void **state)
{
        struct test *t = *state;

        come_in(t, &rows[SMALL], &a);
        come_and_wait(t, &rows[SMALL], &b);
        rows[SMALL].max_concurrent = 2;
        wait_for(t, b.order != 0); /* nothing happened to a sandbox: it is looked at now and then */
        assert_int_equal(call_join(t, &b.made), CAY_OK);
}

static void the_end_refuses_whoever_waits(void **state)
{
        struct test *t = *state;

        come_in(t, &rows[SMALL], &a);
        come_and_wait(t, &rows[SMALL], &b);
        come_and_wait(t, &rows[SMALL], &c);
        cay_admission_done(&admission);
        assert_int_equal(b.refused, CAY_UNAVAILABLE);
        assert_int_equal(c.refused, CAY_UNAVAILABLE);
        assert_int_equal(admission.waiting, 0);
        cay_admission_done(&(struct cay_admission){ 0 });
}

static int set_up_owners(void **state)
{
        as = "me";
        return set_up(state);
}

/* One owner's four do not come before the one of another. */
static void owners_take_turns(void **state)
{
        static struct guest first, mine[4], yours;
        struct test *t = *state;
        struct cay_error err = { 0 };

        come_in(t, &rows[SMALL], &first);
        for (unsigned i = 0; i < 4; i++)
                come_and_wait(t, &rows[SMALL], &mine[i]);
        assert_int_equal(come(t, &rows[SMALL], &a, &err), -1); /* my part of the queue is full */
        assert_int_equal(err.code, CAY_LIMIT);
        as = "you";
        come_and_wait(t, &rows[SMALL], &yours);
        leave(t, &first);
        wait_for(t, mine[0].order > 0);
        assert_int_equal(call_wait(t, &mine[0].made), CAY_OK);
        assert_int_equal(yours.order, 0);
        leave(t, &mine[0]);
        wait_for(t, yours.order > 0);
        assert_int_equal(mine[1].order, 0);
        assert_int_equal(call_wait(t, &yours.made), CAY_OK);
        leave(t, &yours);
        wait_for(t, mine[1].order > 0);
        assert_int_equal(call_wait(t, &mine[1].made), CAY_OK);
}

/* There is room, and who waited has not been told yet: nobody slips in before. */
static void nobody_comes_before_those_who_wait(void **state)
{
        static struct guest first, waits, late;
        struct test *t = *state;
        struct cay_error err = { 0 };

        come_in(t, &rows[SMALL], &first);
        come_and_wait(t, &rows[SMALL], &waits);
        rows[SMALL].max_concurrent = 2;
        assert_int_equal(cay_admission_check(&admission, &rows[SMALL], as, &err),
                         -1); /* a start, which does not wait */
        assert_int_equal(err.code, CAY_LIMIT);
        as = "you";
        come_and_wait(t, &rows[SMALL], &late);
        wait_for(t, waits.order > 0);
        assert_int_equal(late.order, 0);
        assert_int_equal(call_wait(t, &waits.made), CAY_OK);
        leave(t, &waits);
        wait_for(t, late.order > 0);
        assert_int_equal(call_wait(t, &late.made), CAY_OK);
}

/*
 * The daemon's own limit, which no template has: waited for in the same queue, and nobody of another template
 * slips in before.
 */
static void max_sandboxes_is_waited_for(void **state)
{
        static struct guest first, second, waits, late;
        struct test *t = *state;
        struct cay_error err = { 0 };

        service_close(t);
        t->env.max_alive = 2;
        service_open(t);
        cay_admission_init(&admission, t->loop, t->service, &in_force);
        rows[SMALL].max_concurrent = 0;
        come_in(t, &rows[BIG], &first);
        come_in(t, &rows[BIG], &second);
        come_and_wait(t, &rows[BIG], &waits);
        assert_int_equal(cay_admission_check(&admission, &rows[SMALL], as, &err), -1);
        assert_non_null(strstr(err.msg, "max_sandboxes"));
        come_and_wait(t, NULL, &late); /* one of no template */
        leave(t, &first);
        wait_for(t, waits.order != 0);
        assert_int_equal(call_join(t, &waits.made), CAY_OK);
        settle(t);
        assert_int_equal(late.order, 0);
        leave(t, &second);
        wait_for(t, late.order != 0);
        assert_int_equal(call_join(t, &late.made), CAY_OK);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(without_limits_nobody_waits, set_up, tear_down),
                cmocka_unit_test_setup_teardown(one_in_the_making_counts, set_up, tear_down),
                cmocka_unit_test_setup_teardown(in_the_order_of_coming, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_stop_makes_room_as_well, set_up, tear_down),
                cmocka_unit_test_setup_teardown(one_template_holds_no_other_up, set_up, tear_down),
                cmocka_unit_test_setup_teardown(all_templates_together, set_up, tear_down),
                cmocka_unit_test_setup_teardown(the_queue_has_an_end, set_up, tear_down),
                cmocka_unit_test_setup_teardown(every_wait_ends, set_up, tear_down),
                cmocka_unit_test_setup_teardown(who_leaves_gives_the_place_away, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_template_goes_while_one_waits, set_up, tear_down),
                cmocka_unit_test_setup_teardown(more_room_by_a_reload, set_up, tear_down),
                cmocka_unit_test_setup_teardown(the_end_refuses_whoever_waits, set_up, tear_down),
                cmocka_unit_test_setup_teardown(owners_take_turns, set_up_owners, tear_down),
                cmocka_unit_test_setup_teardown(max_sandboxes_is_waited_for, set_up, tear_down),
                cmocka_unit_test_setup_teardown(nobody_comes_before_those_who_wait, set_up_owners, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
