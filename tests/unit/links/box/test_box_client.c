/* SPDX-License-Identifier: Apache-2.0 */
/* The front's side over streams that come and go, against a small init that keeps to the book. */
#include "unit/links/box/fake_init.h"
#include "unit/links/box/relay.h"

#include <stdio.h>
#include <time.h>

#include "links/box/box_client.h"
#include "links/box/box_client_priv.h"

#define DEADLINE_ROUNDS 3000000

struct owner { /* of a client and a few channels */
        struct cay_loop *loop;
        struct cay_box_client *client;
        struct fake_init fake;
        unsigned lost, welcomes, pongs;
        int reason;
        uint64_t token;
        struct cay_box_welcome welcome;
};

struct user { /* of a channel */
        struct cay_box_channel ch;
        uint64_t hash[CAY_STREAM_COUNT], got[CAY_STREAM_COUNT], owed[CAY_STREAM_COUNT];
        uint64_t in_total, in_written;
        unsigned opened, eofs, ends, rooms;
        bool lazy; /* acknowledges later */
        int exit_code;
        uint32_t killed, pid;
};

static void on_lost(struct cay_box_client *c, int reason)
{
        struct owner *o = cay_box_client_ctx(c);

        o->lost++;
        o->reason = reason;
}

static void on_welcome(struct cay_box_client *c, const struct cay_box_welcome *w)
{
        struct owner *o = cay_box_client_ctx(c);

        o->welcomes++;
        o->welcome = *w;
}

static void on_pong(struct cay_box_client *c, uint64_t token)
{
        struct owner *o = cay_box_client_ctx(c);

        o->pongs++;
        o->token = token;
}

static const struct cay_box_client_events events = { .on_lost = on_lost,
                                                     .on_welcome = on_welcome,
                                                     .on_pong = on_pong };

static void on_data(struct cay_box_channel *ch, enum cay_stream stream, const void *bytes, size_t len)
{
        struct user *u = cay_container_of(ch, struct user, ch);

        assert_true(stream == CAY_STREAM_OUT || stream == CAY_STREAM_ERR);
        assert_int_equal(u->ends, 0);
        u->hash[stream] = test_hash(u->hash[stream], bytes, len);
        u->got[stream] += len;
        u->owed[stream] += len;
        assert_true(u->owed[stream] <= ch->window);
        if (!u->lazy) {
                cay_box_channel_ack(ch, stream, u->owed[stream]);
                u->owed[stream] = 0;
        }
}

static void on_opened(struct cay_box_channel *ch, uint32_t pid)
{
        struct user *u = cay_container_of(ch, struct user, ch);

        u->opened++;
        u->pid = pid;
}

static void on_eof(struct cay_box_channel *ch, enum cay_stream stream)
{
        struct user *u = cay_container_of(ch, struct user, ch);

        assert_int_equal(u->ends, 0);
        u->eofs++;
}

static void on_end(struct cay_box_channel *ch, const struct cay_box_end *end)
{
        struct user *u = cay_container_of(ch, struct user, ch);

        assert_false(cay_box_channel_is_open(ch));
        u->ends++;
        if (end->kind == CAY_BOX_EXEC) {
                u->exit_code = end->exec.exit_code;
                u->killed = end->exec.killed;
        }
}

static void feed(struct user *u)
{
        uint8_t bytes[5000];

        while (u->in_written < u->in_total) {
                size_t want = u->in_total - u->in_written < sizeof(bytes) ? u->in_total - u->in_written
                                                                          : sizeof(bytes);
                size_t put;

                test_fill(0, u->in_written, bytes, want);
                put = cay_box_channel_write(&u->ch, bytes, want);
                u->in_written += put;
                if (put < want)
                        return;
        }
        if (u->in_total > 0)
                cay_box_channel_write_eof(&u->ch);
}

static void on_room(struct cay_box_channel *ch)
{
        struct user *u = cay_container_of(ch, struct user, ch);

        u->rooms++;
        feed(u);
}

static void user_open(struct owner *o, struct user *u, uint32_t window)
{
        static const char *const argv[] = { "seq", "10", NULL };
        struct cay_box_open open = { .kind = CAY_BOX_EXEC, .window = window };

        *u = (struct user){ .ch = { .on_data = on_data,
                                    .on_opened = on_opened,
                                    .on_eof = on_eof,
                                    .on_room = on_room,
                                    .on_end = on_end },
                            .hash = { TEST_HASH_START, TEST_HASH_START, TEST_HASH_START } };
        assert_int_equal(cay_box_channel_open(o->client, &u->ch, &open, argv, NULL), 0);
}

static int setup(void **state)
{
        struct owner *o = calloc(1, sizeof(*o));
        uint8_t secret[CAY_BOX_SECRET];

        memset(secret, 0x5c, sizeof(secret));
        o->loop = cay_loop_new();
        o->client = cay_box_client_new(o->loop, secret, &events, o);
        fake_init_start(&o->fake, o->loop);
        *state = o;
        return o->loop && o->client ? 0 : -1;
}

