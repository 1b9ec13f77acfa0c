/* SPDX-License-Identifier: Apache-2.0 */
/* Commands: what they are given, what they print, how they end, and what is refused. */
#include "unit/domain/sandboxes/service_test.h"

#include <signal.h>
#include <sys/resource.h>

#include "domain/sandboxes/service_priv.h"

#define SPOOL_KEEP 100000

static int setup_small(void **state)
{
        struct test *t;

        setup(state);
        t = *state;
        t->env.spool_bytes = SPOOL_KEEP;
        restart(t);
        return 0;
}

static void runs_and_ends(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        const struct cay_store_exec *r;
        struct watcher w = { 0 };
        struct cay_exec_view view;

        create(t, id);
        exec(t, id, x, "echo", "hello", NULL);
        assert_int_equal(watch(t, id, x, 0, true, &w), CAY_OK);
        wait_for(t, w.over);
        assert_int_equal(w.len, 6);
        assert_memory_equal(w.bytes, "hello\n", 6);
        assert_int_equal(w.out, 6);
        cay_exec_watcher_view(&w.w, &view);
        assert_int_equal(view.state, CAY_EXEC_ENDED);
        assert_int_equal(view.exit_code, 0);
        assert_int_equal(view.cause, CAY_CAUSE_EXITED);
        assert_int_equal(view.out_bytes, 6);
        watcher_done(&w);
        r = fake_store_find(t->store, CAY_STORE_EXEC, x);
        assert_string_equal(r->state, "ended");
        assert_string_equal(r->cause, "exited");
        assert_int_equal(r->exit_code, 0);
        assert_string_equal(r->argv, "[\"echo\",\"hello\"]");
        wait_for(t, strcmp(record(t, id)->state, "ready") == 0);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
        /* It can be read again afterwards. */
        assert_int_equal(watch(t, id, x, 3, false, &w), CAY_OK);
        wait_for(t, w.over);
        assert_int_equal(w.len, 3);
        watcher_done(&w);
        exec(t, id, x, "warn", "oh", NULL);
        assert_int_equal(watch(t, id, x, 0, true, &w), CAY_OK);
        wait_for(t, w.over);
        assert_int_equal(w.err, 3);
        watcher_done(&w);
}

static void lines_go_to_a_shell(void **state)
{
        struct test *t = *state;
        struct cay_exec_new what = { .line = "echo a; exit 1" };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;
        struct cay_exec_view view;

        create(t, id);
        assert_int_equal(try_exec(t, id, &what, &c), CAY_OK);
        view = wait_end(t, id, c.call.id); /* this box has no shell */
        assert_int_equal(view.exit_code, 127);
        assert_true(view.is_line);
        assert_string_equal(view.argv[0], "/bin/sh");
        assert_string_equal(view.argv[2], "echo a; exit 1");
        assert_non_null(strstr(view.cause_text, "/bin/sh"));
}

static void get_output(struct test *t, const char *id, const char *x, char *text, size_t size)
{
        struct watcher w = { 0 };

        assert_int_equal(watch(t, id, x, 0, true, &w), CAY_OK);
        wait_for(t, w.over);
        snprintf(text, size, "%.*s", (int)w.len, w.bytes != NULL ? (char *)w.bytes : "");
        watcher_done(&w);
}

static void environment_folder_and_user(void **state)
{
        struct test *t = *state;
        struct cay_field_pair box_env[] = { { "A", "box" }, { "B", "box" } }, own_env = { "A", "own" };
        const char *ask[] = { "env", "A", NULL };
        struct cay_sandbox_new box = plain();
        struct cay_exec_new what = { .argv = ask, .env = { &own_env, 1 } };
        struct exec_call c;
        struct call made;
        char text[200];

        box.env = (struct cay_field_map){ box_env, 2 };
        assert_int_equal(try_create(t, &box, &made), CAY_OK);
#define SAYS(expected)                                                                                       \
        assert_int_equal(try_exec(t, made.call.id, &what, &c), CAY_OK);                                      \
        get_output(t, made.call.id, c.call.id, text, sizeof(text));                                          \
        assert_string_equal(text, expected)
        SAYS("own");
        ask[1] = "B";
        SAYS("box");
        ask[1] = "HOME";
        SAYS("/home/sandbox");
        ask[0] = "pwd";
        SAYS("/workspace");
        what.cwd = "/tmp";
        SAYS("/tmp");
        ask[0] = "whoami";
        SAYS("4294967295:4294967295");
        what.user = "1005:7";
        SAYS("1005:7");
        what.user = "alice";
        assert_int_equal(try_exec(t, made.call.id, &what, &c), CAY_NOT_FOUND);
        fake_plan.script.passwd = "root:x:0:0::/:/bin/sh\nalice:x:1234:99::/home/alice:/bin/sh\n";
        SAYS("1234:99");
        settle(t);
        assert_int_equal(count_files(t, false), 8); /* what was refused left none */
}

