/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree of ours as a tar stream. The walk goes by descriptors and follows no link; a header says what was
 * opened. A file that shrinks meanwhile is filled up with zeros, one that grows is cut, so the stream stays
 * an archive. Hard links are sent as copies; what is neither file, directory nor link is left out and
 * counted.
 */
#pragma once

#include <stdint.h>

#include "foundation/base/error.h"

struct cay_pack {
        /* Accepts bytes of the stream: 0; 1: no more are wanted, which ends the packing; -1. */
        int (*write)(void *ctx, const void *bytes, size_t len, struct cay_error *err);
        void *ctx;

        uint64_t bytes, entries, left_out,
                changed; /* changed: files that were not as long as they had said */
};

/* What is at `path` (a link at its end is packed as one), under `name`. 0 or 1 as write says, or -1. */
int cay_pack_run(struct cay_pack *p, const char *path, const char *name, struct cay_error *err);
