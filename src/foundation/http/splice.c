/* SPDX-License-Identifier: Apache-2.0 */
/* Two duplexes joined. */
#include "foundation/http/splice.h"

enum { SAID_MAX = 2 * 1024 * 1024 /* more than any duplex has in its window */ };

static struct cay_splice_side *other(struct cay_splice_side *side)
{
        return side == &side->splice->a ? &side->splice->b : &side->splice->a;
}

static void close_side(struct cay_splice_side *side)
{
        struct cay_duplex *d = side->duplex;

        cay_buf_done(&side->said);
        side->duplex = NULL;
        if (d)
                cay_duplex_close(d);
}

void cay_splice_abort(struct cay_splice *s)
{
        close_side(&s->a);
        close_side(&s->b);
}

static void done(struct cay_splice *s)
{
        cay_splice_abort(s);
        s->on_done(s);
}

/* Passes data to the other side; returns how many bytes were accepted. */
static size_t pass(struct cay_splice_side *from, const void *bytes, size_t len)
{
        struct cay_splice_side *to = other(from);
        size_t n = to->duplex && len > 0 ? cay_duplex_write(to->duplex, bytes, len) : len;

        from->splice->bytes += n;
        if (n > 0 && from->duplex)
                cay_duplex_consumed(from->duplex, n);
        return n;
}

/* Passes on the ends that can be passed on now. The splice may be done afterwards. */
static void pass_ends(struct cay_splice_side *side)
{
        struct cay_splice_side *to = other(side);

        if (side->said.len > 0)
                return;
        if (!side->duplex) {
                done(side->splice); /* lost, and all its data is passed on */
                return;
        }
        if (side->eof && !side->eof_passed) {
                side->eof_passed = true;
                if (to->eof_passed)
                        done(side->splice);
                else if (to->duplex)
                        cay_duplex_shut(to->duplex);
        }
}

void cay_splice_say(struct cay_splice *s, struct cay_splice_side *side, const void *bytes, size_t len)
{
        size_t n = side->said.len == 0 ? pass(side, bytes, len) : 0;

        if (cay_buf_put(&side->said, (const char *)bytes + n, len - n) < 0)
                done(s);
}

static void on_data(struct cay_duplex_user *u, const void *bytes, size_t len)
{
        struct cay_splice_side *side = cay_container_of(u, struct cay_splice_side, user);

        cay_splice_say(side->splice, side, bytes, len);
}

/* `u` accepts more: continue with the other side's data. */
static void on_room(struct cay_duplex_user *u)
{
        struct cay_splice_side *side = cay_container_of(u, struct cay_splice_side, user), *from = other(side);

        while (from->said.len > 0) {
                size_t n = pass(from, cay_buf_data(&from->said), from->said.len);

                if (n == 0)
                        return;
                cay_buf_drop(&from->said, n);
        }
        cay_buf_done(&from->said);
        pass_ends(from);
}

static void on_eof(struct cay_duplex_user *u)
{
        struct cay_splice_side *side = cay_container_of(u, struct cay_splice_side, user);

        side->eof = true;
        pass_ends(side);
}

static void on_lost(struct cay_duplex_user *u, int why)
{
        struct cay_splice_side *side = cay_container_of(u, struct cay_splice_side, user), *to = other(side);
        size_t untaken = to->said.len;

        side->duplex = NULL; /* gone by itself */
        cay_buf_done(&to->said);
        /* nobody accepts it: acknowledge it so that reading continues and the end is noticed */
        if (to->duplex && untaken > 0)
                cay_duplex_consumed(to->duplex, untaken);
        pass_ends(side);
}

static const struct cay_duplex_user_ops ops = {
        .on_data = on_data,
        .on_room = on_room,
        .on_eof = on_eof,
        .on_lost = on_lost,
};

static void join(struct cay_splice *s, struct cay_splice_side *side, struct cay_duplex *d)
{
        *side = (struct cay_splice_side){ .user = { .ops = &ops }, .duplex = d, .splice = s };
        cay_buf_init(&side->said, SAID_MAX);
        d->user = &side->user;
}

void cay_splice_begin(struct cay_splice *s, struct cay_duplex *a, struct cay_duplex *b,
                      void (*on_done)(struct cay_splice *s))
{
        *s = (struct cay_splice){ .on_done = on_done };
        join(s, &s->a, a);
        join(s, &s->b, b);
}