static void bad_requests(void **state)
{
        struct test *t = *state;
        const char *nothing[] = { NULL }, *wait[] = { "wait", NULL };
        struct cay_field_pair bad = { "A=B", "c" };
        struct cay_exec_new what = { 0 };
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_error err = { 0 };
        struct exec_call c;
        char *long_word = calloc(1, 200000);

        create(t, id);
        assert_int_equal(try_exec(t, id, &what, &c), CAY_INVALID);
        what.argv = nothing;
        assert_int_equal(try_exec(t, id, &what, &c), CAY_INVALID);
        what.argv = wait;
        what.line = "both";
        assert_int_equal(try_exec(t, id, &what, &c), CAY_INVALID);
        what.line = NULL;
        what.cwd = "relative";
        assert_int_equal(try_exec(t, id, &what, &c), CAY_INVALID);
        what.cwd = NULL;
        what.env = (struct cay_field_map){ &bad, 1 };
        assert_int_equal(try_exec(t, id, &what, &c), CAY_INVALID);
        what.env.count = 0;
        what.user = "no such:thing";
        assert_int_equal(try_exec(t, id, &what, &c), CAY_INVALID);
        what.user = NULL;
        memset(long_word, 'x', 199999);
        wait[0] = long_word;
        assert_int_equal(try_exec(t, id, &what, &c), CAY_INVALID);
        free(long_word);
        wait[0] = "wait";
        assert_int_equal(try_exec(t, "nobody", &what, &c), CAY_NOT_FOUND);
        settle(t);
        assert_int_equal(count_files(t, false), 0);
        assert_int_equal(fake_store_count(t->store, CAY_STORE_EXEC), 0);
        exec(t, id, x, "wait", NULL);
        assert_int_equal(cay_service_exec_signal(t->service, &me, id, x, 99, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        assert_int_equal(cay_service_exec_resize(t->service, &me, id, x, 10, 10, &err), -1);
        assert_int_equal(err.code, CAY_CONFLICT); /* no terminal */
        assert_int_equal(cay_service_exec_kill(t->service, &me, id, "no-such", &err), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
}

static void users_can_be_ruled_out(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "whoami", NULL };
        struct cay_exec_new what = { .argv = argv, .user = "root" };
        struct cay_sandbox_new box = plain();
        struct exec_call c;
        struct call made;

        box.options.own_user_only = true;
        assert_int_equal(try_create(t, &box, &made), CAY_OK);
        assert_int_equal(try_exec(t, made.call.id, &what, &c), CAY_CONFLICT);
        what.user = "sandbox";
        assert_int_equal(try_exec(t, made.call.id, &what, &c), CAY_OK);
}

/* A command whose user is still looked up: a kill is kept to, and a signal is told truly. */
static void what_is_killed_before_it_starts_does_not_run(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "wait", NULL };
        struct cay_exec_new what = { .argv = argv, .user = "somebody" };
        struct cay_error err = { 0 };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;

        create(t, id);
        fake_plan.script.passwd = "somebody:x:1234:1234::/:/bin/sh\n";
        exec_begin(t, id, &what, &c);
        assert_int_equal(cay_service_exec_signal(t->service, &me, id, c.call.id, 15, &err), -1);
        assert_int_equal(err.code, CAY_UNAVAILABLE);
        err = (struct cay_error){ 0 };
        assert_int_equal(cay_service_exec_kill(t->service, &me, id, c.call.id, &err), 0);
        wait_for(t, c.done);
        assert_int_equal(c.call.job.err.code, CAY_CONFLICT);
        assert_non_null(strstr(c.call.job.err.msg, "killed before it started"));
        settle(t);
        assert_int_equal(look(t, id).execs_known, 0);
        assert_int_equal(try_exec(t, id, &what, &c), CAY_OK); /* not killed: it runs */
        fake_plan.script.passwd = NULL;
}

static void a_failed_commit_ends_the_command(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "wait", NULL };
        struct cay_exec_new what = { .argv = argv };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;

        create(t, id);
        t->store->fail_with = CAY_NO_SPACE;
        t->store->fail_count = 1;
        assert_int_equal(try_exec(t, id, &what, &c), CAY_NO_SPACE);
        settle(t);
        assert_int_equal(look(t, id).execs_known, 0);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
        assert_int_equal(count_files(t, false), 0);
        assert_int_equal(try_exec(t, id, &what, &c), CAY_OK);
}

static void nothing_is_told_before_it_is_stored(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "exit", "5", NULL };
        struct cay_exec_new what = { .argv = argv };
        char id[CAY_NAME_MAX + 1];
        struct watcher w = { 0 };
        struct exec_call c;

        create(t, id);
        t->store->hold = true;
        exec_begin(t, id, &what, &c);
        settle(t);
        assert_false(c.done);
        fake_store_let_go(t->store);
        t->store->hold = true;
        wait_for(t, c.done);
        assert_int_equal(watch(t, id, c.call.id, 0, true, &w), CAY_OK);
        settle(t);
        assert_false(w.over);
        assert_int_not_equal(look_exec(t, id, c.call.id).state, CAY_EXEC_ENDED);
        fake_store_let_go(t->store);
        wait_for(t, w.over);
        assert_int_equal(look_exec(t, id, c.call.id).exit_code, 5);
        watcher_done(&w);
}

