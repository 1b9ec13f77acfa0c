/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run-once flow (run.h).
 *
 * Theory of operation. Two state machines run side by side and meet at the end. The box: the engine creates
 * it, and destroys it. The command: as soon as the engine has handed out the link (often before the box is
 * there) HELLO and OPEN are on their way, output comes, END comes. Whatever ends the command (END, a limit
 * enforced here, a lost link, a signal, a failure) calls cay_run_leave, which destroys the box once the
 * engine is done creating it. Destroying gives the last figures; the cause is judged only then. on_done
 * follows when the output has been taken, at the end of a loop round. Every wait has a deadline here,
 * whatever the engine or init do; a job that an engine never finishes keeps its box's half alive, not the
 * run.
 */
#include "libcay/run.h"

#include <errno.h>
#include <signal.h>
#include <sys/random.h>

#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "engines/engine_table.h"
#include "libcay/run_priv.h"

#define GONE_GRACE_MS 1000 /* the engine says the box is gone; its last words may still be in the link */

static void judge(struct cay_run *run)
{
        const struct cay_engine_stats *stats = &run->shell->box.stats;
        const struct cay_limits *l = &run->o.spec.limits;
        struct cay_cause_facts *f = &run->facts;
        struct cay_run_result *r = &run->result;

        f->oom_kills = stats->oom_kills;
        if (stats->memory_peak_bytes > 0) /* else what init saw, where it watches */
                f->memory_peak = stats->memory_peak_bytes;
        f->memory_limit = l->memory_bytes;
        f->pids_refused += stats->pids_refused;
        f->pids_limit = l->pids;
        f->disk_limit = l->disk_bytes;
        f->inodes_limit = l->inodes;
        f->output_limit = l->output_bytes;
        f->wall_limit_ms = l->wall_ms;
        f->cpu_limit_ms = l->cpu_time_ms;
        cay_run_network_judge(run);
        if (!run->ended && f->killed_by_us != CAY_CAUSE_NONE)
                f->signal = SIGKILL;
        if (f->lost != CAY_CAUSE_NONE && r->cleanup.code == CAY_UNAVAILABLE)
                f->lost = CAY_CAUSE_ENGINE_LOST;
        r->verdict = cay_cause_judge(f);
        r->exit_code = f->exit_code;
        r->signal = f->signal;
        r->memory_peak_bytes = f->memory_peak;
        if (r->cpu_us == 0)
                r->cpu_us = stats->cpu_us;
        if (run->end.start_status != 0)
                r->status = run->end.start_status;
        else
                r->status = cay_cause_exit_status(f, r->verdict.cause, run->asked);
        if (r->cleanup.code != CAY_OK)
                r->status = 125;
}

static void on_over(struct cay_deferred *d)
{
        struct cay_run *run = cay_container_of(d, struct cay_run, over);

        if (run->o.on_done != NULL)
                run->o.on_done(run->o.ctx, &run->result, &run->failure);
}

static void be_over(struct cay_run *run)
{
        run->step = CAY_RUN_OVER;
        cay_timer_clear(&run->step_timer);
        cay_run_detach(run);
        run->over.run = on_over;
        cay_loop_defer(run->loop, &run->over);
}

void cay_run_finish_if_flushed(struct cay_run *run)
{
        if (run->step == CAY_RUN_FLUSHING && cay_run_is_flushed(run))
                be_over(run);
}

static void destroyed(struct cay_run *run)
{
        run->result.gone_ns = cay_clock_ns();
        cay_step_reached(&run->steps, CAY_STEP_gone);
        judge(run);
        run->step = CAY_RUN_FLUSHING;
        cay_run_finish_if_flushed(run);
}

static void on_destroy_late(struct cay_timer *t)
{
        struct cay_run *run = cay_container_of(t, struct cay_run, step_timer);

        cay_fail(&run->result.cleanup, CAY_TIMEOUT, "the engine did not remove the sandbox within %u s",
                 CAY_RUN_DESTROY_MS / 1000);
        destroyed(run);
}

