/* SPDX-License-Identifier: Apache-2.0 */
/* Two engines beside each other, one of them away for a while, and names that lead nowhere. */
#include "unit/domain/sandboxes/service_test.h"

static struct cay_loop *loop;
static struct cay_engine *other; /* the second one: the same fake under another name, with boxes of its own */

static int setup_two(void **state)
{
        struct cay_engine_env env = { 0 };
        struct cay_error err = { 0 };
        struct test *t;

        if (setup(state) < 0)
                return -1;
        t = *state;
        env.loop = loop = t->loop;
        if (cay_engine_fake_ops.open(&env, &other, &err) < 0)
                return -1;
        service_close(t);
        t->env.engines[1] = (struct cay_service_engine){ "other", other, "the settings ask for it" };
        t->env.engines[2] = (struct cay_service_engine){ "third", NULL, "this machine has no third arm" };
        t->env.engine_count = 3;
        service_open(t);
        return 0;
}

static int teardown_two(void **state)
{
        struct test *t = *state;

        service_close(t);
        cay_engine_fake_ops.close(other);
        settle(t);
        return teardown(state);
}

static enum cay_code create_on(struct test *t, const char *engine, struct call *c)
{
        struct cay_sandbox_new what = plain();

        what.engine = engine;
        return try_create(t, &what, c);
}

static void must_create_on(struct test *t, const char *engine, char id[CAY_NAME_MAX + 1])
{
        struct call c;

        if (create_on(t, engine, &c) != CAY_OK)
                fail_msg("create: %s", c.call.job.err.msg);
        memcpy(id, c.call.id, CAY_NAME_MAX + 1);
}

/* The second engine goes, with its boxes alive, and comes again. */
static void restart_without(struct test *t, bool known)
{
        service_close(t);
        t->env.engines[1] = (struct cay_service_engine){ "other", NULL, "it was not asked for" };
        t->env.engine_count = known ? 3 : 1;
        service_open(t);
}

static void restart_with(struct test *t)
{
        service_close(t);
        t->env.engines[1] = (struct cay_service_engine){ "other", other, "" };
        t->env.engine_count = 3;
        service_open(t);
}

static void each_makes_its_own(void **state)
{
        struct test *t = *state;
        char a[CAY_NAME_MAX + 1], b[CAY_NAME_MAX + 1], c[CAY_NAME_MAX + 1];

        must_create_on(t, NULL, a);
        must_create_on(t, "other", b);
        must_create_on(t, "auto", c);
        assert_string_equal(look(t, a).engine, "fake");
        assert_string_equal(look(t, b).engine, "other");
        assert_string_equal(look(t, c).engine, "fake");
        assert_true(fake_engine_has(t->engine, a) && !fake_engine_has(other, a));
        assert_true(fake_engine_has(other, b) && !fake_engine_has(t->engine, b));
        assert_string_equal(record(t, b)->engine, "other");
        assert_int_equal(change(t, pause, b), CAY_OK);
        assert_true(fake_engine_is_frozen(other, b));
        assert_int_equal(change(t, resume, b), CAY_OK);
        assert_int_equal(change(t, stop, b), CAY_OK);
        assert_false(fake_engine_has(other, b));
        assert_int_equal(start(t, b), CAY_OK);
        assert_true(fake_engine_has(other, b));
        assert_int_equal(change(t, destroy, b), CAY_OK);
        assert_false(fake_engine_has(other, b));
        assert_true(fake_engine_has(t->engine, a));
}

static void names_that_lead_nowhere(void **state)
{
        struct test *t = *state;
        unsigned before = fake_engine_creates();
        struct call c;

        assert_int_equal(create_on(t, "otter", &c), CAY_INVALID);
        assert_non_null(strstr(c.call.job.err.msg, "auto, fake, other, third"));
        assert_int_equal(create_on(t, "third", &c), CAY_CONFLICT);
        assert_non_null(strstr(c.call.job.err.msg, "this machine has no third arm"));
        assert_int_equal(fake_engine_creates(), before);
}

