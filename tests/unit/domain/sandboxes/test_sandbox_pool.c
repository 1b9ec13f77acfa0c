/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes from boxes that were made ahead. */
#include "domain/sandboxes/service_priv.h"
#include "unit/domain/sandboxes/service_test.h"

static int setup_pool(void **state)
{
        struct test *t;

        if (setup(state) != 0)
                return -1;
        t = *state;
        t->engine->caps |= CAY_ENGINE_CAN_POOL;
        t->env.pool_bytes = 8 * CAY_POOL_BOX_BYTES;
        restart(t);
        return 0;
}

/* The service leaves waiting boxes to the next process. */
static int teardown_pool(void **state)
{
        struct test *t = *state;

        t->env.pool_bytes = 0;
        restart(t);
        wait_for(t, cay_service_is_ready(t->service));
        settle(t);
        return teardown(state);
}

static struct cay_pool_figures figures(struct test *t)
{
        struct cay_service_health h;

        cay_service_health(t->service, &h);
        return h.pool;
}

static struct cay_sandbox_new pooled(unsigned want)
{
        struct cay_sandbox_new what = plain();

        what.pool = want;
        return what;
}

static void make(struct test *t, const struct cay_sandbox_new *what, char id[CAY_NAME_MAX + 1])
{
        struct call c;

        if (try_create(t, what, &c) != CAY_OK)
                fail_msg("create: %s", c.call.job.err.msg);
        memcpy(id, c.call.id, CAY_NAME_MAX + 1);
}

static void remove_it(struct test *t, const char *id)
{
        assert_int_equal(change(t, destroy, id), CAY_OK);
}

static void a_claim(void **state)
{
        struct test *t = *state;
        struct cay_field_pair label = { "a", "b" };
        struct cay_sandbox_new what = pooled(2);
        char first[CAY_NAME_MAX + 1], id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        unsigned creates;

        make(t, &what, first);
        assert_int_equal(figures(t).missed, 1);
        wait_for(t, figures(t).ready == 2);
        assert_int_equal(fake_store_count(t->store, CAY_STORE_SANDBOX), 1); /* they have no record */
        assert_int_equal(look(t, first).state, CAY_STATE_READY);
        creates = fake_engine_creates();
        what.name = "mine";
        what.labels = (struct cay_field_map){ &label, 1 };
        make(t, &what, id);
        assert_int_equal(figures(t).claimed, 1);
        assert_int_equal(fake_engine_creates(), creates);
        assert_true(fake_engine_has(t->engine, id));
        assert_string_equal(look(t, id).name, "mine");
        assert_int_equal(look(t, id).labels.count, 1);
        assert_int_equal(fake_store_count(t->store, CAY_STORE_SANDBOX), 2);
        exec(t, id, x, "exit", "3", NULL);
        assert_int_equal(wait_end(t, id, x).exit_code, 3);
        wait_for(t, figures(t).ready == 2); /* filled again */
        remove_it(t, first);
        remove_it(t, id);
        assert_false(fake_engine_has(t->engine, id));
}

static void other_shapes_are_made_cold(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = pooled(1);
        char id[4][CAY_NAME_MAX + 1];

        make(t, &what, id[0]);
        wait_for(t, figures(t).ready == 1);
        what.limits.pids++;
        make(t, &what, id[1]);
        what = pooled(1);
        what.brief = true;
        make(t, &what, id[2]);
        what = pooled(1);
        what.has_workspace = true;
        what.folder = (struct cay_folder){ .fd = t->dir_fd };
        make(t, &what, id[3]);
        assert_int_equal(figures(t).claimed, 0);
        for (unsigned i = 0; i < 4; i++)
                remove_it(t, id[i]);
}

/* Every sandbox has an id and a secret of its own, whoever has it. */
static void two_owners(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = pooled(2);
        char first[CAY_NAME_MAX + 1], a[CAY_NAME_MAX + 1], b[CAY_NAME_MAX + 1];
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };
        struct call c;

        make(t, &what, first);
        wait_for(t, figures(t).ready == 2);
        make(t, &what, a);
        what.owner = "you";
        make(t, &what, b);
        assert_int_equal(figures(t).claimed, 2);
        assert_string_not_equal(a, b);
        assert_memory_not_equal(cay_table_find(t->service, a)->secret, cay_table_find(t->service, b)->secret,
                                CAY_STORE_SECRET);
        assert_int_equal(cay_service_get(t->service, &me, b, &view, &err), -1);
        assert_int_equal(cay_service_get(t->service, &you, b, &view, &err), 0);
        remove_it(t, first);
        remove_it(t, a);
        call_init(&c);
        cay_service_destroy(t->service, &you, b, &c.call);
        assert_int_equal(call_wait(t, &c), CAY_OK);
}

static const char *waiting(struct test *t)
{
        for (unsigned i = 0; i < t->service->pool.most; i++)
                if (t->service->pool.boxes[i].state == CAY_POOL_READY)
                        return t->service->pool.boxes[i].id;
        fail_msg("none waits");
        return NULL;
}

/* Noticed when the engine says so; and at the claim, if it did not. */
static void dead_ones_are_not_handed_out(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = pooled(1);
        char first[CAY_NAME_MAX + 1], id[CAY_NAME_MAX + 1], dead[CAY_NAME_MAX + 1];

        make(t, &what, first);
        for (unsigned told = 0; told < 2; told++) {
                wait_for(t, figures(t).ready == 1);
                snprintf(dead, sizeof(dead), "%s", waiting(t));
                fake_engine_vanish(t->engine, dead, told == 1);
                make(t, &what, id);
                assert_string_not_equal(id, dead);
                assert_int_equal(look(t, id).state, CAY_STATE_READY);
                remove_it(t, id);
        }
        remove_it(t, first);
}

static void a_restart_removes_them(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = pooled(3);
        char id[CAY_NAME_MAX + 1];

        make(t, &what, id);
        wait_for(t, figures(t).ready == 3);
        assert_int_equal(fake_engine_boxes(), 4);
        t->env.pool_bytes = 0; /* off: what was made ahead goes, and no more is made */
        restart(t);
        wait_for(t, fake_engine_boxes() == 1);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
        what.name = "second";
        make(t, &what, (char[CAY_NAME_MAX + 1]){ 0 });
        settle(t);
        assert_int_equal(fake_engine_boxes(), 2);
        remove_it(t, id);
        remove_it(t, "second");
}

/* A claim that was used before: its box was taken for nothing, and goes. */
static void a_refused_create_leaves_none(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = pooled(1);
        char id[CAY_NAME_MAX + 1];
        struct call c;

        what.claim = "once";
        make(t, &what, id);
        wait_for(t, figures(t).ready == 1);
        assert_int_equal(try_create(t, &what, &c), CAY_EXISTS);
        assert_string_equal(c.call.first, id);
        wait_for(t, figures(t).ready == 1 && fake_engine_boxes() == 2);
        remove_it(t, id);
}

static void a_box_that_cannot_be_made(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = pooled(1);
        char id[CAY_NAME_MAX + 1];

        make(t, &what, id);
        fake_plan.create_fails = CAY_INTERNAL;
        wait_for(t, figures(t).failed > 0);
        fake_plan.create_fails = CAY_OK;
        assert_int_equal(figures(t).ready, 0);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
        remove_it(t, id);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_pool, teardown_pool)
                TEST(a_claim),
                TEST(other_shapes_are_made_cold),
                TEST(two_owners),
                TEST(dead_ones_are_not_handed_out),
                TEST(a_restart_removes_them),
                TEST(a_refused_create_leaves_none),
                TEST(a_box_that_cannot_be_made),
#undef TEST
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
