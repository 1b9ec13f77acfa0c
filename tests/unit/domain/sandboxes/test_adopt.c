/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start-up: a service goes without a word, the next one finds boxes, records and spools, and everything ends
 * in one of three.
 */
#include "unit/domain/sandboxes/service_test.h"

#include <signal.h>

#include "domain/sandboxes/service_priv.h"

static const struct cay_service_report *report(struct test *t)
{
        return cay_service_report(t->service);
}

static void an_empty_start(void **state)
{
        struct test *t = *state;

        assert_int_equal(report(t)->adopted + report(t)->lost + report(t)->at_rest + report(t)->removed, 0);
}

static void nothing_is_served_before(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };
        char id[CAY_NAME_MAX + 1];
        struct call c;

        create(t, id);
        service_close(t);
        t->ready = false;
        assert_int_equal(cay_service_open(&t->env, test_on_ready, t, &t->service, &err), 0);
        assert_false(t->ready);
        assert_int_equal(cay_service_get(t->service, &me, id, &view, &err), -1);
        assert_int_equal(err.code, CAY_UNAVAILABLE);
        call_init(&c);
        cay_service_create(t->service, &what, &c.call);
        wait_for(t, c.done);
        assert_int_equal(c.call.job.err.code, CAY_UNAVAILABLE);
        wait_for(t, t->ready);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
}

static void sandboxes_are_as_they_were(void **state)
{
        struct test *t = *state;
        struct cay_field_pair label = { "team", "a \"quoted\" one" }, meta = { "k", "" }, env = { "E", "v" };
        const char *argv[] = { "env", "E", NULL };
        struct cay_exec_new ask = { .argv = argv };
        struct cay_sandbox_new what = plain();
        struct cay_sandbox_view view;
        char stopped[CAY_NAME_MAX + 1];
        struct exec_call x;
        struct watcher w = { 0 };
        struct call c;

        what.name = "keeper";
        what.labels = (struct cay_field_map){ &label, 1 };
        what.metadata = (struct cay_field_map){ &meta, 1 };
        what.env = (struct cay_field_map){ &env, 1 };
        what.idle_ms = 5000000;
        what.options.own_user_only = true;
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        create(t, stopped);
        assert_int_equal(change(t, stop, stopped), CAY_OK);
        restart(t);
        assert_int_equal(report(t)->adopted, 1);
        assert_int_equal(report(t)->at_rest, 1);
        view = look(t, c.call.id);
        assert_int_equal(view.state, CAY_STATE_READY);
        assert_string_equal(view.name, "keeper");
        assert_string_equal(view.owner, "me");
        assert_string_equal(view.labels.pairs[0].value, label.value);
        assert_string_equal(view.metadata.pairs[0].name, "k");
        assert_int_equal(view.limits->memory_bytes, what.limits.memory_bytes);
        assert_int_equal(view.idle_limit_ms, 5000000);
        assert_true(view.options.own_user_only);
        assert_true(view.linked);
        assert_int_equal(look(t, stopped).state, CAY_STATE_STOPPED);
        assert_int_equal(look(t, stopped).cause, CAY_CAUSE_KILLED);
        assert_int_equal(try_exec(t, c.call.id, &ask, &x), CAY_OK);
        assert_int_equal(watch(t, c.call.id, x.call.id, 0, true, &w), CAY_OK);
        wait_for(t, w.over);
        assert_memory_equal(w.bytes, "v", 1);
        watcher_done(&w);
        assert_int_equal(start(t, stopped), CAY_OK);
}

