/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine's end of a link: answers find who asked, whatever is no answer is the helper's end, and a helper
 * is waited for by what it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engines/helper_client/boxes.h"
#include "engines/helper_client/link.h"
#include "foundation/sys/unix_socket.h"

#define MAGIC 0x11223344u
#define MANY 1000u
#define WAIT_MS 60000 /* at most, for anything */

struct request {
        struct helper_request_head head;
        char word[16];
};

struct answer {
        struct helper_answer_head head;
        char word[16];
};

static const char *const variables[] = { "LINK_TEST_", NULL };

static const struct helper_protocol protocol = { .magic = MAGIC,
                                                 .request_size = sizeof(struct request),
                                                 .answer_size = sizeof(struct answer) };

static struct engine_link_kind kind = {
        .program = "helper",
        .who = "the helper",
        .variables = variables,
        .protocol = &protocol,
        .close_ms = WAIT_MS,
};

static struct {
        struct cay_loop *loop;
        struct engine_link link;
        int peer; /* the helper's end */
        unsigned lost, unasked, answered, gone;
        char word[16];
} t;

static void on_unasked(struct engine_link *l, const struct helper_answer_head *a)
{
        t.unasked++;
}

static void on_lost(struct engine_link *l)
{
        t.lost++;
}

static void on_answer(struct engine_call *call, const struct helper_answer_head *a)
{
        t.answered++;
        snprintf(t.word, sizeof(t.word), "%s", a ? ((const struct answer *)(const void *)a)->word : "gone");
}

static int set_up(void **state)
{
        struct cay_error err = { 0 };
        int socks[2];

        memset(&t, 0, sizeof(t));
        t.loop = cay_loop_new();
        t.link = (struct engine_link){ .kind = &kind, .on_unasked = on_unasked, .on_lost = on_lost };
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
        t.peer = socks[1];
        assert_int_equal(engine_link_open_take(&t.link, t.loop, socks[0], &err), 0);
        return 0;
}

static int tear_down(void **state)
{
        assert_int_equal(engine_link_close(&t.link), 0); /* nobody of ours to wait for */
        if (t.peer >= 0)
                close(t.peer);
        cay_loop_free(t.loop);
        return 0;
}

static struct request hear(void)
{
        struct request req;

        assert_int_equal(recv(t.peer, &req, sizeof(req), MSG_DONTWAIT), sizeof(req));
        assert_int_equal(req.head.magic, MAGIC);
        assert_int_equal(req.head.size, sizeof(req));
        return req;
}

static void say(uint32_t seq, const char *word)
{
        struct answer a = { .head = { .magic = MAGIC, .size = sizeof(a), .seq = seq } };

        snprintf(a.word, sizeof(a.word), "%s", word);
        assert_int_equal(send(t.peer, &a, sizeof(a), 0), sizeof(a));
}

static void answers_find_who_asked(void **state)
{
        struct engine_call one = { .on_answer = on_answer }, two = { .on_answer = on_answer };
        struct request req = { 0 };
        uint32_t first, second;

        engine_link_ask(&t.link, &one, &req, NULL, 0);
        engine_link_ask(&t.link, &two, &req, NULL, 0);
        first = hear().head.seq;
        second = hear().head.seq;
        assert_int_not_equal(first, second);
        say(second, "second");
        say(0, "news");
        say(99, "to nobody");
        engine_link_await(&t.link, &two, 60000);
        assert_string_equal(t.word, "second");
        assert_int_equal(t.answered, 1);
        say(first, "first");
        engine_link_await(&t.link, &one, 60000);
        assert_string_equal(t.word, "first");
        assert_int_equal(t.unasked, 1);
        assert_int_equal(t.lost, 0);
        engine_link_await(&t.link, &one, 60000); /* answered already: no wait */
}

static void what_is_forgotten_is_not_told(void **state)
{
        struct engine_call call = { .on_answer = on_answer };
        struct request req = { 0 };

        engine_link_ask(&t.link, &call, &req, NULL, 0);
        engine_link_forget(&t.link, &call);
        say(hear().head.seq, "late");
        assert_true(cay_loop_round(t.loop, 0) >= 0);
        assert_int_equal(t.answered, 0);
}

static void the_end_is_told_to_all(void **state)
{
        struct engine_call one = { .on_answer = on_answer }, two = { .on_answer = on_answer };
        struct request req = { 0 };

        engine_link_ask(&t.link, &one, &req, NULL, 0);
        engine_link_ask(&t.link, &two, &req, NULL, 0);
        close(t.peer);
        t.peer = -1;
        assert_true(cay_loop_round(t.loop, 1000) >= 0);
        assert_int_equal(t.answered, 2);
        assert_int_equal(t.lost, 1);
        engine_link_ask(&t.link, &one, &req, NULL, 0); /* nobody is there: told at once */
        assert_int_equal(t.answered, 3);
        assert_string_equal(t.word, "gone");
}

