/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel against an init that is off the protocol, and owners that close or free in the middle of a
 * callback.
 */
#include "unit/links/box/box_test.h"

#include <errno.h>
#include <stdio.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/error.h"
#include "links/box/box_client.h"
#include "links/box/box_client_priv.h"

/* The test writes init's bytes itself. */
struct scene {
        struct cay_loop *loop;
        struct cay_box_client *client;
        struct cay_box_channel exec, stat, connect; /* numbers 1, 2, 3 */
        int fd;                                     /* init's end */
        unsigned lost, datas, opened, eofs, ends, rooms;
        int reason;
        uint64_t bytes;
        struct cay_box_end end;
        char msg[64];
        enum { NOTHING, CLOSE_IT, FREE_CLIENT, DROP } then;
};

static struct scene *scene; /* the one being played */

static void act(struct cay_box_channel *ch)
{
        switch (scene->then) {
        case CLOSE_IT:
                cay_box_channel_close(ch);
                break;
        case FREE_CLIENT:
                cay_box_client_free(scene->client);
                scene->client = NULL;
                break;
        case DROP:
                cay_box_client_drop(scene->client);
                break;
        case NOTHING:
                break;
        }
}

static void on_data(struct cay_box_channel *ch, enum cay_stream stream, const void *bytes, size_t len)
{
        scene->datas++;
        scene->bytes += len;
        cay_box_channel_ack(ch, stream, len);
        act(ch);
        cay_box_channel_ack(ch, stream, 0); /* of no effect on a closed one */
}

static void on_opened(struct cay_box_channel *ch, uint32_t pid)
{
        scene->opened++;
        act(ch);
}

static void on_eof(struct cay_box_channel *ch, enum cay_stream stream)
{
        scene->eofs++;
        act(ch);
}

static void on_room(struct cay_box_channel *ch)
{
        scene->rooms++;
        act(ch);
}

static void on_end(struct cay_box_channel *ch, const struct cay_box_end *end)
{
        scene->ends++;
        scene->end = *end;
        snprintf(scene->msg, sizeof(scene->msg), "%.*s", (int)end->msg.len, end->msg.ptr);
        act(ch);
        memset(ch, 0xee, sizeof(*ch)); /* the owner's again: nobody may look at it */
        ch->client = NULL;
}

static void on_lost(struct cay_box_client *c, int reason)
{
        scene->lost++;
        scene->reason = reason;
}

static void open_all(struct scene *s)
{
        static const char *const argv[] = { "cat", NULL };
        struct cay_box_open exec = { .kind = CAY_BOX_EXEC, .window = 4096 };
        struct cay_box_open stat = { .kind = CAY_BOX_STAT, .window = 4096, .file = { .path = { "/", 1 } } };
        struct cay_box_open tcp = { .kind = CAY_BOX_CONNECT, .window = 4096, .connect = { .port = 80 } };

        s->exec = (struct cay_box_channel){ .on_data = on_data,
                                            .on_opened = on_opened,
                                            .on_eof = on_eof,
                                            .on_room = on_room,
                                            .on_end = on_end };
        s->stat = s->connect = s->exec;
        s->connect.on_data = NULL;
        s->connect.on_eof = NULL;
        assert_int_equal(cay_box_channel_open(s->client, &s->exec, &exec, argv, NULL), 0);
        assert_int_equal(cay_box_channel_open(s->client, &s->stat, &stat, NULL, NULL), 0);
        assert_int_equal(cay_box_channel_open(s->client, &s->connect, &tcp, NULL, NULL), 0);
}

static void attach(struct scene *s)
{
        int fds[2];

        test_socketpair(fds, 0);
        assert_int_equal(cay_box_client_attach_take(s->client, fds[0]), 0);
        if (s->fd >= 0)
                close(s->fd);
        s->fd = fds[1];
}

