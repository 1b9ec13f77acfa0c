/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Message heads: what is taken, and the table of what is refused because two readers could see its end in two
 * places.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/base/cleanup.h"
#include "foundation/http/head.h"
#include "foundation/http/second.h"

static const struct cay_http_head_limits limits = { .line_bytes = 100, .head_bytes = 2000, .lines = 10 };

/* The status that a request is refused with; 0: it is taken, and *ret is what was read. */
static unsigned judge_bytes(const char *text, size_t len, struct cay_http_head *ret)
{
        struct cay_http_head_search search = { 0 };
        struct cay_http_fault fault = { 0 };
        /* An exact copy on the heap: the sanitizer sees one byte too far. */
        char *copy = malloc(len ? len : 1);
        ssize_t n;

        assert_non_null(copy);
        memcpy(copy, text, len);
        n = cay_http_head_find(&search, copy, len, &limits, &fault);
        if (n > 0 && cay_http_head_parse_request(ret, copy, (size_t)n, &fault) < 0)
                n = -1;
        free(copy);
        if (n == 0)
                return 1; /* not whole */
        if (n < 0)
                assert_non_null(fault.text);
        return n < 0 ? fault.status : 0;
}

static unsigned judge(const char *text, struct cay_http_head *ret)
{
        return judge_bytes(text, strlen(text), ret);
}

#define HEAD "POST /x HTTP/1.1\r\nHost: h\r\n"

static void takes_plain_requests(void **state)
{
        struct cay_http_head h;
        const char *text = "GET /a/b?c=d HTTP/1.1\r\nHost:example.org\r\nX-Empty:\r\nAccept: \t a, b \t\r\n"
                           "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n";

        assert_int_equal(judge(text, &h), 0);
        assert_int_equal(h.method, CAY_HTTP_GET);
        assert_int_equal(h.minor, 1);
        assert_int_equal(h.line_count, 5);
        assert_memory_equal(text + h.target, "/a/b?c=d", h.target_len);
        assert_memory_equal(text + h.host, "example.org", 11);
        assert_int_equal(h.host_len, 11);
        assert_int_equal(h.lines[1].value_len, 0);
        assert_int_equal(h.lines[2].value_len, 4);
        assert_memory_equal(text + h.lines[2].value, "a, b", 4);
        assert_true(h.keep_alive && h.upgrade);
        assert_int_equal(h.framing, CAY_HTTP_NO_BODY);

        assert_int_equal(judge(HEAD "content-LENGTH: 0\r\nConnection: close\r\n\r\n", &h), 0);
        assert_int_equal(h.framing, CAY_HTTP_LENGTH);
        assert_false(h.keep_alive);
        assert_int_equal(judge(HEAD "Content-Length: 9223372036854775807\r\n\r\n", &h), 0);
        assert_true(h.length == INT64_MAX);
        assert_int_equal(judge(HEAD "Transfer-Encoding: Chunked\r\nExpect: 100-Continue\r\n\r\n", &h), 0);
        assert_int_equal(h.framing, CAY_HTTP_CHUNKED);
        assert_true(h.expect_continue);
        assert_int_equal(judge("GET / HTTP/1.0\r\n\r\n", &h), 0);
        assert_false(h.keep_alive);
        assert_int_equal(judge("GET / HTTP/1.1\r\nHost: h\r\nX: \xc3\xa4\xff\r\n\r\n", &h), 0);
}