static void what_is_no_answer_is_the_end(void **state)
{
        struct answer a = { .head = { .magic = MAGIC + 1, .size = sizeof(a), .seq = 1 } };

        assert_int_equal(send(t.peer, &a, sizeof(a), 0), sizeof(a));
        assert_true(cay_loop_round(t.loop, 1000) >= 0);
        assert_int_equal(t.lost, 1);
        assert_int_equal(t.link.sock, -1);
}

static void a_cut_answer_is_the_end(void **state)
{
        assert_int_equal(send(t.peer, "short", 5, 0), 5);
        assert_true(cay_loop_round(t.loop, 1000) >= 0);
        assert_int_equal(t.lost, 1);
}

/* A helper that does not read holds nobody up; then it gets all of it, in order, each with its descriptor. */
static void many_at_once_wait_for_room(void **state)
{
        static struct engine_call calls[MANY];
        struct request req = { 0 };
        int pipes[2];

        assert_int_equal(pipe(pipes), 0);
        for (unsigned i = 0; i < MANY; i++) {
                calls[i] = (struct engine_call){ .on_answer = on_answer };
                snprintf(req.word, sizeof(req.word), "%u", i);
                engine_link_ask(&t.link, &calls[i], &req, pipes, 1);
        }
        assert_non_null(t.link.kept);
        assert_int_equal(t.answered, 0);
        for (unsigned i = 0; i < MANY; i++) {
                int fds[SYS_FDS_MAX];
                unsigned count;

                if (recv(t.peer, &req, sizeof(req), MSG_DONTWAIT | MSG_PEEK) < 0)
                        assert_true(cay_loop_round(t.loop, 1000) >= 0);
                assert_int_equal(sys_recv_fds(t.peer, &req, sizeof(req), fds, &count, MSG_DONTWAIT),
                                 sizeof(req));
                assert_int_equal(strtoul(req.word, NULL, 10), i);
                assert_int_equal(count, 1);
                close(fds[0]);
                say(req.head.seq, "done");
                assert_true(cay_loop_round(t.loop, 0) >= 0);
        }
        assert_int_equal(t.answered, MANY);
        assert_null(t.link.kept);
        assert_int_equal(t.lost, 0);
        for (unsigned i = 0; i < MANY; i++)
                engine_link_ask(&t.link, &calls[i], &req, pipes, 1);
        close(t.peer); /* what is kept goes with it */
        t.peer = -1;
        assert_true(cay_loop_round(t.loop, 1000) >= 0);
        assert_int_equal(t.answered, 2 * MANY);
        close(pipes[0]);
        close(pipes[1]);
}

static void on_limited(struct engine_call *call, const struct helper_answer_head *a)
{
        assert_non_null(a);
        assert_int_equal(a->code, CAY_LIMIT);
        assert_int_equal(a->sys, EMFILE);
        assert_int_equal(a->size, sizeof(struct answer));
        t.unasked++;
}