static int setup(void **state)
{
        static const struct cay_box_client_events events = { .on_lost = on_lost };
        static const uint8_t secret[CAY_BOX_SECRET];

        scene = calloc(1, sizeof(*scene));
        scene->fd = -1;
        scene->loop = cay_loop_new();
        scene->client = cay_box_client_new(scene->loop, secret, &events, scene);
        open_all(scene);
        attach(scene);
        *state = scene;
        return 0;
}

static int teardown(void **state)
{
        struct scene *s = *state;

        cay_box_client_free(s->client);
        cay_loop_free(s->loop);
        close(s->fd);
        free(s);
        return 0;
}

static void say(struct scene *s, unsigned type, uint32_t channel, unsigned stream, uint64_t seq,
                const void *payload, size_t len)
{
        struct cay_frame f = { .len = (uint32_t)len,
                               .channel = channel,
                               .seq = seq,
                               .type = (uint16_t)type,
                               .stream = (uint16_t)stream };
        uint8_t header[CAY_FRAME_HEADER];

        cay_frame_encode(&f, header);
        assert_int_equal(send(s->fd, header, sizeof(header), MSG_NOSIGNAL), sizeof(header));
        if (len > 0)
                assert_int_equal(send(s->fd, payload, len, MSG_NOSIGNAL), len);
}

static void run(struct scene *s)
{
        for (int i = 0; i < 5; i++)
                assert_int_equal(cay_loop_round(s->loop, 0), 0);
}

static void say_welcome(struct scene *s)
{
        struct cay_box_welcome w = { .version = CAY_BOX_VERSION };
        uint8_t payload[8];

        cay_box_welcome_encode(&w, payload, sizeof(payload));
        say(s, CAY_FRAME_WELCOME, 0, 0, 0, payload, sizeof(payload));
}

static void say_opened(struct scene *s, uint32_t channel, uint64_t in_got)
{
        struct cay_box_opened m = { .pid = 9, .in_got = in_got };
        uint8_t payload[16];

        cay_box_opened_encode(&m, payload, sizeof(payload));
        say(s, CAY_FRAME_OPENED, channel, 0, 0, payload, sizeof(payload));
}

static void say_end(struct scene *s, uint32_t channel, uint16_t kind)
{
        struct cay_box_end m = { .kind = kind, .code = CAY_NOT_FOUND, .msg = { "no such thing", 13 } };
        uint8_t payload[256];
        int len;

        if (kind == CAY_BOX_EXEC)
                m.exec.last_denied = -1;
        len = cay_box_end_encode(&m, payload, sizeof(payload));
        say(s, CAY_FRAME_END, channel, 0, 0, payload, (size_t)len);
}

static void say_data(struct scene *s, uint32_t channel, unsigned stream, uint64_t seq, size_t len)
{
        static const uint8_t bytes[8192];

        say(s, CAY_FRAME_DATA, channel, stream, seq, bytes, len);
}

static void begin(struct scene *s)
{
        say_welcome(s);
        say_opened(s, 1, 0);
        say_opened(s, 2, 0);
        say_opened(s, 3, 0);
        run(s);
        assert_int_equal(s->opened, 3);
        assert_int_equal(s->lost, 0);
}

static void expect_breach(struct scene *s)
{
        run(s);
        assert_int_equal(s->lost, 1);
        assert_int_equal(s->reason, -EPROTO);
        assert_false(cay_box_client_is_attached(s->client));
        /* No more than the stream is gone: the channels go on over another one. */
        assert_true(cay_box_channel_is_open(&s->connect));
        s->lost = 0;
        attach(s);
        say_welcome(s);
        run(s);
        assert_int_equal(s->lost, 0);
        assert_true(cay_box_client_is_attached(s->client));
}

#define BREACH(name, before, ...)                                                                            \
        static void name(void **state)                                                                       \
        {                                                                                                    \
                struct scene *s = *state;                                                                    \
                before(s);                                                                                   \
                __VA_ARGS__;                                                                                 \
                expect_breach(s);                                                                            \
        }

