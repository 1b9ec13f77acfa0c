/* SPDX-License-Identifier: Apache-2.0 */
/* The journal: what happened is there, in order, for those who may see it; and watchers are told. */
#include "unit/domain/sandboxes/service_test.h"

struct asked {
        struct cay_store_query q;
};

static const struct cay_store_event *event(const struct cay_store_query *q, unsigned i)
{
        assert_true(i < q->count);
        return q->rows[i];
}

static void ask(struct test *t, const struct cay_viewer *v, const char *sandbox, uint64_t after,
                struct cay_store_query *q)
{
        *q = (struct cay_store_query){ .after = after };
        cay_job_init(&q->job, NULL);
        cay_service_events(t->service, v, sandbox, q);
        wait_for(t, q->job.done && !q->job.queued);
        assert_int_equal(q->job.err.code, CAY_OK);
}

static void a_life(void **state)
{
        static const char *const kinds[] = { "sandbox_created", "exec_started",     "exec_ended",
                                             "sandbox_paused",  "sandbox_resumed",  "sandbox_stopped",
                                             "sandbox_started", "sandbox_extended", "sandbox_destroyed" };
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], other[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_store_query q;
        struct call c;
        uint64_t last = 0;

        create(t, other);
        create(t, id);
        exec(t, id, x, "exit", "3", NULL);
        wait_end(t, id, x);
        assert_int_equal(change(t, pause, id), CAY_OK);
        assert_int_equal(change(t, resume, id), CAY_OK);
        assert_int_equal(change(t, stop, id), CAY_OK);
        assert_int_equal(start(t, id), CAY_OK);
        call_init(&c);
        cay_service_extend(t->service, &me, id,
                           &(struct cay_service_life){ .set_timeout = true, .timeout_ms = 1000 }, &c.call);
        assert_int_equal(call_wait(t, &c), CAY_OK);
        assert_int_equal(change(t, destroy, id), CAY_OK);
        ask(t, &me, id, 0, &q);
        assert_int_equal(q.count, CAY_COUNT(kinds));
        for (unsigned i = 0; i < q.count; i++) {
                assert_string_equal(event(&q, i)->kind, kinds[i]);
                assert_string_equal(event(&q, i)->owner, "me");
                assert_true(event(&q, i)->seq > last);
                last = event(&q, i)->seq;
        }
        assert_non_null(strstr(event(&q, 2)->detail, "\"exit_code\":\"3\""));
        assert_non_null(strstr(event(&q, 8)->detail, "\"why\":\"asked\""));
        cay_store_query_done(&q);
        ask(t, &me, NULL, last - 1, &q);
        assert_int_equal(q.count, 1);
        cay_store_query_done(&q);
        ask(t, &you, id, 0, &q);
        assert_int_equal(q.count, 0);
        cay_store_query_done(&q);
        ask(t, &root, "", 0, &q);
        assert_int_equal(q.count, CAY_COUNT(kinds) + 1);
        cay_store_query_done(&q);
}

static unsigned count(struct test *t, const char *id, const char *kind)
{
        struct cay_store_query q;
        unsigned found = 0;

        ask(t, &me, id, 0, &q);
        for (unsigned i = 0; i < q.count; i++)
                found += strcmp(event(&q, i)->kind, kind) == 0;
        cay_store_query_done(&q);
        return found;
}

static void a_start_is_told_when_init_says_so(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "wait", NULL };
        struct cay_exec_new what = { .argv = argv };
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct exec_call c;

        create(t, id);
        stop_pings(t);
        fake_plan.script.end_code = CAY_LIMIT; /* stored, then refused by init: it never ran */
        assert_int_equal(try_exec(t, id, &what, &c), CAY_LIMIT);
        settle(t);
        assert_int_equal(count(t, id, "exec_started"), 0);
        fake_plan.script.end_code = CAY_OK;
        fake_plan.script.mute = true; /* stored, and init says nothing */
        exec_begin(t, id, &what, &c);
        wait_for(t, fake_store_find(t->store, CAY_STORE_EXEC, c.call.id) != NULL);
        settle(t);
        assert_int_equal(count(t, id, "exec_started"), 0);
        restart(t); /* nor does an adoption know that it runs */
        assert_int_equal(count(t, id, "exec_started"), 0);
        fake_plan.script.mute = false;
        create(t, id);
        exec(t, id, x, "wait", NULL);
        settle(t);
        assert_int_equal(count(t, id, "exec_started"), 1);
        restart(t);
        settle(t);
        assert_int_equal(count(t, id, "exec_started"), 1); /* the record says that it was told */
}

/*
 * A process that dies between the record and the event leaves that to the next, which hears from init that it
 * runs.
 */
static void a_start_is_told_by_the_next_process(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "wait", NULL };
        struct cay_exec_new what = { .argv = argv };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;

        create(t, id);
        settle(t);
        t->store->hold = true;
        exec_begin(t, id, &what, &c);
        settle(t);
        cay_service_free(cay_take(t->service)); /* the record is stored; nobody knew it yet */
        fake_store_let_go(t->store);
        settle(t);
        service_open(t);
        wait_for(t, look_exec(t, id, c.call.id).state == CAY_EXEC_RUNNING);
        settle(t);
        assert_int_equal(count(t, id, "exec_started"), 1);
}

