/* SPDX-License-Identifier: Apache-2.0 */
/* Docker's words while it builds, as lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cay-docker/build_stream.h"

#define ID "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char heard[65536];

static void on_line(struct docker_build_stream *s, const char *line, size_t len)
{
        size_t at = strlen(heard);

        (void)s;
        assert_true(at + len + 2 < sizeof(heard));
        snprintf(heard + at, sizeof(heard) - at, "%.*s|", (int)len, line);
}

static void feed(struct docker_build_stream *s, const char *text, size_t step)
{
        heard[0] = '\0';
        docker_build_stream_init(s, on_line);
        for (size_t at = 0, len = strlen(text); at < len; at += step)
                docker_build_stream_feed(s, text + at, len - at < step ? len - at : step);
        docker_build_stream_end(s);
}

static void test_lines(void **state)
{
        static const char text[] = "{\"stream\":\"Step 1/2 : FROM x\\n\"}\r\n"
                                   "{\"stream\":\" ---\\u003e ab\\n\"}\r\n"
                                   "{\"status\":\"Pulling\",\"id\":\"base\"}\n"
                                   "{\"status\":\"Downloading\",\"progress\":\"[=> ]\",\"id\":\"base\"}\n"
                                   "not json at all\n"
                                   "{\"stream\":\"Step 2/2 : RUN a\\nhalf\"}\n"
                                   "{\"stream\":\" line\\u0007\\nlast\"}\n"
                                   "{\"aux\":{\"ID\":\"" ID "\"}}\n";

        (void)state;
        for (size_t step = 1; step < 100; step += 7) {
                struct docker_build_stream s;

                feed(&s, text, step);
                assert_string_equal(
                        heard, "Step 1/2 : FROM x| ---> ab|base: Pulling|Step 2/2 : RUN a|half line |last|");
                assert_string_equal(s.step, "Step 2/2 : RUN a");
                assert_string_equal(s.image, ID);
                assert_string_equal(s.error, "");
                assert_string_equal(s.last, "last");
                docker_build_stream_done(&s);
        }
}

static void test_error(void **state)
{
        struct docker_build_stream s;

        (void)state;
        feed(&s,
             "{\"stream\":\"Step 1/1 : RUN false\\n\"}\n{\"errorDetail\":{\"code\":1},\"error\":\"returned a "
             "non-zero "
             "code: 1\\n\"}\n",
             1000);
        assert_string_equal(s.error, "returned a non-zero code: 1");
        assert_string_equal(s.step, "Step 1/1 : RUN false");
        docker_build_stream_done(&s);
        feed(&s, "{\"aux\":{\"ID\":\"sha256:../../containers\"}}\n", 1000);
        assert_string_equal(s.image, ""); /* it will be a part of a path */
        docker_build_stream_done(&s);
}

/* Control characters and bytes that are no text, in whatever way they come. */
static void test_what_is_no_text(void **state)
{
        struct docker_build_stream s;

        (void)state;
        feed(&s, "{\"stream\":\"a\xff\xc3(b\\u0008\\u001b[31mc\\td\\u0000e\\\\u0000\\r\\n\"}\n", 3);
        assert_string_equal(heard, "a?\?(b \x1b[31mc\td e\\u0000|");
        docker_build_stream_done(&s);
        feed(&s, "{\"stream\":\"Step 1/1 : RUN \\u001b[2Jx\\n\"}\n{\"error\":\"no\\n\\u001b]0;x\\u0007\"}\n",
             100);
        assert_string_equal(s.step, "Step 1/1 : RUN  [2Jx"); /* these are texts of ours */
        assert_string_equal(s.error, "no  ]0;x");
        docker_build_stream_done(&s);
}

static void test_too_long(void **state)
{
        static char text[600000];
        struct docker_build_stream s;
        size_t n;

        (void)state;
        n = (size_t)snprintf(text, sizeof(text), "{\"stream\":\"");
        memset(text + n, 'x', 300000);
        snprintf(text + n + 300000, sizeof(text) - n - 300000, "\\n\"}\n{\"stream\":\"after\\n\"}\n");
        feed(&s, text, 5000);
        assert_string_equal(heard, "after|"); /* an object that is too long is left out */
        docker_build_stream_done(&s);
        memset(text + n, 'x', 10000);
        snprintf(text + n + 10000, sizeof(text) - n - 10000, "\xc3\xa4\\n\"}\n");
        feed(&s, text, 5000);
        assert_int_equal(strlen(heard), DOCKER_LINE_MAX); /* a line is cut; and the mark behind it */
        docker_build_stream_done(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_lines), cmocka_unit_test(test_error),
                                            cmocka_unit_test(test_what_is_no_text),
                                            cmocka_unit_test(test_too_long) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
