/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-front/front_agents.h"

#include <stdlib.h>
#include <string.h>

#include "domain/auth/digest.h"
#include "domain/model/port_clock.h"
#include "domain/sandboxes/service.h"
#include "engines/engine_list.h"
#include "engines/remote/remote.h"
#include "foundation/base/clock.h"
#include "foundation/base/log.h"
#include "foundation/base/phase.h"
#include "foundation/base/str.h"
#include "foundation/http/ws.h"
#include "links/agent/agent_channels.h"
#include "links/agent/agent_message.h"

#define UNPROVEN_MAX 64u
#define PROOF_MS 10000u
/*
 * Events of one machine: so many at once, and one in so long. One that keeps coming and going fills no
 * journal.
 */
#define NEWS_MANY 20u
#define NEWS_EVERY_MS 3000u
#define CHALLENGE_SIGNED                                                                                     \
        (AGENT_HEAD + 2 + AGENT_KEY + AGENT_NONCE) /* of its bytes: all before the signature */

struct cay_front_agents {
        struct cay_front_agents_env env;
        struct cay_rest_more row;
        struct agent_conn *conns;
        unsigned unproven;
        bool stopping;
};

enum step { AWAIT_HELLO, AWAIT_PROOF, STORING, PROVEN, OVER, STEP_COUNT }; /* what it waits for */

static const struct cay_phase_row steps[STEP_COUNT] = {
        [AWAIT_HELLO] = { "await hello", CAY_PHASE_BIT(AWAIT_PROOF) | CAY_PHASE_BIT(OVER) },
        [AWAIT_PROOF] = { "await proof",
                          CAY_PHASE_BIT(STORING) | CAY_PHASE_BIT(PROVEN) | CAY_PHASE_BIT(OVER) },
        [STORING] = { "storing", CAY_PHASE_BIT(AWAIT_PROOF) | CAY_PHASE_BIT(PROVEN) | CAY_PHASE_BIT(OVER) },
        [PROVEN] = { "proven", CAY_PHASE_BIT(OVER) },
        [OVER] = { "over", 0 },
};
static const struct cay_phase_table step_table = { "agent connection", steps, STEP_COUNT };

struct agent_conn {
        struct cay_front_agents *all;
        struct agent_conn *next, **back;
        struct cay_ws ws;
        struct cay_timer timer; /* for the proof */
        struct cay_deferred release, cut;
        enum step step; /* only move() writes it */
        bool is_pairing, is_dialled;
        char address[64]; /* of its peer, while it is not proven; "": dialled, or a local user */
        struct cay_budget_owner *payer;   /* once proven; NULL: nobody counts */
        struct cay_front_dialled dialled; /* by us, if is_dialled: its strings are these: */
        char wanted_owner[CAY_NAME_MAX + 1], wanted_name[CAY_NAME_MAX + 1];
        uint8_t key[AGENT_KEY];                               /* that it claims */
        char owner[CAY_NAME_MAX + 1], name[CAY_NAME_MAX + 1]; /* "": no machine that we know */
        char about[AGENT_ABOUT_MAX + 1];
        uint8_t said[AGENT_SMALL_MAX]; /* HELLO, then CHALLENGE */
        size_t hello_len, said_len;
        struct cay_remote_session *session; /* once proven */
        struct cay_store_commit commit;
        struct cay_machine paired; /* while it is being stored */
        char end[CAY_WS_REASON_MAX + 1];
};

static void move(struct agent_conn *c, enum step to)
{
        c->step = (enum step)cay_phase_move(&step_table, c->step, to, c->name);
}

static uint64_t wall_ms(const struct cay_front_agents *a)
{
        struct cay_clock_reading now;

        a->env.clock->read(a->env.clock, &now);
        return now.wall_ms;
}

/* The journal */

static void tell_news(struct cay_front_agents *a, const char *owner, const char *name,
                      enum cay_machine_news news, const char *what, const char *value)
{
        struct cay_machine *m = cay_machines_find(a->env.machines, owner, name);
        uint64_t now = cay_clock_ms();

