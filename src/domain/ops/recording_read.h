/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a recording item by item, some in each round of the loop, for ops. */
#pragma once

#include "domain/ops/op.h"
#include "domain/recordings/item.h"
#include "domain/sandboxes/recording.h"
#include "foundation/loop/loop.h"

struct cay_recording_read { /* embedded, zeroed, with the two functions */
        /* -1 with err ends the reading. May call hold. */
        int (*on_item)(struct cay_recording_read *r, struct cay_item *item, struct cay_error *err);
        /* Exactly once, from the loop; the owner frees itself. err CAY_OK: all was read. */
        void (*on_end)(struct cay_recording_read *r, const struct cay_error *err);
        /* private */
        struct cay_loop *loop;
        struct cay_sealed_reader reader;
        struct cay_timer timer;
        struct cay_error err;
        bool is_held, is_open;
};

void cay_recording_read_begin(struct cay_recording_read *r, const struct cay_op_world *w,
                              const struct cay_viewer *v, const char *sandbox);
void cay_recording_read_hold(struct cay_recording_read *r);   /* no more items until go_on */
void cay_recording_read_go_on(struct cay_recording_read *r);  /* accepts one that is not held */
void cay_recording_read_cancel(struct cay_recording_read *r); /* on_end follows, with CAY_UNAVAILABLE */

/* What an EXEC says; texts point into the item. */
struct cay_recorded_exec {
        const char *id, *cwd, *user, *term, *context, *language;
        uint64_t flags, rows, cols, timeout_ms, cpu_time_ms, output_bytes;
        unsigned hidden;            /* variables that were left out */
        const char **argv;          /* owned; NULL-terminated */
        struct cay_field_pair *env; /* owned */
        unsigned env_count;
};

/* CAY_DAMAGED: it is not what was written. */
int cay_recorded_exec_read(struct cay_item *item, struct cay_recorded_exec *ret, struct cay_error *err);
void cay_recorded_exec_done(struct cay_recorded_exec *x);
void cay_recorded_exec_title(const struct cay_recorded_exec *x, char *ret, size_t size); /* its words, cut */
