/* SPDX-License-Identifier: Apache-2.0 */
#include "links/agent/agent_message.h"
#include "links/box/frame.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static uint8_t bytes[AGENT_SMALL_MAX];

static int write_it(const struct agent_message *m)
{
        return agent_message_write(m, bytes, sizeof(bytes));
}

static struct agent_message make_plan(void)
{
        struct agent_message m = { .type = AGENT_ask,
                                   .number = 7,
                                   .ask = { .what = AGENT_ASK_make,
                                            .id = "abc1",
                                            .channel = 6,
                                            .plan = { .read_only = 1,
                                                      .may_skip = AGENT_LIMIT_DISK,
                                                      .memory_bytes = 1ull << 40,
                                                      .inodes = 9,
                                                      .mode = AGENT_MODE_COW,
                                                      .folder = "/home/me" } } };

        memset(m.ask.plan.secret, 0x5a, sizeof(m.ask.plan.secret));
        return m;
}

static void messages_come_back(void **state)
{
        struct agent_message m = make_plan(), got;
        int n = write_it(&m);

        assert_true(n > 0);
        assert_int_equal(agent_message_read(bytes, (size_t)n, AGENT_DAEMON, &got), 0);
        assert_memory_equal(&got.ask, &m.ask, sizeof(m.ask));
        assert_int_equal(got.number, 7);

        m = (struct agent_message){ .type = AGENT_answer,
                                    .number = 7,
                                    .answer = { .code = CAY_NOT_FOUND, .text = "no box" } };
        n = write_it(&m);
        assert_int_equal(agent_message_read(bytes, (size_t)n, AGENT_AGENT, &got), 0);
        assert_int_equal(got.answer.code, CAY_NOT_FOUND);
        assert_string_equal(got.answer.text, "no box");

        m = (struct agent_message){ .type = AGENT_answer,
                                    .number = 7,
                                    .answer = { .cpu_us = 5, .is_open = 1, .workspace = "/tmp/w" } };
        n = write_it(&m);
        assert_int_equal(agent_message_read(bytes, (size_t)n, AGENT_AGENT, &got), 0);
        assert_int_equal(got.answer.is_open, 1);
        assert_string_equal(got.answer.workspace, "/tmp/w");
        bytes[n - 6] = 't'; /* no absolute path */
        assert_int_equal(agent_message_read(bytes, (size_t)n, AGENT_AGENT, &got), -EPROTO);
}

/*
 * A later version's HELLO is read as far as this one knows it; what travels in channels is bound to the
 * version, too.
 */
static void later_versions_are_understood_that_far(void **state)
{
        struct agent_message m = { .type = AGENT_hello, .hello = { .version = AGENT_VERSION } }, got;
        int n = write_it(&m);

        bytes[n] = 'x';
        assert_int_equal(agent_message_read(bytes, (size_t)n + 1, AGENT_AGENT, &got), -EPROTO);
        assert_int_equal(agent_message_read(bytes, (size_t)n, AGENT_AGENT, &got), 0);
        m.hello.version++;
        n = write_it(&m);
        memset(bytes + n, 'x', 700);
        assert_int_equal(agent_message_read(bytes, (size_t)n + 700, AGENT_AGENT, &got), 0);
        assert_int_equal(got.hello.version, AGENT_VERSION + 1);
        assert_int_equal(agent_message_read(bytes, AGENT_HEAD + 1025, AGENT_AGENT, &got), -EPROTO);
        assert_true(AGENT_VERSION == 2 &&
                    CAY_BOX_VERSION == 1); /* a new box link needs a new number here, too */
}

/* Whatever byte is cut off or added, and whoever sends what is not its own, is refused. */
static void others_are_refused(void **state)
{
        struct agent_message m = make_plan(), got;
        int n = write_it(&m);

        for (int cut = 0; cut < n; cut++)
                assert_int_equal(agent_message_read(bytes, (size_t)cut, AGENT_DAEMON, &got), -EPROTO);
        bytes[n] = 0;
        assert_int_equal(agent_message_read(bytes, (size_t)n + 1, AGENT_DAEMON, &got), -EPROTO);
        assert_int_equal(agent_message_read(bytes, (size_t)n, AGENT_AGENT, &got), -EPROTO);
        bytes[4] = 0; /* its number */
        assert_int_equal(agent_message_read(bytes, (size_t)n, AGENT_DAEMON, &got), -EPROTO);
        bytes[4] = 7;
        bytes[8] = AGENT_ASK_COUNT;
        assert_int_equal(agent_message_read(bytes, (size_t)n, AGENT_DAEMON, &got), -EPROTO);
        bytes[8] = AGENT_ASK_make;
        bytes[13] = '/'; /* of its id */
        assert_int_equal(agent_message_read(bytes, (size_t)n, AGENT_DAEMON, &got), -EPROTO);
        bytes[0] = AGENT_TYPE_COUNT;
        assert_int_equal(agent_message_read(bytes, (size_t)n, AGENT_DAEMON, &got), -EPROTO);
}

static void texts_are_fit_for_a_terminal(void **state)
{
        struct agent_message m = { .type = AGENT_refused, .refused.code = CAY_DENIED }, got;
        char text[AGENT_TEXT_MAX + 1], long_one[600];
        int n;

        agent_text_set(text, "a\x1b[2Jb\nc\xff");
        assert_string_equal(text, "a?[2Jb?c?");
        /* C1, and what turns the direction: what people decide by reads as it is. */
        agent_text_set(text, "\xc2\x9b"
                             "2J \xe2\x80\xae"
                             "txt \xe2\x81\xa6 \xe2\x80\xa8 \xc3\xa4");
        assert_string_equal(text, "?2J ?txt ? ? \xc3\xa4");
        assert_true(agent_text_is_plain("/home/\xc3\xa4 \xe2\x82\xac", 12));
        assert_false(agent_text_is_plain("/a\xe2\x80\xae", 5));
        assert_false(agent_text_is_plain("/a\xff", 3));
        memset(long_one, 'x', sizeof(long_one));
        memcpy(long_one + AGENT_TEXT_MAX - 1, "\xc3\xa4", 2); /* cut in the middle of a character */
        long_one[sizeof(long_one) - 1] = '\0';
        agent_text_set(text, long_one);
        assert_int_equal(strlen(text), AGENT_TEXT_MAX);
        assert_int_equal(text[AGENT_TEXT_MAX - 1], '?');
        snprintf(m.refused.text, sizeof(m.refused.text), "no\nway");
        n = write_it(&m);
        assert_int_equal(agent_message_read(bytes, (size_t)n, AGENT_DAEMON, &got), -EPROTO);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(messages_come_back),
                cmocka_unit_test(later_versions_are_understood_that_far),
                cmocka_unit_test(others_are_refused),
                cmocka_unit_test(texts_are_fit_for_a_terminal),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
