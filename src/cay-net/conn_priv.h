/* SPDX-License-Identifier: Apache-2.0 */
/* A connection, for the files that make it: conn.c (its life), hear.c, reach.c and relay.c. */
#pragma once

#include "cay-net/conn.h"
#include "cay-net/edge.h"
#include "cay-net/proxy.h"

enum net_step { /* what it waits for */
                NET_STEP_BEGINNING,
                NET_STEP_QUEUED,
                NET_STEP_ASKED,
                NET_STEP_HELLO,
                NET_STEP_RESOLVING,
                NET_STEP_CONNECTING,
                NET_STEP_HANDING_OVER,
                NET_STEP_RELAYING,
                NET_STEP_ENDED
};

struct net_reach { /* what is needed up to RELAYING alone */
        struct net_lookup lookup;
        unsigned next;             /* address to try */
        char why[NET_WHY];         /* why the last one was not it */
        unsigned verdict;          /* likewise */
        struct net_edge_wait edge; /* while it is handed over to cay-edge */
        struct net_conn *conn;
};

struct net_side { /* one direction and whether a rate holds it back */
        struct net_pump pump;
        int wait; /* enum net_pump_wait */
        bool is_held;
};

struct net_conn {
        struct net_box *box;
        struct net_conn *prev, *next; /* the box's list */
        struct cay_watch client, server;
        struct cay_timer deadline;
        struct net_reach *reach; /* owned; NULL from RELAYING on */
        char *name;              /* owned; NULL: an address was asked for */
        char *rule;              /* owned; NULL: none decided */
        struct net_proxy *proxy; /* owned; NULL: it was diverted */
        struct net_dial
                *dial; /* instead of a socket of its own: into a sandbox of the same private network */
        struct cay_address address; /* asked for, then connected to */
        uint16_t port;
        enum net_step step;
        bool is_name_checked; /* the TLS server name was the name */
        bool has_secrets;     /* its other side is cay-edge (edge.h) */
        bool is_stream;       /* its client is not a TCP socket */
        struct net_side up, down;
        uint64_t number, began_ms;
        struct cay_deferred gone;
};

/* conn.c */
void net_conn_begin(struct net_conn *c);   /* what it wants is known */
void net_conn_to_last(struct net_conn *c); /* of the box's list */
void net_conn_log(struct net_conn *c, unsigned verdict, const char *why);
/* Ends it, unlogged. resets: what a program sees is not an end. */
void net_conn_done(struct net_conn *c, bool resets);
void net_conn_close_server(struct net_conn *c, bool resets);
/* Whether a close is a reset. Also for our own death: what is cut off must not look like an end. */
void net_conn_set_reset(int fd, bool resets);
void net_conn_on_deadline(struct cay_timer *t);

/* hear.c */
void net_conn_hear_request(struct net_conn *c); /* to the proxy; then net_conn_begin */
bool net_conn_needs_hello(const struct net_conn *c);
void net_conn_hear_hello(struct net_conn *c); /* then net_conn_reach */

/* reach.c */
void net_conn_reach(struct net_conn *c);        /* then net_conn_relay */
void net_conn_enter_member(struct net_conn *c); /* likewise, in its private network */
void net_conn_try_next(struct net_conn *c);     /* another address than the last one */
bool net_conn_judge(struct net_conn *c, char why[NET_WHY]);
/* NULL: the sandbox that it wants is one of its private network, and may be reached. */
const char *net_conn_why_not_member(struct net_conn *c, struct net_box **ret);

/* relay.c */
void net_conn_relay(struct net_conn *c); /* it is connected: from here on bytes go both ways */