static int teardown(void **state)
{
        struct owner *o = *state;

        cay_box_client_free(o->client);
        fake_init_stop(&o->fake);
        cay_loop_free(o->loop);
        free(o);
        return 0;
}

static void join(struct owner *o)
{
        int fds[2];

        test_socketpair(fds, 0);
        fake_init_stream(&o->fake, fds[1]);
        assert_int_equal(cay_box_client_attach_take(o->client, fds[0]), 0);
}

static void run(struct owner *o, int rounds)
{
        while (rounds-- > 0)
                assert_int_equal(cay_loop_round(o->loop, 0), 0);
}

#define RUN_UNTIL(o, cond)                                                                                   \
        do {                                                                                                 \
                int left_ = DEADLINE_ROUNDS;                                                                 \
                while (!(cond)) {                                                                            \
                        assert_true(left_-- > 0);                                                            \
                        assert_int_equal(cay_loop_round((o)->loop, 0), 0);                                   \
                }                                                                                            \
        } while (0)

static void makes_output(struct fake_init *f, struct fake_channel *ch, const struct cay_box_open *open)
{
        ch->left[CAY_STREAM_OUT] = 1000000;
        ch->left[CAY_STREAM_ERR] = 5000;
        ch->exit_code = 3;
}

static void an_exec_from_open_to_end(void **state)
{
        struct owner *o = *state;
        static struct user u;

        o->fake.on_open = makes_output;
        user_open(o, &u, 65536);
        join(o);
        RUN_UNTIL(o, u.ends > 0);
        assert_int_equal(u.opened, 1);
        assert_int_equal(u.pid, 101);
        assert_int_equal(u.eofs, 2);
        assert_int_equal(u.exit_code, 3);
        assert_int_equal(u.got[CAY_STREAM_OUT], 1000000);
        assert_true(u.hash[CAY_STREAM_OUT] == test_pattern_hash(3 + CAY_STREAM_OUT, 1000000));
        assert_true(u.hash[CAY_STREAM_ERR] == test_pattern_hash(3 + CAY_STREAM_ERR, 5000));
        run(o, 10);
        assert_int_equal(o->fake.closes, 1); /* END was answered */
        assert_int_equal(o->lost, 0);
        assert_int_equal(o->fake.syncs, 1);
}

/* HELLO, SYNC, OPEN and IN are on their way before init has said a word. */
static void nothing_waits_for_welcome(void **state)
{
        struct owner *o = *state;
        static struct user u;
        int fds[2];

        test_socketpair(fds, 0);
        assert_int_equal(cay_box_client_attach_take(o->client, fds[0]), 0);
        user_open(o, &u, 4096);
        u.in_total = 3000;
        feed(&u);
        run(o, 3);
        fake_init_stream(&o->fake, fds[1]);
        /* The socket holds all of it: init alone can go to the end of IN. */
        for (int i = 0; i < 5; i++)
                o->fake.peer.watch.on_event(&o->fake.peer.watch, EPOLLIN);
        assert_true(fake_find(&o->fake, 1)->in.eof);
        assert_true(fake_find(&o->fake, 1)->in_hash == test_pattern_hash(0, 3000));
        RUN_UNTIL(o, u.ends > 0);
}

static void opens_without_a_stream_and_many_at_once(void **state)
{
        struct owner *o = *state;
        static struct user u[FAKE_CHANNELS];

        o->fake.on_open = makes_output;
        for (int i = 0; i < FAKE_CHANNELS; i++)
                user_open(o, &u[i], 4096 + (uint32_t)i * 999);
        run(o, 3);
        join(o);
        for (int i = 0; i < FAKE_CHANNELS; i++)
                RUN_UNTIL(o, u[i].ends > 0);
        for (uint32_t i = 0; i < FAKE_CHANNELS; i++)
                assert_true(u[i].hash[CAY_STREAM_OUT] ==
                            test_pattern_hash((i + 1) * 3 + CAY_STREAM_OUT, 1000000));
}

static void a_slow_reader_stops_the_writer(void **state)
{
        struct owner *o = *state;
        struct fake_channel *ch;
        static struct user u;

        o->fake.on_open = makes_output;
        user_open(o, &u, 8192);
        u.lazy = true;
        join(o);
        run(o, 200);
        ch = fake_find(&o->fake, 1);
        assert_int_equal(u.got[CAY_STREAM_OUT], 8192);
        assert_int_equal(ch->out[CAY_STREAM_OUT].written, 8192);
        cay_box_channel_ack(&u.ch, CAY_STREAM_OUT, 100); /* too little to be worth saying */
        run(o, 50);
        assert_int_equal(u.got[CAY_STREAM_OUT], 8192);
        u.owed[CAY_STREAM_OUT] -= 8192 - 4000;
        cay_box_channel_ack(&u.ch, CAY_STREAM_OUT, 8192 - 4000 - 100);
        run(o, 50);
        assert_int_equal(u.got[CAY_STREAM_OUT], 8192 + 8192 - 4000);
        u.lazy = false;
        cay_box_channel_ack(&u.ch, CAY_STREAM_OUT, u.owed[CAY_STREAM_OUT]);
        u.owed[CAY_STREAM_OUT] = 0;
        cay_box_channel_ack(&u.ch, CAY_STREAM_ERR, u.owed[CAY_STREAM_ERR]);
        u.owed[CAY_STREAM_ERR] = 0;
        RUN_UNTIL(o, u.ends > 0);
        assert_int_equal(u.got[CAY_STREAM_OUT], 1000000);
}

