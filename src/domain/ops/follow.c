/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/ops/follow.h"

#include <stdlib.h>

#include "foundation/base/fair.h"
#include "foundation/base/str.h"
#include "domain/ops/event_follow.h"

static void release_follower(struct cay_deferred *d)
{
        struct cay_follower *f = cay_container_of(d, struct cay_follower, release);

        cay_op_result_done(&f->event);
        free(f);
}

static void let_go(struct cay_follower *f)
{
        f->release.run = release_follower;
        cay_loop_defer(f->loop, &f->release);
}

/* The call was ended. */
static void finish(struct cay_follower *f)
{
        f->call = NULL;
        cay_service_unwatch_events(&f->watch);
        if (f->use)
                f->use->followers--;
        if (!f->busy)
                let_go(f);
}

static void drop(struct cay_follower *f)
{
        cay_op_abort(f->call);
        finish(f);
}

static void ask(struct cay_follower *f)
{
        if (f->busy || f->waiting || !f->due)
                return;
        f->busy = true;
        f->due = false;
        f->ask(f);
}

static void on_news(struct cay_event_watch *w)
{
        struct cay_follower *f = cay_container_of(w, struct cay_follower, watch);

        f->due = true;
        ask(f);
}

static void on_drain(struct cay_op_call *c)
{
        struct cay_follower *f = c->state;

        f->waiting = false;
        ask(f);
}

static void on_gone(struct cay_op_call *c)
{
        drop(c->state);
}

int cay_follower_check(const struct cay_op_call *c, struct cay_error *err)
{
        unsigned own = cay_service_event_watches(c->world->service, c->caller.owner);
        unsigned all = c->world->use ? c->world->use->followers : own;

        if (cay_fair_has_room(CAY_OP_FOLLOWERS_MAX, CAY_OP_FOLLOWERS_OWNER, all, own))
                return 0;
        if (own > 0)
                return cay_fail(err, CAY_LIMIT,
                                "%u clients of this owner follow events, which is the maximum; end some",
                                own);
        return cay_fail(err, CAY_LIMIT, "%u clients follow events, which is the maximum; try again later",
                        CAY_OP_FOLLOWERS_MAX);
}

void cay_follower_init(struct cay_follower *f, struct cay_op_call *c,
                       void (*ask_page)(struct cay_follower *f))
{
        f->call = c;
        f->loop = c->world->loop;
        f->use = c->world->use;
        f->viewer = cay_op_viewer(c);
        cay_str_copy(f->owner, sizeof(f->owner), c->caller.owner);
        f->viewer.owner = f->owner;
        f->due = true;
        f->ask = ask_page;
        f->watch.on_event = on_news;
}

void cay_follower_begin(struct cay_follower *f)
{
        struct cay_op_call *c = f->call;

        if (f->use)
                f->use->followers++;
        c->state = f;
        c->on_drain = on_drain;
        c->on_gone = on_gone;
        c->works_for_listener = true;
        if (cay_op_begin(c, NULL) < 0)
                drop(f);
        else
                ask(f);
}

void cay_follower_took(struct cay_follower *f, ssize_t queued)
{
        f->busy = false;
        if (!f->call) {
                let_go(f);
        } else if (queued < 0) {
                drop(f);
        } else {
                f->waiting = queued >= (ssize_t)CAY_OP_HIGH;
                ask(f);
        }
}

void cay_follower_end(struct cay_follower *f)
{
        f->busy = false;
        cay_op_end(f->call);
        finish(f);
}
