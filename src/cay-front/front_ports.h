/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports of the host that stand for single sandboxes: 18765 (its MCP) and 17681 (its terminal) of those that were made with such `ports`.
 * Clients that know a sandbox as "host and port" find there what /ports/18765/ has, with the same checks.
 *
 * Theory of operation. A slot is a port of a sandbox: asked of the keeper, which makes the socket (cay/keeper/hand_over.h), then listened on
 * until the service ends it. Connections are the HTTP server's from the moment they are accepted, and carry the slot's number, which is
 * never used twice: what comes over one whose sandbox is gone finds nobody. The service waits for the answers of all slots that it
 * asks for at once (an order); an answer that nobody waits for any more is dropped again.
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
/* Closes what it listens on and ends what the service waits for. Accepts NULL. The keeper has the sockets still. */
void cay_front_ports_free(struct cay_front_ports *p);
/* Who gets connections from now on: those of before wait in their sockets. */
void cay_front_ports_serve(struct cay_front_ports *p, struct cay_http_server *http);
void cay_front_ports_stop(
        struct cay_front_ports *p); /* accepts no more; what is unpublished from here on stays */

/* For the service (service.h). */
bool cay_front_ports_is_own(uint16_t inside);
void cay_front_ports_publish(struct cay_front_ports *p, const char *sandbox, struct cay_spec_port *ports,
                             unsigned count, struct cay_job *job);
void cay_front_ports_unpublish(struct cay_front_ports *p, const char *sandbox);

/* Is the keeper's next message for here? Then it is read: 1; 0: it is not; -1: nobody is there any more. */
int cay_front_ports_hear(struct cay_front_ports *p);

/* What a connection's listener stands for: 1; 0: it is one of the daemon's own; -1: what it stood for is gone. */
int cay_front_ports_find(const struct cay_front_ports *p, unsigned listener, struct cay_port_host *ret);
