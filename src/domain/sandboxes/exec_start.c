/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a command.
 *
 * Theory of operation. First everything is checked. Then the client's claim is looked up, and a user name is
 * looked up in the box's /etc/passwd. Then OPEN is sent to the box. While the box works, the spool is made
 * and the record is sent to the store. The call is answered when the record is stored and init has answered.
 * If this process dies before the record is stored, the next front finds an unknown channel and ends it; if
 * it dies later, the next front finds both. If the spool cannot be made or the commit fails, the channel is
 * closed, which ends the command.
 *
 * Whoever waits for a command's end is told nothing before it. So the record of such a command goes to the
 * store after CAY_SERVICE_QUICK_MS, or with its end if that comes sooner: one commit instead of two or three.
 * If this process dies before, nobody was told anything, and the next front ends the unknown channel. A
 * command with a claim is stored at once, so that a second request with it runs nothing.
 */
#include <errno.h>

#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "domain/sandboxes/service_priv.h"

static void answer(struct cay_exec *x, const struct cay_error *err)
{
        struct cay_exec_call *c = cay_take(x->call);

        if (c != NULL)
                cay_service_fail_job(x->service, &c->job, err);
}

void cay_exec_maybe_answer(struct cay_exec *x)
{
        static const struct cay_error fine = { 0 };

        if (x->call == NULL || !cay_exec_is_stored(x) || (!x->ran && !cay_exec_is_ended(x)))
                return;
        answer(x, &fine);
        cay_meters_note(&x->service->meters, x->sandbox->owner, CAY_METER_EXEC_RUNS,
                        (cay_clock_ns() - x->asked_ns) / 1000);
        x->fresh_until_ms = cay_clock_ms() + (x->background ? 0 : CAY_SERVICE_FRESH_MS);
        cay_tick_sandbox(x->sandbox, x->background ? 0 : CAY_SERVICE_FRESH_MS);
}

static void stop_starting(struct cay_exec *x, const struct cay_error *err)
{
        answer(x, err);
        cay_exec_end_inputs(x, err);
        cay_timer_clear(&x->start_timer);
        cay_box_lookup_close(&x->lookup);
        cay_box_channel_close(&x->ch);
}

/* Discards a command. x may be freed. */
static void forget(struct cay_exec *x, bool has_record)
{
        struct cay_sandbox *sb = x->sandbox;

        if (has_record)
                cay_exec_drop_record(x);
        cay_exec_remove(x);
        cay_sandbox_settle(sb);
        sb->dirty = true; /* derived from READY and BUSY */
        cay_tick_sandbox(sb, 0);
}

void cay_exec_refuse(struct cay_exec *x, const struct cay_error *err)
{
        bool has_record = cay_exec_is_stored(x);

        stop_starting(x, err);
        cay_exec_move(x, CAY_EXEC_EVENT_REFUSE);
        if (x->phase == CAY_EXEC_PHASE_GONE) /* otherwise: when it is known whether there is a record */
                forget(x, has_record);
}

void cay_exec_unstored(struct cay_exec *x, const struct cay_error *err)
{
        stop_starting(x, err);
        forget(x, false);
}

/* The event, when both are true: init says that it runs, and the record is stored */

static void on_start_told(struct cay_async *e, const struct cay_error *err)
{
        if (err->code != CAY_OK)
                e->exec->start_told = false; /* its end tells both */
}

/*
 * One that has ended meanwhile tells it with its end; so does one whose sandbox is being stopped. Nobody
 * waits for this event of a command that may end soon.
 */
void cay_exec_tell_start(struct cay_exec *x)
{
        struct cay_service *s = x->service;
        struct cay_store_batch *b;
        struct cay_async *e;

        if (x->phase != CAY_EXEC_PHASE_RUNNING || x->start_told || cay_exec_is_spoken_for(x) ||
            x->quick_timer.loop != NULL)
                return;
        e = cay_async_new(s, x->sandbox, x, on_start_told);
        b = s->store->ops->begin(s->store);
        cay_exec_put_started(e, b, x);
        cay_record_put_exec(x, b); /* a process that adopts it knows that it was told */
        cay_async_commit(e, b);
}