static void what_there_is(void **state)
{
        struct test *t = *state;
        struct cay_engine_view e;
        struct cay_error err = { 0 };
        char id[CAY_NAME_MAX + 1];

        must_create_on(t, "other", id);
        assert_true(cay_service_engine_at(t->service, 0, &e));
        assert_true(e.is_there && e.is_default && e.up && e.isolates && e.pauses && e.alive == 0);
        assert_true(cay_service_engine_at(t->service, 1, &e));
        assert_true(e.is_there && !e.is_default && e.up && e.alive == 1);
        assert_string_equal(e.note, "the settings ask for it");
        assert_true(cay_service_engine_at(t->service, 2, &e));
        assert_true(!e.is_there && !e.up);
        assert_false(cay_service_engine_at(t->service, 3, &e));
        assert_int_equal(cay_service_engine_choose(t->service, NULL, &e, &err), 0);
        assert_string_equal(e.name, "fake");
        assert_int_equal(cay_service_engine_choose(t->service, "third", &e, &err), -1);
        assert_int_equal(err.code, CAY_CONFLICT);
}

static void one_that_is_down_is_alone_in_it(void **state)
{
        struct test *t = *state;
        struct cay_service_health health;
        struct cay_engine_view e;
        char id[CAY_NAME_MAX + 1];
        struct call c;

        stop_pings(t); /* an answer to one says that the engine is up */
        must_create_on(t, NULL, id);
        fake_plan.create_fails = CAY_UNAVAILABLE;
        assert_int_equal(create_on(t, "other", &c), CAY_UNAVAILABLE);
        cay_service_health(t->service, &health);
        assert_true(health.engine_up);
        assert_true(cay_service_engine_at(t->service, 1, &e));
        assert_false(e.up);
        assert_true(e.why[0] != '\0');
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
        fake_plan.create_fails = CAY_OK;
        must_create_on(t, "other", id);
        assert_true(cay_service_engine_at(t->service, 1, &e));
        assert_true(e.up);
}

static void each_is_adopted_from_its_own(void **state)
{
        struct test *t = *state;
        char a[CAY_NAME_MAX + 1], b[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1], y[CAY_NAME_MAX + 1];

        must_create_on(t, NULL, a);
        must_create_on(t, "other", b);
        exec(t, a, x, "wait", NULL);
        exec(t, b, y, "wait", NULL);
        restart(t);
        assert_int_equal(cay_service_report(t->service)->adopted, 2);
        assert_int_equal(cay_service_report(t->service)->removed, 0);
        assert_int_equal(look(t, a).state, CAY_STATE_BUSY);
        assert_int_equal(look(t, b).state, CAY_STATE_BUSY);
        assert_string_equal(look(t, b).engine, "other");
}

static bool other_is_down;

static int other_health(struct cay_engine *e, struct cay_error *err)
{
        return other_is_down ? cay_fail(err, CAY_UNAVAILABLE, "it is away") : 0;
}

static void other_relink(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        struct cay_error err = { 0 };

        if (!other_is_down) {
                cay_engine_fake_ops.relink(e, box, job);
                return;
        }
        cay_fail(&err, CAY_UNAVAILABLE, "it is away");
        cay_job_finish(cay_loop_jobs(loop), job, &err);
}

/* The start waits for those that answer, and only for them. */
static void one_that_is_down_at_the_start(void **state)
{
        struct test *t = *state;
        struct cay_engine_ops ops = cay_engine_fake_ops;
        char a[CAY_NAME_MAX + 1], b[CAY_NAME_MAX + 1], p[CAY_NAME_MAX + 1];

        ops.health = other_health;
        ops.relink = other_relink;
        other->ops = &ops;
        must_create_on(t, NULL, a);
        must_create_on(t, "other", b);
        must_create_on(t, "other", p);
        assert_int_equal(change(t, pause, p), CAY_OK);
        other_is_down = true;
        restart(t);
        assert_int_equal(cay_service_report(t->service)->adopted, 3);
        assert_int_equal(look(t, a).state, CAY_STATE_READY);
        assert_int_equal(look(t, b).state, CAY_STATE_ERROR);
        assert_int_equal(look(t, b).cause, CAY_CAUSE_ENGINE_LOST);
        assert_string_equal(look(t, b).cause_text, "it is away");
        assert_int_equal(look(t, p).state, CAY_STATE_PAUSED);
        other_is_down = false;
        wait_for(t, look(t, b).state == CAY_STATE_READY);
        assert_int_equal(change(t, resume, p), CAY_OK);
        wait_for(t, look(t, p).linked);
        other->ops = &cay_engine_fake_ops;
}