static void waits_for_input(struct fake_init *f, struct fake_channel *ch, const struct cay_box_open *open)
{
        ch->wants_in_eof = true;
}

static void input_is_windowed_and_complete(void **state)
{
        struct owner *o = *state;
        static struct user u;

        o->fake.on_open = waits_for_input;
        o->fake.seed = 99;
        user_open(o, &u, 4096);
        u.in_total = 500000;
        join(o);
        feed(&u);
        assert_int_equal(u.in_written, 4096);
        RUN_UNTIL(o, u.in_written == u.in_total);
        assert_true(u.rooms > 10);
        RUN_UNTIL(o, fake_find(&o->fake, 1) == NULL || fake_find(&o->fake, 1)->in.eof);
        RUN_UNTIL(o, u.ends > 0);
}

static void holds_on(struct fake_init *f, struct fake_channel *ch, const struct cay_box_open *open)
{
        ch->holds_end = true;
}

static void kills_signals_and_sizes_outlive_the_stream(void **state)
{
        struct owner *o = *state;
        struct fake_channel *ch;
        static struct user u;

        o->fake.on_open = holds_on;
        join(o);
        user_open(o, &u, 4096);
        RUN_UNTIL(o, u.opened);
        ch = fake_find(&o->fake, 1);
        assert_int_equal(cay_box_channel_signal(&u.ch, 2), 0);
        RUN_UNTIL(o, ch->signals == 2);
        ch->signals = 0;

        cay_box_client_drop(o->client);
        assert_false(cay_box_client_is_attached(o->client));
        assert_int_equal(cay_box_channel_signal(&u.ch, 15), 0);
        assert_int_equal(cay_box_channel_signal(&u.ch, 1), 0);
        assert_int_equal(cay_box_channel_resize(&u.ch, 50, 132), 0);
        assert_int_equal(cay_box_channel_signal(&u.ch, 0), -EINVAL);
        assert_int_equal(cay_box_channel_signal(&u.ch, 65), -EINVAL);
        assert_int_equal(cay_box_channel_kill(&u.ch, CAY_KILLED_NOT), -EINVAL);
        assert_int_equal(cay_box_channel_resize(&u.ch, 1 << 16, 1), -EINVAL);
        join(o);
        RUN_UNTIL(o, ch->signals == (1u << 14 | 1u));
        assert_int_equal(ch->rows, 50);
        assert_int_equal(ch->cols, 132);
        assert_int_equal(ch->resizes, 1);

        ch->signals = 0;
        join(o); /* signals are said once, the size each time */
        RUN_UNTIL(o, ch->resizes == 2);
        assert_int_equal(ch->signals, 0);

        cay_box_client_drop(o->client);
        assert_int_equal(cay_box_channel_kill(&u.ch, CAY_KILLED_WALL_TIME), 0);
        assert_int_equal(cay_box_channel_kill(&u.ch, CAY_KILLED_ASKED), 0); /* the first reason stands */
        join(o);
        RUN_UNTIL(o, u.ends > 0);
        assert_int_equal(u.killed, CAY_KILLED_WALL_TIME);
        assert_int_equal(cay_box_channel_kill(&u.ch, CAY_KILLED_ASKED), -ENOTCONN);
        assert_int_equal(cay_box_channel_signal(&u.ch, 9), -ENOTCONN);
        assert_int_equal(cay_box_channel_resize(&u.ch, 1, 1), -ENOTCONN);
}

/* OPENED and everything after it were lost: OPEN is said again and nothing runs twice. */
static void an_open_that_arrived_is_not_run_again(void **state)
{
        struct owner *o = *state;
        static struct user u;
        int fds[2];

        o->fake.on_open = makes_output;
        user_open(o, &u, 65536);
        test_socketpair(fds, 0);
        assert_int_equal(cay_box_client_attach_take(o->client, fds[0]), 0);
        fake_init_stream(&o->fake, fds[1]);
        o->fake.peer.watch.on_event(&o->fake.peer.watch, EPOLLIN);
        assert_non_null(fake_find(&o->fake, 1));
        join(o); /* the client has not read a byte of the first stream */
        RUN_UNTIL(o, u.opened);
        assert_int_equal(fake_find(&o->fake, 1)->opens, 2);
        RUN_UNTIL(o, u.ends > 0);
        assert_int_equal(u.opened, 1);
        assert_true(u.hash[CAY_STREAM_OUT] == test_pattern_hash(3 + CAY_STREAM_OUT, 1000000));
}