        if (!*a->env.service || a->stopping)
                return;
        if (m) {
                if (m->news_ms < now)
                        m->news_ms = now;
                if (m->news_ms > now + (uint64_t)NEWS_MANY * NEWS_EVERY_MS)
                        return;
                m->news_ms += NEWS_EVERY_MS;
        }
        cay_service_machine_news(*a->env.service, owner, name, news, what, value);
}

/* Ends */

static void free_conn(struct cay_deferred *d)
{
        struct agent_conn *c = cay_container_of(d, struct agent_conn, release);

        cay_budget_owner_put(c->payer);
        explicit_bzero(c, sizeof(*c));
        free(c);
}

static void stop_counting(struct agent_conn *c)
{
        if (c->step < PROVEN && !c->is_dialled)
                c->all->unproven--;
        cay_timer_clear(&c->timer);
}

/* A commit under way keeps the memory until it is done. */
static void let_go(struct agent_conn *c)
{
        bool storing = c->step == STORING, was_served = c->session != NULL;

        if (c->step == OVER)
                return;
        stop_counting(c);
        if (c->session) {
                struct cay_machine *m = cay_machines_find(c->all->env.machines, c->owner, c->name);

                cay_log_info("machine away", "owner=%s machine=%s why=%s", c->owner, c->name, c->end);
                if (m) {
                        m->seen_wall_ms = wall_ms(c->all);
                        cay_str_copy(m->problem, sizeof(m->problem), c->end);
                        if (!m->is_off)
                                tell_news(c->all, c->owner, c->name, CAY_MACHINE_AWAY, "why", c->end);
                }
                cay_remote_session_end(cay_take(c->session));
        }
        *c->back = c->next;
        if (c->next)
                c->next->back = c->back;
        move(c, OVER);
        c->release.run = free_conn;
        if (c->is_dialled)
                c->dialled.on_end(c->dialled.ctx, c->end, was_served);
        if (!storing)
                cay_loop_defer(c->all->env.loop, &c->release);
}

static void on_closed(struct cay_ws *ws, unsigned code, const char *reason)
{
        struct agent_conn *c = cay_container_of(ws, struct agent_conn, ws);
        char theirs[AGENT_TEXT_MAX + 1]; /* shown to people */

        agent_text_set(theirs, reason);
        if (!c->end[0])
                snprintf(c->end, sizeof(c->end), "%.*s", (int)sizeof(c->end) - 1,
                         theirs[0]             ? theirs
                         : code == CAY_WS_LOST ? "the connection was lost"
                                               : "it left");
        let_go(c);
}

/* Told from now on: the machine counts as away before its connection has ended. */
static void note_problem(struct agent_conn *c)
{
        struct cay_machine *m =
                c->session ? cay_machines_find(c->all->env.machines, c->owner, c->name) : NULL;

        if (m)
                cay_str_copy(m->problem, sizeof(m->problem), c->end);
}

/* Whoever dialled tries again: no time is lost with a closing handshake. What was sent still goes out. */
static void on_cut(struct cay_deferred *d)
{
        struct agent_conn *c = cay_container_of(d, struct agent_conn, cut);

        if (c->step == OVER)
                return;
        cay_ws_abort(&c->ws);
        let_go(c);
}

/* on_closed follows: after the closing handshake, or after a while without one. */
static void hang_up(void *ctx, const char *why)
{
        struct agent_conn *c = ctx;

        if (!c->end[0])
                snprintf(c->end, sizeof(c->end), "%s", why);
        note_problem(c);
        cay_ws_close(&c->ws, CAY_WS_GOING_AWAY, why);
        if (c->is_dialled && !c->cut.run) {
                c->cut.run = on_cut;
                cay_loop_defer(c->all->env.loop, &c->cut);
        }
}

