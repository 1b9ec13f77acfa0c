/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes in one direction of a connection, from socket to socket. Many are spliced through a pipe, without a
 * copy; few are copied, which costs less.
 *
 * Theory of operation. A pipe is held only while bytes are in it: an idle connection has none, so a thousand
 * of them cost their sockets alone. Bytes that the reader has not taken stay in the pipe and then in the
 * sender's socket (back-pressure). Where no pipe can be had, bytes are looked at (MSG_PEEK), sent, and only
 * what was sent is taken off: slower, and nothing is ever held. The end of input is passed on (shutdown) when
 * all before it has been.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NET_PIPES_SPARE = 64 };

struct net_pipes { /* zeroed: empty */
        int spare[NET_PIPES_SPARE][2];
        unsigned count;
        unsigned out, most; /* in use, and how many may be; 0: none is used at all */
};

void net_pipes_done(struct net_pipes *p);

struct net_pump {       /* starts with from, to and pipe -1 */
        int from, to;   /* borrowed */
        int pipe[2];    /* -1: none */
        size_t held;    /* bytes in it */
        uint64_t bytes; /* that arrived */
        bool is_read;   /* nothing more will come */
        bool is_much;   /* there was more than a few at once: the next ones are spliced */
        bool is_ending; /* the end of input has arrived: what is read goes out together with it */
        bool is_over;   /* and the other side was told */
};

enum net_pump_wait {
        NET_PUMP_IN,   /* for bytes to come */
        NET_PUMP_OUT,  /* for room at the other side */
        NET_PUMP_MORE, /* for its next turn: all that it was allowed has been read */
        NET_PUMP_OVER,
};

/*
 * Reads at most `most` bytes and passes on what it can. Returns enum net_pump_wait or -errno; *ret_read: how
 * many were read.
 */
int net_pump_step(struct net_pump *p, struct net_pipes *pipes, size_t most, size_t *ret_read);
void net_pump_done(struct net_pump *p, struct net_pipes *pipes);
