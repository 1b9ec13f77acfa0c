/* SPDX-License-Identifier: Apache-2.0 */
/* Files that outlive a box, time that stands still, output that waits for its reader. */
#include "unit/domain/sandboxes/service_test.h"

#include <signal.h>

#include "domain/sandboxes/service_priv.h"

#define SPOOL_KEEP (256u * 1024)

static int setup_keep(void **state)
{
        struct test *t;

        setup(state);
        t = *state;
        fake_plan.can_keep = true;
        t->engine->caps = CAY_ENGINE_CAN_KEEP;
        restart(t); /* one that has looked at the engine's files */
        return 0;
}

static void stop_keeps_and_start_goes_on(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        assert_true(fake_engine_keeps(id));
        assert_false(look(t, id).kept); /* a matter of sandboxes at rest */
        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(change(t, stop, id), CAY_OK);
                assert_true(look(t, id).kept);
                assert_true(fake_engine_keeps(id));
                assert_int_equal(fake_engine_boxes(), 0);
                restart(t);
                assert_int_equal(look(t, id).state, CAY_STATE_STOPPED);
                assert_true(look(t, id).kept);
                assert_true(fake_engine_keeps(id));
                assert_int_equal(start(t, id), CAY_OK); /* the fake refuses to make another under this id */
        }
        assert_int_equal(change(t, destroy, id), CAY_OK);
        assert_false(fake_engine_keeps(id));
        create(t, id);
        assert_int_equal(change(t, stop, id), CAY_OK);
        assert_int_equal(change(t, destroy, id), CAY_OK); /* also of one that has no box */
        assert_false(fake_engine_keeps(id));
}

/*
 * The process that began the start has died, and its box is still being removed: another one would meet it.
 */
static void a_start_waits_for_what_the_last_one_left(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];
        struct call c;

        create(t, id);
        assert_int_equal(change(t, stop, id), CAY_OK);
        settle(t);
        t->store->hold = true;
        call_init(&c);
        cay_service_start(t->service, &me, id, NULL, &c.call);
        wait_for(t, fake_engine_boxes() == 1);
        cay_service_free(cay_take(t->service));
        fake_store_let_go(t->store);
        fake_plan.destroy_ms = 100;
        service_open(t);
        assert_int_equal(look(t, id).state, CAY_STATE_STOPPED);
        assert_int_equal(fake_engine_boxes(), 1);
        assert_int_equal(start(t, id), CAY_UNAVAILABLE);
        wait_for(t, fake_engine_boxes() == 0);
        settle(t);
        assert_int_equal(start(t, id), CAY_OK);
}

static void files_outlive_a_box_that_went_by_itself(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], away[CAY_NAME_MAX + 1];

        create(t, id);
        create(t, away);
        fake_engine_vanish(t->engine, id, true);
        wait_for(t, look(t, id).state == CAY_STATE_ERROR && look(t, id).busy_with[0] == '\0');
        assert_true(look(t, id).kept);
        assert_true(fake_engine_keeps(id));
        assert_int_equal(start(t, id), CAY_OK);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
        service_close(t);
        fake_engine_vanish(t->engine, away, false); /* a reboot */
        service_open(t);
        assert_int_equal(look(t, away).state, CAY_STATE_ERROR);
        assert_true(look(t, away).kept);
        assert_int_equal(start(t, away), CAY_OK);
}

static void files_that_are_gone_are_an_error_to_be_seen(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        assert_int_equal(change(t, stop, id), CAY_OK);
        fake_engine_lose_layer(id);
        assert_int_equal(start(t, id), CAY_CONFLICT);
        assert_int_equal(look(t, id).state, CAY_STATE_ERROR);
        assert_int_equal(look(t, id).cause, CAY_CAUSE_SANDBOX_GONE);
        assert_non_null(strstr(look(t, id).cause_text, "files are gone"));
        assert_false(look(t, id).kept);
        assert_string_equal(record(t, id)->state, "error");
        assert_int_equal(start(t, id), CAY_OK); /* anew, now that it has been said */
        assert_int_equal(change(t, stop, id), CAY_OK);
        service_close(t);
        fake_engine_lose_layer(id);
        service_open(t);
        assert_int_equal(look(t, id).state, CAY_STATE_ERROR);
        assert_false(look(t, id).kept);
        assert_int_equal(cay_service_report(t->service)->layers_lost, 1);
}