static ssize_t send_ws(void *ctx, const void *bytes, size_t len)
{
        struct agent_conn *c = ctx;
        ssize_t r = cay_ws_send(&c->ws, CAY_WS_BINARY, bytes, len);

        if (r < 0 && cay_ws_is_open(&c->ws)) /* bytes are missing now: the agent begins again */
                hang_up(c, "there is no room for more");
        if (r >= (ssize_t)AGENT_QUEUED_HIGH)
                cay_ws_ask_drain(&c->ws);
        return r;
}

static const struct cay_remote_transport transport = { .send = send_ws, .hang_up = hang_up };

static int say(struct agent_conn *c, const struct agent_message *m)
{
        uint8_t bytes[AGENT_SMALL_MAX];
        int len = agent_message_write(m, bytes, sizeof(bytes));

        return len > 0 && cay_ws_send(&c->ws, CAY_WS_BINARY, bytes, (size_t)len) >= 0 ? 0 : -1;
}

static void refuse(struct agent_conn *c, enum cay_code code, const char *why)
{
        struct agent_message m = { .type = AGENT_refused, .refused.code = (uint8_t)code };

        agent_text_set(m.refused.text, why);
        cay_log_info("agent refused", "machine=%s owner=%s why=%s", c->name, c->owner, why);
        say(c, &m);
        snprintf(c->end, sizeof(c->end), "%.*s", (int)sizeof(c->end) - 1, why);
        cay_ws_close(&c->ws, CAY_WS_REFUSED, "refused");
}

static void on_patience(struct cay_timer *t)
{
        hang_up(cay_container_of(t, struct agent_conn, timer), "no proof came");
}

/* Proofs */

static struct cay_machine *find_machine(struct agent_conn *c)
{
        struct cay_machine *m =
                c->name[0] ? cay_machines_find(c->all->env.machines, c->owner, c->name) : NULL;

        return m && !m->is_leaving ? m : NULL;
}

static int make_challenge(struct agent_conn *c, const char *code, struct agent_message *m)
{
        const struct cay_proof_pair *pair = c->all->env.pair;
        uint8_t bytes[AGENT_SMALL_MAX];
        size_t len = c->hello_len + CHALLENGE_SIGNED;
        int n;

        *m = (struct agent_message){ .type = AGENT_challenge, .challenge.version = AGENT_VERSION };
        memcpy(m->challenge.key, pair->key, sizeof(m->challenge.key));
        if (cay_digest_random(m->challenge.nonce, sizeof(m->challenge.nonce)) < 0 ||
            cay_digest_random(m->challenge.mac, sizeof(m->challenge.mac)) < 0)
                return -1;
        n = agent_message_write(m, bytes, sizeof(bytes));
        if (n < 0 || len > sizeof(c->said))
                return -1;
        memcpy(c->said + c->hello_len, bytes, CHALLENGE_SIGNED);
        if (cay_proof_sign(pair, "daemon", c->said, len, m->challenge.signature) < 0 ||
            (code && cay_proof_mac(code, "daemon", c->said, len, m->challenge.mac) < 0))
                return -1;
        n = agent_message_write(m, bytes, sizeof(bytes));
        if (n < 0 || c->hello_len + (size_t)n > sizeof(c->said))
                return -1;
        memcpy(c->said + c->hello_len, bytes, (size_t)n);
        c->said_len = c->hello_len + (size_t)n;
        return 0;
}

/*
 * Whose key it claims, which it cannot prove: the text is the daemon's own, and one who is connected is not
 * concerned.
 */
static void refuse_old(struct agent_conn *c, const struct agent_hello *h)
{
        struct cay_machine *m = cay_machines_find_key(c->all->env.machines, h->key);
        struct cay_remote_facts ignored;

        if (m && !cay_remote_find(c->all->env.engine, m->owner, m->name, &ignored))
                snprintf(m->problem, sizeof(m->problem),
                         "its agent is too old for this daemon: install cay %s there", CAY_VERSION);
        refuse(c, CAY_UNSUPPORTED,
               "this agent is too old for the daemon: install cay " CAY_VERSION ", the daemon's version");
}

