/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-agent/peer.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "cay-agent/agent.h"
#include "domain/auth/digest.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"

#define SILENT_BEATS 3u
#define CHALLENGE_SIGNED (AGENT_HEAD + 2 + AGENT_KEY + AGENT_NONCE)

static void fail(struct agent_peer *p, const char *why)
{
        p->on_fail(p, why);
}

static void on_late(struct cay_timer *t)
{
        fail(cay_container_of(t, struct agent_peer, timer), "no answer came in time");
}

void agent_peer_wait(struct agent_peer *p)
{
        cay_timer_set(p->agent->loop, &p->timer, AGENT_PATIENCE_MS, on_late);
}

void agent_peer_end(struct agent_peer *p)
{
        cay_timer_clear(&p->timer);
        p->step = AGENT_STEP_OPEN;
}

/* Proofs */

static void fill_hello(const struct agent_peer *p, struct agent_hello *h)
{
        const struct agent *a = p->agent;
        struct utsname u;

        h->version = AGENT_VERSION;
        memcpy(h->key, a->state.pair.key, sizeof(h->key));
        if (!a->state.is_paired)
                memcpy(h->code_id, a->code, AGENT_CODE_ID);
        if (p->has_knocked) /* it may be anybody */
                return;
        cay_str_copy(h->name, sizeof(h->name), a->options.name);
        if (uname(&u) == 0)
                snprintf(h->about, sizeof(h->about), "%.30s %.40s %.20s, cay %s", u.sysname, u.release,
                         u.machine, CAY_VERSION);
}

void agent_peer_begin(struct agent_peer *p)
{
        struct agent_message m = { .type = AGENT_hello };
        int len;

        fill_hello(p, &m.hello);
        if (cay_digest_random(m.hello.nonce, sizeof(m.hello.nonce)) < 0 ||
            (len = agent_message_write(&m, p->said, sizeof(p->said))) < 0 ||
            cay_ws_send(p->ws, CAY_WS_BINARY, p->said, (size_t)len) < 0) {
                fail(p, "the first message could not be sent");
                return;
        }
        p->hello_len = (size_t)len;
        p->step = AGENT_STEP_CHALLENGE;
}

/* The daemon proves itself first. */
static bool is_proven(const struct agent_peer *p, const struct agent_challenge *c)
{
        const struct agent *a = p->agent;
        size_t len = p->hello_len + CHALLENGE_SIGNED;
        uint8_t mac[AGENT_MAC];

        if (!cay_proof_is_signed(c->key, "daemon", p->said, len, c->signature))
                return false;
        if (a->state.is_paired)
                return memcmp(c->key, a->state.daemon, sizeof(c->key)) == 0;
        return cay_proof_mac(a->code, "daemon", p->said, len, mac) == 0 &&
               cay_digest_equal(mac, c->mac, sizeof(mac));
}

static void distrust(struct agent_peer *p)
{
        struct agent *a = p->agent;

        if (p->has_knocked)
                fail(p, a->state.is_paired
                                ? "who connected is not the daemon that this machine was paired with"
                                : "who connected does not know the pairing code");
        /* somebody else answers there: it learns nothing, and may go away again */
        else if (a->state.is_paired)
                fail(p, "the server is not the daemon that this machine was paired with");
        else
                agent_leave(
                        a, 1,
                        "the pairing code is wrong, was used, or is too old, or this is not the daemon that "
                        "made it");
}

static int say_proof(struct agent_peer *p)
{
        const struct agent *a = p->agent;
        struct agent_message m = { .type = AGENT_proof };
        uint8_t bytes[AGENT_SMALL_MAX];
        int len;

        if (cay_proof_sign(&a->state.pair, "agent", p->said, p->said_len, m.proof.signature) < 0 ||
            (a->state.is_paired ? cay_digest_random(m.proof.mac, sizeof(m.proof.mac))
                                : cay_proof_mac(a->code, "agent", p->said, p->said_len, m.proof.mac)) < 0)
                return -1;
        len = agent_message_write(&m, bytes, sizeof(bytes));
        return len > 0 && cay_ws_send(p->ws, CAY_WS_BINARY, bytes, (size_t)len) >= 0 ? 0 : -1;
}

