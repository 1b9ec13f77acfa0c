/* SPDX-License-Identifier: Apache-2.0 */
/* Two clients of one browser, which is played by the test. */
#include "domain/browser/cdp_mux.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/clock.h"

#define R1 "11111111111111111111111111111111"
#define R2 "22222222222222222222222222222222"
#define TAB "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define FRAME "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"

struct seen {
        struct cay_cdp_client client;
        char text[2048]; /* messages as the client would get them, with ";" between */
        unsigned ready, room, gone;
};

static struct cay_cdp_mux mux;
static struct seen one, two;

static void on_message(struct cay_cdp_client *c, const struct cay_cdp_message *in)
{
        struct seen *s = cay_container_of(c, struct seen, client);
        cay_auto_buf struct cay_buf b = { 0 };
        size_t at = strlen(s->text);

        cay_buf_init(&b, 4096);
        if (in->has_id)
                cay_cdp_put_reply(&b, in->id, in->result, in->error, in->session);
        else
                cay_cdp_put_event(&b, in->method, in->params, in->session);
        snprintf(s->text + at, sizeof(s->text) - at, "%s;", cay_buf_data(&b));
}

static void on_ready(struct cay_cdp_client *c)
{
        cay_container_of(c, struct seen, client)->ready++;
}

static void on_room(struct cay_cdp_client *c)
{
        cay_container_of(c, struct seen, client)->room++;
}

static void on_gone(struct cay_cdp_client *c, const struct cay_error *why)
{
        assert_int_equal(why->code, CAY_CONFLICT);
        cay_container_of(c, struct seen, client)->gone++;
}

/* The next message that the browser gets. */
static const char *sent(void)
{
        static char text[1024];

        snprintf(text, sizeof(text), "%s", cay_buf_data(&mux.out));
        assert_true(mux.out.len > strlen(text)); /* the NUL is one of its bytes */
        cay_cdp_mux_sent(&mux, strlen(text) + 1);
        return text;
}

static int sent_id(void)
{
        return (int)strtol(sent() + strlen("{\"id\":"), NULL, 10);
}

static void say(const char *text)
{
        cay_cdp_mux_feed(&mux, text, strlen(text) + 1);
}

static void reply(int id, const char *rest)
{
        char text[512];

        snprintf(text, sizeof(text), "{\"id\":%d,%s}", id, rest);
        say(text);
}

static void open_client(struct seen *s, const char *root)
{
        struct cay_error err = { 0 };
        char text[128];

        *s = (struct seen){ .client = { on_ready, on_room, on_message, on_gone } };
        assert_int_equal(cay_cdp_client_open(&mux, &s->client, &err), 0);
        snprintf(text, sizeof(text), "\"result\":{\"sessionId\":\"%s\"}", root);
        reply(sent_id(), text);
        assert_int_equal(s->ready, 1);
}

static int tell(struct seen *s, const char *text, struct cay_cdp_refusal *ret)
{
        struct cay_cdp_message m;

        assert_int_equal(cay_cdp_message_read(text, strlen(text), &m), 0);
        return cay_cdp_client_send(&s->client, &m, ret);
}

static int begin(void **state)
{
        (void)state;
        cay_cdp_mux_init(&mux);
        mux.downloads = "/d";
        open_client(&one, R1);
        open_client(&two, R2);
        return 0;
}

static int end(void **state)
{
        const struct cay_error why = { .code = CAY_CONFLICT };

        (void)state;
        cay_cdp_mux_end(&mux, &why);
        cay_cdp_mux_done(&mux);
        return 0;
}

static int32_t told;
static char told_of[64];

static void on_told(struct cay_cdp_mux *m, int32_t question, const struct cay_cdp_message *in)
{
        (void)m;
        told = question;
        snprintf(told_of, sizeof(told_of), "%.*s", (int)in->result.len, in->result.at ? in->result.at : "");
}

/* Questions of nobody's: on the browser's own session, before and beside clients, each answered once. */
static void test_questions(void **state)
{
        struct cay_cdp_refusal no;
        int first, second;

        (void)state;
        mux.on_told = on_told;
        assert_int_equal(cay_cdp_mux_ask(&mux, 7, "Browser.getVersion", "{}"), 0);
        assert_int_equal(cay_cdp_mux_ask(&mux, 8, "Target.getTargets", "{}"), 0);
        assert_null(strstr(cay_buf_data(&mux.out), "sessionId"));
        first = sent_id();
        second = sent_id();
        reply(second, "\"result\":{\"n\":8}");
        assert_int_equal(told, 8);
        assert_string_equal(told_of, "{\"n\":8}");
        reply(first, "\"error\":{\"code\":-1}");
        assert_int_equal(told, 7);
        assert_string_equal(told_of, "");
        told = 0;
        reply(first, "\"result\":{}");
        assert_int_equal(told, 0);
        assert_int_equal(tell(&one, "{\"id\":1,\"method\":\"A.b\"}", &no), 0); /* in the slot of a question */
        reply(sent_id(), "\"result\":{},\"sessionId\":\"" R1 "\"");
        assert_int_equal(told, 0);
        assert_string_equal(one.text, "{\"id\":1,\"result\":{}};");
        mux.on_told = NULL;
}