static void commands_go_on(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1], y[CAY_NAME_MAX + 1];
        struct cay_exec_input in = { .bytes = "abc", .len = 3 },
                              more = { .bytes = "def", .len = 3, .eof = true };
        struct watcher w = { 0 };
        struct cay_exec_view view;

        create(t, id);
        exec(t, id, x, "cat", NULL);
        exec(t, id, y, "exit", "9", NULL);
        wait_end(t, id, y);
        cay_job_init(&in.job, NULL);
        cay_service_exec_input(t->service, &me, id, x, &in);
        wait_for(t, look_exec(t, id, x).output_end == 3);
        restart(t);
        assert_int_equal(report(t)->execs_adopted, 1);
        assert_int_equal(look(t, id).state, CAY_STATE_BUSY);
        view = look_exec(t, id, x);
        assert_int_equal(view.state, CAY_EXEC_RUNNING);
        assert_int_equal(view.output_end, 3);
        assert_string_equal(view.argv[0], "cat");
        assert_true(view.has_stdin);
        assert_int_equal(look_exec(t, id, y).exit_code, 9);
        cay_job_init(&more.job, NULL);
        cay_service_exec_input(t->service, &me, id, x, &more);
        assert_int_equal(watch(t, id, x, 0, true, &w), CAY_OK);
        wait_for(t, w.over);
        assert_int_equal(w.len, 6);
        assert_memory_equal(w.bytes, "abcdef", 6);
        watcher_done(&w);
        wait_for(t, look(t, id).state == CAY_STATE_READY);
}

static void input_that_was_ended_stays_ended(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_exec_input in = { .bytes = "", .len = 0, .eof = true };
        struct cay_error err = { 0 };

        create(t, id);
        exec(t, id, x, "wait", NULL);
        cay_job_init(&in.job, NULL);
        cay_service_exec_input(t->service, &me, id, x, &in);
        settle(t);
        restart(t);
        cay_job_init(&in.job, NULL);
        in.bytes = "late";
        in.len = 4;
        cay_service_exec_input(t->service, &me, id, x, &in);
        settle(t);
        assert_int_equal(in.job.err.code, CAY_CONFLICT);
        assert_int_equal(cay_service_exec_kill(t->service, &me, id, x, &err), 0);
        assert_int_equal(wait_end(t, id, x).cause, CAY_CAUSE_KILLED);
}

/* Taken, and gone with this service: the box has not seen it. */
static void lose_input(struct test *t, const char *id, const char *x, struct cay_exec_input *in)
{
        cay_job_init(&in->job, NULL);
        fake_plan.script.mute = true;
        cay_service_exec_input(t->service, &me, id, x, in);
        assert_null(in->exec);
        assert_int_equal(in->job.err.code, CAY_OK);
        settle(t);
        service_close(t);
        fake_plan.script.mute = false;
}

static void the_end_of_input_is_said_again(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_exec_input in = { .bytes = "abc", .len = 3 }, end = { .bytes = "", .eof = true };

        create(t, id);
        exec(t, id, x, "cat", NULL);
        cay_job_init(&in.job, NULL);
        cay_service_exec_input(t->service, &me, id, x, &in);
        wait_for(t, look_exec(t, id, x).output_end == 3);
        lose_input(t, id, x, &end);
        service_open(t);
        assert_int_equal(wait_end(t, id, x).exit_code, 0);
        assert_int_equal(look_exec(t, id, x).cause, CAY_CAUSE_EXITED);
        assert_int_equal(look_exec(t, id, x).output_end, 3);
}

/* It has got all of it, and its end, and is told that again. */
static void the_end_of_input_may_be_said_twice(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_exec_input in = { .bytes = "abc", .len = 3, .eof = true };
        struct cay_error err = { 0 };
        struct cay_service_health health;

        create(t, id);
        exec(t, id, x, "wait", NULL);
        cay_job_init(&in.job, NULL);
        cay_service_exec_input(t->service, &me, id, x, &in);
        settle(t);
        for (unsigned i = 0; i < 3; i++) {
                restart(t);
                settle(t);
                cay_service_health(t->service, &health);
                assert_int_equal(health.relinks, 0); /* a breach would have cost the link */
        }
        assert_int_equal(cay_service_exec_signal(t->service, &me, id, x, SIGTERM, &err), 0);
        assert_int_equal(wait_end(t, id, x).signal, SIGTERM);
}