static void an_end_that_cannot_be_stored_is_tried_again(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_error err = { 0 };

        create(t, id);
        exec(t, id, x, "wait", NULL);
        t->store->fail_with = CAY_NO_SPACE;
        t->store->fail_count = 2;
        assert_int_equal(cay_service_exec_signal(t->service, &me, id, x, SIGTERM, &err), 0);
        assert_int_equal(wait_end(t, id, x).signal, SIGTERM); /* it is in the spool */
        wait_for(t,
                 strcmp(((const struct cay_store_exec *)fake_store_find(t->store, CAY_STORE_EXEC, x))->state,
                        "ended") == 0);
        wait_for(t, strcmp(record(t, id)->state, "ready") == 0);
}

static void claims_of_commands(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "wait", NULL };
        struct cay_exec_new what = { .argv = argv, .claim = "run-1" };
        char id[CAY_NAME_MAX + 1];
        struct exec_call a, b;

        create(t, id);
        exec_begin(t, id, &what, &a);
        exec_begin(t, id, &what, &b);
        wait_for(t, a.done && b.done);
        assert_int_equal(a.call.job.err.code, CAY_OK);
        assert_int_equal(b.call.job.err.code, CAY_EXISTS);
        assert_string_equal(b.call.first, a.call.id);
        assert_int_equal(try_exec(t, id, &what, &b), CAY_EXISTS);
        assert_string_equal(b.call.first, a.call.id);
        settle(t);
        assert_int_equal(look(t, id).execs_known, 1);
        assert_int_equal(count_files(t, false), 1);
}

static void output_limits(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "count", "50000", NULL };
        struct cay_exec_new what = { .argv = argv, .output_bytes = 1000 };
        char id[CAY_NAME_MAX + 1];
        struct cay_exec_view view;
        struct exec_call c;

        create(t, id);
        assert_int_equal(try_exec(t, id, &what, &c), CAY_OK);
        view = wait_end(t, id, c.call.id);
        assert_int_equal(view.cause, CAY_CAUSE_OUTPUT);
        assert_int_equal(view.out_bytes, 1000);
        what.output_cut = true;
        assert_int_equal(try_exec(t, id, &what, &c), CAY_OK);
        view = wait_end(t, id, c.call.id);
        assert_int_equal(view.cause, CAY_CAUSE_EXITED);
        assert_int_equal(view.out_bytes, 1000);
        assert_int_equal(view.cut_bytes, 49000);
        assert_true(view.hints >> CAY_CAUSE_OUTPUT & 1);
}

static void memory_is_told_apart(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_error err = { 0 };

        create(t, id);
        exec(t, id, x, "wait", NULL);
        fake_plan.stats.oom_kills = 1;
        fake_plan.stats.memory_peak_bytes = 64u << 20;
        assert_int_equal(cay_service_exec_signal(t->service, &me, id, x, SIGKILL, &err), 0);
        assert_int_equal(wait_end(t, id, x).cause, CAY_CAUSE_MEMORY);
        exec(t, id, x, "exit", "1", NULL); /* that was the other one's */
        assert_int_equal(wait_end(t, id, x).cause, CAY_CAUSE_EXITED);
}

/*
 * A command for whose cause the engine was asked needs no second question. One that succeeded at once does.
 */
static void figures_are_asked_for_once(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        unsigned before;

        create(t, id);
        cay_service_tick(t->service);
        before = fake_engine_stats();
        exec(t, id, x, "exit", "1", NULL);
        wait_end(t, id, x);
        assert_int_equal(fake_engine_stats(), before + 1);
        cay_service_tick(t->service);
        assert_int_equal(fake_engine_stats(), before + 1);
        exec(t, id, x, "exit", "0", NULL);
        wait_end(t, id, x);
        wait_for(t, fake_engine_stats() == before + 2);
        cay_service_tick(t->service);
        assert_int_equal(fake_engine_stats(), before + 2);
}

static void kills_and_their_causes(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_error err = { 0 };
        struct cay_exec_view view;

        create(t, id);
        exec(t, id, x, "wait", NULL);
        assert_int_equal(cay_service_exec_kill(t->service, &me, id, x, &err), 0);
        view = wait_end(t, id, x);
        assert_int_equal(view.cause, CAY_CAUSE_KILLED);
        assert_int_equal(view.signal, SIGKILL);
        assert_true(view.advice[0] != '\0');
        assert_int_equal(cay_service_exec_kill(t->service, &me, id, x, &err), -1);
        assert_int_equal(err.code, CAY_CONFLICT);
}

/* The time limit is the service's: a clock in the box would not stand still in a pause. */
static void deadlines_are_held_from_outside(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "wait", NULL };
        struct cay_exec_new what = { .argv = argv, .timeout_ms = 60000 };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;

        create(t, id);
        assert_int_equal(try_exec(t, id, &what, &c), CAY_OK);
        assert_true(look_exec(t, id, c.call.id).has_deadline);
        t->store->now_ms += 59999;
        cay_service_tick(t->service);
        settle(t);
        assert_int_equal(look_exec(t, id, c.call.id).state, CAY_EXEC_RUNNING);
        t->store->now_ms += 1;
        cay_service_tick(t->service);
        assert_int_equal(wait_end(t, id, c.call.id).cause, CAY_CAUSE_WALL_TIME);
}