/* Out of descriptors: that request alone is refused, and the helper is none the worse for it. */
static void no_room_to_wait_is_no_end(void **state)
{
        static struct engine_call calls[MANY];
        struct engine_call one = { .on_answer = on_limited };
        struct request req = { 0 };
        struct rlimit before, few;
        int zero = 0;

        for (unsigned i = 0; i < MANY; i++) {
                calls[i] = (struct engine_call){ .on_answer = on_answer };
                engine_link_ask(&t.link, &calls[i], &req, NULL, 0);
        }
        assert_non_null(t.link.kept);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        few = (struct rlimit){ 1, before.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        engine_link_ask(&t.link, &one, &req, &zero, 1);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(t.unasked, 1);
        for (unsigned i = 0; i < MANY; i++) {
                if (recv(t.peer, &req, sizeof(req), MSG_DONTWAIT | MSG_PEEK) < 0)
                        assert_true(cay_loop_round(t.loop, 1000) >= 0);
                say(hear().head.seq, "done");
                assert_true(cay_loop_round(t.loop, 0) >= 0);
        }
        assert_int_equal(t.answered, MANY);
        assert_int_equal(t.lost, 0);
        assert_null(t.link.calls);
}

static void asked_and_awaited(void **state)
{
        struct engine_ask_now now = { 0 };
        struct cay_error err = { 0 };
        struct request req = { 0 };

        assert_int_equal(engine_link_ask_now(&t.link, &now, &req, 1, &err), -1);
        assert_int_equal(err.code, CAY_UNAVAILABLE);
        say(hear().head.seq, "too late"); /* the call was on a stack */
        say(2, "in time");
        err = (struct cay_error){ 0 };
        assert_int_equal(engine_link_ask_now(&t.link, &now, &req, 60000, &err), 0);
        assert_string_equal(((struct answer *)(void *)&now.answer)->word, "in time");
}

/* Helpers of our own */

static char folder[] = "/tmp/link-XXXXXX";
static char path[64];

static void write_helper(const char *text)
{
        FILE *f = fopen(path, "w");

        fprintf(f, "#!/bin/sh\n%s\n", text);
        fclose(f);
        assert_int_equal(chmod(path, 0755), 0);
}

static int open_helper(const char *text, enum cay_code *ret)
{
        struct cay_error err = { 0 };
        int r;

        if (text)
                write_helper(text);
        else
                unlink(path);
        t.loop = cay_loop_new();
        t.link = (struct engine_link){ .kind = &kind, .on_lost = on_lost };
        r = engine_link_open(&t.link, t.loop, folder, &err);
        *ret = err.code;
        return r;
}

static void helpers_are_waited_for(void **state)
{
        enum cay_code code;

        assert_non_null(mkdtemp(folder));
        snprintf(path, sizeof(path), "%s/helper", folder);
        assert_int_equal(open_helper(NULL, &code), -1);
        assert_int_equal(code, CAY_UNAVAILABLE);
        cay_loop_free(t.loop);
        assert_int_equal(open_helper("exit 0", &code), 0);
        assert_int_equal(engine_link_close(&t.link), 0);
        cay_loop_free(t.loop);
        assert_int_equal(open_helper("exit 3", &code), 0);
        assert_int_equal(engine_link_close(&t.link), -1);
        cay_loop_free(t.loop);
        /* Descriptor 3 is there, no other, and of the environment only what the kind names. */
        setenv("LINK_TEST_A", "1", 1);
        setenv("LINK_OTHER", "1", 1);
        assert_int_equal(
                open_helper("[ \"$LINK_TEST_A\" = 1 ] && [ -z \"$LINK_OTHER\" ] && [ -e /proc/$$/fd/3 ] && "
                            "[ ! -e /proc/$$/fd/4 ]",
                            &code),
                0);
        assert_int_equal(engine_link_close(&t.link), 0);
        cay_loop_free(t.loop);
        /* One that does not end is killed. */
        kind.close_ms = 50;
        assert_int_equal(open_helper("exec sleep 1000", &code), 0);
        assert_int_equal(engine_link_close(&t.link), -1);
        cay_loop_free(t.loop);
        kind.close_ms = WAIT_MS;
        /* Somebody else in this program has waited for it. */
        assert_int_equal(open_helper("exit 0", &code), 0);
        assert_int_equal(waitpid(t.link.pid, NULL, 0), t.link.pid);
        assert_int_equal(engine_link_close(&t.link), -ECHILD);
        cay_loop_free(t.loop);
        unlink(path);
        rmdir(folder);
}

static void on_gone(void *ctx, const char *id)
{
        t.gone++;
}

static void boxes(void **state)
{
        static struct engine_boxes b;
        char id[16];

        b.gone = on_gone;
        engine_boxes_note(&b, "a", true, false);
        engine_boxes_note(&b, "b", false, true);
        assert_true(engine_boxes_has_live(&b));
        engine_boxes_note(&b, "a", false, true);
        assert_false(engine_boxes_has_live(&b));
        assert_true(engine_boxes_find(&b, "a")->kept);
        engine_boxes_forget(&b, "a");
        assert_null(engine_boxes_find(&b, "a"));
        for (unsigned i = 0; i < ENGINE_BOXES_MAX + 5;
             i++) { /* more than there is room for: not noted, nothing broken */
                snprintf(id, sizeof(id), "n%u", i);
                engine_boxes_note(&b, id, true, false);
        }
        assert_int_equal(b.rows, ENGINE_BOXES_MAX);
        engine_boxes_lose_all(&b);
        assert_int_equal(t.gone, ENGINE_BOXES_MAX - 1); /* "b" did not run */
        assert_null(engine_boxes_find(&b, "b"));
        assert_int_equal(engine_limits_from_wire(engine_limits_to_wire(CAY_LIMIT_BIT(pids))),
                         CAY_LIMIT_BIT(pids));
        assert_int_equal(engine_limits_to_wire(CAY_LIMIT_BIT(wall_ms)), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
                TEST(answers_find_who_asked),
                TEST(what_is_forgotten_is_not_told),
                TEST(the_end_is_told_to_all),
                TEST(what_is_no_answer_is_the_end),
                TEST(a_cut_answer_is_the_end),
                TEST(many_at_once_wait_for_room),
                TEST(no_room_to_wait_is_no_end),
                TEST(asked_and_awaited),
                cmocka_unit_test(helpers_are_waited_for),
                cmocka_unit_test(boxes),
        };

        signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
