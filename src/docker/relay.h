/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A box link: what the helper in the container says on its standard output goes to the front's socket, and back. Nothing is looked
 * into; the helper's standard error is dropped. A relay frees itself when either side has ended.
 */
#pragma once

#include "base/buf.h"
#include "http/duplex.h"
#include "loop/loop.h"

struct docker_relay;

struct docker_relays { /* all there are */
        struct docker_relay *first;
        unsigned count;
};

/* Takes the front's socket and Docker's stream (with what of it came already). 0, or -errno: both are closed. */
int docker_relay_open_take(struct docker_relays *all, struct cay_loop *loop, int front_fd,
                           struct cay_duplex *docker, const struct cay_buf *rest);
void docker_relays_close(struct docker_relays *all);
