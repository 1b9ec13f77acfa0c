/* SPDX-License-Identifier: Apache-2.0 */
/* Requests handed on to a port in a box (here: the test) and answers handed back; also the client that does it. */
#include "unit/http/http_test.h"

#include "http/conn.h"
#include "http/proxy.h"
#include "unit/http/fake_duplex.h"

static struct fake_duplex up;
static struct cay_http_proxy_options options;
static unsigned dones, done_status;
static uint64_t done_bytes;

static void fail_request(struct cay_http_request *req, const struct cay_http_fault *fault)
{
        cay_http_response_send(req, fault->status, "text/plain", fault->text, strlen(fault->text));
}

static void on_done(void *user, unsigned status, uint64_t bytes)
{
        dones++;
        done_status = status;
        done_bytes = bytes;
}

static void on_request(struct cay_http_server *s, struct cay_http_request *req)
{
        cay_http_proxy(req, &up.duplex, rig.loop, &options);
}

static const struct cay_http_server_ops server_ops = { .on_request = on_request,
                                                       .make_error = test_make_error };

static int setup(void **state)
{
        static const char *const strip[] = { "authorization", "cookie", NULL };
        static const char *const strip_answer[] = { "set-cookie", NULL };
        static const char *const add_answer[] = { "Content-Security-Policy", "sandbox", NULL };

        dones = done_status = 0;
        options = (struct cay_http_proxy_options){ .path = "/app",
                                                   .strip = strip,
                                                   .strip_answer = strip_answer,
                                                   .add_answer = add_answer,
                                                   .answer_ms = 5000,
                                                   .body_max = 1 << 20,
                                                   .fail = fail_request,
                                                   .on_done = on_done };
        test_setup(state);
        cay_http_server_free(rig.server);
        rig.config.ops = &server_ops;
        test_start();
        fake_duplex_init(&up);
        return 0;
}

static int teardown(void **state)
{
        int r = test_teardown(state);

        cay_buf_done(&up.wrote);
        return r;
}

static const char *sent(void)
{
        return cay_buf_data(&up.wrote);
}

static void reply(const char *text)
{
        fake_duplex_say(&up, text, strlen(text));
        test_settle();
}

static void eof(void)
{
        up.duplex.user->ops->on_eof(up.duplex.user);
        test_settle();
}

#define GET "GET /ports/80/app?q=1 HTTP/1.1\r\nHost: example.org:81\r\n"

static void writes_the_request_anew(void **state)
{
        test_ask("GET /ports/80/app?q=%20&r HTTP/1.1\r\nHost: example.org:81\r\nAccept: a\r\nAccept: b\r\n"
                 "Authorization: Bearer secret\r\nCOOKIE: sid=1\r\nConnection: keep-alive, X-Mine\r\nX-Mine: "
                 "1\r\n"
                 "Keep-Alive: 5\r\nTE: trailers\r\nX-Forwarded-For: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\n"
                 "X-Forwarded-Host: evil\r\nProxy-Authorization: x\r\nUpgrade: h2c\r\n\r\n");
        assert_string_equal(sent(),
                            "GET /app?q=%20&r HTTP/1.1\r\nHost: example.org:81\r\nAccept: a\r\nAccept: b\r\n"
                            "X-Forwarded-Host: example.org:81\r\nX-Forwarded-Proto: http\r\n"
                            "Connection: close\r\n\r\n");
        reply("HTTP/1.1 200 Fine\r\nContent-Length: 2\r\nServer: app\r\nSet-Cookie: x=y\r\nDate: never\r\n"
              "Content-Security-Policy: none\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: "
              "1\r\n\r\nok");
        assert_string_equal(rig.got,
                            "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nServer: app\r\n"
                            "Content-Security-Policy: sandbox\r\nContent-Length: 2\r\n\r\nok");
        assert_false(rig.closed);
        assert_true(up.closed);
        assert_int_equal(dones, 1);
        assert_int_equal(done_status, 200);
        assert_int_equal(done_bytes, 2);
}

static void names_another_host(void **state)
{
        options.host = "localhost:3000";
        test_ask(GET "\r\n");
        assert_non_null(strstr(sent(), "\r\nHost: localhost:3000\r\n"));
        assert_int_equal(test_count(sent(), "\nHost:"), 1);
        reply("HTTP/1.1 204 No Content\r\n\r\n");
        assert_int_equal(test_status(), 204);
}

static void streams_a_body_up(void **state)
{
        test_ask("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n");
        assert_string_equal(rig.got, "HTTP/1.1 100 Continue\r\n\r\n");
        assert_null(strstr(sent(), "Expect"));
        test_send("5\r\nhello\r\n");
        assert_non_null(
                strstr(sent(), "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n"));
        test_send("1\r\n!\r\n0\r\nX-Trailer: 1\r\n\r\n");
        assert_non_null(strstr(sent(), "\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n"));
        reply("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n0\r\n\r\n");
        assert_non_null(strstr(rig.got, "Transfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n0\r\n\r\n"));
        assert_false(rig.closed);
}

