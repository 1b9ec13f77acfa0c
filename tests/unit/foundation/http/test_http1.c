/* SPDX-License-Identifier: Apache-2.0 */
/* One connection of the server: requests, bodies, answers, deadlines, ends. */
#include "unit/foundation/http/http_test.h"

static void answers_a_request(void **state)
{
        assert_string_equal(
                test_ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
                "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/plain\r\n"
                "Content-Length: 5\r\n\r\nhello");
        assert_false(rig.closed);
}

static void keeps_the_connection_and_pipelines(void **state)
{
        test_ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n"
                 "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
                 "\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                 "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_int_equal(rig.requests, 3); /* the last comes after "close" */
        assert_int_equal(test_count(rig.got, "HTTP/1.1 200 OK"), 3);
        assert_non_null(strstr(rig.got, "\r\n\r\nabcHTTP/1.1"));
        assert_non_null(strstr(rig.got, "Connection: close"));
        assert_true(rig.closed);
}

static void pipelines_without_stack(void **state)
{
        enum { N = 20000 };
        static const char one[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        char *many = malloc(N * (sizeof(one) - 1) + 1);

        for (unsigned i = 0; i < N; i++)
                memcpy(many + i * (sizeof(one) - 1), one, sizeof(one));
        test_ask(many);
        for (unsigned i = 0; i < N && rig.requests < N; i++)
                test_settle(); /* each round answers a slice */
        assert_int_equal(rig.requests, N);
        assert_int_equal(test_count(rig.got, "hello"), N);
        free(many);
}

/* What came together is answered a slice at a time: others have their turn in between. */
static void a_pipeline_takes_several_rounds(void **state)
{
        enum { N = 100, SLICE = 16 };
        static const char one[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        char many[N * (sizeof(one) - 1) + 1];
        unsigned before = 0;

        for (unsigned i = 0; i < N; i++)
                memcpy(many + i * (sizeof(one) - 1), one, sizeof(one));
        test_connect();
        assert_int_equal(send(rig.fd, many, strlen(many), MSG_NOSIGNAL), strlen(many));
        for (unsigned i = 0; i < N && rig.requests < N; i++, before = rig.requests) {
                test_rounds(1);
                assert_in_range(rig.requests - before, 1, 2 * SLICE); /* once as input, once from the kick */
        }
        assert_int_equal(rig.requests, N);
        test_read();
        assert_int_equal(test_count(rig.got, "hello"), N);
}

static void takes_a_request_byte_by_byte(void **state)
{
        static const char text[] = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                                   "3\r\nabc\r\n00a\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n"
                                   "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

        test_connect();
        for (const char *c = text; *c; c++)
                test_send_bytes(c, 1);
        assert_non_null(strstr(rig.got, "Content-Length: 13\r\n\r\nabc0123456789HTTP/1.1 200 OK"));
        assert_int_equal(rig.requests, 2);
}

static void head_has_no_body(void **state)
{
        test_ask("HEAD / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_non_null(strstr(rig.got, "Content-Length: 5\r\n\r\nHTTP/1.1 200 OK"));
}

static void old_clients_get_one_answer(void **state)
{
        test_ask("GET / HTTP/1.0\r\n\r\n");
        assert_int_equal(test_status(), 200);
        assert_true(rig.closed);
}

/* Expect: 100-continue */

static void tells_to_continue_when_the_body_is_wanted(void **state)
{
        test_ask("POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
        assert_string_equal(rig.got, "HTTP/1.1 100 Continue\r\n\r\n");
        test_send("ok");
        assert_non_null(strstr(rig.got, "200 OK"));
        assert_false(rig.closed);
}

static void does_not_ask_for_a_body_it_refuses(void **state)
{
        test_ask("POST /refuse HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
        assert_int_equal(test_status(), 200);
        assert_null(strstr(rig.got, "100 Continue"));
        assert_non_null(strstr(rig.got, "Connection: close"));
}

static void does_not_tell_to_continue_inside_an_answer(void **state)
{
        test_ask("POST /hold HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
        assert_int_equal(cay_http_response_begin(rig.req, 200, NULL, CAY_HTTP_NO_LENGTH), 0);
        assert_int_equal(cay_http_request_read(rig.req, 100, 0), 0);
        test_settle();
        assert_null(strstr(rig.got, "100 Continue"));
        cay_http_response_end(rig.req);
        test_settle();
        assert_true(rig.closed);
}

static void knows_no_other_expectation(void **state)
{
        test_ask("POST /echo HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nContent-Length: 2\r\n\r\n");
        assert_int_equal(test_status(), 417);
}

/* Bodies */

static void collects_up_to_a_limit(void **state)
{
        char text[512];

        test_ask("PUT /collect HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n{{}}");
        assert_non_null(strstr(rig.got, "\r\n\r\n{{}}"));
        test_ask("PUT /collect HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n");
        assert_int_equal(test_status(), 413);
        snprintf(
                text, sizeof(text),
                "PUT /collect HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n32\r\n%050d\r\n33\r\n",
                0);
        test_ask(text);
        assert_int_equal(test_status(), 413);
        assert_string_equal(rig.trail, "broken");
}

static void refuses_huge_bodies_at_once(void **state)
{
        rig.config.body_max = 1000;
        cay_http_server_free(rig.server);
        test_start();
        test_ask("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n");
        assert_int_equal(test_status(), 413);
        assert_int_equal(rig.requests, 0);
        test_ask("PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n");
        assert_int_equal(test_status(), 413);
        test_ask("PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n");
        assert_int_equal(test_status(), 0);
}

static void a_slow_handler_slows_the_client(void **state)
{
        size_t sent = 0;
        char block[4096];
        ssize_t n;

        memset(block, 'x', sizeof(block));
        test_ask("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n");
        rig.take = 1000;
        for (unsigned i = 0; i < 1000; i++) {
                n = send(rig.fd, block, sizeof(block), MSG_DONTWAIT);
                if (n > 0)
                        sent += (size_t)n;
                test_rounds(1);
        }
        assert_int_equal(rig.body_len, 1000); /* and the socket is full long before all is sent */
        assert_true(sent < 700000);
        test_pass(120 * 1000); /* waiting for the handler is not the client's fault */
        assert_int_equal(rig.got_len, 0);
}

static void a_held_body_goes_on(void **state)
{
        struct cay_http_request *req;

        test_ask("PUT /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234");
        req = rig.req;
        rig.take = 3;
        assert_int_equal(cay_http_request_read(req, 100, 0), 0);
        test_settle();
        assert_int_equal(rig.body_len, 3);
        rig.take = SIZE_MAX;
        rig.req = NULL;
        cay_http_request_resume(req);
        test_settle();
        assert_int_equal(rig.body_len, 5);
        test_send("56789");
        assert_non_null(strstr(rig.got, "\r\n\r\n0123456789"));
        assert_string_equal(rig.trail, "end");
}

static size_t take_one_and_resume(struct cay_http_request *req, const void *bytes, size_t len)
{
        cay_http_request_resume(req); /* before it holds: as good as after */
        rig.body_len++;
        return 1;
}

static void a_body_resumed_from_inside_goes_on(void **state)
{
        static const struct cay_http_handler handler = { .on_body = take_one_and_resume,
                                                         .on_body_end = test_on_body_end };

        test_ask("PUT /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123456789");
        rig.req->handler = &handler;
        assert_int_equal(cay_http_request_read(rig.req, 100, 0), 0);
        test_settle();
        assert_int_equal(rig.body_len, 10);
        assert_string_equal(rig.trail, "end");
        cay_http_response_send(rig.req, 200, NULL, "", 0);
}

static void drops_a_small_rest_and_keeps_the_connection(void **state)
{
        test_ask("PUT /ignore HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234");
        assert_int_equal(test_status(), 200);
        test_send("56789GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_int_equal(test_count(rig.got, "200 OK"), 2);
        assert_false(rig.closed);
}

static void a_large_rest_ends_the_connection(void **state)
{
        test_ask("PUT /ignore HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n01234");
        assert_int_equal(test_status(), 200);
        assert_true(rig.closed);
        test_ask("PUT /ignore HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (unsigned i = 0; i < 300 && !rig.closed; i++) {
                char chunk[1024 + 7];

                memset(chunk, 'x', sizeof(chunk));
                memcpy(chunk, "400\r\n", 5);
                memcpy(chunk + sizeof(chunk) - 2, "\r\n", 2);
                test_send_bytes(chunk, sizeof(chunk));
        }
        assert_true(rig.closed);
}

static void a_cut_body_is_told(void **state)
{
        test_ask("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234");
        shutdown(rig.fd, SHUT_WR);
        test_settle();
        assert_string_equal(rig.trail, "broken");
        assert_int_equal(test_status(), 400);
        assert_true(rig.closed);
}

static void malformed_chunks_are_told(void **state)
{
        test_ask("PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n");
        assert_string_equal(rig.trail, "broken");
        assert_int_equal(test_status(), 400);
        assert_true(rig.closed);
}

/* Answers */

static void streams_in_chunks(void **state)
{
        test_ask("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_int_equal(cay_http_response_add(rig.req, "X-Test", "1"), 0);
        assert_int_equal(cay_http_response_begin(rig.req, 200, "text/plain", CAY_HTTP_NO_LENGTH), 0);
        assert_true(cay_http_response_write(rig.req, "0123456789abcdef", 16) >= 0);
        assert_true(cay_http_response_write(rig.req, "", 0) >= 0);
        assert_true(cay_http_response_write(rig.req, "x", 1) >= 0);
        cay_http_response_end(rig.req);
        test_settle();
        assert_non_null(strstr(rig.got, "X-Test: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
                                        "10\r\n0123456789abcdef\r\n1\r\nx\r\n0\r\n\r\n"));
        test_send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_non_null(strstr(rig.got, "hello"));
}

static void streams_to_old_clients_until_the_end(void **state)
{
        test_ask("GET /hold HTTP/1.0\r\n\r\n");
        cay_http_response_begin(rig.req, 200, "text/plain", CAY_HTTP_NO_LENGTH);
        cay_http_response_write(rig.req, "abc", 3);
        cay_http_response_end(rig.req);
        test_settle();
        assert_non_null(strstr(rig.got, "Connection: close\r\n\r\nabc"));
        assert_true(rig.closed);
}

static void keeps_an_announced_length(void **state)
{
        test_ask("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        cay_http_response_begin(rig.req, 200, NULL, 4);
        assert_int_equal(cay_http_response_write(rig.req, "12345", 5), -EPIPE);
        cay_http_response_write(rig.req, "1234", 4);
        assert_int_equal(cay_http_response_write(rig.req, "5", 1), -EPIPE);
        cay_http_response_end(rig.req);
        test_settle();
        assert_non_null(strstr(rig.got, "Content-Length: 4\r\n\r\n1234"));
        assert_false(rig.closed);

        test_ask("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        cay_http_response_begin(rig.req, 200, NULL, 4);
        cay_http_response_write(rig.req, "12", 2);
        cay_http_response_end(rig.req); /* too short: the client must notice */
        test_settle();
        assert_true(rig.closed);
}

static void bodyless_answers_have_no_framing(void **state)
{
        test_ask("DELETE /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        cay_http_response_send(rig.req, 204, NULL, "", 0);
        test_settle();
        assert_null(strstr(rig.got, "Content-Length"));
        assert_null(strstr(rig.got, "Transfer-Encoding"));
        test_send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_non_null(strstr(rig.got, "hello"));
}

static void header_fields_cannot_be_injected(void **state)
{
        test_ask("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_int_equal(cay_http_response_add(rig.req, "X-A", "a\r\nX-B: b"), -EINVAL);
        assert_int_equal(cay_http_response_add(rig.req, "X-A", "a\nb"), -EINVAL);
        assert_int_equal(cay_http_response_add(rig.req, "X A", "a"), -EINVAL);
        assert_int_equal(cay_http_response_add(rig.req, "", "a"), -EINVAL);
        assert_int_equal(cay_http_response_add(rig.req, "content-length", "1"), -EINVAL);
        assert_int_equal(cay_http_response_add(rig.req, "Transfer-Encoding", "chunked"), -EINVAL);
        cay_http_response_send(rig.req, 200, "text/plain\r\nX-C: c", "", 0);
        test_settle();
        assert_null(strstr(rig.got, "X-"));
        assert_int_equal(test_status(), 200);
}

static void a_slow_client_slows_the_writer(void **state)
{
        static char block[16384];
        ssize_t queued = 0;
        size_t written = 0;

        test_connect();
        test_send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        cay_http_response_begin(rig.req, 200, NULL, CAY_HTTP_NO_LENGTH);
        while (queued < 256 * 1024) {
                queued = cay_http_response_write(rig.req, block, sizeof(block));
                assert_true(queued >= 0);
                written += sizeof(block);
                assert_true(written < 4 << 20);
                test_rounds(1);
        }
        test_rounds(10);
        assert_string_equal(rig.trail, "");
        test_settle(); /* reads */
        assert_string_equal(rig.trail, "drain");
        cay_http_response_end(rig.req);
        test_settle();
        assert_true(rig.got_len > written);
}

static void aborting_ends_the_connection(void **state)
{
        test_ask("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        cay_http_response_abort(rig.req);
        test_settle();
        assert_true(rig.closed);
        assert_int_equal(rig.got_len, 0);
}

/* Who is gone */

static void a_lost_client_is_told_and_the_request_lives(void **state)
{
        test_ask("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        test_hang_up();
        assert_non_null(strstr(rig.trail, "lost"));
        assert_int_equal(cay_http_server_count(rig.server), 0);
        assert_int_equal(cay_http_response_begin(rig.req, 200, NULL, 5), -EPIPE);
        assert_int_equal(cay_http_response_write(rig.req, "x", 1), -EPIPE);
        assert_string_equal(cay_http_request_header(rig.req, "HOST"), "x");
        cay_http_response_end(rig.req);
}

static void half_a_goodbye_is_told_and_answered(void **state)
{
        test_ask("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        shutdown(rig.fd, SHUT_WR);
        test_settle();
        assert_string_equal(rig.trail, "half");
        cay_http_response_send(rig.req, 200, NULL, "still here", 10);
        test_settle();
        assert_non_null(strstr(rig.got, "still here"));
        assert_true(rig.closed);
}

static void half_a_goodbye_before_the_body_was_read_is_told(void **state)
{
        static const char text[] = "PUT /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";

        test_connect();
        assert_int_equal(send(rig.fd, text, sizeof(text) - 1, 0), sizeof(text) - 1);
        shutdown(rig.fd, SHUT_WR);
        test_settle();
        assert_string_equal(rig.trail, "");
        assert_int_equal(cay_http_request_read(rig.req, 100, 0), 0);
        test_settle();
        assert_string_equal(rig.trail, "end half");
        cay_http_response_send(rig.req, 200, NULL, "", 0);
}

static void pipelined_requests_before_a_goodbye_are_answered(void **state)
{
        test_connect();
        test_send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
        shutdown(rig.fd, SHUT_WR);
        test_settle();
        cay_http_response_send(rig.req, 200, NULL, "first", 5);
        test_settle();
        assert_non_null(strstr(rig.got, "first"));
        assert_non_null(strstr(rig.got, "hello"));
        assert_true(rig.closed);
}

static void a_client_gone_while_streaming_is_told(void **state)
{
        test_ask("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        cay_http_response_begin(rig.req, 200, NULL, CAY_HTTP_NO_LENGTH);
        test_settle();
        close(rig.fd);
        rig.fd = -1;
        test_rounds(1); /* within one turn */
        assert_non_null(strstr(rig.trail, "lost"));
        cay_http_response_end(rig.req);
}

static void the_end_of_the_server_is_told(void **state)
{
        test_ask("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        cay_http_server_free(rig.server);
        rig.server = NULL;
        assert_string_equal(rig.trail, "stopped");
        cay_http_response_send(rig.req, 200, NULL, "", 0);
}

static void stopping_lets_answers_finish(void **state)
{
        test_ask("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        cay_http_server_stop(rig.server);
        test_settle();
        assert_false(rig.closed);
        cay_http_response_send(rig.req, 200, NULL, "last", 4);
        test_settle();
        assert_non_null(strstr(rig.got, "last"));
        assert_true(rig.closed);
        assert_int_equal(cay_http_server_count(rig.server), 0);
}

/* Deadlines */

static void a_slow_head_is_ended(void **state)
{
        test_connect();
        test_send("GET / HTTP/1.1\r\n");
        for (unsigned i = 0; i < 9; i++) {
                test_pass(1000);
                test_send("X-Slow: loris\r\n"); /* does not put the deadline off */
        }
        assert_int_equal(rig.got_len, 0);
        test_pass(1001);
        assert_int_equal(test_status(), 408);
        assert_true(rig.closed);
}

static void a_later_head_has_its_own_deadline(void **state)
{
        test_ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        test_pass(15000);
        test_send("GET");
        test_pass(9999);
        assert_false(rig.closed);
        test_pass(2); /* idle time would not be over yet */
        assert_true(rig.closed);
        assert_non_null(strstr(rig.got, " 408 "));
}

static void half_a_head_is_refused(void **state)
{
        test_ask("GET / HTTP/1.1\r\nHo");
        shutdown(rig.fd, SHUT_WR);
        test_settle();
        assert_int_equal(test_status(), 400);
        assert_true(rig.closed);
        assert_int_equal(cay_http_server_count(rig.server), 0);
}

static void silence_is_ended(void **state)
{
        test_connect();
        test_pass(9999);
        assert_false(rig.closed);
        test_pass(2);
        assert_true(rig.closed);
        assert_int_equal(rig.got_len, 0);
        assert_int_equal(cay_http_server_count(rig.server), 0);
}

static void idle_connections_are_ended(void **state)
{
        test_ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        test_pass(29000);
        test_send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        test_pass(29000);
        assert_false(rig.closed);
        test_pass(1001);
        assert_true(rig.closed);
}

static void a_slow_body_is_ended(void **state)
{
        test_ask("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
        for (unsigned i = 0; i < 29; i++) {
                test_pass(1000);
                test_send("x"); /* a byte a second is no progress */
        }
        assert_int_equal(rig.got_len, 0);
        test_pass(1001);
        assert_int_equal(test_status(), 408);
        assert_string_equal(rig.trail, "broken");
        assert_true(rig.closed);
}

static void a_body_that_moves_is_not(void **state)
{
        char block[1024];

        memset(block, 'x', sizeof(block));
        test_ask("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10240\r\n\r\n");
        for (unsigned i = 0; i < 10; i++) {
                test_pass(20000);
                test_send_bytes(block, sizeof(block));
        }
        assert_int_equal(test_status(), 200);
}

static void patience_waits_for_people(void **state)
{
        test_ask("PUT /patient HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
        test_pass(24 * 3600 * 1000);
        assert_int_equal(rig.got_len, 0);
        assert_false(rig.closed);
        test_send("1\r\nb\r\n0\r\n\r\n");
        assert_non_null(strstr(rig.got, "\r\n\r\nab"));
}

static void a_handler_may_take_its_time(void **state)
{
        test_ask("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        test_pass(3600 * 1000);
        assert_string_equal(rig.trail, "");
        cay_http_response_send(rig.req, 200, NULL, "at last", 7);
        test_settle();
        assert_non_null(strstr(rig.got, "at last"));
}

static void a_client_that_does_not_read_is_dropped(void **state)
{
        static char block[65536];

        test_connect();
        test_send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        cay_http_response_begin(rig.req, 200, NULL, CAY_HTTP_NO_LENGTH);
        for (unsigned i = 0; i < 16; i++)
                cay_http_response_write(rig.req, block, sizeof(block));
        test_rounds(3);
        test_now_ms += 29999;
        test_rounds(3);
        assert_string_equal(rig.trail, "");
        test_now_ms += 2;
        test_rounds(3);
        assert_string_equal(rig.trail, "lost");
        cay_http_response_end(rig.req);
}

/* Descriptors that come along */

static void send_with_fd(const char *text, int fd)
{
        struct iovec iov = { .iov_base = (void *)text, .iov_len = strlen(text) };
        union {
                struct cmsghdr head;
                char room[CMSG_SPACE(sizeof(int))];
        } control = { 0 };
        struct msghdr msg = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
        };

        control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
                                         .cmsg_level = SOL_SOCKET,
                                         .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
        assert_int_equal(sendmsg(rig.fd, &msg, 0), strlen(text));
        test_settle();
}

/* The other end of a pipe tells whether somebody still has it. */
static bool is_held(int read_end)
{
        struct pollfd p = { .fd = read_end };

        poll(&p, 1, 0);
        return !(p.revents & POLLHUP);
}

static void a_descriptor_comes_with_its_request(void **state)
{
        int ends[2], fd;

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        test_connect();
        send_with_fd("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n", ends[1]);
        close(ends[1]);
        assert_true(is_held(ends[0]));
        fd = cay_take_fd(rig.req->passed_fd);
        assert_true(fd >= 0);
        cay_http_response_send(rig.req, 200, NULL, "", 0);
        assert_true(is_held(ends[0]));
        close(fd);
        assert_false(is_held(ends[0]));
        close(ends[0]);
}

static void unused_descriptors_are_closed(void **state)
{
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        test_connect();
        send_with_fd("GET / HTTP/1.1\r\n", ends[1]);
        send_with_fd("Host: x\r\n\r\n", ends[1]); /* one too many */
        close(ends[1]);
        assert_int_equal(test_status(), 200);
        assert_false(is_held(ends[0]));
        close(ends[0]);

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        test_connect();
        send_with_fd("GET / HTTP/1.1\r\n", ends[1]); /* never a request */
        close(ends[1]);
        assert_true(is_held(ends[0]));
        test_hang_up();
        assert_false(is_held(ends[0]));
        close(ends[0]);
}

/* A server with next to no memory for its clients: what is small is served, what is not is told so. */
static void with_budget(struct cay_budgets *all, size_t max)
{
        cay_budgets_init(all, max);
        cay_http_server_free(rig.server);
        rig.config.budgets = all;
        test_start();
}

static void without(struct cay_budgets *all)
{
        cay_http_server_free(rig.server);
        test_settle(); /* what was deferred */
        assert_int_equal(all->all.used, 0);
        assert_null(all->owners);
        rig.config.budgets = NULL;
        test_start();
}

static void memory_is_counted(void **state)
{
        static char body[40000 + 200];
        struct cay_budgets all;
        size_t n;

        with_budget(&all, 8192);
        assert_non_null(strstr(test_ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "hello"));
        test_send("GET /much HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_non_null(strstr(rig.got, "HTTP/1.1 503 Service Unavailable"));
        assert_non_null(strstr(rig.got, "no memory is left for an answer"));
        assert_non_null(strstr(rig.got, "X-Request-Id: of-an-error\r\n"));
        assert_int_equal(test_count(rig.got, "hello"), 2); /* the connection goes on */
        n = (size_t)snprintf(body, 200, "POST /gather HTTP/1.1\r\nHost: x\r\nContent-Length: 40000\r\n\r\n");
        memset(body + n, 'x', 40000);
        test_ask(body);
        assert_int_equal(test_status(), 503);
        assert_non_null(strstr(rig.got, "no memory is left for a body"));
        test_hang_up();
        without(&all);
}

static void memory_of_heads_is_counted(void **state)
{
        static char head[32000];
        struct cay_budgets all;
        size_t n = (size_t)snprintf(head, 100, "GET / HTTP/1.1\r\nHost: x\r\n");

        with_budget(&all, 4096);
        for (unsigned i = 0; i < 4; i++) {
                n += (size_t)snprintf(head + n, 10, "X-%u: ", i);
                memset(head + n, 'x', 7000);
                n += 7000;
                n += (size_t)snprintf(head + n, 3, "\r\n");
        }
        test_ask(head);
        assert_int_equal(test_status(), 503);
        assert_non_null(strstr(rig.got, "no memory is left for a header"));
        test_hang_up();
        without(&all);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, test_setup, test_teardown)
        const struct CMUnitTest tests[] = {
                T(answers_a_request),
                T(memory_is_counted),
                T(memory_of_heads_is_counted),
                T(keeps_the_connection_and_pipelines),
                T(pipelines_without_stack),
                T(a_pipeline_takes_several_rounds),
                T(takes_a_request_byte_by_byte),
                T(head_has_no_body),
                T(old_clients_get_one_answer),
                T(tells_to_continue_when_the_body_is_wanted),
                T(does_not_ask_for_a_body_it_refuses),
                T(does_not_tell_to_continue_inside_an_answer),
                T(knows_no_other_expectation),
                T(collects_up_to_a_limit),
                T(refuses_huge_bodies_at_once),
                T(a_slow_handler_slows_the_client),
                T(a_held_body_goes_on),
                T(a_body_resumed_from_inside_goes_on),
                T(drops_a_small_rest_and_keeps_the_connection),
                T(a_large_rest_ends_the_connection),
                T(a_cut_body_is_told),
                T(malformed_chunks_are_told),
                T(streams_in_chunks),
                T(streams_to_old_clients_until_the_end),
                T(keeps_an_announced_length),
                T(bodyless_answers_have_no_framing),
                T(header_fields_cannot_be_injected),
                T(a_slow_client_slows_the_writer),
                T(aborting_ends_the_connection),
                T(a_lost_client_is_told_and_the_request_lives),
                T(half_a_goodbye_is_told_and_answered),
                T(half_a_goodbye_before_the_body_was_read_is_told),
                T(pipelined_requests_before_a_goodbye_are_answered),
                T(a_client_gone_while_streaming_is_told),
                T(the_end_of_the_server_is_told),
                T(stopping_lets_answers_finish),
                T(a_slow_head_is_ended),
                T(a_later_head_has_its_own_deadline),
                T(half_a_head_is_refused),
                T(silence_is_ended),
                T(idle_connections_are_ended),
                T(a_slow_body_is_ended),
                T(a_body_that_moves_is_not),
                T(patience_waits_for_people),
                T(a_handler_may_take_its_time),
                T(a_client_that_does_not_read_is_dropped),
                T(a_descriptor_comes_with_its_request),
                T(unused_descriptors_are_closed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
