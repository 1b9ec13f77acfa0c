/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-agent/prompt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct asked {
        struct agent_question q;
        enum agent_reply reply;
        const char *why_not;
        unsigned replies;
};

static void on_reply(struct agent_question *q, enum agent_reply reply, const char *why_not)
{
        struct asked *a = cay_container_of(q, struct asked, q);

        a->reply = reply;
        a->why_not = why_not;
        a->replies++;
}

static void on_stop(struct agent_prompt *p)
{
}

/* With a terminal it is tested in tests/integration/serve/test_remote_rules.py. */
static void without_a_terminal_every_answer_is_no(void **state)
{
        struct asked a = { .q = { .text = "a thing", .on_reply = on_reply } };
        struct cay_loop *loop = cay_loop_new();
        struct agent_prompt p = { 0 };
        int ends[2];

        assert_int_equal(pipe(ends), 0);
        agent_prompt_close(&p); /* never opened */
        agent_prompt_open(&p, loop, ends[0], on_stop);
        agent_prompt_ask(&p, &a.q);
        assert_int_equal(a.replies, 1);
        assert_int_equal(a.reply, AGENT_NO);
        assert_non_null(strstr(a.why_not, "no terminal"));
        agent_prompt_withdraw(&p, &a.q);
        agent_prompt_close(&p);
        assert_int_equal(a.replies, 1);
        close(ends[0]);
        close(ends[1]);
        cay_loop_free(loop);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(without_a_terminal_every_answer_is_no) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
