/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few small files into a sandbox, one after the other, by the op file_write: for ops that bring files along. Names are as there; missing
 * folders are made.
 */
#pragma once

#include "foundation/loop/loop.h"
#include "domain/ops/file_bytes_args.h"
#include "domain/ops/op.h"

struct cay_put_files { /* embedded, zeroed */
        /* Exactly once, from the loop; err->code CAY_OK: all are there. CAY_UNAVAILABLE: was given up (cay_put_files_stop). */
        void (*on_done)(struct cay_put_files *p, const struct cay_error *err);
        /* private */
        struct cay_op_call call; /* of the file under way */
        struct cay_file_bytes_args args;
        const struct cay_op_call *parent;
        const struct cay_field_map *files;
        const char *sandbox;
        unsigned at;
        size_t sent;
        struct cay_timer timer; /* rings at once: to give the op bytes, or to go on, from the loop */
        bool under_way, reads, is_stopped; /* reads: the op takes bytes */
};

/* What it points to is borrowed until on_done. */
void cay_put_files_begin(struct cay_put_files *p, const struct cay_op_call *parent, const char *sandbox,
                         const struct cay_field_map *files);
void cay_put_files_stop(struct cay_put_files *p); /* on_done still comes */