/*
 * The sandbox's limit is for commands that work; a person at a terminal may take longer, unless a limit was
 * asked for.
 */
static void a_terminal_has_no_time_limit_of_its_own(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "wait", NULL };
        struct cay_exec_new work = { .argv = argv }, shell = { .argv = argv, .tty = true, .has_stdin = true },
                            bound = shell, shown = { .argv = argv, .tty = true };
        struct cay_sandbox_new box = plain();
        struct exec_call c[4];
        struct call made;

        box.limits.wall_ms = 60000;
        assert_int_equal(try_create(t, &box, &made), CAY_OK);
        bound.timeout_ms = 90000;
        assert_int_equal(try_exec(t, made.call.id, &work, &c[0]), CAY_OK);
        assert_int_equal(try_exec(t, made.call.id, &shell, &c[1]), CAY_OK);
        assert_int_equal(try_exec(t, made.call.id, &bound, &c[2]), CAY_OK);
        assert_int_equal(try_exec(t, made.call.id, &shown, &c[3]), CAY_OK); /* nobody types into it */
        assert_int_equal(look_exec(t, made.call.id, c[0].call.id).deadline_in_ms, 60000);
        assert_false(look_exec(t, made.call.id, c[1].call.id).has_deadline);
        assert_int_equal(look_exec(t, made.call.id, c[2].call.id).deadline_in_ms, 90000);
        assert_int_equal(look_exec(t, made.call.id, c[3].call.id).deadline_in_ms, 60000);
}

#define LEFT_MS 3600000u

/* It is watched, paused or typed into: then it stays. Left alone for the whole time it ends, and says why. */
static void a_terminal_that_was_left_ends(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "wait", NULL };
        struct cay_exec_new what = { .argv = argv, .tty = true, .has_stdin = true }, plain = { .argv = argv };
        struct watcher w = { 0 };
        struct exec_call c, other;
        char id[CAY_NAME_MAX + 1];
        struct cay_exec_view view;

        t->env.terminal_idle_ms = LEFT_MS;
        restart(t);
        create(t, id);
        assert_int_equal(try_exec(t, id, &what, &c), CAY_OK);
        assert_int_equal(try_exec(t, id, &plain, &other), CAY_OK);
        assert_int_equal(watch(t, id, c.call.id, 0, true, &w), CAY_OK);
        t->store->now_ms += 2 * LEFT_MS;
        cay_service_tick(t->service);
        settle(t);
        view = look_exec(t, id, c.call.id);
        assert_int_equal(view.state, CAY_EXEC_RUNNING);
        assert_int_equal(view.watchers, 1);
        assert_int_equal(view.idle_ms, 0);
        watcher_done(&w);
        t->store->now_ms += LEFT_MS - 1000;
        cay_service_tick(t->service);
        settle(t);
        view = look_exec(t, id, c.call.id);
        assert_int_equal(view.state, CAY_EXEC_RUNNING);
        assert_int_equal(view.idle_limit_ms, LEFT_MS);
        assert_int_equal(view.idle_ms, LEFT_MS - 1000);
        assert_int_equal(change(t, pause, id), CAY_OK); /* time stands still */
        t->store->now_ms += LEFT_MS;
        assert_int_equal(change(t, resume, id), CAY_OK);
        cay_service_tick(t->service);
        settle(t);
        assert_int_equal(look_exec(t, id, c.call.id).state, CAY_EXEC_RUNNING);
        t->store->now_ms += 1000;
        cay_service_tick(t->service);
        view = wait_end(t, id, c.call.id);
        assert_int_equal(view.cause, CAY_CAUSE_KILLED);
        assert_non_null(strstr(view.cause_text, "nobody watched this terminal"));
        assert_non_null(strstr(view.cause_text, "terminal_idle"));
        assert_int_equal(look_exec(t, id, other.call.id).state, CAY_EXEC_RUNNING); /* no terminal */
}

static void a_slow_watcher_holds_the_command(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct watcher w = { .lazy = true };
        struct cay_exec_view view;

        create(t, id);
        exec(t, id, x, "count", "5000000", NULL);
        assert_int_equal(watch(t, id, x, look_exec(t, id, x).output_first, true, &w), CAY_OK);
        w.lazy = true;
        for (unsigned i = 0; i < 300; i++)
                cay_loop_round(t->loop, 1);
        view = look_exec(t, id, x);
        assert_int_equal(view.state, CAY_EXEC_RUNNING);
        assert_true(view.output_end < 2 * SPOOL_KEEP + 4 * CAY_BOX_WINDOW);
        assert_true(w.told > 0);
        w.lazy = false;
        while (!w.over) {
                watcher_read(&w);
                cay_loop_round(t->loop, 1);
        }
        assert_int_equal(w.overtaken, 0);
        check_pattern(&w, 5000000 - w.len, w.len);
        assert_int_equal(look_exec(t, id, x).out_bytes, 5000000);
        watcher_done(&w);
}

