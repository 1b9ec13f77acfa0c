/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine port over a link, with a helper that is this test: greeting, requests about boxes, what comes
 * unasked, and its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/str.h"
#include "engines/helper_client/linked.h"
#include "foundation/sys/unix_socket.h"

#define MAGIC 0x11223345u

enum { HELLO = 1, MAKE, LINK, LIST, FREEZE, THAW, STAT, STOP, DROP, GONE = 100, NEWS };

struct toy_request {
        HELPER_REQUEST_HEAD;
        union {
                struct helper_box_id box;
                struct helper_list list;
                uint64_t aligned;
        };
};

struct toy_answer {
        HELPER_ANSWER_HEAD;
        union {
                struct helper_hello_answer hello;
                struct {
                        char id[CAY_NAME_MAX + 1];
                        uint64_t pids;
                } box;
                struct helper_list_answer list;
        };
};

ENGINE_LINKED_FITS(struct toy_request, struct toy_answer);

static struct {
        struct cay_loop *loop;
        struct cay_engine *engine;
        int peer; /* the helper's end; -1: closed */
        struct cay_job job;
        unsigned done, gone, news;
        char gone_id[CAY_NAME_MAX + 1];
        struct cay_engine_box box;
} t;

static void on_listed(struct engine_linked *e, const char *id, const struct helper_answer_head *a)
{
        engine_boxes_note(&e->boxes, id, true, false);
}

static void on_unasked(struct engine_linked *e, const struct helper_answer_head *a)
{
        t.news += a->type == NEWS;
}

static void on_answer(struct engine_linked_call *c, const struct helper_answer_head *a, enum cay_code code)
{
        assert_int_equal(a != NULL, code == CAY_OK);
        if (a && c->box)
                c->box->stats.pids = ((const struct toy_answer *)(const void *)a)->box.pids;
}

static const struct cay_engine_ops ops = { .name = "toy" };

static const struct helper_protocol protocol = { .magic = MAGIC,
                                                 .request_size = sizeof(struct toy_request),
                                                 .answer_size = sizeof(struct toy_answer) };

static struct engine_linked_kind kind = {
        .link = { .program = "toy", .who = "the toy", .protocol = &protocol },
        .ops = &ops,
        .size = sizeof(struct engine_linked),
        .caps = CAY_ENGINE_CAN_KEEP,
        .answer_ms = 20000,
        .box_make = MAKE,
        .box_link = LINK,
        .box_list = LIST,
        .box_freeze = FREEZE,
        .box_thaw = THAW,
        .box_stat = STAT,
        .box_stop = STOP,
        .box_drop = DROP,
        .box_gone = GONE,
        .on_listed = on_listed,
        .on_unasked = on_unasked,
        .on_answer = on_answer,
};

/* The helper */

static void answer(const struct toy_answer *a)
{
        struct toy_answer whole = *a;

        whole.magic = MAGIC;
        whole.size = sizeof(whole);
        assert_int_equal(send(t.peer, &whole, sizeof(whole), MSG_NOSIGNAL), sizeof(whole));
}

static struct toy_request hear(int *ret_fd)
{
        struct toy_request req;
        int fds[SYS_FDS_MAX];
        unsigned count = 0;

        assert_int_equal(sys_recv_fds(t.peer, &req, sizeof(req), fds, &count, MSG_DONTWAIT), sizeof(req));
        assert_int_equal(req.magic, MAGIC);
        assert_int_equal(count, ret_fd != NULL);
        if (ret_fd)
                *ret_fd = fds[0];
        return req;
}