static void lost_input_ends_its_command(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_exec_input in = { .bytes = "abc", .len = 3 }, more = { .bytes = "def", .len = 3 };
        struct cay_exec_view view;

        for (unsigned i = 0; i < 2; i++) { /* with and without the end of it */
                more.eof = i > 0;
                create(t, id);
                exec(t, id, x, "cat", NULL);
                cay_job_init(&in.job, NULL);
                cay_service_exec_input(t->service, &me, id, x, &in);
                wait_for(t, look_exec(t, id, x).output_end == 3);
                lose_input(t, id, x, &more);
                fake_plan.script.never_end = true; /* what follows comes before its end */
                service_open(t);
                wait_for(t, cay_table_find(t->service, id)->execs->in_lost);
                cay_job_init(&in.job, NULL);
                cay_service_exec_input(t->service, &me, id, x, &in);
                settle(t);
                assert_int_equal(in.job.err.code, CAY_CONFLICT);
                fake_plan.script.never_end = false;
                fake_engine_cut_link(t->engine, id); /* the kill is said again */
                view = wait_end(t, id, x);
                assert_int_equal(view.cause, CAY_CAUSE_DAEMON_LOST);
                assert_non_null(strstr(view.cause_text, "input was lost"));
                assert_int_equal(view.output_end, 3); /* what it had printed stays */
        }
}

/* At a terminal they are typed again: its shell is not ended for them. */
static void lost_keys_are_lost(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "cat", NULL };
        struct cay_exec_new what = { .argv = argv, .has_stdin = true, .tty = true };
        struct cay_exec_input keys = { .bytes = "abc", .len = 3 }, again = { .bytes = "de", .len = 2 };
        struct cay_exec_input end = { .bytes = "", .eof = true };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;

        create(t, id);
        assert_int_equal(try_exec(t, id, &what, &c), CAY_OK);
        lose_input(t, id, c.call.id, &keys);
        service_open(t);
        wait_for(t, cay_table_find(t->service, id)->execs->phase == CAY_EXEC_PHASE_RUNNING);
        again.eof = true;
        cay_job_init(&again.job, NULL);
        cay_service_exec_input(t->service, &me, id, c.call.id, &again);
        assert_int_equal(wait_end(t, id, c.call.id).cause, CAY_CAUSE_EXITED);
        assert_int_equal(look_exec(t, id, c.call.id).output_end, 2);
        assert_int_equal(again.job.err.code, CAY_OK);

        create(t, id); /* ended later, by a front that a third one follows */
        assert_int_equal(try_exec(t, id, &what, &c), CAY_OK);
        lose_input(t, id, c.call.id, &keys);
        service_open(t);
        wait_for(t, cay_table_find(t->service, id)->execs->phase == CAY_EXEC_PHASE_RUNNING);
        lose_input(t, id, c.call.id, &end);
        service_open(t);
        assert_int_equal(wait_end(t, id, c.call.id).cause, CAY_CAUSE_EXITED);

        create(t, id); /* whose input was ended: nobody could type them again */
        assert_int_equal(try_exec(t, id, &what, &c), CAY_OK);
        keys.eof = true;
        lose_input(t, id, c.call.id, &keys);
        service_open(t);
        assert_int_equal(wait_end(t, id, c.call.id).cause, CAY_CAUSE_DAEMON_LOST);
}

/* Input that nobody would have read. */
static void an_end_counts_more_than_lost_input(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_exec_input in = { .bytes = "abc", .len = 3, .eof = true };

        create(t, id);
        fake_plan.script.never_end = true;
        exec(t, id, x, "exit", "7", NULL);
        lose_input(t, id, x, &in);
        fake_plan.script.never_end = false;
        service_open(t);
        assert_int_equal(wait_end(t, id, x).exit_code, 7);
        assert_int_equal(look_exec(t, id, x).cause, CAY_CAUSE_EXITED);
}