static void channels_closed_without_a_stream_are_closed_later(void **state)
{
        struct owner *o = *state;
        static struct user u, v;

        o->fake.on_open = holds_on;
        join(o);
        user_open(o, &u, 4096);
        user_open(o, &v, 4096);
        RUN_UNTIL(o, u.opened && v.opened);
        cay_box_client_drop(o->client);
        cay_box_channel_close(&u.ch);
        cay_box_channel_close(&u.ch);
        assert_false(cay_box_channel_is_open(&u.ch));
        join(o);
        RUN_UNTIL(o, o->fake.closes == 1);
        assert_null(fake_find(&o->fake, 1));
        assert_non_null(fake_find(&o->fake, 2));
        cay_box_channel_close(&v.ch);
        RUN_UNTIL(o, o->fake.closes == 2);
        assert_int_equal(u.ends + v.ends, 0);
        assert_int_equal(o->lost, 0);
}

static void numbers_of_an_earlier_front_are_left_alone(void **state)
{
        struct owner *o = *state;
        static struct user u;

        o->fake.channels[0] = (struct fake_channel){ .number = 41, .kind = CAY_BOX_EXEC };
        o->fake.on_open = holds_on;
        join(o);
        RUN_UNTIL(o, o->welcomes == 1);
        assert_int_equal(o->welcome.count, 1);
        assert_int_equal(o->welcome.channels[0], 41);
        user_open(o, &u, 4096);
        RUN_UNTIL(o, u.opened);
        assert_int_equal(u.ch.number, 42);
        join(o);
        RUN_UNTIL(o, o->welcomes == 2);
        run(o, 10);
        assert_int_equal(o->fake.closes, 0);
        o->fake.channels[0].number = 0;
}

static void pings_are_answered(void **state)
{
        struct owner *o = *state;

        assert_int_equal(cay_box_client_ping(o->client, 1), -ENOTCONN);
        join(o);
        assert_int_equal(cay_box_client_ping(o->client, 0x1122334455667788), 0);
        RUN_UNTIL(o, o->pongs == 1);
        assert_true(o->token == 0x1122334455667788);
}

/* An older init repeats the question: it knows what there was before the question. */
static void kinds_are_asked_for(void **state)
{
        struct owner *o = *state;

        cay_box_client_ask_kinds(o->client); /* nobody is there to be asked */
        join(o);
        assert_int_equal(cay_box_client_kinds(o->client), 0);
        cay_box_client_ask_kinds(o->client);
        RUN_UNTIL(o, cay_box_client_kinds(o->client) > 0);
        assert_int_equal(cay_box_client_kinds(o->client), CAY_BOX_KINDS_UNTOLD);
        assert_int_equal(o->pongs, 0); /* it is none of the owner's pings */
        cay_box_client_ask_kinds(o->client);
        run(o, 10);
        assert_int_equal(o->fake.pings, 1); /* once is enough */
}

static void a_wrong_secret_or_version_ends_the_stream(void **state)
{
        struct owner *o = *state;

        o->fake.secret[31] ^= 1;
        join(o);
        RUN_UNTIL(o, o->lost == 1);
        assert_int_equal(o->reason, 0);
        assert_int_equal(o->fake.refused, 1);
        assert_int_equal(o->welcomes, 0);

        o->fake.secret[31] ^= 1;
        o->fake.version = CAY_BOX_VERSION + 1;
        join(o);
        RUN_UNTIL(o, o->lost == 2);
        assert_int_equal(o->reason, -EPROTONOSUPPORT);
}

static void limits_hold(void **state)
{
        static struct user u[CAY_BOX_CHANNELS_MAX + 1];
        static const char *const argv[] = { "x", NULL };
        struct cay_box_open open = { .kind = CAY_BOX_EXEC, .window = 4096 };
        struct owner *o = *state;
        char *huge = malloc(300000);

        memset(huge, 'a', 300000);
        huge[299999] = '\0';
        assert_int_equal(cay_box_channel_open(o->client, &u[0].ch, &open, (const char *const[]){ huge, NULL },
                                              NULL),
                         -EMSGSIZE);
        huge[200000] = '\0';
        assert_int_equal(cay_box_channel_open(o->client, &u[0].ch, &open, (const char *const[]){ huge, NULL },
                                              NULL),
                         0);
        free(huge);
        cay_box_channel_close(&u[0].ch);
        open.window = 1;
        assert_int_equal(cay_box_channel_open(o->client, &u[0].ch, &open, argv, NULL), -EINVAL);
        open.window = 4096;
        for (size_t i = 0; i < CAY_BOX_CHANNELS_MAX; i++)
                assert_int_equal(cay_box_channel_open(o->client, &u[i].ch, &open, argv, NULL), 0);
        assert_int_equal(cay_box_channel_open(o->client, &u[CAY_BOX_CHANNELS_MAX].ch, &open, argv, NULL),
                         -ENOSPC);
        cay_box_channel_close(&u[7].ch);
        assert_int_equal(cay_box_channel_open(o->client, &u[CAY_BOX_CHANNELS_MAX].ch, &open, argv, NULL), 0);
        assert_int_equal(o->client->channel_count, CAY_BOX_CHANNELS_MAX);
}

