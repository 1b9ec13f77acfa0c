/* SPDX-License-Identifier: Apache-2.0 */
/* Server-sent events: what a browser's parser sees is what was put in, whatever the data holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "foundation/http/sse.h"

static struct cay_buf out;

static const char *put(const char *id, const char *event, const char *data)
{
        cay_buf_clear(&out);
        assert_int_equal(cay_sse_put(&out, id, event, data, strlen(data)), 0);
        return cay_buf_data(&out);
}

static void frames_events(void **state)
{
        cay_buf_init(&out, 1000);
        assert_string_equal(put(NULL, NULL, "hello"), "data: hello\n\n");
        assert_string_equal(put("7", "stdout", "a\nb"), "id: 7\nevent: stdout\ndata: a\ndata: b\n\n");
        assert_string_equal(put(NULL, NULL, ""), "data: \n\n");
        assert_string_equal(put(NULL, NULL, "a\r\nb\rc\n"), "data: a\ndata: b\ndata: c\ndata: \n\n");
        assert_string_equal(put(NULL, NULL, "x\n\nid: 9\nevent: evil"),
                            "data: x\ndata: \ndata: id: 9\ndata: event: evil\n\n");
        cay_buf_done(&out);
}

static void refuses_lines_where_none_may_be(void **state)
{
        cay_buf_init(&out, 1000);
        assert_int_equal(cay_sse_put(&out, "1\n2", NULL, "x", 1), -EINVAL);
        assert_int_equal(cay_sse_put(&out, NULL, "a\rb", "x", 1), -EINVAL);
        assert_int_equal(out.len, 0);
        cay_buf_done(&out);
}

static void is_whole_or_not_there(void **state)
{
        cay_buf_init(&out, 10 + 13);
        assert_int_equal(cay_buf_puts(&out, "0123456789"), 0);
        assert_int_equal(cay_sse_put(&out, NULL, NULL, "hello!", 6), -ENOSPC);
        assert_int_equal(out.len, 10);
        assert_int_equal(cay_sse_put(&out, NULL, NULL, "hello", 5), 0);
        assert_int_equal(out.len, 23);
        cay_buf_done(&out);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(frames_events),
                cmocka_unit_test(refuses_lines_where_none_may_be),
                cmocka_unit_test(is_whole_or_not_there),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
