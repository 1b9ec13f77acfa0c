/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of doubling size, filled from the front; a thing that fits no chunk gets one of its own. */

#include "foundation/base/arena.h"

#include <stdalign.h>
#include <stdint.h>

enum {
        CHUNK_FIRST = 1024,
        CHUNK_MOST = 64 * 1024,
};

struct cay_arena_chunk {
        struct cay_arena_chunk *next;
        size_t size, used;
        alignas(max_align_t) char mem[];
};

void cay_arena_init(struct cay_arena *a, size_t max)
{
        *a = (struct cay_arena){ .max = max };
}

void cay_arena_done(struct cay_arena *a)
{
        while (a->chunks) {
                struct cay_arena_chunk *next = a->chunks->next;

                free(a->chunks);
                a->chunks = next;
        }
        a->used = 0;
}

static struct cay_arena_chunk *add_chunk(struct cay_arena *a, size_t need)
{
        size_t size = a->chunks ? a->chunks->size * 2 : CHUNK_FIRST;
        struct cay_arena_chunk *c;

        if (size > CHUNK_MOST)
                size = CHUNK_MOST;
        if (size < need)
                size = need;
        c = calloc(1, sizeof(*c) + size);
        if (!c)
                return NULL;
        c->size = size;
        c->next = a->chunks;
        a->chunks = c;
        return c;
}

void *cay_arena_alloc(struct cay_arena *a, size_t size)
{
        struct cay_arena_chunk *c = a->chunks;
        size_t whole;
        void *mem;

        if (__builtin_add_overflow(size, alignof(max_align_t) - 1, &whole))
                return NULL;
        whole &= ~(alignof(max_align_t) - 1);
        if (whole > a->max - a->used)
                return NULL;
        if (!c || whole > c->size - c->used)
                c = add_chunk(a, whole);
        if (!c)
                return NULL;
        mem = c->mem + c->used;
        c->used += whole;
        a->used += whole;
        return mem;
}

void *cay_arena_array(struct cay_arena *a, size_t count, size_t size)
{
        size_t whole;

        return __builtin_mul_overflow(count, size, &whole) ? NULL : cay_arena_alloc(a, whole);
}

char *cay_arena_copy(struct cay_arena *a, const char *bytes, size_t len)
{
        char *copy = len < SIZE_MAX ? cay_arena_alloc(a, len + 1) : NULL;

        if (copy && len > 0)
                memcpy(copy, bytes, len);
        return copy;
}
