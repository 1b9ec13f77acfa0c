/* SPDX-License-Identifier: Apache-2.0 */
/* Health: boxes that do not answer, engines that are away, and their coming back. */
#include "unit/domain/sandboxes/service_test.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "foundation/base/str.h"
#include "foundation/base/clock.h"
#include "links/box/box_client_priv.h"
#include "domain/sandboxes/service_priv.h"

static int setup_quick(void **state)
{
        struct test *t;

        setup(state);
        t = *state;
        t->env.ping_ms = 20;
        t->env.ping_misses = 2;
        restart(t);
        return 0;
}

static void pings_are_answered(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        for (unsigned i = 0; i < 30; i++)
                cay_loop_round(t->loop, 10);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
        assert_true(look(t, id).linked);
}

static void a_mute_box_is_in_error_and_comes_back(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "exit", "0", NULL };
        struct cay_exec_new what = { .argv = argv };
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_service_health health;
        struct cay_error err = { 0 };
        struct exec_call c;

        create(t, id);
        exec(t, id, x, "wait", NULL);
        fake_plan.script.mute = true;
        wait_for(t, look(t, id).state == CAY_STATE_ERROR);
        assert_int_equal(look(t, id).cause, CAY_CAUSE_ENGINE_LOST);
        assert_false(look(t, id).linked);
        settle(t);
        assert_string_equal(record(t, id)->state, "error");
        cay_service_health(t->service, &health);
        assert_int_equal(health.links_lost, 1);
        assert_int_equal(health.by_state[CAY_STATE_ERROR], 1);
        assert_int_equal(try_exec(t, id, &what, &c), CAY_CONFLICT);
        assert_int_equal(look_exec(t, id, x).state, CAY_EXEC_RUNNING); /* nobody knows better */
        fake_plan.script.mute = false;
        wait_for(t, look(t, id).state == CAY_STATE_BUSY);
        settle(t);
        assert_string_equal(record(t, id)->state, "busy");
        assert_non_null(fake_store_find(t->store, CAY_STORE_EVENT, "sandbox_recovered"));
        assert_int_equal(cay_service_exec_signal(t->service, &me, id, x, SIGTERM, &err), 0);
        assert_int_equal(wait_end(t, id, x).signal, SIGTERM);
}

/* Whether it is the link or the box that is silent may change with every look. */
static void an_error_is_told_once(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];
        unsigned before;

        stop_pings(t); /* an answer on its way would be a recovery */
        create(t, id);
        settle(t); /* nothing of it is still under way */
        fake_plan.script.mute = true;
        before = fake_store_count(t->store, CAY_STORE_EVENT);
        for (unsigned i = 0; i < 8; i++) {
                struct cay_sandbox *sb = cay_table_find(t->service, id);

                sb->ping_at_ms = 0;
                sb->link = i % 2 ? CAY_LINK_LOST : CAY_LINK_PINGED;
                cay_link_ping(sb, cay_clock_ms());
        }
        cay_table_find(t->service, id)->link = CAY_LINK_UP;
        settle(t);
        assert_int_equal(look(t, id).state, CAY_STATE_ERROR);
        assert_int_equal(fake_store_count(t->store, CAY_STORE_EVENT), before + 1);
}

static void paused_boxes_are_not_asked(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        assert_int_equal(change(t, pause, id), CAY_OK);
        fake_plan.script.mute = true;
        for (unsigned i = 0; i < 20; i++)
                cay_loop_round(t->loop, 10);
        assert_int_equal(look(t, id).state, CAY_STATE_PAUSED);
}

/*
 * What it missed before a pause is not counted with what it misses afterwards: it would be given up at once.
 */
static void misses_before_a_pause_are_forgotten(void **state)
{
        struct test *t = *state;
        struct cay_sandbox *sb;
        char id[CAY_NAME_MAX + 1];

        stop_pings(t);
        create(t, id);
        settle(t);
        sb = cay_table_find(t->service, id);
        sb->link = CAY_LINK_PINGED;
        sb->misses = 1;
        sb->lost_at_ms = 1;
        assert_int_equal(change(t, pause, id), CAY_OK);
        assert_int_equal(change(t, resume, id), CAY_OK);
        assert_int_equal(sb->link, CAY_LINK_UP);
        assert_int_equal(sb->misses, 0);
        assert_int_equal(sb->lost_at_ms, 0);
}