/* It ran, whatever became of its sandbox before it was stored. */
static void an_end_before_the_start_is_stored(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "wait", NULL };
        struct cay_exec_new what = { .argv = argv };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;

        create(t, id);
        settle(t);
        t->store->hold = true;
        exec_begin(t, id, &what, &c);
        settle(t); /* opened, not stored */
        fake_engine_vanish(t->engine, id, true);
        settle(t);
        assert_false(c.done);
        fake_store_let_go(t->store);
        wait_for(t, c.done);
        assert_int_equal(c.call.job.err.code, CAY_OK);
        assert_int_equal(wait_end(t, id, c.call.id).cause, CAY_CAUSE_SANDBOX_GONE);
}

/*
 * Its box goes while its end is being stored: that commit has told it, and the sandbox's does not tell it
 * again.
 */
static void an_end_is_told_once(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        unsigned events;

        create(t, id);
        exec(t, id, x, "wait", NULL);
        settle(t);
        events = fake_store_count(t->store, CAY_STORE_EVENT);
        t->store->hold = true;
        assert_int_equal(cay_service_exec_kill(t->service, &me, id, x, &(struct cay_error){ 0 }), 0);
        wait_for(t, cay_table_find(t->service, id)->execs->phase == CAY_EXEC_PHASE_CLOSING);
        fake_engine_vanish(t->engine, id, true);
        wait_for(t, look(t, id).state == CAY_STATE_ERROR);
        fake_store_let_go(t->store);
        assert_int_equal(wait_end(t, id, x).cause, CAY_CAUSE_KILLED);
        settle(t);
        assert_int_equal(fake_store_count(t->store, CAY_STORE_EVENT),
                         events + 2); /* exec_ended, sandbox_error */
}

/*
 * Its user is looked up in a box that does not answer: it was never sent, and leaves nothing when the sandbox
 * is stopped.
 */
static void one_that_was_not_sent_leaves_nothing(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "wait", NULL };
        struct cay_exec_new what = { .argv = argv, .user = "somebody" };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;
        struct call stop;

        create(t, id);
        settle(t);
        fake_plan.script.mute = true;
        exec_begin(t, id, &what, &c);
        settle(t);
        assert_false(c.done);
        assert_int_equal(look(t, id).execs_known, 1);
        call_init(&stop);
        cay_service_stop(t->service, &me, id, &stop.call);
        assert_int_equal(call_wait(t, &stop), CAY_OK);
        wait_for(t, c.done);
        assert_int_equal(c.call.job.err.code, CAY_CONFLICT);
        assert_int_equal(look(t, id).execs_known, 0);
}

/*
 * More short runs than are kept lie in the stretch that stays behind a watcher out of courtesy: it does not
 * hold for that.
 */
static void streams_that_alternate_in_tiny_pieces(void **state)
{
        struct test *t = *state;
        const size_t total = 3 * CAY_SPOOL_RUNS_KEEP;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1], count[16];
        struct watcher w = { 0 };

        t->env.spool_bytes = 8 * total;
        restart(t);
        create(t, id);
        snprintf(count, sizeof(count), "%zu", total);
        exec(t, id, x, "alternate", count, NULL);
        assert_int_equal(watch(t, id, x, 0, true, &w), CAY_OK);
        wait_for(t, w.over);
        assert_int_equal(w.overtaken, 0);
        assert_int_equal(w.out, total / 2);
        check_pattern(&w, 0, total);
        /* windows are larger than all of this: it would stop when they are used up */
        assert_false(w.w.exec->held);
        watcher_done(&w);
}

/* A connection that breaks is no farewell: what was not read is there for whoever comes back soon. */
static void a_watcher_that_left_can_come_back(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "count", "5000000", NULL };
        struct cay_exec_new what = { .argv = argv, .background = true };
        char id[CAY_NAME_MAX + 1];
        struct watcher w = { .lazy = true };
        struct cay_exec_view view;
        struct exec_call c;
        uint64_t from;

        create(t, id);
        assert_int_equal(try_exec(t, id, &what, &c), CAY_OK);
        from = look_exec(t, id, c.call.id).output_first;
        assert_int_equal(watch(t, id, c.call.id, from, true, &w), CAY_OK);
        watcher_done(&w);
        for (unsigned i = 0; i < 300; i++)
                cay_loop_round(t->loop, 1);
        view = look_exec(t, id, c.call.id);
        assert_int_equal(view.state, CAY_EXEC_RUNNING);
        assert_int_equal(watch(t, id, c.call.id, from, true, &w), CAY_OK);
        wait_for(t, w.over);
        assert_int_equal(w.overtaken, 0);
        check_pattern(&w, from, 5000000 - from);
        watcher_done(&w);
}

static void without_a_watcher_the_oldest_goes(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct watcher w = { 0 };
        struct cay_exec_view view;

        create(t, id);
        exec(t, id, x, "count", "3000000", NULL);
        view = wait_end(t, id, x);
        assert_int_equal(view.output_end, 3000000);
        assert_int_equal(view.output_first, 3000000 - SPOOL_KEEP);
        assert_int_equal(watch(t, id, x, 0, false, &w), CAY_CONFLICT);
        assert_int_equal(watch(t, id, x, 3000001, false, &w), CAY_INVALID);
        assert_int_equal(watch(t, id, x, view.output_first, false, &w), CAY_OK);
        wait_for(t, w.over);
        check_pattern(&w, view.output_first, SPOOL_KEEP);
        watcher_done(&w);
}