static void hear_hello(struct agent_conn *c, const struct agent_hello *h, const void *bytes, size_t len)
{
        struct cay_machines *all = c->all->env.machines;
        struct cay_machine *m;
        struct agent_message out;

        if (h->version < AGENT_VERSION) {
                refuse_old(c, h);
                return;
        }
        c->is_pairing = h->code_id[0] != '\0';
        m = c->is_pairing ? cay_machines_find_code(all, h->code_id, wall_ms(c->all))
                          : cay_machines_find_key(all, h->key);
        if (m && h->name[0] && strcmp(h->name, m->name) != 0)
                m = NULL;
        if (m && c->is_dialled &&
            (strcmp(m->owner, c->wanted_owner) != 0 || strcmp(m->name, c->wanted_name) != 0))
                m = NULL;
        if (m) {
                cay_str_copy(c->owner, sizeof(c->owner), m->owner);
                cay_str_copy(c->name, sizeof(c->name), m->name);
        }
        memcpy(c->key, h->key, sizeof(c->key));
        cay_str_copy(c->about, sizeof(c->about), h->about);
        memcpy(c->said, bytes, len);
        c->hello_len = len;
        if (make_challenge(c, m && c->is_pairing ? m->code : NULL, &out) < 0 || say(c, &out) < 0) {
                hang_up(c, "the daemon cannot prove itself now");
                return;
        }
        move(c, AWAIT_PROOF);
}

static bool is_proven(struct agent_conn *c, const struct agent_proof *p, struct cay_machine *m)
{
        uint8_t mac[AGENT_MAC];

        if (!cay_proof_is_signed(c->key, "agent", c->said, c->said_len, p->signature) || !m)
                return false;
        if (!c->is_pairing)
                return m->paired_wall_ms > 0 && memcmp(m->key, c->key, sizeof(c->key)) == 0;
        if (!m->code[0] || cay_proof_mac(m->code, "agent", c->said, c->said_len, mac) < 0)
                return false;
        return cay_digest_equal(mac, p->mac, sizeof(mac));
}

/* Being let in */

/* What is kept for it counts for its owner, no more among strangers. */
static void pay(struct agent_conn *c)
{
        struct cay_budgets *budgets = c->all->env.budgets;

        cay_duplex_own(c->ws.duplex, c->owner);
        c->payer = budgets ? cay_budget_owner_get(budgets, c->owner) : NULL;
        if (c->payer)
                cay_remote_session_charge(c->session, &c->payer->budget);
}

/* An agent that was dialled says nothing about its machine. Stored with the machine's next change. */
static void take_about(struct agent_conn *c)
{
        struct cay_machine *m = find_machine(c);

        if (c->about[0])
                cay_str_copy(m->about, sizeof(m->about), c->about);
        m->problem[0] = '\0';
}

static void let_in(struct agent_conn *c)
{
        struct agent_message m = { .type = AGENT_welcome, .welcome.heartbeat_ms = c->all->env.heartbeat_ms };

        cay_str_copy(m.welcome.name, sizeof(m.welcome.name), c->name);
        if (say(c, &m) < 0) {
                hang_up(c, "there is no room for more");
                return;
        }
        c->session = cay_remote_session_new(c->all->env.engine, c->owner, c->name, &transport, c);
        if (!c->session) {
                hang_up(c, "the daemon has no room for another machine");
                return;
        }
        stop_counting(c);
        move(c, PROVEN);
        pay(c);
        take_about(c);
        if (c->is_dialled)
                c->dialled.on_served(c->dialled.ctx);
        cay_log_info("machine connected", "owner=%s machine=%s about=%s", c->owner, c->name, c->about);
}

