/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run-once flow over the fake engine: what goes well, and everything that an engine or an init can do to
 * it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "foundation/base/buf.h"
#include "foundation/base/clock.h"
#include "fake/fake_engine.h"
#include "libcay/run.h"
#include "foundation/loop/loop.h"
#include "patience.h"

struct subject {
        struct cay_loop *loop;
        struct cay_run *run;
        struct cay_buf out[2];
        struct cay_run_result result;
        struct cay_error err;
        bool done;
        unsigned started;
        size_t take_most; /* per call; 0: nothing is taken, SIZE_MAX: all */
        bool breaks;      /* with the first output the engine goes */
        int refuse_start;
};

static struct cay_run_options options(const char *const *argv)
{
        struct cay_run_options o = {
                .spec = { .rootfs_fd = -1, .workspace_fd = -1, .limits = cay_limits_default_run() },
                .engine_ops = &cay_engine_fake_ops,
                .argv = argv,
                .stdin_fd = -1,
                .program_dir = "/nowhere",
        };

        return o;
}

static size_t on_output(void *ctx, int stream, const void *bytes, size_t len)
{
        struct subject *s = ctx;

        if (s->breaks) {
                s->breaks = false;
                fake_engine_break();
        }
        if (len > s->take_most)
                len = s->take_most;
        assert_int_equal(cay_buf_put(&s->out[stream - 1], bytes, len), 0);
        return len;
}

static int on_started(void *ctx, struct cay_error *err)
{
        struct subject *s = ctx;

        s->started++;
        return s->refuse_start ? cay_fail(err, CAY_DENIED, "not like this") : 0;
}

static void on_done(void *ctx, const struct cay_run_result *result, const struct cay_error *err)
{
        struct subject *s = ctx;

        assert_false(s->done);
        s->done = true;
        s->result = *result;
        s->err = *err;
}

static int setup(void **state)
{
        static struct subject s;

        s = (struct subject){ .loop = cay_loop_new(), .take_most = SIZE_MAX };
        cay_buf_init(&s.out[0], 64u << 20);
        cay_buf_init(&s.out[1], 64u << 20);
        fake_plan_reset();
        *state = &s;
        return s.loop != NULL ? 0 : -1;
}

static int teardown(void **state)
{
        struct subject *s = *state;

        cay_run_free(s->run);
        cay_loop_round(s->loop, 0); /* jobs that closing finished */
        cay_buf_done(&s->out[0]);
        cay_buf_done(&s->out[1]);
        cay_loop_free(s->loop);
        return fake_engine_boxes() == 0 ? 0 : -1; /* whatever happened, nothing is left */
}

static void begin(struct subject *s, struct cay_run_options *o)
{
        o->on_output = on_output;
        o->on_started = on_started;
        o->on_done = on_done;
        o->ctx = s;
        if (cay_run_begin(s->loop, o, &s->run, &s->err) < 0)
                fail_msg("%s", s->err.msg);
        assert_int_equal(s->started, 1);
}

/* Both sides are in this process: after so many rounds everything is done that needs no clock. */
static void settle(struct subject *s)
{
        for (unsigned i = 0; i < 200 && !s->done; i++)
                assert_int_equal(cay_loop_round(s->loop, 0), 0);
}

static void finish(struct subject *s)
{
        uint64_t end = cay_clock_ms() + test_patience(10000);

        while (!s->done && cay_clock_ms() < end)
                assert_int_equal(cay_loop_round(s->loop, 5), 0);
        assert_true(s->done);
}

static void run(struct subject *s, struct cay_run_options *o)
{
        begin(s, o);
        finish(s);
}

static void assert_cause(const struct subject *s, enum cay_cause cause, int status)
{
        assert_int_equal(s->err.code, CAY_OK);
        assert_string_equal(cay_cause_word(s->result.verdict.cause), cay_cause_word(cause));
        assert_int_equal(s->result.status, status);
}

#define COMMAND(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void exit_codes_come_through(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("exit", "7"));

        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 7);
        assert_int_equal(s->result.exit_code, 7);
        assert_true(s->result.started);
        assert_true(cay_id_is_made(s->result.id));
        assert_true(s->result.start_ns <= s->result.exec_ns && s->result.exec_ns <= s->result.end_ns &&
                    s->result.end_ns <= s->result.gone_ns);
}

static void streams_stay_apart(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("echo", "hello"));

        run(s, &o);
        assert_string_equal(cay_buf_data(&s->out[0]), "hello\n");
        assert_int_equal(s->out[1].len, 0);
        assert_int_equal(s->result.out_bytes, 6);
}