static void a_watcher_that_does_not_hold_is_overtaken(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct watcher slow = { .lazy = true }, fast = { 0 };

        create(t, id);
        exec(t, id, x, "cat", NULL);
        assert_int_equal(watch(t, id, x, 0, false, &slow), CAY_OK);
        slow.lazy = true;
        assert_int_equal(watch(t, id, x, 0, true, &fast), CAY_OK);
        for (unsigned i = 0; i < 5; i++) {
                static uint8_t bytes[50000];
                struct cay_exec_input in = { .bytes = bytes, .len = sizeof(bytes), .eof = i == 4 };

                for (size_t k = 0; k < sizeof(bytes); k++)
                        bytes[k] = fake_pattern(i * sizeof(bytes) + k);
                cay_job_init(&in.job, NULL);
                cay_service_exec_input(t->service, &me, id, x, &in);
                wait_for(t, in.job.done && !in.job.queued);
                assert_int_equal(in.job.err.code, CAY_OK);
                wait_for(t, fast.len == (i + 1) * sizeof(bytes));
        }
        wait_for(t, fast.over);
        check_pattern(&fast, 0, 250000);
        watcher_read(&slow);
        assert_int_equal(slow.overtaken, 1);
        assert_true(slow.over);
        check_pattern(&slow, 250000 - SPOOL_KEEP, SPOOL_KEEP);
        watcher_done(&slow);
        watcher_done(&fast);
}

/* The daemon's disk takes nothing: the command waits, and not a byte is lost when there is room again. */
static void a_full_disk_holds_the_command(void **state)
{
        struct test *t = *state;
        struct rlimit old, less;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct watcher w = { 0 };

        create(t, id);
        exec(t, id, x, "cat", NULL);
        assert_int_equal(watch(t, id, x, 0, true, &w), CAY_OK);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
        signal(SIGXFSZ, SIG_IGN);
        less = (struct rlimit){ .rlim_cur = 4096, .rlim_max = old.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
        for (unsigned i = 0; i < 5; i++) {
                static uint8_t bytes[5][40000];
                static struct cay_exec_input in[5];

                for (size_t k = 0; k < sizeof(bytes[i]); k++)
                        bytes[i][k] = fake_pattern(i * sizeof(bytes[i]) + k);
                in[i] = (struct cay_exec_input){ .bytes = bytes[i], .len = sizeof(bytes[i]), .eof = i == 4 };
                cay_job_init(&in[i].job, NULL);
                cay_service_exec_input(t->service, &me, id, x, &in[i]);
        }
        for (unsigned i = 0; i < 30; i++)
                cay_loop_round(t->loop, 2);
        assert_int_equal(w.len, 0);
        assert_int_equal(look_exec(t, id, x).state, CAY_EXEC_RUNNING);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        cay_service_tick(t->service);
        wait_for(t, w.over);
        check_pattern(&w, 0, 200000);
        assert_int_equal(look_exec(t, id, x).exit_code, 0);
        watcher_done(&w);
}

/* A flood, and a watcher that comes as soon as it can: from the very first byte. */
static void the_first_watcher_misses_nothing(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "count", "3000000", NULL };
        struct cay_exec_new what = { .argv = argv };
        char id[CAY_NAME_MAX + 1];
        struct watcher w = { 0 };
        struct exec_call c;

        create(t, id);
        t->store->hold = true;
        exec_begin(t, id, &what, &c);
        for (unsigned i = 0; i < 100; i++)
                cay_loop_round(t->loop, 1);
        fake_store_let_go(t->store);
        wait_for(t, c.done);
        /* How soon that is depends on the machine. */
        cay_table_find(t->service, id)->execs->fresh_until_ms = UINT64_MAX;
        for (unsigned i = 0; i < 10; i++)
                cay_loop_round(t->loop, 1);
        assert_int_equal(watch(t, id, c.call.id, 0, true, &w), CAY_OK);
        wait_for(t, w.over);
        check_pattern(&w, 0, 3000000);
        watcher_done(&w);
        exec(t, id, c.call.id, "count", "3000000", NULL); /* nobody comes: it goes on without */
        wait_end(t, id, c.call.id);
}

