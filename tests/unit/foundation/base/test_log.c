/* SPDX-License-Identifier: Apache-2.0 */
/* The log: levels, both forms of a line, and values that try to forge one. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>

#include "foundation/base/log.h"
#include "foundation/base/utf8.h"

static int pipe_fds[2];
static char got[4096];

static int setup(void **state)
{
        return pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK);
}

static int teardown(void **state)
{
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        return 0;
}

static void use(enum cay_log_level least, bool json)
{
        cay_log_setup(
                &(struct cay_log_config){ .program = "t", .least = least, .json = json, .fd = pipe_fds[1] });
}

/* The line that was written, without its time; "" when there was none. */
static const char *line(void)
{
        ssize_t n = read(pipe_fds[0], got, sizeof(got) - 1);
        char *at;

        if (n <= 0)
                return "";
        got[n] = '\0';
        assert_int_equal(got[n - 1], '\n');
        got[n - 1] = '\0';
        assert_null(strchr(got, '\n'));
        assert_true(cay_utf8_valid(got, (size_t)n));
        at = strchr(got, 'Z');
        assert_non_null(at);
        return at + 2;
}

static void test_text(void **state)
{
        use(CAY_LOG_DEBUG, false);
        cay_log_info("sandbox started", "id=%s ms=%u", "abc", 12u);
        assert_string_equal(line(), "info t: sandbox started id=abc ms=12");
        assert_int_equal(got[4], '-'); /* the time stands in front */
        cay_log_warn("nothing to add");
        assert_string_equal(line(), "warn t: nothing to add");
        cay_log_error("x", "a=%d b=%i c=%x d=%c e=100%% f=%.*s g=1", -5, INT_MIN, 0xbeefu, 'q', 2, "yes");
        assert_string_equal(line(), "error t: x a=-5 b=-2147483648 c=beef d=q e=100% f=ye g=1");
        cay_log_debug("x", "a=%" PRIu64 " b=%" PRId64 " c=%zu d=%zd e=%lld f=%jd g=%hhu h=%td i=%lu",
                      UINT64_MAX, INT64_MIN, SIZE_MAX, (ssize_t)-1, LLONG_MAX, (intmax_t)-3,
                      (unsigned char)200, (ptrdiff_t)-9, 5ul);
        assert_string_equal(line(), "debug t: x a=18446744073709551615 b=-9223372036854775808 "
                                    "c=18446744073709551615 d=-1 e=9223372036854775807 f=-3 g=200 h=-9 i=5");
        cay_log_info("x", "port=%d/%s loose", 80, "tcp");
        assert_string_equal(line(), "info t: x port=80/tcp loose");
}

static void test_json(void **state)
{
        use(CAY_LOG_DEBUG, true);
        cay_log_info("sandbox started", "id=%s ms=%u hex=%x both=%d/%d", "abc", 12u, 255u, 1, 2);
        assert_string_equal(line(), ",\"level\":\"info\",\"program\":\"t\",\"event\":\"sandbox started\","
                                    "\"id\":\"abc\",\"ms\":12,\"hex\":\"ff\",\"both\":\"1/2\"}");
        assert_memory_equal(got, "{\"time\":\"2", 10);
        cay_log_warn("bare");
        assert_string_equal(line(), ",\"level\":\"warn\",\"program\":\"t\",\"event\":\"bare\"}");
        cay_log_warn("x", "loose n=-%d", 1);
        assert_string_equal(line(),
                            ",\"level\":\"warn\",\"program\":\"t\",\"event\":\"x\",\"text\":\"loose\","
                            "\"n\":\"-1\"}");
}

static void test_values_cannot_forge(void **state)
{
        use(CAY_LOG_DEBUG, false);
        cay_log_info("x", "id=%s", "a\n2026 error t: forged");
        assert_string_equal(line(), "info t: x id=\"a\\x0a2026 error t: forged\"");
        cay_log_info("x", "id=%s ok=%d", "a admin=yes", 0);
        assert_string_equal(line(), "info t: x id=\"a admin=yes\" ok=0");
        cay_log_info("x", "id=%s", "a\" admin=\"yes");
        assert_string_equal(line(), "info t: x id=\"a\\\" admin=\\\"yes\"");
        cay_log_info("x", "id=%s", "\x1b[2J\r\x7f\\x0a");
        assert_string_equal(line(), "info t: x id=\"\\x1b[2J\\x0d\\x7f\\\\x0a\"");
        cay_log_info("x", "id=%s",
                     "\xc2\x9b"
                     "0m\xe2\x80\xae\xe2\x80\xa8\xff\xc3\xbc");
        assert_string_equal(line(),
                            "info t: x id=\"\\xc2\\x9b0m\\xe2\\x80\\xae\\xe2\\x80\\xa8\\xff\xc3\xbc\"");
        cay_log_info("x", "id=%s c=%c", "", '\n');
        assert_string_equal(line(), "info t: x id=\"\" c=\"\\x0a\"");
        cay_log_info("x", "%s", "level=error");
        assert_string_equal(line(), "info t: x \"level=error\"");
        cay_log_info("a\nb");
        assert_string_equal(line(), "info t: a\\x0ab");

        use(CAY_LOG_DEBUG, true);
        cay_log_info("x", "id=%s", "a\",\"level\":\"error\n\x1b\\\xff");
        assert_string_equal(line(), ",\"level\":\"info\",\"program\":\"t\",\"event\":\"x\","
                                    "\"id\":\"a\\\",\\\"level\\\":\\\"error\\\\x0a\\\\x1b\\\\\\\\\\\\xff\"}");
}

