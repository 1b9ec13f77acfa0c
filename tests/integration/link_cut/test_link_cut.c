/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real box link of a real box, cut again and again while it is in use: no byte is lost, doubled or
 * changed either way, no process grows. As root; the box is the native engine's.
 *
 * Cuts are made by the number of bytes that have come, at places that a seeded row spreads, so that a failure
 * can be had again. Between two of them at least one DATA frame goes through whole: a link that is lost more
 * often than that makes no progress, by design.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "integration/link_cut/flow.h"

#define OUT_BYTES 100000000ull
#define ERR_BYTES 4000000ull
#define IN_BYTES 20000000ull
#define SEED 20u /* of where the cuts are */
#define CUTS 100u
#define IN_CUTS 40u

static int setup(void **state)
{
        rig_prepare(&rig);
        return 0;
}

static int teardown(void **state)
{
        return rig_close(&rig);
}

/* Not in setup: what a test that fails has made is cleaned up, what a setup that fails has made is not. */
static void on_a_box(void)
{
        if (geteuid() != 0) {
                print_message("making a box needs root\n");
                skip();
        }
        rig_open(&rig, SEED);
}

static void output_survives_a_hundred_cuts(void **state)
{
        static struct flow f;
        struct growth g;

        on_a_box();
        growth_begin(&rig, &g);
        flow_begin_emit(&f, OUT_BYTES, ERR_BYTES);
        f.drops_at_eof = 2;
        flow_run(&f, CUTS, OUT_BYTES + ERR_BYTES, &g);
        assert_exited(&f, 0);
        assert_stream(&f.out, "stdout", 0, OUT_BYTES);
        assert_stream(&f.err, "stderr", 0, ERR_BYTES);
        assert_int_equal(f.end.exec.out_bytes, OUT_BYTES);
        assert_int_equal(f.end.exec.err_bytes, ERR_BYTES);
        assert_int_equal(f.end.exec.cut_bytes, 0);
        print_message("%u links lost\n", rig.cuts);

        /* The CLOSE may be lost too: it is said again, and then init has forgotten the channel. */
        for (unsigned i = 0; i < 2; i++) {
                rig_cut(&rig, CUT_DROP);
                rig_mend(&rig);
                rig_await_welcome(&rig);
                rig_await_read(&rig);
        }
        assert_int_equal(rig.welcome.count, 0);
        rig_settle(&rig);
        growth_end(&rig, &g);
        flow_end(&f);
}

static void input_survives_cuts(void **state)
{
        const char *const argv[] = { rig_program(), "echo", NULL };
        static struct flow f;
        struct growth g;
        char hash[32];

        on_a_box();
        growth_begin(&rig, &g);
        flow_begin(&f, LINK_CUT_SEED_IN, CAY_BOX_STDIN, argv);
        f.to_send = IN_BYTES;
        flow_feed(&f);
        flow_run(&f, IN_CUTS, IN_BYTES, &g);
        assert_exited(&f, 0);
        assert_int_equal(f.sent, IN_BYTES);
        assert_stream(&f.out, "what came back", 0, IN_BYTES);
        /* And as the command itself saw it. */
        snprintf(hash, sizeof(hash), "%016llx\n",
                 (unsigned long long)link_cut_pattern_hash(LINK_CUT_SEED_IN, 0, IN_BYTES));
        assert_string_equal((const char *)f.text, hash);
        rig_settle(&rig);
        growth_end(&rig, &g);
        flow_end(&f);
}

/*
 * The other half of the stalled watcher: a strict one that does not read stops the command, and cuts give it
 * no more room.
 */
static void a_strict_watcher_that_stalls_stops_the_command(void **state)
{
        static struct flow f;

        on_a_box();
        flow_begin_emit(&f, 10000000, 400000);
        f.is_reader_held = true;
        while (f.came[CAY_STREAM_OUT] < CAY_BOX_WINDOW)
                rig_round(&rig);
        for (unsigned i = 0; i < 2 * CUT_COUNT; i++) {
                rig_cut(&rig, i % CUT_COUNT);
                rig_mend(&rig);
                rig_rounds(&rig, 30); /* in which nothing more may come */
                rig_mend(&rig);
        }
        rig_settle(&rig);
        assert_int_equal(f.came[CAY_STREAM_OUT], CAY_BOX_WINDOW);
        assert_true(f.received <= 2 * CAY_BOX_WINDOW);
        assert_false(f.ended);
        flow_run(&f, 3, 10400000, NULL);
        assert_exited(&f, 0);
        assert_stream(&f.out, "stdout", 0, 10000000);
        assert_stream(&f.err, "stderr", 0, 400000);
        flow_end(&f);
}

