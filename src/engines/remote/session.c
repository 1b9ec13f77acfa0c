/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to an agent: requests, answers, heartbeats. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engines/remote/remote_priv.h"
#include "foundation/base/clock.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"

#define CALLS_MAX 4096u

/* Saying */

static int say(struct cay_remote_session *s, const struct agent_message *m)
{
        uint8_t bytes[AGENT_SMALL_MAX];
        int len = agent_message_write(m, bytes, sizeof(bytes));
        ssize_t queued;

        if (len < 0)
                return len;
        queued = s->transport->send(s->ctx, bytes, (size_t)len);
        explicit_bzero(bytes, sizeof(bytes)); /* a plan has a secret */
        return queued < 0 ? (int)queued : 0;
}

static ssize_t send_channel(struct agent_channels *c, const void *bytes, size_t len)
{
        struct cay_remote_session *s = cay_container_of(c, struct cay_remote_session, channels);

        return s->transport->send(s->ctx, bytes, len);
}

/* Phases */

static const struct cay_phase_row phases[REMOTE_SESSION_PHASE_COUNT] = {
        [REMOTE_SESSION_GREETING] = { "greeting", CAY_PHASE_BIT(REMOTE_SESSION_READY) |
                                                          CAY_PHASE_BIT(REMOTE_SESSION_OVER) },
        [REMOTE_SESSION_READY] = { "ready", CAY_PHASE_BIT(REMOTE_SESSION_OVER) },
        [REMOTE_SESSION_OVER] = { "over", 0 },
};

const struct cay_phase_table remote_session_phases = { "remote session", phases, REMOTE_SESSION_PHASE_COUNT };

void remote_session_move(struct cay_remote_session *s, enum remote_session_phase to)
{
        s->phase =
                (enum remote_session_phase)cay_phase_move(&remote_session_phases, s->phase, to, s->machine);
}

void remote_session_hang_up(struct cay_remote_session *s, const char *why)
{
        if (s->phase != REMOTE_SESSION_OVER)
                remote_session_move(s, REMOTE_SESSION_OVER);
        s->transport->hang_up(s->ctx, why);
}

/* Heartbeat */

static void on_beat(struct cay_timer *t)
{
        struct cay_remote_session *s = cay_container_of(t, struct cay_remote_session, beat);
        uint32_t every = s->engine->env.heartbeat_ms;
        struct agent_message m = { .type = AGENT_ping };

        if (cay_clock_ms() - s->heard_ms >= (uint64_t)every * CAY_REMOTE_SILENT) {
                remote_session_hang_up(s, "nothing was heard of the agent");
                return;
        }
        s->pinged_ns = m.token = cay_clock_ns();
        say(s, &m);
        cay_timer_set(s->engine->loop, &s->beat, every, on_beat);
}

/* Boxes */

static struct remote_box *find_box(const struct cay_remote_session *s, const char *id)
{
        for (struct remote_box *b = s->boxes; b; b = b->next)
                if (strcmp(b->id, id) == 0)
                        return b;
        return NULL;
}

bool remote_session_has(const struct cay_remote_session *s, const char *id)
{
        return find_box(s, id) != NULL;
}

static bool may_have(const struct cay_remote_session *s, const char *id)
{
        const struct cay_remote_env *env = &s->engine->env;

        if (!env->may_have || env->may_have(env->ctx, s->owner, s->machine, id))
                return true;
        cay_log_warn("a machine reported a box that is not its own, ignoring", "owner=%s machine=%s id=%s",
                     s->owner, s->machine, id);
        return false;
}

/* 0; -1: it is not noted. */
static int note_box(struct cay_remote_session *s, const char *id)
{
        struct remote_box *b;

        if (find_box(s, id))
                return 0;
        if (s->box_count >= CAY_REMOTE_BOXES_MAX || !may_have(s, id) || !(b = calloc(1, sizeof(*b))))
                return -1;
        cay_str_copy(b->id, sizeof(b->id), id);
        b->next = s->boxes;
        s->boxes = b;
        s->box_count++;
        return 0;
}

static void free_box(struct remote_box *b)
{
        free(b->workspace);
        free(b);
}

static bool forget_box(struct cay_remote_session *s, const char *id)
{
        for (struct remote_box **at = &s->boxes; *at; at = &(*at)->next)
                if (strcmp((*at)->id, id) == 0) {
                        struct remote_box *b = *at;

                        *at = b->next;
                        free_box(b);
                        s->box_count--;
                        return true;
                }
        return false;
}

/* Requests */

