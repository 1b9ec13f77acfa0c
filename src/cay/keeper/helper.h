/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A helper of the keeper that speaks with one front after the other (cay-warden, cay-docker, cay-process): it finds its end of the first front's link
 * as descriptor 3 and the keeper's socket as 4, over which it gets the next one's. The end of that socket is what tells it to end.
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
        int sock;               /* our end of the keeper's socket; owned; -1: none */
        int link;               /* for its first front; -1: handed on */
        unsigned falls;         /* soon after its start, in a row */
        struct cay_timer again; /* helpers.c's */
};

/* s: words, and what else is its own; program, folder and mask are set here, its descriptors come behind the two sockets. */
int cay_helper_start(struct cay_helper *h, const struct cay_spawn *s, struct cay_error *err);
/* A link for the next front: the one it was born with, or a fresh one. */
int cay_helper_link(struct cay_helper *h, int *ret, struct cay_error *err);
/* Another keeper takes our place: its end of the socket is no end of the daemon. */
void cay_helper_tell_upgrade(struct cay_helper *h);
void cay_helper_close(struct cay_helper *h); /* which is how it is told to end; fine twice */
