/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal as a stream of events: stored events from a number on, then new ones. Each event's id is its
 * number, so a client that was cut off resumes after its last event and misses nothing. The stream ends when
 * its client goes.
 */
#pragma once

#include "domain/ops/op.h"

#define CAY_OP_FOLLOWERS_MAX 512u
#define CAY_OP_FOLLOWERS_OWNER 128u /* of one owner, so that nobody takes all of them */

struct cay_op_follow {
        const char *sandbox; /* id or name; NULL: all that the caller may see */
        const char *kind;    /* NULL: all */
        uint64_t after;
        bool new_only; /* leaves out what is stored already */
};

/* Takes the call over. CAY_LIMIT: too many followers. */
void cay_op_event_follow(struct cay_op_call *c, const struct cay_op_follow *what);