static void stderr_is_stderr(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("warn", "careful"));

        run(s, &o);
        assert_string_equal(cay_buf_data(&s->out[1]), "careful\n");
        assert_int_equal(s->out[0].len, 0);
        assert_int_equal(s->result.err_bytes, 8);
}

static void a_link_that_comes_late_is_fine(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("echo", "late"));

        fake_plan.late_link = true;
        fake_plan.create_ms = 20;
        run(s, &o);
        assert_string_equal(cay_buf_data(&s->out[0]), "late\n");
}

static void the_command_may_end_before_create_is_answered(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("echo", "quick"));

        fake_plan.create_ms = 50;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 0);
        assert_string_equal(cay_buf_data(&s->out[0]), "quick\n");
}

static void assert_pattern(const struct cay_buf *b, uint64_t len)
{
        assert_int_equal(b->len, len);
        for (uint64_t i = 0; i < len; i++)
                if ((uint8_t)cay_buf_data(b)[i] != fake_pattern(i))
                        fail_msg("byte %llu differs", (unsigned long long)i);
}

static void a_slow_taker_loses_nothing_and_bounds_memory(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("count", "4000000"));

        s->take_most = 0;
        begin(s, &o);
        settle(s);
        assert_false(s->done);
        assert_int_equal(s->out[0].len, 0);
        s->take_most = 1000;
        for (unsigned i = 0; i < 100000 && !s->done; i++) {
                cay_run_continue(s->run, 1);
                assert_int_equal(cay_loop_round(s->loop, 0), 0);
        }
        finish(s);
        assert_cause(s, CAY_CAUSE_EXITED, 0);
        assert_pattern(&s->out[0], 4000000);
        assert_int_equal(s->result.cut_bytes, 0);
}

static void output_is_there_after_the_end_too(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("echo", "held"));

        s->take_most = 0;
        begin(s, &o);
        settle(s);
        assert_false(s->done); /* the box is gone, its output is not */
        assert_int_equal(fake_engine_boxes(), 0);
        s->take_most = SIZE_MAX;
        cay_run_continue(s->run, 1);
        finish(s);
        assert_string_equal(cay_buf_data(&s->out[0]), "held\n");
}

static void wall_time_with_a_stalled_taker_keeps_what_was_said(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("count", "900000"));
        uint64_t end = cay_clock_ms() + test_patience(10000);

        /* More than a window: without draining, the END would wait for the taker for ever. */
        o.spec.limits.wall_ms = 1000;
        fake_plan.script.wall_early_ms = 100;
        s->take_most = 0;
        begin(s, &o);
        settle(s);
        while (fake_engine_boxes() > 0 && cay_clock_ms() < end)
                cay_loop_round(s->loop, 5);
        assert_int_equal(fake_engine_boxes(), 0);
        assert_false(s->done);
        s->take_most = SIZE_MAX;
        cay_run_continue(s->run, 1);
        finish(s);
        assert_cause(s, CAY_CAUSE_WALL_TIME, 124);
        assert_true(s->out[0].len >= 256 * 1024);
        assert_pattern(&s->out[0], s->out[0].len);
}

static void input_from(struct subject *s, int fd, const char *expect)
{
        struct cay_run_options o = options(COMMAND("cat"));

        o.stdin_fd = fd;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 0);
        assert_string_equal(cay_buf_data(&s->out[0]), expect);
}

static void input_from_a_pipe(void **state)
{
        int fds[2];

        assert_int_equal(pipe(fds), 0);
        assert_int_equal(write(fds[1], "piped", 5), 5);
        close(fds[1]);
        input_from(*state, fds[0], "piped");
        close(fds[0]);
}

static void input_from_a_file(void **state)
{
        int fd = memfd_create("input", MFD_CLOEXEC);

        assert_int_equal(write(fd, "a file", 6), 6);
        lseek(fd, 0, SEEK_SET);
        input_from(*state, fd, "a file");
        close(fd);
}

static void input_larger_than_a_window(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("exit", "0"));
        int fd = memfd_create("input", MFD_CLOEXEC);

        /* Nobody reads it; the run ends all the same. */
        assert_int_equal(ftruncate(fd, 10 << 20), 0);
        o.stdin_fd = fd;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 0);
        close(fd);
}

