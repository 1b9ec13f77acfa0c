/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that crash fronts.
 *
 * Theory of operation. A front records the request that it works on (hand_over.h). When the front crashes,
 * that client's requests to that route get a strike. After a second strike within CAY_HAND_REFUSED_MS, the
 * next fronts refuse them for as long. So one client cannot keep all others from being served. A front that
 * was killed or that exited has not crashed: any client may be the current one when memory runs out or an
 * operator acts.
 */
#pragma once

#include <stdint.h>

#include "cay/keeper/hand_over.h"

#define CAY_CRASHERS_MAX 32u /* clients and routes with a strike; the oldest is evicted */
#define CAY_CRASHERS_STRIKES 2u

struct cay_crashers {
        int fd; /* 0: none yet */
        struct {
                uint64_t key, last_ms;
                unsigned strikes;
        } rows[CAY_CRASHERS_MAX];
};

/* The memory for the next front, with what it has to refuse. Returns 0, or -errno without memory. */
int cay_crashers_before_front(struct cay_crashers *t, uint64_t now_ms);
/* Records what a front was doing when it ended with this status (waitpid). */
void cay_crashers_on_end(struct cay_crashers *t, int status, uint64_t now_ms);
void cay_crashers_done(struct cay_crashers *t); /* safe on a zeroed struct */
