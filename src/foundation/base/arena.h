/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for many small objects with the same lifetime, up to a maximum that is set at init. Objects are not
 * freed one by one. Each is zeroed and keeps its address until cay_arena_done.
 */
#pragma once

#include <stddef.h>

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"

struct cay_arena_chunk;

struct cay_arena {
        struct cay_arena_chunk *chunks; /* owned; the newest first */
        size_t used, max;
};

void cay_arena_init(struct cay_arena *a, size_t max);
void cay_arena_done(struct cay_arena *a);                              /* safe on a zeroed struct and twice */
void *cay_arena_alloc(struct cay_arena *a, size_t size);               /* NULL: the maximum, or no memory */
void *cay_arena_array(struct cay_arena *a, size_t count, size_t size); /* the same, never wrapped */
char *cay_arena_copy(struct cay_arena *a, const char *bytes, size_t len); /* with a NUL behind */
#define cay_auto_arena cay_auto(cay_arena_done)