static void input_that_stays_open_holds_nothing_up(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("exit", "4"));
        int fds[2];

        assert_int_equal(pipe(fds), 0);
        o.stdin_fd = fds[0];
        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 4);
        close(fds[0]);
        close(fds[1]);
}

static void not_found_and_not_executable(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("no-such-thing"));

        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 127);
        assert_false(s->result.started);
        assert_non_null(strstr(s->result.verdict.text, "not started: no-such-thing"));
}

static void not_executable(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("file"));

        fake_plan.script.end_code = CAY_DENIED;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 126);
}

static void a_start_that_fails_for_our_reasons_is_our_failure(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("exit", "0"));

        fake_plan.script.end_code = CAY_LIMIT;
        run(s, &o);
        assert_int_equal(s->err.code, CAY_LIMIT);
}

static void wall_time_by_init(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("wait"));

        o.spec.limits.wall_ms = 100;
        fake_plan.script.wall_early_ms = 50;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_WALL_TIME, 124);
        assert_int_equal(s->result.signal, SIGKILL);
}

static void wall_time_from_outside(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("wait"));

        o.spec.limits.wall_ms = 50;
        fake_plan.script.never_end = true;
        run(s, &o); /* would never be over */
        assert_cause(s, CAY_CAUSE_WALL_TIME, 124);
}

static void a_signal_to_us_ends_the_run(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("wait"));

        begin(s, &o);
        settle(s);
        cay_run_stop(s->run, SIGINT);
        cay_run_stop(s->run, SIGTERM); /* the first one counts */
        finish(s);
        assert_cause(s, CAY_CAUSE_KILLED, 130);
}

static void a_signal_while_the_box_is_being_made(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("wait"));

        fake_plan.create_ms = 50;
        begin(s, &o);
        cay_run_stop(s->run, SIGTERM);
        finish(s);
        assert_cause(s, CAY_CAUSE_KILLED, 143);
}

static void a_signal_drops_output_that_nobody_takes(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("count", "5000000"));

        s->take_most = 0;
        begin(s, &o);
        settle(s);
        cay_run_stop(s->run, SIGINT);
        finish(s);
        assert_cause(s, CAY_CAUSE_KILLED, 130);
        assert_true(s->result.cut_bytes > 0);
}

static void signals_reach_the_command(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("wait"));

        begin(s, &o);
        settle(s);
        cay_run_signal(s->run, SIGUSR1);
        finish(s);
        assert_cause(s, CAY_CAUSE_SIGNALLED, 128 + SIGUSR1);
        cay_run_signal(s->run, SIGUSR1); /* too late, and fine */
        cay_run_resize(s->run, 10, 10);
        cay_run_stop(s->run, SIGINT);
}

static void a_box_that_vanishes(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("echo", "last words"));

        fake_plan.script.vanish = true;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_SANDBOX_GONE, 125);
        assert_string_equal(cay_buf_data(&s->out[0]), "last words\n");
}

static void a_box_that_vanishes_for_memory(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("echo", "x"));

        fake_plan.script.vanish = true;
        fake_plan.stats.oom_kills = 1;
        fake_plan.stats.memory_peak_bytes = 256u << 20;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_MEMORY, 137);
        assert_string_equal(s->result.verdict.text, "memory limit of 256 MiB reached (peak 256 MiB)");
        assert_int_equal(s->result.memory_peak_bytes, 256u << 20);
}

static void a_box_that_says_gibberish(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("echo", "x"));

        fake_plan.script.garbage = true;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_SANDBOX_GONE, 125);
}

static void an_end_that_cannot_be(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("echo", "x"));

        fake_plan.script.impossible_end = true;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_SANDBOX_GONE, 125);
}

static void a_box_that_goes_by_itself(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("wait"));

        fake_plan.gone_after_ms = 30;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_SANDBOX_GONE, 125);
}

static void an_engine_that_goes(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("echo", "x"));

        fake_plan.script.vanish = true;
        fake_plan.destroy_fails = CAY_UNAVAILABLE;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_ENGINE_LOST, 125);
}

/* The command is there before the engine has said that the box is, and then the engine goes. */
static void an_engine_that_goes_before_it_answers(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("echo", "up"));

        fake_plan.create_hangs = true;
        fake_plan.script.vanish = true;
        begin(s, &o);
        settle(s);
        assert_false(s->done);
        fake_engine_break();
        finish(s);
        assert_cause(s, CAY_CAUSE_ENGINE_LOST, 125);
        assert_string_equal(cay_buf_data(&s->out[0]), "up\n");
        assert_true(s->result.started);
}