/* More OPENs than the stream's buffers hold: the rest goes when there is room, and SYNC after all of them. */
static void opens_wait_for_room(void **state)
{
        struct cay_box_open open = { .kind = CAY_BOX_EXEC, .window = 4096 };
        static struct user u[FAKE_CHANNELS];
        struct owner *o = *state;
        char *large = malloc(250000);
        int fds[2];

        o->fake.on_open = holds_on;
        memset(large, 'a', 250000);
        large[249999] = '\0';
        for (int i = 0; i < FAKE_CHANNELS; i++) {
                u[i].ch.on_opened = on_opened;
                assert_int_equal(cay_box_channel_open(o->client, &u[i].ch, &open,
                                                      (const char *const[]){ large, NULL }, NULL),
                                 0);
        }
        free(large);
        test_socketpair(fds, 8192);
        assert_int_equal(cay_box_client_attach_take(o->client, fds[0]), 0);
        run(o, 10);
        assert_false(o->client->sync_sent);
        fake_init_stream(&o->fake, fds[1]);
        for (int i = 0; i < FAKE_CHANNELS; i++)
                RUN_UNTIL(o, u[i].opened);
        RUN_UNTIL(o, o->fake.syncs == 1);
        assert_int_equal(o->lost, 0);
}

static void says_last_words(struct fake_init *f, struct fake_channel *ch, const struct cay_box_open *open)
{
        ch->left[CAY_STREAM_OUT] = 100000; /* all of it is in the socket before anybody reads */
}

/* A box that says END and is gone, while our ACKs find nobody: nothing of it may be lost. */
static void last_words_are_heard(void **state)
{
        struct owner *o = *state;
        static struct user u;
        int fds[2];

        o->fake.on_open = says_last_words;
        user_open(o, &u, 131072);
        test_socketpair(fds, 0);
        assert_int_equal(cay_box_client_attach_take(o->client, fds[0]), 0);
        fake_init_stream(&o->fake, fds[1]);
        for (int i = 0; i < 1000 && !(fake_find(&o->fake, 1) && fake_find(&o->fake, 1)->end_sent &&
                                      cay_peer_is_flushed(&o->fake.peer));
             i++)
                o->fake.peer.watch.on_event(&o->fake.peer.watch, EPOLLIN | EPOLLOUT);
        assert_true(fake_find(&o->fake, 1)->end_sent);
        assert_true(cay_peer_is_flushed(&o->fake.peer));
        fake_cut(&o->fake);
        RUN_UNTIL(o, o->lost == 1);
        assert_int_equal(u.ends, 1);
        assert_int_equal(u.got[CAY_STREAM_OUT], 100000);
        assert_true(u.hash[CAY_STREAM_OUT] == test_pattern_hash(3 + CAY_STREAM_OUT, 100000));
}

enum { CUT_OUT = 24 << 20, CUT_ERR = 2 << 20, CUT_IN = 3 << 20 };

static void works_hard(struct fake_init *f, struct fake_channel *ch, const struct cay_box_open *open)
{
        ch->left[CAY_STREAM_OUT] = CUT_OUT;
        ch->left[CAY_STREAM_ERR] = CUT_ERR;
        ch->wants_in_eof = true;
        ch->exit_code = 7;
}

