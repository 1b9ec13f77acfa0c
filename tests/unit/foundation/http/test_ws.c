/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebSockets: the handshake on a real connection, and messages, holding, pings and goodbyes on a duplex in
 * the test's hands.
 */
#include "unit/foundation/http/http_test.h"

#include "foundation/http/ws.h"
#include "unit/foundation/http/fake_duplex.h"

static struct fake_duplex fake;
static struct cay_ws ws;
static char story[512];
static size_t take; /* bytes that on_message takes at once */
static unsigned drains;
static bool echoes, accept_ws;

static void note(const char *fmt, ...) CAY_PRINTF(1, 2);

static void note(const char *fmt, ...)
{
        size_t len = strlen(story);
        va_list ap;

        va_start(ap, fmt);
        if (len && len < sizeof(story) - 1)
                story[len++] = ' ';
        vsnprintf(story + len, sizeof(story) - len, fmt, ap);
        va_end(ap);
}

static size_t on_message(struct cay_ws *w, enum cay_ws_opcode kind, const void *bytes, size_t len)
{
        size_t n = len < take ? len : take;

        if (echoes) {
                cay_ws_send(w, kind, bytes, len);
                return len;
        }
        note("%c:%.*s", kind == CAY_WS_TEXT ? 'T' : 'B', (int)n, (const char *)bytes);
        return n;
}

static void on_drain(struct cay_ws *w)
{
        drains++;
}

static void on_closed(struct cay_ws *w, unsigned code, const char *reason)
{
        note("closed:%u:%s", code, reason);
}

static const struct cay_ws_ops ops = { .on_message = on_message,
                                       .on_drain = on_drain,
                                       .on_closed = on_closed };
static const struct cay_ws_options options = { .message_max = 1 << 20 };

static void on_request(struct cay_http_server *s, struct cay_http_request *req)
{
        const struct cay_http_fault *fault = cay_ws_check(req);
        const char *protocol = cay_ws_offers(req, "tty") ? "tty" : NULL;

        if (fault) {
                if (fault->status == 426)
                        assert_int_equal(cay_http_response_add(req, "Sec-WebSocket-Version", "13"), 0);
                cay_http_response_send(req, fault->status, NULL, fault->text, strlen(fault->text));
                return;
        }
        if (accept_ws)
                assert_int_equal(cay_ws_accept(&ws, req, rig.loop, protocol, &options, &ops), 0);
        else
                cay_http_response_send(req, 403, NULL, "", 0);
}

static const struct cay_http_server_ops server_ops = { .on_request = on_request,
                                                       .make_error = test_make_error };

static int setup(void **state)
{
        memset(&ws, 0, sizeof(ws));
        story[0] = '\0';
        take = SIZE_MAX;
        drains = 0;
        echoes = false;
        accept_ws = true;
        test_setup(state);
        cay_http_server_free(rig.server);
        rig.config.ops = &server_ops;
        test_start();
        fake_duplex_init(&fake);
        return 0;
}

static int teardown(void **state)
{
        cay_ws_abort(&ws);
        cay_buf_done(&fake.wrote);
        return test_teardown(state);
}

/* Frames as a client sends them. */
static const uint8_t key[4] = { 1, 2, 3, 4 };

static size_t frame(uint8_t *to, enum cay_ws_opcode opcode, const void *bytes, size_t len)
{
        size_t n = cay_ws_header(to, opcode, true, len, key);

        cay_ws_mask(to + n, bytes, len, key, 0);
        return n + len;
}

static void say(enum cay_ws_opcode opcode, const void *bytes, size_t len)
{
        static uint8_t bytes_[1 << 21];

        fake_duplex_say(&fake, bytes_, frame(bytes_, opcode, bytes, len));
        test_rounds(3);
}

static void open_fake(void)
{
        cay_ws_open(&ws, &fake.duplex, rig.loop, CAY_WS_SERVER, &options, &ops);
}

/* The handshake */

#define UPGRADE "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

