/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's command: its environment and OPEN, who it runs as, and what its END is worth. What init says is
 * hostile input.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>

#include "foundation/base/clock.h"
#include "domain/model/command_env.h"
#include "foundation/base/str.h"
#include "libcay/run_priv.h"

#define OWN_ENV 6 /* what is set here at most */
#define ENV_MAX                                                                                              \
        (CAY_BOX_ARGS_MAX * sizeof(char *) + 4 * CAY_BOX_PATH_MAX) /* the list, and the strings made here */

int cay_run_check_command(const struct cay_run_options *o, struct cay_error *err)
{
        unsigned argc, envc;
        size_t size = cay_box_strings_size(o->argv, &argc) + cay_box_strings_size(o->env, &envc);

        if (argc == 0 || o->argv[0][0] == '\0')
                return cay_fail(err, CAY_INVALID, "there is no command to run");
        if (argc > CAY_BOX_ARGS_MAX || envc + OWN_ENV > CAY_BOX_ARGS_MAX || size > CAY_BOX_STRINGS_MAX)
                return cay_fail(
                        err, CAY_INVALID,
                        "the command and its environment are too long: at most %u bytes, %u words each",
                        CAY_BOX_STRINGS_MAX, CAY_BOX_ARGS_MAX - OWN_ENV);
        for (unsigned i = 0; i < envc; i++)
                if (o->env[i][0] == '=' || strchr(o->env[i], '=') == NULL)
                        return cay_fail(err, CAY_INVALID, "environment '%.80s' is not NAME=VALUE", o->env[i]);
        if (o->cwd != NULL && (o->cwd[0] != '/' || strlen(o->cwd) >= CAY_BOX_PATH_MAX))
                return cay_fail(err, CAY_INVALID, "working directory '%.80s' is not an absolute path",
                                o->cwd);
        return 0;
}

static const char *own_name(void)
{
        const char *name = getenv("USER");

        return name != NULL && strlen(name) <= NAME_MAX ? name : "";
}

static struct cay_run *run_of(struct cay_box_channel *ch)
{
        return cay_container_of(ch, struct cay_run, exec);
}

static void on_wall_grace(struct cay_timer *t)
{
        struct cay_run *run = cay_container_of(t, struct cay_run, exec_timer);

        if (run->ended || run->leaving)
                return;
        run->facts.killed_by_us = CAY_CAUSE_WALL_TIME;
        cay_run_leave(run);
}

/*
 * Init has the same limit and is first, by a margin. If all is well, only the output's slow reader is between
 * us and the END.
 */
static void on_wall(struct cay_timer *t)
{
        struct cay_run *run = cay_container_of(t, struct cay_run, exec_timer);

        cay_box_channel_kill(&run->exec, CAY_KILLED_WALL_TIME);
        cay_run_drain(run);
        cay_timer_set(run->loop, t, CAY_RUN_GRACE_MS, on_wall_grace);
}

static void on_start_late(struct cay_timer *t)
{
        struct cay_run *run = cay_container_of(t, struct cay_run, exec_timer);
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_TIMEOUT, "the command did not start within %u s", CAY_RUN_CREATE_MS / 1000);
        cay_run_fail(run, &err);
}

static void on_opened(struct cay_box_channel *ch, uint32_t pid)
{
        struct cay_run *run = run_of(ch);
        uint64_t wall_ms = run->o.spec.limits.wall_ms;

        run->result.exec_ns = cay_clock_ns();
        run->result.started = true;
        cay_step_reached(&run->steps, CAY_STEP_opened);
        cay_timer_clear(&run->exec_timer);
        if (wall_ms > 0)
                cay_timer_set(run->loop, &run->exec_timer, wall_ms + CAY_RUN_DRAIN_MS, on_wall);
}

static void on_data(struct cay_box_channel *ch, enum cay_stream stream, const void *bytes, size_t len)
{
        cay_run_output(run_of(ch), stream, bytes, len);
}

static void on_room(struct cay_box_channel *ch)
{
        cay_run_input_room(run_of(ch));
}

static void note_denied(struct cay_run_result *r, const struct cay_box_exec_end *e)
{
        _Static_assert(CAY_RUN_DENIED_MAX == CAY_BOX_DENIED_MAX, "as many as init reports");
        for (unsigned i = 0; i < e->denied_count && i < CAY_RUN_DENIED_MAX; i++)
                r->denied[r->denied_kinds++] = (struct cay_run_denied){
                        .nr = (int)e->denied[i].nr,
                        .count = e->denied[i].count,
                };
}

static void note_end(struct cay_run *run, const struct cay_box_end *end)
{
        const struct cay_box_exec_end *e = &end->exec;
        struct cay_run_result *r = &run->result;
        bool output_hit = run->facts.output_hit;

        r->started = end->code == CAY_OK;
        if (cay_box_end_facts(end, run->o.argv[0], &run->end, &run->failure) < 0)
                return;
        run->facts = run->end.facts;
        run->facts.output_hit |= output_hit;
        r->denied_count = run->end.denied_count;
        if (end->code != CAY_OK)
                return;
        note_denied(r, e);
        r->cut_bytes += e->cut_bytes;
        r->user_us = e->user_us;
        r->sys_us = e->sys_us;
        r->cpu_us = e->cpu_us > 0 ? e->cpu_us : e->user_us + e->sys_us;
}

