/* SPDX-License-Identifier: Apache-2.0 */
/* What a daemon asks of this machine: boxes of the native engine, and nothing else. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cay-agent/agent.h"
#include "engines/native/native.h"
#include "foundation/base/str.h"

#define WORKS_MAX 1024u

struct work { /* a request under way */
        struct cay_job job;
        uint8_t secret[AGENT_SECRET]; /* of a new box */
        struct agent *agent;
        struct cay_spec spec;
        struct cay_engine_box box;
        unsigned serial; /* of the connection that asked */
        uint32_t number, channel;
        enum agent_what what;
};

static unsigned works; /* of this process */

static const struct {
        unsigned core;
        uint32_t wire;
} limit_bits[] = {
        { CAY_LIMIT_BIT(memory_bytes), AGENT_LIMIT_MEMORY }, { CAY_LIMIT_BIT(swap_bytes), AGENT_LIMIT_SWAP },
        { CAY_LIMIT_BIT(cpu_milli), AGENT_LIMIT_CPUS },      { CAY_LIMIT_BIT(pids), AGENT_LIMIT_PIDS },
        { CAY_LIMIT_BIT(disk_bytes), AGENT_LIMIT_DISK },     { CAY_LIMIT_BIT(inodes), AGENT_LIMIT_INODES },
};

static uint32_t to_wire(unsigned core)
{
        uint32_t wire = 0;

        for (unsigned i = 0; i < CAY_COUNT(limit_bits); i++)
                wire |= core & limit_bits[i].core ? limit_bits[i].wire : 0;
        return wire;
}

static unsigned from_wire(uint32_t wire)
{
        unsigned core = 0;

        for (unsigned i = 0; i < CAY_COUNT(limit_bits); i++)
                core |= wire & limit_bits[i].wire ? limit_bits[i].core : 0;
        return core;
}

/* Answers */

static void say_answer(struct agent *a, uint32_t number, const struct cay_error *err,
                       const struct cay_engine_box *box)
{
        struct agent_message m = { .type = AGENT_answer,
                                   .number = number,
                                   .answer.code = (uint8_t)err->code };

        agent_text_set(m.answer.text, err->code != CAY_OK ? err->msg : "");
        if (err->code == CAY_OK && box) {
                m.answer.skipped = to_wire(box->skipped);
                m.answer.watched = to_wire(box->watched);
                m.answer.memory_bytes = box->stats.memory_bytes;
                m.answer.memory_peak_bytes = box->stats.memory_peak_bytes;
                m.answer.oom_kills = box->stats.oom_kills;
                m.answer.pids = box->stats.pids;
                m.answer.pids_refused = box->stats.pids_refused;
                m.answer.cpu_us = box->stats.cpu_us;
        }
        agent_say(a, &m);
}

/* The link's end here joins its channel, unless the connection that wanted it is gone. */
static void join(struct work *w)
{
        int fd = w->box.link_fd;

        w->box.link_fd = -1;
        if (fd < 0)
                return;
        if (w->serial == w->agent->serial)
                agent_channels_attach_take(&w->agent->channels, w->channel, fd);
        else
                close(fd);
}

static void on_done(struct cay_job *job)
{
        struct work *w = cay_container_of(job, struct work, job);
        struct agent *a = w->agent;

        if (job->err.code == CAY_OK)
                join(w);
        if (w->serial == a->serial) {
                if (job->err.code != CAY_OK && w->channel != 0)
                        agent_channels_end(&a->channels, w->channel);
                say_answer(a, w->number, &job->err, &w->box);
        }
        works--;
        explicit_bzero(w, sizeof(*w));
        free(w);
}

static void on_gone(void *ctx, const char *id)
{
        struct agent *a = ctx;
        struct agent_message m = { .type = AGENT_gone };

        cay_str_copy(m.id, sizeof(m.id), id);
        if (a->step == AGENT_STEP_SERVING)
                agent_say(a, &m);
}

/* Requests */