/* The record */

static void on_start_stored(struct cay_async *e, const struct cay_error *err)
{
        struct cay_exec *x = e->exec;
        struct cay_sandbox *sb = x->sandbox;
        struct cay_error why = *err;

        if (sb == NULL)
                return;
        if (err->code == CAY_EXISTS) {
                if (x->call != NULL)
                        cay_str_copy(x->call->first, sizeof(x->call->first), e->commit.first);
                cay_claim_say_taken(&why, x->claim, e->commit.first);
        }
        cay_exec_move(x, err->code == CAY_OK ? CAY_EXEC_EVENT_STORE : CAY_EXEC_EVENT_UNSTORE);
        if (x->phase == CAY_EXEC_PHASE_GONE || err->code != CAY_OK) {
                stop_starting(x, &why);
                forget(x, err->code == CAY_OK);
                return;
        }
        cay_kill_point_reached(CAY_KILL_POINT_exec_stored);
        if (x->claim[0] != '\0')
                cay_claim_release(x->service, x->owner, x->claim);
        x->claim[0] = '\0';
        if (cay_exec_is_ended(x)) { /* its sandbox went meanwhile: the record says that it runs */
                x->dirty = true;
                cay_tick_sandbox(x->sandbox, 0);
                cay_exec_maybe_answer(x);
                return;
        }
        cay_sandbox_settle(sb);
        cay_exec_tell_start(x);
        cay_exec_verdict(x); /* of a command that already ended */
        cay_exec_maybe_answer(x);
}

static void store_start(struct cay_exec *x)
{
        struct cay_sandbox *sb = x->sandbox;
        struct cay_service *s = x->service;
        struct cay_async *e = cay_async_new(s, sb, x, on_start_stored);
        struct cay_store_batch *b = s->store->ops->begin(s->store);
        struct cay_store_claim claim = { .owner = x->owner, .key = x->claim, .result = x->id };

        cay_exec_move(x, CAY_EXEC_EVENT_SEND);
        cay_record_put_exec(x, b);
        cay_record_put_sandbox(sb, b, cay_sandbox_phase_state(sb->phase, sb->running + 1));
        if (x->claim[0] != '\0')
                cay_store_put_claim(s->store, b, &claim);
        cay_async_commit(e, b);
}

/* It is not a quick one. While its sandbox changes, that operation may end it, and its start waits. */
static void on_not_quick(struct cay_timer *t)
{
        struct cay_exec *x = cay_container_of(t, struct cay_exec, quick_timer);
        bool is_unsent = cay_exec_phase_record(x->phase) == CAY_EXEC_RECORD_NONE && !cay_exec_is_judged(x);

        if (is_unsent && cay_sandbox_pending(x->sandbox) != CAY_PENDING_NONE)
                cay_timer_set(x->service->loop, t, CAY_SERVICE_QUICK_MS, on_not_quick);
        else if (is_unsent)
                store_start(x);
        else
                cay_exec_tell_start(x);
}

/* The box */

static void on_start_late(struct cay_timer *t)
{
        struct cay_exec *x = cay_container_of(t, struct cay_exec, start_timer);
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_TIMEOUT, "the command did not start within %u s", CAY_SERVICE_START_MS / 1000);
        cay_exec_refuse(x, &err);
}

static void on_opened(struct cay_box_channel *ch, uint32_t pid)
{
        struct cay_exec *x = cay_container_of(ch, struct cay_exec, ch);

        cay_kill_point_reached(CAY_KILL_POINT_exec_opened);
        x->pid = pid;
        cay_exec_move(x, CAY_EXEC_EVENT_OPEN);
        cay_timer_clear(&x->start_timer);
        cay_exec_tell_start(x);
        cay_exec_maybe_answer(x);
}

/*
 * A sparse file must not exceed the disk by far, but real data reaches the full disk first: that has a cause.
 * A volume may be larger than the sandbox's own disk.
 */
static uint64_t file_max(const struct cay_sandbox *sb)
{
        uint64_t disk = sb->limits.disk_bytes, volume = sb->service->env.volume_bytes;

        if (sb->skipped & CAY_LIMIT_BIT(disk_bytes))
                return 0;
        return 2 * (sb->volume_count > 0 && volume > disk ? volume : disk);
}

