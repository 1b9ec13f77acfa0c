/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of our own code: answers, errors, times, the browser's end. */
#include "domain/browser/cdp_user.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOT "11111111111111111111111111111111"

static struct cay_loop *loop;
static struct cay_cdp_mux mux;
static struct cay_cdp_user user;
static struct cay_cdp_call first, second;
static char done[512]; /* "1=ok:…;" in order */
static char heard[128];

static void on_done(struct cay_cdp_call *call)
{
        size_t at = strlen(done);

        snprintf(done + at, sizeof(done) - at, "%d=%s:%.*s;", call == &first ? 1 : 2,
                 cay_code_word(call->err.code), (int)call->result.len,
                 call->result.len ? call->result.at : "");
}

static void on_event(struct cay_cdp_user *u, const struct cay_cdp_message *event)
{
        (void)u;
        snprintf(heard, sizeof(heard), "%s", event->method);
}

static void on_gone(struct cay_cdp_user *u, const struct cay_error *why)
{
        size_t at = strlen(done);

        (void)u;
        snprintf(done + at, sizeof(done) - at, "gone:%s", why->msg);
}

static int sent_id(void)
{
        int id = (int)strtol(cay_buf_data(&mux.out) + strlen("{\"id\":"), NULL, 10);

        cay_cdp_mux_sent(&mux, strlen(cay_buf_data(&mux.out)) + 1);
        return id;
}

static void reply(int id, const char *rest)
{
        char text[512];

        snprintf(text, sizeof(text), "{\"id\":%d,%s}", id, rest);
        cay_cdp_mux_feed(&mux, text, strlen(text) + 1);
}

static int begin(void **state)
{
        struct cay_error err = { 0 };

        (void)state;
        loop = cay_loop_new();
        cay_cdp_mux_init(&mux);
        user = (struct cay_cdp_user){ .on_event = on_event, .on_gone = on_gone };
        first.on_done = second.on_done = on_done;
        done[0] = heard[0] = '\0';
        return cay_cdp_user_open(&user, &mux, loop, &err);
}

static int end(void **state)
{
        const struct cay_error why = { .code = CAY_CONFLICT, .msg = "it ended" };

        (void)state;
        cay_cdp_mux_end(&mux, &why);
        cay_cdp_mux_done(&mux);
        cay_loop_free(loop);
        return 0;
}

static void attach(void)
{
        reply(sent_id(), "\"result\":{\"sessionId\":\"" ROOT "\"}");
}

static void test_answers(void **state)
{
        int a, b;

        (void)state;
        cay_cdp_call(&user, &first, "", "A.b", "{\"x\":1}", 60000);
        cay_cdp_call(&user, &second, "", "A.c", NULL, 60000);
        attach(); /* what waited goes then */
        assert_non_null(strstr(cay_buf_data(&mux.out), "\"A.b\",\"params\":{\"x\":1}"));
        a = sent_id();
        b = sent_id();
        reply(b, "\"error\":{\"code\":-32601,\"message\":\"'A.c' wasn't found\"},\"sessionId\":\"" ROOT "\"");
        assert_int_equal(second.code, -32601);
        assert_string_equal(second.err.msg, "A.c: 'A.c' wasn't found");
        reply(a, "\"result\":{\"y\":2},\"sessionId\":\"" ROOT "\"");
        assert_string_equal(done, "2=conflict:;1=ok:{\"y\":2};");
        assert_string_equal(heard, "");
        cay_cdp_user_close(&user);
}

static void test_events(void **state)
{
        static const char event[] = "{\"method\":\"T.x\",\"params\":{},\"sessionId\":\"" ROOT "\"}";

        (void)state;
        attach();
        cay_cdp_mux_feed(&mux, event, sizeof(event));
        assert_string_equal(heard, "T.x");
        cay_cdp_user_close(&user);
}

static void test_time(void **state)
{
        int id;

        (void)state;
        attach();
        cay_cdp_call(&user, &first, "", "A.b", NULL, 1);
        id = sent_id();
        for (unsigned i = 0; i < 1000 && done[0] == '\0'; i++)
                cay_loop_round(loop, 10);
        assert_string_equal(done, "1=timeout:;");
        reply(id, "\"result\":{}"); /* too late */
        assert_string_equal(done, "1=timeout:;");
        cay_cdp_user_close(&user);
}

static void test_end(void **state)
{
        const struct cay_error why = { .code = CAY_CONFLICT, .msg = "it ended" };

        (void)state;
        attach();
        cay_cdp_call(&user, &first, "", "A.b", NULL, 60000);
        cay_cdp_mux_end(&mux, &why);
        assert_string_equal(done, "1=conflict:;gone:it ended");
        assert_string_equal(first.err.msg, "it ended");
        /* Afterwards calls fail, from the loop. */
        done[0] = '\0';
        cay_cdp_call(&user, &first, "", "A.b", NULL, 60000);
        assert_string_equal(done, "");
        for (unsigned i = 0; i < 1000 && done[0] == '\0'; i++)
                cay_loop_round(loop, 10);
        assert_string_equal(done, "1=conflict:;");
}

static void test_refused(void **state)
{
        (void)state;
        attach();
        cay_cdp_call(&user, &first, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "A.b", NULL, 60000);
        cay_cdp_call(&user, &second, "", "A.b", NULL, 60000);
        cay_cdp_call_cancel(&second);
        cay_cdp_call_cancel(&second);
        for (unsigned i = 0; i < 1000 && done[0] == '\0'; i++)
                cay_loop_round(loop, 10);
        assert_string_equal(done, "1=conflict:;");
        assert_non_null(strstr(first.err.msg, "not found"));
        cay_cdp_user_close(&user);
        cay_cdp_user_close(&user);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(test_answers), TEST(test_events), TEST(test_time), TEST(test_end), TEST(test_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
