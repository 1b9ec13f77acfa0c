/* SPDX-License-Identifier: Apache-2.0 */
/* What a daemon asks of this machine: boxes of the native engine, and nothing else. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cay-agent/agent.h"
#include "engines/native/native.h"
#include "engines/process/process_link.h"
#include "foundation/base/str.h"

#define WORKS_MAX 1024u

struct work { /* a request under way */
        struct cay_job job;
        struct agent_question question; /* of a box that needs a yes */
        struct work *next;              /* while it is asked */
        char text[AGENT_RULE_TEXT], folder[AGENT_FOLDER_MAX + 1];
        enum cay_workspace_mode mode;
        uint8_t secret[AGENT_SECRET]; /* of a new box */
        struct agent *agent;
        struct cay_spec spec;
        struct cay_engine_box box;
        unsigned serial; /* of the connection that asked */
        uint32_t number, channel;
        enum agent_what what;
        bool is_making; /* the engine has it, and does not list it yet */
};

static unsigned works, makings; /* of this process */
static struct work *asked;

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
                m.answer.is_open = box->is_open;
                if (box->workspace)
                        cay_str_copy(m.answer.workspace, sizeof(m.answer.workspace), box->workspace);
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

static void finish(struct work *w, const struct cay_error *err)
{
        struct agent *a = w->agent;

        if (err->code == CAY_OK)
                join(w);
        if (w->serial == a->serial) {
                if (err->code != CAY_OK && w->channel != 0)
                        agent_channels_end(&a->channels, w->channel);
                say_answer(a, w->number, err, &w->box);
        }
        works--;
        makings -= w->is_making;
        explicit_bzero(w, sizeof(*w));
        free(w);
}

static void on_done(struct cay_job *job)
{
        finish(cay_container_of(job, struct work, job), &job->err);
}

static void on_gone(void *ctx, const char *id)
{
        struct agent *a = ctx;
        struct agent_message m = { .type = AGENT_gone };

        cay_str_copy(m.id, sizeof(m.id), id);
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

/* Consent: nothing of the box is made before the rules, and where they ask the user, have said yes. */

static struct agent_wish wish_of(const struct work *w)
{
        return (struct agent_wish){ .folder = w->folder, .mode = w->mode };
}

static void count_box(void *ctx, const char *id)
{
        (void)id;
        (*(unsigned *)ctx)++;
}

/* Before anybody is asked, and again afterwards: meanwhile there may be more. */
static int check_limits(const struct work *w, struct cay_error *err)
{
        struct agent *a = w->agent;
        unsigned count = makings;

        a->engine->ops->list(a->engine, count_box, &count);
        return agent_rules_check_limits(&a->rules, &w->spec.limits, count, err);
}

static void make_allowed(struct work *w)
{
        const struct agent_wish wish = wish_of(w);
        struct agent *a = w->agent;
        struct cay_error err = { 0 };

        if (check_limits(w, &err) < 0) {
                finish(w, &err);
                return;
        }

        w->spec.workspace_root = agent_rules_place(&a->rules, &wish, &w->spec.workspace_below);
        w->spec.workspace_rw = w->folder[0] && w->mode == CAY_WORKSPACE_RW;
        w->spec.workspace_cow = w->folder[0] && w->mode == CAY_WORKSPACE_COW;
        w->is_making = true;
        makings++;
        a->engine->ops->create(a->engine, &w->spec, &w->box, &w->job);
}

static void forget_question(struct work *w)
{
        for (struct work **at = &asked; *at; at = &(*at)->next)
                if (*at == w) {
                        *at = w->next;
                        return;
                }
}

static void on_reply(struct agent_question *q, enum agent_reply reply, const char *why_not)
{
        struct work *w = cay_container_of(q, struct work, question);
        const struct agent_wish wish = wish_of(w);
        struct cay_error err = { 0 };

        forget_question(w);
        if (reply == AGENT_NO) {
                cay_fail(&err, CAY_DENIED, "%s: %s", w->folder[0] ? "workspace.path" : "machine", why_not);
                finish(w, &err);
                return;
        }
        if (reply == AGENT_ALWAYS && agent_rules_remember(&w->agent->rules, &wish, &err) < 0)
                fprintf(stderr, "cay agent: the answer counts once: %s\n", err.msg);
        make_allowed(w);
}

static void make(struct work *w, const struct agent_ask *ask)
{
        static const enum cay_workspace_mode modes[AGENT_MODE_COUNT] = {
                [AGENT_MODE_RO] = CAY_WORKSPACE_RO,
                [AGENT_MODE_RW] = CAY_WORKSPACE_RW,
                [AGENT_MODE_COW] = CAY_WORKSPACE_COW,
        };
        struct agent *a = w->agent;
        struct agent_wish wish;
        struct cay_error err = { 0 };

        fill_spec(&w->spec, ask);
        memcpy(w->secret, ask->plan.secret, sizeof(w->secret));
        w->spec.secret = w->secret;
        w->mode = modes[ask->plan.mode];
        cay_str_copy(w->folder, sizeof(w->folder), ask->plan.folder);
        wish = wish_of(w);
        if (check_limits(w, &err) < 0) {
                finish(w, &err);
                return;
        }
        switch (agent_rules_judge(&a->rules, &wish, w->text, &err)) {
        case AGENT_ALLOW:
                make_allowed(w);
                return;
        case AGENT_PROMPT:
                w->question = (struct agent_question){ .text = w->text, .on_reply = on_reply };
                w->next = asked;
                asked = w;
                agent_prompt_ask(&a->prompt, &w->question);
                return;
        case AGENT_DENY:
                finish(w, &err);
                return;
        }
}

/* Their requests died with the connection. */
void agent_serve_away(struct agent *a)
{
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_UNAVAILABLE, "the connection was lost");
        while (asked) {
                struct work *w = asked;

                asked = w->next;
                agent_prompt_withdraw(&a->prompt, &w->question);
                finish(w, &err);
        }
}

static void start(struct work *w, const struct agent_ask *ask)
{
        const struct cay_engine_ops *ops = w->agent->engine->ops;
        struct cay_engine *e = w->agent->engine;

        switch (w->what) {
        case AGENT_ASK_make:
                make(w, ask);
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
        m.ready.can_hold = to_wire(a->engine->ops->can_hold(a->engine));
        m.ready.is_open = a->rules.as_user;
        return l.failed < 0 ? l.failed : agent_say(a, &m);
}

int agent_serve_open(struct agent *a, struct cay_error *err)
{
        const struct cay_engine_env env = { .loop = a->loop, .program_dir = a->options.programs };
        int link = cay_take_fd(a->link);

        if ((a->rules.as_user ? cay_engine_process_open_link_take(&env, link, &a->engine, err)
                              : cay_engine_native_open_link_take(&env, link, &a->engine, err)) < 0)
                return cay_wrap(err, a->rules.as_user ? "start cay-process" : "start the warden");
        a->engine->ops->can_hold(a->engine); /* waits for its hello */
        if (a->engine->ops->health(a->engine, err) < 0)
                return cay_wrap(err, a->rules.as_user ? "start cay-process" : "start the warden");
        a->engine->ops->on_gone(a->engine, on_gone, a);
        return 0;
}

/* The boxes are the keeper's to end. */
void agent_serve_close(struct agent *a)
{
        if (!a->engine)
                return;
        a->engine->ops->on_gone(a->engine, NULL, NULL);
        a->engine->ops->close(a->engine);
        a->engine = NULL;
}