/* More frames than one round reads are in the link when the engine goes: they are read to the end. */
static void last_words_outlive_an_engine_that_did_not_answer(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("alternate", "1500"));

        fake_plan.create_hangs = true;
        fake_plan.script.never_end = true;
        s->breaks = true;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_ENGINE_LOST, 125);
        assert_int_equal(s->out[0].len + s->out[1].len, 1500);
}

static void an_engine_that_goes_before_anything_ran(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("echo", "up"));

        fake_plan.create_hangs = true;
        fake_plan.script.never_open = true;
        begin(s, &o);
        settle(s);
        fake_engine_break();
        finish(s);
        assert_int_equal(s->err.code, CAY_UNAVAILABLE);
        assert_false(s->result.started);
}

static void a_clean_up_that_fails_is_told(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("exit", "0"));

        fake_plan.destroy_fails = CAY_INTERNAL;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 125);
        assert_int_equal(s->result.exit_code, 0);
        assert_int_equal(s->result.cleanup.code, CAY_INTERNAL);
}

static void a_slow_destroy_is_waited_for(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("exit", "0"));

        fake_plan.destroy_ms = 60;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 0);
        assert_true(s->result.gone_ns - s->result.end_ns >= 50000000);
}

static void output_beyond_the_limit_of_an_init_that_does_not_care(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("count", "1000000"));

        o.spec.limits.output_bytes = 100000;
        fake_plan.script.ignore_limits = true;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_OUTPUT, 137);
        assert_pattern(&s->out[0], 100000);
}

static void output_limit_by_init(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("count", "1000000"));

        o.spec.limits.output_bytes = 5000;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_OUTPUT, 137);
        assert_pattern(&s->out[0], 5000);
}

static void output_cut(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("count", "1000000"));

        o.spec.limits.output_bytes = 5000;
        o.spec.limits.output_cut = true;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 0);
        assert_pattern(&s->out[0], 5000);
        assert_int_equal(s->result.cut_bytes, 995000);
        assert_true(s->result.verdict.hints & 1u << CAY_CAUSE_OUTPUT);
}

static void output_cut_with_an_init_that_does_not_care(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("count", "1000000"));

        o.spec.limits.output_bytes = 5000;
        o.spec.limits.output_cut = true;
        fake_plan.script.ignore_limits = true;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 0);
        assert_pattern(&s->out[0], 5000);
        assert_int_equal(s->result.cut_bytes, 995000);
}

static void figures_make_the_cause(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("exit", "1"));

        fake_plan.stats.pids_refused = 3;
        fake_plan.script.end.disk_full = 2;
        fake_plan.script.end.last_denied = 165;
        fake_plan.script.end.denied_count = 1;
        fake_plan.script.end.denied[0] = (struct cay_box_denied){ .nr = 165, .count = 9 };
        run(s, &o);
        assert_cause(s, CAY_CAUSE_PIDS, 1);
        assert_int_equal(s->result.verdict.hints, 1u << CAY_CAUSE_DISK | 1u << CAY_CAUSE_SYSCALL);
        assert_int_equal(s->result.denied_count, 9);
        assert_int_equal(s->result.denied[0].nr, 165);
}

static void users(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("whoami"));

        o.user = "builder";
        fake_plan.script.passwd = "root:x:0:0:::\nbuilder:x:77:78::/:\n";
        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 0);
        assert_string_equal(cay_buf_data(&s->out[0]), "77:78");
}

static void a_user_that_is_not_there(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("whoami"));

        o.user = "nobodyhere";
        fake_plan.script.passwd = "root:x:0:0:::\n";
        run(s, &o);
        assert_int_equal(s->err.code, CAY_NOT_FOUND);
        assert_non_null(strstr(s->err.msg, "nobodyhere"));
}

static void no_passwd_at_all(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("whoami"));

        o.user = "anyone";
        run(s, &o);
        assert_int_equal(s->err.code, CAY_NOT_FOUND);
}

static void environment(const char *name, const char *expect, const char *user, const char *const *env,
                        bool tty)
{
        struct subject s = { .loop = cay_loop_new(), .take_most = SIZE_MAX };
        struct cay_run_options o = options(COMMAND("env", name));

        cay_buf_init(&s.out[0], 1 << 20);
        o.env = env;
        o.tty = tty;
        o.user = user;
        o.spec.options.read_only = user != NULL && strcmp(user, "sandbox") == 0;
        run(&s, &o);
        assert_string_equal(cay_buf_data(&s.out[0]), expect);
        cay_run_free(s.run);
        cay_buf_done(&s.out[0]);
        cay_loop_free(s.loop);
}

