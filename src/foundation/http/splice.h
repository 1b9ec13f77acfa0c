/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two duplexes joined: what one says the other gets, both ways, until both have ended. What the slower side does not take is
 * kept and not paid for, so the faster one is slowed down. The end of one direction is passed on when all before it was; when
 * one side is lost, what it had said is still passed on and the other is closed.
 */
#pragma once

#include "foundation/base/buf.h"
#include "foundation/http/duplex.h"

struct cay_splice;

struct cay_splice_side {
        /* below: private to splice.c */
        struct cay_duplex_user user;
        struct cay_duplex *duplex; /* NULL: lost or closed */
        struct cay_splice *splice;
        struct cay_buf said; /* by this side, not taken by the other */
        bool eof, eof_passed;
};

struct cay_splice { /* embedded by its owner */
        void (*on_done)(
                struct cay_splice *s); /* both are closed; the owner frees itself with cay_loop_defer */
        struct cay_splice_side a, b;
        uint64_t bytes; /* passed on, both ways */
};

/* Takes both. From the loop or from a call of the owner; on_done may come at once only if one is closed from there. */
void cay_splice_begin(struct cay_splice *s, struct cay_duplex *a, struct cay_duplex *b,
                      void (*on_done)(struct cay_splice *s));
/* Bytes that a side has said before, as if it said them now; they are owed to it. */
void cay_splice_say(struct cay_splice *s, struct cay_splice_side *side, const void *bytes, size_t len);
void cay_splice_abort(struct cay_splice *s); /* closes both, tells nothing; fine when done */