/* A large stream, with a service that goes again and again; the reader comes back with its cursor. */
static void a_stream_over_restarts(void **state)
{
        struct test *t = *state;
        const uint64_t total = 6000000;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        uint8_t *bytes = malloc(total);
        uint64_t at = 0;
        unsigned restarts = 0;

        create(t, id);
        fake_plan.script.never_end = false;
        exec(t, id, x, "count", "6000000", NULL);
        for (bool over = false; !over;) {
                struct watcher w = { 0 };

                assert_int_equal(watch(t, id, x, at, true, &w), CAY_OK);
                for (unsigned i = 0; i < 3 + restarts % 4 && !w.over; i++)
                        cay_loop_round(t->loop, 10);
                assert_true(at + w.len <= total);
                if (w.len > 0)
                        memcpy(bytes + at, w.bytes, w.len);
                at += w.len;
                over = w.over;
                watcher_done(&w);
                if (!over && restarts < 40) {
                        restart(t);
                        restarts++;
                }
        }
        assert_int_equal(at, total);
        assert_true(restarts > 3);
        for (uint64_t i = 0; i < total; i++)
                if (bytes[i] != fake_pattern(i))
                        fail_msg("byte %llu is wrong after %u restarts", (unsigned long long)i, restarts);
        free(bytes);
        assert_int_equal(look_exec(t, id, x).exit_code, 0);
}

/*
 * Nobody reads, and each service grants a window of its own: the spool is full to the brim, and not for good.
 */
static void a_spool_that_restarts_filled(void **state)
{
        struct test *t = *state;
        const uint64_t total = 6000000;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct watcher w = { .lazy = true };
        uint64_t end;

        t->env.spool_bytes = 1u << 20;
        restart(t);
        create(t, id);
        fake_plan.script.never_end = false;
        exec(t, id, x, "count", "6000000", NULL);
        assert_int_equal(watch(t, id, x, 0, true, &w), CAY_OK); /* and holds it, however long this takes */
        settle(t);
        watcher_done(&w);
        for (unsigned i = 0; i < 20; i++) {
                restart(t);
                settle(t);
        }
        end = look_exec(t, id, x).output_end;
        assert_true(end > t->env.spool_bytes + CAY_SPOOL_STREAMS * CAY_BOX_WINDOW && end < total);
        assert_int_equal(watch(t, id, x, 0, true, &w), CAY_OK);
        wait_for(t, w.over);
        assert_int_equal(w.overtaken, 0);
        check_pattern(&w, 0, total);
        watcher_done(&w);
        assert_int_equal(look_exec(t, id, x).exit_code, 0);
}

/* A command that has ended, the spool full to the brim, and the last of its output still to be taken. */
static uint64_t end_at_the_brim(struct test *t, char id[CAY_NAME_MAX + 1], char x[CAY_NAME_MAX + 1],
                                struct watcher *w)
{
        char count[24];
        uint64_t total;

        t->env.spool_bytes = 1u << 20;
        total = t->env.spool_bytes + CAY_SPOOL_STREAMS * CAY_BOX_WINDOW + CAY_SPOOL_PIECE_MAX + 100000;
        snprintf(count, sizeof(count), "%llu", (unsigned long long)total);
        restart(t);
        create(t, id);
        fake_plan.script.never_end = false;
        exec(t, id, x, "count", count, NULL);
        w->lazy = true;
        for (unsigned i = 0; i < 20; i++) { /* each grants a window of its own */
                assert_int_equal(watch(t, id, x, 0, true, w), CAY_OK);
                settle(t);
                if (w->w.exec->flush_until_ms > 0)
                        return total;
                watcher_done(w);
                w->lazy = true;
                restart(t);
        }
        fail_msg("the end did not come");
        return 0;
}

/* However long the reader pauses: only a full disk has a deadline. */
static void an_end_waits_for_the_reader(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct watcher w = { 0 };
        uint64_t total = end_at_the_brim(t, id, x, &w);

        w.w.exec->flush_until_ms = 1; /* long past */
        cay_service_tick(t->service);
        settle(t);
        assert_true(w.w.exec->flush_until_ms > 0);
        w.lazy = false;
        watcher_read(&w);
        wait_for(t, w.over);
        check_pattern(&w, 0, total);
        watcher_done(&w);
        assert_int_equal(look_exec(t, id, x).exit_code, 0);
        assert_int_equal(look_exec(t, id, x).cut_bytes, 0);
}

