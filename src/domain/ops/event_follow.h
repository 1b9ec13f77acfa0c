/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal as a stream of events: what is stored already from a number on, then what comes. Each event's id is its number, so a
 * client that was cut off asks again after the last one that it has and misses nothing. It ends when its client goes.
 */
#pragma once

#include "domain/ops/op.h"

#define CAY_OP_FOLLOWERS_MAX 512u
#define CAY_OP_FOLLOWERS_OWNER 128u /* of one owner: nobody takes all of them */

struct cay_op_follow {
        const char *sandbox; /* id or name; NULL: all that the caller sees */
        const char *kind;    /* NULL: all */
        uint64_t after;
        bool new_only; /* what is stored already is left out */
};

/* Takes the call over. CAY_LIMIT: too many follow. */
void cay_op_event_follow(struct cay_op_call *c, const struct cay_op_follow *what);
