/* SPDX-License-Identifier: Apache-2.0 */
/* Two ends in one process, joined by a queue of messages. */
#include "links/agent/agent_channels.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct end {
        struct agent_channels channels;
        struct message {
                struct message *next;
                size_t len;
                uint8_t bytes[AGENT_MAX];
        } * first, **last; /* sent, and not delivered */
        size_t queued;
        int outside; /* the other end of its channel's socket */
};

static struct cay_loop *loop;
static struct end ends[2];

static ssize_t keep(struct agent_channels *c, const void *bytes, size_t len)
{
        struct end *e = cay_container_of(c, struct end, channels);
        struct message *m = calloc(1, sizeof(*m));

        m->len = len;
        memcpy(m->bytes, bytes, len);
        *e->last = m;
        e->last = &m->next;
        e->queued += len;
        return (ssize_t)e->queued;
}

static int deliver(struct end *from, struct end *to, enum agent_side side)
{
        int r = 0;

        while (from->first && r == 0) {
                struct message *m = from->first;
                struct agent_message got;

                from->first = m->next;
                if (!from->first)
                        from->last = &from->first;
                from->queued -= m->len;
                r = agent_message_read(m->bytes, m->len, side, &got);
                if (r == 0)
                        r = agent_channels_hear(&to->channels, &got);
                free(m);
        }
        if (from->channels.held)
                agent_channels_drained(&from->channels);
        return r;
}

static void turn(void)
{
        cay_loop_round(loop, 0);
        assert_int_equal(deliver(&ends[0], &ends[1], AGENT_DAEMON), 0);
        assert_int_equal(deliver(&ends[1], &ends[0], AGENT_AGENT), 0);
}

static int set_up(void **state)
{
        loop = cay_loop_new();
        for (unsigned i = 0; i < 2; i++) {
                int pair[2];

                assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
                ends[i] = (struct end){ .channels = { .loop = loop, .send = keep }, .outside = pair[0] };
                ends[i].last = &ends[i].first;
                assert_int_equal(agent_channels_open_take(&ends[i].channels, 3, pair[1]), 0);
        }
        return 0;
}

static int tear_down(void **state)
{
        for (unsigned i = 0; i < 2; i++) {
                agent_channels_done(&ends[i].channels);
                if (ends[i].outside >= 0)
                        close(ends[i].outside);
                while (ends[i].first) {
                        struct message *m = ends[i].first;

                        ends[i].first = m->next;
                        free(m);
                }
        }
        cay_loop_free(loop);
        return 0;
}

static void bytes_pass_in_order(void **state)
{
        static uint8_t out[96 * 1024], in[sizeof(out)];
        size_t sent = 0, got = 0, total = 8u << 20;

        while (got < total) {
                ssize_t n;

                for (size_t i = 0; i < sizeof(out); i++)
                        out[i] = (uint8_t)((sent + i) * 7 >> 3);
                n = sent < total ? send(ends[0].outside, out,
                                        sizeof(out) < total - sent ? sizeof(out) : total - sent, MSG_DONTWAIT)
                                 : 0;
                if (n > 0)
                        sent += (size_t)n;
                turn();
                while ((n = recv(ends[1].outside, in, sizeof(in), MSG_DONTWAIT)) > 0) {
                        for (ssize_t i = 0; i < n; i++)
                                if (in[i] != (uint8_t)((got + (size_t)i) * 7 >> 3))
                                        fail_msg("byte %zu", got + (size_t)i);
                        got += (size_t)n;
                }
        }
        assert_int_equal(got, total);
}

/*
 * A reader that does not read stops its own sender: no more than a window is under way, and all of it arrives
 * later.
 */
static void a_slow_reader_stops_its_sender(void **state)
{
        static uint8_t some[65536];
        size_t sent = 0, before, got = 0;
        ssize_t n;

        do {
                before = sent;
                while ((n = send(ends[0].outside, some, sizeof(some), MSG_DONTWAIT)) > 0)
                        sent += (size_t)n;
                for (int i = 0; i < 20; i++)
                        turn();
        } while (sent > before);
        assert_in_range(sent, AGENT_WINDOW, 3 * AGENT_WINDOW);
        for (int quiet = 0; got < sent && quiet < 1000; quiet++) {
                while ((n = recv(ends[1].outside, some, sizeof(some), MSG_DONTWAIT)) > 0) {
                        got += (size_t)n;
                        quiet = 0;
                }
                turn();
        }
        assert_int_equal(got, sent);
}

static void an_end_follows_the_last_byte(void **state)
{
        char text[8] = "";

        assert_int_equal(send(ends[0].outside, "last", 4, 0), 4);
        close(ends[0].outside);
        ends[0].outside = -1;
        for (int i = 0; i < 10; i++)
                turn();
        assert_int_equal(recv(ends[1].outside, text, sizeof(text), MSG_DONTWAIT), 4);
        assert_int_equal(recv(ends[1].outside, text, sizeof(text), MSG_DONTWAIT), 0);
        assert_int_equal(ends[0].channels.count + ends[1].channels.count, 0);
}

static void more_than_the_window_is_refused(void **state)
{
        static const char piece[AGENT_DATA_MAX];
        struct agent_message m = { .type = AGENT_data, .number = 9, .data = { piece, AGENT_DATA_MAX } };

        assert_int_equal(agent_channels_open_take(&ends[0].channels, 9, -1), 0);
        assert_int_equal(agent_channels_open_take(&ends[0].channels, 9, -1), -EEXIST);
        for (unsigned i = 0; i < AGENT_WINDOW / AGENT_DATA_MAX; i++)
                assert_int_equal(agent_channels_hear(&ends[0].channels, &m), 0);
        assert_int_equal(agent_channels_hear(&ends[0].channels, &m), -EPROTO);
        m = (struct agent_message){ .type = AGENT_credit, .number = 9, .credit = 1 };
        assert_int_equal(agent_channels_hear(&ends[0].channels, &m), -EPROTO);
        m.number = 1000; /* one that is over, or never was */
        assert_int_equal(agent_channels_hear(&ends[0].channels, &m), 0);
}

/* What came before the socket was there waits for it. */
static void bytes_wait_for_their_socket(void **state)
{
        struct agent_message m = { .type = AGENT_data, .number = 9, .data = { "early", 5 } };
        char text[8] = "";
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
        assert_int_equal(agent_channels_open_take(&ends[0].channels, 9, -1), 0);
        assert_int_equal(agent_channels_hear(&ends[0].channels, &m), 0);
        assert_int_equal(agent_channels_attach_take(&ends[0].channels, 9, pair[1]), 0);
        assert_int_equal(recv(pair[0], text, sizeof(text), MSG_DONTWAIT), 5);
        assert_string_equal(text, "early");
        agent_channels_end(&ends[0].channels, 9);
        assert_int_equal(recv(pair[0], text, sizeof(text), MSG_DONTWAIT), 0);
        close(pair[0]);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                T(bytes_pass_in_order),          T(a_slow_reader_stops_its_sender),
                T(an_end_follows_the_last_byte), T(more_than_the_window_is_refused),
                T(bytes_wait_for_their_socket),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