static bool is_listed(uint32_t number)
{
        for (uint32_t i = 0; i < rig.welcome.count; i++)
                if (rig.welcome.channels[i] == number)
                        return true;
        return false;
}

static void greet_anew(void)
{
        rig_restart_front(&rig);
        rig_await_welcome(&rig);
}

/* The box's own list of processes: true if one of channel `number` runs `word`. */
static bool is_running(uint32_t number, const char *word)
{
        static struct flow f;
        bool found = false;

        flow_begin_processes(&f);
        rig_wait(&rig, &f.ended);
        assert_int_equal(f.end.code, CAY_OK);
        for (char *line = cay_buf_data(&f.held[CAY_STREAM_OUT]); line != NULL; line = strchr(line, '\n')) {
                unsigned pid, parent, channel;
                char state, command[1024];

                line += line[0] == '\n';
                if (sscanf(line, "%u %u %u %c %1023[^\n]", &pid, &parent, &channel, &state, command) == 5 &&
                    channel == number)
                        found |= strstr(command, word) != NULL;
        }
        flow_end(&f);
        return found;
}

/* OPENED comes when there is a process, which becomes the program a moment later. */
static void await_running(uint32_t number, const char *word)
{
        while (!is_running(number, word))
                rig_rounds(&rig, 10);
}

static int exit_of(const char *command, uint32_t *ret_number)
{
        const char *const argv[] = { "/bin/sh", "-c", command, NULL };
        static struct flow f;

        flow_begin(&f, 0, 0, argv);
        *ret_number = f.ch.number;
        rig_wait(&rig, &f.ended);
        flow_end(&f);
        return f.end.exec.exit_code;
}

/*
 * A front that has lost all it knew: commands of the one before go on, are named, and new ones do not meet
 * them.
 */
static void a_new_front_finds_what_the_old_one_left(void **state)
{
        const char *const wait_argv[] = { rig_program(), "wait", NULL };
        const char *const brief_argv[] = { "/bin/sh", "-c", "exit 3", NULL };
        static struct flow waiting, stuck, brief;
        uint32_t waiting_number, stuck_number, brief_number, number;

        on_a_box();
        flow_begin(&waiting, 0, 0, wait_argv);
        flow_begin_emit(&stuck, 10000000, 0);
        stuck.is_reader_held = true;
        rig_wait(&rig, &waiting.opened);
        while (stuck.received < CAY_BOX_WINDOW)
                rig_round(&rig);
        waiting_number = waiting.ch.number;
        stuck_number = stuck.ch.number;
        greet_anew();
        assert_int_equal(rig.welcome.count, 2);
        assert_true(is_listed(waiting_number));
        assert_true(is_listed(stuck_number));
        assert_false(cay_box_channel_is_open(&waiting.ch)); /* freeing the front detached them */
        assert_int_equal(exit_of("exit 7", &number), 7);
        assert_true(number > waiting_number && number > stuck_number);
        await_running(waiting_number, "wait");
        assert_true(is_running(stuck_number, "emit"));

        /*
         * Never closed: listed to the next front; once it has ended, what a front does not name is forgotten.
         */
        flow_begin(&brief, 0, 0, brief_argv);
        brief_number = brief.ch.number;
        rig_await_read(&rig);
        rig_cut(&rig, CUT_DROP); /* the OPEN has arrived, nothing came back */
        greet_anew();
        assert_false(brief.ended);
        assert_true(is_listed(brief_number));
        rig_cut(&rig, CUT_BREAK);
        while (rig.is_attached)
                rig_round(&rig);
        do /* as many as greet until it has ended; the one after that is the last to hear of it */
                greet_anew();
        while (is_listed(brief_number));
        assert_true(is_listed(waiting_number));
        assert_true(is_running(waiting_number, "wait"));
        assert_true(is_running(stuck_number, "emit"));
        flow_end(&waiting);
        flow_end(&stuck);
        flow_end(&brief);
}

/* A command over a wire that breaks `bytes` behind the next one to go through. */
static void begin_on_wire(struct flow *f, unsigned flags, const char *word, uint64_t bytes)
{
        const char *const argv[] = { rig_program(), word, NULL };

        rig_through_wire(&rig, RELAY_ENDLESS, RELAY_ENDLESS);
        flow_begin(f, LINK_CUT_SEED_IN, flags, argv);
        rig_wait(&rig, &f->opened); /* nothing else is under way now */
        relay_limit(&rig.wire, RELAY_TO_INIT, bytes);
}

/* Where in a frame of 20 bytes and its payload the wire breaks: before it, in it, behind it. */
static const uint64_t places[] = { 0, 1, 19, 20, 22, 23, 24 };

