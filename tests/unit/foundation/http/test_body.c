/* SPDX-License-Identifier: Apache-2.0 */
/* Where bodies end: by length, by chunks, with the connection; in one piece and byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "foundation/base/cleanup.h"
#include "foundation/http/body.h"

struct outcome {
        int r;
        bool done;
        char body[64];
        size_t len, used;
};

static struct outcome decode(enum cay_http_framing framing, uint64_t length, uint64_t max, const char *text,
                             size_t step)
{
        struct outcome o = { 0 };
        struct cay_http_body b;
        size_t len = strlen(text), have = 0;

        o.r = cay_http_body_begin(&b, framing, length, max);
        while (o.r == 0 && !b.done) {
                size_t framing_bytes, piece;

                o.r = cay_http_body_look(&b, text + o.used, have - o.used, &framing_bytes, &piece);
                if (o.r < 0)
                        break;
                o.used += framing_bytes;
                assert_true(o.len + piece <= sizeof(o.body));
                memcpy(o.body + o.len, text + o.used, piece);
                cay_http_body_took(&b, piece);
                o.len += piece;
                o.used += piece;
                if (framing_bytes + piece > 0)
                        continue;
                if (have == len)
                        break;
                have = have + step < len ? have + step : len;
        }
        o.done = b.done;
        return o;
}

static void by_length(void **state)
{
        for (size_t step = 1; step < 8; step++) {
                struct outcome o = decode(CAY_HTTP_LENGTH, 5, 100, "hellorest", step);

                assert_true(o.done && o.len == 5 && o.used == 5);
        }
        assert_true(decode(CAY_HTTP_LENGTH, 0, 100, "rest", 1).done);
        assert_true(decode(CAY_HTTP_NO_BODY, 0, 100, "rest", 1).done);
        assert_false(decode(CAY_HTTP_LENGTH, 6, 100, "hello", 2).done);
        assert_int_equal(decode(CAY_HTTP_LENGTH, 6, 5, "hello!", 1).r, -EFBIG);
}

static void until_the_end(void **state)
{
        struct cay_http_body b;

        assert_int_equal(decode(CAY_HTTP_UNTIL_CLOSE, 0, 9, "123456789", 3).len, 9);
        assert_int_equal(decode(CAY_HTTP_UNTIL_CLOSE, 0, 8, "123456789", 3).r, -EFBIG);
        cay_http_body_begin(&b, CAY_HTTP_UNTIL_CLOSE, 0, 8);
        assert_int_equal(cay_http_body_eof(&b), 0);
        assert_true(b.done);
        cay_http_body_begin(&b, CAY_HTTP_LENGTH, 1, 8);
        assert_int_equal(cay_http_body_eof(&b), -EPROTO);
        cay_http_body_begin(&b, CAY_HTTP_CHUNKED, 0, 8);
        assert_int_equal(cay_http_body_eof(&b), -EPROTO);
}

static void by_chunks(void **state)
{
        static const char text[] = "5\r\nhello\r\n00000001\r\n \r\nA\r\n0123456789\r\n0\r\n\r\nrest";

        for (size_t step = 1; step < sizeof(text); step++) {
                struct outcome o = decode(CAY_HTTP_CHUNKED, 0, 100, text, step);

                assert_int_equal(o.r, 0);
                assert_true(o.done && o.len == 16 && o.used == sizeof(text) - 5);
                assert_memory_equal(o.body, "hello 0123456789", 16);
        }
        assert_true(decode(CAY_HTTP_CHUNKED, 0, 0, "0\r\n\r\n", 1).done);
        assert_true(decode(CAY_HTTP_CHUNKED, 0, 0, "0\r\nX-Sum: 5\r\nY:\r\n\r\n", 1).done);
}

static void refuses_malformed_chunks(void **state)
{
        static const char *const bad[] = {
                "\r\n",
                "g\r\n",
                "5\n",
                "5\rx",
                "5 \r\nhello\r\n",
                " 5\r\nhello\r\n",
                "5;a=b\r\nhello\r\n",
                "5;\r\nhello\r\n",
                "5\t\r\nhello\r\n",
                "0x5\r\nhello\r\n",
                "+5\r\nhello\r\n",
                "-5\r\nhello\r\n",
                "5\r\nhello0\r\n\r\n",
                "5\r\nhello\n0\r\n\r\n",
                "5\r\nhello\r0\r\n\r\n",
                "5\r\nhello\r\n\r\n",
                "00000000000000005\r\nhello\r\n",
                "8000000000000000\r\n",
                "ffffffffffffffff\r\n",
                "10000000000000005\r\n",
                "0\r\n\n",
                "0\r\n\r\r",
                "0\r\nX\r\n\r\n",
                "0\r\n X: y\r\n\r\n",
                "0\r\nX : y\r\n\r\n",
                "0\r\nX: y\n\r\n",
                "0\r\nX: a\rb\r\n\r\n",
                "0\r\nX: \x01\r\n\r\n",
                "0\r\n: y\r\n\r\n",
                "0\r\nContent-Length: 5\r\n\r\n",
                "0\r\nX: y\r\ntransfer-encoding: chunked\r\n\r\n",
                "0\r\nHOST: x\r\n\r\n",
        };

        for (size_t i = 0; i < CAY_COUNT(bad); i++) {
                struct outcome whole = decode(CAY_HTTP_CHUNKED, 0, UINT64_MAX, bad[i], 1000);
                struct outcome bytes = decode(CAY_HTTP_CHUNKED, 0, UINT64_MAX, bad[i], 1);

                if (whole.r != -EPROTO || bytes.r != -EPROTO)
                        fail_msg("taken: %s (%d, %d)", bad[i], whole.r, bytes.r);
        }
}

static void chunks_have_a_maximum(void **state)
{
        assert_true(decode(CAY_HTTP_CHUNKED, 0, 8, "5\r\nhello\r\n3\r\nabc\r\n0\r\n\r\n", 1).done);
        assert_int_equal(decode(CAY_HTTP_CHUNKED, 0, 8, "5\r\nhello\r\n4\r\n", 1).r, -EFBIG);
        assert_int_equal(decode(CAY_HTTP_CHUNKED, 0, 8, "7fffffffffffffff\r\n", 1).r, -EFBIG);
}

static void trailers_have_a_maximum(void **state)
{
        char text[10000] = "0\r\nX: ";

        memset(text + 6, 'y', sizeof(text) - 7);
        assert_int_equal(decode(CAY_HTTP_CHUNKED, 0, 8, text, 1000).r, -EPROTO);
}

/* A taker that takes little. */
static void takes_part_of_a_piece(void **state)
{
        struct cay_http_body b;
        size_t framing, piece;

        cay_http_body_begin(&b, CAY_HTTP_CHUNKED, 0, 100);
        assert_int_equal(cay_http_body_look(&b, "5\r\nhello\r\n", 10, &framing, &piece), 0);
        assert_true(framing == 3 && piece == 5);
        cay_http_body_took(&b, 2);
        assert_int_equal(cay_http_body_look(&b, "llo\r\n", 5, &framing, &piece), 0);
        assert_true(framing == 0 && piece == 3);
        cay_http_body_took(&b, 0);
        assert_int_equal(cay_http_body_look(&b, "llo\r\n", 5, &framing, &piece), 0);
        assert_true(framing == 0 && piece == 3);
        cay_http_body_took(&b, 3);
        assert_int_equal(cay_http_body_look(&b, "\r\n0\r\n\r\n", 7, &framing, &piece), 0);
        assert_true(framing == 7 && b.done && b.total == 5);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(by_length),
                cmocka_unit_test(until_the_end),
                cmocka_unit_test(by_chunks),
                cmocka_unit_test(refuses_malformed_chunks),
                cmocka_unit_test(chunks_have_a_maximum),
                cmocka_unit_test(trailers_have_a_maximum),
                cmocka_unit_test(takes_part_of_a_piece),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