static void environments(void **state)
{
        environment("HOME", "/home/sandbox", NULL, NULL, false);
        environment("HOME", "/tmp", "sandbox", NULL, false); /* with a read-only root */
        environment("HOME", "/root", "root", NULL, false);
        environment("HOME", "/tmp", "33", NULL, false);
        environment("USER", "sandbox", NULL, NULL, false);
        environment("USER", "", "33", NULL, false);
        environment("LANG", "C.UTF-8", NULL, NULL, false);
        environment("LANG", "de", NULL, COMMAND("LANG=de"), false);
        environment("TERM", "", NULL, NULL, false);
        environment("TERM", "xterm-256color", NULL, NULL, true);
        environment("MINE", "a=b", NULL, COMMAND("X=1", "MINE=a=b"), false);
        environment("SECRET_OF_THE_CALLER", "", NULL, NULL, false);
}

static void refused(struct subject *s, struct cay_run_options *o, enum cay_code code, const char *part)
{
        struct cay_error err = { 0 };

        assert_int_equal(cay_run_begin(s->loop, o, &s->run, &err), -1);
        if (err.code != code || strstr(err.msg, part) == NULL)
                fail_msg("%s: %s", cay_code_word(err.code), err.msg);
        assert_null(s->run);
        assert_int_equal(fake_engine_creates(), 0); /* nothing was made */
}

static void mistakes_are_refused_before_anything_is_made(void **state)
{
        struct subject *s = *state;
        struct cay_run_options good = options(COMMAND("exit", "0")), o;
        char *big = malloc(300000);
        const char *const *many[2];

        o = good;
        o.argv = COMMAND("");
        refused(s, &o, CAY_INVALID, "no command");
        memset(big, 'x', 299999);
        big[299999] = '\0';
        many[0] = COMMAND("echo", big);
        o.argv = many[0];
        refused(s, &o, CAY_INVALID, "too long");
        free(big);
        o = good;
        o.env = COMMAND("NOVALUE");
        refused(s, &o, CAY_INVALID, "NAME=VALUE");
        o = good;
        o.cwd = "relative";
        refused(s, &o, CAY_INVALID, "absolute");
        o = good;
        o.user = "a b";
        refused(s, &o, CAY_INVALID, "is no user");
        o = good;
        o.spec.limits.memory_bytes = 5;
        refused(s, &o, CAY_INVALID, "memory");
        o = good;
        memcpy(o.spec.id, "Bad Id", 7);
        refused(s, &o, CAY_INVALID, "is not a name");
        o = good;
        o.engine_ops = NULL;
        o.engine = "imaginary";
        refused(s, &o, CAY_INVALID, "no engine 'imaginary'");
        o = good;
        fake_plan.open_fails = CAY_UNAVAILABLE;
        refused(s, &o, CAY_UNAVAILABLE, "open");
        o = good;
        o.engine_ops = NULL;
        o.engine = "process";
        o.user = "root";
        refused(s, &o, CAY_UNSUPPORTED, "another user");
}

static void a_create_that_fails(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("exit", "0"));

        fake_plan.create_fails = CAY_UNSUPPORTED;
        run(s, &o);
        assert_int_equal(s->err.code, CAY_UNSUPPORTED);
        assert_true(s->result.id[0] != '\0');
}

/* Nothing takes native's place by itself, least of all what does not isolate. */
static void auto_says_what_else_there_is(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("exit", "0"));

        o.engine = "auto";
        fake_plan.open_fails = CAY_UNAVAILABLE;
        refused(s, &o, CAY_UNAVAILABLE, "By name: docker, process (no isolation)");
        fake_plan.open_fails = CAY_OK;
        fake_plan.create_fails = CAY_UNSUPPORTED;
        run(s, &o);
        assert_int_equal(s->err.code, CAY_UNSUPPORTED);
        assert_non_null(strstr(s->err.msg, "auto: native does not hold: "));
        assert_non_null(strstr(s->err.msg, "By name: docker, process (no isolation)"));
}

static void auto_is_not_to_blame_for_a_full_disk(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("exit", "0"));

        o.engine = "auto";
        fake_plan.create_fails = CAY_NO_SPACE;
        run(s, &o);
        assert_int_equal(s->err.code, CAY_NO_SPACE);
        assert_null(strstr(s->err.msg, "auto"));
}