const struct cay_box_channel cay_exec_channel_events = {
        .on_opened = on_opened,
        .on_data = cay_exec_on_data,
        .on_room = cay_exec_on_room,
        .on_end = cay_exec_on_end,
};

static int send_open(struct cay_exec *x, struct cay_error *err)
{
        struct cay_sandbox *sb = x->sandbox;
        const struct cay_command_env in = {
                .user = &x->user,
                .box_workspace = sb->box_workspace,
                .has_workspace = sb->has_workspace,
                .template_kind = sb->template_kind,
                .read_only = sb->options.read_only,
                .box_env = sb->engine->engine != NULL && sb->engine->engine->caps & CAY_ENGINE_CAN_ENV,
                .proxy = sb->policy != NULL && cay_sandbox_is_proxied(sb) ? CAY_PROXY_ADDRESS : NULL,
                .tty = x->tty,
                .term = x->term,
                .layers = { &sb->env, &x->env },
        };
        const char **env = cay_command_env_make(&in, &x->start_mem);
        const char *cwd = x->cwd[0] != '\0' ? x->cwd : cay_command_workspace(&in);
        const struct cay_box_open open = {
                .kind = CAY_BOX_EXEC,
                .window = cay_sandbox_window(sb),
                .exec = {
                        .flags = (x->tty ? CAY_BOX_TTY : 0) | (x->has_stdin ? CAY_BOX_STDIN : 0) |
                                 (x->output_cut ? CAY_BOX_CUT : 0),
                        .uid = x->user.uid,
                        .gid = x->user.gid,
                        .rows = x->rows,
                        .cols = x->cols,
                        /*
                         * No wall_ms: a clock in the box would run on while the sandbox is paused (tick.c
                         * enforces that limit).
                         */
                        .cpu_ms = x->cpu_time_ms,
                        .output_max_bytes = x->output_bytes,
                        .files_max = (uint32_t)sb->limits.files,
                        .file_max_bytes = file_max(sb),
                        .cwd = { cwd, (uint32_t)strlen(cwd) },
                },
        };
        unsigned argc, envc;
        int r;

        if (env == NULL)
                return cay_fail(err, CAY_INVALID, "env: too long");
        if (cay_box_strings_size((const char *const *)x->argv, &argc) + cay_box_strings_size(env, &envc) >
                    CAY_BOX_STRINGS_MAX ||
            argc > CAY_BOX_ARGS_MAX || envc > CAY_BOX_ARGS_MAX)
                return cay_fail(err, CAY_INVALID,
                                "command: too long with its environment: at most %u bytes, %u words each",
                                CAY_BOX_STRINGS_MAX, CAY_BOX_ARGS_MAX);
        x->ch = cay_exec_channel_events;
        r = cay_box_channel_open(sb->client, &x->ch, &open, (const char *const *)x->argv, env);
        if (r == -ENOSPC)
                return cay_fail(err, CAY_LIMIT, "too many channels are open in sandbox '%s'; close some",
                                sb->id);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "send the command");
        x->channel_number = cay_box_channel_number(&x->ch);
        cay_recording_exec(x);
        cay_arena_done(&x->start_mem);
        x->env = (struct cay_field_map){ 0 };
        x->term = NULL;
        cay_timer_set(x->service->loop, &x->start_timer, CAY_SERVICE_START_MS, on_start_late);
        return 0;
}

static int make_spool(struct cay_exec *x, struct cay_error *err)
{
        const struct cay_service_env *env = &x->service->env;
        uint64_t keep = env->spool_bytes > 0 ? env->spool_bytes : CAY_SERVICE_SPOOL_BYTES;
        uint64_t window = cay_sandbox_window(x->sandbox);
        char name[2 * CAY_NAME_MAX + 2];
        bool is_there;
        int r;

        cay_exec_spool_name(x, name);
        is_there = env->reuse_spool != NULL && env->reuse_spool(env->ctx, name);
        r = is_there ? cay_spool_reuse(&x->spool, env->spool_dir, name, keep, window)
                     : cay_spool_create(&x->spool, env->spool_dir, name, keep, window);
        if (r < 0)
                return cay_fail_sys(err, r == -ENOSPC || r == -EDQUOT ? CAY_NO_SPACE : CAY_INTERNAL, r,
                                    "make room for the command's output");
        cay_kill_point_reached(CAY_KILL_POINT_exec_spooled);
        return 0;
}

