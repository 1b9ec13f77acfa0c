/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines with a URL: their agents listen (`cay agent --listen`), mostly behind a tunnel, and the daemon
 * dials them.
 *
 * Theory of operation. One line for each such machine. cay-net looks the host up, judges its addresses,
 * connects, and passes the socket on: the front opens none. Here it gets TLS, where the URL says so, and the
 * upgrade to a WebSocket; from then on it is a connection like one that an agent dialled (front_agents.h),
 * except that only that machine's agent is let in by it. A line that failed or ended is tried again after a
 * pause (links/agent/agent_pause.h); why, and when, is kept with the machine. One that was not paired while
 * its code was good is given up.
 */
#pragma once

#include "cay-front/front_agents.h"

struct cay_front_dial;
struct cay_network_broker;

struct cay_front_dial_env { /* borrowed: outlives it */
        struct cay_loop *loop;
        struct cay_network_broker **network; /* NULL there: cay-net does not run */
        struct cay_machines *machines;
        struct cay_front_agents *agents;
        const struct cay_clock *clock;
        int trusted_fd; /* the file of certificates to trust; -1: it could not be opened */
};

struct cay_front_dial *cay_front_dial_new(const struct cay_front_dial_env *env); /* NULL: no memory */
void cay_front_dial_stop(struct cay_front_dial *d); /* nothing is dialled any more; accepts NULL */
void cay_front_dial_free(
        struct cay_front_dial
                *d); /* after the agents' connections have ended, while the loop is there; accepts NULL */
void cay_front_dial_sync(
        struct cay_front_dial *d); /* the machines have changed; the first call dials; accepts NULL */