static void nothing(struct scene *s)
{
}

BREACH(no_welcome, nothing, say_opened(s, 1, 0))
BREACH(pong_before_welcome, nothing, say(s, CAY_FRAME_PONG, 0, 0, 0, "12345678", 8))
BREACH(welcome_twice, begin, say_welcome(s))
BREACH(bad_welcome, nothing, say(s, CAY_FRAME_WELCOME, 0, 0, 0, "\1\0\0\0\1\0\0\0", 8))
BREACH(pong_that_nobody_asked_for, begin, say(s, CAY_FRAME_PONG, 0, 0, 0, "12345678", 8))
BREACH(channel_never_given_out, begin, say_data(s, 4, CAY_STREAM_OUT, 0, 1))
BREACH(data_before_opened, say_welcome, say_data(s, 1, CAY_STREAM_OUT, 0, 1))
BREACH(eof_before_opened, say_welcome, say(s, CAY_FRAME_EOF, 1, CAY_STREAM_OUT, 0, NULL, 0))
BREACH(ack_before_opened, say_welcome, say(s, CAY_FRAME_ACK, 1, CAY_STREAM_IN, 0, NULL, 0))
BREACH(opened_twice, begin, say_opened(s, 1, 0))
BREACH(opened_with_input_never_sent, say_welcome, say_opened(s, 1, 1))
BREACH(a_gap, begin, say_data(s, 1, CAY_STREAM_OUT, 1, 1))
BREACH(more_than_the_window, begin, say_data(s, 1, CAY_STREAM_OUT, 0, 4097))
BREACH(data_on_in, begin, say_data(s, 1, CAY_STREAM_IN, 0, 1))
BREACH(output_of_a_stat, begin, say_data(s, 2, CAY_STREAM_OUT, 0, 1))
BREACH(stderr_of_a_port, begin, say_data(s, 3, CAY_STREAM_ERR, 0, 1))
BREACH(eof_with_bytes_missing, begin, say(s, CAY_FRAME_EOF, 1, CAY_STREAM_OUT, 5, NULL, 0))
BREACH(data_behind_eof, begin, say(s, CAY_FRAME_EOF, 1, CAY_STREAM_OUT, 0, NULL, 0);
       say_data(s, 1, CAY_STREAM_OUT, 0, 1))
BREACH(eof_of_another_length, begin, say(s, CAY_FRAME_EOF, 1, CAY_STREAM_OUT, 0, NULL, 0);
       say_data(s, 1, CAY_STREAM_ERR, 0, 3); say(s, CAY_FRAME_EOF, 1, CAY_STREAM_ERR, 3, NULL, 0);
       say(s, CAY_FRAME_EOF, 1, CAY_STREAM_ERR, 4, NULL, 0))
BREACH(ack_of_input_never_sent, begin, say(s, CAY_FRAME_ACK, 1, CAY_STREAM_IN, 1, NULL, 0))
BREACH(end_of_another_kind, begin, say_end(s, 1, CAY_BOX_STAT))
BREACH(end_that_is_no_end, begin, say(s, CAY_FRAME_END, 1, 0, 0, "nonsense", 8))
BREACH(frame_of_the_front, begin, say(s, CAY_FRAME_CLOSE, 1, 0, 0, NULL, 0))
BREACH(unknown_frame, begin, say(s, 99, 1, 0, 0, NULL, 0))
BREACH(empty_data, begin, say(s, CAY_FRAME_DATA, 1, CAY_STREAM_OUT, 0, NULL, 0))

static void say_length_too_long(struct scene *s)
{
        static const uint8_t header[CAY_FRAME_HEADER] = {
                1, 0, 1, 0, 1, 0, 0, 0, [16] = CAY_FRAME_DATA, [18] = 1
        };

        assert_int_equal(send(s->fd, header, sizeof(header), 0), sizeof(header));
}