static void shell_call(struct cay_run *run, void (*on_done)(struct cay_job *job))
{
        cay_job_init(&run->shell->job, on_done);
        run->shell->busy = true;
}

/* The job's end, seen from the shell: NULL when the run has been given up meanwhile. */
static struct cay_run *shell_done(struct cay_job *job)
{
        struct cay_run_shell *shell = cay_container_of(job, struct cay_run_shell, job);

        shell->busy = false;
        if (shell->run == NULL)
                free(shell);
        else if (shell->run->step < CAY_RUN_FLUSHING)
                return shell->run;
        return NULL; /* too late: a deadline has spoken */
}

static void on_destroyed(struct cay_job *job)
{
        struct cay_run *run = shell_done(job);

        if (run == NULL)
                return;
        cay_timer_clear(&run->step_timer);
        if (job->err.code != CAY_OK)
                run->result.cleanup = job->err;
        destroyed(run);
}

static void destroy(struct cay_run *run)
{
        run->step = CAY_RUN_DESTROYING;
        cay_timer_set(run->loop, &run->step_timer, CAY_RUN_DESTROY_MS, on_destroy_late);
        shell_call(run, on_destroyed);
        run->ops->destroy(run->engine, &run->shell->box, &run->shell->job);
}

void cay_run_leave(struct cay_run *run)
{
        if (run->leaving)
                return;
        run->leaving = true;
        cay_timer_clear(&run->exec_timer);
        cay_watch_remove(&run->input.watch);
        cay_box_lookup_close(&run->lookup);
        cay_box_channel_close(&run->exec);
        cay_run_changes_stop(run);
        if (!run->ended)
                run->result.end_ns = cay_clock_ns();
        if (run->step == CAY_RUN_RUNNING)
                destroy(run);
}

void cay_run_fail(struct cay_run *run, const struct cay_error *err)
{
        if (run->failure.code == CAY_OK)
                run->failure = *err;
        cay_run_leave(run);
}

void cay_run_lost(struct cay_run *run)
{
        if (run->leaving)
                return;
        if (!run->ended) /* else: while its changes were fetched */
                run->facts.lost = CAY_CAUSE_SANDBOX_GONE;
        cay_run_leave(run);
}

static void on_gone_late(struct cay_timer *t);

static void await_last_words(struct cay_run *run)
{
        run->gone_received = run->received;
        cay_timer_set(run->loop, &run->gone_timer, GONE_GRACE_MS, on_gone_late);
}

/* After a standstill a round has read its share only: as long as words come they are heard. */
static void on_gone_late(struct cay_timer *t)
{
        struct cay_run *run = cay_container_of(t, struct cay_run, gone_timer);

        if (run->received != run->gone_received ||
            (run->client != NULL && cay_box_client_has_unread(run->client)))
                await_last_words(run);
        else
                cay_run_lost(run);
}

static void on_gone(void *ctx, const char *id)
{
        struct cay_run *run = ctx;

        if (!run->leaving && run->step < CAY_RUN_DESTROYING && strcmp(id, run->result.id) == 0)
                await_last_words(run);
}

static bool is_auto(const struct cay_run_options *o)
{
        return o->engine != NULL && strcmp(o->engine, "auto") == 0;
}

/*
 * `auto` takes native where it holds. Elsewhere nothing takes its place by itself: the others are named, and
 * what is missing.
 */
static void say_what_else(const struct cay_run_options *o, struct cay_error *err)
{
        struct cay_error why = *err;

        if (is_auto(o) && (why.code == CAY_UNSUPPORTED || why.code == CAY_UNAVAILABLE))
                cay_fail(err, why.code,
                         "auto: native does not hold: %.170s. By name: docker, process (no isolation)",
                         why.msg);
}