static void limits_that_cannot_be_held(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("exit", "0"));

        fake_plan.cannot_hold = CAY_LIMIT_BIT(memory_bytes);
        o.spec.may_skip = CAY_LIMIT_BIT(memory_bytes);
        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 0);
        assert_int_equal(s->result.skipped, CAY_LIMIT_BIT(memory_bytes));
}

static void a_start_that_the_caller_refuses(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("wait"));

        s->refuse_start = 1;
        run(s, &o);
        assert_int_equal(s->err.code, CAY_DENIED);
}

static void giving_up_in_the_middle(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("wait"));

        begin(s, &o);
        settle(s);
        cay_run_free(cay_take(s->run));
        assert_int_equal(fake_engine_boxes(), 0);
        assert_false(s->done);
}

static void giving_up_while_the_engine_hangs(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("wait"));

        fake_plan.create_hangs = true;
        begin(s, &o);
        settle(s);
        cay_run_free(cay_take(s->run)); /* the job's memory outlives the run until the engine lets go of it */
        cay_loop_round(s->loop, 0);
        assert_false(s->done);
}

static size_t count_bytes(void *ctx, int stream, const void *bytes, size_t len)
{
        *(size_t *)ctx += len;
        return len;
}

static void once(void **state)
{
        struct cay_run_options o = options(COMMAND("count", "100000"));
        struct cay_run_result r;
        struct cay_error err = { 0 };
        size_t total = 0;

        o.on_output = count_bytes;
        o.ctx = &total;
        assert_int_equal(cay_run_once(&o, &r, &err), 0);
        assert_int_equal(r.status, 0);
        assert_int_equal(total, 100000);
        fake_plan.create_fails = CAY_NO_SPACE;
        assert_int_equal(cay_run_once(&o, &r, &err), -1);
        assert_int_equal(err.code, CAY_NO_SPACE);
}

static void count_step(void *ctx, const char *who, const char *step, uint64_t ns)
{
        uint64_t *last = ctx;

        assert_string_equal(who, "cli");
        assert_true(ns >= *last);
        *last = ns + 1 - 1;
}

static void steps_are_in_order(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = options(COMMAND("exit", "0"));
        uint64_t last = 0;

        run(s, &o);
        cay_run_trace(s->run, count_step, &last);
        assert_true(last > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* --- A copy-on-write workspace --- */

static struct cay_run_options cow_options(const char *const *argv, int fd)
{
        struct cay_run_options o = options(argv);

        o.spec.workspace_fd = 0;
        o.spec.workspace_cow = true;
        o.changes_fd = fd;
        fake_plan.script.changes.bytes = 700000; /* more than a window */
        fake_plan.script.changes.entries = 3;
        fake_plan.script.changes.left_out = 2;
        return o;
}

static int changes_file(void)
{
        int fd = memfd_create("changes", MFD_CLOEXEC);

        assert_true(fd >= 0);
        return fd;
}

static void assert_changes(const struct subject *s, int fd)
{
        uint8_t *mem = malloc(700000);

        assert_int_equal(s->result.changes_error.code, CAY_OK);
        assert_int_equal(s->result.changes_bytes, 700000);
        assert_int_equal(s->result.changes_entries, 3);
        assert_int_equal(s->result.changes_left_out, 2);
        assert_int_equal(lseek(fd, 0, SEEK_END), 700000);
        assert_int_equal(pread(fd, mem, 700000, 0), 700000);
        for (unsigned i = 0; i < 700000; i++)
                if (mem[i] != fake_pattern(i))
                        fail_msg("byte %u differs", i);
        free(mem);
        close(fd);
}

static void assert_no_changes(const struct subject *s, int fd, const char *why)
{
        assert_int_equal(s->result.changes_entries, 0);
        assert_true(s->result.changes_error.code != CAY_OK);
        if (strstr(s->result.changes_error.msg, why) == NULL)
                fail_msg("'%s' does not say '%s'", s->result.changes_error.msg, why);
        close(fd);
}

static void changes_come_after_the_command(void **state)
{
        struct subject *s = *state;
        int fd = changes_file();
        struct cay_run_options o = cow_options(COMMAND("echo", "hello"), fd);

        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 0);
        assert_string_equal(cay_buf_data(&s->out[0]), "hello\n");
        assert_changes(s, fd);
}

static void changes_come_also_of_what_failed(void **state)
{
        struct subject *s = *state;
        int fd = changes_file();
        struct cay_run_options o = cow_options(COMMAND("exit", "3"), fd);

        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 3);
        assert_changes(s, fd);
}