static void every_pair_of_phases(void **state)
{
        const bool legal[CAY_LINK_PHASE_COUNT][CAY_LINK_PHASE_COUNT] = {
                [CAY_LINK_NONE] = { [CAY_LINK_UP] = true, [CAY_LINK_LOST] = true },
                [CAY_LINK_UP] = { [CAY_LINK_NONE] = true, [CAY_LINK_PINGED] = true, [CAY_LINK_LOST] = true },
                [CAY_LINK_PINGED] = { [CAY_LINK_NONE] = true, [CAY_LINK_UP] = true, [CAY_LINK_LOST] = true },
                [CAY_LINK_LOST] = { [CAY_LINK_NONE] = true, [CAY_LINK_UP] = true },
        };

        assert_true(cay_phase_table_is_sound(&cay_link_phases));
        for (unsigned from = 0; from < CAY_LINK_PHASE_COUNT; from++)
                for (unsigned to = 0; to < CAY_LINK_PHASE_COUNT; to++)
                        assert_int_equal(cay_phase_may(&cay_link_phases, from, to), legal[from][to]);
}

static void an_engine_that_is_away_and_back(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_error err = { 0 };

        create(t, id);
        exec(t, id, x, "wait", NULL);
        fake_plan.relink_fails = CAY_UNAVAILABLE;
        fake_engine_cut_link(t->engine, id);
        wait_for(t, look(t, id).state == CAY_STATE_ERROR);
        fake_plan.relink_fails = CAY_OK;
        wait_for(t, look(t, id).state == CAY_STATE_BUSY);
        assert_int_equal(cay_service_exec_signal(t->service, &me, id, x, SIGTERM, &err), 0);
        assert_int_equal(wait_end(t, id, x).signal, SIGTERM);
}

/* A laptop that is suspended for longer than any other box is waited for; and one that does not come back. */
static void a_machine_that_is_away_for_long(void **state)
{
        struct test *t = *state;
        struct cay_sandbox *sb;
        char id[CAY_NAME_MAX + 1];

        t->env.ping_ms = 3600 * 1000; /* looked at by this test alone */
        t->env.away_ms = 60 * 60 * 1000;
        restart(t);
        create(t, id);
        settle(t);
        sb = cay_table_find(t->service, id);
        sb->options.machine = "laptop"; /* the test's own */
        fake_plan.relink_fails = CAY_UNAVAILABLE;
        fake_engine_cut_link(t->engine, id);
        wait_for(t, sb->link == CAY_LINK_LOST);
        for (unsigned i = 0; i < 3; i++) {
                sb->ping_at_ms = 0;
                sb->lost_at_ms = cay_clock_ms() - 59 * 60 * 1000;
                cay_link_ping(sb, cay_clock_ms());
        }
        settle(t);
        assert_int_equal(look(t, id).state, CAY_STATE_ERROR);
        fake_plan.relink_fails = CAY_OK;
        wait_for(t, look(t, id).state == CAY_STATE_READY);

        fake_plan.relink_fails = CAY_UNAVAILABLE;
        fake_engine_cut_link(t->engine, id);
        wait_for(t, sb->link == CAY_LINK_LOST);
        for (unsigned i = 0; i < 3 && sb->has_box; i++) {
                sb->ping_at_ms = 0;
                sb->lost_at_ms = cay_clock_ms() - 61 * 60 * 1000;
                cay_link_ping(sb, cay_clock_ms());
        }
        wait_for(t, !sb->has_box);
        settle(t);
        assert_int_equal(look(t, id).state, CAY_STATE_ERROR);
        assert_int_equal(look(t, id).cause, CAY_CAUSE_ENGINE_LOST);
        assert_non_null(strstr(sb->cause_text, "agent_away"));
}

static void an_engine_that_lost_its_boxes(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];

        create(t, id);
        exec(t, id, x, "wait", NULL);
        fake_plan.relink_fails = CAY_UNAVAILABLE;
        fake_engine_vanish(t->engine, id, false);
        wait_for(t, look(t, id).state == CAY_STATE_ERROR);
        fake_plan.relink_fails = CAY_OK;
        assert_int_equal(wait_end(t, id, x).cause, CAY_CAUSE_ENGINE_LOST);
        assert_int_equal(look(t, id).cause, CAY_CAUSE_ENGINE_LOST);
        assert_int_equal(start(t, id), CAY_OK);
}

