/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay run`: one command in a fresh sandbox, its streams on ours, its exit status as ours.
 *
 * Theory of operation. Options are checked and folders opened first, so that a mistake costs nothing. Then
 * the run begins. Once the engine has the plan, this process gives up its privileges, because it is about to
 * parse what the box sends. Signals that would end us end the run instead, which cleans up. The terminal is
 * restored in all cases.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cay/cli/cli.h"
#include "cay/cli/programs.h"
#include "cay/cli/render_run.h"
#include "cay/cli/run_args.h"
#include "cay/cli/run_keep.h"
#include "cay/cli/sink.h"
#include "cay/cli/tty.h"
#include "engines/engine_list.h"
#include "libcay/run.h"
#include "foundation/loop/signal.h"
#include "foundation/sys/confine.h"
#include "foundation/sys/fd.h"

struct command {
        struct cay_run_args args;
        struct cay_run_keep keep;
        struct cay_loop *loop;
        struct cay_run *run;
        struct cay_signal signal;
        struct cay_sink sinks[2];
        struct cay_buf kept[2];   /* --json */
        struct cay_deferred stop; /* a sink failed: ends the run from the loop, not from inside a write */
        bool stopping;
        int stop_signal;
        struct cay_run_result result;
        struct cay_error failure;
        char program_dir[PATH_MAX];
};

static void on_stop(struct cay_deferred *d)
{
        struct command *c = cay_container_of(d, struct command, stop);

        cay_run_stop(c->run, c->stop_signal);
}

static void sink_failed(struct command *c, const struct cay_sink *s)
{
        if (c->stopping || c->run == NULL)
                return;
        c->stopping = true;
        c->stop_signal = SIGPIPE; /* as the shell would report a command killed by a signal */
        if (s->failed != -EPIPE)
                cay_fail_sys(&c->failure, CAY_INTERNAL, s->failed, "write to standard %s",
                             s == &c->sinks[0] ? "output" : "error");
        c->stop.run = on_stop;
        cay_loop_defer(c->loop, &c->stop);
}

static void on_out_failed(struct cay_sink *s)
{
        sink_failed(cay_container_of(s, struct command, sinks[0]), s);
}

static void on_err_failed(struct cay_sink *s)
{
        sink_failed(cay_container_of(s, struct command, sinks[1]), s);
}

static void on_out_room(struct cay_sink *s)
{
        cay_run_continue(cay_container_of(s, struct command, sinks[0])->run, 1);
}

static void on_err_room(struct cay_sink *s)
{
        cay_run_continue(cay_container_of(s, struct command, sinks[1])->run, 2);
}

static size_t on_output(void *ctx, int stream, const void *bytes, size_t len)
{
        struct command *c = ctx;

        if (!c->args.json)
                return cay_sink_write(&c->sinks[stream - 1], bytes, len);
        if (cay_buf_put(&c->kept[stream - 1], bytes, len) < 0 && !c->stopping) {
                c->stopping = true;
                cay_fail(&c->failure, CAY_INTERNAL, "no memory for the output");
                c->stop.run = on_stop;
                cay_loop_defer(c->loop, &c->stop);
        }
        return len;
}

/* From here on this process parses what the box sends; it needs no rights for that. */
static int on_started(void *ctx, struct cay_error *err)
{
        struct command *c = ctx;
        int r;

        if (c->args.engine != NULL && strcmp(c->args.engine, cay_engine_infos[CAY_ENGINE_process].name) == 0)
                return 0; /* must kill what it started, as the user it started it as */
        r = sys_self_confine();
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "give up privileges") : 1;
}

static void on_done(void *ctx, const struct cay_run_result *result, const struct cay_error *err)
{
        struct command *c = ctx;

        c->result = *result;
        if (c->failure.code == CAY_OK)
                c->failure = *err;
        cay_loop_stop(c->loop);
}

static void on_signal(struct cay_signal *s, int signo, int pid)
{
        struct command *c = cay_container_of(s, struct command, signal);
        unsigned rows, cols;

        if (c->run == NULL)
                return;
        if (signo != SIGWINCH)
                cay_run_stop(c->run, signo);
        else if (cay_tty_size(STDIN_FILENO, &rows, &cols))
                cay_run_resize(c->run, rows, cols);
}

/*
 * Pipes and files are passed on; a terminal only as a terminal; /dev/null is what a command without input has
 * anyway.
 */
static bool wants_stdin(const struct cay_run_args *a)
{
        struct stat st;

        if (isatty(STDIN_FILENO))
                return a->tty;
        if (fstat(STDIN_FILENO, &st) < 0)
                return false;
        return !(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
}

static int watch_signals(struct command *c, struct cay_error *err)
{
        static const int wanted[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH };
        int signals[CAY_COUNT(wanted)], r;
        unsigned count = 0;

        for (unsigned i = 0; i < CAY_COUNT(wanted) - (c->args.tty ? 0 : 1); i++) {
                struct sigaction now;

                /* nohup and scripts with background jobs ignore some on purpose */
                if (sigaction(wanted[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
                        signals[count++] = wanted[i];
        }
        r = cay_signal_open(c->loop, &c->signal, signals, count, on_signal);
        signal(SIGPIPE, SIG_IGN); /* write returns EPIPE instead */
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "watch for signals") : 0;
}

static void open_streams(struct command *c)
{
        if (c->args.json) {
                for (unsigned i = 0; i < CAY_COUNT(c->kept); i++)
                        cay_buf_init(&c->kept[i], c->args.limits.output_bytes);
                return;
        }
        cay_sink_open(c->loop, &c->sinks[0], STDOUT_FILENO);
        cay_sink_open(c->loop, &c->sinks[1], STDERR_FILENO);
        for (unsigned i = 0; i < 2 && !c->args.tty && !c->args.raw; i++)
                cay_sink_show(&c->sinks[i]);
        c->sinks[0].on_room = on_out_room;
        c->sinks[1].on_room = on_err_room;
        c->sinks[0].on_failed = on_out_failed;
        c->sinks[1].on_failed = on_err_failed;
}

static int run_sandbox(struct command *c, struct cay_error *err)
{
        struct cay_run_options o;
        int r;

        cay_run_args_fill(&c->args, &o);
        if (cay_cli_find_programs(c->program_dir, sizeof(c->program_dir), err) < 0 ||
            cay_run_keep_begin(&c->keep, &o, c->args.keep_ms, err) < 0)
                return -1;
        c->loop = cay_loop_new();
        if (c->loop == NULL)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make an event loop");
        if (watch_signals(c, err) < 0)
                return -1;
        o.program_dir = c->program_dir;
        o.on_output = on_output;
        o.on_started = on_started;
        o.on_done = on_done;
        o.ctx = c;
        if (wants_stdin(&c->args))
                o.stdin_fd = STDIN_FILENO;
        if (o.tty) {
                o.term = getenv("TERM");
                cay_tty_size(STDIN_FILENO, &o.rows, &o.cols);
        }
        open_streams(c); /* before privileges are dropped: a pipe of root's is reopened here */
        if (cay_run_begin(c->loop, &o, &c->run, err) < 0)
                return -1;
        if (o.tty && !c->args.json && isatty(STDIN_FILENO))
                cay_tty_raw(STDIN_FILENO);
        r = cay_loop_run(c->loop);
        cay_tty_restore();
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "run the event loop") : 0;
}

static int print_json(struct command *c)
{
        const char *asked = c->args.engine;
        const char *engine = asked && strcmp(asked, "auto") != 0 ? asked : cay_engine_infos[0].name;
        struct cay_buf json;
        int rc;

        cay_buf_init(&json, (c->kept[0].len + c->kept[1].len) * 8 + (1u << 20));
        rc = cay_render_run_json(&c->result, engine, &c->kept[0], &c->kept[1], &c->failure,
                                 c->keep.is_on ? &c->keep : NULL, &json);
        if (rc == 0)
                rc = sys_write_all(STDOUT_FILENO, cay_buf_data(&json), json.len);
        cay_buf_done(&json);
        return rc;
}

static int report(struct command *c)
{
        struct cay_run_result *r = &c->result;

        if (c->failure.code != CAY_OK) {
                cay_run_args_name_option(&c->failure);
                r->status = cay_cli_complain("run", &c->failure);
        } else if (!c->args.quiet)
                cay_render_run_cause(r, stderr);
        if (r->cleanup.code != CAY_OK)
                fprintf(stderr, "cay run: clean-up: %s\n", r->cleanup.msg);
        cay_run_keep_end(&c->keep, r);
        cay_render_run_changes(&c->keep, c->args.quiet, stderr);
        if (c->keep.failure.code != CAY_OK && r->status == 0)
                r->status = CAY_EXIT_FAILURE; /* the command succeeded, but its output is lost */
        if (c->args.trace && c->run != NULL)
                cay_render_run_trace(c->run, stderr);
        if (c->args.json) {
                int rc = print_json(c);

                if (rc < 0) {
                        fprintf(stderr, "cay run: print the result: %s\n", strerror(-rc));
                        r->status = CAY_EXIT_FAILURE;
                }
        }
        return r->status;
}

static int done(struct command *c)
{
        int r = cay_run_free(c->run);

        cay_sink_close(&c->sinks[0]);
        cay_sink_close(&c->sinks[1]);
        cay_buf_done(&c->kept[0]);
        cay_buf_done(&c->kept[1]);
        cay_signal_close(&c->signal);
        cay_loop_free(c->loop);
        cay_run_keep_done(&c->keep);
        cay_run_args_done(&c->args);
        return r;
}

int cay_cmd_run(int argc, char **argv)
{
        struct command c = { .result = { .exit_code = -1 } };
        struct cay_error err = { 0 };
        int status, r;

        cay_run_keep_init(&c.keep);
        r = cay_run_args_read(&c.args, argc, argv, &err);
        if (r > 0) {
                cay_run_args_print_help(stdout);
                cay_run_args_done(&c.args);
                return 0;
        }
        if (r < 0) {
                status = cay_cli_complain("run", &err);
        } else {
                if (run_sandbox(&c, &err) < 0)
                        c.failure = err;
                status = report(&c);
        }
        if (done(&c) < 0 && status != CAY_EXIT_FAILURE && status != CAY_EXIT_USAGE) {
                fprintf(stderr,
                        "cay: clean-up: the engine ended before it was done; the next run continues it\n");
                status = CAY_EXIT_FAILURE;
        }
        return status;
}
