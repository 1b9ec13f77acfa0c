/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short commands that somebody waits for: one commit stores their start and their end, and nobody is told
 * before it.
 */
#include "domain/sandboxes/service_priv.h"
#include "unit/domain/sandboxes/service_test.h"

static const char *const exit_argv[] = { "exit", "3", NULL };
static const char *const wait_argv[] = { "wait", NULL };

static unsigned events_of(const struct test *t)
{
        return fake_store_count(t->store, CAY_STORE_EVENT);
}

static void on_nothing(struct cay_job *job)
{
}

static void one_commit(void **state)
{
        struct test *t = *state;
        struct cay_exec_new what = { .argv = exit_argv, .waits = true };
        char id[CAY_NAME_MAX + 1];
        const struct cay_store_exec *record;
        unsigned commits, events;
        struct exec_call c;

        create(t, id);
        settle(t);
        commits = t->store->commits;
        events = events_of(t);
        assert_int_equal(try_exec(t, id, &what, &c), CAY_OK);
        assert_int_equal(t->store->commits, commits + 1);
        assert_int_equal(events_of(t), events + 2); /* exec_started, exec_ended */
        assert_int_equal(look_exec(t, id, c.call.id).state, CAY_EXEC_ENDED);
        assert_int_equal(look_exec(t, id, c.call.id).exit_code, 3);
        record = fake_store_find(t->store, CAY_STORE_EXEC, c.call.id);
        assert_non_null(record);
        assert_string_equal(record->state, "ended");
        assert_int_equal(record->exit_code, 3);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
}

/* As before: the claim must be stored before it may be repeated; others are told when it runs. */
static void not_all_are_quick(void **state)
{
        struct test *t = *state;
        const struct cay_exec_new kinds[] = {
                { .argv = exit_argv },
                { .argv = exit_argv, .waits = true, .claim = "once" },
                { .argv = exit_argv, .waits = true, .background = true },
        };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;
        unsigned commits;

        create(t, id);
        for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
                settle(t);
                commits = t->store->commits;
                assert_int_equal(try_exec(t, id, &kinds[i], &c), CAY_OK);
                wait_end(t, id, c.call.id);
                assert_true(t->store->commits >= commits + 2);
        }
}

/* Input that is given with it, before the box has answered. */
static void input_at_once(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "cat", NULL };
        struct cay_exec_new what = { .argv = argv, .waits = true, .has_stdin = true };
        struct cay_exec_input in = { .bytes = "abc", .len = 3, .eof = true };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;
        unsigned commits;

        create(t, id);
        settle(t);
        commits = t->store->commits;
        exec_begin(t, id, &what, &c);
        cay_job_init(&in.job, on_nothing);
        cay_service_exec_input(t->service, &me, id, c.call.id, &in);
        wait_for(t, c.done);
        assert_int_equal(look_exec(t, id, c.call.id).state, CAY_EXEC_ENDED);
        assert_int_equal(look_exec(t, id, c.call.id).out_bytes, 3);
        assert_int_equal(t->store->commits, commits + 1);
}

static void a_longer_one_is_stored_by_itself(void **state)
{
        struct test *t = *state;
        struct cay_exec_new what = { .argv = wait_argv, .waits = true };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;

        create(t, id);
        exec_begin(t, id, &what, &c);
        settle(t);
        assert_null(fake_store_find(t->store, CAY_STORE_EXEC, c.call.id));
        assert_int_equal(look(t, id).state, CAY_STATE_READY); /* what the store says of it */
        wait_for(t, c.done);
        assert_non_null(fake_store_find(t->store, CAY_STORE_EXEC, c.call.id));
        assert_int_equal(look_exec(t, id, c.call.id).state, CAY_EXEC_RUNNING);
        assert_int_equal(look(t, id).state, CAY_STATE_BUSY);
        wait_for(t, fake_store_find(t->store, CAY_STORE_EVENT, "exec_started") != NULL);
        assert_int_equal(cay_service_exec_kill(t->service, &me, id, c.call.id, &(struct cay_error){ 0 }), 0);
        assert_int_equal(wait_end(t, id, c.call.id).cause, CAY_CAUSE_KILLED);
}

