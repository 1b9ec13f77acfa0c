/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper's part in ports of the host that stand for single sandboxes (hand_over.h says what is asked and answered).
 *
 * Theory of operation. A front makes no sockets, and one that was taken over must not listen wherever it likes: so the keeper makes them,
 * on loopback alone, within a range of ports, and never more than it has rows for. It keeps each one as long as some front has a use for it,
 * also over an upgrade, so that nobody else can take one between two fronts and be shown its clients' tokens. Which sandbox one is
 * for it does not know: the port's number is its name. Numbers are given in turn: one that was let go comes back late.
 */
#pragma once

#include <stdbool.h>

#include "cay/keeper/hand_over.h"

struct cay_ports_keep { /* zeroed: there are none */
        struct cay_kept_port {
                int fd; /* owned */
                uint16_t port;
                bool is_used; /* by the front that runs */
        } rows[CAY_HAND_PORTS_MAX];
        unsigned count;
        unsigned given; /* how far the last one lay from the first port */
};

/* What a front wants; answered at sock, unless that is full: then nothing is kept, and the front's patience ends. */
void cay_ports_keep_on_ask(struct cay_ports_keep *k, int sock, const struct cay_hand_listen *ask);
void cay_ports_keep_before_front(struct cay_ports_keep *k); /* the next one has asked for nothing yet */
void cay_ports_keep_sweep(struct cay_ports_keep *k);        /* it has asked for all that it wants */
unsigned cay_ports_keep_tell(const struct cay_ports_keep *k,
                             int32_t fds[CAY_HAND_PORTS_MAX]); /* for the next program; how many */
void cay_ports_keep_take_over(struct cay_ports_keep *k, const int32_t *fds, unsigned count);
void cay_ports_keep_done(struct cay_ports_keep *k);