static void shakes_hands(void **state)
{
        uint8_t bytes[64];

        test_ask(UPGRADE VERSION KEY "Sec-WebSocket-Protocol: chat, tty\r\n\r\n");
        assert_int_equal(test_status(), 101);
        assert_non_null(
                strstr(rig.got, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n")); /* the RFC's */
        assert_non_null(strstr(rig.got, "Sec-WebSocket-Protocol: tty\r\n"));
        assert_non_null(strstr(rig.got, "Upgrade: websocket\r\nConnection: Upgrade\r\n"));
        assert_null(strstr(rig.got, "Content-Length"));
        rig.got_len = 0;
        test_send_bytes(bytes, frame(bytes, CAY_WS_TEXT, "hi", 2));
        assert_string_equal(story, "T:hi");
        assert_int_equal(cay_ws_send(&ws, CAY_WS_TEXT, "hello", 5), 0);
        test_settle();
        assert_memory_equal(rig.got, "\x81\x05hello", 7);
        test_hang_up();
        assert_string_equal(story, "T:hi closed:1006:");
}

static void takes_what_came_with_the_handshake(void **state)
{
        char text[512];
        size_t len = (size_t)snprintf(text, sizeof(text), "%s\r\n", UPGRADE VERSION KEY);

        len += frame((uint8_t *)text + len, CAY_WS_TEXT, "early", 5);
        test_connect();
        test_send_bytes(text, len);
        assert_string_equal(story, "T:early");
}

static void refuses_other_handshakes(void **state)
{
        static const struct {
                const char *text;
                unsigned status;
        } bad[] = {
                { "GET /ws HTTP/1.1\r\nHost: x\r\n" VERSION KEY "\r\n", 426 },
                { "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n" VERSION KEY "\r\n", 426 },
                { "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n" VERSION KEY "\r\n",
                  426 },
                { "POST /ws HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n" VERSION KEY
                  "\r\n",
                  426 },
                { "GET /ws HTTP/1.0\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n" VERSION KEY
                  "\r\n",
                  426 },
                { UPGRADE KEY "\r\n", 426 },
                { UPGRADE "Sec-WebSocket-Version: 8\r\n" KEY "\r\n", 426 },
                { UPGRADE VERSION VERSION KEY "\r\n", 426 },
                { UPGRADE VERSION "\r\n", 400 },
                { UPGRADE VERSION KEY KEY "\r\n", 400 },
                { UPGRADE VERSION "Sec-WebSocket-Key: short==\r\n\r\n", 400 },
                { UPGRADE VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZZ==\r\n\r\n", 400 },
                { UPGRADE VERSION "Sec-WebSocket-Key: dGhlIHNhb*BsZSBub25jZQ==\r\n\r\n", 400 },
        };

        for (size_t i = 0; i < CAY_COUNT(bad); i++) {
                test_ask(bad[i].text);
                if (test_status() != bad[i].status)
                        fail_msg("%u for: %s", test_status(), bad[i].text);
        }
        accept_ws = false;
        test_ask(UPGRADE VERSION KEY "\r\n");
        assert_int_equal(test_status(), 403);
        test_send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"); /* still HTTP */
        assert_int_equal(test_count(rig.got, "HTTP/1.1"), 2);
}

/* Messages */

static void holds_a_message(void **state)
{
        open_fake();
        take = 3;
        say(CAY_WS_TEXT, "abcdefg", 7);
        say(CAY_WS_TEXT, "next", 4);
        assert_string_equal(story, "T:abc");
        assert_int_equal(fake.owed, 10); /* the second is not paid for */
        test_pass(1000);
        assert_string_equal(story, "T:abc");
        cay_ws_resume(&ws);
        assert_string_equal(story, "T:abc"); /* from the loop, not inside the call */
        test_rounds(3);
        assert_string_equal(story, "T:abc T:def");
        cay_ws_resume(&ws);
        test_rounds(3);
        assert_string_equal(story, "T:abc T:def T:g T:nex");
        assert_int_equal(fake.owed, 0);
        take = 100;
        cay_ws_resume(&ws);
        test_rounds(3);
        assert_string_equal(story, "T:abc T:def T:g T:nex T:t");
}

static void holds_a_message_as_a_client(void **state)
{
        cay_ws_open(&ws, &fake.duplex, rig.loop, CAY_WS_CLIENT, &options, &ops);
        take = 3;
        fake_duplex_say(&fake, "\x81\x05hello\x81\x01!", 10);
        assert_string_equal(story, "T:hel");
        cay_ws_resume(&ws);
        test_rounds(3);
        assert_string_equal(story, "T:hel T:lo T:!");
        assert_int_equal(fake.owed, 0);
}

static void masks_as_a_client(void **state)
{
        const uint8_t *got;
        uint8_t plain[5];

        cay_ws_open(&ws, &fake.duplex, rig.loop, CAY_WS_CLIENT, &options, &ops);
        assert_int_equal(cay_ws_send(&ws, CAY_WS_BINARY, "hello", 5), 0);
        got = (const uint8_t *)cay_buf_data(&fake.wrote);
        assert_int_equal(fake.wrote.len, 11);
        assert_memory_equal(got, "\x82\x85", 2);
        cay_ws_mask(plain, got + 6, 5, got + 2, 0);
        assert_memory_equal(plain, "hello", 5);
}

static void answers_pings(void **state)
{
        open_fake();
        say(CAY_WS_PING, "token", 5);
        assert_int_equal(fake.wrote.len, 7);
        assert_memory_equal(cay_buf_data(&fake.wrote), "\x8a\x05token", 7);
        say(CAY_WS_PONG, "unasked", 7);
        assert_int_equal(fake.wrote.len, 7);
        assert_string_equal(story, "");
}

static void a_slow_reader_slows_the_sender(void **state)
{
        static char block[100000];

        open_fake();
        fake.room = 1000;
        assert_true(cay_ws_send(&ws, CAY_WS_BINARY, block, sizeof(block)) > 90000);
        assert_true(cay_ws_send(&ws, CAY_WS_BINARY, block, sizeof(block)) > 190000);
        assert_true(cay_ws_send(&ws, CAY_WS_BINARY, block, sizeof(block)) >= (ssize_t)CAY_WS_HIGH);
        fake_duplex_give_room(&fake, 100000);
        assert_int_equal(drains, 0);
        fake_duplex_give_room(&fake, 1 << 20);
        assert_int_equal(drains, 1);
        assert_int_equal(fake.wrote.len, 300000 + 30);
}

static void the_queue_has_an_end(void **state)
{
        static char block[1 << 20];
        ssize_t r = 0;

        open_fake();
        fake.room = 0;
        for (unsigned i = 0; i < 17 && r >= 0; i++)
                r = cay_ws_send(&ws, CAY_WS_BINARY, block, sizeof(block));
        assert_int_equal(r, -ENOSPC);
        assert_true(cay_ws_is_open(&ws));
}

/* A peer that pings and never reads: its pings are not read any more. */
static void pings_do_not_pile_up(void **state)
{
        uint8_t ping[200];
        size_t len = 0;

        open_fake();
        fake.room = 0;
        for (unsigned i = 0; i < 10000 && fake.owed < 100000; i++) {
                char payload[100] = { 0 };

                len = frame(ping, CAY_WS_PING, payload, sizeof(payload));
                fake_duplex_say(&fake, ping, len);
        }
        assert_true(fake.owed >= 100000);
        assert_true(ws.out.len < CAY_WS_HIGH + 200);
        fake_duplex_give_room(&fake, SIZE_MAX);
        test_rounds(100); /* each handles a slice */
        assert_int_equal(fake.owed, 0);
}

static void an_echo_of_much_keeps_its_bounds(void **state)
{
        static uint8_t bytes[300000];
        char payload[1000];
        size_t len = 0;

        memset(payload, 'x', sizeof(payload));
        while (len + 1100 < sizeof(bytes))
                len += frame(bytes + len, CAY_WS_TEXT, payload, sizeof(payload));
        open_fake();
        echoes = true;
        fake.room = 0;
        fake_duplex_say(&fake, bytes, len);
        assert_true(ws.out.len < CAY_WS_HIGH + 2000);
        assert_true(fake.owed > 0);
        for (unsigned i = 0; i < 1000 && fake.owed > 0; i++) {
                fake_duplex_give_room(&fake, 5000);
                test_rounds(1);
        }
        fake_duplex_give_room(&fake, SIZE_MAX);
        test_rounds(3);
        assert_int_equal(fake.wrote.len, len / 1008 * 1004);
}

/* Ends */

static void answers_a_goodbye(void **state)
{
        open_fake();
        say(CAY_WS_CLOSE, "\x03\xe9gone", 6);
        assert_string_equal(story, "closed:1001:gone");
        assert_memory_equal(cay_buf_data(&fake.wrote), "\x88\x02\x03\xe9", 4);
        assert_true(fake.closed);
        assert_int_equal(cay_ws_send(&ws, CAY_WS_TEXT, "x", 1), -EPIPE);
}

static void answers_a_goodbye_without_a_code(void **state)
{
        open_fake();
        say(CAY_WS_CLOSE, "", 0);
        assert_string_equal(story, "closed:1005:");
        assert_int_equal(fake.wrote.len, 2);
}

static void says_goodbye_and_waits(void **state)
{
        open_fake();
        cay_ws_close(&ws, CAY_WS_GOING_AWAY, "restart");
        assert_memory_equal(cay_buf_data(&fake.wrote), "\x88\x09\x03\xe9restart", 11);
        assert_int_equal(cay_ws_send(&ws, CAY_WS_TEXT, "x", 1), -EPIPE);
        say(CAY_WS_TEXT, "too late", 8);
        say(CAY_WS_PING, "", 0);
        assert_string_equal(story, "");
        assert_false(fake.closed);
        say(CAY_WS_CLOSE, "\x03\xe9", 2);
        assert_string_equal(story, "closed:1001:");
        assert_int_equal(fake.wrote.len, 11);
        assert_true(fake.closed);
}

static void does_not_wait_for_ever(void **state)
{
        open_fake();
        cay_ws_close(&ws, CAY_WS_NORMAL, "");
        test_pass(4999);
        assert_false(fake.closed);
        test_pass(2);
        assert_string_equal(story, "closed:1000:");
        assert_true(fake.closed);
}

static void a_goodbye_behind_a_held_message_is_seen(void **state)
{
        open_fake();
        take = 1;
        say(CAY_WS_TEXT, "abc", 3);
        say(CAY_WS_CLOSE, "\x03\xe8", 2);
        assert_string_equal(story, "T:a");
        cay_ws_close(&ws, CAY_WS_NORMAL, "");
        test_rounds(3);
        assert_string_equal(story, "T:a closed:1000:");
}

static void long_reasons_are_cut_between_characters(void **state)
{
        char reason[200];

        open_fake();
        memset(reason, 'x', sizeof(reason));
        memcpy(reason + 122, "\xc3\xa4", 2);
        reason[199] = '\0';
        cay_ws_close(&ws, CAY_WS_NORMAL, reason);
        assert_int_equal(fake.wrote.len, 2 + 2 + 122);
}

static void faults_are_answered(void **state)
{
        open_fake();
        fake_duplex_say(&fake, "\x81\x01x", 3); /* not masked */
        assert_string_equal(story, "closed:1002:the other side broke the protocol");
        assert_memory_equal(cay_buf_data(&fake.wrote), "\x88\x02\x03\xea", 4);
        assert_true(fake.closed);
}

static void the_end_of_the_stream_comes_last(void **state)
{
        open_fake();
        take = 1;
        say(CAY_WS_TEXT, "ab", 2);
        fake.duplex.user->ops->on_eof(fake.duplex.user);
        assert_string_equal(story, "T:a");
        cay_ws_resume(&ws);
        test_rounds(3);
        assert_string_equal(story, "T:a T:b closed:1006:");
}

static void a_lost_stream_is_told(void **state)
{
        open_fake();
        fake.duplex.user->ops->on_lost(fake.duplex.user, -ECONNRESET);
        assert_string_equal(story, "closed:1006:");
        assert_false(fake.closed); /* it is gone by itself */
}

static void silence_is_noticed(void **state)
{
        static const struct cay_ws_options pings = { .message_max = 100, .ping_ms = 10000 };

        cay_ws_open(&ws, &fake.duplex, rig.loop, CAY_WS_SERVER, &pings, &ops);
        test_pass(10001);
        assert_int_equal(fake.wrote.len, 2);
        assert_memory_equal(cay_buf_data(&fake.wrote), "\x89\x00", 2);
        say(CAY_WS_PONG, "", 0);
        test_pass(10001);
        assert_string_equal(story, "");
        assert_int_equal(fake.wrote.len, 4);
        test_pass(10001);
        assert_string_equal(story, "closed:1006:the other side is silent");
}

/* Of what came together a slice is handled in a round: others have their turn in between. */
static void many_messages_take_several_rounds(void **state)
{
        enum { N = 100, SLICE = 16, ECHO = 3 /* bytes of an answer */ };
        uint8_t bytes[N * 16];
        size_t len = 0, before = 0;

        echoes = true;
        open_fake();
        for (unsigned i = 0; i < N; i++)
                len += frame(bytes + len, CAY_WS_TEXT, &"0123456789"[i % 10], 1);
        fake_duplex_say(&fake, bytes, len);
        assert_in_range(fake.wrote.len, 1, SLICE * ECHO);
        assert_true(fake.owed > 0); /* what waits is not paid for, which slows its sender down */
        for (unsigned i = 0; i < N && fake.wrote.len < N * ECHO; i++) {
                before = fake.wrote.len;
                test_rounds(1);
                assert_in_range(fake.wrote.len - before, 1, SLICE * ECHO);
        }
        assert_int_equal(fake.wrote.len, N * ECHO);
        for (unsigned i = 0; i < N; i++) /* in their order */
                assert_int_equal(cay_buf_data(&fake.wrote)[i * ECHO + 2], '0' + (char)(i % 10));
        assert_int_equal(fake.owed, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(shakes_hands),
                T(takes_what_came_with_the_handshake),
                T(refuses_other_handshakes),
                T(holds_a_message),
                T(holds_a_message_as_a_client),
                T(masks_as_a_client),
                T(answers_pings),
                T(a_slow_reader_slows_the_sender),
                T(the_queue_has_an_end),
                T(pings_do_not_pile_up),
                T(an_echo_of_much_keeps_its_bounds),
                T(answers_a_goodbye),
                T(answers_a_goodbye_without_a_code),
                T(says_goodbye_and_waits),
                T(does_not_wait_for_ever),
                T(a_goodbye_behind_a_held_message_is_seen),
                T(long_reasons_are_cut_between_characters),
                T(faults_are_answered),
                T(the_end_of_the_stream_comes_last),
                T(a_lost_stream_is_told),
                T(silence_is_noticed),
                T(many_messages_take_several_rounds),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