static void nobody_is_told_before(void **state)
{
        struct test *t = *state;
        struct cay_exec_new what = { .argv = exit_argv, .waits = true };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;

        create(t, id);
        settle(t);
        t->store->hold = true;
        exec_begin(t, id, &what, &c);
        wait_for(t, cay_table_find(t->service, id)->execs->phase == CAY_EXEC_PHASE_QUICK_CLOSING);
        settle(t);
        assert_false(c.done);
        fake_store_let_go(t->store);
        wait_for(t, c.done);
        assert_int_equal(c.call.job.err.code, CAY_OK);
}

static void a_failed_commit_is_told(void **state)
{
        struct test *t = *state;
        struct cay_exec_new what = { .argv = exit_argv, .waits = true };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;

        create(t, id);
        settle(t);
        t->store->fail_with = CAY_NO_SPACE;
        t->store->fail_count = 1;
        assert_int_equal(try_exec(t, id, &what, &c), CAY_NO_SPACE);
        wait_for(t, look(t, id).execs_known == 0);
        assert_int_equal(count_files(t, false), 0);
        assert_int_equal(try_exec(t, id, &what, &c), CAY_OK);
}

/*
 * It waits in each of its phases; whatever takes its sandbox answers it, and leaves what is true in the
 * store.
 */
static void its_sandbox_goes(void **state)
{
        struct test *t = *state;
        struct cay_exec_new what = { .argv = wait_argv, .waits = true };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;
        struct call end;

        for (unsigned i = 0; i < 3; i++) {
                create(t, id);
                settle(t);
                exec_begin(t, id, &what, &c);
                wait_for(t, cay_table_find(t->service, id)->execs->phase == CAY_EXEC_PHASE_QUICK_OPENED);
                call_init(&end);
                if (i == 0)
                        cay_service_destroy(t->service, &me, id, &end.call);
                else if (i == 1)
                        cay_service_stop(t->service, &me, id, &end.call);
                else
                        fake_engine_vanish(t->engine, id, true);
                if (i < 2)
                        assert_int_equal(call_wait(t, &end), CAY_OK);
                wait_for(t, c.done);
                settle(t);
                if (i == 0) {
                        assert_null(fake_store_find(t->store, CAY_STORE_EXEC, c.call.id));
                        assert_null(fake_store_find(t->store, CAY_STORE_SANDBOX, id));
                        continue;
                }
                assert_int_equal(c.call.job.err.code, CAY_OK);
                assert_int_equal(wait_end(t, id, c.call.id).cause,
                                 i == 1 ? CAY_CAUSE_KILLED : CAY_CAUSE_SANDBOX_GONE);
                assert_non_null(fake_store_find(t->store, CAY_STORE_EXEC, c.call.id));
        }
}

/* Nobody was told of it: a front that dies leaves no trace of it. */
static void a_restart_knows_nothing_of_it(void **state)
{
        struct test *t = *state;
        struct cay_exec_new what = { .argv = wait_argv, .waits = true };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;

        create(t, id);
        exec_begin(t, id, &what, &c);
        wait_for(t, cay_table_find(t->service, id)->execs->phase == CAY_EXEC_PHASE_QUICK_OPENED);
        restart(t);
        settle(t);
        assert_int_equal(look(t, id).execs_known, 0);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
        assert_int_equal(count_files(t, false), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                TEST(one_commit),
                TEST(not_all_are_quick),
                TEST(input_at_once),
                TEST(a_longer_one_is_stored_by_itself),
                TEST(nobody_is_told_before),
                TEST(a_failed_commit_is_told),
                TEST(its_sandbox_goes),
                TEST(a_restart_knows_nothing_of_it),
#undef TEST
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