static void a_start_and_an_end_in_one_moment(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "exit", "0", NULL };
        struct cay_exec_new what = { .argv = argv };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;

        create(t, id);
        settle(t);
        t->store->hold = true; /* it ends before its record is known to be stored */
        exec_begin(t, id, &what, &c);
        settle(t);
        fake_store_let_go(t->store);
        wait_for(t, c.done);
        wait_end(t, id, c.call.id);
        assert_int_equal(count(t, id, "exec_started"), 1);
        assert_int_equal(count(t, id, "exec_ended"), 1);
        /* The batch that tells both fails, and is tried again, whole. */
        t->store->hold = true;
        exec_begin(t, id, &what, &c);
        settle(t);
        t->store->fail_with = CAY_NO_SPACE;
        t->store->fail_count = 1;
        fake_store_let_go(t->store);
        wait_for(t, c.done);
        wait_end(t, id, c.call.id);
        cay_service_tick(t->service);
        wait_for(t, count(t, id, "exec_ended") == 2);
        assert_int_equal(count(t, id, "exec_started"), 2);
}

static void a_stop_is_told_when_the_box_is_gone(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];
        struct call c;

        create(t, id);
        fake_plan.destroy_fails = CAY_INTERNAL;
        assert_int_not_equal(change(t, stop, id), CAY_OK);
        settle(t);
        assert_int_equal(count(t, id, "sandbox_stopped"), 0);
        assert_int_equal(count(t, id, "sandbox_error"), 1);
        fake_plan.destroy_fails = CAY_OK;
        assert_int_equal(change(t, stop, id), CAY_OK);
        assert_int_equal(count(t, id, "sandbox_stopped"), 1);
        restart(t);
        settle(t);
        assert_int_equal(count(t, id, "sandbox_stopped"), 1);
        /* A stop that was stored, and whose box the next process removes. */
        assert_int_equal(start(t, id), CAY_OK);
        settle(t);
        t->store->hold = true;
        call_init(&c);
        cay_service_stop(t->service, &me, id, &c.call);
        cay_service_free(cay_take(t->service));
        fake_store_let_go(t->store);
        settle(t);
        fake_plan.destroy_fails = CAY_INTERNAL;
        service_open(t);
        settle(t);
        assert_int_equal(count(t, id, "sandbox_stopped"), 1); /* nobody can say that its box is gone */
        fake_plan.destroy_fails = CAY_OK;
        restart(t);
        settle(t);
        assert_int_equal(fake_engine_boxes(), 0);
        assert_int_equal(count(t, id, "sandbox_stopped"), 2);
        restart(t);
        settle(t);
        assert_int_equal(count(t, id, "sandbox_stopped"), 2);
}

/* The box went, and the process before the event was stored. */
static void a_stop_that_was_done_and_not_told(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];
        struct call c;

        create(t, id);
        settle(t);
        t->store->fail_with = CAY_NO_SPACE;
        call_init(&c);
        cay_service_stop(t->service, &me, id, &c.call);
        wait_for(t, strcmp(record(t, id)->state, "stopped") == 0);
        t->store->fail_count = 1000; /* the journal is not written */
        wait_for(t, c.done);
        assert_int_equal(c.call.job.err.code, CAY_OK);
        service_close(t);
        t->store->fail_count = 0;
        assert_null(fake_store_find(t->store, CAY_STORE_EVENT, "sandbox_stopped"));
        service_open(t);
        settle(t);
        assert_int_equal(fake_engine_boxes(), 0);
        assert_int_equal(count(t, id, "sandbox_stopped"), 1);
}

struct teller {
        struct cay_event_watch w;
        unsigned told;
        struct teller *takes; /* another that it takes away when it is told */
};

static void on_event(struct cay_event_watch *w)
{
        struct teller *me_ = cay_container_of(w, struct teller, w);

        me_->told++;
        if (me_->takes != NULL)
                cay_service_unwatch_events(&me_->takes->w);
}

static void watchers(void **state)
{
        struct test *t = *state;
        struct teller mine = { .w.on_event = on_event }, yours = mine, all = mine, one = mine, gone = mine;
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        cay_service_watch_events(t->service, &me, NULL, &mine.w);
        cay_service_watch_events(t->service, &you, NULL, &yours.w);
        cay_service_watch_events(t->service, &root, "", &all.w);
        cay_service_watch_events(t->service, &me, id, &one.w);
        assert_int_equal(cay_service_event_watches(t->service, me.owner), 2);
        assert_int_equal(cay_service_event_watches(t->service, you.owner), 1);
        assert_int_equal(cay_service_event_watches(t->service, "nobody"), 0);
        cay_service_watch_events(t->service, &me, NULL, &gone.w);
        assert_int_equal(change(t, pause, id), CAY_OK);
        settle(t);
        assert_int_equal(mine.told, 1);
        assert_int_equal(yours.told, 0);
        assert_int_equal(all.told, 1);
        assert_int_equal(one.told, 1);
        create(t, id);
        settle(t);
        assert_int_equal(mine.told, 2);
        assert_int_equal(one.told, 1);
        assert_int_equal(gone.told, 2);
        gone.takes = &gone; /* and itself */
        create(t, id);
        settle(t);
        assert_int_equal(gone.told, 3);
        create(t, id);
        settle(t);
        assert_int_equal(gone.told, 3);
        cay_service_unwatch_events(&mine.w);
        cay_service_unwatch_events(&mine.w);
        t->store->fail_with = CAY_NO_SPACE;
        t->store->fail_count = 1;
        assert_int_equal(change(t, pause, id), CAY_NO_SPACE); /* what is not stored did not happen */
        settle(t);
        assert_int_equal(all.told, 4);
        service_close(t); /* those that are left are let go */
        cay_service_unwatch_events(&all.w);
        service_open(t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                TEST(a_life),
                TEST(a_start_is_told_when_init_says_so),
                TEST(a_start_is_told_by_the_next_process),
                TEST(a_start_and_an_end_in_one_moment),
                TEST(a_stop_is_told_when_the_box_is_gone),
                TEST(a_stop_that_was_done_and_not_told),
                TEST(watchers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