static void changes_come_also_of_what_took_too_long(void **state)
{
        struct subject *s = *state;
        int fd = changes_file();
        struct cay_run_options o = cow_options(COMMAND("wait"), fd);

        o.spec.limits.wall_ms = 100;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_WALL_TIME, 124);
        assert_changes(s, fd);
}

static void changes_come_also_of_what_was_stopped(void **state)
{
        struct subject *s = *state;
        int fd = changes_file();
        struct cay_run_options o = cow_options(COMMAND("wait"), fd);

        begin(s, &o);
        settle(s);
        cay_run_stop(s->run, SIGINT);
        finish(s);
        assert_cause(s, CAY_CAUSE_KILLED, 130);
        assert_changes(s, fd);
}

static void a_second_stop_waits_for_nothing(void **state)
{
        struct subject *s = *state;
        int fd = changes_file();
        struct cay_run_options o = cow_options(COMMAND("wait"), fd);

        fake_plan.script.never_end = true;
        begin(s, &o);
        settle(s);
        cay_run_stop(s->run, SIGINT);
        settle(s);
        assert_false(s->done);
        cay_run_stop(s->run, SIGTERM);
        finish(s);
        assert_cause(s, CAY_CAUSE_KILLED, 143);
        assert_no_changes(s, fd, "gone before its changes");
}

static void a_stop_while_changes_come_ends_it(void **state)
{
        struct subject *s = *state;
        int fd = changes_file();
        struct cay_run_options o = cow_options(COMMAND("exit", "0"), fd);

        fake_plan.script.changes.stall = true;
        begin(s, &o);
        settle(s);
        assert_false(s->done);
        cay_run_stop(s->run, SIGINT);
        finish(s);
        assert_cause(s, CAY_CAUSE_EXITED, 0);
        assert_no_changes(s, fd, "gone before its changes");
}

static void a_command_that_did_not_start_changed_nothing(void **state)
{
        struct subject *s = *state;
        int fd = changes_file();
        struct cay_run_options o = cow_options(COMMAND("nothing"), fd);

        run(s, &o);
        assert_int_equal(s->result.status, 127);
        assert_int_equal(s->result.changes_error.code, CAY_OK);
        assert_int_equal(s->result.changes_entries, 0);
        assert_int_equal(lseek(fd, 0, SEEK_END), 0);
        close(fd);
}

static void a_box_that_dies_takes_its_changes_along(void **state)
{
        struct subject *s = *state;
        int fd = changes_file();
        struct cay_run_options o = cow_options(COMMAND("wait"), fd);

        fake_plan.gone_after_ms = 30;
        run(s, &o);
        assert_int_equal(s->result.verdict.cause, CAY_CAUSE_SANDBOX_GONE);
        assert_no_changes(s, fd, "gone before its changes");
}

static void a_link_lost_while_changes_come(void **state)
{
        struct subject *s = *state;
        int fd = changes_file();
        struct cay_run_options o = cow_options(COMMAND("exit", "5"), fd);

        fake_plan.script.changes.vanish = true;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 5); /* the command's own result stands */
        assert_no_changes(s, fd, "gone before its changes");
}

static void changes_that_are_refused(void **state)
{
        struct subject *s = *state;
        int fd = changes_file();
        struct cay_run_options o = cow_options(COMMAND("exit", "0"), fd);

        fake_plan.script.changes.code = CAY_LIMIT;
        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 0);
        assert_int_equal(s->result.changes_error.code, CAY_LIMIT);
        assert_no_changes(s, fd, "no such luck?"); /* made printable */
}

static void changes_that_are_not_what_was_said(void **state)
{
        struct subject *s = *state;
        int fd = changes_file();
        struct cay_run_options o = cow_options(COMMAND("exit", "0"), fd);

        fake_plan.script.changes.lie_bytes = 1;
        run(s, &o);
        assert_no_changes(s, fd, "lost on the way");
}

static void more_changes_than_there_can_be(void **state)
{
        struct subject *s = *state;
        int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
        struct cay_run_options o = cow_options(COMMAND("exit", "0"), fd);

        fake_plan.script.changes.bytes = 1ull << 40;
        fake_plan.script.changes.blank = true;
        o.spec.limits.disk_bytes = 64 << 10;
        o.spec.limits.inodes = 16;
        run(s, &o);
        assert_int_equal(s->result.changes_error.code, CAY_LIMIT);
        assert_no_changes(s, fd, "more changes than it can have");
}