static void on_stored(struct cay_job *job)
{
        struct agent_conn *c = cay_container_of(job, struct agent_conn, commit.job);
        const struct cay_machine *now =
                cay_machines_find(c->all->env.machines, c->paired.owner, c->paired.name);
        struct cay_error err = job->err;
        char print[CAY_PROOF_PRINT];

        /* It may have been removed meanwhile, or that is being stored. */
        if (err.code == CAY_OK && (!now || now->is_leaving))
                cay_fail(&err, CAY_NOT_FOUND, "the machine was removed");
        if (err.code == CAY_OK)
                cay_machines_put(c->all->env.machines, &c->paired, &err);
        if (c->step == OVER) {
                cay_loop_defer(c->all->env.loop, &c->release);
                return;
        }
        if (err.code != CAY_OK) {
                move(c, AWAIT_PROOF);
                refuse(c, err.code, err.msg);
                return;
        }
        cay_log_info("machine paired", "owner=%s machine=%s", c->owner, c->name);
        cay_proof_print(c->key, print);
        tell_news(c->all, c->owner, c->name, CAY_MACHINE_PAIRED, "fingerprint", print);
        let_in(c);
}

static void store_pairing(struct agent_conn *c, const struct cay_machine *m)
{
        struct cay_store *store = c->all->env.store;
        cay_auto_buf struct cay_buf record = { 0 };
        char name[CAY_MACHINE_RECORD_NAME];
        struct cay_store_batch *b;

        c->paired = *m;
        c->paired.paired_wall_ms = wall_ms(c->all);
        c->paired.code[0] = '\0';
        memcpy(c->paired.key, c->key, sizeof(c->key));
        cay_str_copy(c->paired.about, sizeof(c->paired.about), c->about);
        cay_machine_record_name(&c->paired, name);
        cay_buf_init(&record, CAY_MACHINE_RECORD_MAX);
        if (cay_machine_record(&c->paired, &record) < 0) {
                refuse(c, CAY_INTERNAL, "the pairing could not be written");
                return;
        }
        move(c, STORING);
        cay_timer_clear(&c->timer);
        cay_job_init(&c->commit.job, on_stored);
        b = store->ops->begin(store);
        cay_store_put_value(store, b, name, cay_buf_data(&record));
        store->ops->commit(store, b, CAY_STORE_SURE, &c->commit);
}

static void hear_proof(struct agent_conn *c, const struct agent_proof *p)
{
        struct cay_machine *m = find_machine(c);

        if (!is_proven(c, p, m)) {
                if (m && c->is_pairing)
                        m->tries++;
                refuse(c, CAY_DENIED,
                       c->is_pairing
                               ? "the pairing code is wrong, was used, or is too old: `cay remote add` makes "
                                 "another"
                               : "this daemon does not know this machine: pair it with `cay remote add`");
                return;
        }
        if (m->is_off)
                refuse(c, CAY_UNAVAILABLE,
                       "its owner disconnected this machine; `cay remote connect` lets it in again");
        else if (c->is_pairing)
                store_pairing(c, m);
        else
                let_in(c);
}

static size_t on_message(struct cay_ws *ws, enum cay_ws_opcode kind, const void *bytes, size_t len)
{
        struct agent_conn *c = cay_container_of(ws, struct agent_conn, ws);
        struct agent_message m;

        if (kind != CAY_WS_BINARY) {
                hang_up(c, "only binary messages are expected");
        } else if (c->session) {
                if (cay_remote_session_hear(c->session, bytes, len) < 0)
                        hang_up(c, "the agent broke the protocol");
        } else if (agent_message_read(bytes, len, AGENT_AGENT, &m) < 0) {
                hang_up(c, "the agent broke the protocol");
        } else if (c->step == AWAIT_HELLO && m.type == AGENT_hello) {
                hear_hello(c, &m.hello, bytes, len);
        } else if (c->step == AWAIT_PROOF && m.type == AGENT_proof) {
                hear_proof(c, &m.proof);
        } else {
                hang_up(c, "the agent broke the protocol");
        }
        return len;
}

static void on_drain(struct cay_ws *ws)
{
        struct agent_conn *c = cay_container_of(ws, struct agent_conn, ws);

        if (c->session)
                cay_remote_session_drained(c->session);
}

static const struct cay_ws_ops ws_ops = { .on_message = on_message,
                                          .on_drain = on_drain,
                                          .on_closed = on_closed };

/* Accepting and being dialled */

