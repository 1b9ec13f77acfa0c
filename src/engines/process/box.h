/* SPDX-License-Identifier: Apache-2.0 */
/* State of the process engine and its boxes; only for the files of this folder. */
#pragma once

#include <limits.h>

#include "domain/model/port_engine.h"
#include "engines/process/init_child.h"
#include "engines/process/scratch.h"
#include "foundation/loop/loop.h"

#define PROCESS_REMOVE_BUDGET 2000 /* entries of a scratch folder per tick */

enum process_box_state {
        BOX_LIVES,
        BOX_GONE, /* init died unexpectedly; the owner must request the rest */
        BOX_KILLING,
        BOX_REAPING,
        BOX_SWEEPING
};

struct process_box {
        struct process_engine *engine; /* borrowed: its owner */
        struct process_box *next;
        enum process_box_state state;
        uint32_t serial; /* grows from box to box; 0: none */
        char id[CAY_NAME_MAX + 1];
        struct cay_init_child init;
        struct cay_watch watch; /* its pidfd */
        struct cay_timer tick;
        struct cay_scratch scratch;
        unsigned skipped;
        char workspace[PATH_MAX];
        uint64_t give_up_ms;
        bool reaped;
        struct cay_engine_stats last;
        struct cay_engine_box *asker; /* borrowed from the caller of destroy; NULL: there is none */
        struct cay_job *job;
};

struct process_engine {
        struct cay_engine engine;
        struct cay_loop *loop; /* borrowed */
        char init_path[512];
        struct process_box *boxes; /* owned */
        unsigned count;
        bool was_subreaper;
        uint32_t last_serial;
        /* boxes whose init died are destroyed automatically: their owner may have exited too */
        bool ends_gone;
        bool with_ids; /* each box has its own */
        bool may_ids;  /* each box without a workspace of the caller has its own */
        struct cay_scratch_ids ids;
        struct cay_timer sweep;
        uint64_t sweep_ms; /* until it is retried */
        void (*gone)(void *ctx, const char *id);
        void *gone_ctx;
};

/* A complete or partly made box: every member is set or has its empty value. */
void process_box_free(struct process_box *b);
/* Of b->watch. */
void process_box_on_init_gone(struct cay_watch *w, uint32_t events);
/*
 * Ending: begun, then one step after the other, each without blocking, until nothing is left to do (and the
 * box is freed).
 */
void process_box_begin_end(struct process_box *b);
bool process_box_end_step(struct process_box *b);
void process_box_end(struct cay_timer *t); /* of b->tick: as far as it goes now, the rest from the loop */
/* What dead runs left: a portion now, the rest from the loop. For e->sweep. */
void process_sweep(struct cay_timer *t);
