/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper's part in ports of the host that stand for single sandboxes (hand_over.h says what is asked and answered).
 *
 * Theory of operation. A front makes no sockets, and one that was taken over must not listen wherever it likes: so the keeper makes them,
 * on loopback alone, above the system's ports, and never more than it has rows for. It keeps each one as long as some front has a use for it.
 * Which sandbox one is for it does not know: the port's number is its name. They do not outlive the program: after an upgrade the
 * new front asks for the same ports, which are free again.
 */
#pragma once

#include <stdbool.h>

#include "serve/hand_over.h"

struct cay_ports_keep { /* zeroed: there are none */
        struct cay_kept_port {
                int fd; /* owned */
                uint16_t port;
                bool is_used; /* by the front that runs */
        } rows[CAY_HAND_PORTS_MAX];
        unsigned count;
};

/* What a front wants; answered at sock, unless that is full: then nothing is kept, and the front's patience ends. */
void cay_ports_keep_on_ask(struct cay_ports_keep *k, int sock, const struct cay_hand_listen *ask);
void cay_ports_keep_before_front(struct cay_ports_keep *k); /* the next one has asked for nothing yet */
void cay_ports_keep_sweep(struct cay_ports_keep *k);        /* it has asked for all that it wants */
void cay_ports_keep_done(struct cay_ports_keep *k);
