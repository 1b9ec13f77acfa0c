/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the warm pool: which shapes of boxes are wanted, how many of each are ready or being made, and
 * what is to be done next. Plain data, without an engine and without a clock: sandbox_pool.c does the work.
 *
 * A box is made for one exact shape and is used once. It is MAKING, then READY, then it leaves the pool:
 * claimed by a sandbox, or dropped (it died, it is old, its shape is no longer asked for, there is no room).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/id.h"
#include "domain/model/spec.h"

#define CAY_POOL_SHAPES_MAX 16u
#define CAY_POOL_BOXES_MAX 1024u
#define CAY_POOL_BOX_BYTES (512u * 1024) /* what a waiting box takes of memory, generously */
#define CAY_POOL_WARM_BYTES (5u << 20)   /* what its interpreter takes, generously */
#define CAY_POOL_LEARNED (~0u)           /* as a wanted number: as many as were lately asked for at once */
#define CAY_POOL_SLOTS 10u               /* what is remembered of the rate: the busiest second of each slot */
#define CAY_POOL_SLOT_MS (30 * 1000)
#define CAY_POOL_UNUSED_MS (5 * 60 * 1000) /* a shape that nobody asked for this long has no pool */
#define CAY_POOL_AGE_MS (30 * 60 * 1000)   /* a box that waited this long is replaced */
#define CAY_POOL_RETRY_MS 5000             /* after a failure */

struct cay_pool_shape { /* all that a box is made from; compared whole */
        char template_name[CAY_NAME_MAX + 1];
        const void *engine; /* identity of its row */
        uint64_t root_dev,
                root_ino; /* of a rootfs; 0: none. Another folder under the same name is another shape */
        enum cay_template_kind kind;
        uint64_t memory_bytes, swap_bytes, cpu_milli, pids, disk_bytes, inodes;
        unsigned may_skip;
        bool read_only, own_user_only, brief, warm;
        char warm_modules[CAY_WARM_MODULES_MAX];
};

enum cay_pool_state { CAY_POOL_FREE, CAY_POOL_MAKING, CAY_POOL_READY, CAY_POOL_STATE_COUNT };

struct cay_pool_box {
        enum cay_pool_state state;
        unsigned shape; /* its row */
        uint64_t made_ms;
        char id[CAY_NAME_MAX + 1];
        struct cay_pool_made *made; /* owned by sandbox_pool.c: its link and secret; NULL while it is made */
};

struct cay_pool_row {
        struct cay_pool_shape shape;
        unsigned want; /* 0: this row is free */
        bool is_learned;
        uint64_t second, slot; /* the last ones in which it was asked for */
        unsigned in_second;    /* how often, in that second */
        unsigned busiest[CAY_POOL_SLOTS];
        unsigned ready, making;
        uint64_t used_ms, retry_ms; /* last asked for; not tried again before */
};

struct cay_pool_figures {
        unsigned ready, making, wanted, most; /* most: of those without an interpreter */
        unsigned warm;                        /* of the ready ones: with an interpreter */
        uint64_t bytes, bytes_most;           /* counted as above */
        uint64_t claimed, missed;             /* creates that found a box; that could have, and found none */
        uint64_t failed, dropped;             /* boxes that could not be made; that left unused */
};

struct cay_pool {
        struct cay_pool_row rows[CAY_POOL_SHAPES_MAX];
        struct cay_pool_box *boxes; /* owned: `most` of them; NULL: off */
        unsigned most;
        uint64_t bytes_most;
        uint64_t claimed, missed, failed, dropped;
};

/* bytes of memory for all waiting boxes; 0: off, and nothing below ever wants one. -1: no memory. */
int cay_pool_init(struct cay_pool *p, uint64_t bytes);
void cay_pool_done(struct cay_pool *p); /* made boxes were taken out before */

bool cay_pool_shape_equals(const struct cay_pool_shape *a, const struct cay_pool_shape *b);
/*
 * A sandbox of this shape is asked for, and so many are to be kept ready (0: none; or CAY_POOL_LEARNED). A
 * ready box, the oldest one, which has left the pool with `ret`; false: there is none.
 */
bool cay_pool_claim(struct cay_pool *p, const struct cay_pool_shape *shape, unsigned want, uint64_t now_ms,
                    struct cay_pool_box *ret);
/* The shape that lacks a box most, if one may be made now. NULL: none. */
const struct cay_pool_shape *cay_pool_next(const struct cay_pool *p, uint64_t now_ms);
/* One of this shape is being made. */
void cay_pool_begin(struct cay_pool *p, const struct cay_pool_shape *shape, const char *id);
/*
 * made: taken, it is ready. NULL: it could not be made. False: nobody waits for it any more, made is the
 * caller's.
 */
bool cay_pool_end(struct cay_pool *p, const char *id, struct cay_pool_made *made, uint64_t now_ms);
/* Whether this box is in the pool, and of this engine. */
bool cay_pool_is_of(struct cay_pool *p, const char *id, const void *engine);
/* It is gone, or is to go: it leaves the pool. False: it is not here. */
bool cay_pool_drop(struct cay_pool *p, const char *id, struct cay_pool_box *ret);
/* The id of one that is too many or too old; of_engine: of this engine, any. NULL: none. */
const char *cay_pool_spare(struct cay_pool *p, const void *of_engine, uint64_t now_ms);
void cay_pool_figures(const struct cay_pool *p, struct cay_pool_figures *ret);
