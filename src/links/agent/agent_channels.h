/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Box links as channels of one connection between daemon and agent: the same code on both ends. A channel
 * joins a local socket to the socket of the same number on the other side.
 *
 * Theory of operation. Each direction of a channel has a window of AGENT_WINDOW bytes. What is read from the
 * socket is sent as DATA while the other side's window has room; what comes is written to the socket, and the
 * room is given back with CREDIT once the socket has taken it. So a box that does not read stops its own
 * channel and no other, and what is kept for it is bounded. While much is queued in the connection, no socket
 * is read.
 *
 * A channel ends with its socket, with END from the other side (after what came before it was written), or
 * with the connection. Nothing is resumed here: a box link survives the end of its stream by itself
 * (docs/box-link.md).
 */
#pragma once

#include "foundation/loop/loop.h"
#include "foundation/base/budget.h"
#include "links/agent/agent_message.h"

#define AGENT_WINDOW (1024u * 1024)
#define AGENT_CHANNELS_MAX 2048u
/*
 * Queued in the connection, from which no socket is read. Below CAY_WS_HIGH, from which a WebSocket hears
 * nothing: two sides that both send much would else wait for each other.
 */
#define AGENT_QUEUED_HIGH (128u * 1024)

struct agent_channel;

struct agent_channels {
        struct cay_loop *loop; /* borrowed */
        /*
         * Sends a whole message: how many bytes are queued now, or -errno: the connection is lost, which is
         * told elsewhere.
         */
        ssize_t (*send)(struct agent_channels *c, const void *bytes, size_t len);
        struct cay_budget *budget; /* of what is kept for sockets; borrowed; NULL: none */

        /* below: private to agent_channels.c */
        struct agent_channel *first;
        unsigned count;
        bool held; /* much is queued: no socket is read until agent_channels_drained */
};

/*
 * Takes fd, a stream socket; -1: it comes later (agent_channels_attach_take). -EEXIST, -ENOSPC, -ENOMEM: fd
 * was closed.
 */
int agent_channels_open_take(struct agent_channels *c, uint32_t number, int fd);
int agent_channels_attach_take(struct agent_channels *c, uint32_t number, int fd);
void agent_channels_end(struct agent_channels *c,
                        uint32_t number); /* tells the other side; fine when there is none */
/* DATA, CREDIT or END. One for a channel that is over is ignored. 0 or -EPROTO. */
int agent_channels_hear(struct agent_channels *c, const struct agent_message *m);
void agent_channels_drained(struct agent_channels *c); /* little is queued again */
void agent_channels_done(struct agent_channels *c);    /* the connection is over: closes all sockets */
