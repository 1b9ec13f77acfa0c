/* SPDX-License-Identifier: Apache-2.0 */
/* The engine port over sessions with agents (remote.h). */
#include "engines/remote/remote.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engines/engine_list.h"
#include "engines/helper_client/boxes.h"
#include "engines/remote/remote_priv.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"

static struct cay_engine_remote *self(struct cay_engine *e)
{
        return cay_container_of(e, struct cay_engine_remote, engine);
}

void remote_finish(struct cay_engine_remote *e, struct cay_job *job, const struct cay_error *err)
{
        cay_job_finish(cay_loop_jobs(e->loop), job, err);
}

static const struct {
        unsigned core;
        uint32_t wire;
} limit_bits[] = {
        { CAY_LIMIT_BIT(memory_bytes), AGENT_LIMIT_MEMORY }, { CAY_LIMIT_BIT(swap_bytes), AGENT_LIMIT_SWAP },
        { CAY_LIMIT_BIT(cpu_milli), AGENT_LIMIT_CPUS },      { CAY_LIMIT_BIT(pids), AGENT_LIMIT_PIDS },
        { CAY_LIMIT_BIT(disk_bytes), AGENT_LIMIT_DISK },     { CAY_LIMIT_BIT(inodes), AGENT_LIMIT_INODES },
};

uint32_t remote_limits_to_wire(unsigned core)
{
        uint32_t wire = 0;

        for (unsigned i = 0; i < CAY_COUNT(limit_bits); i++)
                wire |= core & limit_bits[i].core ? limit_bits[i].wire : 0;
        return wire;
}

unsigned remote_limits_from_wire(uint32_t wire)
{
        unsigned core = 0;

        for (unsigned i = 0; i < CAY_COUNT(limit_bits); i++)
                core |= wire & limit_bits[i].wire ? limit_bits[i].core : 0;
        return core;
}

/* Machines */

struct cay_remote_session *remote_find_machine(struct cay_engine_remote *e, const char *owner,
                                               const char *machine)
{
        for (struct cay_remote_session *s = e->sessions; s; s = s->next)
                if (s->phase != REMOTE_SESSION_OVER && strcmp(s->machine, machine) == 0 &&
                    strcmp(s->owner, owner) == 0)
                        return s;
        return NULL;
}

struct cay_remote_session *remote_find_box(struct cay_engine_remote *e, const char *id)
{
        for (struct cay_remote_session *s = e->sessions; s; s = s->next)
                if (s->phase != REMOTE_SESSION_OVER && remote_session_has(s, id))
                        return s;
        return NULL;
}

/* NULL: err says why. */
static struct cay_remote_session *reach(struct cay_engine_remote *e, const char *owner, const char *machine,
                                        struct cay_error *err)
{
        struct cay_remote_session *s;

        if (!machine || !machine[0] || !owner) {
                cay_fail(err, CAY_INVALID, "machine: name the machine to use; `cay remote` lists them");
                return NULL;
        }
        s = remote_find_machine(e, owner, machine);
        if (s && s->phase == REMOTE_SESSION_READY)
                return s;
        if (!s && e->env.is_known && !e->env.is_known(e->env.ctx, owner, machine))
                cay_fail(err, CAY_NOT_FOUND, "there is no machine '%.63s'; `cay remote` lists them", machine);
        else
                cay_fail(err, CAY_UNAVAILABLE, "machine '%.63s' is away: its agent is not connected",
                         machine);
        return NULL;
}

/*
 * Of a box that is there, or was: the machine of its record, whoever else claims it. Without a record: who
 * has just listed it. NULL: err says why not.
 */
static struct cay_remote_session *reach_box(struct cay_engine_remote *e, const struct cay_engine_box *box,
                                            struct cay_error *err)
{
        struct cay_remote_session *s;

        if (box->machine) {
                s = box->owner ? remote_find_machine(e, box->owner, box->machine) : NULL;
                return s && remote_session_has(s, box->id) ? s : reach(e, box->owner, box->machine, err);
        }
        s = e->only && remote_session_has(e->only, box->id) ? e->only : remote_find_box(e, box->id);
        if (!s)
                cay_fail(err, CAY_NOT_FOUND, "no box '%s'", box->id);
        return s;
}

bool cay_remote_find(struct cay_engine *engine, const char *owner, const char *machine,
                     struct cay_remote_facts *ret)
{
        const struct cay_remote_session *s = remote_find_machine(self(engine), owner, machine);

        if (!s)
                return false;
        *ret = (struct cay_remote_facts){ .is_ready = s->phase == REMOTE_SESSION_READY,
                                          .is_open = s->is_open,
                                          .since_ms = s->since_ms,
                                          .heard_ms = s->heard_ms,
                                          .latency_us = s->latency_us,
                                          .boxes = s->box_count,
                                          .holds = s->can_hold | engine_limits_by_init() };
        return true;
}