static void files_that_somebody_else_removes(void **state)
{
        struct test *t = *state;
        char rests[CAY_NAME_MAX + 1], ends[CAY_NAME_MAX + 1];

        create(t, rests);
        create(t, ends);
        assert_int_equal(change(t, stop, rests), CAY_OK);
        fake_engine_remove_layer(t->engine, rests);
        assert_int_equal(look(t, rests).state, CAY_STATE_ERROR);
        assert_false(look(t, rests).kept);
        t->store->hold = true; /* it is told once, here while the end of the box is being stored */
        fake_engine_vanish(t->engine, ends, true);
        wait_for(t, strcmp(look(t, ends).busy_with, "clean up") == 0);
        settle(t);
        fake_engine_remove_layer(t->engine, ends);
        fake_store_let_go(t->store);
        wait_for(t, look(t, ends).state == CAY_STATE_ERROR && look(t, ends).busy_with[0] == '\0');
        assert_false(look(t, ends).kept);
        restart(t);
        assert_false(look(t, ends).kept);
        assert_int_equal(start(t, ends), CAY_OK);
}

static void a_start_that_fails_leaves_the_files(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        assert_int_equal(change(t, stop, id), CAY_OK);
        fake_plan.create_fails = CAY_NO_SPACE;
        assert_int_equal(start(t, id), CAY_NO_SPACE);
        fake_plan.create_fails = CAY_OK;
        assert_int_equal(look(t, id).state, CAY_STATE_STOPPED);
        assert_int_equal(look(t, id).cause, CAY_CAUSE_KILLED); /* as it was */
        assert_true(look(t, id).kept);
        t->store->fail_with = CAY_NO_SPACE; /* the box is there, and its record cannot be had */
        t->store->fail_count = 1;
        assert_int_equal(start(t, id), CAY_NO_SPACE);
        assert_true(fake_engine_keeps(id));
        assert_int_equal(fake_engine_boxes(), 0);
        assert_int_equal(start(t, id), CAY_OK);
}

static void files_without_a_sandbox_are_removed(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        assert_int_equal(change(t, stop, id), CAY_OK);
        service_close(t);
        fake_engine_add_layer("nobodys");
        service_open(t);
        settle(t);
        assert_int_equal(cay_service_report(t->service)->layers_removed, 1);
        assert_false(fake_engine_keeps("nobodys"));
        assert_true(fake_engine_keeps(id));
}

/* A helper that died after a copy of files, and before its answer: the next one is asked what there is. */
static void files_that_a_dead_helper_left_are_removed(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], other[CAY_NAME_MAX + 1];

        create(t, id);
        assert_int_equal(change(t, stop, id), CAY_OK);
        create(t, other);
        fake_engine_add_layer("nobodys");
        cay_service_engine_back(t->service, "fake");
        settle(t);
        assert_false(fake_engine_keeps("nobodys"));
        assert_true(fake_engine_keeps(id));
        assert_true(fake_engine_keeps(other));
        assert_int_equal(look(t, other).state, CAY_STATE_READY);
        assert_int_equal(start(t, id), CAY_OK);
}

struct left {
        unsigned count;
        char id[CAY_NAME_MAX + 1];
};

static void on_left(void *ctx, const char *id, const char *engine, bool is_busy)
{
        struct left *l = ctx;

        assert_string_equal(engine, "fake");
        assert_false(is_busy);
        l->count++;
        snprintf(l->id, sizeof(l->id), "%s", id);
}

static struct left look_left(struct test *t)
{
        struct cay_service_health h = { 0 };
        struct left l = { 0 };

        cay_service_left(t->service, on_left, &l);
        cay_service_health(t->service, &h);
        assert_int_equal(h.files_unclaimed, l.count);
        return l;
}

static enum cay_code adopt_left(struct test *t, const char *id, const char *owner, const char *name)
{
        struct cay_sandbox_new what = plain();
        struct call c;

        what.owner = owner;
        what.name = name;
        call_init(&c);
        cay_service_adopt_left(t->service, id, &what, &c.call);
        wait_for(t, c.done);
        return c.call.job.err.code;
}

static enum cay_code remove_left(struct test *t, const char *id)
{
        struct call c;

        call_init(&c);
        cay_service_remove_left(t->service, id, &c.call);
        wait_for(t, c.done);
        return c.call.job.err.code;
}

