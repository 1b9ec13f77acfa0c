/* SPDX-License-Identifier: Apache-2.0 */
/* A list; the connection's state says whether it waits for its client. */
#include "foundation/http/anonymous.h"

#include "foundation/http/http1.h"

void cay_anonymous_add(struct cay_anonymous *s, struct cay_http_conn *c)
{
        c->is_anonymous = true;
        c->anonymous_prev = s->last;
        c->anonymous_next = NULL;
        *(s->last ? &s->last->anonymous_next : &s->first) = c;
        s->last = c;
}

void cay_anonymous_drop(struct cay_anonymous *s, struct cay_http_conn *c)
{
        if (!c->is_anonymous)
                return;
        c->is_anonymous = false;
        *(c->anonymous_prev ? &c->anonymous_prev->anonymous_next : &s->first) = c->anonymous_next;
        *(c->anonymous_next ? &c->anonymous_next->anonymous_prev : &s->last) = c->anonymous_prev;
}

/*
 * It waits between requests, with an incomplete head, in the middle of a body, or with an answer that the
 * client does not read.
 */
static bool is_silent(const struct cay_http_conn *c)
{
        return c->state == CAY_HTTP_AWAIT;
}

static bool is_slow(const struct cay_http_conn *c)
{
        return c->state == CAY_HTTP_DRAIN || c->state == CAY_HTTP_ENDING ||
               (c->state == CAY_HTTP_BUSY && c->req->reading && !c->body.done);
}

static struct cay_http_conn *find(const struct cay_anonymous *s, uint64_t key,
                                  bool (*is_it)(const struct cay_http_conn *c))
{
        struct cay_http_conn *c = s->first;

        while (c && ((key != 0 && c->peer_key != key) || !is_it(c)))
                c = c->anonymous_next;
        return c;
}

struct cay_http_conn *cay_anonymous_pick(const struct cay_anonymous *s, uint64_t key)
{
        struct cay_http_conn *c = find(s, key, is_silent);

        return c ? c : find(s, key, is_slow);
}