static void a_kill_is_not_lost(void **state)
{
        on_a_box();
        for (unsigned i = 0; i < CAY_COUNT(places); i++) {
                static struct flow f;

                begin_on_wire(&f, 0, "wait", places[i]);
                assert_int_equal(cay_box_channel_kill(&f.ch, CAY_KILLED_ASKED), 0);
                flow_finish(&f);
                assert_int_equal(f.end.exec.killed, CAY_KILLED_ASKED);
                assert_int_equal(f.end.exec.signal, SIGKILL);
                flow_end(&f);
        }
}

static void a_signal_is_delivered_once_at_most(void **state)
{
        on_a_box();
        for (unsigned i = 0; i < CAY_COUNT(places); i++) {
                static struct flow f;
                bool arrived = places[i] >= 24;

                begin_on_wire(&f, 0, "wait", places[i]);
                assert_int_equal(cay_box_channel_signal(&f.ch, SIGTERM), 0);
                while (rig.is_attached)
                        rig_round(&rig);
                rig_mend(&rig);
                if (!arrived) {
                        rig_rounds(&rig, 100);
                        assert_false(f.ended);
                        /* the link is sound: the next one comes through */
                        assert_int_equal(cay_box_channel_signal(&f.ch, SIGTERM), 0);
                }
                flow_finish(&f);
                assert_int_equal(f.end.exec.signal, SIGTERM);
                assert_int_equal(f.end.exec.killed, CAY_KILLED_NOT);
                flow_end(&f);
        }
}

/* Asked for while there is no link at all: said on the next one. */
static void what_is_asked_without_a_link_is_said_later(void **state)
{
        const char *const argv[] = { rig_program(), "wait", NULL };
        static struct flow killed, signalled, late, closed;
        uint32_t number;

        on_a_box();
        flow_begin(&closed, 0, 0, argv);
        flow_begin(&killed, 0, 0, argv);
        flow_begin(&signalled, 0, 0, argv);
        rig_wait(&rig, &killed.opened);
        rig_wait(&rig, &signalled.opened);
        rig_wait(&rig, &closed.opened);
        number = closed.ch.number;
        await_running(number, "wait");
        rig_cut(&rig, CUT_DROP);
        flow_end(&closed);
        assert_int_equal(cay_box_channel_kill(&killed.ch, CAY_KILLED_ASKED), 0);
        assert_int_equal(cay_box_channel_signal(&signalled.ch, SIGTERM), 0);
        flow_begin(&late, 0, 0, argv);
        assert_int_equal(cay_box_channel_kill(&late.ch, CAY_KILLED_WALL_TIME), 0);
        flow_finish(&killed);
        flow_finish(&signalled);
        flow_finish(&late);
        assert_int_equal(killed.end.exec.killed, CAY_KILLED_ASKED);
        assert_int_equal(signalled.end.exec.signal, SIGTERM);
        assert_int_equal(late.end.exec.killed, CAY_KILLED_WALL_TIME);
        while (is_running(number, "wait")) /* WELCOME has named it, so the CLOSE was said after all */
                rig_rounds(&rig, 10);
        flow_end(&killed);
        flow_end(&signalled);
        flow_end(&late);
}

static void the_end_of_input_is_not_lost(void **state)
{
        /* DATA of 1000 bytes, then EOF: the wire breaks in either. */
        static const uint64_t at[] = { 0, 7, 20, 520, 1019, 1020, 1021, 1039, 1040 };
        uint8_t bytes[1000];

        on_a_box();
        link_cut_pattern(LINK_CUT_SEED_IN, 0, bytes, sizeof(bytes));
        for (unsigned i = 0; i < CAY_COUNT(at); i++) {
                static struct flow f;

                begin_on_wire(&f, CAY_BOX_STDIN, "echo", at[i]);
                assert_int_equal(cay_box_channel_write(&f.ch, bytes, sizeof(bytes)), sizeof(bytes));
                cay_box_channel_write_eof(&f.ch);
                flow_finish(&f);
                assert_exited(&f, 0);
                assert_stream(&f.out, "what came back", 0, sizeof(bytes));
                flow_end(&f);
        }
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                TEST(output_survives_a_hundred_cuts),
                TEST(input_survives_cuts),
                TEST(a_strict_watcher_that_stalls_stops_the_command),
                TEST(a_new_front_finds_what_the_old_one_left),
                TEST(a_kill_is_not_lost),
                TEST(a_signal_is_delivered_once_at_most),
                TEST(what_is_asked_without_a_link_is_said_later),
                TEST(the_end_of_input_is_not_lost),
        };

        link_cut_box_side(argc, argv);
        return cmocka_run_group_tests_name("link cut", tests, NULL, NULL);
}