static void check_refused(struct test *t, const char *id)
{
        const char *argv[] = { "wait", NULL };
        struct cay_exec_new what = { .argv = argv };
        struct exec_call x;

        assert_int_equal(try_exec(t, id, &what, &x), CAY_UNAVAILABLE);
        assert_non_null(strstr(x.call.job.err.msg, "not available"));
        assert_int_equal(change(t, stop, id), CAY_UNAVAILABLE);
        assert_int_equal(start(t, id), CAY_UNAVAILABLE);
        assert_int_equal(change(t, pause, id), CAY_UNAVAILABLE);
        assert_int_equal(change(t, resume, id), CAY_UNAVAILABLE);
        assert_int_equal(change(t, destroy, id), CAY_UNAVAILABLE);
        assert_true(exists(t, id));
}

static void away_and_back(struct test *t, bool known)
{
        char a[CAY_NAME_MAX + 1], b[CAY_NAME_MAX + 1], p[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_sandbox_view view;

        must_create_on(t, NULL, a);
        must_create_on(t, "other", b);
        must_create_on(t, "other", p);
        exec(t, b, x, "wait", NULL);
        assert_int_equal(change(t, pause, p), CAY_OK);
        restart_without(t, known);
        assert_int_equal(cay_service_report(t->service)->away, 2);
        assert_int_equal(cay_service_report(t->service)->adopted, 1);
        assert_int_equal(look(t, a).state, CAY_STATE_READY);
        view = look(t, b);
        assert_int_equal(view.state, CAY_STATE_ERROR);
        assert_int_equal(view.cause, CAY_CAUSE_ENGINE_LOST);
        assert_non_null(strstr(view.cause_text, "its engine is not available: other"));
        assert_non_null(strstr(view.cause_text, known ? "it was not asked for" : "does not know it"));
        assert_string_equal(view.engine, "other");
        assert_string_equal(record(t, b)->state, "busy");
        check_refused(t, b);
        assert_int_equal(look_exec(t, b, x).state, CAY_EXEC_RUNNING);
        assert_true(fake_engine_has(other, b));
        restart_with(t);
        assert_int_equal(cay_service_report(t->service)->adopted, 3);
        assert_int_equal(look(t, b).state, CAY_STATE_BUSY);
        assert_int_equal(look(t, p).state, CAY_STATE_PAUSED);
        assert_int_equal(look_exec(t, b, x).state, CAY_EXEC_RUNNING);
        assert_int_equal(change(t, resume, p), CAY_OK);
        assert_int_equal(change(t, destroy, b), CAY_OK);
}

static void one_that_is_away_comes_back_as_it_was(void **state)
{
        away_and_back(*state, true);
}

static void one_that_nobody_knows_too(void **state)
{
        away_and_back(*state, false);
}

/* What the store is told of it meanwhile is not how it looks; and nobody ends what nobody can end. */
static void time_goes_on_while_it_is_away(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        struct cay_engine_view e;
        struct call c, extend;

        what.engine = "other";
        what.timeout_ms = 1000;
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        restart_without(t, true);
        t->store->now_ms += 5000;
        cay_service_tick(t->service);
        settle(t);
        assert_true(exists(t, c.call.id));
        assert_true(fake_engine_has(other, c.call.id));
        call_init(&extend);
        cay_service_extend(t->service, &me, c.call.id,
                           &(struct cay_service_life){ .set_timeout = true, .timeout_ms = 60000 },
                           &extend.call);
        assert_int_equal(call_wait(t, &extend), CAY_OK);
        assert_string_equal(record(t, c.call.id)->state, "ready");
        assert_true(cay_service_engine_at(t->service, 1, &e));
        assert_false(e.is_there);
        restart_with(t);
        assert_int_equal(look(t, c.call.id).state, CAY_STATE_READY);
        t->store->now_ms += 120000;
        cay_service_tick(t->service);
        wait_for(t, !exists(t, c.call.id));
        assert_false(fake_engine_has(other, c.call.id));
}

static void one_at_rest_waits_too(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];

        must_create_on(t, "other", id);
        assert_int_equal(change(t, stop, id), CAY_OK);
        restart_without(t, true);
        assert_int_equal(look(t, id).state, CAY_STATE_STOPPED);
        assert_int_equal(start(t, id), CAY_UNAVAILABLE);
        restart_with(t);
        assert_int_equal(start(t, id), CAY_OK);
        assert_int_equal(change(t, stop, id), CAY_OK);
        restart_without(t, true);
        assert_int_equal(change(t, destroy, id),
                         CAY_OK); /* it has nothing that anybody would have to remove */
        assert_false(exists(t, id));
}