static void a_slow_app_slows_the_client(void **state)
{
        static char block[100000];
        size_t queued = 0;

        test_ask("PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
        up.room = 0;
        for (unsigned i = 0; i < 1000 && queued < 1000000; i++) {
                ssize_t n = send(rig.fd, block,
                                 1000000 - queued < sizeof(block) ? 1000000 - queued : sizeof(block),
                                 MSG_DONTWAIT);

                if (n > 0)
                        queued += (size_t)n;
                test_rounds(1);
        }
        assert_true(queued < 600000); /* nothing beyond the buffers in between */
        for (unsigned i = 0; i < 1000 && up.wrote.len < 1000100; i++) {
                ssize_t n = send(rig.fd, block,
                                 1000000 - queued < sizeof(block) ? 1000000 - queued : sizeof(block),
                                 MSG_DONTWAIT);

                if (n > 0)
                        queued += (size_t)n;
                fake_duplex_give_room(&up, 50000);
                test_rounds(2);
        }
        assert_int_equal(queued, 1000000);
        assert_int_equal(up.wrote.len, 1000000 + (size_t)(strstr(sent(), "\r\n\r\n") + 4 - sent()));
        reply("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        assert_int_equal(test_status(), 200);
}

static void a_slow_client_slows_the_app(void **state)
{
        static char block[65536];
        size_t said = 0;

        test_connect();
        test_send(GET "\r\n");
        fake_duplex_say(&up, "HTTP/1.1 200 OK\r\n\r\n", 19);
        while (up.owed < 300000 && said < 8 << 20) {
                fake_duplex_say(&up, block, sizeof(block));
                said += sizeof(block);
                test_rounds(1);
        }
        assert_true(up.owed >= 300000); /* a real duplex has stopped by now */
        test_settle();
        for (unsigned i = 0; i < 100 && up.owed > 0; i++)
                test_settle();
        assert_int_equal(up.owed, 0);
        eof();
        assert_true(rig.got_len > said);
        assert_non_null(memmem(rig.got + rig.got_len - 8, 8, "\r\n0\r\n\r\n", 7));
}

static void old_apps_end_with_the_stream(void **state)
{
        test_ask(GET "\r\n");
        reply("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nab");
        reply("cd");
        assert_int_equal(dones, 0);
        eof();
        assert_non_null(strstr(rig.got, "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"));
        assert_false(rig.closed);
}

static void head_keeps_the_length(void **state)
{
        test_ask("HEAD /x HTTP/1.1\r\nHost: x\r\n\r\n");
        reply("HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n");
        assert_non_null(strstr(rig.got, "Content-Length: 12345\r\n\r\n"));
        assert_int_equal(dones, 1);
}

static void interim_answers_are_skipped(void **state)
{
        test_ask(GET "\r\n");
        reply("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
        assert_int_equal(rig.got_len, 0);
        reply("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        assert_int_equal(test_status(), 200);
        assert_null(strstr(rig.got, "Link"));
}

static void bad_answers_are_502(void **state)
{
        static const char *const bad[] = {
                "SSH-2.0-OpenSSH_9.2\r\n",
                "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
                "HTTP/1.1 100 a\r\n\r\nHTTP/1.1 100 a\r\n\r\nHTTP/1.1 100 a\r\n\r\nHTTP/1.1 100 "
                "a\r\n\r\nHTTP/1.1 100 a\r\n\r\n"
                "HTTP/1.1 100 a\r\n\r\nHTTP/1.1 100 a\r\n\r\nHTTP/1.1 100 a\r\n\r\nHTTP/1.1 100 a\r\n\r\n",
        };

        for (size_t i = 0; i < CAY_COUNT(bad); i++) {
                cay_buf_done(&up.wrote);
                fake_duplex_init(&up);
                test_ask(GET "\r\n");
                reply(bad[i]);
                if (!up.closed)
                        eof(); /* one that waits for more */
                if (test_status() != 502)
                        fail_msg("%u for: %s", test_status(), bad[i]);
                assert_true(up.closed);
                assert_int_equal(dones, i + 1);
        }
}

static void a_cut_answer_is_cut_for_the_client_too(void **state)
{
        test_ask(GET "\r\n");
        reply("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
        eof();
        assert_true(rig.closed);
        assert_int_equal(dones, 1);
        cay_buf_done(&up.wrote);
        fake_duplex_init(&up);
        test_ask(GET "\r\n");
        reply("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX");
        assert_true(rig.closed);
        assert_null(strstr(rig.got, "\r\n0\r\n"));
}

static void an_app_that_closes_or_is_lost_is_502(void **state)
{
        test_ask(GET "\r\n");
        eof();
        assert_int_equal(test_status(), 502);
        cay_buf_done(&up.wrote);
        fake_duplex_init(&up);
        test_ask(GET "\r\n");
        up.duplex.user->ops->on_lost(up.duplex.user, -ECONNREFUSED);
        test_settle();
        assert_int_equal(test_status(), 502);
        assert_int_equal(dones, 2);
}

static void no_answer_is_504(void **state)
{
        test_ask(GET "\r\n");
        test_pass(4999);
        assert_int_equal(rig.got_len, 0);
        test_pass(2);
        assert_int_equal(test_status(), 504);
        assert_true(up.closed);
        /* Once it has begun it may take its time. */
        cay_buf_done(&up.wrote);
        fake_duplex_init(&up);
        test_ask(GET "\r\n");
        reply("HTTP/1.1 200 OK\r\n\r\n");
        test_pass(100000);
        assert_false(rig.closed);
        eof();
}

static void a_client_that_leaves_ends_the_request(void **state)
{
        test_ask(GET "\r\n");
        reply("HTTP/1.1 200 OK\r\n\r\nstream");
        test_hang_up();
        assert_true(up.closed);
        assert_int_equal(dones, 1);
        cay_buf_done(&up.wrote);
        fake_duplex_init(&up);
        test_ask(GET "\r\n");
        shutdown(rig.fd, SHUT_WR);
        test_settle();
        assert_true(up.closed);
        assert_int_equal(dones, 2);
}

static void a_broken_body_ends_the_request(void **state)
{
        test_ask("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
        assert_int_equal(test_status(), 400);
        assert_true(up.closed);
        assert_int_equal(dones, 1);
}

static void large_bodies_are_413(void **state)
{
        test_ask("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n");
        assert_int_equal(test_status(), 413);
        assert_true(up.closed);
        assert_int_equal(dones, 1);
}

static void an_early_answer_needs_no_whole_request(void **state)
{
        test_ask("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
        reply("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
        assert_int_equal(test_status(), 403);
        assert_true(up.closed);
        test_send("defghijGET /x HTTP/1.1\r\n"); /* the rest is dropped, the connection goes on */
        assert_false(rig.closed);
}

static void an_upgrade_becomes_a_splice(void **state)
{
        test_ask("GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                 "Sec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n\r\n");
        assert_non_null(strstr(sent(), "Sec-WebSocket-Key: k\r\n"));
        assert_non_null(strstr(sent(), "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"));
        reply("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
              "Sec-WebSocket-Accept: a\r\n\r\nfirst");
        assert_int_equal(test_status(), 101);
        assert_non_null(strstr(rig.got, "Sec-WebSocket-Accept: a\r\n"));
        assert_non_null(strstr(rig.got, "\r\n\r\nfirst"));
        cay_buf_clear(&up.wrote);
        test_send("\x01\x02 raw");
        assert_string_equal(sent(), "\x01\x02 raw");
        reply("back");
        assert_non_null(strstr(rig.got, "firstback"));
        assert_int_equal(up.owed, 0);
        test_pass(1000000); /* no deadline in it */
        assert_false(rig.closed);
        shutdown(rig.fd, SHUT_WR);
        test_settle();
        assert_true(up.shut);
        reply("bye");
        eof();
        assert_non_null(strstr(rig.got, "backbye"));
        assert_true(rig.closed && up.closed);
        assert_int_equal(dones, 1);
        assert_int_equal(done_status, 101);
}

static void a_refused_upgrade_is_an_answer(void **state)
{
        test_ask("GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
        reply("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
        assert_int_equal(test_status(), 403);
        assert_false(rig.closed);
}

static void a_splice_slows_both_sides(void **state)
{
        static char block[65536];
        size_t queued = 0;

        test_ask("GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
        reply("HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
        up.room = 0;
        for (unsigned i = 0; i < 200; i++) {
                ssize_t n = send(rig.fd, block, sizeof(block), MSG_DONTWAIT);

                queued += n > 0 ? (size_t)n : 0;
                test_rounds(1);
        }
        assert_true(queued < 1 << 20);
        fake_duplex_give_room(&up, SIZE_MAX);
        test_settle();
        assert_true(up.wrote.len > queued);
        for (unsigned i = 0; i < 100 && up.owed == 0; i++) {
                fake_duplex_say(&up, block, sizeof(block));
                test_rounds(1);
        }
        assert_true(up.owed > 0);
        for (unsigned i = 0; i < 100 && up.owed > 0; i++)
                test_settle();
        assert_int_equal(up.owed, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(writes_the_request_anew),
                T(names_another_host),
                T(streams_a_body_up),
                T(a_slow_app_slows_the_client),
                T(a_slow_client_slows_the_app),
                T(old_apps_end_with_the_stream),
                T(head_keeps_the_length),
                T(interim_answers_are_skipped),
                T(bad_answers_are_502),
                T(a_cut_answer_is_cut_for_the_client_too),
                T(an_app_that_closes_or_is_lost_is_502),
                T(no_answer_is_504),
                T(a_client_that_leaves_ends_the_request),
                T(a_broken_body_ends_the_request),
                T(large_bodies_are_413),
                T(an_early_answer_needs_no_whole_request),
                T(an_upgrade_becomes_a_splice),
                T(a_refused_upgrade_is_an_answer),
                T(a_splice_slows_both_sides),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