/* A box that breaks every stream it is given: asked less and less often, in error, and not lost. */
static void a_box_that_breaks_every_stream(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_service_health health;
        uint64_t begun = cay_clock_ms();

        fake_plan.script.lose_after_bytes = 1;
        create(t, id);
        exec(t, id, x, "count", "1000000", NULL);
        wait_for(t, (cay_service_health(t->service, &health), health.relinks >= 7));
        assert_true(cay_clock_ms() - begun >=
                    300); /* the waits between them: more than half of it is the last one's */
        fake_plan.script.lose_after_bytes = 0;
        assert_int_equal(wait_end(t, id, x).exit_code, 0);
        assert_int_equal(look_exec(t, id, x).out_bytes, 1000000);
}

static void memory_took_the_init(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];

        create(t, id);
        exec(t, id, x, "wait", NULL);
        fake_plan.stats.oom_kills = 1;
        fake_plan.gone_after_ms = 0;
        fake_engine_vanish_init(t->engine, id);
        assert_int_equal(wait_end(t, id, x).cause, CAY_CAUSE_MEMORY);
        assert_int_equal(look(t, id).state, CAY_STATE_ERROR);
        assert_int_equal(look(t, id).cause, CAY_CAUSE_MEMORY);
        assert_int_equal(fake_engine_boxes(), 0); /* what was left of it is away */
}

/* From the first word of its end to the record of it: whoever stops in between would leave another cause. */
static void an_end_is_settled_when_it_is_stored(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        assert_true(cay_service_is_settled(t->service));
        fake_engine_vanish(t->engine, id, true);
        assert_false(cay_service_is_settled(t->service));
        wait_for(t, cay_service_is_settled(t->service));
        restart(t);
        assert_int_equal(look(t, id).state, CAY_STATE_ERROR);
        assert_string_equal(look(t, id).cause_text, "the sandbox's init ended");
}

/* What was answered as taken, and does not fit into the link at once. */
static void input_is_settled_when_it_is_sent(void **state)
{
        static char much[100000];
        struct test *t = *state;
        struct cay_exec_input in = { .bytes = much, .len = sizeof(much), .eof = true };
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        int little = 4096;

        stop_pings(t);
        create(t, id);
        exec(t, id, x, "cat", NULL);
        settle(t);
        assert_int_equal(setsockopt(cay_table_find(t->service, id)->client->peer.fd, SOL_SOCKET, SO_SNDBUF,
                                    &little, sizeof(little)),
                         0);
        cay_job_init(&in.job, NULL);
        cay_service_exec_input(t->service, &me, id, x, &in);
        assert_null(in.exec);
        assert_int_equal(in.job.err.code, CAY_OK);
        assert_false(cay_service_is_settled(t->service));
        wait_for(t, cay_service_is_settled(t->service));
        restart(t);
        assert_int_equal(wait_end(t, id, x).exit_code, 0);
        assert_int_equal(look_exec(t, id, x).output_end, sizeof(much));
}

static int unread(const struct cay_sandbox *sb)
{
        int bytes = 0;

        assert_non_null(sb->client);
        assert_int_equal(ioctl(sb->client->peer.watch.fd, FIONREAD, &bytes), 0);
        return bytes;
}

/*
 * The grace for its last words passes while we stand still: the round that finds it over reads only its share
 * of them, and the end of the command lies behind that.
 */