/*
 * Gone with the box before it could say that it has made it: as if it had gone a moment later. Last words may
 * be in the link, and destroying is what tells whether it was the box or the engine that went.
 */
static void gone_unanswered(struct cay_run *run)
{
        run->result.ready_ns = run->result.exec_ns;
        run->step = CAY_RUN_RUNNING;
        if (run->leaving)
                destroy(run);
        else
                await_last_words(run);
}

static void on_created(struct cay_job *job)
{
        struct cay_run *run = shell_done(job);
        struct cay_error err = { 0 };

        if (run == NULL)
                return;
        cay_timer_clear(&run->step_timer);
        if (job->err.code == CAY_UNAVAILABLE && run->result.started && run->failure.code == CAY_OK) {
                gone_unanswered(run);
                return;
        }
        if (job->err.code != CAY_OK) {
                /* What the engine says comes before what was made of a link that led nowhere. */
                run->failure = job->err;
                say_what_else(&run->o, &run->failure);
                be_over(run);
                return;
        }
        run->result.ready_ns = cay_clock_ns();
        run->result.skipped = run->shell->box.skipped;
        run->result.is_open = run->shell->box.is_open;
        run->result.host_uid = run->shell->box.host_uid;
        run->result.watched = run->shell->box.watched & cay_limits_set_mask(&run->o.spec.limits);
        run->step = CAY_RUN_RUNNING;
        if (run->leaving)
                destroy(run);
        else if (cay_run_network_attach(run, &err) < 0 ||
                 (run->client == NULL && cay_run_attach(run, &err) < 0))
                cay_run_fail(run, &err);
}

static void on_create_late(struct cay_timer *t)
{
        struct cay_run *run = cay_container_of(t, struct cay_run, step_timer);

        cay_fail(&run->failure, CAY_TIMEOUT, "the engine did not make a sandbox within %u s",
                 CAY_RUN_CREATE_MS / 1000);
        be_over(run);
}

static int fresh_id(char id[CAY_NAME_MAX + 1], struct cay_error *err)
{
        uint8_t random[15];

        if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make an id");
        cay_id_make(id, 0, 0, random);
        return 0;
}

static int choose_engine(struct cay_run *run, struct cay_error *err)
{
        const struct cay_run_options *o = &run->o;
        char names[128];

        run->ops = o->engine_ops != NULL              ? o->engine_ops
                   : o->engine != NULL && !is_auto(o) ? cay_engine_ops_find(o->engine)
                                                      : cay_engine_ops(CAY_ENGINE_native);
        if (run->ops == NULL)
                return cay_fail(err, CAY_INVALID, "no engine '%.40s'; there are: %s", o->engine,
                                cay_engine_list_names(names, sizeof(names)));
        if ((o->engine == NULL || is_auto(o)) && o->engine_ops == NULL &&
            (run->ops->lacks & CAY_ENGINE_LACKS_ISOLATION))
                return cay_fail(err, CAY_UNSUPPORTED, "there is no engine that isolates");
        if (!(run->ops->lacks & CAY_ENGINE_LACKS_ISOLATION))
                cay_user_settle(&run->user);
        if ((run->ops->lacks & CAY_ENGINE_LACKS_USERS) && run->user.uid != CAY_USER_DEFAULT)
                return cay_fail(err, CAY_UNSUPPORTED, "the %s engine cannot run commands as another user",
                                run->ops->name);
        if ((run->ops->lacks & CAY_ENGINE_LACKS_USERS) && run->user.lookup)
                return cay_fail(err, CAY_UNSUPPORTED, "the %s engine has no users of its own",
                                run->ops->name);
        return 0;
}

/* A default that the engine has no means for: nobody asked for it, so it is no reason to refuse the run. */
static void leave_out_defaults(struct cay_run *run)
{
        unsigned out = run->ops->never_holds & ~run->o.given;
        struct cay_limits *l = &run->o.spec.limits;

        if (out & CAY_LIMIT_BIT(disk_bytes))
                l->disk_bytes = 0;
        if (out & CAY_LIMIT_BIT(inodes))
                l->inodes = 0;
}

