/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A box link: what the helper in the container says on its standard output goes to the front's socket, and
 * back. Nothing is looked into, but that the helper's first word on its standard error says that it has
 * reached init. A relay frees itself when either side has ended.
 */
#pragma once

#include "foundation/base/buf.h"
#include "foundation/http/duplex.h"
#include "foundation/loop/loop.h"

struct docker_relay;

struct docker_relays { /* all there are */
        struct docker_relay *first;
        unsigned count;
};

struct docker_relay_wait {
        struct docker_relay *relay; /* NULL: told, or nobody waits */
        /* Once: the helper has reached init, or the stream ended before. */
        void (*on_ready)(struct docker_relay_wait *w, bool is_up);
};

/*
 * Takes the front's socket and Docker's stream (with what of it came already). 0, or -errno: both are closed.
 */
int docker_relay_open_take(struct docker_relays *all, struct cay_loop *loop, int front_fd,
                           struct cay_duplex *docker, const struct cay_buf *rest,
                           struct docker_relay_wait *wait); /* borrowed; NULL: nobody waits */
void docker_relay_forget(struct docker_relay_wait *wait);   /* it is told nothing more */
void docker_relays_close(struct docker_relays *all);