/*
 * The box first: while it forks, we make the file and the record. Its answer is not read before the next
 * round of the loop.
 */
static void launch(struct cay_exec *x)
{
        struct cay_service *s = x->service;
        struct cay_error err = { 0 };

        /* The state may have changed during the look-up: a command that was killed meanwhile must not run. */
        if (cay_sandbox_check_usable(x->sandbox, &err) == 0 && x->force_at_ms != 0)
                cay_fail(&err, CAY_CONFLICT, "exec '%s' was killed before it started", x->id);
        if (err.code != CAY_OK) {
                cay_exec_refuse(x, &err);
                return;
        }
        x->started_wall_ms = cay_service_wall(s);
        x->deadline_ms = x->timeout_ms > 0 ? cay_service_now(s) + x->timeout_ms : 0;
        cay_exec_use(x);
        if (send_open(x, &err) < 0) {
                cay_exec_refuse(x, &err);
                return;
        }
        cay_kill_point_reached(CAY_KILL_POINT_exec_sent);
        if (make_spool(x, &err) < 0) { /* closes the channel, which ends the command */
                cay_exec_refuse(x, &err);
                return;
        }
        cay_exec_on_room(&x->ch); /* input that was given meanwhile */
        cay_meters_note(&s->meters, x->sandbox->owner, CAY_METER_EXEC_STARTED, 0);
        x->oom_before = x->sandbox->oom_seen;
        x->pids_before = x->sandbox->pids_seen;
        if (x->waits)
                cay_timer_set(s->loop, &x->quick_timer, CAY_SERVICE_QUICK_MS, on_not_quick);
        if (x->waits && x->claim[0] == '\0')
                cay_exec_move(x, CAY_EXEC_EVENT_TRY);
        else
                store_start(x);
        if (x->deadline_ms > 0)
                cay_tick_sandbox(x->sandbox, x->timeout_ms);
}

/* The user */

static void on_looked_up(struct cay_box_lookup *l, struct cay_error *err)
{
        struct cay_exec *x = cay_container_of(l, struct cay_exec, lookup);

        cay_timer_clear(&x->start_timer);
        if (err->code != CAY_OK)
                cay_exec_refuse(x, err);
        else
                launch(x);
}

static void look_up_user(struct cay_exec *x)
{
        struct cay_error err = { 0 };

        if (cay_sandbox_check_usable(x->sandbox, &err) < 0 ||
            cay_box_lookup_begin(&x->lookup, x->sandbox->client, &x->user, on_looked_up, &err) < 0) {
                cay_exec_refuse(x, &err);
                return;
        }
        cay_timer_set(x->service->loop, &x->start_timer, CAY_SERVICE_START_MS, on_start_late);
}

static void on_step(struct cay_exec *x, const struct cay_error *err)
{
        if (err->code != CAY_OK)
                cay_exec_refuse(x, err);
        else if (x->user.lookup)
                look_up_user(x);
        else
                launch(x);
}

static void begin(struct cay_exec *x)
{
        static const struct cay_error fine = { 0 };

        if (x->takes_step)
                cay_exec_take_step(x, on_step);
        else
                on_step(x, &fine);
}

static void on_claim_known(struct cay_async *e, const struct cay_error *err)
{
        struct cay_exec *x = e->exec;
        struct cay_error why = *err;

        if (x->sandbox == NULL)
                return;
        if (err->code == CAY_OK && e->query.count > 0) {
                const struct cay_store_claim *claim = e->query.rows[0];

                if (x->call != NULL)
                        cay_str_copy(x->call->first, sizeof(x->call->first), claim->result);
                cay_claim_say_taken(&why, x->claim, claim->result);
        }
        if (why.code != CAY_OK)
                cay_exec_refuse(x, &why);
        else
                begin(x);
}

