/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper's part in ports of the host that belong to single sandboxes (hand_over.h has the messages).
 *
 * Theory of operation. A front makes no sockets, and a compromised one must not listen wherever it likes. So
 * the keeper makes them: on loopback, within a range of ports, at most one per row of its table. It keeps a
 * socket while any front uses it, also during an upgrade. Otherwise another program could take the port
 * between two fronts and receive its clients' tokens. The keeper does not know which sandbox a port is for.
 * Port numbers are assigned in turn, so that a released number is reused late.
 */
#pragma once

#include <stdbool.h>

#include "cay/keeper/hand_over.h"

struct cay_ports_keep { /* zero it to begin */
        struct cay_kept_port {
                int fd; /* owned */
                uint16_t port;
                bool is_used; /* by the running front */
        } rows[CAY_HAND_PORTS_MAX];
        unsigned count;
        unsigned given; /* offset of the last assigned port from the first */
};

/*
 * Serves a front's request and answers on sock. If sock is full, nothing is kept and the front's request
 * times out.
 */
void cay_ports_keep_on_ask(struct cay_ports_keep *k, int sock, const struct cay_hand_listen *ask);
void cay_ports_keep_before_front(
        struct cay_ports_keep *k);                   /* the next front has not asked for anything yet */
void cay_ports_keep_sweep(struct cay_ports_keep *k); /* it has asked for all that it wants */
unsigned cay_ports_keep_tell(const struct cay_ports_keep *k,
                             int32_t fds[CAY_HAND_PORTS_MAX]); /* for the next keeper; returns how many */
void cay_ports_keep_take_over(struct cay_ports_keep *k, const int32_t *fds, unsigned count);
void cay_ports_keep_done(struct cay_ports_keep *k);
