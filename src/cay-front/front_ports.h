/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports of the host that belong to single sandboxes: 18765 (MCP), 17681 (terminal) and 16080 (desktop), for
 * sandboxes created with such `ports`. Clients that know a sandbox as "host and port" get what /ports/18765/
 * has, with the same checks.
 *
 * Theory of operation. A slot is a port of a sandbox. The keeper makes its socket on request
 * (cay/keeper/hand_over.h), and the front listens on it until the service ends it. Once accepted, connections
 * belong to the HTTP server and carry the slot's number. Numbers are never reused, so a connection whose
 * sandbox is gone finds nothing. The service asks for several slots at once (an order) and waits for all
 * answers. An answer to an abandoned order is dropped.
 */
#pragma once

#include "domain/model/spec.h"
#include "daemon/gate/gate_port.h"
#include "foundation/http/server.h"
#include "foundation/loop/loop.h"
#include "cay/keeper/hand_over.h"

struct cay_front_ports;

int cay_front_ports_new(struct cay_loop *loop, int keeper, struct cay_front_ports **ret,
                        struct cay_error *err);
/* Closes its listeners and ends pending orders. Accepts NULL. The keeper still has the sockets. */
void cay_front_ports_free(struct cay_front_ports *p);
/* Sets who gets connections from now on; earlier ones wait in their sockets. */
void cay_front_ports_serve(struct cay_front_ports *p, struct cay_http_server *http);
void cay_front_ports_stop(
        /* accepts no more; ports that are unpublished from here on stay with the keeper */
        struct cay_front_ports *p);

/* For the service (service.h). */
bool cay_front_ports_is_own(uint16_t inside);
void cay_front_ports_publish(struct cay_front_ports *p, const char *sandbox, struct cay_spec_port *ports,
                             unsigned count, struct cay_job *job);
void cay_front_ports_unpublish(struct cay_front_ports *p, const char *sandbox);

/* Reads the keeper's next message if it is for ports: 1; 0: it is not; -1: the keeper has exited. */
int cay_front_ports_hear(struct cay_front_ports *p);

/*
 * What a connection's listener belongs to. 1: a sandbox's port; 0: the daemon itself; -1: a port that is
 * gone.
 */
int cay_front_ports_find(const struct cay_front_ports *p, unsigned listener, struct cay_port_host *ret);
