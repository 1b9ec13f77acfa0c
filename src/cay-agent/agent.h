/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-agent: lets one paired daemon make sandboxes on this machine (`cay agent`).
 *
 * Theory of operation. The agent dials the daemon, so nothing listens here; or, behind a tunnel of its user,
 * it is dialled. Both prove their keys (docs/agent-link.md), then the agent serves requests about boxes with
 * the native engine, over a link to the warden that its keeper started (keep.h). Box links are relayed as
 * channels. A lost connection is dialled again, with growing and random pauses; the boxes live on meanwhile,
 * and box links continue by themselves. The daemon can ask for boxes and nothing else. Whether there are any,
 * with which folders, and whether they isolate is said by the rules of this machine's user (rules.h), some of
 * which ask in the terminal first (prompt.h). When the agent ends, its boxes end; when it crashes, the keeper
 * starts it again, and they live on.
 */
#pragma once

#include "cay-agent/dial.h"
#include "cay-agent/keep.h"
#include "cay-agent/listen.h"
#include "cay-agent/options.h"
#include "cay-agent/peer.h"
#include "cay-agent/prompt.h"
#include "cay-agent/rules.h"
#include "cay-agent/state.h"
#include "domain/model/port_engine.h"
#include "foundation/loop/signal.h"
#include "links/agent/agent_channels.h"

struct agent {
        struct agent_options options;
        struct agent_state state;
        char code[CAY_PROOF_CODE]; /* "": none */
        struct cay_loop *loop;
        struct cay_signal signals;
        struct agent_rules rules;
        struct agent_prompt prompt;
        struct cay_engine
                *engine; /* of isolated boxes; or of the user's own processes, if the rules say so */
        int link;        /* to the helper that makes them; -1: the engine has it */
        struct agent_dial dial;
        struct agent_peer peer; /* at the other end of it */
        struct cay_timer pause; /* until the next try */
        unsigned tries;
        char told[400]; /* the reason that was told last; "": another one, or none since it was connected */
        uint64_t told_ms;
        struct agent_listen listen; /* instead of the three above */
        char listen_text[CAY_URL_HOST_MAX + 16];
        struct agent_peer *served; /* the daemon; NULL: it is away */
        struct cay_deferred over;
        unsigned over_serial;
        struct agent_channels channels;
        unsigned serial; /* of the connection: answers to requests of an earlier one are dropped */
        unsigned boxes;
        int status; /* of the program */
        bool is_over;
};

int agent_main(int argc, char **argv);

/* agent_serve.c: requests of the daemon. */
int agent_serve_begin(struct agent *a);                              /* lists boxes */
int agent_serve_ask(struct agent *a, const struct agent_message *m); /* 0 or -EPROTO */
void agent_serve_away(struct agent *a); /* questions of the lost connection are not asked any more */
int agent_serve_open(struct agent *a, struct cay_error *err); /* the engine: while there are privileges */
void agent_serve_close(struct agent *a);                      /* ends the boxes */

/* agent.c */
int agent_say(struct agent *a, const struct agent_message *m); /* to the daemon that is served: 0 or -errno */
void agent_tell(const char *what, const char *text);           /* the user: one line */
void agent_leave(struct agent *a, int status, const char *why); /* the agent ends, and its sandboxes do */
/* For connections. */
void agent_welcomed(struct agent *a, struct agent_peer *p, const char *name); /* it is served from now on */
int agent_hear_served(struct agent *a, struct agent_message *m);              /* 0 or -EPROTO */
void agent_drained(struct agent *a, const struct agent_peer *p);
bool agent_lost(struct agent *a, const struct agent_peer *p); /* whether it was served */
bool agent_is_well(struct agent *a);                          /* else it ends */
