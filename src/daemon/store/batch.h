/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that are committed together: copies in one arena, made by the loop, read by the writer. */
#pragma once

#include "foundation/base/arena.h"
#include "domain/model/port_store.h"

struct cay_change {
        struct cay_change *next;
        enum cay_store_kind kind;
        const char *drop; /* id to remove; NULL: put */
        void *record;     /* to put */
};

struct cay_store_batch {
        struct cay_store_batch *next; /* in a queue */
        struct cay_arena mem;
        struct cay_change *first, **last;
        bool drops; /* drops something: may use the reserve */
        enum cay_store_how how;
        struct cay_store_commit *commit; /* borrowed; used by the loop only */
        struct cay_error err;            /* first failure: of putting, then of the commit */
        char taken[CAY_NAME_MAX + 1];    /* result of the claim that existed first */
        uint64_t seq;                    /* of the last event */
};

struct cay_store_batch *cay_batch_new(void);
void cay_batch_free(struct cay_store_batch *b); /* accepts NULL */
void cay_batch_put(struct cay_store_batch *b, enum cay_store_kind kind, const void *record);
void cay_batch_drop(struct cay_store_batch *b, enum cay_store_kind kind, const char *id);