static void test_ids(void **state)
{
        struct cay_cdp_refusal no;
        int a, b;

        (void)state;
        assert_int_equal(tell(&one, "{\"id\":1,\"method\":\"Browser.getVersion\"}", &no), 0);
        assert_int_equal(tell(&two, "{\"id\":1,\"method\":\"Browser.getVersion\",\"params\":{}}", &no), 0);
        assert_non_null(strstr(cay_buf_data(&mux.out), "\"sessionId\":\"" R1 "\""));
        a = sent_id();
        b = sent_id();
        assert_int_not_equal(a, b);
        reply(b, "\"result\":{\"n\":2},\"sessionId\":\"" R2 "\"");
        reply(a, "\"result\":{\"n\":1},\"sessionId\":\"" R1 "\"");
        assert_string_equal(one.text, "{\"id\":1,\"result\":{\"n\":1}};");
        assert_string_equal(two.text, "{\"id\":1,\"result\":{\"n\":2}};");
        reply(a, "\"result\":{}"); /* a second time: nobody's */
        reply(12345678, "\"result\":{}");
        assert_string_equal(one.text, "{\"id\":1,\"result\":{\"n\":1}};");
}

static void test_sessions(void **state)
{
        struct cay_cdp_refusal no;
        char *at;

        (void)state;
        say("{\"method\":\"Target.attachedToTarget\",\"params\":{\"sessionId\":\"" TAB
            "\"},\"sessionId\":\"" R1 "\"}");
        say("{\"method\":\"Target.attachedToTarget\",\"params\":{\"sessionId\":\"" FRAME
            "\"},\"sessionId\":\"" TAB "\"}");
        assert_non_null(strstr(one.text, "{\"sessionId\":\"" TAB "\"}};")); /* without the root session */
        assert_string_equal(two.text, "");
        assert_int_equal(tell(&one, "{\"id\":1,\"method\":\"Page.enable\",\"sessionId\":\"" FRAME "\"}", &no),
                         0);
        assert_non_null(strstr(sent(), "\"sessionId\":\"" FRAME "\""));
        /* Another's session does not exist; nor does one's own root by its name. */
        assert_int_equal(tell(&two, "{\"id\":1,\"method\":\"Page.enable\",\"sessionId\":\"" TAB "\"}", &no),
                         1);
        assert_int_equal(no.code, -32001);
        assert_int_equal(mux.out.len, 0);
        say("{\"method\":\"Page.x\",\"params\":{},\"sessionId\":\"" FRAME "\"}");
        say("{\"method\":\"Page.x\",\"params\":{},\"sessionId\":\"CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC\"}");
        assert_string_equal(two.text, "");
        /* With a session go those below it. */
        say("{\"method\":\"Target.detachedFromTarget\",\"params\":{\"sessionId\":\"" TAB
            "\"},\"sessionId\":\"" R1 "\"}");
        assert_int_equal(tell(&one, "{\"id\":2,\"method\":\"Page.enable\",\"sessionId\":\"" FRAME "\"}", &no),
                         1);
        at = strstr(one.text, "Page.x");
        assert_non_null(at);
        assert_null(strstr(at + 1, "Page.x"));
}

static void test_leave(void **state)
{
        struct cay_cdp_refusal no;
        struct cay_error err = { 0 };
        int id;

        (void)state;
        assert_int_equal(tell(&one, "{\"id\":9,\"method\":\"Browser.getVersion\"}", &no), 0);
        id = sent_id();
        cay_cdp_client_close(&one.client);
        assert_non_null(strstr(
                sent(), "\"method\":\"Target.detachFromTarget\",\"params\":{\"sessionId\":\"" R1 "\"}}"));
        reply(id, "\"result\":{}");
        assert_string_equal(one.text, "");
        /* One that leaves before it is attached is detached when its session is known. */
        one = (struct seen){ .client = { on_ready, on_room, on_message, on_gone } };
        assert_int_equal(cay_cdp_client_open(&mux, &one.client, &err), 0);
        id = sent_id();
        cay_cdp_client_close(&one.client);
        reply(id, "\"result\":{\"sessionId\":\"" R1 "\"}");
        assert_int_equal(one.ready, 0);
        assert_non_null(strstr(sent(), "Target.detachFromTarget"));
}