/* Answers lie there before they are asked for: opening waits for them. */
static int open_with(enum cay_code code, struct cay_error *err)
{
        const struct cay_engine_env env = { .loop = t.loop };
        struct toy_request hello = { .type = HELLO };
        struct toy_answer first = { .seq = 2, .list = { .next = 5 } }, last = { .seq = 3 };
        int socks[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
        t.peer = socks[1];
        answer(&(struct toy_answer){
                .seq = 1, .code = code, .text = "not today", .hello.can_hold = HELPER_LIMIT_PIDS });
        snprintf(first.list.id, sizeof(first.list.id), "old");
        answer(&first);
        answer(&last);
        return engine_linked_open_take(&kind, &env, socks[0], &hello, &t.engine, err);
}

static void on_done(struct cay_job *job)
{
        t.done++;
}

static void on_gone(void *ctx, const char *id)
{
        t.gone++;
        cay_str_copy(t.gone_id, sizeof(t.gone_id), id);
}

static int set_up_closed(void **state)
{
        memset(&t, 0, sizeof(t));
        t.loop = cay_loop_new();
        t.box.link_fd = t.peer = -1;
        snprintf(t.box.id, sizeof(t.box.id), "old");
        cay_job_init(&t.job, on_done);
        kind.outlives = false;
        return 0;
}

static int set_up(void **state)
{
        struct cay_error err = { 0 };

        set_up_closed(state);
        assert_int_equal(open_with(CAY_OK, &err), 0);
        engine_linked_on_gone(t.engine, on_gone, NULL);
        assert_int_equal(hear(NULL).type, HELLO);
        assert_int_equal(hear(NULL).list.from, 0);
        assert_int_equal(hear(NULL).list.from, 5);
        return 0;
}

static int tear_down(void **state)
{
        assert_int_equal(engine_linked_close(t.engine), 0); /* nobody of ours to wait for */
        if (t.peer >= 0)
                close(t.peer);
        cay_loop_free(t.loop);
        return 0;
}

static void round_of_loop(void)
{
        assert_int_equal(cay_loop_round(t.loop, 0), 0);
}

static void count(void *ctx, const char *id)
{
        assert_string_equal(id, "old");
        ++*(unsigned *)ctx;
}

static void a_greeting_tells_what_there_is(void **state)
{
        unsigned boxes = 0;

        assert_int_equal(t.engine->caps, CAY_ENGINE_CAN_KEEP);
        assert_int_equal(engine_linked_can_hold(t.engine), CAY_LIMIT_BIT(pids) | engine_limits_by_init());
        engine_linked_list(t.engine, count, &boxes);
        assert_int_equal(boxes, 1);
}

static void a_refusal_is_told_and_nothing_is_left(void **state)
{
        struct cay_error err = { 0 };

        assert_int_equal(open_with(CAY_DENIED, &err), -1);
        assert_int_equal(err.code, CAY_DENIED);
        assert_string_equal(err.msg, "not today");
}

static void each_call_is_its_request(void **state)
{
        static const struct {
                uint32_t type;
                void (*ask)(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job);
                bool has_stats;
        } rows[] = {
                { FREEZE, engine_linked_freeze, false }, { THAW, engine_linked_thaw, false },
                { STAT, engine_linked_stats, true },     { STOP, engine_linked_stop, true },
                { DROP, engine_linked_destroy, true },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                struct toy_request req;

                t.box.stats.pids = 0;
                cay_job_init(&t.job, on_done);
                rows[i].ask(t.engine, &t.box, &t.job);
                req = hear(NULL);
                assert_int_equal(req.type, rows[i].type);
                assert_string_equal(req.box.id, "old");
                assert_int_equal(t.done, i);
                answer(&(struct toy_answer){ .seq = req.seq, .box.pids = 3 });
                round_of_loop();
                assert_int_equal(t.done, i + 1);
                assert_int_equal(t.job.err.code, CAY_OK);
                assert_int_equal(t.box.stats.pids, rows[i].has_stats ? 3 : 0);
        }
}

static void a_link_stays_only_when_it_was_made(void **state)
{
        struct toy_request req;
        int theirs;

        engine_linked_relink(t.engine, &t.box, &t.job);
        req = hear(&theirs);
        close(theirs);
        assert_true(t.box.link_fd >= 0);
        answer(&(struct toy_answer){ .seq = req.seq });
        round_of_loop();
        assert_true(t.box.link_fd >= 0);
        close(cay_take_fd(t.box.link_fd));

        cay_job_init(&t.job, on_done);
        engine_linked_relink(t.engine, &t.box, &t.job);
        req = hear(&theirs);
        close(theirs);
        answer(&(struct toy_answer){ .seq = req.seq, .code = CAY_NOT_FOUND });
        round_of_loop();
        assert_int_equal(t.box.link_fd, -1);
        assert_int_equal(t.job.err.code, CAY_NOT_FOUND);
}

static void only_known_boxes_are_told_gone(void **state)
{
        struct toy_answer gone = { .type = GONE };

        snprintf(gone.box.id, sizeof(gone.box.id), "stranger");
        answer(&gone);
        snprintf(gone.box.id, sizeof(gone.box.id), "old");
        answer(&gone);
        answer(&(struct toy_answer){ .type = NEWS });
        round_of_loop();
        assert_int_equal(t.gone, 1);
        assert_string_equal(t.gone_id, "old");
        assert_int_equal(t.news, 1);
}

static void with_the_helper_go_its_boxes(void **state)
{
        struct cay_error err = { 0 };
        unsigned boxes = 0;

        engine_linked_stats(t.engine, &t.box, &t.job);
        close(cay_take_fd(t.peer));
        round_of_loop();
        assert_int_equal(t.done, 1);
        assert_int_equal(t.job.err.code, CAY_UNAVAILABLE);
        assert_int_equal(t.gone, 1);
        engine_linked_list(t.engine, count, &boxes);
        assert_int_equal(boxes, 0);
        assert_int_equal(engine_linked_health(t.engine, &err), -1);
        assert_string_equal(err.msg, "the toy is gone");
}

static void boxes_that_outlive_it_stay(void **state)
{
        unsigned boxes = 0;

        kind.outlives = true;
        close(cay_take_fd(t.peer));
        round_of_loop();
        assert_int_equal(t.gone, 0);
        engine_linked_list(t.engine, count, &boxes);
        assert_int_equal(boxes, 1);
}

/*
 * A helper that was started in place of the first: nothing is asked of it before it has let us in and told
 * what it has.
 */
static void another_helper_takes_over(void **state)
{
        struct toy_answer first = { .list = { .next = 7 } };
        struct cay_error err = { 0 };
        struct toy_request req;
        struct cay_job reopened;
        int socks[2];

        kind.outlives = true;
        engine_linked_stats(t.engine, &t.box, &t.job);
        assert_int_equal(hear(NULL).type, STAT);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
        close(t.peer); /* nobody has heard of its end yet */
        t.peer = socks[1];
        cay_job_init(&reopened, on_done);
        engine_linked_reopen_take(t.engine, socks[0], &reopened);
        round_of_loop();
        assert_int_equal(t.done, 1); /* whoever waited for the first is told */
        assert_int_equal(t.job.err.code, CAY_UNAVAILABLE);
        req = hear(NULL);
        assert_int_equal(req.type, HELLO);
        assert_int_equal(engine_linked_health(t.engine, &err), -1);
        cay_job_init(&t.job, on_done);
        engine_linked_stats(t.engine, &t.box, &t.job);
        round_of_loop();
        assert_int_equal(t.job.err.code, CAY_UNAVAILABLE);
        answer(&(struct toy_answer){ .seq = req.seq, .hello.can_hold = HELPER_LIMIT_MEMORY });
        round_of_loop();
        req = hear(NULL);
        assert_int_equal(req.type, LIST);
        first.seq = req.seq;
        snprintf(first.list.id, sizeof(first.list.id), "new");
        answer(&first);
        answer(&(struct toy_answer){ .type = NEWS }); /* also before it is all told */
        round_of_loop();
        req = hear(NULL);
        assert_int_equal(req.list.from, 7);
        assert_false(reopened.done);
        answer(&(struct toy_answer){ .seq = req.seq });
        answer(&(struct toy_answer){ .type = NEWS });
        round_of_loop();
        round_of_loop();
        assert_true(reopened.done);
        assert_int_equal(reopened.err.code, CAY_OK);
        assert_int_equal(t.news, 2);
        assert_int_equal(t.gone, 0);
        assert_non_null(engine_boxes_find(&engine_linked_of(t.engine)->boxes, "new"));
        assert_int_equal(engine_linked_health(t.engine, &err), 0);
        assert_int_equal(engine_linked_can_hold(t.engine),
                         CAY_LIMIT_BIT(memory_bytes) | engine_limits_by_init());
        cay_job_init(&t.job, on_done);
        engine_linked_stats(t.engine, &t.box, &t.job);
        req = hear(NULL);
        assert_int_equal(req.type, STAT);
        answer(&(struct toy_answer){ .seq = req.seq, .box.pids = 3 });
        round_of_loop();
        assert_int_equal(t.box.stats.pids, 3);
}

/* It ends as well, refuses us, or the engine is closed first: told, and the next one can be had. */
static void another_helper_that_fails(void **state)
{
        struct cay_job reopened;

        kind.outlives = true;
        for (unsigned i = 0; i < 3; i++) {
                int socks[2];

                assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
                close(t.peer);
                t.peer = socks[1];
                cay_job_init(&reopened, on_done);
                engine_linked_reopen_take(t.engine, socks[0], &reopened);
                if (i == 0)
                        close(cay_take_fd(t.peer));
                else if (i == 1)
                        answer(&(struct toy_answer){
                                .seq = hear(NULL).seq, .code = CAY_DENIED, .text = "not today" });
                else
                        engine_linked_reopen_cancel(engine_linked_of(t.engine));
                round_of_loop();
                round_of_loop();
                assert_true(reopened.done);
                assert_int_equal(reopened.err.code, i == 1 ? CAY_DENIED : CAY_UNAVAILABLE);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_greeting_tells_what_there_is, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_refusal_is_told_and_nothing_is_left, set_up_closed,
                                                tear_down),
                cmocka_unit_test_setup_teardown(each_call_is_its_request, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_link_stays_only_when_it_was_made, set_up, tear_down),
                cmocka_unit_test_setup_teardown(only_known_boxes_are_told_gone, set_up, tear_down),
                cmocka_unit_test_setup_teardown(with_the_helper_go_its_boxes, set_up, tear_down),
                cmocka_unit_test_setup_teardown(boxes_that_outlive_it_stay, set_up, tear_down),
                cmocka_unit_test_setup_teardown(another_helper_takes_over, set_up, tear_down),
                cmocka_unit_test_setup_teardown(another_helper_that_fails, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