BREACH(length_is_refused_before_the_payload_comes, begin, say_length_too_long(s))

/* On a new stream init must not know less of IN than it acknowledged before. */
static void opened_that_forgets_input(void **state)
{
        struct scene *s = *state;

        begin(s);
        assert_int_equal(cay_box_channel_write(&s->exec, "abcdef", 6), 6);
        say(s, CAY_FRAME_ACK, 1, CAY_STREAM_IN, 4, NULL, 0);
        run(s);
        attach(s);
        say_welcome(s);
        say_opened(s, 1, 3);
        expect_breach(s);
}

/* A channel that we have not named on this stream yet, for want of room, cannot be answered. */
static void an_answer_before_the_question(void **state)
{
        struct cay_box_open open = { .kind = CAY_BOX_EXEC, .window = 4096 };
        struct cay_box_channel many[8] = { 0 };
        struct scene *s = *state;
        char *large = malloc(250000);

        begin(s);
        memset(large, 'a', 249999);
        large[249999] = '\0';
        for (int i = 0; i < 8; i++)
                assert_int_equal(cay_box_channel_open(s->client, &many[i], &open,
                                                      (const char *const[]){ large, NULL }, NULL),
                                 0);
        free(large);
        assert_false(many[7].introduced);
        say_opened(s, many[7].number, 0);
        expect_breach(s);
        for (int i = 0; i < 8; i++)
                cay_box_channel_close(&many[i]);
}

static void frames_of_closed_channels_are_ignored(void **state)
{
        struct scene *s = *state;

        begin(s);
        cay_box_channel_close(&s->exec);
        say_data(s, 1, CAY_STREAM_OUT, 77, 10);
        say_end(s, 1, CAY_BOX_EXEC);
        say_end(s, 1, CAY_BOX_EXEC);
        say_end(s, 2, CAY_BOX_STAT);
        say_end(s, 2, CAY_BOX_STAT); /* a second END */
        run(s);
        assert_int_equal(s->lost, 0);
        assert_int_equal(s->datas, 0);
        assert_int_equal(s->ends, 1);
        assert_string_equal(s->msg, "no such thing");
        assert_int_equal(s->end.code, CAY_NOT_FOUND);
}

static void a_refused_open_ends_without_opened(void **state)
{
        struct scene *s = *state;

        say_welcome(s);
        say_end(s, 1, CAY_BOX_EXEC);
        run(s);
        assert_int_equal(s->ends, 1);
        assert_int_equal(s->opened, 0);
        assert_int_equal(s->lost, 0);
}

static void an_early_end_waits_for_the_streams(void **state)
{
        struct scene *s = *state;

        begin(s);
        say_data(s, 1, CAY_STREAM_OUT, 0, 10);
        say_data(s, 1, CAY_STREAM_ERR, 0, 5);
        say_end(s, 1, CAY_BOX_EXEC);
        run(s);
        assert_int_equal(s->ends, 0);
        say_end(s, 1, CAY_BOX_EXEC); /* twice is once */
        say_data(s, 1, CAY_STREAM_OUT, 10, 10);
        say(s, CAY_FRAME_EOF, 1, CAY_STREAM_OUT, 20, NULL, 0);
        run(s);
        assert_int_equal(s->ends, 0);
        attach(s); /* it is kept over a lost stream */
        say_welcome(s);
        say_opened(s, 1, 0);
        say(s, CAY_FRAME_EOF, 1, CAY_STREAM_ERR, 5, NULL, 0);
        run(s);
        assert_int_equal(s->ends, 1);
        assert_string_equal(s->msg, "no such thing");
        assert_int_equal(s->bytes, 25);
        assert_int_equal(s->lost, 0);
}