/* As a helper would that was taken over: it has a box by a name that belongs to a sandbox of the other. */
static void add_false_box(struct test *t, const char *id)
{
        struct cay_spec spec = { .rootfs_fd = -1, .workspace_fd = -1 };
        struct cay_engine_box box = { .link_fd = -1 };
        struct cay_job job;

        snprintf(spec.id, sizeof(spec.id), "%s", id);
        cay_job_init(&job, NULL);
        other->ops->create(other, &spec, &box, &job);
        settle(t);
        assert_int_equal(job.err.code, CAY_OK);
        close(box.link_fd);
}

static void nobody_speaks_for_the_other(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];

        must_create_on(t, NULL, id);
        add_false_box(t, id);
        fake_engine_vanish(other, id, true);
        settle(t);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
        assert_true(look(t, id).linked);
        add_false_box(t, id);
        restart(t);
        settle(t);
        assert_int_equal(cay_service_report(t->service)->removed, 1);
        assert_false(fake_engine_has(other, id));
        assert_true(fake_engine_has(t->engine, id));
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
}

static void what_is_away_takes_no_place(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];
        struct call c;

        t->env.max_alive = 1;
        restart(t);
        must_create_on(t, "other", id);
        assert_int_equal(create_on(t, NULL, &c), CAY_LIMIT);
        restart_without(t, true);
        must_create_on(t, NULL, id);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(each_makes_its_own, setup_two, teardown_two),
                cmocka_unit_test_setup_teardown(names_that_lead_nowhere, setup_two, teardown_two),
                cmocka_unit_test_setup_teardown(what_there_is, setup_two, teardown_two),
                cmocka_unit_test_setup_teardown(one_that_is_down_is_alone_in_it, setup_two, teardown_two),
                cmocka_unit_test_setup_teardown(one_that_is_down_at_the_start, setup_two, teardown_two),
                cmocka_unit_test_setup_teardown(each_is_adopted_from_its_own, setup_two, teardown_two),
                cmocka_unit_test_setup_teardown(one_that_is_away_comes_back_as_it_was, setup_two,
                                                teardown_two),
                cmocka_unit_test_setup_teardown(one_that_nobody_knows_too, setup_two, teardown_two),
                cmocka_unit_test_setup_teardown(time_goes_on_while_it_is_away, setup_two, teardown_two),
                cmocka_unit_test_setup_teardown(one_at_rest_waits_too, setup_two, teardown_two),
                cmocka_unit_test_setup_teardown(nobody_speaks_for_the_other, setup_two, teardown_two),
                cmocka_unit_test_setup_teardown(what_is_away_takes_no_place, setup_two, teardown_two),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
