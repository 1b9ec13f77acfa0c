/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Being dialled (`--listen`): daemons come by WebSocket, mostly through a tunnel of this machine's user,
 * which ends their TLS.
 *
 * Theory of operation. Everybody may knock. A guest that has not proven itself costs a few kilobytes and has
 * little time; where there are many, the oldest of them makes room. One that is proven takes the place of the
 * one that is served: a daemon may notice earlier than we do that its connection is dead. A request with an
 * Origin comes from a web page in somebody's browser, which is no daemon, and is refused.
 */
#pragma once

#include "cay-agent/peer.h"
#include "foundation/http/server.h"

#define AGENT_GUESTS_MAX 32u

struct agent_guest;

struct agent_listen { /* zeroed: it does not listen */
        struct agent *agent;
        struct cay_http_server *server;
        struct agent_guest *guests; /* owned; the newest first */
        unsigned count;
        uint64_t told_ms; /* when strangers were last told of */
};

int agent_listen_open(struct agent_listen *l, struct agent *a, struct cay_error *err);
void agent_listen_close(struct agent_listen *l);