static void finish_call(struct cay_remote_session *s, struct remote_call *c, const struct cay_error *err)
{
        if (err->code != CAY_OK && c->channel != 0) {
                agent_channels_end(&s->channels, c->channel);
                if (c->box->link_fd >= 0)
                        close(cay_take_fd(c->box->link_fd));
        }
        remote_finish(s->engine, c->job, err->code != CAY_OK ? err : NULL);
        free(c);
}

void remote_session_ask(struct cay_remote_session *s, struct agent_ask *ask, struct cay_engine_box *box,
                        struct cay_job *job, int link_fd)
{
        struct agent_message m = { .type = AGENT_ask };
        struct remote_call *c = calloc(1, sizeof(*c));
        struct cay_error err = { 0 };
        int r = c ? 0 : -ENOMEM;

        if (agent_ask_has_channel(ask->what)) {
                ask->channel = ++s->numbers;
                if (r == 0)
                        r = agent_channels_open_take(&s->channels, ask->channel, link_fd);
                else
                        close(link_fd);
        }
        m.number = ++s->numbers;
        m.ask = *ask;
        if (r == 0)
                r = say(s, &m);
        explicit_bzero(&m.ask.plan, sizeof(m.ask.plan));
        if (!c) {
                cay_fail(&err, CAY_INTERNAL, "no memory for a request");
                if (box && box->link_fd >= 0)
                        close(cay_take_fd(box->link_fd));
                remote_finish(s->engine, job, &err);
                return;
        }
        *c = (struct remote_call){
                .number = m.number, .channel = ask->channel, .what = ask->what, .box = box, .job = job
        };
        cay_str_copy(c->id, sizeof(c->id), ask->id);
        if (r < 0) {
                cay_fail_sys(&err, r == -ENOSPC ? CAY_LIMIT : CAY_UNAVAILABLE, r, "ask machine '%s'",
                             s->machine);
                finish_call(s, c, &err);
                return;
        }
        c->next = s->calls;
        s->calls = c;
}

/* The place of the workspace is kept with the box, for whoever has it asked for. */
static void take_place(struct cay_remote_session *s, struct remote_call *c, const struct agent_answer *a)
{
        struct remote_box *b = find_box(s, c->id);

        c->box->is_open = a->is_open;
        c->box->workspace = NULL;
        if (!b || !a->workspace[0])
                return;
        free(b->workspace);
        b->workspace = strdup(a->workspace);
        c->box->workspace = b->workspace;
}

static void take_answer(struct cay_remote_session *s, struct remote_call *c, const struct agent_answer *a)
{
        if (c->what == AGENT_ASK_make || c->what == AGENT_ASK_link) {
                note_box(s, c->id);
                c->box->skipped = remote_limits_from_wire(a->skipped);
                c->box->watched = remote_limits_from_wire(a->watched);
                take_place(s, c, a);
        } else if (c->box) {
                c->box->stats = (struct cay_engine_stats){ .memory_bytes = a->memory_bytes,
                                                           .memory_peak_bytes = a->memory_peak_bytes,
                                                           .oom_kills = a->oom_kills,
                                                           .pids = a->pids,
                                                           .pids_refused = a->pids_refused,
                                                           .cpu_us = a->cpu_us };
        }
        if (c->what == AGENT_ASK_drop)
                forget_box(s, c->id);
}

static int hear_answer(struct cay_remote_session *s, const struct agent_message *m)
{
        struct remote_call **at = &s->calls, *c;
        struct cay_error err = { 0 };

        while (*at && (*at)->number != m->number)
                at = &(*at)->next;
        c = *at;
        if (!c)
                return -EPROTO;
        *at = c->next;
        if (m->answer.code == CAY_OK) {
                take_answer(s, c, &m->answer);
        } else {
                cay_fail(&err, (enum cay_code)m->answer.code, "%.200s", m->answer.text);
                if (c->what == AGENT_ASK_link && m->answer.code == CAY_NOT_FOUND)
                        forget_box(s, c->id);
        }
        finish_call(s, c, &err);
        return 0;
}

/* Hearing */

/* What was listed before there were records to compare it with. */
static void drop_foreign(struct cay_remote_session *s)
{
        for (struct remote_box **at = &s->boxes, *b; (b = *at);) {
                if (may_have(s, b->id)) {
                        at = &b->next;
                        continue;
                }
                *at = b->next;
                s->box_count--;
                free_box(b);
        }
}

static void tell_ready(struct cay_remote_session *s)
{
        drop_foreign(s);
        s->engine->only = s;
        if (s->engine->env.on_ready)
                s->engine->env.on_ready(s->engine->env.ctx, s->owner, s->machine);
        s->engine->only = NULL;
}