static void input_and_its_end(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "wait", NULL };
        struct cay_exec_new what = { .argv = argv };
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_exec_input a = { .bytes = "abc", .len = 3 }, b = { .bytes = "def", .len = 3, .eof = true },
                              late = { .bytes = "x", .len = 1 };
        struct exec_call c;
        char text[20];

        create(t, id);
        exec(t, id, x, "cat", NULL);
        cay_job_init(&a.job, NULL);
        cay_job_init(&b.job, NULL);
        cay_job_init(&late.job, NULL);
        cay_service_exec_input(t->service, &me, id, x, &a);
        cay_service_exec_input(t->service, &me, id, x, &b);
        cay_service_exec_input(t->service, &me, id, x, &late);
        wait_for(t, late.job.done && !late.job.queued);
        assert_int_equal(a.job.err.code, CAY_OK);
        assert_int_equal(b.job.err.code, CAY_OK);
        assert_int_equal(late.job.err.code, CAY_CONFLICT);
        get_output(t, id, x, text, sizeof(text));
        assert_string_equal(text, "abcdef");
        assert_int_equal(try_exec(t, id, &what, &c), CAY_OK);
        cay_job_init(&a.job, NULL);
        cay_service_exec_input(t->service, &me, id, c.call.id, &a);
        wait_for(t, a.job.done && !a.job.queued);
        assert_int_equal(a.job.err.code, CAY_CONFLICT); /* no stdin */
}

static enum cay_code give(struct test *t, const char *id, const char *x, const char *text, uint64_t offset,
                          bool eof, uint64_t *ret_next)
{
        struct cay_exec_input in = {
                .bytes = text, .len = strlen(text), .eof = eof, .has_offset = true, .offset = offset
        };

        cay_job_init(&in.job, NULL);
        cay_service_exec_input(t->service, &me, id, x, &in);
        wait_for(t, in.job.done && !in.job.queued);
        *ret_next = in.next;
        return in.job.err.code;
}

/* A client that has had no answer sends it again: the command reads every byte once. */
static void input_at_an_offset_is_applied_once(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1], text[20];
        uint64_t next;

        create(t, id);
        exec(t, id, x, "cat", NULL);
        assert_int_equal(give(t, id, x, "abc", 0, false, &next), CAY_OK);
        assert_int_equal(next, 3);
        assert_int_equal(give(t, id, x, "abc", 0, false, &next), CAY_OK); /* all of it is there */
        assert_int_equal(next, 3);
        assert_int_equal(give(t, id, x, "bcde", 1, false, &next), CAY_OK); /* a part is */
        assert_int_equal(next, 5);
        assert_int_equal(give(t, id, x, "x", 6, false, &next), CAY_CONFLICT); /* a hole */
        assert_int_equal(give(t, id, x, "f", 5, true, &next), CAY_OK);
        assert_int_equal(next, 6);
        get_output(t, id, x, text, sizeof(text));
        assert_string_equal(text, "abcdef");
}

static void input_waits_for_room(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        uint8_t *bytes = calloc(1, 400000);
        struct cay_exec_input in[CAY_SERVICE_EXECS_KEPT], more;
        struct cay_error err = { 0 };

        create(t, id);
        exec(t, id, x, "wait", NULL); /* reads nothing, but its init takes a window */
        fake_plan.script.mute = true;
        for (unsigned i = 0; i < 16; i++) {
                in[i] = (struct cay_exec_input){ .bytes = bytes, .len = 400000 };
                cay_job_init(&in[i].job, NULL);
                cay_service_exec_input(t->service, &me, id, x, &in[i]);
        }
        more = in[0];
        cay_job_init(&more.job, NULL);
        cay_service_exec_input(t->service, &me, id, x, &more);
        settle(t);
        assert_false(in[0].job.done);
        assert_true(more.job.done);
        assert_int_equal(more.job.err.code, CAY_LIMIT);
        cay_exec_input_cancel(&in[1]);
        fake_plan.script.mute = false;
        /* The stream is of no use after what was swallowed: a new one goes on where the old one was. */
        fake_engine_cut_link(t->engine, id);
        wait_for(t, in[0].job.done && !in[0].job.queued);
        assert_int_equal(in[0].job.err.code, CAY_OK);
        assert_false(in[1].job.done);
        assert_int_equal(cay_service_exec_kill(t->service, &me, id, x, &err), 0);
        wait_end(t, id, x);
        settle(t);
        for (unsigned i = 2; i < 16; i++)
                assert_true(in[i].job.done);
        free(bytes);
}

static void a_lost_link_loses_nothing(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_service_health health;
        struct watcher w = { 0 };

        fake_plan.script.lose_after_bytes = 70000;
        fake_plan.script.lose_times = 7;
        create(t, id);
        exec(t, id, x, "count", "2000000", NULL);
        assert_int_equal(watch(t, id, x, 0, true, &w), CAY_OK);
        wait_for(t, w.over);
        check_pattern(&w, 0, 2000000);
        cay_service_health(t->service, &health);
        assert_int_equal(health.relinks, 7);
        watcher_done(&w);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
}

static void a_box_that_goes_takes_its_commands(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct watcher w = { 0 };
        struct cay_exec_view view;

        for (unsigned told = 0; told < 2; told++) {
                create(t, id);
                exec(t, id, x, "wait", NULL);
                assert_int_equal(watch(t, id, x, 0, true, &w), CAY_OK);
                fake_engine_vanish(t->engine, id, told);
                wait_for(t, w.over);
                cay_exec_watcher_view(&w.w, &view);
                assert_int_equal(view.cause, CAY_CAUSE_SANDBOX_GONE);
                assert_int_equal(view.exit_code, -1);
                watcher_done(&w);
                assert_int_equal(look(t, id).state, CAY_STATE_ERROR);
                assert_int_equal(look(t, id).cause, CAY_CAUSE_SANDBOX_GONE);
                assert_string_equal(record(t, id)->state, "error");
                assert_string_equal(
                        ((const struct cay_store_exec *)fake_store_find(t->store, CAY_STORE_EXEC, x))->cause,
                        "sandbox_gone");
                assert_int_equal(start(t, id), CAY_OK); /* a fresh box */
                exec(t, id, x, "exit", "0", NULL);
                wait_end(t, id, x);
                assert_int_equal(change(t, destroy, id), CAY_OK);
        }
}