static void hear_challenge(struct agent_peer *p, const struct agent_challenge *c, const void *bytes,
                           size_t len)
{
        if (p->hello_len + len > sizeof(p->said) || c->version != AGENT_VERSION) {
                fail(p, c->version < AGENT_VERSION
                                ? "the daemon is older than this agent (cay " CAY_VERSION
                                  "): upgrade the daemon, or install its version of cay here"
                                : "the daemon speaks a version that this agent does not know");
                return;
        }
        memcpy(p->said + p->hello_len, bytes, len);
        p->said_len = p->hello_len + len;
        if (!is_proven(p, c)) {
                distrust(p);
                return;
        }
        memcpy(p->daemon, c->key, sizeof(p->daemon));
        if (say_proof(p) < 0) {
                fail(p, "the proof could not be sent");
                return;
        }
        p->step = AGENT_STEP_WELCOME;
}

/* Being served */

/* The daemon sends PING; one that falls silent is gone, whatever TCP says. */
static void on_silence(struct cay_timer *t)
{
        struct agent_peer *p = cay_container_of(t, struct agent_peer, timer);
        uint64_t quiet = cay_clock_ms() - p->heard_ms, most = (uint64_t)p->heartbeat_ms * SILENT_BEATS;

        if (!agent_is_well(p->agent))
                return;
        if (quiet >= most)
                fail(p, "nothing was heard of the daemon");
        else
                cay_timer_set(p->agent->loop, t, most - quiet, on_silence);
}

static void hear_welcome(struct agent_peer *p, const struct agent_welcome *w)
{
        p->heartbeat_ms = w->heartbeat_ms >= 100 ? w->heartbeat_ms : 100;
        p->welcomed_ms = p->heard_ms = cay_clock_ms();
        p->step = AGENT_STEP_SERVING;
        cay_timer_set(p->agent->loop, &p->timer, (uint64_t)p->heartbeat_ms * SILENT_BEATS, on_silence);
        agent_welcomed(p->agent, p, w->name);
}

/*
 * Before its proof anybody may say it: that ends nothing. Only that this agent is too old is said instead of
 * a proof, and counts from where the agent dialled.
 */
static void hear_refused(struct agent_peer *p, const struct agent_refused *r)
{
        bool is_proven = p->step >= AGENT_STEP_WELCOME;
        char why[AGENT_TEXT_MAX + 16];

        snprintf(why, sizeof(why), "refused: %s", r->text);
        if ((is_proven && (r->code == CAY_DENIED || r->code == CAY_UNSUPPORTED)) ||
            (!p->has_knocked && r->code == CAY_UNSUPPORTED))
                agent_leave(p->agent, 1, why);
        else
                fail(p, is_proven ? r->text : why);
}

void agent_peer_hear(struct agent_peer *p, const void *bytes, size_t len)
{
        struct agent_message m;

        if (agent_message_read(bytes, len, AGENT_DAEMON, &m) < 0) {
                fail(p, "the daemon broke the protocol");
                return;
        }
        p->heard_ms = cay_clock_ms();
        if (m.type == AGENT_refused)
                hear_refused(p, &m.refused);
        else if (p->step == AGENT_STEP_CHALLENGE && m.type == AGENT_challenge)
                hear_challenge(p, &m.challenge, bytes, len);
        else if (p->step == AGENT_STEP_WELCOME && m.type == AGENT_welcome)
                hear_welcome(p, &m.welcome);
        else if (p->step != AGENT_STEP_SERVING || agent_hear_served(p->agent, &m) < 0)
                fail(p, "the daemon broke the protocol");
}