static void last_words_are_heard_after_a_standstill(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "alternate", "600", NULL }; /* bytes, each in a frame of its own */
        struct cay_exec_new what = { .argv = argv };
        char id[CAY_NAME_MAX + 1];
        struct cay_exec_view view;
        struct cay_sandbox *sb;
        struct exec_call c;
        int all, round = 0;

        stop_pings(t);
        create(t, id);
        settle(t);
        sb = cay_table_find(t->service, id);
        exec_begin(t, id, &what, &c);
        wait_for(t, unread(sb) > 600 * ((int)CAY_FRAME_HEADER + 1)); /* it writes all of it at once */
        all = unread(sb);
        fake_engine_vanish(t->engine, id, true);
        assert_non_null(sb->gone_timer.loop);
        cay_timer_set(t->loop, &sb->gone_timer, 0, sb->gone_timer.on_time);
        while (cay_clock_ms() < sb->gone_timer.due_ms && round++ < ROUNDS)
                usleep(1000);
        assert_int_equal(unread(sb), all);
        assert_int_equal(cay_loop_round(t->loop, 0), 0);
        assert_true(unread(sb) > 0 && unread(sb) < all); /* else this shows nothing */
        wait_for(t, c.done);
        assert_int_equal(c.call.job.err.code, CAY_OK);
        view = wait_end(t, id, c.call.id);
        assert_int_equal(view.cause, CAY_CAUSE_EXITED);
        assert_int_equal(view.exit_code, 0);
        assert_int_equal(view.output_end, 600);
        wait_for(t, look(t, id).state == CAY_STATE_ERROR);
        assert_int_equal(look(t, id).cause, CAY_CAUSE_SANDBOX_GONE);
}

static void a_box_in_error_can_be_stopped_started_destroyed(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];

        for (unsigned i = 0; i < 3; i++) {
                fake_plan.script.mute = false;
                create(t, id);
                exec(t, id, x, "wait", NULL);
                fake_plan.script.mute = true;
                wait_for(t, look(t, id).state == CAY_STATE_ERROR);
                if (i == 0) {
                        assert_int_equal(change(t, stop, id), CAY_OK);
                        assert_int_equal(look(t, id).state, CAY_STATE_STOPPED);
                        assert_int_equal(wait_end(t, id, x).cause, CAY_CAUSE_KILLED);
                } else if (i == 1) {
                        fake_plan.script.mute = false;
                        assert_int_equal(start(t, id), CAY_OK);
                        assert_int_equal(wait_end(t, id, x).cause, CAY_CAUSE_SANDBOX_GONE);
                        wait_for(t, look(t, id).state == CAY_STATE_READY);
                        exec(t, id, x, "exit", "0", NULL);
                        wait_end(t, id, x);
                }
                fake_plan.script.mute = false;
                assert_int_equal(change(t, destroy, id), CAY_OK);
                assert_int_equal(fake_engine_boxes(), 0);
        }
}

/*
 * Another helper is there: links are had back at once, and freezers are as the store has them, whatever was
 * asked before without an answer.
 */
static void another_helper_is_told_what_is_right(void **state)
{
        struct test *t = *state;
        struct cay_engine_box box = { .link_fd = -1 };
        struct cay_job job;
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        fake_plan.relink_fails = CAY_UNAVAILABLE;
        fake_engine_cut_link(t->engine, id);
        wait_for(t, !look(t, id).linked);
        cay_job_init(&job, NULL);
        cay_str_copy(box.id, sizeof(box.id), id);
        t->engine->ops->freeze(t->engine, &box, &job);
        settle(t);
        assert_true(fake_engine_is_frozen(t->engine, id));
        fake_plan.relink_fails = CAY_OK;
        cay_service_engine_back(t->service, "fake");
        settle(t);
        assert_false(fake_engine_is_frozen(t->engine, id));
        wait_for(t, look(t, id).linked);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
        cay_service_engine_back(t->service, "nobody"); /* is none of ours */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_quick, teardown)
                TEST(pings_are_answered),
                TEST(a_mute_box_is_in_error_and_comes_back),
                TEST(an_error_is_told_once),
                TEST(paused_boxes_are_not_asked),
                TEST(misses_before_a_pause_are_forgotten),
                cmocka_unit_test(every_pair_of_phases),
                TEST(an_engine_that_is_away_and_back),
                TEST(a_machine_that_is_away_for_long),
                TEST(an_engine_that_lost_its_boxes),
                TEST(a_box_that_breaks_every_stream),
                TEST(memory_took_the_init),
                TEST(an_end_is_settled_when_it_is_stored),
                TEST(input_is_settled_when_it_is_sent),
                cmocka_unit_test_setup_teardown(last_words_are_heard_after_a_standstill, setup, teardown),
                TEST(a_box_in_error_can_be_stopped_started_destroyed),
                cmocka_unit_test_setup_teardown(another_helper_is_told_what_is_right, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
