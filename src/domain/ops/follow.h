/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that follows a list which grows: the base of event_follow.c and network_follow.c.
 *
 * Theory of operation. One page is asked for at a time; news that come meanwhile are noted (due) and asked
 * for next. From CAY_OP_HIGH on nothing is asked for until the client has taken what is buffered, so a slow
 * client costs one page. A question cannot be withdrawn: if the client goes during one, the memory is freed
 * with its answer.
 */
#pragma once

#include "domain/ops/op.h"
#include "foundation/loop/loop.h"

#define CAY_FOLLOW_PAGE 100u

struct cay_follower { /* embedded first in its owner, which is zeroed heap memory; freed by this */
        struct cay_event_watch watch;
        struct cay_deferred release;
        struct cay_loop *loop;
        struct cay_op_use *use;   /* NULL: not counted */
        struct cay_op_call *call; /* NULL: ended */
        struct cay_op_result event;
        struct cay_viewer viewer; /* points to owner: a question outlives the call */
        char owner[CAY_NAME_MAX + 1];
        bool busy;    /* a question is pending */
        bool due;     /* there is more to ask for */
        bool waiting; /* until the client takes what is buffered */
        void (*ask)(
                struct cay_follower *f); /* asks for the next page; its answer ends in cay_follower_took */
};

/* Is there room for one more of this owner? */
int cay_follower_check(const struct cay_op_call *c, struct cay_error *err);
void cay_follower_init(struct cay_follower *f, struct cay_op_call *c, void (*ask)(struct cay_follower *f));
/* The watch is set: the stream begins, with the first question. */
void cay_follower_begin(struct cay_follower *f);
/*
 * A page was answered. queued: bytes that are buffered after it, or negative: the client is disconnected, and
 * resumes after what it has. May free f.
 */
void cay_follower_took(struct cay_follower *f, ssize_t queued);
void cay_follower_end(struct cay_follower *f); /* instead: there is nothing more to follow */