static void what_the_spool_had_no_room_for_is_told(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct watcher w = { 0 };
        uint64_t total = end_at_the_brim(t, id, x, &w);
        struct cay_exec_view view;

        watcher_done(&w);
        restart(t);
        view = wait_end(t, id, x);
        assert_true(view.cut_bytes > 0);
        assert_int_equal(view.output_end + view.cut_bytes, total);
}

static void what_happened_before_is_nobodys(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "wait", NULL };
        struct cay_exec_new what = { .argv = argv, .timeout_ms = 60000 };
        char id[CAY_NAME_MAX + 1];
        struct cay_error err = { 0 };
        struct exec_call c;

        create(t, id);
        assert_int_equal(try_exec(t, id, &what, &c), CAY_OK);
        fake_plan.stats.oom_kills = 3;
        restart(t);
        assert_int_equal(cay_service_exec_signal(t->service, &me, id, c.call.id, SIGKILL, &err), 0);
        assert_int_equal(wait_end(t, id, c.call.id).cause, CAY_CAUSE_SIGNALLED);
        assert_int_equal(try_exec(t, id, &what, &c), CAY_OK);
        restart(t);
        assert_true(look_exec(t, id, c.call.id).has_deadline); /* in the store's time, still */
        assert_int_equal(look_exec(t, id, c.call.id).deadline_in_ms, 60000);
        t->store->now_ms += 62000;
        cay_service_tick(t->service);
        assert_int_equal(wait_end(t, id, c.call.id).cause, CAY_CAUSE_WALL_TIME);
        assert_non_null(strstr(look_exec(t, id, c.call.id).cause_text, "60 s"));
}

static void an_end_that_came_meanwhile(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1], y[CAY_NAME_MAX + 1];
        struct cay_error err = { 0 };

        create(t, id);
        exec(t, id, x, "wait", NULL);
        exec(t, id, y, "wait", NULL);
        /* x: the signal is on its way to the box, and the service goes before the end comes back. */
        assert_int_equal(cay_service_exec_signal(t->service, &me, id, x, SIGTERM, &err), 0);
        restart(t);
        assert_int_equal(report(t)->execs_adopted, 2);
        assert_int_equal(wait_end(t, id, x).signal, SIGTERM);
        assert_int_equal(look_exec(t, id, y).state, CAY_EXEC_RUNNING);
        /* y: the end is here and in the spool, the store has not got it. */
        t->store->fail_with = CAY_NO_SPACE;
        t->store->fail_count = 1000;
        assert_int_equal(cay_service_exec_signal(t->service, &me, id, y, SIGINT, &err), 0);
        assert_int_equal(wait_end(t, id, y).signal, SIGINT);
        service_close(t);
        t->store->fail_count = 0;
        service_open(t);
        assert_int_equal(report(t)->execs_ended, 1);
        assert_int_equal(wait_end(t, id, y).signal, SIGINT);
        wait_for(t, look(t, id).state == CAY_STATE_READY);
        wait_for(t, strcmp(record(t, id)->state, "ready") == 0);
}

static void boxes_that_went_are_lost(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1], y[CAY_NAME_MAX + 1];
        struct cay_error err = { 0 };
        struct watcher w = { 0 };

        create(t, id);
        exec(t, id, x, "cat", NULL);
        exec(t, id, y, "wait", NULL);
        t->store->fail_with = CAY_NO_SPACE;
        t->store->fail_count = 1000;
        assert_int_equal(cay_service_exec_signal(t->service, &me, id, y, SIGINT, &err), 0);
        wait_end(t, id, y);
        service_close(t);
        t->store->fail_count = 0;
        fake_engine_vanish(t->engine, id, false);
        service_open(t);
        assert_int_equal(report(t)->lost, 1);
        assert_int_equal(report(t)->adopted, 0);
        assert_int_equal(look(t, id).state, CAY_STATE_ERROR);
        assert_int_equal(look(t, id).cause, CAY_CAUSE_SANDBOX_GONE);
        assert_int_equal(wait_end(t, id, x).cause, CAY_CAUSE_SANDBOX_GONE);
        assert_int_equal(wait_end(t, id, y).signal, SIGINT); /* had ended before */
        assert_string_equal(record(t, id)->state, "error");
        assert_int_equal(watch(t, id, x, 0, true, &w), CAY_OK);
        wait_for(t, w.over);
        watcher_done(&w);
        restart(t);
        assert_int_equal(report(t)->at_rest, 1);
        assert_int_equal(start(t, id), CAY_OK);
}

