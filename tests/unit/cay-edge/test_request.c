/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-edge/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct edge_order order = {
        .host = "api.example",
        .count = 2,
        .secrets = { { "Authorization", "cay-1", "first" }, { "X-Key", "cay-2", "second" } },
};

static struct edge_request r;
static struct cay_buf in, out;

static const char *pass(const char *text)
{
        cay_buf_clear(&in);
        cay_buf_clear(&out);
        r = (struct edge_request){ .order = &order };
        assert_int_equal(cay_buf_puts(&in, text), 0);
        while (edge_request_step(&r, &in, &out))
                ;
        return cay_buf_data(&out);
}

static int set_up(void **state)
{
        cay_buf_init(&in, 2 * EDGE_HEAD_MAX);
        cay_buf_init(&out, 2 * EDGE_OUT_MAX);
        return 0;
}

static int tear_down(void **state)
{
        cay_buf_done(&in);
        cay_buf_done(&out);
        return 0;
}

#define HEAD "GET /cay-1 HTTP/1.1\r\nHost: api.example\r\n"

static void own_headers_are_replaced(void **state)
{
        assert_string_equal(pass(HEAD
                                 "authorization: Bearer cay-1\r\nX-Key: cay-2\r\nX-Other: cay-1\r\n\r\n"),
                            HEAD "authorization: Bearer first\r\nX-Key: second\r\nX-Other: cay-1\r\n\r\n");
        assert_string_equal(pass(HEAD "Authorization: cay-2\r\nX-Key: cay-1\r\n\r\n"),
                            HEAD "Authorization: cay-2\r\nX-Key: cay-1\r\n\r\n");
        assert_string_equal(pass(HEAD "Authorization: a cay-1 b cay-1\r\n\r\n"),
                            HEAD "Authorization: a first b first\r\n\r\n");
}

static void basic_is_replaced_inside(void **state)
{
        /* u:cay-1 becomes u:first */
        assert_string_equal(pass(HEAD "Authorization: Basic dTpjYXktMQ==\r\n\r\n"),
                            HEAD "Authorization: Basic dTpmaXJzdA==\r\n\r\n");
        assert_string_equal(pass(HEAD "Authorization: Basic !!\r\n\r\n"),
                            HEAD "Authorization: Basic !!\r\n\r\n");
}

static void bodies_are_passed_on(void **state)
{
        const char *text = "POST / HTTP/1.1\r\nHost: api.example\r\nContent-Length: 22\r\n\r\n"
                           "Authorization: cay-1\r\n"
                           "GET / HTTP/1.1\r\nHost: api.example\r\n\r\n";

        assert_string_equal(pass(text), text);
        assert_int_equal(r.state, EDGE_AT_HEAD);
        text = "PUT / HTTP/1.1\r\nHost: api.example\r\nTransfer-Encoding: chunked\r\n\r\n"
               "5\r\ncay-1\r\n0\r\n\r\n";
        assert_string_equal(pass(text), text);
        assert_int_equal(r.state, EDGE_AT_HEAD);
}

static void others_are_refused(void **state)
{
        static const char *const rows[] = {
                "GET / HTTP/1.1\r\nHost: other.example\r\nAuthorization: cay-1\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: api.example.evil\r\nAuthorization: cay-1\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: api.example:80\r\nAuthorization: cay-1\r\n\r\n",
                "GET https://other.example/ HTTP/1.1\r\nHost: api.example\r\nAuthorization: cay-1\r\n\r\n",
                "GET / HTTP/1.0\r\nAuthorization: cay-1\r\n\r\n",
                ("POST / HTTP/1.1\r\nHost: api.example\r\nContent-Length: 1\r\nTransfer-Encoding: "
                 "chunked\r\n\r\n"),
                "GET / HTTP/1.1\r\nHost: api.example\r\nX: a\r\n Authorization: cay-1\r\n\r\n",
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                assert_string_equal(pass(rows[i]), "");
                assert_int_equal(r.state, EDGE_REFUSED);
                assert_int_equal(r.is_other_host, i < 5);
                assert_in_range(r.fault.status, 400, 599);
        }
}

static void nothing_is_replaced_after_an_upgrade(void **state)
{
        const char *text =
                HEAD "Connection: upgrade\r\nUpgrade: x\r\n\r\n" HEAD "Authorization: cay-1\r\n\r\n";

        assert_string_equal(pass(text), text);
        assert_int_equal(r.state, EDGE_RAW);
}

static void a_head_that_grows_too_much_leaves_nothing(void **state)
{
        static char value[EDGE_VALUE], text[EDGE_HEAD_MAX];
        struct edge_order long_one = order;
        size_t len;

        memset(value, 'v', sizeof(value) - 1);
        memcpy(long_one.secrets[0].value, value, sizeof(value));
        len = (size_t)snprintf(text, sizeof(text), HEAD "Authorization: ");
        for (unsigned i = 0; i < 2000; i++)
                len += (size_t)snprintf(text + len, sizeof(text) - len, "cay-1");
        snprintf(text + len, sizeof(text) - len, "\r\n\r\n");
        cay_buf_clear(&in);
        cay_buf_clear(&out);
        r = (struct edge_request){ .order = &long_one };
        assert_int_equal(cay_buf_puts(&in, text), 0);
        assert_false(edge_request_step(&r, &in, &out));
        assert_int_equal(r.state, EDGE_REFUSED);
        assert_int_equal(r.fault.status, 431);
        assert_int_equal(out.len, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(own_headers_are_replaced),
                cmocka_unit_test(basic_is_replaced_inside),
                cmocka_unit_test(bodies_are_passed_on),
                cmocka_unit_test(others_are_refused),
                cmocka_unit_test(nothing_is_replaced_after_an_upgrade),
                cmocka_unit_test(a_head_that_grows_too_much_leaves_nothing),
        };

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