static void test_rules(void **state)
{
        struct cay_cdp_refusal no;

        (void)state;
        assert_int_equal(
                tell(&one, "{\"id\":1,\"method\":\"Target.exposeDevToolsProtocol\",\"params\":{}}", &no), 1);
        assert_int_equal(tell(&one, "{\"id\":1,\"method\":\"Tethering.bind\",\"params\":{\"port\":80}}", &no),
                         1);
        assert_int_equal(tell(&one, "{\"method\":\"Browser.getVersion\"}", &no), 1);
        assert_int_equal(no.code, -32600);
        assert_int_equal(mux.out.len, 0);
        assert_int_equal(tell(&one,
                              "{\"id\":1,\"method\":\"Browser.setDownloadBehavior\",\"params\":{\"behavior\":"
                              "\"allow\","
                              "\"downloadPath\":\"/etc\",\"browserContextId\":\"C\"}}",
                              &no),
                         0);
        assert_non_null(strstr(sent(), "\"params\":{\"behavior\":\"allowAndName\",\"downloadPath\":\"/d\","
                                       "\"eventsEnabled\":true,\"browserContextId\":\"C\"}"));
}

static void test_pieces(void **state)
{
        static const char text[] = "{\"method\":\"A.b\",\"params\":{\"x\":1},\"sessionId\":\"" R2 "\"}";

        (void)state;
        for (unsigned i = 0; i < sizeof(text); i++)
                cay_cdp_mux_feed(&mux, text + i, 1);
        say("not JSON");
        cay_cdp_mux_feed(&mux, "\0\0", 2);
        cay_cdp_mux_feed(&mux, text, sizeof(text));
        assert_string_equal(
                two.text,
                "{\"method\":\"A.b\",\"params\":{\"x\":1}};{\"method\":\"A.b\",\"params\":{\"x\":1}};");
}

static void test_too_long(void **state)
{
        struct cay_cdp_refusal no;
        char *piece = malloc(1u << 20);
        char head[64];

        (void)state;
        memset(piece, 'x', 1u << 20);
        assert_int_equal(tell(&one, "{\"id\":4,\"method\":\"Page.printToPDF\"}", &no), 0);
        snprintf(head, sizeof(head), "{\"id\":%d,\"result\":{\"data\":\"", sent_id());
        cay_cdp_mux_feed(&mux, head, strlen(head));
        for (unsigned i = 0; i < CAY_CDP_MESSAGE_MAX >> 20; i++)
                cay_cdp_mux_feed(&mux, piece, 1u << 20);
        free(piece);
        assert_non_null(strstr(one.text, "{\"id\":4,\"error\":{\"code\":-32000"));
        say("\"}}"); /* its rest is dropped, the next message is not */
        say("{\"method\":\"A.b\",\"sessionId\":\"" R1 "\"}");
        assert_non_null(strstr(one.text, ";{\"method\":\"A.b\"};"));
}

static void test_held(void **state)
{
        static char text[CAY_CDP_OUT_HIGH + 100];
        struct cay_cdp_refusal no;
        size_t len =
                (size_t)snprintf(text, sizeof(text), "{\"id\":1,\"method\":\"A.b\",\"params\":{\"x\":\"");

        (void)state;
        memset(text + len, 'x', CAY_CDP_OUT_HIGH);
        memcpy(text + len + CAY_CDP_OUT_HIGH, "\"}}", 4);
        assert_int_equal(tell(&one, text, &no), 0);
        assert_int_equal(tell(&two, "{\"id\":1,\"method\":\"A.b\"}", &no), -EAGAIN);
        assert_int_equal(two.room, 0);
        cay_cdp_mux_sent(&mux, mux.out.len);
        assert_int_equal(two.room, 1);
        assert_int_equal(one.room, 0);
        assert_int_equal(tell(&two, "{\"id\":1,\"method\":\"A.b\"}", &no), 0);
}

