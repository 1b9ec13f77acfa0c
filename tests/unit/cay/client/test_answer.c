/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: framing in pieces of any size, and what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cay/client/answer.h"

/* Feeds text in pieces; the body into out. The bytes left over behind the answer, or -EBADMSG. */
static ssize_t feed(struct cay_answer *a, const char *text, size_t piece, struct cay_buf *out)
{
        size_t len = strlen(text), at = 0;

        while (at < len && a->state != CAY_ANSWER_DONE) {
                size_t n = len - at < piece ? len - at : piece, body_len;
                const char *body;
                ssize_t used = cay_answer_feed(a, text + at, n, &body, &body_len);

                if (used < 0)
                        return used;
                assert_true(used > 0);
                assert_int_equal(cay_buf_put(out, body, body_len), 0);
                at += (size_t)used;
        }
        return (ssize_t)(len - at);
}

static void reads(const char *text, unsigned status, const char *body, ssize_t left)
{
        static const size_t pieces[] = { 1, 2, 3, 7, 1000 };

        for (unsigned i = 0; i < CAY_COUNT(pieces); i++) {
                cay_auto_buf struct cay_buf out = { 0 };
                struct cay_answer a;

                cay_buf_init(&out, 1000);
                cay_answer_init(&a);
                assert_int_equal(feed(&a, text, pieces[i], &out), left);
                assert_int_equal(cay_answer_end(&a), 0);
                assert_int_equal(a.status, status);
                assert_string_equal(cay_buf_data(&out), body);
                cay_answer_done(&a);
        }
}

static void bodies(void **state)
{
        reads("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello+", 200, "hello", 1);
        reads("HTTP/1.1 200\r\ncontent-length:  0 \r\n\r\n", 200, "", 0);
        reads("HTTP/1.1 204 No Content\r\n\r\n", 204, "", 0);
        reads("HTTP/1.1 200 OK\r\nTransfer-Encoding: "
              "chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\n",
              200, "abc0123456789", 0);
        reads("HTTP/1.0 200 OK\r\n\r\nto the end", 200, "to the end", 0);
        reads("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\nx", 404, "x", 0);
}

static void head_is_told(void **state)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_answer a;

        cay_buf_init(&out, 100);
        cay_answer_init(&a);
        assert_false(cay_answer_has_head(&a));
        feed(&a,
             "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nConnection: "
             "close\r\nContent-Length: 2\r\n\r\n",
             1000, &out);
        assert_true(cay_answer_has_head(&a));
        assert_string_equal(a.type, "application/json; charset=utf-8");
        assert_true(a.closes && a.body.left == 2);
        assert_int_equal(cay_answer_end(&a), -EBADMSG); /* cut off */
        cay_answer_done(&a);
}

static void takes_an_upgrade_where_one_was_asked_for(void **state)
{
        const char text[] = "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nrest";
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_answer a;

        cay_buf_init(&out, 100);
        cay_answer_init(&a);
        a.may_upgrade = true;
        assert_int_equal(feed(&a, text, 1, &out), 4);
        assert_int_equal(a.status, 101);
        assert_int_equal(out.len, 0);
        cay_answer_done(&a);
}

static void refuses(void **state)
{
        static const char *const bad[] = {
                "HTTP/2 200 OK\r\n\r\n",
                "HTTP/1.1 20 OK\r\n\r\n",
                "HTTP/1.1 2000 OK\r\n\r\n",
                "HTTP/1.1 101 Switching\r\n\r\n",
                "HTTP/1.1 099 No\r\n\r\n",
                "\r\n\r\n",
                "HTTP/1.1 200 OK\nX: y\r\n\r\n",
                "HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
                "HTTP/1.1 200 OK\r\n folded\r\n\r\n",
                "HTTP/1.1 200 OK\r\n: y\r\n\r\n",
                "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\nab",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA;x=y\r\n0123456789\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        };

        for (unsigned i = 0; i < CAY_COUNT(bad); i++) {
                cay_auto_buf struct cay_buf out = { 0 };
                struct cay_answer a;

                cay_buf_init(&out, 100);
                cay_answer_init(&a);
                if (feed(&a, bad[i], 1000, &out) != -EBADMSG)
                        fail_msg("taken: %s", bad[i]);
                assert_int_equal(cay_answer_end(&a), -EBADMSG);
                cay_answer_done(&a);
        }
}

static void heads_are_bounded(void **state)
{
        char line[1000];
        struct cay_answer a;
        const char *body;
        size_t body_len;
        ssize_t r = 0;

        memset(line, 'a', sizeof(line));
        memcpy(line + sizeof(line) - 2, "\r\n", 2);
        line[3] = ':';
        cay_answer_init(&a);
        for (unsigned i = 0; i < 100 && r >= 0; i++)
                r = cay_answer_feed(&a, line, sizeof(line), &body, &body_len);
        assert_int_equal(r, -EBADMSG);
        cay_answer_done(&a);
        cay_answer_init(&a);
        for (unsigned i = 0; i < 9; i++) { /* interim answers without end */
                const char *text = "HTTP/1.1 100 Continue\r\n\r\n";

                r = cay_answer_feed(&a, text, strlen(text), &body, &body_len);
        }
        assert_int_equal(r, -EBADMSG);
        cay_answer_done(&a);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(bodies),
                cmocka_unit_test(head_is_told),
                cmocka_unit_test(takes_an_upgrade_where_one_was_asked_for),
                cmocka_unit_test(refuses),
                cmocka_unit_test(heads_are_bounded),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