/* The database was mended: what it does not know may be somebody's, until somebody has said whose. */
static void files_are_left_when_records_may_be_lost(void **state)
{
        struct test *t = *state;

        service_close(t);
        fake_engine_add_layer("whose");
        t->env.keeps_unowned = true;
        service_open(t);
        settle(t);
        assert_int_equal(cay_service_report(t->service)->layers_removed, 0);
        assert_int_equal(cay_service_report(t->service)->layers_left, 1);
        assert_true(fake_engine_keeps("whose"));
        assert_non_null(fake_store_find(t->store, CAY_STORE_EVENT, "files_unclaimed"));
        t->env.keeps_unowned = false; /* the damaged file is away, and still nobody has said whose they are */
        restart(t);
        settle(t);
        assert_true(fake_engine_keeps("whose"));
        assert_int_equal(look_left(t).count, 1);
        assert_int_equal(remove_left(t, "whose"), CAY_OK);
        assert_false(fake_engine_keeps("whose"));
        assert_int_equal(look_left(t).count, 0);
        assert_int_equal(remove_left(t, "whose"), CAY_NOT_FOUND);
        settle(t);
        service_close(t);
        fake_engine_add_layer("cut-off"); /* the store knows all again: this is a create that was cut off */
        service_open(t);
        settle(t);
        assert_false(fake_engine_keeps("cut-off"));
}

/* state.db was removed: another store, and everything else as it was. */
static void lose_store(struct test *t)
{
        fake_store_let_go(t->store);
        settle(t);
        fake_store_free(t->store);
        t->store = fake_store_new(t->loop);
        t->env.store = &t->store->store;
}

static void a_lost_database_loses_no_files(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], other[CAY_NAME_MAX + 1], runs[CAY_NAME_MAX + 1];
        struct cay_sandbox_view view;

        create(t, id);
        create(t, other);
        create(t, runs);
        assert_int_equal(change(t, stop, id), CAY_OK);
        assert_int_equal(change(t, stop, other), CAY_OK);
        service_close(t);
        lose_store(t);
        service_open(t);
        settle(t);
        wait_for(t, !fake_engine_has(t->engine, runs)); /* a box that nobody knows goes, its files stay */
        assert_int_equal(look_left(t).count, 3);
        restart(t); /* the store is not new any more, and knows no more than before */
        settle(t);
        assert_true(fake_engine_keeps(id) && fake_engine_keeps(other) && fake_engine_keeps(runs));
        assert_int_equal(adopt_left(t, "nobodys", "me", "back"), CAY_NOT_FOUND);
        assert_int_equal(adopt_left(t, id, "", "back"), CAY_INVALID);
        assert_int_equal(adopt_left(t, id, "me", "Not A Name"), CAY_INVALID);
        t->store->fail_with = CAY_NO_SPACE;
        t->store->fail_count = 1;
        assert_int_equal(adopt_left(t, id, "me", "back"), CAY_NO_SPACE);
        assert_int_equal(look_left(t).count, 3);
        assert_int_equal(adopt_left(t, id, "me", "back"), CAY_OK);
        assert_int_equal(adopt_left(t, other, "me", "back"), CAY_EXISTS);
        assert_int_equal(adopt_left(t, other, "me", NULL), CAY_OK);
        assert_int_equal(remove_left(t, runs), CAY_OK);
        restart(t);
        settle(t);
        assert_int_equal(look_left(t).count, 0);
        view = look(t, id);
        assert_string_equal(view.name, "back");
        assert_int_equal(view.state, CAY_STATE_STOPPED);
        assert_true(view.kept);
        assert_int_equal(start(t, id), CAY_OK); /* the fake refuses to make another under this id */
        assert_int_equal(start(t, other), CAY_OK);
        assert_false(fake_engine_keeps(runs));
}

/* A front that died between the box and the store. */
static void a_start_under_way_leaves_the_files(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];
        struct call c;

        create(t, id);
        assert_int_equal(change(t, stop, id), CAY_OK);
        call_init(&c);
        fake_plan.create_ms = 1;
        cay_service_start(t->service, &me, id, NULL, &c.call);
        service_close(t);
        for (unsigned i = 0; i < 50; i++)
                cay_loop_round(t->loop, 1);
        assert_true(fake_engine_has(t->engine, id));
        service_open(t);
        wait_for(t, !fake_engine_has(t->engine, id));
        assert_int_equal(look(t, id).state, CAY_STATE_STOPPED);
        assert_true(fake_engine_keeps(id));
        fake_plan.create_ms = 0;
        assert_int_equal(start(t, id), CAY_OK);
}