static int hear_ready(struct cay_remote_session *s, const struct agent_ready *m)
{
        if (s->phase != REMOTE_SESSION_GREETING)
                return s->phase == REMOTE_SESSION_READY ? -EPROTO : 0;
        remote_session_move(s, REMOTE_SESSION_READY);
        s->can_hold = remote_limits_from_wire(m->can_hold);
        s->is_open = m->is_open;
        tell_ready(s);
        return 0;
}

void cay_remote_tell_ready(struct cay_engine *engine)
{
        struct cay_engine_remote *e = cay_container_of(engine, struct cay_engine_remote, engine);

        for (struct cay_remote_session *s = e->sessions; s; s = s->next)
                if (s->phase == REMOTE_SESSION_READY)
                        tell_ready(s);
}

static void hear_gone(struct cay_remote_session *s, const char *id)
{
        if (forget_box(s, id) && may_have(s, id) && s->engine->gone)
                s->engine->gone(s->engine->gone_ctx, id);
}

int cay_remote_session_hear(struct cay_remote_session *s, const void *bytes, size_t len)
{
        struct agent_message m;

        if (agent_message_read(bytes, len, AGENT_AGENT, &m) < 0)
                return -EPROTO;
        s->heard_ms = cay_clock_ms();
        switch (m.type) {
        case AGENT_box:
                if (s->phase == REMOTE_SESSION_READY || s->listed++ >= CAY_REMOTE_BOXES_MAX)
                        return -EPROTO;
                if (s->phase == REMOTE_SESSION_GREETING)
                        note_box(s, m.id);
                return 0;
        case AGENT_ready:
                return hear_ready(s, &m.ready);
        case AGENT_gone:
                hear_gone(s, m.id);
                return 0;
        case AGENT_ping:
                m.type = AGENT_pong;
                say(s, &m);
                return 0;
        case AGENT_pong:
                if (m.token == s->pinged_ns)
                        s->latency_us = (cay_clock_ns() - s->pinged_ns) / 1000;
                return 0;
        case AGENT_answer:
                return hear_answer(s, &m);
        case AGENT_data:
        case AGENT_credit:
        case AGENT_end:
                return agent_channels_hear(&s->channels, &m);
        default:
                return -EPROTO;
        }
}

void cay_remote_session_charge(struct cay_remote_session *s, struct cay_budget *budget)
{
        s->channels.budget = budget;
}

void cay_remote_session_drained(struct cay_remote_session *s)
{
        agent_channels_drained(&s->channels);
}

/* Life */

struct cay_remote_session *cay_remote_session_new(struct cay_engine *engine, const char *owner,
                                                  const char *machine,
                                                  const struct cay_remote_transport *transport, void *ctx)
{
        struct cay_engine_remote *e = cay_container_of(engine, struct cay_engine_remote, engine);
        struct cay_remote_session *old = remote_find_machine(e, owner, machine), *s;

        if (old) /* a machine that lost its connection may notice first */
                remote_session_hang_up(old, "the machine has connected again");
        if (e->session_count >= CAY_REMOTE_SESSIONS_MAX || !(s = calloc(1, sizeof(*s))))
                return NULL;
        s->engine = e;
        s->transport = transport;
        s->ctx = ctx;
        s->channels = (struct agent_channels){ .loop = e->loop, .send = send_channel };
        s->since_ms = s->heard_ms = cay_clock_ms();
        cay_str_copy(s->owner, sizeof(s->owner), owner);
        cay_str_copy(s->machine, sizeof(s->machine), machine);
        if (cay_timer_set(e->loop, &s->beat, 0, on_beat) < 0) {
                free(s);
                return NULL;
        }
        s->next = e->sessions;
        e->sessions = s;
        e->session_count++;
        return s;
}

void cay_remote_session_end(struct cay_remote_session *s)
{
        struct cay_engine_remote *e = s->engine;
        struct cay_remote_session **at = &e->sessions;
        struct cay_error err = { 0 };

        while (*at != s)
                at = &(*at)->next;
        *at = s->next;
        e->session_count--;
        cay_timer_clear(&s->beat);
        agent_channels_done(&s->channels);
        cay_fail(&err, CAY_UNAVAILABLE, "machine '%s' went away", s->machine);
        while (s->calls) {
                struct remote_call *c = s->calls;

                s->calls = c->next;
                c->channel = 0;
                if (agent_ask_has_channel(c->what) && c->box->link_fd >= 0)
                        close(cay_take_fd(c->box->link_fd));
                finish_call(s, c, &err);
        }
        while (s->boxes) {
                struct remote_box *b = s->boxes;

                s->boxes = b->next;
                free_box(b);
        }
        free(s);
}
