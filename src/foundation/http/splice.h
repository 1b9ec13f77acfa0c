/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins two duplexes: each side gets the other's data, until both have ended. Data that the slower side does
 * not accept is kept unacknowledged, which slows the faster side down. The end of one direction is passed on
 * after all its data. When one side is lost, its remaining data is still passed on and the other side is
 * closed.
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
        struct cay_buf said; /* data from this side that the other has not accepted */
        bool eof, eof_passed;
};

struct cay_splice { /* embedded by its owner */
        void (*on_done)(
                struct cay_splice *s); /* both are closed; the owner frees itself with cay_loop_defer */
        struct cay_splice_side a, b;
        uint64_t bytes; /* passed on, both ways */
};

/*
 * Takes both. Call it from the loop or from the owner; on_done is called immediately only if one is closed
 * from there.
 */
void cay_splice_begin(struct cay_splice *s, struct cay_duplex *a, struct cay_duplex *b,
                      void (*on_done)(struct cay_splice *s));
/* Adds bytes that a side sent before the splice; they are acknowledged to it as usual. */
void cay_splice_say(struct cay_splice *s, struct cay_splice_side *side, const void *bytes, size_t len);
void cay_splice_abort(struct cay_splice *s); /* closes both without callbacks; allowed when done */
