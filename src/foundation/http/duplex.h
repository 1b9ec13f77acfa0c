/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Port: a stream of bytes both ways, whatever carries it: a connection after an upgrade, a channel of a box
 * link, a pair in a test. The provider embeds struct cay_duplex; the user embeds struct cay_duplex_user and
 * sets it.
 *
 * Flow control. A write accepts what there is room for; on_room reports when there is room again. Every byte
 * that on_data delivered counts against the provider's window until the user acknowledges it with `consumed`.
 * A provider stops when its window is full, so a user that waits for its own peer slows the sender down.
 *
 * Ends. Each direction ends on its own: `shut` for ours, on_eof for theirs. on_lost ends both and is called
 * at most once. `close` also ends both, without callbacks. After either of these the duplex must not be used
 * any more. on_data, on_room, on_eof and on_lost are called from the loop, never inside one of the user's
 * calls.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foundation/base/banned.h"
#include "foundation/base/budget.h"
#include "foundation/base/cleanup.h"

struct cay_duplex;
struct cay_duplex_user;

struct cay_duplex_user_ops {
        void (*on_data)(struct cay_duplex_user *u, const void *bytes,
                        size_t len);                /* all of it; to be acknowledged with `consumed` */
        void (*on_room)(struct cay_duplex_user *u); /* room again after a write was accepted only in part */
        void (*on_eof)(struct cay_duplex_user *u);
        void (*on_lost)(struct cay_duplex_user *u, int why); /* -errno, or 0: both directions have ended */
};

struct cay_duplex_user {
        const struct cay_duplex_user_ops *ops;
};

struct cay_duplex_ops {
        /* returns how many bytes were accepted; 0 after an end */
        size_t (*write)(struct cay_duplex *d, const void *bytes, size_t len);
        void (*shut)(struct cay_duplex *d);                 /* no more writes */
        void (*consumed)(struct cay_duplex *d, size_t len); /* at most what is not acknowledged */
        void (*close)(struct cay_duplex *d);
        /* What is kept for it is charged to this owner from now on, who has been proven. May be NULL. */
        void (*own)(struct cay_duplex *d, const char *owner);
};

struct cay_duplex {
        const struct cay_duplex_ops *ops;
        struct cay_duplex_user *user; /* set by the user, before it returns to the loop */
        struct cay_budget *budget,
                *out_budget; /* for what the user keeps of it; valid until close or on_lost; NULL: none */
};

static inline size_t cay_duplex_write(struct cay_duplex *d, const void *bytes, size_t len)
{
        return d->ops->write(d, bytes, len);
}

static inline void cay_duplex_shut(struct cay_duplex *d)
{
        d->ops->shut(d);
}

static inline void cay_duplex_consumed(struct cay_duplex *d, size_t len)
{
        d->ops->consumed(d, len);
}

static inline void cay_duplex_own(struct cay_duplex *d, const char *owner)
{
        if (d->ops->own)
                d->ops->own(d, owner);
}

static inline void cay_duplex_close(struct cay_duplex *d)
{
        d->ops->close(d);
}
