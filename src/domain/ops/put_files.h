/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a few small files into a sandbox, one after the other, with the op file_write. Names are as there;
 * missing folders are made.
 */
#pragma once

#include "foundation/loop/loop.h"
#include "domain/ops/file_bytes_args.h"
#include "domain/ops/op.h"

struct cay_put_files { /* embedded, zeroed */
        /*
         * Called exactly once, from the loop; err->code CAY_OK: all are written. CAY_UNAVAILABLE:
         * cay_put_files_stop was called.
         */
        void (*on_done)(struct cay_put_files *p, const struct cay_error *err);
        /* private */
        struct cay_op_call call; /* of the file under way */
        struct cay_file_bytes_args args;
        const struct cay_op_call *parent;
        const struct cay_field_map *files;
        const char *sandbox;
        unsigned at;
        size_t sent;
        struct cay_timer timer;            /* fires at once: continues from the loop */
        bool under_way, reads, is_stopped; /* reads: the op takes bytes */
};

/* All pointers are borrowed until on_done. */
void cay_put_files_begin(struct cay_put_files *p, const struct cay_op_call *parent, const char *sandbox,
                         const struct cay_field_map *files);
void cay_put_files_stop(struct cay_put_files *p); /* on_done still comes */