static const char *why_not(const struct cay_front_agents *a)
{
        if (!a->env.engine || !a->env.pair)
                return "this daemon takes no agents: its log says why";
        if (a->stopping)
                return "the daemon stops";
        return NULL;
}

static bool is_waiting(const struct agent_conn *c)
{
        return !c->is_dialled && (c->step == AWAIT_HELLO || c->step == AWAIT_PROOF);
}

static unsigned count_of(const struct cay_front_agents *a, const char *address)
{
        unsigned count = 0;

        for (const struct agent_conn *c = a->conns; c; c = c->next)
                count += is_waiting(c) && strcmp(c->address, address) == 0;
        return count;
}

/* The list begins with the newest. */
static void make_room(struct cay_front_agents *a)
{
        struct agent_conn *victim = NULL;
        unsigned most = 0;

        for (struct agent_conn *c = a->conns; c; c = c->next) {
                unsigned count = is_waiting(c) ? count_of(a, c->address) : 0;

                if (count > 0 && count >= most) {
                        most = count;
                        victim = c;
                }
        }
        if (!victim)
                return; /* all of them are being stored */
        cay_str_copy(victim->end, sizeof(victim->end), "too many agents are connecting");
        cay_ws_abort(&victim->ws);
        let_go(victim);
}

static struct agent_conn *new_conn(struct cay_front_agents *a)
{
        struct agent_conn *c = calloc(1, sizeof(*c));

        if (c && cay_timer_set(a->env.loop, &c->timer, PROOF_MS, on_patience) < 0) {
                free(c);
                return NULL;
        }
        if (c)
                c->all = a;
        return c;
}

static void list_conn(struct agent_conn *c)
{
        struct cay_front_agents *a = c->all;

        c->next = a->conns;
        c->back = &a->conns;
        if (c->next)
                c->next->back = &c->next;
        a->conns = c;
}

static void handle(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                   const struct cay_visitor *v)
{
        static const struct cay_ws_options options = { .message_max = AGENT_MAX };
        struct cay_front_agents *a = (struct cay_front_agents *)owner;
        const struct cay_http_fault *fault = cay_ws_check(req);
        const char *why = why_not(a);
        struct agent_conn *c;

        (void)place;
        if (fault || why) {
                cay_rest_refuse(req, fault ? fault->status : 503, fault ? fault->text : why, v->request_id);
                return;
        }
        if (a->unproven >= UNPROVEN_MAX)
                make_room(a);
        c = a->unproven < UNPROVEN_MAX ? new_conn(a) : NULL;
        if (!c) {
                cay_rest_refuse(req, 503, "no memory is left: try again in a moment", v->request_id);
                return;
        }
        cay_str_copy(c->address, sizeof(c->address), req->peer.address);
        if (cay_ws_accept(&c->ws, req, a->env.loop, NULL, &options, &ws_ops) < 0) {
                cay_timer_clear(&c->timer);
                free(c);
                return;
        }
        a->unproven++;
        list_conn(c);
}

int cay_front_agents_open_take(struct cay_front_agents *a, struct cay_duplex *duplex,
                               const struct cay_buf *early, const struct cay_front_dialled *who)
{
        static const struct cay_ws_options options = { .message_max = AGENT_MAX };
        struct agent_conn *c = a->stopping || !a->env.engine ? NULL : new_conn(a);

        if (!c) {
                cay_duplex_close(duplex);
                return -1;
        }
        c->is_dialled = true;
        c->dialled = *who;
        cay_str_copy(c->wanted_owner, sizeof(c->wanted_owner), who->owner);
        cay_str_copy(c->wanted_name, sizeof(c->wanted_name), who->name);
        c->dialled.owner = c->wanted_owner;
        c->dialled.name = c->wanted_name;
        list_conn(c);
        cay_ws_open(&c->ws, duplex, a->env.loop, CAY_WS_CLIENT, &options, &ws_ops);
        if (early->len > 0) /* the agent speaks first */
                duplex->user->ops->on_data(duplex->user, cay_buf_data(early), early->len);
        return 0;
}

/* For the engine */

