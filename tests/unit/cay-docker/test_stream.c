/* SPDX-License-Identifier: Apache-2.0 */
/* Docker's frames: however they are cut, the same bytes come out; what is none is refused for good. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "cay-docker/stream.h"

static const uint8_t stream[] = { 1,   0, 0, 0, 0, 0, 0, 3, 'a', 'b', 'c', 2, 0, 0, 0, 0, 0, 0,   1,
                                  'e', 1, 0, 0, 0, 0, 0, 0, 0,   1,   0,   0, 0, 0, 0, 0, 2, 'd', 'e' };

static void pieces_of_any_size_give_the_same(void **state)
{
        for (size_t step = 1; step <= sizeof(stream); step++) {
                struct docker_stream s = { 0 };
                char out[16] = "", err[16] = "";
                size_t at = 0;

                while (at < sizeof(stream)) {
                        size_t have = sizeof(stream) - at < step ? sizeof(stream) - at : step, used = 0;

                        while (used < have) {
                                enum docker_stream_kind kind;
                                size_t len;
                                ssize_t n =
                                        docker_stream_take(&s, stream + at + used, have - used, &kind, &len);

                                assert_true(n > 0);
                                used += (size_t)n;
                                strncat(kind == DOCKER_STREAM_OUT ? out : err,
                                        (const char *)stream + at + used - len, len);
                        }
                        at += have;
                }
                assert_string_equal(out, "abcde");
                assert_string_equal(err, "e");
                assert_true(docker_stream_is_between(&s));
        }
}

static void what_is_no_frame_is_refused_for_good(void **state)
{
        static const uint8_t bad[][8] = { { 3, 0, 0, 0, 0, 0, 0, 1 },
                                          { 1, 1, 0, 0, 0, 0, 0, 1 },
                                          { 1, 0, 0, 1, 0, 0, 0, 1 },
                                          { 1, 0, 0, 0, 2, 0, 0, 0 } };

        for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                struct docker_stream s = { 0 };
                enum docker_stream_kind kind;
                size_t len;

                assert_int_equal(docker_stream_take(&s, bad[i], 8, &kind, &len), -EPROTO);
                assert_int_equal(docker_stream_take(&s, stream, sizeof(stream), &kind, &len), -EPROTO);
                assert_false(docker_stream_is_between(&s));
        }
}

static void knows_where_it_may_end(void **state)
{
        struct docker_stream s = { 0 };
        enum docker_stream_kind kind;
        size_t len;

        assert_true(docker_stream_is_between(&s));
        assert_int_equal(docker_stream_take(&s, stream, 5, &kind, &len), 5);
        assert_false(docker_stream_is_between(&s));
        assert_int_equal(docker_stream_take(&s, stream + 5, 4, &kind, &len), 4);
        assert_int_equal(len, 1);
        assert_false(docker_stream_is_between(&s));
        assert_int_equal(docker_stream_take(&s, stream + 9, 9, &kind, &len), 2);
        assert_true(docker_stream_is_between(&s));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(pieces_of_any_size_give_the_same),
                cmocka_unit_test(what_is_no_frame_is_refused_for_good),
                cmocka_unit_test(knows_where_it_may_end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
