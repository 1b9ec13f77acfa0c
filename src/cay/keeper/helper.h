/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A helper program of the keeper (cay-warden, cay-docker, cay-process, cay-net). It serves one front after
 * another. Descriptor 3 is its link to the first front. Descriptor 4 is the keeper's socket, over which it
 * gets the following links. End of file on that socket tells it to exit.
 */
#pragma once

#include <stdint.h>

#include "foundation/base/error.h"
#include "foundation/loop/loop.h"
#include "cay/keeper/spawn.h"
#include "links/helper/helpers.h"

struct keeper;

struct cay_helper {
        struct keeper *keeper; /* its owner */
        enum cay_helper_nr nr;
        pid_t pid; /* 0: none */
        uint64_t since_ms;
        int sock;               /* our end of its control socket; owned; -1: none */
        int link;               /* for its first front; -1: already handed over */
        unsigned falls;         /* ends soon after a start, in a row */
        struct cay_timer again; /* helpers.c's */
};

/*
 * s: words and the helper's own options. This function sets program, folder and mask. The helper's own
 * descriptors follow the two sockets.
 */
int cay_helper_start(struct cay_helper *h, const struct cay_spawn *s, struct cay_error *err);
/* A link for the next front: the first one if unused, else a new one. */
int cay_helper_link(struct cay_helper *h, int *ret, struct cay_error *err);
/* Another keeper takes over: closing our end of the socket must not end the helper. */
void cay_helper_tell_upgrade(struct cay_helper *h);
void cay_helper_close(
        struct cay_helper *h); /* closes the socket, which tells the helper to exit; may be called twice */