static bool is_known(void *ctx, const char *owner, const char *machine)
{
        return cay_machines_find(((struct cay_front_agents *)ctx)->env.machines, owner, machine) != NULL;
}

/* Before there is a service, nothing is known of its records: it is asked again when there is. */
static bool may_have(void *ctx, const char *owner, const char *machine, const char *id)
{
        struct cay_front_agents *a = ctx;

        return !*a->env.service ||
               cay_service_machine_may_have(*a->env.service, cay_engine_infos[CAY_ENGINE_remote].name, owner,
                                            machine, id);
}

static void on_ready(void *ctx, const char *owner, const char *machine)
{
        struct cay_front_agents *a = ctx;

        if (!*a->env.service)
                return;
        tell_news(a, owner, machine, CAY_MACHINE_CONNECTED, NULL, NULL);
        cay_service_machine_back(*a->env.service, cay_engine_infos[CAY_ENGINE_remote].name, owner, machine);
}

int cay_front_agents_new(const struct cay_front_agents_env *env, struct cay_front_agents **ret,
                         struct cay_error *err)
{
        struct cay_front_agents *a = calloc(1, sizeof(*a));

        if (!a)
                return cay_fail(err, CAY_INTERNAL, "no memory for agents");
        a->env = *env;
        a->row = (struct cay_rest_more){
                .row = "GET " AGENT_PATH, .is_open = true, .handle = handle, .owner = a
        };
        if (env->engine)
                cay_engine_remote_set(env->engine,
                                      &(struct cay_remote_env){ .is_known = is_known,
                                                                .on_ready = on_ready,
                                                                .may_have = may_have,
                                                                .ctx = a,
                                                                .heartbeat_ms = env->heartbeat_ms });
        *ret = a;
        return 0;
}

void cay_front_agents_stop(struct cay_front_agents *a)
{
        struct agent_conn *next;

        if (!a)
                return;
        a->stopping = true;
        for (struct agent_conn *c = a->conns; c; c = next) {
                next = c->next;
                hang_up(c, "the daemon stops");
        }
}

void cay_front_agents_close(struct cay_front_agents *a)
{
        while (a && a->conns) {
                struct agent_conn *c = a->conns;

                cay_ws_abort(&c->ws);
                let_go(c);
        }
}

void cay_front_agents_free(struct cay_front_agents *a)
{
        free(a);
}

void cay_front_agents_tell(struct cay_front_agents *a)
{
        if (a->env.engine)
                cay_remote_tell_ready(a->env.engine);
}

const struct cay_rest_more *cay_front_agents_row(const struct cay_front_agents *a)
{
        return &a->row;
}

/* For ops */

bool cay_front_agents_facts(void *ctx, const char *owner, const char *name, struct cay_machine_facts *ret)
{
        const struct cay_front_agents *a = ctx;
        struct cay_remote_facts f;
        uint64_t now = cay_clock_ms(), wall = wall_ms(a);

        if (!a->env.engine || !cay_remote_find(a->env.engine, owner, name, &f) || !f.is_ready)
                return false;
        *ret = (struct cay_machine_facts){ .since_wall_ms = wall - (now - f.since_ms),
                                           .heard_wall_ms = wall - (now - f.heard_ms),
                                           .latency_us = f.latency_us,
                                           .boxes = f.boxes,
                                           .holds = f.holds,
                                           .is_open = f.is_open };
        return true;
}

void cay_front_agents_disconnect(void *ctx, const char *owner, const char *name)
{
        struct cay_front_agents *a = ctx;

        tell_news(a, owner, name, CAY_MACHINE_OFF, NULL, NULL);
        if (a->env.engine)
                cay_remote_hang_up(a->env.engine, owner, name, "its owner disconnected it");
}

void cay_front_agents_forget(void *ctx, const char *owner, const char *name)
{
        struct cay_front_agents *a = ctx;

        tell_news(a, owner, name, CAY_MACHINE_REMOVED, NULL, NULL);
        if (a->env.engine)
                cay_remote_forget(a->env.engine, owner, name, "the machine was removed");
}