static void boxes_without_a_record_are_removed(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        char id[CAY_NAME_MAX + 1];
        struct call c;

        /* A create that the service did not live to store. */
        call_init(&c);
        fake_plan.create_ms = 5;
        cay_service_create(t->service, &what, &c.call);
        cay_service_free(cay_take(t->service));
        for (unsigned i = 0; i < 10; i++)
                cay_loop_round(t->loop, 5);
        fake_plan.create_ms = 0;
        assert_int_equal(fake_engine_boxes(), 1);
        service_open(t);
        settle(t);
        assert_int_equal(report(t)->removed, 1);
        assert_int_equal(fake_engine_boxes(), 0);
        /* A stop, and a destroy, that were stored and not done. */
        create(t, id);
        t->store->hold = true;
        call_init(&c);
        cay_service_stop(t->service, &me, id, &c.call);
        cay_service_free(cay_take(t->service));
        fake_store_let_go(t->store);
        settle(t);
        assert_int_equal(fake_engine_boxes(), 1);
        service_open(t);
        settle(t);
        assert_int_equal(report(t)->removed, 1);
        assert_int_equal(report(t)->at_rest, 1);
        assert_int_equal(fake_engine_boxes(), 0);
        assert_int_equal(look(t, id).state, CAY_STATE_STOPPED);
        assert_int_equal(start(t, id), CAY_OK);
        t->store->hold = true;
        call_init(&c);
        cay_service_destroy(t->service, &me, id, &c.call);
        cay_service_free(cay_take(t->service));
        fake_store_let_go(t->store);
        settle(t);
        service_open(t);
        settle(t);
        assert_int_equal(report(t)->removed, 1);
        assert_false(exists(t, id));
        assert_int_equal(fake_engine_boxes(), 0);
}

static void commands_without_a_record_are_ended(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "wait", NULL };
        struct cay_exec_new what = { .argv = argv };
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct exec_call c;

        create(t, id);
        t->store->fail_with = CAY_NO_SPACE;
        exec_begin(t, id, &what, &c); /* OPEN has left */
        t->store->fail_count = 0;
        /* As if its commit had been lost with the process: */
        cay_service_free(cay_take(t->service));
        settle(t);
        {
                struct cay_store_batch *b = t->store->store.ops->begin(&t->store->store);
                struct cay_store_commit commit = { 0 };

                t->store->store.ops->drop(b, CAY_STORE_EXEC, c.call.id);
                t->store->store.ops->commit(&t->store->store, b, CAY_STORE_FAST, &commit);
                settle(t);
        }
        service_open(t);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
        assert_int_equal(look(t, id).execs_known, 0);
        assert_int_equal(count_files(t, false), 0); /* its spool, too */
        exec(t, id, x, "exit", "2", NULL);          /* numbers do not clash */
        assert_int_equal(wait_end(t, id, x).exit_code, 2);
}

static void spools_that_are_lost(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];

        create(t, id);
        exec(t, id, x, "wait", NULL);
        service_close(t);
        count_files(t, true);
        service_open(t);
        assert_int_equal(report(t)->execs_lost, 1);
        assert_int_equal(wait_end(t, id, x).cause, CAY_CAUSE_DAEMON_LOST);
        assert_int_equal(report(t)->adopted, 1);
        wait_for(t, look(t, id).state == CAY_STATE_READY);
}