static int prepare(struct cay_run *run, struct cay_error *err)
{
        const struct cay_run_options *o = &run->o;
        struct cay_spec *spec = &run->shell->spec;

        if (cay_run_check_command(o, err) < 0 || cay_user_parse(o->user, &run->user, err) < 0 ||
            choose_engine(run, err) < 0)
                return -1;
        leave_out_defaults(run);
        *spec = o->spec;
        spec->one_shot = true;
        if (spec->id[0] == '\0' && fresh_id(spec->id, err) < 0)
                return -1;
        if (cay_spec_check(spec, err) < 0)
                return -1;
        if ((spec->workspace_rw || spec->workspace_cow) &&
            (run->user.uid != CAY_USER_DEFAULT || run->user.lookup))
                return cay_fail(
                        err, CAY_INVALID,
                        "--user: a workspace that is mapped read-write belongs to the sandbox's own user; "
                        "map it read-only or leave --user out");
        spec->host_plain = run->user.uid == CAY_USER_DEFAULT && !run->user.lookup;
        if (cay_run_network_prepare(run, err) < 0)
                return -1;
        cay_str_copy(run->result.id, sizeof(run->result.id), spec->id);
        cay_str_copy(run->shell->box.id, sizeof(run->shell->box.id), spec->id);
        return 0;
}

static int open_engine(struct cay_run *run, struct cay_error *err)
{
        const struct cay_engine_env env = {
                .loop = run->loop,
                .program_dir = run->o.program_dir,
                .trace = run->o.trace,
                .single = !run->o.trace, /* a trace is asked for after the box has gone */
        };

        if (run->ops->open(&env, &run->engine, err) < 0) {
                say_what_else(&run->o, err);
                return -1;
        }
        if (run->ops->on_gone != NULL)
                run->ops->on_gone(run->engine, on_gone, run);
        return 0;
}

static void start(struct cay_run *run)
{
        struct cay_engine_box *box = &run->shell->box;
        struct cay_error err = { 0 };
        int r;

        cay_timer_set(run->loop, &run->step_timer, CAY_RUN_CREATE_MS, on_create_late);
        shell_call(run, on_created);
        run->ops->create(run->engine, &run->shell->spec, box, &run->shell->job);
        if (cay_run_network_open(run, &err) < 0 || (box->link_fd >= 0 && cay_run_attach(run, &err) < 0)) {
                cay_run_fail(run, &err);
                return;
        }
        r = run->o.on_started != NULL ? run->o.on_started(run->o.ctx, &err) : 0;
        if (r < 0)
                cay_run_fail(run, &err);
        else if (r > 0)
                cay_step_reached(&run->steps, CAY_STEP_confined);
}

int cay_run_begin(struct cay_loop *loop, const struct cay_run_options *options, struct cay_run **ret,
                  struct cay_error *err)
{
        struct cay_run *run = calloc(1, sizeof(*run));

        if (run != NULL)
                run->shell = calloc(1, sizeof(*run->shell));
        if (run == NULL || run->shell == NULL) {
                free(run);
                return cay_fail(err, CAY_INTERNAL, "no memory");
        }
        run->result.start_ns = cay_clock_ns();
        cay_step_arm(getpid(), 0);
        cay_step_reached(&run->steps, CAY_STEP_cli_start);
        run->o = *options;
        run->loop = loop;
        run->input.fd = -1;
        run->facts.exit_code = run->result.exit_code = -1;
        run->result.status = 125;
        run->shell->box.link_fd = run->shell->box.network_fd = -1;
        run->network.link.sock = run->network.link.pidfd = run->network.policy_fd = -1;
        run->shell->run = run;
        if (prepare(run, err) < 0 || open_engine(run, err) < 0) {
                cay_run_free(run);
                return -1;
        }
        start(run);
        *ret = run;
        return 0;
}