/* The wire breaks hundreds of times, at any byte, both ways, with readers that take their time. */
static void hundreds_of_cuts_lose_nothing(void **state)
{
        struct owner *o = *state;
        uint64_t seed = 0xfeedbeef;
        struct relay relay = { 0 };
        uint64_t in_hash = 0;
        unsigned streams = 0;
        static struct user u;

        o->fake.on_open = works_hard;
        o->fake.seed = 77;
        user_open(o, &u, 48 * 1024 + 5);
        u.lazy = true;
        u.in_total = CUT_IN;
        feed(&u);
        while (u.ends == 0) {
                struct fake_channel *ch = fake_find(&o->fake, 1);

                if (!cay_box_client_is_attached(o->client)) {
                        int fds[2];

                        relay_cut(&relay);
                        relay_start(&relay, o->loop, 1 + test_random(&seed, 90000),
                                    1 + test_random(&seed, 90000), fds);
                        o->fake.piece_max = 1 + test_random(&seed, CAY_FRAME_DATA_MAX);
                        fake_init_stream(&o->fake, fds[1]);
                        assert_int_equal(cay_box_client_attach_take(o->client, fds[0]), 0);
                        streams++;
                        assert_true(streams < 10000);
                }
                assert_int_equal(cay_loop_round(o->loop, 0), 0);
                for (int i = CAY_STREAM_OUT; i < CAY_STREAM_COUNT && u.ends == 0; i++) {
                        uint32_t some = test_random(&seed, (uint32_t)u.owed[i] + 1);

                        if (test_random(&seed, 3) == 0)
                                some = (uint32_t)u.owed[i];
                        cay_box_channel_ack(&u.ch, i, some);
                        u.owed[i] -= some;
                }
                ch = fake_find(&o->fake, 1);
                if (ch) {
                        fake_consume(&o->fake, ch);
                        if (ch->in.eof)
                                in_hash = ch->in_hash;
                        assert_int_equal(ch->kind, CAY_BOX_EXEC);
                }
                /* Memory: one window per stream, one frame and one read in, the queue out. */
                assert_true(o->client->peer.in.cap <= CAY_FRAME_HEADER + CAY_FRAME_MAX + 128 * 1024);
                assert_true(o->client->peer.out.cap <= 512 * 1024);
                assert_true(u.ch.in.written - u.ch.in.acked <= u.ch.window);
        }
        relay_cut(&relay);
        print_message("%u streams\n", streams);
        assert_true(streams > 300);
        assert_int_equal(u.exit_code, 7);
        assert_int_equal(u.opened, 1);
        assert_int_equal(u.ends, 1);
        assert_int_equal(u.got[CAY_STREAM_OUT], CUT_OUT);
        assert_int_equal(u.got[CAY_STREAM_ERR], CUT_ERR);
        assert_true(u.hash[CAY_STREAM_OUT] == test_pattern_hash(3 + CAY_STREAM_OUT, CUT_OUT));
        assert_true(u.hash[CAY_STREAM_ERR] == test_pattern_hash(3 + CAY_STREAM_ERR, CUT_ERR));
        assert_true(in_hash == test_pattern_hash(0, CUT_IN));
}

/* The stream breaks once at every single byte of a short conversation, on either side. */
static void a_cut_at_every_byte(void **state)
{
        for (unsigned side = 0; side < 2; side++) {
                for (uint64_t at = 0; at < 420; at++) {
                        struct owner *o;
                        struct relay relay;
                        static struct user u;
                        int fds[2];

                        assert_int_equal(setup((void **)&o), 0);
                        o->fake.on_open = waits_for_input;
                        user_open(o, &u, 4096);
                        u.in_total = 30;
                        relay_start(&relay, o->loop, side ? 1000000 : at, side ? at : 1000000, fds);
                        fake_init_stream(&o->fake, fds[1]);
                        assert_int_equal(cay_box_client_attach_take(o->client, fds[0]), 0);
                        feed(&u);
                        for (int i = 0; i < 2000 && u.ends == 0; i++) {
                                if (!cay_box_client_is_attached(o->client))
                                        join(o);
                                run(o, 1);
                        }
                        assert_int_equal(u.ends, 1);
                        assert_int_equal(u.opened, 1);
                        relay_cut(&relay);
                        teardown((void **)&o);
                }
        }
}

static void floods(struct fake_init *f, struct fake_channel *ch, const struct cay_box_open *open)
{
        ch->left[CAY_STREAM_OUT] = UINT64_MAX;
        ch->blank = true;
}

static void count_data(struct cay_box_channel *ch, enum cay_stream stream, const void *bytes, size_t len)
{
        struct user *u = cay_container_of(ch, struct user, ch);

        u->got[stream] += len;
        cay_box_channel_ack(ch, stream, len);
}