static void without_on_data_bytes_count_as_consumed(void **state)
{
        struct scene *s = *state;

        begin(s);
        say_data(s, 3, CAY_STREAM_OUT, 0, 4096);
        run(s);
        say_data(s, 3, CAY_STREAM_OUT, 4096, 4096);
        say(s, CAY_FRAME_EOF, 3, CAY_STREAM_OUT, 8192, NULL, 0);
        say_end(s, 3, CAY_BOX_CONNECT);
        run(s);
        assert_int_equal(s->lost, 0);
        assert_int_equal(s->ends, 1);
}

/*
 * Each event of a channel, with an owner that closes, frees or drops right there. More frames follow in the
 * same read.
 */
static void owners_may_do_anything_in_callbacks(void **state)
{
        for (int then = CLOSE_IT; then <= DROP; then++) {
                for (int event = 0; event < 6; event++) {
                        struct scene *s;
                        unsigned total;

                        setup((void **)&s);
                        if (event > 0)
                                begin(s);
                        s->opened = 0;
                        switch (event) {
                        case 0:
                                say_welcome(s);
                                say_opened(s, 1, 0);
                                break;
                        case 1:
                                say_data(s, 1, CAY_STREAM_OUT, 0, 10);
                                say_data(s, 1, CAY_STREAM_OUT, 10, 10);
                                break;
                        case 2:
                                say(s, CAY_FRAME_EOF, 1, CAY_STREAM_OUT, 0, NULL, 0);
                                break;
                        case 3:
                                say_end(s, 1, CAY_BOX_EXEC);
                                break;
                        case 4: /* an END that was kept, and an on_eof that acts first */
                                say_data(s, 1, CAY_STREAM_OUT, 0, 10);
                                say_end(s, 1, CAY_BOX_EXEC);
                                run(s);
                                s->datas = 0;
                                say(s, CAY_FRAME_EOF, 1, CAY_STREAM_OUT, 10, NULL, 0);
                                break;
                        case 5: {
                                static const uint8_t many[5000];

                                assert_int_equal(cay_box_channel_write(&s->exec, many, 5000), 4096);
                                run(s);
                                say(s, CAY_FRAME_ACK, 1, CAY_STREAM_IN, 4000, NULL, 0);
                                break;
                        }
                        }
                        say_data(s, 1, CAY_STREAM_OUT, 0, 10);
                        s->then = then;
                        if (event == 0)
                                say_opened(s, 3, 0);
                        run(s);
                        total = s->datas + s->opened + s->eofs + s->ends + s->rooms;
                        assert_true(total >= 1 && total <= 3);
                        if (then == FREE_CLIENT) {
                                assert_null(s->client);
                                assert_int_equal(total, 1);
                        }
                        s->then = NOTHING;
                        teardown((void **)&s);
                }
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(no_welcome),
                TEST(pong_before_welcome),
                TEST(welcome_twice),
                TEST(bad_welcome),
                TEST(pong_that_nobody_asked_for),
                TEST(channel_never_given_out),
                TEST(data_before_opened),
                TEST(eof_before_opened),
                TEST(ack_before_opened),
                TEST(opened_twice),
                TEST(opened_with_input_never_sent),
                TEST(a_gap),
                TEST(more_than_the_window),
                TEST(data_on_in),
                TEST(output_of_a_stat),
                TEST(stderr_of_a_port),
                TEST(eof_with_bytes_missing),
                TEST(data_behind_eof),
                TEST(eof_of_another_length),
                TEST(ack_of_input_never_sent),
                TEST(end_of_another_kind),
                TEST(end_that_is_no_end),
                TEST(frame_of_the_front),
                TEST(unknown_frame),
                TEST(empty_data),
                TEST(length_is_refused_before_the_payload_comes),
                TEST(opened_that_forgets_input),
                TEST(an_answer_before_the_question),
                TEST(frames_of_closed_channels_are_ignored),
                TEST(a_refused_open_ends_without_opened),
                TEST(an_early_end_waits_for_the_streams),
                TEST(without_on_data_bytes_count_as_consumed),
                cmocka_unit_test(owners_may_do_anything_in_callbacks),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
