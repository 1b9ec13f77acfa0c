/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capped byte buffer. Bytes consumed at the front stay as a gap until room is needed; they are closed up
 * when the gap is at least as big as what is moved, or when the buffer cannot grow any more.
 */

#include "foundation/base/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>

enum { SMALLEST = 64 };

void cay_buf_init(struct cay_buf *b, size_t max)
{
        *b = (struct cay_buf){ .max = max < PTRDIFF_MAX ? max : PTRDIFF_MAX - 1 };
}

void cay_buf_done(struct cay_buf *b)
{
        cay_budget_give(b->budget, b->cap);
        free(b->mem);
        *b = (struct cay_buf){ .max = b->max, .budget = b->budget };
}

void cay_buf_charge(struct cay_buf *b, struct cay_budget *budget)
{
        cay_budget_give(b->budget, b->cap);
        b->budget = budget;
        cay_budget_add(b->budget, b->cap);
}

void cay_buf_clear(struct cay_buf *b)
{
        b->start = 0;
        b->len = 0;
        if (b->mem)
                b->mem[0] = '\0';
}

void cay_buf_cut(struct cay_buf *b, size_t len)
{
        b->len = len;
        if (b->mem)
                b->mem[b->start + len] = '\0';
}

char *cay_buf_data(const struct cay_buf *b)
{
        static char nothing[1];

        return b->mem ? b->mem + b->start : nothing;
}

size_t cay_buf_left(const struct cay_buf *b)
{
        return b->max - b->len;
}

int cay_buf_check(const struct cay_buf *b, size_t len)
{
        size_t wanted = b->len + len;

        if (len > cay_buf_left(b))
                return -ENOSPC;
        return wanted > b->cap && wanted - b->cap > cay_budget_room(b->budget) ? -ENOBUFS : 0;
}

/* Takes what a new size costs, or as much as is to be had of it, at least `wanted`: -ENOBUFS. */
static int charge(struct cay_buf *b, size_t wanted, size_t *cap)
{
        size_t room = cay_budget_room(b->budget);

        if (*cap > b->cap && *cap - b->cap > room)
                *cap = b->cap + room;
        if (*cap < wanted)
                return -ENOBUFS;
        cay_budget_give(b->budget, b->cap);
        cay_budget_add(b->budget, *cap);
        return 0;
}

static int grow(struct cay_buf *b, size_t wanted)
{
        size_t cap = b->cap < b->max / 2 ? b->cap * 2 : b->max;
        char *mem;

        if (cap < SMALLEST)
                cap = SMALLEST;
        if (cap < wanted)
                cap = wanted;
        if (cap > b->max)
                cap = b->max;
        if (charge(b, wanted, &cap) < 0)
                return -ENOBUFS;
        mem = malloc(cap + 1);
        if (!mem) {
                cay_budget_give(b->budget, cap);
                cay_budget_add(b->budget, b->cap);
                return -ENOMEM;
        }
        if (b->mem)
                memcpy(mem, b->mem + b->start, b->len);
        mem[b->len] = '\0';
        free(b->mem);
        b->mem = mem;
        b->start = 0;
        b->cap = cap;
        return 0;
}

static int make_room(struct cay_buf *b, size_t len)
{
        if (len > cay_buf_left(b))
                return -ENOSPC;
        if (b->mem && len <= b->cap - b->start - b->len)
                return 0;
        if (b->mem && b->len + len <= b->cap && (b->start >= b->len || b->cap == b->max)) {
                memmove(b->mem, b->mem + b->start, b->len + 1);
                b->start = 0;
                return 0;
        }
        return grow(b, b->len + len);
}

char *cay_buf_room(struct cay_buf *b, size_t len)
{
        return make_room(b, len) < 0 ? NULL : b->mem + b->start + b->len;
}

void cay_buf_added(struct cay_buf *b, size_t len)
{
        if (len == 0)
                return;
        assert(b->mem && len <= b->cap - b->start - b->len);
        b->len += len;
        b->mem[b->start + b->len] = '\0';
}

int cay_buf_put(struct cay_buf *b, const void *bytes, size_t len)
{
        int r;

        if (len == 0)
                return 0;
        r = make_room(b, len);
        if (r < 0)
                return r;
        memcpy(b->mem + b->start + b->len, bytes, len);
        cay_buf_added(b, len);
        return 0;
}

int cay_buf_putc(struct cay_buf *b, char c)
{
        return cay_buf_put(b, &c, 1);
}

int cay_buf_puts(struct cay_buf *b, const char *s)
{
        return cay_buf_put(b, s, strlen(s));
}

int cay_buf_printf(struct cay_buf *b, const char *fmt, ...)
{
        va_list ap;
        int n, r;

        va_start(ap, fmt);
        n = vsnprintf(NULL, 0, fmt, ap);
        va_end(ap);
        if (n < 0)
                return -EINVAL;
        if (n == 0)
                return 0;
        r = make_room(b, (size_t)n);
        if (r < 0)
                return r;
        va_start(ap, fmt);
        vsnprintf(b->mem + b->start + b->len, (size_t)n + 1, fmt, ap);
        va_end(ap);
        cay_buf_added(b, (size_t)n);
        return 0;
}

void cay_buf_drop(struct cay_buf *b, size_t len)
{
        assert(len <= b->len);
        b->start += len;
        b->len -= len;
        if (b->len == 0)
                cay_buf_clear(b);
}