static void test_join(void **state)
{
        static const char rest[] = "ult\":{}}\0{\"method\":\"A.b\",\"sessionId\":\"" TAB "\"}";
        struct cay_cdp_mux later;
        struct cay_error err = { 0 };
        struct seen s = { .client = { on_ready, on_room, on_message, on_gone } };

        (void)state;
        cay_cdp_mux_init(&later);
        cay_cdp_mux_join(&later);
        assert_int_equal(later.out.len, 1); /* a NUL, behind what an earlier one may have begun */
        cay_cdp_mux_sent(&later, 1);
        assert_int_equal(cay_cdp_client_open(&later, &s.client, &err), 0);
        cay_cdp_mux_sent(&later, later.out.len);
        cay_cdp_mux_feed(&later, rest, sizeof(rest) - 1);
        assert_int_equal(later.out.len, 0);
        cay_cdp_mux_feed(&later, "\0", 1);
        assert_non_null(strstr(cay_buf_data(&later.out),
                               "\"Target.detachFromTarget\",\"params\":{\"sessionId\":\"" TAB "\"}"));
        err.code = CAY_CONFLICT;
        cay_cdp_mux_end(&later, &err);
        assert_int_equal(s.gone, 1);
        assert_int_equal(cay_cdp_client_open(&later, &s.client, &err), -1);
        cay_cdp_mux_done(&later);
}

static void test_limits(void **state)
{
        static struct seen many[CAY_CDP_CLIENTS_MAX];
        struct cay_cdp_refusal no;
        struct cay_error err = { 0 };

        (void)state;
        for (unsigned i = 0; i < CAY_CDP_CALLS_MAX; i++) {
                assert_int_equal(tell(&one, "{\"id\":1,\"method\":\"A.b\"}", &no), 0);
                cay_cdp_mux_sent(&mux, mux.out.len);
        }
        assert_int_equal(tell(&one, "{\"id\":1,\"method\":\"A.b\"}", &no), 1);
        assert_int_equal(tell(&two, "{\"id\":1,\"method\":\"A.b\"}", &no), 0);
        for (unsigned i = 2; i < CAY_CDP_CLIENTS_MAX; i++) {
                many[i] = (struct seen){ .client = { on_ready, on_room, on_message, on_gone } };
                assert_int_equal(cay_cdp_client_open(&mux, &many[i].client, &err), 0);
        }
        assert_int_equal(cay_cdp_client_open(&mux, &many[0].client, &err), -1);
        assert_int_equal(err.code, CAY_LIMIT);
}

#define NESTED 1000u

static void nest(const char *root, unsigned client, unsigned i, const char *method)
{
        char text[512], above[64], child[64];

        snprintf(above, sizeof(above), "AAAA%08u%020u", client, i);
        snprintf(child, sizeof(child), "AAAA%08u%020u", client, i + 1);
        snprintf(text, sizeof(text),
                 "{\"method\":\"Target.%s\",\"sessionId\":\"%s\",\"params\":{\"sessionId\":\"%s\","
                 "\"targetInfo\":{\"type\":\"page\",\"targetId\":\"%s\"}}}",
                 method, i == 0 ? root : above, child, child);
        say(text);
}

/*
 * A program in the browser's place makes sessions below sessions, with ids of its choice: what it says is
 * dealt with at once.
 */
static void test_nested(void **state)
{
        static struct seen many[CAY_CDP_CLIENTS_MAX];
        char roots[CAY_CDP_CLIENTS_MAX][33];
        uint64_t begun = cay_clock_ms();

        (void)state;
        for (unsigned c = 0; c < CAY_CDP_CLIENTS_MAX; c++) {
                struct seen *s = c == 0 ? &one : c == 1 ? &two : &many[c];

                snprintf(roots[c], sizeof(roots[c]), c == 0 ? R1 : c == 1 ? R2 : "CCCC%028u", c);
                if (c > 1)
                        open_client(s, roots[c]);
                for (unsigned i = 0; i < NESTED; i++)
                        nest(roots[c], c, i, "attachedToTarget");
                assert_int_equal(s->client.sessions, NESTED + 1);
        }
        nest(roots[0], 0, 0, "detachedFromTarget");
        assert_int_equal(one.client.sessions, 1);
        nest(roots[1], 1, NESTED / 2, "detachedFromTarget"); /* it and those below it, no others */
        assert_int_equal(two.client.sessions, 1 + NESTED / 2);
        nest(roots[0], 0, 0, "attachedToTarget");
        assert_int_equal(one.client.sessions, 2);
        assert_true(cay_clock_ms() - begun < 3000);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(test_ids),    TEST(test_sessions), TEST(test_leave),     TEST(test_rules),
                TEST(test_pieces), TEST(test_too_long), TEST(test_held),      TEST(test_join),
                TEST(test_limits), TEST(test_nested),   TEST(test_questions),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