static void fill_spec(struct cay_spec *s, const struct agent_ask *ask)
{
        const struct agent_plan *p = &ask->plan;

        *s = (struct cay_spec){ .template_kind = CAY_TEMPLATE_HOST,
                                .rootfs_fd = -1,
                                .workspace_fd = -1,
                                .one_shot = p->one_shot,
                                .host_plain = p->host_plain,
                                .may_skip = from_wire(p->may_skip),
                                .limits = { .memory_bytes = p->memory_bytes,
                                            .swap_bytes = p->swap_bytes,
                                            .cpu_milli = p->cpu_milli,
                                            .pids = p->pids,
                                            .disk_bytes = p->disk_bytes,
                                            .inodes = p->inodes } };
        s->options.read_only = p->read_only;
        cay_str_copy(s->id, sizeof(s->id), ask->id);
}

static void start(struct work *w, const struct agent_ask *ask)
{
        const struct cay_engine_ops *ops = w->agent->engine->ops;
        struct cay_engine *e = w->agent->engine;

        switch (w->what) {
        case AGENT_ASK_make:
                fill_spec(&w->spec, ask);
                memcpy(w->secret, ask->plan.secret, sizeof(w->secret));
                w->spec.secret = w->secret;
                ops->create(e, &w->spec, &w->box, &w->job);
                break;
        case AGENT_ASK_link:
                ops->relink(e, &w->box, &w->job);
                break;
        case AGENT_ASK_freeze:
                ops->freeze(e, &w->box, &w->job);
                break;
        case AGENT_ASK_thaw:
                ops->thaw(e, &w->box, &w->job);
                break;
        case AGENT_ASK_stat:
                ops->stats(e, &w->box, &w->job);
                break;
        default:
                ops->destroy(e, &w->box, &w->job);
                break;
        }
}

int agent_serve_ask(struct agent *a, const struct agent_message *m)
{
        const struct agent_ask *ask = &m->ask;
        struct work *w = works < WORKS_MAX ? calloc(1, sizeof(*w)) : NULL;
        struct cay_error err = { 0 };

        if (ask->channel != 0 && agent_channels_open_take(&a->channels, ask->channel, -1) < 0) {
                free(w);
                return -EPROTO;
        }
        if (!w) {
                cay_fail(&err, CAY_LIMIT, "this machine has too many requests under way");
                if (ask->channel != 0)
                        agent_channels_end(&a->channels, ask->channel);
                say_answer(a, m->number, &err, NULL);
                return 0;
        }
        works++;
        w->agent = a;
        w->serial = a->serial;
        w->number = m->number;
        w->channel = ask->channel;
        w->what = (enum agent_what)ask->what;
        w->box.link_fd = w->box.network_fd = -1;
        cay_str_copy(w->box.id, sizeof(w->box.id), ask->id);
        cay_job_init(&w->job, on_done);
        start(w, ask);
        return 0;
}

/* Begin and end */

struct listing {
        struct agent *agent;
        int failed;
};

static void say_box(void *ctx, const char *id)
{
        struct listing *l = ctx;
        struct agent_message m = { .type = AGENT_box };

        cay_str_copy(m.id, sizeof(m.id), id);
        if (l->failed == 0)
                l->failed = agent_say(l->agent, &m);
}

int agent_serve_begin(struct agent *a)
{
        struct agent_message m = { .type = AGENT_ready };
        struct listing l = { .agent = a };

        a->engine->ops->list(a->engine, say_box, &l);
        m.can_hold = to_wire(a->engine->ops->can_hold(a->engine));
        return l.failed < 0 ? l.failed : agent_say(a, &m);
}

int agent_serve_open(struct agent *a, struct cay_error *err)
{
        const struct cay_engine_env env = { .loop = a->loop, .program_dir = a->options.programs };

        if (cay_engine_native_ops.open(&env, &a->engine, err) < 0)
                return cay_wrap(err, "start the warden");
        a->engine->ops->can_hold(a->engine); /* waits for the warden's hello */
        if (a->engine->ops->health(a->engine, err) < 0)
                return cay_wrap(err, "start the warden");
        a->engine->ops->on_gone(a->engine, on_gone, a);
        return 0;
}

void agent_serve_close(struct agent *a)
{
        if (!a->engine)
                return;
        a->engine->ops->on_gone(a->engine, NULL, NULL);
        if (a->engine->ops->close(a->engine) < 0 && a->status == 0)
                a->status = 1;
        a->engine = NULL;
}
