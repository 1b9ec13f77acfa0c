/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Port: a stream of bytes both ways, whatever carries it: a connection after an upgrade, a channel of a box link, a pair in
 * a test. The provider embeds struct cay_duplex; the user embeds struct cay_duplex_user and hangs it in.
 *
 * Flow. Writing takes what there is room for; on_room tells when there is some again. Reading is paid for: every byte that
 * on_data brought is owed to the provider until the user says with `consumed` that it is done with it; a provider
 * stops when too much is owed (it has a window), so a user that waits for its own peer slows the sender down.
 *
 * Ends. Each direction ends on its own: `shut` for ours, on_eof for theirs. on_lost ends both and comes at most once;
 * `close` ends both too and tells nothing. After either of these the duplex must not be touched any more. on_data,
 * on_room, on_eof and on_lost come from the loop, never inside one of the user's calls.
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
                        size_t len); /* all of it; owed from now on */
        void (*on_room)(
                struct cay_duplex_user *u); /* a write took less than it was given; there is room again */
        void (*on_eof)(struct cay_duplex_user *u);
        void (*on_lost)(struct cay_duplex_user *u, int why); /* -errno, or 0: both directions have ended */
};

struct cay_duplex_user {
        const struct cay_duplex_user_ops *ops;
};

struct cay_duplex_ops {
        size_t (*write)(struct cay_duplex *d, const void *bytes,
                        size_t len);                        /* how many were taken; 0 after an end */
        void (*shut)(struct cay_duplex *d);                 /* no more is written */
        void (*consumed)(struct cay_duplex *d, size_t len); /* at most what is owed */
        void (*close)(struct cay_duplex *d);
};

struct cay_duplex {
        const struct cay_duplex_ops *ops;
        struct cay_duplex_user *user; /* set by the user, before it returns to the loop */
        struct cay_budget *budget,
                *out_budget; /* for what the user keeps of it; good until close or on_lost; NULL: none */
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

static inline void cay_duplex_close(struct cay_duplex *d)
{
        d->ops->close(d);
}