static void changes_that_cannot_be_written(void **state)
{
        struct subject *s = *state;
        int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
        struct cay_run_options o = cow_options(COMMAND("exit", "0"), fd);

        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 0);
        assert_int_equal(s->result.changes_error.code, CAY_NO_SPACE);
        assert_no_changes(s, fd, "keep the changes");
}

static void nobody_has_to_want_changes(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = cow_options(COMMAND("exit", "0"), -1);

        run(s, &o);
        assert_cause(s, CAY_CAUSE_EXITED, 0);
        assert_int_equal(s->result.changes_error.code, CAY_OK);
        assert_int_equal(s->result.changes_bytes, 0);
}

static void changes_belong_to_the_sandboxs_own_user(void **state)
{
        struct subject *s = *state;
        struct cay_run_options o = cow_options(COMMAND("exit", "0"), -1);

        o.user = "root";
        assert_int_equal(cay_run_begin(s->loop, &o, &s->run, &s->err), -1);
        assert_non_null(strstr(s->err.msg, "sandbox's own user"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(exit_codes_come_through),
                TEST(streams_stay_apart),
                TEST(stderr_is_stderr),
                TEST(a_link_that_comes_late_is_fine),
                TEST(the_command_may_end_before_create_is_answered),
                TEST(a_slow_taker_loses_nothing_and_bounds_memory),
                TEST(output_is_there_after_the_end_too),
                TEST(wall_time_with_a_stalled_taker_keeps_what_was_said),
                TEST(input_from_a_pipe),
                TEST(input_from_a_file),
                TEST(input_larger_than_a_window),
                TEST(input_that_stays_open_holds_nothing_up),
                TEST(not_found_and_not_executable),
                TEST(not_executable),
                TEST(a_start_that_fails_for_our_reasons_is_our_failure),
                TEST(wall_time_by_init),
                TEST(wall_time_from_outside),
                TEST(a_signal_to_us_ends_the_run),
                TEST(a_signal_while_the_box_is_being_made),
                TEST(a_signal_drops_output_that_nobody_takes),
                TEST(signals_reach_the_command),
                TEST(a_box_that_vanishes),
                TEST(a_box_that_vanishes_for_memory),
                TEST(a_box_that_says_gibberish),
                TEST(an_end_that_cannot_be),
                TEST(a_box_that_goes_by_itself),
                TEST(an_engine_that_goes),
                TEST(an_engine_that_goes_before_it_answers),
                TEST(last_words_outlive_an_engine_that_did_not_answer),
                TEST(an_engine_that_goes_before_anything_ran),
                TEST(a_clean_up_that_fails_is_told),
                TEST(a_slow_destroy_is_waited_for),
                TEST(output_beyond_the_limit_of_an_init_that_does_not_care),
                TEST(output_limit_by_init),
                TEST(output_cut),
                TEST(output_cut_with_an_init_that_does_not_care),
                TEST(figures_make_the_cause),
                TEST(users),
                TEST(a_user_that_is_not_there),
                TEST(no_passwd_at_all),
                TEST(environments),
                TEST(mistakes_are_refused_before_anything_is_made),
                TEST(a_create_that_fails),
                TEST(auto_says_what_else_there_is),
                TEST(auto_is_not_to_blame_for_a_full_disk),
                TEST(limits_that_cannot_be_held),
                TEST(a_start_that_the_caller_refuses),
                TEST(giving_up_in_the_middle),
                TEST(giving_up_while_the_engine_hangs),
                TEST(once),
                TEST(steps_are_in_order),
                TEST(changes_come_after_the_command),
                TEST(changes_come_also_of_what_failed),
                TEST(changes_come_also_of_what_took_too_long),
                TEST(changes_come_also_of_what_was_stopped),
                TEST(a_second_stop_waits_for_nothing),
                TEST(a_stop_while_changes_come_ends_it),
                TEST(a_command_that_did_not_start_changed_nothing),
                TEST(a_box_that_dies_takes_its_changes_along),
                TEST(a_link_lost_while_changes_come),
                TEST(changes_that_are_refused),
                TEST(changes_that_are_not_what_was_said),
                TEST(more_changes_than_there_can_be),
                TEST(changes_that_cannot_be_written),
                TEST(nobody_has_to_want_changes),
                TEST(changes_belong_to_the_sandboxs_own_user),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