/* The request */

static int check_user(struct cay_sandbox *sb, struct cay_exec *x, const char *text, struct cay_error *err)
{
        const struct cay_engine_row *row = sb->engine;
        bool other;

        if (cay_user_parse(text, &x->user, err) < 0)
                return cay_wrap(err, "user");
        if (row->engine != NULL && !(row->engine->ops->lacks & CAY_ENGINE_LACKS_ISOLATION))
                cay_user_settle(&x->user);
        other = x->user.uid != CAY_USER_DEFAULT || x->user.lookup;
        if (other && row->engine != NULL && (row->engine->ops->lacks & CAY_ENGINE_LACKS_USERS))
                return cay_fail(err, CAY_UNSUPPORTED,
                                "user: the %s engine cannot run commands as another user", row->name);
        if (other && sb->options.own_user_only)
                return cay_fail(err, CAY_CONFLICT, "user: sandbox '%s' was created for its own user only",
                                sb->id);
        if (other && sb->has_workspace && sb->workspace_mode != CAY_WORKSPACE_RO)
                return cay_fail(err, CAY_CONFLICT,
                                "user: excludes a workspace that is mapped writable, which belongs to the "
                                "sandbox's own user; leave user out");
        return 0;
}

static int check_new(struct cay_sandbox *sb, const struct cay_exec_new *w, struct cay_error *err)
{
        unsigned running = 0;

        if ((w->argv == NULL) == (w->line == NULL))
                return cay_fail(err, CAY_INVALID,
                                "command: must be either a list of words or a line for the shell");
        if (w->argv != NULL && (w->argv[0] == NULL || w->argv[0][0] == '\0'))
                return cay_fail(err, CAY_INVALID, "command: must not be empty");
        if (w->line != NULL && w->line[0] == '\0')
                return cay_fail(err, CAY_INVALID, "command: must not be empty");
        if (w->cwd != NULL && (w->cwd[0] != '/' || strlen(w->cwd) >= CAY_BOX_PATH_MAX))
                return cay_fail(err, CAY_INVALID, "working directory '%.80s' is not an absolute path",
                                w->cwd);
        if (w->rows > UINT16_MAX || w->cols > UINT16_MAX)
                return cay_fail(err, CAY_INVALID, "terminal: at most 65,535 rows and columns");
        if (w->timeout_ms > CAY_BOX_TIME_MAX_MS || w->cpu_time_ms > CAY_BOX_TIME_MAX_MS ||
            w->output_bytes > INT64_MAX)
                return cay_fail(err, CAY_INVALID, "limits: too large");
        if (cay_sandbox_check_pairs("env", &w->env, true, err) < 0 || cay_claim_check(w->claim, err) < 0 ||
            cay_sandbox_check_usable(sb, err) < 0)
                return -1;
        for (const struct cay_exec *x = sb->execs; x != NULL; x = x->next)
                running += !cay_exec_is_ended(x);
        if (running >= CAY_SERVICE_EXECS_RUNNING_MAX)
                return cay_fail_because(
                        err, CAY_LIMIT, CAY_REASON_COMMANDS,
                        "%u commands run in sandbox '%s', which is the maximum; wait for one to end", running,
                        sb->id);
        return 0;
}

static const char *copy(struct cay_arena *mem, const char *text)
{
        return text != NULL ? cay_arena_copy(mem, text, strlen(text)) : NULL;
}

