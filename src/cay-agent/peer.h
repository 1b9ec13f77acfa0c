/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whoever is at the other end of a connection: a stranger until it has proven that it is the daemon. The same
 * whether this machine dialled (dial.h) or was dialled (listen.h), except for what a stranger can bring
 * about: where everybody may knock, nothing that is said before the proof ends the agent, and HELLO tells no
 * more than the key.
 */
#pragma once

#include "domain/auth/proof.h"
#include "foundation/http/ws.h"
#include "foundation/loop/loop.h"
#include "links/agent/agent_message.h"

#define AGENT_PATIENCE_MS 20000u /* until WELCOME */

struct agent;

enum agent_step { /* what it waits for */
                  AGENT_STEP_OPEN,
                  AGENT_STEP_CHALLENGE,
                  AGENT_STEP_WELCOME,
                  AGENT_STEP_SERVING,
};

struct agent_peer {
        struct agent *agent;
        struct cay_ws *ws; /* borrowed, of the connection */
        bool has_knocked;  /* it dialled us */
        /* Its connection is of no use: the owner ends it, without a callback here. */
        void (*on_fail)(struct agent_peer *p, const char *why);

        /* below: of peer.c; zeroed for each connection */
        enum agent_step step;
        struct cay_timer timer; /* the end of patience; SERVING: of silence */
        uint64_t welcomed_ms, heard_ms;
        uint32_t heartbeat_ms;
        uint8_t said[AGENT_SMALL_MAX]; /* HELLO, then CHALLENGE */
        size_t hello_len, said_len;
        uint8_t daemon[CAY_PROOF_KEY]; /* that it proved */
};

void agent_peer_wait(struct agent_peer *p);  /* from here on patience counts */
void agent_peer_begin(struct agent_peer *p); /* the WebSocket is open: says HELLO */
void agent_peer_hear(struct agent_peer *p, const void *bytes, size_t len);
void agent_peer_end(struct agent_peer *p); /* its connection is over; fine when it never began */
