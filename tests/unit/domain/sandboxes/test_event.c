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
        cay_service_extend(t->service, &me, id, 1000, false, 0, &c.call);
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
                TEST(watchers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
