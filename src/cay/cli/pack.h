/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs a local tree as a tar stream. The walk uses descriptors and follows no link; a header describes what
 * was opened. A file that shrinks meanwhile is filled with zeros, one that grows is cut, so the archive stays
 * valid. Hard links are sent as copies; other types than files, directories and links are left out and
 * counted.
 */
#pragma once

#include <stdint.h>

#include "foundation/base/error.h"

struct cay_pack {
        /* Accepts bytes of the stream: 0; 1: no more are wanted, which ends the packing; -1. */
        int (*write)(void *ctx, const void *bytes, size_t len, struct cay_error *err);
        void *ctx;

        uint64_t bytes, entries, left_out, changed; /* changed: files whose length changed meanwhile */
};

/* Packs `path` (a link is packed as a link) under `name`. 0 or 1 as write returns, or -1. */
int cay_pack_run(struct cay_pack *p, const char *path, const char *name, struct cay_error *err);