static void test_null_string(void **state)
{
        const char *volatile none = NULL;

        use(CAY_LOG_DEBUG, false);
        cay_log_info("x", "id=%s", none);
        assert_string_equal(line(), "info t: x id=(null)");
}

static int evaluated(int *count)
{
        return ++*count;
}

static void test_levels(void **state)
{
        int count = 0;

        use(CAY_LOG_WARN, false);
        cay_log_debug("x", "n=%d", evaluated(&count));
        cay_log_info("x", "n=%d", evaluated(&count));
        assert_string_equal(line(), "");
        assert_int_equal(count, 0); /* filtered lines cost nothing */
        cay_log_warn("x", "n=%d", evaluated(&count));
        assert_string_equal(line(), "warn t: x n=1");
        use(CAY_LOG_OFF, false);
        cay_log_error("x");
        cay_log_write(CAY_LOG_ERROR, "x", " ");
        assert_string_equal(line(), "");
        assert_false(cay_log_is_on(CAY_LOG_ERROR));
        assert_int_equal(cay_log_level_find("debug"), CAY_LOG_DEBUG);
        assert_int_equal(cay_log_level_find("off"), CAY_LOG_OFF);
        assert_int_equal(cay_log_level_find("DEBUG"), -EINVAL);
        assert_int_equal(cay_log_level_find(""), -EINVAL);
        assert_string_equal(cay_log_level_word(CAY_LOG_ERROR), "error");
        assert_non_null(cay_log_level_word(CAY_LOG_LEVEL_COUNT));
}

static void test_long_values(void **state)
{
        char big[3000];
        const char *s;

        memset(big, 'a', sizeof(big) - 1);
        big[sizeof(big) - 1] = '\0';
        for (int json = 0; json < 2; json++) {
                use(CAY_LOG_DEBUG, json);
                cay_log_info("x", "id=%s n=%d", big, 7); /* one value is cut, the next pair is still there */
                s = line();
                assert_non_null(strstr(s, json ? "aaa\",\"n\":7,\"cut\":true}" : "aaa n=7 cut=yes"));
                cay_log_info("x", "a=%s b=%s c=%s d=%s e=%s n=%d", big, big, big, big, big, 7);
                s = line();
                assert_non_null(strstr(s, json ? "aaa\",\"cut\":true}" : "aaa cut=yes"));
                assert_null(strstr(s, json ? "\"e\":" : " e="));

                memset(big, '\x01', sizeof(big) - 1); /* grows when escaped */
                cay_log_info("x", "id=%s", big);
                assert_non_null(strstr(line(), json ? "\"event\":\"x\",\"cut\":true}" : "x cut=yes"));
                memset(big, 'a', sizeof(big) - 1);
        }
        for (size_t i = 0; i + 3 < sizeof(big); i += 3)
                memcpy(big + i, "\xe2\x82\xac", 4);
        use(CAY_LOG_DEBUG, false);
        cay_log_info("x", "id=%s", big);
        assert_null(strstr(line(), "\\x")); /* cut between characters */
}

static void test_errno_is_kept(void **state)
{
        cay_log_setup(&(struct cay_log_config){ .program = "t", .least = CAY_LOG_DEBUG, .fd = -1 });
        errno = ENOTTY;
        cay_log_error("nowhere to go");
        assert_int_equal(errno, ENOTTY);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_text),
                cmocka_unit_test(test_json),
                cmocka_unit_test(test_values_cannot_forge),
                cmocka_unit_test(test_null_string),
                cmocka_unit_test(test_levels),
                cmocka_unit_test(test_long_values),
                cmocka_unit_test(test_errno_is_kept),
        };

        return cmocka_run_group_tests_name("base/log", tests, setup, teardown);
}