void cay_remote_hang_up(struct cay_engine *engine, const char *owner, const char *machine, const char *why)
{
        struct cay_remote_session *s = remote_find_machine(self(engine), owner, machine);

        if (s)
                remote_session_hang_up(s, why);
}

void cay_remote_forget(struct cay_engine *engine, const char *owner, const char *machine, const char *why)
{
        struct cay_engine_remote *e = self(engine);
        struct cay_remote_session *s = remote_find_machine(e, owner, machine);

        if (!s)
                return;
        remote_session_move(s, REMOTE_SESSION_OVER);
        for (const struct remote_box *b = s->boxes; b; b = b->next)
                if (e->gone)
                        e->gone(e->gone_ctx, b->id);
        s->transport->hang_up(s->ctx, why);
}

/* Making */

static int check(struct cay_engine_remote *e, const struct cay_spec *spec, struct cay_error *err)
{
        if (cay_spec_check(spec, err) < 0 || cay_spec_check_caps(spec, "remote", e->engine.caps, err) < 0)
                return -1;
        if (remote_find_box(e, spec->id))
                return cay_fail(err, CAY_EXISTS, "a sandbox with the id '%s' exists already", spec->id);
        if (spec->template_kind != CAY_TEMPLATE_HOST || spec->image)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "the remote engine has only the template host: the machine's own /usr");
        if (spec->workspace_fd >= 0 || spec->workspace_root > 0)
                return cay_fail(
                        err, CAY_UNSUPPORTED,
                        "workspace: the folder is on the daemon's machine, and the sandbox would be on "
                        "another; name a folder of that one by its path");
        if (spec->workspace_there &&
            (spec->workspace_there[0] != '/' ||
             strnlen(spec->workspace_there, AGENT_FOLDER_MAX + 1) > AGENT_FOLDER_MAX))
                return cay_fail(
                        err, CAY_INVALID,
                        "workspace.path: must be an absolute path on that machine, of at most %d bytes",
                        AGENT_FOLDER_MAX);
        if (spec->workspace_there &&
            !agent_text_is_plain(spec->workspace_there, strlen(spec->workspace_there)))
                return cay_fail(err, CAY_INVALID,
                                "workspace.path: has control characters, which that machine's user could not "
                                "be shown");
        return 0;
}

static void put_plan(const struct cay_spec *spec, const struct cay_engine_box *box, struct agent_plan *p)
{
        const struct cay_limits *l = &spec->limits;

        *p = (struct agent_plan){ .read_only = spec->options.read_only,
                                  .host_plain = spec->host_plain,
                                  .one_shot = spec->one_shot,
                                  .may_skip = remote_limits_to_wire(spec->may_skip),
                                  .memory_bytes = l->memory_bytes,
                                  .swap_bytes = l->swap_bytes,
                                  .cpu_milli = l->cpu_milli,
                                  .pids = l->pids,
                                  .disk_bytes = l->disk_bytes,
                                  .inodes = l->inodes };
        p->mode = spec->workspace_rw ? AGENT_MODE_RW : spec->workspace_cow ? AGENT_MODE_COW : AGENT_MODE_RO;
        if (spec->workspace_there)
                cay_str_copy(p->folder, sizeof(p->folder), spec->workspace_there);
        memcpy(p->secret, box->secret, sizeof(p->secret));
}

/* link_fd is set before the job is finished: frames sent now travel behind the request. */
static void remote_create(struct cay_engine *engine, const struct cay_spec *spec, struct cay_engine_box *box,
                          struct cay_job *job)
{
        struct cay_engine_remote *e = self(engine);
        struct agent_ask ask = { .what = AGENT_ASK_make };
        struct cay_remote_session *s = NULL;
        struct cay_error err = { 0 };
        int theirs = -1;

        _Static_assert(AGENT_SECRET == CAY_ENGINE_SECRET, "one secret");
        box->link_fd = box->network_fd = -1;
        cay_str_copy(box->id, sizeof(box->id), spec->id);
        cay_str_copy(ask.id, sizeof(ask.id), spec->id);
        if (check(e, spec, &err) == 0)
                s = reach(e, spec->owner, spec->options.machine, &err);
        if (!s || engine_box_make_secret(box, &err) < 0 || engine_box_open_link(box, &theirs, &err) < 0) {
                remote_finish(e, job, &err);
                return;
        }
        put_plan(spec, box, &ask.plan);
        remote_session_ask(s, &ask, box, job, theirs);
        explicit_bzero(&ask, sizeof(ask));
}

static void remote_relink(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        struct cay_engine_remote *e = self(engine);
        struct agent_ask ask = { .what = AGENT_ASK_link };
        struct cay_error err = { 0 };
        struct cay_remote_session *s = reach_box(e, box, &err);
        int theirs = -1;

        box->link_fd = -1;
        cay_str_copy(ask.id, sizeof(ask.id), box->id);
        if (!s || engine_box_open_link(box, &theirs, &err) < 0)
                remote_finish(e, job, &err);
        else
                remote_session_ask(s, &ask, box, job, theirs);
}