static void the_store_decides_over_the_freezer(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_error err = { 0 };
        struct call c;

        create(t, id);
        exec(t, id, x, "wait", NULL);
        /* Frozen, and not stored. */
        t->store->fail_count = 0;
        call_init(&c);
        cay_service_pause(t->service, &me, id, &c.call);
        cay_service_free(cay_take(t->service));
        settle(t);
        assert_true(fake_engine_is_frozen(t->engine, id));
        service_open(t);
        assert_false(fake_engine_is_frozen(t->engine, id));
        assert_int_equal(look(t, id).state, CAY_STATE_BUSY);
        /* Paused: stays so, and its commands are there when it is resumed. */
        assert_int_equal(change(t, pause, id), CAY_OK);
        service_close(t);
        fake_plan.script.mute = true; /* says nothing while it is frozen */
        service_open(t);
        assert_int_equal(report(t)->adopted, 1);
        assert_true(fake_engine_is_frozen(t->engine, id));
        assert_int_equal(look(t, id).state, CAY_STATE_PAUSED);
        fake_plan.script.mute = false;
        fake_engine_cut_link(t->engine, id); /* what it was sent meanwhile was swallowed */
        assert_int_equal(change(t, resume, id), CAY_OK);
        assert_int_equal(look(t, id).state, CAY_STATE_BUSY);
        wait_for(t, look(t, id).linked);
        wait_for(t, cay_service_exec_signal(t->service, &me, id, x, SIGTERM, &err) == 0);
        wait_end(t, id, x);
        assert_int_equal(look_exec(t, id, x).signal, SIGTERM);
}

static void an_engine_that_is_away(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_error err = { 0 };

        create(t, id);
        exec(t, id, x, "wait", NULL);
        service_close(t);
        fake_plan.relink_fails = CAY_UNAVAILABLE;
        service_open(t);
        assert_int_equal(look(t, id).state, CAY_STATE_ERROR);
        assert_int_equal(look(t, id).cause, CAY_CAUSE_ENGINE_LOST);
        assert_int_equal(fake_engine_boxes(), 1); /* nothing is thrown away */
        fake_plan.relink_fails = CAY_OK;
        wait_for(t, look(t, id).state == CAY_STATE_BUSY);
        assert_int_equal(cay_service_exec_signal(t->service, &me, id, x, SIGTERM, &err), 0);
        assert_int_equal(wait_end(t, id, x).signal, SIGTERM);
}

static void unreadable_records_are_left_alone(void **state)
{
        struct test *t = *state;
        struct cay_store_sandbox bad = { .id = "broken",
                                         .owner = "me",
                                         .template_name = "host",
                                         .engine = "fake",
                                         .state = "ready",
                                         .labels = "{\"a\":",
                                         .spec = "{}" };
        struct cay_store_batch *b = t->store->store.ops->begin(&t->store->store);
        struct cay_store_commit commit = { 0 };
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        cay_store_put_sandbox(&t->store->store, b, &bad);
        t->store->store.ops->commit(&t->store->store, b, CAY_STORE_FAST, &commit);
        settle(t);
        restart(t);
        assert_int_equal(report(t)->unreadable, 1);
        assert_int_equal(report(t)->adopted, 1);
        assert_true(exists(t, id));
        assert_int_equal(fake_store_count(t->store, CAY_STORE_SANDBOX), 2);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                TEST(an_empty_start),
                TEST(nothing_is_served_before),
                TEST(sandboxes_are_as_they_were),
                TEST(commands_go_on),
                TEST(input_that_was_ended_stays_ended),
                TEST(the_end_of_input_is_said_again),
                TEST(the_end_of_input_may_be_said_twice),
                TEST(lost_input_ends_its_command),
                TEST(lost_keys_are_lost),
                TEST(an_end_counts_more_than_lost_input),
                TEST(a_stream_over_restarts),
                TEST(a_spool_that_restarts_filled),
                TEST(an_end_waits_for_the_reader),
                TEST(what_the_spool_had_no_room_for_is_told),
                TEST(what_happened_before_is_nobodys),
                TEST(an_end_that_came_meanwhile),
                TEST(boxes_that_went_are_lost),
                TEST(boxes_without_a_record_are_removed),
                TEST(commands_without_a_record_are_ended),
                TEST(spools_that_are_lost),
                TEST(the_store_decides_over_the_freezer),
                TEST(an_engine_that_is_away),
                TEST(unreadable_records_are_left_alone),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
