/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A duplex whose other end is the test: takes as much as it is told to, counts what is owed, remembers its
 * ends.
 */
#pragma once

#include <assert.h>

#include "foundation/base/buf.h"
#include "foundation/http/duplex.h"

struct fake_duplex {
        struct cay_duplex duplex;
        struct cay_buf wrote;
        size_t room; /* how many bytes are still taken */
        size_t owed;
        bool shut, closed, short_of_room;
};

static size_t fake_write(struct cay_duplex *d, const void *bytes, size_t len)
{
        struct fake_duplex *f = cay_container_of(d, struct fake_duplex, duplex);
        size_t n = len < f->room ? len : f->room;

        assert(!f->closed && !f->shut);
        f->room -= n;
        f->short_of_room = n < len;
        cay_buf_put(&f->wrote, bytes, n);
        return n;
}

static void fake_shut(struct cay_duplex *d)
{
        cay_container_of(d, struct fake_duplex, duplex)->shut = true;
}

static void fake_consumed(struct cay_duplex *d, size_t len)
{
        struct fake_duplex *f = cay_container_of(d, struct fake_duplex, duplex);

        assert(!f->closed && len <= f->owed);
        f->owed -= len;
}

static void fake_close(struct cay_duplex *d)
{
        cay_container_of(d, struct fake_duplex, duplex)->closed = true;
}

static const struct cay_duplex_ops fake_duplex_ops = {
        .write = fake_write,
        .shut = fake_shut,
        .consumed = fake_consumed,
        .close = fake_close,
};

static inline void fake_duplex_init(struct fake_duplex *f)
{
        *f = (struct fake_duplex){ .duplex.ops = &fake_duplex_ops, .room = SIZE_MAX };
        cay_buf_init(&f->wrote, 64 << 20);
}

/* The other end says something; a copy of its own, so that the sanitizer sees who keeps a pointer into it. */
static inline void fake_duplex_say(struct fake_duplex *f, const void *bytes, size_t len)
{
        char *copy = malloc(len ? len : 1);

        memcpy(copy, bytes, len);
        f->owed += len;
        f->duplex.user->ops->on_data(f->duplex.user, copy, len);
        free(copy);
}

static inline void fake_duplex_give_room(struct fake_duplex *f, size_t room)
{
        bool was_short = f->short_of_room;

        f->room = room;
        f->short_of_room = false;
        if (was_short)
                f->duplex.user->ops->on_room(f->duplex.user);
}