/* The rest of the port */

static void ask_about(struct cay_engine *engine, enum agent_what what, const char *id,
                      struct cay_engine_box *box, struct cay_remote_session *s, struct cay_job *job,
                      const struct cay_error *err)
{
        struct agent_ask ask = { .what = what };

        cay_str_copy(ask.id, sizeof(ask.id), id);
        if (s)
                remote_session_ask(s, &ask, box, job, -1);
        else
                remote_finish(self(engine), job, err);
}

static void ask_freezer(struct cay_engine *engine, enum agent_what what, struct cay_engine_box *box,
                        struct cay_job *job)
{
        struct cay_error err = { 0 };
        struct cay_remote_session *s = reach_box(self(engine), box, &err);

        ask_about(engine, what, box->id, NULL, s, job, &err);
}

static void remote_freeze(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        ask_freezer(engine, AGENT_ASK_freeze, box, job);
}

static void remote_thaw(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        ask_freezer(engine, AGENT_ASK_thaw, box, job);
}

static void remote_stats(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        struct cay_error err = { 0 };
        struct cay_remote_session *s = reach_box(self(engine), box, &err);

        ask_about(engine, AGENT_ASK_stat, box->id, box, s, job, &err);
}

/* A box of a machine that is away has no record any more: it is removed when the machine is back. */
static void remote_destroy(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        struct cay_error ignored = { 0 };
        struct cay_remote_session *s = reach_box(self(engine), box, &ignored);

        if (!s)
                cay_log_info("box is removed when its machine is back", "id=%s", box->id);
        ask_about(engine, AGENT_ASK_drop, box->id, box, s, job, NULL);
}

static void remote_on_gone(struct cay_engine *engine, void (*gone)(void *ctx, const char *id), void *ctx)
{
        self(engine)->gone = gone;
        self(engine)->gone_ctx = ctx;
}

static void remote_list(struct cay_engine *engine, void (*each)(void *ctx, const char *id), void *ctx)
{
        const struct cay_engine_remote *e = self(engine);

        for (const struct cay_remote_session *s = e->sessions; s; s = s->next)
                for (const struct remote_box *b = s->boxes; b && (!e->only || e->only == s); b = b->next)
                        each(ctx, b->id);
}

/* What every connected machine can. A sandbox that is made is judged by its own machine (facts). */
static unsigned remote_can_hold(struct cay_engine *engine)
{
        unsigned all = remote_limits_from_wire(~0u);

        for (const struct cay_remote_session *s = self(engine)->sessions; s; s = s->next)
                if (s->phase == REMOTE_SESSION_READY)
                        all &= s->can_hold;
        return all | engine_limits_by_init();
}

/* It has no helper that could be gone; each machine is there or away by itself. */
static int remote_health(struct cay_engine *engine, struct cay_error *err)
{
        (void)engine;
        (void)err;
        return 0;
}

static void remote_trace(struct cay_engine *engine,
                         void (*each)(void *ctx, const char *who, const char *step, uint64_t ns), void *ctx)
{
        (void)engine;
        (void)each;
        (void)ctx;
}

static int remote_close(struct cay_engine *engine)
{
        if (!engine)
                return 0;
        while (self(engine)->sessions)
                cay_remote_session_end(self(engine)->sessions);
        free(self(engine));
        return 0;
}

const struct cay_engine_ops cay_engine_remote_link_ops = {
        .name = "remote",
        .lacks = CAY_ENGINE_remote_LACKS,
        .close = remote_close,
        .can_hold = remote_can_hold,
        .create = remote_create,
        .relink = remote_relink,
        .freeze = remote_freeze,
        .thaw = remote_thaw,
        .stats = remote_stats,
        .destroy = remote_destroy,
        .on_gone = remote_on_gone,
        .list = remote_list,
        .health = remote_health,
        .trace = remote_trace,
};

int cay_engine_remote_new(struct cay_loop *loop, struct cay_engine **ret, struct cay_error *err)
{
        struct cay_engine_remote *e = calloc(1, sizeof(*e));

        if (!e)
                return cay_fail(err, CAY_INTERNAL, "no memory for the remote engine");
        e->engine = (struct cay_engine){ .ops = &cay_engine_remote_link_ops, .caps = CAY_ENGINE_remote_CAPS };
        e->loop = loop;
        e->env.heartbeat_ms = CAY_REMOTE_HEARTBEAT_MS;
        *ret = &e->engine;
        return 0;
}

void cay_engine_remote_set(struct cay_engine *engine, const struct cay_remote_env *env)
{
        self(engine)->env = *env;
        if (env->heartbeat_ms == 0)
                self(engine)->env.heartbeat_ms = CAY_REMOTE_HEARTBEAT_MS;
}