int cay_run_free(struct cay_run *run)
{
        int r = 0;

        if (run == NULL)
                return 0;
        cay_timer_clear(&run->step_timer);
        cay_run_detach(run);
        cay_run_io_done(run);
        if (run->shell->box.link_fd >= 0)
                close(cay_take_fd(run->shell->box.link_fd));
        cay_run_network_hang_up(run);
        run->shell->run = NULL;
        if (run->engine != NULL)
                r = run->ops->close(run->engine);
        cay_run_network_close(run);
        if (!run->shell->busy)
                free(run->shell);
        free(run);
        return r;
}

void cay_run_stop(struct cay_run *run, int signo)
{
        if (run->step == CAY_RUN_OVER)
                return;
        cay_run_drop_output(run);
        if (!run->ended && !run->leaving) {
                bool again = run->asked != 0;

                run->asked = signo;
                run->facts.killed_by_us = CAY_CAUSE_KILLED;
                if (again || !cay_run_changes_await(run))
                        cay_run_leave(run);
        } else {
                cay_run_leave(run); /* its changes are not waited for any longer */
        }
        cay_run_finish_if_flushed(run);
}

void cay_run_signal(struct cay_run *run, int signo)
{
        if (cay_box_channel_is_open(&run->exec))
                cay_box_channel_signal(&run->exec, signo);
}

void cay_run_resize(struct cay_run *run, unsigned rows, unsigned cols)
{
        if (cay_box_channel_is_open(&run->exec))
                cay_box_channel_resize(&run->exec, rows, cols);
}

struct blocking {
        struct cay_loop *loop;
        struct cay_run_options options;
        struct cay_run_result *ret;
        struct cay_error *err;
};

static void on_once_done(void *ctx, const struct cay_run_result *result, const struct cay_error *err)
{
        struct blocking *blocking = ctx;

        *blocking->ret = *result;
        *blocking->err = *err;
        cay_loop_stop(blocking->loop);
}

static size_t on_once_output(void *ctx, int stream, const void *bytes, size_t len)
{
        const struct blocking *blocking = ctx;

        return blocking->options.on_output != NULL
                       ? blocking->options.on_output(blocking->options.ctx, stream, bytes, len)
                       : len;
}

static int on_once_started(void *ctx, struct cay_error *err)
{
        const struct blocking *blocking = ctx;

        return blocking->options.on_started != NULL ? blocking->options.on_started(blocking->options.ctx, err)
                                                    : 0;
}

int cay_run_once(const struct cay_run_options *options, struct cay_run_result *ret, struct cay_error *err)
{
        cay_auto(cay_loop_freep) struct cay_loop *loop = cay_loop_new();
        cay_auto(cay_run_freep) struct cay_run *run = NULL;
        struct cay_run_options mine = *options;
        struct cay_error failure = { 0 };
        struct blocking blocking = { .loop = loop, .options = *options, .ret = ret, .err = &failure };
        int r;

        if (loop == NULL)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make an event loop");
        mine.ctx = &blocking;
        mine.on_output = on_once_output;
        mine.on_started = on_once_started;
        mine.on_done = on_once_done;
        if (cay_run_begin(loop, &mine, &run, err) < 0)
                return -1;
        r = cay_loop_run(loop);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "run the event loop");
        if (failure.code != CAY_OK) {
                *err = failure;
                return -1;
        }
        return 0;
}

bool cay_run_has_engine(const char *name)
{
        return strcmp(name, "auto") == 0 || cay_engine_ops_find(name) != NULL;
}

const char *cay_run_engine_names(char *buf, size_t size)
{
        static const char first[] = "auto, ";

        if (size <= sizeof(first))
                return cay_engine_list_names(buf, size);
        memcpy(buf, first, sizeof(first));
        cay_engine_list_names(buf + strlen(first), size - strlen(first));
        return buf;
}
