/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepts agents of users' machines (GET /agent, a WebSocket) and hands proven ones to the remote engine.
 *
 * Theory of operation. Anybody may open the WebSocket; what follows proves who it is. HELLO names the agent's
 * key and, while it is being paired, the first characters of its code. The daemon's CHALLENGE proves the
 * daemon first: its key's signature, and for pairing a MAC by the code. The agent's PROOF does the same. A
 * stranger is led through the same messages as a known agent and refused at the end, so it does not learn
 * which machines there are. A pairing is stored before it is answered.
 *
 * Connections that are not proven are few and short-lived. When there are too many, the oldest of the address
 * that has the most of them ends for the next one: who holds them all loses them again, and an agent from
 * elsewhere, which needs a moment, gets in. Once proven, a connection is charged to its machine's owner.
 */
#pragma once

#include "dialects/rest/rest.h"
#include "domain/auth/machines.h"
#include "domain/model/port_store.h"

struct cay_engine;
struct cay_service;
struct cay_front_agents;

struct cay_front_agents_env { /* borrowed: outlives it */
        struct cay_loop *loop;
        struct cay_engine *engine; /* remote; NULL: there is none */
        struct cay_machines *machines;
        struct cay_store *store;
        const struct cay_clock *clock;
        const struct cay_proof_pair *pair; /* of this daemon; NULL: it has none */
        struct cay_service **service;      /* filled when there is one */
        struct cay_budgets *budgets;       /* NULL: nothing is counted */
        uint32_t heartbeat_ms;
};

int cay_front_agents_new(const struct cay_front_agents_env *env, struct cay_front_agents **ret,
                         struct cay_error *err);
void cay_front_agents_stop(struct cay_front_agents *a); /* ends all connections; accepts NULL */
void cay_front_agents_free(struct cay_front_agents *a); /* accepts NULL; after the loop's last round */
void cay_front_agents_tell(
        struct cay_front_agents *a); /* the service is ready: machines that are there can be used */
const struct cay_rest_more *cay_front_agents_row(const struct cay_front_agents *a);

struct cay_front_dialled {        /* a connection that the daemon dialled; strings are copied */
        const char *owner, *name; /* only this machine's agent is let in */
        void (*on_served)(void *ctx);
        void (*on_end)(void *ctx, const char *why, bool was_served); /* once */
        void *ctx;
};

/*
 * Takes the duplex, an open WebSocket to an agent; early: what came behind the answer's head. -1: it was
 * closed, and nothing is told.
 */
int cay_front_agents_open_take(struct cay_front_agents *a, struct cay_duplex *duplex,
                               const struct cay_buf *early, const struct cay_front_dialled *who);
void cay_front_agents_close(
        struct cay_front_agents *a); /* what is still open, while the loop is there; accepts NULL */

/* For struct cay_op_world; ctx is the struct. */
bool cay_front_agents_facts(void *ctx, const char *owner, const char *name, struct cay_machine_facts *ret);
void cay_front_agents_disconnect(void *ctx, const char *owner, const char *name); /* its record is off */
void cay_front_agents_forget(void *ctx, const char *owner, const char *name);