static int copy_argv(struct cay_exec *x, const struct cay_exec_new *w, struct cay_error *err)
{
        const char *shell[] = { "/bin/sh", "-c", w->line, NULL };
        const char *const *argv = w->line != NULL ? shell : w->argv;
        unsigned argc;

        if (cay_box_strings_size(argv, &argc) > CAY_SERVICE_ARGV_MAX || argc > CAY_BOX_ARGS_MAX)
                return cay_fail(err, CAY_INVALID, "command: too long: at most %u bytes and %u words",
                                CAY_SERVICE_ARGV_MAX, CAY_BOX_ARGS_MAX);
        x->argv = cay_arena_array(&x->mem, argc + 1, sizeof(*x->argv));
        for (unsigned i = 0; x->argv != NULL && i < argc; i++) {
                x->argv[i] = copy(&x->mem, argv[i]);
                if (x->argv[i] == NULL)
                        return cay_fail(err, CAY_INTERNAL, "no memory");
        }
        if (x->argv == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        return cay_record_argv_text(x, err);
}

static int fill_new(struct cay_sandbox *sb, struct cay_exec *x, const struct cay_exec_new *w,
                    struct cay_error *err)
{
        if (cay_service_make_id(x->service, x->id, err) < 0 || copy_argv(x, w, err) < 0 ||
            check_user(sb, x, w->user, err) < 0)
                return -1;
        x->cwd = copy(&x->mem, w->cwd != NULL ? w->cwd : "");
        x->user_text = copy(&x->mem, w->user != NULL ? w->user : "");
        x->context = copy(&x->mem, w->context != NULL ? w->context : "");
        x->language = copy(&x->mem, w->language != NULL ? w->language : "");
        x->term = copy(&x->start_mem, w->term);
        if (x->cwd == NULL || x->user_text == NULL || x->context == NULL || x->language == NULL ||
            (w->term != NULL && x->term == NULL) || cay_record_copy_map(&x->start_mem, &w->env, &x->env) < 0)
                return cay_fail(err, CAY_INVALID, "env: too long");
        x->is_line = w->line != NULL;
        x->has_stdin = w->has_stdin;
        x->tty = w->tty;
        x->background = w->background;
        x->takes_step =
                w->checkpoint || (sb->options.checkpoint && w->context == NULL); /* its runs make them */
        x->waits = w->waits && !w->background && !w->tty && w->context == NULL;
        x->rows = (uint16_t)(w->rows > 0 ? w->rows : 24);
        x->cols = (uint16_t)(w->cols > 0 ? w->cols : 80);
        /*
         * The sandbox's limit is for commands that work. A terminal waits for a person, a kernel for its next
         * run.
         */
        x->timeout_ms = w->timeout_ms > 0                                  ? w->timeout_ms
                        : cay_exec_is_terminal(x) || cay_exec_is_kernel(x) ? 0
                                                                           : sb->limits.wall_ms;
        x->cpu_time_ms = w->cpu_time_ms > 0 ? w->cpu_time_ms : sb->limits.cpu_time_ms;
        x->output_bytes = w->output_bytes;
        x->output_cut = w->output_cut;
        return 0;
}

static int claim(struct cay_exec *x, const struct cay_exec_new *w, struct cay_exec_call *c,
                 struct cay_error *err)
{
        const char *rival;

        if (w->claim == NULL)
                return 0;
        rival = cay_claim_take(x->service, x->owner, w->claim, x->id);
        if (rival != NULL) {
                cay_str_copy(c->first, sizeof(c->first), rival);
                cay_claim_say_taken(err, w->claim, rival);
                return -1;
        }
        cay_str_copy(x->claim, sizeof(x->claim), w->claim);
        return 0;
}

void cay_service_exec(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                      const struct cay_exec_new *what, struct cay_exec_call *c)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, sandbox, &err);
        struct cay_exec *x;

        c->next = NULL;
        if (sb == NULL || check_new(sb, what, &err) < 0) {
                cay_service_fail_job(s, &c->job, &err);
                return;
        }
        x = cay_exec_new(s, sb);
        cay_str_copy(x->owner, sizeof(x->owner), v->owner);
        cay_str_copy(x->by, sizeof(x->by), v->by != NULL ? v->by : "");
        if (fill_new(sb, x, what, &err) < 0 || claim(x, what, c, &err) < 0) {
                x->sandbox = NULL;
                cay_exec_unref(x);
                cay_service_fail_job(s, &c->job, &err);
                return;
        }
        cay_str_copy(c->id, sizeof(c->id), x->id);
        x->call = c;
        x->asked_ns = cay_clock_ns();
        x->fresh = true;
        cay_exec_list_add(sb, x);
        cay_sandbox_use(sb);
        if (what->claim != NULL)
                cay_claim_look_up(cay_async_new(s, sb, x, on_claim_known), x->owner, x->claim);
        else
                begin(x);
}