/* Each of these has at least two readings; the forms are those that have been used against real servers. */
static const struct {
        const char *name;
        unsigned status;
        const char *text;
} refused[] = {
        { "length and chunks", 400, HEAD "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" },
        { "chunks and length", 400, HEAD "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" },
        { "two lengths", 400, HEAD "Content-Length: 5\r\nContent-Length: 6\r\n\r\n" },
        { "the same length twice", 400, HEAD "Content-Length: 5\r\nContent-Length: 5\r\n\r\n" },
        { "a list of lengths", 400, HEAD "Content-Length: 5, 5\r\n\r\n" },
        { "a negative length", 400, HEAD "Content-Length: -1\r\n\r\n" },
        { "a length with a plus", 400, HEAD "Content-Length: +5\r\n\r\n" },
        { "a hexadecimal length", 400, HEAD "Content-Length: 0x5\r\n\r\n" },
        { "a length with a point", 400, HEAD "Content-Length: 5.0\r\n\r\n" },
        { "a length with a blank inside", 400, HEAD "Content-Length: 5 5\r\n\r\n" },
        { "a length in quotes", 400, HEAD "Content-Length: \"5\"\r\n\r\n" },
        { "an empty length", 400, HEAD "Content-Length:\r\n\r\n" },
        { "2^63", 400, HEAD "Content-Length: 9223372036854775808\r\n\r\n" },
        { "2^64", 400, HEAD "Content-Length: 18446744073709551616\r\n\r\n" },
        { "2^64 + 5", 400, HEAD "Content-Length: 18446744073709551621\r\n\r\n" },
        { "a length of 40 digits", 400,
          HEAD "Content-Length: 0000000000000000000000000000000000000005\r\n\r\n" },
        { "chunked twice", 400, HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" },
        { "chunked and identity", 400,
          HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" },
        { "chunked, chunked", 400, HEAD "Transfer-Encoding: chunked, chunked\r\n\r\n" },
        { "gzip, chunked", 400, HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n" },
        { "chunked, gzip", 400, HEAD "Transfer-Encoding: chunked, gzip\r\n\r\n" },
        { "identity", 400, HEAD "Transfer-Encoding: identity\r\n\r\n" },
        { "xchunked", 400, HEAD "Transfer-Encoding: xchunked\r\n\r\n" },
        { "chunkedx", 400, HEAD "Transfer-Encoding: chunkedx\r\n\r\n" },
        { "quoted chunked", 400, HEAD "Transfer-Encoding: \"chunked\"\r\n\r\n" },
        { "an empty coding", 400, HEAD "Transfer-Encoding:\r\n\r\n" },
        { "a coding behind a vertical tab", 400, HEAD "Transfer-Encoding: \vchunked\r\n\r\n" },
        { "a coding behind a form feed", 400, HEAD "Transfer-Encoding: chunked\f\r\n\r\n" },
        { "a coding with parameters", 400, HEAD "Transfer-Encoding: chunked;q=1\r\n\r\n" },
        { "a coding with a comma", 400, HEAD "Transfer-Encoding: chunked,\r\n\r\n" },
        { "a blank before the colon", 400, HEAD "Transfer-Encoding : chunked\r\n\r\n" },
        { "a tab before the colon", 400, HEAD "Content-Length\t: 5\r\n\r\n" },
        { "a blank before the name", 400, HEAD " Transfer-Encoding: chunked\r\n\r\n" },
        { "a folded line", 400, HEAD "Transfer-Encoding:\r\n chunked\r\n\r\n" },
        { "a folded value", 400, HEAD "X-A: b\r\n\tContent-Length: 5\r\n\r\n" },
        { "a first line folded", 400, "GET / HTTP/1.1\r\n Host: h\r\n\r\n" },
        { "a bare line feed", 400, "GET / HTTP/1.1\nHost: h\r\n\r\n" },
        { "a bare line feed in a field", 400, HEAD "X-A: b\nContent-Length: 5\r\n\r\n" },
        { "a bare line feed at the end", 400, HEAD "X-A: b\r\n\n" },
        { "a bare carriage return in a value", 400, HEAD "X-A: b\rContent-Length: 5\r\n\r\n" },
        { "a bare carriage return in a name", 400, HEAD "X\r-A: b\r\n\r\n" },
        { "an empty field and a bare carriage return (CVE-2023-30589)", 400,
          HEAD "X-Empty:\r\rTransfer-Encoding: chunked\r\n\r\n" },
        { "a carriage return before the line end", 400, HEAD "X-A: b\r\r\n\r\n" },
        { "a line of nothing but a carriage return", 400, HEAD "X-A: b\r\n\r\r\n\r\n" },
        { "a field without a colon", 400, HEAD "Content-Length 5\r\n\r\n" },
        { "a field without a name", 400, HEAD ": 5\r\n\r\n" },
        { "a name with a blank", 400, HEAD "Content Length: 5\r\n\r\n" },
        { "a name in brackets", 400, HEAD "[Content-Length]: 5\r\n\r\n" },
        { "a name beyond ASCII", 400, HEAD "Content-L\xe9ngth: 5\r\n\r\n" },
        { "a control in a value", 400, HEAD "X-A: \x01\r\n\r\n" },
        { "a DEL in a value", 400, HEAD "X-A: 1234567\x7f\r\n\r\n" },
        { "chunks in HTTP/1.0", 400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" },
        { "no host", 400, "GET / HTTP/1.1\r\nX: y\r\n\r\n" },
        { "two hosts", 400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n" },
        { "no target", 400, "GET HTTP/1.1\r\nHost: h\r\n\r\n" },
        { "two blanks", 400, "GET  / HTTP/1.1\r\nHost: h\r\n\r\n" },
        { "two blanks before the version", 400, "GET /  HTTP/1.1\r\nHost: h\r\n\r\n" },
        { "a blank behind the version", 400, "GET / HTTP/1.1 \r\nHost: h\r\n\r\n" },
        { "a tab in the request line", 400, "GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n" },
        { "a blank in the target", 400, "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n" },
        { "bytes beyond ASCII in the target", 400, "GET /\xc3\xa4 HTTP/1.1\r\nHost: h\r\n\r\n" },
        { "no version", 400, "GET /\r\nHost: h\r\n\r\n" },
        { "another protocol", 400, "GET / HTTQ/1.1\r\nHost: h\r\n\r\n" },
        { "a version in lower case", 400, "GET / http/1.1\r\nHost: h\r\n\r\n" },
        { "a long version", 400, "GET / HTTP/1.10\r\nHost: h\r\n\r\n" },
        { "the version before", 505, "GET / HTTP/0.9\r\nHost: h\r\n\r\n" },
        { "the version after", 505, "GET / HTTP/1.2\r\nHost: h\r\n\r\n" },
        { "the second version", 505, "PRI * HTTP/2.0\r\nHost: h\r\n\r\n" },
        { "a method in lower case", 501, "get / HTTP/1.1\r\nHost: h\r\n\r\n" },
        { "an unknown method", 501, "BREW / HTTP/1.1\r\nHost: h\r\n\r\n" },
        { "a tunnel", 501, "CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n" },
        { "a trace", 501, "TRACE / HTTP/1.1\r\nHost: h\r\n\r\n" },
        { "another expectation", 417, HEAD "Expect: 200-ok\r\n\r\n" },
        { "a TLS hello", 400, "\x16\x03\x01\x02" },
        { "an empty line and nothing", 400, "\r\n\r\n" },
};

static void refuses_the_ambiguous(void **state)
{
        for (size_t i = 0; i < CAY_COUNT(refused); i++) {
                struct cay_http_head h;
                unsigned status = judge(refused[i].text, &h);

                if (status != refused[i].status)
                        fail_msg("%s: %u, not %u", refused[i].name, status, refused[i].status);
        }
}

static void refuses_nul(void **state)
{
        static const char value[] = HEAD "X-A: a\0b\r\n\r\n", name[] = HEAD "X\0A: b\r\n\r\n";
        static const char target[] = "GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n";
        struct cay_http_head h;

        assert_int_equal(judge_bytes(value, sizeof(value) - 1, &h), 400);
        assert_int_equal(judge_bytes(name, sizeof(name) - 1, &h), 400);
        assert_int_equal(judge_bytes(target, sizeof(target) - 1, &h), 400);
}

static void every_control_is_refused_everywhere_in_a_value(void **state)
{
        for (unsigned c = 0; c < 256; c++) {
                for (unsigned at = 0; at < 20; at++) {
                        char text[128] = HEAD "X-A: a";
                        size_t len = strlen(text);
                        struct cay_http_head h;
                        bool fine = c == '\t' || (c >= 0x20 && c != 0x7f);

                        memset(text + len, 'x', 20);
                        text[len + at] = (char)c;
                        memcpy(text + len + 20, "\r\n\r\n", 4);
                        assert_int_equal(judge_bytes(text, len + 24, &h), fine ? 0 : 400);
                }
        }
}

static void has_limits(void **state)
{
        struct cay_http_head h;
        char text[4096];
        size_t len;

        memset(text, 'a', sizeof(text));
        memcpy(text, "GET /", 5);
        assert_int_equal(judge_bytes(text, 100, &h), 1);
        assert_int_equal(judge_bytes(text, 101, &h), 414);
        len = (size_t)snprintf(text, sizeof(text), "GET /%090d HTTP/1.1\r\nHost: h\r\n\r\n", 0);
        assert_int_equal(judge_bytes(text, len, &h), 414);
        len = (size_t)snprintf(text, sizeof(text), HEAD "X-A: %02000d\r\n\r\n", 0);
        assert_int_equal(judge_bytes(text, len, &h), 431);
        assert_int_equal(judge_bytes(text, 1999, &h), 1);
        assert_int_equal(judge_bytes(text, 2000, &h), 431);
        len = (size_t)snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: h\r\n");
        for (unsigned i = 0; i < 9; i++)
                len += (size_t)snprintf(text + len, sizeof(text) - len, "X: y\r\n");
        memcpy(text + len, "\r\n", 3);
        assert_int_equal(judge(text, &h), 0);
        memcpy(text + len, "X: y\r\n\r\n", 9);
        assert_int_equal(judge(text, &h), 431);
}

static void finds_the_end_from_any_pieces(void **state)
{
        static const char text[] = HEAD "Content-Length: 5\r\n\r\nhello";
        size_t head = strlen(text) - 5;

        for (size_t step = 1; step <= sizeof(text); step++) {
                struct cay_http_head_search s = { 0 };
                struct cay_http_fault fault;

                for (size_t have = step; have < head; have += step)
                        assert_int_equal(cay_http_head_find(&s, text, have, &limits, &fault), 0);
                assert_int_equal(cay_http_head_find(&s, text, sizeof(text) - 1, &limits, &fault), head);
        }
}

/* Responses, as an app in a box sends them */

static int judge_response(const char *text, enum cay_http_method method, struct cay_http_head *h)
{
        struct cay_http_head_search search = { 0 };
        struct cay_http_fault fault = { 0 };
        ssize_t n = cay_http_head_find(&search, text, strlen(text), &limits, &fault);

        if (n <= 0)
                return -2;
        if (cay_http_head_parse_response(h, method, text, (size_t)n, &fault) < 0)
                return fault.status == 502 ? -1 : -3;
        return (int)h->framing;
}

static void reads_responses(void **state)
{
        struct cay_http_head h;

        assert_int_equal(judge_response("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", CAY_HTTP_GET, &h),
                         CAY_HTTP_LENGTH);
        assert_int_equal(h.status, 200);
        assert_int_equal(judge_response("HTTP/1.1 404\r\nTransfer-Encoding: chunked\r\n\r\n", CAY_HTTP_GET,
                                        &h),
                         CAY_HTTP_CHUNKED);
        assert_int_equal(judge_response("HTTP/1.0 200 OK\r\n\r\n", CAY_HTTP_GET, &h), CAY_HTTP_UNTIL_CLOSE);
        assert_int_equal(judge_response("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", CAY_HTTP_HEAD, &h),
                         CAY_HTTP_NO_BODY);
        assert_int_equal(judge_response("HTTP/1.1 204 \r\n\r\n", CAY_HTTP_GET, &h), CAY_HTTP_NO_BODY);
        assert_int_equal(judge_response("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
                                        CAY_HTTP_GET, &h),
                         CAY_HTTP_NO_BODY);
        assert_int_equal(
                judge_response(
                        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
                        CAY_HTTP_GET, &h),
                CAY_HTTP_NO_BODY);
        assert_true(h.upgrade);
}

static void refuses_bad_responses(void **state)
{
        static const char *const bad[] = {
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
                "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                "HTTP/1.1 99 OK\r\n\r\n",
                "HTTP/1.1 600 OK\r\n\r\n",
                "HTTP/1.1 20x OK\r\n\r\n",
                "HTTP/1.1 2000 OK\r\n\r\n",
                "HTTP/2.0 200 OK\r\n\r\n",
                "HTTP/1.1  200 OK\r\n\r\n",
                "HTTP/1.1 200 O\x01K\r\n\r\n",
                "HTTP/1.1 200 OK\r\n X: y\r\n\r\n",
                "SMTP/1.1 200 OK\r\n\r\n",
                "hello\r\n\r\n",
        };
        struct cay_http_head h;

        for (size_t i = 0; i < CAY_COUNT(bad); i++) {
                if (judge_response(bad[i], CAY_HTTP_GET, &h) != -1)
                        fail_msg("taken: %s", bad[i]);
        }
}

/*
 * The second reader is there, strict, and does read: it refuses something by itself and sees the same
 * framing.
 */
static void the_second_reader_is_strict(void **state)
{
        static const char blank[] = "GET / HTTP/1.1\r\nHost : x\r\n\r\n";
        static const char empty[] = "GET / HTTP/1.1\r\nHost: x\r\nX:\r\rContent-Length: 5\r\n\r\n";
        static const char good[] = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 77\r\n\r\n";
        struct cay_http_second s;
        const char *why;

        assert_int_equal(cay_http_second_read(&s, true, blank, sizeof(blank) - 1, &why), -1);
        assert_int_equal(cay_http_second_read(&s, true, empty, sizeof(empty) - 1, &why), -1);
        assert_int_equal(cay_http_second_read(&s, true, good, sizeof(good) - 3, &why), -1);
        assert_int_equal(cay_http_second_read(&s, true, good, sizeof(good) - 1, &why), 0);
        assert_true(s.has_length && !s.is_chunked && s.length == 77);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(takes_plain_requests),
                cmocka_unit_test(refuses_the_ambiguous),
                cmocka_unit_test(refuses_nul),
                cmocka_unit_test(every_control_is_refused_everywhere_in_a_value),
                cmocka_unit_test(has_limits),
                cmocka_unit_test(finds_the_end_from_any_pieces),
                cmocka_unit_test(reads_responses),
                cmocka_unit_test(refuses_bad_responses),
                cmocka_unit_test(the_second_reader_is_strict),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