static void on_end(struct cay_box_channel *ch, const struct cay_box_end *end)
{
        struct cay_run *run = run_of(ch);

        if (!cay_box_end_is_plausible(end)) {
                cay_run_lost(run);
                return;
        }
        run->ended = true;
        run->result.end_ns = cay_clock_ns();
        cay_timer_clear(&run->exec_timer);
        cay_step_reached(&run->steps, CAY_STEP_ended);
        note_end(run, end);
        if (!cay_run_changes_begin(run))
                cay_run_leave(run);
}

static int open_exec(struct cay_run *run, struct cay_error *err)
{
        const struct cay_run_options *o = &run->o;
        const struct cay_limits *l = &o->spec.limits;
        const struct cay_command_env in = {
                .user = &run->user,
                .user_name = run->ops->lacks & CAY_ENGINE_LACKS_ISOLATION ? own_name() : NULL,
                .box_workspace = run->shell->box.workspace,
                .has_workspace = o->spec.workspace_fd >= 0,
                .template_kind = o->spec.template_kind,
                .read_only = o->spec.options.read_only,
                .box_env = run->engine->caps & CAY_ENGINE_CAN_ENV,
                .tty = o->tty,
                .term = o->term,
                .texts = o->env,
        };
        cay_auto_arena struct cay_arena mem = { .max = ENV_MAX };
        const char **env = cay_command_env_make(&in, &mem);
        const char *cwd = o->cwd != NULL ? o->cwd : cay_command_workspace(&in);
        struct cay_box_open open = {
                .kind = CAY_BOX_EXEC,
                .window = CAY_BOX_WINDOW,
                .exec = {
                        .flags = CAY_BOX_ONE_SHOT | (cay_run_wants_changes(run) ? CAY_BOX_STAY : 0) | (o->tty ? CAY_BOX_TTY : 0) |
                                 (o->stdin_fd >= 0 ? CAY_BOX_STDIN : 0) | (l->output_cut ? CAY_BOX_CUT : 0),
                        .uid = run->user.uid,
                        .gid = run->user.gid,
                        .rows = (uint16_t)(o->rows > 0 && o->rows <= UINT16_MAX ? o->rows : 24),
                        .cols = (uint16_t)(o->cols > 0 && o->cols <= UINT16_MAX ? o->cols : 80),
                        .wall_ms = l->wall_ms,
                        .cpu_ms = l->cpu_time_ms,
                        .output_max_bytes = l->output_bytes,
                        .files_max = (uint32_t)l->files,
                        /*
                         * A hole must not pass the disk by far, but data meets the full disk first: that has
                         * a cause.
                         */
                        .file_max_bytes = run->ops->never_holds & CAY_LIMIT_BIT(disk_bytes) ? 0 : 2 * l->disk_bytes,
                        .cwd = { cwd, (uint32_t)strlen(cwd) },
                },
        };
        int r = env != NULL ? 0 : -ENOMEM;

        run->exec = (struct cay_box_channel){
                .on_opened = on_opened, .on_data = on_data, .on_room = on_room, .on_end = on_end
        };
        if (r == 0)
                r = cay_box_channel_open(run->client, &run->exec, &open, o->argv, env);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "send the command");
        cay_timer_set(run->loop, &run->exec_timer, CAY_RUN_CREATE_MS, on_start_late);
        cay_run_input_begin(run);
        return 0;
}

static void on_looked_up(struct cay_box_lookup *l, struct cay_error *err)
{
        struct cay_run *run = cay_container_of(l, struct cay_run, lookup);

        cay_timer_clear(&run->exec_timer);
        if (err->code != CAY_OK || open_exec(run, err) < 0)
                cay_run_fail(run, err);
}

static int look_up(struct cay_run *run, struct cay_error *err)
{
        if (cay_box_lookup_begin(&run->lookup, run->client, &run->user, on_looked_up, err) < 0)
                return -1;
        cay_timer_set(run->loop, &run->exec_timer, CAY_RUN_CREATE_MS, on_start_late);
        return 0;
}

static void on_lost(struct cay_box_client *c, int reason)
{
        struct cay_run *run = cay_box_client_ctx(c);

        cay_run_lost(run);
}

int cay_run_attach(struct cay_run *run, struct cay_error *err)
{
        static const struct cay_box_client_events events = { .on_lost = on_lost };
        struct cay_engine_box *box = &run->shell->box;
        int r;

        _Static_assert(CAY_ENGINE_SECRET == CAY_BOX_SECRET, "one secret");
        run->client = cay_box_client_new(run->loop, box->secret, &events, run);
        explicit_bzero(box->secret, sizeof(box->secret));
        if (run->client == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory for the box link");
        if ((run->user.lookup ? look_up(run, err) : open_exec(run, err)) < 0)
                return -1;
        r = cay_box_client_attach_take(run->client, cay_take_fd(box->link_fd));
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "attach the box link");
        return 0;
}

void cay_run_detach(struct cay_run *run)
{
        cay_timer_clear(&run->exec_timer);
        cay_timer_clear(&run->gone_timer);
        cay_timer_clear(&run->changes_timer);
        cay_watch_remove(&run->input.watch);
        cay_box_lookup_close(&run->lookup);
        cay_box_client_free(cay_take(run->client));
}