/* 100 MB from an init's ring to the owner; printed, not judged: machines differ. */
static void a_flood(void **state)
{
        enum { TOTAL = 100 * 1000 * 1000 };
        struct owner *o = *state;
        struct timespec from, to;
        static struct user u;
        uint64_t us;

        o->fake.on_open = floods;
        user_open(o, &u, CAY_BOX_WINDOW);
        u.ch.on_data = count_data;
        join(o);
        RUN_UNTIL(o, u.opened);
        clock_gettime(CLOCK_MONOTONIC, &from);
        RUN_UNTIL(o, u.got[CAY_STREAM_OUT] >= TOTAL || o->lost > 0);
        clock_gettime(CLOCK_MONOTONIC, &to);
        us = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000 + (uint64_t)((to.tv_nsec - from.tv_nsec) / 1000);
        print_message("100 MB in %u ms\n", (unsigned)(us / 1000));
        assert_int_equal(o->lost, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Adoption: a front goes without a word, another one comes to the same init. */

static void change_front(struct owner *o, bool awaits)
{
        uint8_t secret[CAY_BOX_SECRET];

        memset(secret, 0x5c, sizeof(secret));
        cay_box_client_free(o->client);
        run(o, 20);
        o->client = cay_box_client_new(o->loop, secret, &events, o);
        assert_non_null(o->client);
        if (awaits)
                cay_box_client_await_welcome(o->client);
}

static struct cay_box_adoption from_user(const struct user *u, uint32_t number)
{
        return (struct cay_box_adoption){ .number = number,
                                          .kind = CAY_BOX_EXEC,
                                          .window = 65536,
                                          .out_got = u->got[CAY_STREAM_OUT],
                                          .err_got = u->got[CAY_STREAM_ERR] };
}

static struct user *adopts_in_welcome; /* channel 1 is this one's; all others are refused */
static uint32_t refused_in_welcome;

static void on_adopting_welcome(struct cay_box_client *c, const struct cay_box_welcome *w)
{
        struct cay_box_adoption from;

        on_welcome(c, w);
        assert_true(cay_box_client_awaits_welcome(c));
        for (uint32_t i = 0; i < w->count; i++) {
                if (w->channels[i] != 1) {
                        cay_box_client_refuse(c, w->channels[i]);
                        refused_in_welcome++;
                        continue;
                }
                from = from_user(adopts_in_welcome, 1);
                adopts_in_welcome->owed[CAY_STREAM_OUT] = adopts_in_welcome->owed[CAY_STREAM_ERR] = 0;
                assert_int_equal(cay_box_channel_adopt(c, &adopts_in_welcome->ch, &from), 0);
                assert_true(cay_box_client_has_channel(c, 1));
        }
}

static void become_adopter(struct owner *o, struct user *u)
{
        static const struct cay_box_client_events adopting = { .on_lost = on_lost,
                                                               .on_welcome = on_adopting_welcome,
                                                               .on_pong = on_pong };
        uint8_t secret[CAY_BOX_SECRET];

        memset(secret, 0x5c, sizeof(secret));
        cay_box_client_free(o->client);
        run(o, 20);
        o->client = cay_box_client_new(o->loop, secret, &adopting, o);
        cay_box_client_await_welcome(o->client);
        adopts_in_welcome = u;
        u->ch.client = NULL;
        refused_in_welcome = 0;
        join(o);
}

static void a_channel_is_adopted_from_its_last_byte(void **state)
{
        struct owner *o = *state;
        static struct user u, fresh;

        o->fake.on_open = makes_output;
        o->fake.piece_max = 3000;
        user_open(o, &u, 65536);
        join(o);
        for (int fronts = 0; fronts < 30 && u.ends == 0; fronts++) {
                RUN_UNTIL(o, u.ends > 0 || u.got[CAY_STREAM_OUT] > (uint64_t)(fronts + 1) * 30000);
                if (u.ends == 0)
                        become_adopter(o, &u);
        }
        RUN_UNTIL(o, u.ends > 0);
        assert_int_equal(u.exit_code, 3);
        assert_int_equal(u.got[CAY_STREAM_OUT], 1000000);
        assert_true(u.hash[CAY_STREAM_OUT] == test_pattern_hash(3 + CAY_STREAM_OUT, 1000000));
        assert_true(u.hash[CAY_STREAM_ERR] == test_pattern_hash(3 + CAY_STREAM_ERR, 5000));
        assert_true(u.opened > 10); /* told once by each front */
        assert_int_equal(o->lost, 0);
        user_open(o, &fresh, 4096); /* above all that were taken */
        assert_int_equal(cay_box_channel_number(&fresh.ch), 2);
        RUN_UNTIL(o, fresh.ends > 0);
}

static void adopted_input_goes_on_where_init_is(void **state)
{
        struct owner *o = *state;
        static struct user u;

        o->fake.on_open = waits_for_input;
        user_open(o, &u, 65536);
        join(o);
        u.in_total = 100000;
        test_fill(0, 0, (uint8_t[100]){ 0 }, 100);
        {
                uint8_t bytes[1000];

                test_fill(0, 0, bytes, sizeof(bytes));
                assert_int_equal(cay_box_channel_write(&u.ch, bytes, sizeof(bytes)), sizeof(bytes));
        }
        RUN_UNTIL(o, fake_find(&o->fake, 1) && fake_find(&o->fake, 1)->in.got == 1000);
        become_adopter(o, &u);
        assert_int_equal(cay_box_channel_write(&u.ch, "", 0), 0);
        RUN_UNTIL(o, cay_box_channel_is_open(&u.ch));
        u.in_written = 1000; /* as the one before knew */
        u.rooms = 0;
        feed(&u); /* not before init has said how much it has: on_room goes on */
        RUN_UNTIL(o, u.in_written == u.in_total);
        assert_true(u.rooms > 0);
        RUN_UNTIL(o, fake_find(&o->fake, 1) == NULL || fake_find(&o->fake, 1)->in.eof);
        if (fake_find(&o->fake, 1))
                assert_true(fake_find(&o->fake, 1)->in_hash == test_pattern_hash(0, 100000));
        RUN_UNTIL(o, u.ends > 0);
        assert_int_equal(o->lost, 0);
}

static void what_is_not_adopted_is_refused(void **state)
{
        struct owner *o = *state;
        static struct user u, others[3];

        o->fake.on_open = holds_on;
        user_open(o, &u, 65536);
        join(o);
        for (int i = 0; i < 3; i++)
                user_open(o, &others[i], 65536);
        RUN_UNTIL(o, u.opened && others[2].opened);
        become_adopter(o, &u);
        RUN_UNTIL(o, o->fake.syncs == 2);
        assert_int_equal(refused_in_welcome, 3);
        assert_null(fake_find(&o->fake, 2));
        assert_null(fake_find(&o->fake, 4));
        assert_non_null(fake_find(&o->fake, 1));
        assert_int_equal(cay_box_channel_kill(&u.ch, CAY_KILLED_ASKED), 0);
        RUN_UNTIL(o, fake_find(&o->fake, 1)->kills == 1);
}

static void an_adopter_says_hello_alone(void **state)
{
        struct owner *o = *state;
        int fds[2];

        change_front(o, true);
        test_socketpair(fds, 0);
        assert_int_equal(cay_box_client_attach_take(o->client, fds[0]), 0);
        run(o, 10);
        fake_init_stream(&o->fake, fds[1]);
        /* One read takes all there is: HELLO, and no SYNC that would let init forget results. */
        for (int i = 0; i < 3; i++)
                o->fake.peer.watch.on_event(&o->fake.peer.watch, EPOLLIN);
        assert_int_equal(o->fake.syncs, 0);
        RUN_UNTIL(o, o->fake.syncs == 1);
        assert_false(cay_box_client_awaits_welcome(o->client));
        assert_int_equal(o->welcomes, 1);
}

static void bad_adoptions(void **state)
{
        struct owner *o = *state;
        static struct user u, v;
        struct cay_box_adoption from;

        o->fake.on_open = holds_on;
        user_open(o, &u, 65536);
        join(o);
        RUN_UNTIL(o, u.opened);
        from = from_user(&u, 1);
        assert_int_equal(cay_box_channel_adopt(o->client, &v.ch, &from), -EEXIST);
#define BAD(field, value)                                                                                    \
        from = from_user(&u, 1);                                                                             \
        from.field = value;                                                                                  \
        assert_int_equal(cay_box_channel_adopt(o->client, &v.ch, &from), -EINVAL)
        BAD(number, 0);
        BAD(number, 2); /* was never given out */
        BAD(kind, 0);
        BAD(kind, CAY_BOX_KIND_COUNT);
        BAD(window, 1);
        BAD(window, CAY_BOX_WINDOW_MAX + 1);
        BAD(out_got, UINT64_MAX);
        BAD(err_got, UINT64_MAX);
        assert_false(cay_box_channel_is_open(&v.ch));
}

/* The result is init's to keep until its owner has seen it. */
static struct owner *end_owner;
static unsigned closes_at_end;

static void on_end_counting(struct cay_box_channel *ch, const struct cay_box_end *end)
{
        on_end(ch, end);
        run(end_owner, 0);
        closes_at_end = end_owner->fake.closes;
        assert_int_equal(end_owner->client->close_count, 1);
}

static void close_comes_after_the_end_was_seen(void **state)
{
        struct owner *o = *state;
        static struct user u;

        end_owner = o;
        closes_at_end = 99;
        user_open(o, &u, 65536);
        u.ch.on_end = on_end_counting;
        join(o);
        RUN_UNTIL(o, u.ends > 0);
        assert_int_equal(closes_at_end, 0);
        RUN_UNTIL(o, o->fake.closes == 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(an_exec_from_open_to_end),
                TEST(nothing_waits_for_welcome),
                TEST(opens_without_a_stream_and_many_at_once),
                TEST(a_slow_reader_stops_the_writer),
                TEST(input_is_windowed_and_complete),
                TEST(kills_signals_and_sizes_outlive_the_stream),
                TEST(an_open_that_arrived_is_not_run_again),
                TEST(channels_closed_without_a_stream_are_closed_later),
                TEST(numbers_of_an_earlier_front_are_left_alone),
                TEST(pings_are_answered),
                TEST(kinds_are_asked_for),
                TEST(a_wrong_secret_or_version_ends_the_stream),
                TEST(limits_hold),
                TEST(opens_wait_for_room),
                TEST(last_words_are_heard),
                TEST(hundreds_of_cuts_lose_nothing),
                TEST(a_channel_is_adopted_from_its_last_byte),
                TEST(adopted_input_goes_on_where_init_is),
                TEST(what_is_not_adopted_is_refused),
                TEST(an_adopter_says_hello_alone),
                TEST(bad_adoptions),
                TEST(close_comes_after_the_end_was_seen),
                cmocka_unit_test(a_cut_at_every_byte),
                TEST(a_flood),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
