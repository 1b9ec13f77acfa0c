/* SPDX-License-Identifier: Apache-2.0 */
/* Two duplexes joined. */
#include "dialect/rest/splice.h"

#define PENDING_MAX (4u * 1024 * 1024) /* more than any duplex lets be owed */

struct splice;

struct side {
        struct cay_duplex_user user;
        struct cay_duplex *duplex; /* NULL: gone */
        struct side *other;
        struct splice *owner;
        struct cay_buf pending; /* read here, not taken by the other yet; owed */
        bool eof;               /* nothing more is read here */
        bool told;              /* and the other was told */
};

struct splice {
        struct side sides[2];
        struct cay_loop *loop;
        struct cay_deferred release;
        bool over;
};

static void release(struct cay_deferred *d)
{
        struct splice *s = cay_container_of(d, struct splice, release);

        cay_buf_done(&s->sides[0].pending);
        cay_buf_done(&s->sides[1].pending);
        free(s);
}

static void finish(struct splice *s)
{
        if (s->over)
                return;
        s->over = true;
        for (unsigned i = 0; i < 2; i++) {
                struct cay_duplex *d = cay_take(s->sides[i].duplex);

                if (d)
                        cay_duplex_close(d);
        }
        s->release.run = release;
        cay_loop_defer(s->loop, &s->release);
}

/* What waits of one side goes to the other, as far as that takes it. */
static void move(struct side *from)
{
        struct side *to = from->other;
        size_t n;

        if (from->owner->over)
                return;
        if (from->pending.len > 0) {
                n = cay_duplex_write(to->duplex, cay_buf_data(&from->pending), from->pending.len);
                cay_buf_drop(&from->pending, n);
                if (n > 0)
                        cay_duplex_consumed(from->duplex, n);
        }
        if (from->eof && !from->told && from->pending.len == 0) {
                from->told = true;
                cay_duplex_shut(to->duplex);
                if (to->told)
                        finish(from->owner);
        }
}

static void on_data(struct cay_duplex_user *u, const void *bytes, size_t len)
{
        struct side *side = cay_container_of(u, struct side, user);

        if (cay_buf_put(&side->pending, bytes, len) < 0)
                finish(side->owner);
        else
                move(side);
}

static void on_room(struct cay_duplex_user *u)
{
        move(cay_container_of(u, struct side, user)->other);
}

static void on_eof(struct cay_duplex_user *u)
{
        struct side *side = cay_container_of(u, struct side, user);

        side->eof = true;
        move(side);
}

/* Nobody answers any more: what the other side was still to get of this one goes as far as it is taken at once. */
static void on_lost(struct cay_duplex_user *u, int why)
{
        struct side *side = cay_container_of(u, struct side, user);

        (void)why;
        side->duplex = NULL;
        if (side->pending.len > 0 && side->other->duplex)
                cay_duplex_write(side->other->duplex, cay_buf_data(&side->pending), side->pending.len);
        finish(side->owner);
}

static const struct cay_duplex_user_ops ops = {
        .on_data = on_data,
        .on_room = on_room,
        .on_eof = on_eof,
        .on_lost = on_lost,
};

void cay_splice_take(struct cay_loop *loop, struct cay_duplex *a, struct cay_duplex *b, struct cay_buf *first)
{
        struct splice *s = calloc(1, sizeof(*s));
        struct cay_duplex *both[] = { a, b };

        if (!s) {
                cay_duplex_close(a);
                cay_duplex_close(b);
                cay_buf_done(first);
                return;
        }
        s->loop = loop;
        for (unsigned i = 0; i < 2; i++) {
                struct side *side = &s->sides[i];

                side->user.ops = &ops;
                side->duplex = both[i];
                side->other = &s->sides[1 - i];
                side->owner = s;
                cay_buf_init(&side->pending, PENDING_MAX);
                both[i]->user = &side->user;
        }
        cay_buf_put(&s->sides[1].pending, cay_buf_data(first), first->len);
        cay_buf_done(first);
        move(&s->sides[1]);
}