static void hostile_ends(void **state)
{
        struct test *t = *state;
        struct cay_error err = { 0 };
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];

        create(t, id);
        fake_plan.script.impossible_end = true;
        exec(t, id, x, "exit", "0", NULL);
        assert_int_equal(wait_end(t, id, x).cause, CAY_CAUSE_SANDBOX_GONE);
        fake_plan.script.impossible_end = false;
        exec(t, id, x, "exit", "0", NULL);
        assert_int_equal(wait_end(t, id, x).cause, CAY_CAUSE_EXITED);
        /*
         * Rubbish in place of the end: the stream is dropped, and the next one brings the same; the command
         * is not lost for it.
         */
        exec(t, id, x, "wait", NULL);
        fake_plan.script.garbage = true;
        assert_int_equal(cay_service_exec_signal(t->service, &me, id, x, SIGHUP, &err), 0);
        for (unsigned i = 0; i < 50; i++)
                cay_loop_round(t->loop, 5);
        fake_plan.script.garbage = false;
        fake_engine_cut_link(t->engine, id);
        assert_int_equal(wait_end(t, id, x).signal, SIGHUP);
}

static void init_refuses_for_its_own_reasons(void **state)
{
        struct test *t = *state;
        const char *argv[] = { "exit", "0", NULL };
        struct cay_exec_new what = { .argv = argv };
        char id[CAY_NAME_MAX + 1];
        struct exec_call c;

        create(t, id);
        fake_plan.script.end_code = CAY_LIMIT;
        assert_int_equal(try_exec(t, id, &what, &c), CAY_LIMIT);
        settle(t);
        assert_int_equal(look(t, id).execs_known, 0);
        assert_int_equal(fake_store_count(t->store, CAY_STORE_EXEC), 0);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
}

static void old_ones_are_forgotten(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], first[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_exec_view view;
        struct cay_error err = { 0 };

        create(t, id);
        exec(t, id, first, "exit", "0", NULL);
        wait_end(t, id, first);
        for (unsigned i = 0; i < CAY_SERVICE_EXECS_KEPT + CAY_SERVICE_EXECS_SPARE; i++) {
                assert_int_equal(cay_service_exec_get(t->service, &me, id, first, &view, &err), 0);
                exec(t, id, x, "exit", "0", NULL);
                wait_end(t, id, x);
        }
        wait_for(t, look(t, id).execs_known == CAY_SERVICE_EXECS_KEPT);
        assert_int_equal(cay_service_exec_get(t->service, &me, id, first, &view, &err), -1);
        assert_int_equal(count_files(t, false), CAY_SERVICE_EXECS_KEPT);
        assert_int_equal(fake_store_count(t->store, CAY_STORE_EXEC), CAY_SERVICE_EXECS_KEPT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define SMALL(name) cmocka_unit_test_setup_teardown(name, setup_small, teardown)
                TEST(runs_and_ends),
                TEST(lines_go_to_a_shell),
                TEST(environment_folder_and_user),
                TEST(bad_requests),
                TEST(users_can_be_ruled_out),
                TEST(what_is_killed_before_it_starts_does_not_run),
                TEST(a_failed_commit_ends_the_command),
                TEST(nothing_is_told_before_it_is_stored),
                TEST(an_end_that_cannot_be_stored_is_tried_again),
                TEST(claims_of_commands),
                TEST(output_limits),
                TEST(memory_is_told_apart),
                TEST(figures_are_asked_for_once),
                TEST(kills_and_their_causes),
                TEST(deadlines_are_held_from_outside),
                TEST(a_terminal_has_no_time_limit_of_its_own),
                TEST(a_terminal_that_was_left_ends),
                SMALL(a_slow_watcher_holds_the_command),
                TEST(an_end_before_the_start_is_stored),
                TEST(an_end_is_told_once),
                TEST(one_that_was_not_sent_leaves_nothing),
                TEST(streams_that_alternate_in_tiny_pieces),
                SMALL(a_watcher_that_left_can_come_back),
                SMALL(without_a_watcher_the_oldest_goes),
                SMALL(a_watcher_that_does_not_hold_is_overtaken),
                TEST(a_full_disk_holds_the_command),
                SMALL(the_first_watcher_misses_nothing),
                TEST(input_and_its_end),
                TEST(input_at_an_offset_is_applied_once),
                TEST(input_waits_for_room),
                TEST(a_lost_link_loses_nothing),
                TEST(a_box_that_goes_takes_its_commands),
                TEST(hostile_ends),
                TEST(init_refuses_for_its_own_reasons),
                TEST(old_ones_are_forgotten),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