static void time_stands_still_in_a_pause(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "wait", NULL };
        struct cay_exec_new what = { .argv = argv, .timeout_ms = 60000 };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;

        create(t, id);
        assert_int_equal(try_exec(t, id, &what, &c), CAY_OK);
        t->store->now_ms += 20000;
        assert_int_equal(change(t, pause, id), CAY_OK);
        t->store->now_ms += 3600 * 1000;
        cay_service_tick(t->service);
        restart(t);
        t->store->now_ms += 3600 * 1000;
        cay_service_tick(t->service);
        settle(t);
        assert_int_equal(look_exec(t, id, c.call.id).deadline_in_ms,
                         40000);            /* it stands still, and is shown so */
        t->store->fail_with = CAY_NO_SPACE; /* a resume that comes to nothing changes nothing */
        t->store->fail_count = 1;
        assert_int_equal(change(t, resume, id), CAY_NO_SPACE);
        t->store->now_ms += 1000;
        assert_int_equal(change(t, resume, id), CAY_OK);
        assert_int_equal(look_exec(t, id, c.call.id).deadline_in_ms, 40000);
        restart(t); /* it was stored */
        assert_int_equal(look_exec(t, id, c.call.id).deadline_in_ms, 40000);
        t->store->now_ms += 39999;
        cay_service_tick(t->service);
        settle(t);
        assert_int_equal(look_exec(t, id, c.call.id).state, CAY_EXEC_RUNNING);
        t->store->now_ms += 1;
        cay_service_tick(t->service);
        assert_int_equal(wait_end(t, id, c.call.id).cause, CAY_CAUSE_WALL_TIME);
}

static void a_paused_sandbox_is_not_idle(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        struct call c;

        what.idle_ms = 10000;
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        assert_int_equal(change(t, pause, c.call.id), CAY_OK);
        t->store->now_ms += 100000;
        cay_service_tick(t->service);
        settle(t);
        assert_true(exists(t, c.call.id));
        assert_int_equal(change(t, resume, c.call.id), CAY_OK);
        t->store->now_ms += 9000;
        cay_service_tick(t->service);
        settle(t);
        assert_true(exists(t, c.call.id));
        t->store->now_ms += 1000;
        cay_service_tick(t->service);
        wait_for(t, !exists(t, c.call.id));
}

/* Nobody watches: what was printed before the restart waits for its reader, and what comes after it too. */
static void output_waits_for_whoever_comes_back(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct watcher w = { 0 };
        uint64_t from;

        t->env.spool_bytes = SPOOL_KEEP;
        restart(t);
        create(t, id);
        exec(t, id, x, "count", "5000000", NULL);
        assert_int_equal(watch(t, id, x, 0, true, &w), CAY_OK);
        while (w.len < 100000)
                cay_loop_round(t->loop, 1);
        from = w.w.at;
        check_pattern(&w, 0, w.len);
        watcher_done(&w);
        restart(t);
        for (unsigned i = 0; i < 300; i++)
                cay_loop_round(t->loop, 1);
        assert_int_equal(look_exec(t, id, x).state, CAY_EXEC_RUNNING); /* held */
        assert_int_equal(watch(t, id, x, from, true, &w), CAY_OK);
        wait_for(t, w.over);
        assert_int_equal(w.overtaken, 0);
        assert_int_equal(from + w.len, 5000000);
        check_pattern(&w, from, w.len);
        watcher_done(&w);
}

/* It ended well, but not everything in it did. */
static void memory_is_a_hint_of_what_ended_well(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        char x[CAY_NAME_MAX + 1];
        struct call c;

        what.limits.memory_bytes = 32u << 20; /* so small that even a quick one may have met it */
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        exec(t, c.call.id, x, "exit", "0", NULL);
        assert_int_equal(wait_end(t, c.call.id, x).hints, 0);
        fake_plan.stats.oom_kills = 1;
        exec(t, c.call.id, x, "exit", "0", NULL);
        assert_int_equal(wait_end(t, c.call.id, x).cause, CAY_CAUSE_EXITED);
        assert_int_equal(wait_end(t, c.call.id, x).hints, 1u << CAY_CAUSE_MEMORY);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_keep, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(stop_keeps_and_start_goes_on),
                TEST(files_outlive_a_box_that_went_by_itself),
                TEST(files_that_are_gone_are_an_error_to_be_seen),
                TEST(files_that_somebody_else_removes),
                TEST(a_start_that_fails_leaves_the_files),
                TEST(files_without_a_sandbox_are_removed),
                TEST(files_that_a_dead_helper_left_are_removed),
                TEST(files_are_left_when_records_may_be_lost),
                TEST(a_lost_database_loses_no_files),
                TEST(a_start_under_way_leaves_the_files),
                TEST(a_start_waits_for_what_the_last_one_left),
                TEST(time_stands_still_in_a_pause),
                TEST(a_paused_sandbox_is_not_idle),
                TEST(output_waits_for_whoever_comes_back),
                TEST(memory_is_a_hint_of_what_ended_well),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
