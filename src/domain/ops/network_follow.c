/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a sandbox's network as a stream of events.
 *
 * Theory of operation. As the journal's (event_follow.c): one page is asked for at a time, news that come meanwhile are noted (due), and a
 * slow client is waited for. The stream ends when its client goes, or when the sandbox has no network any more. While cay-net is
 * replaced there is nothing to read; its first entry after that goes on with the numbers.
 */
#include "domain/ops/network_follow.h"

#include <inttypes.h>
#include <stdlib.h>

#include "foundation/base/fair.h"
#include "foundation/base/str.h"
#include "foundation/loop/loop.h"
#include "domain/ops/event_follow.h"
#include "domain/ops/network_view.h"

#define PAGE 100u

struct follower {
        struct cay_event_watch watch;
        struct cay_service_network page;
        struct cay_deferred release;
        struct cay_loop *loop;
        struct cay_op_use *use;   /* NULL: not counted */
        struct cay_op_call *call; /* NULL: ended */
        struct cay_op_result event;
        struct cay_viewer viewer; /* points to owner */
        char owner[CAY_NAME_MAX + 1], sandbox[CAY_NAME_MAX + 1];
        uint64_t from;
        bool busy, due, waiting; /* as in event_follow.c */
};

static void release_follower(struct cay_deferred *d)
{
        struct follower *f = cay_container_of(d, struct follower, release);

        cay_op_result_done(&f->event);
        free(f);
}

static void let_go(struct follower *f)
{
        f->release.run = release_follower;
        cay_loop_defer(f->loop, &f->release);
}

/* The call was ended. */
static void finish(struct follower *f)
{
        f->call = NULL;
        cay_service_unwatch_events(&f->watch);
        if (f->use)
                f->use->followers--;
        if (!f->busy)
                let_go(f);
}

static void drop(struct follower *f)
{
        cay_op_abort(f->call);
        finish(f);
}

static void on_page(struct cay_job *job);

static void ask(struct follower *f)
{
        if (f->busy || f->waiting || !f->due)
                return;
        f->busy = true;
        f->due = false;
        f->page = (struct cay_service_network){ .log = { .from = f->from, .max = PAGE } };
        cay_job_init(&f->page.call.job, on_page);
        cay_service_network_log(f->call->world->service, &f->viewer, f->sandbox, &f->page);
}

static ssize_t put(struct follower *f, const struct cay_network_entry *e)
{
        char id[24];

        cay_op_event_begin(&f->event, f->call);
        cay_op_put_network_entry(&f->event.j, e);
        snprintf(id, sizeof(id), "%" PRIu64, e->number);
        return cay_op_event_put(&f->event, f->call, id, e->kind);
}

static ssize_t take_page(struct follower *f)
{
        ssize_t queued = 0;

        for (unsigned i = 0; i < f->page.log.count && queued >= 0; i++) {
                queued = put(f, &f->page.log.entries[i]);
                f->from = f->page.log.entries[i].number + 1;
        }
        f->due = f->due || f->page.log.count == PAGE;
        return queued;
}

static void on_page(struct cay_job *job)
{
        struct follower *f = cay_container_of(job, struct follower, page.call.job);
        enum cay_code code = job->err.code;
        ssize_t queued = 0;

        f->busy = false;
        if (f->call && code == CAY_OK)
                queued = take_page(f);
        cay_service_network_done(&f->page);
        if (!f->call) {
                let_go(f);
        } else if (queued < 0) {
                drop(f); /* the client resumes after its last entry */
        } else if (code != CAY_OK && code != CAY_UNAVAILABLE && code != CAY_TIMEOUT) {
                cay_op_end(f->call); /* it has no network any more */
                finish(f);
        } else {
                f->waiting = queued >= (ssize_t)CAY_OP_HIGH;
                ask(f);
        }
}

static void on_news(struct cay_event_watch *w)
{
        struct follower *f = cay_container_of(w, struct follower, watch);

        f->due = true;
        ask(f);
}

static void on_drain(struct cay_op_call *c)
{
        struct follower *f = c->state;

        f->waiting = false;
        ask(f);
}

static void on_gone(struct cay_op_call *c)
{
        drop(c->state);
}

static int check(const struct cay_op_call *c, const char *id, struct cay_sandbox_view *ret,
                 struct cay_error *err)
{
        struct cay_viewer viewer = cay_op_viewer(c);
        unsigned own = cay_service_event_watches(c->world->service, c->caller.owner);
        unsigned all = c->world->use ? c->world->use->followers : own;

        if (cay_service_get(c->world->service, &viewer, id, ret, err) < 0)
                return -1;
        if (!ret->policy)
                return cay_fail(err, CAY_CONFLICT, "sandbox '%s' has no network with rules", ret->id);
        if (!cay_fair_has_room(CAY_OP_FOLLOWERS_MAX, CAY_OP_FOLLOWERS_OWNER, all, own))
                return cay_fail(err, CAY_LIMIT, "too many clients follow events already: end some");
        return 0;
}

void cay_op_network_follow(struct cay_op_call *c, const char *id, uint64_t from)
{
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };
        struct follower *f;

        if (check(c, id, &view, &err) < 0) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        f = calloc(1, sizeof(*f));
        if (!f) {
                cay_op_fail_memory(c);
                return;
        }
        f->call = c;
        f->loop = c->world->loop;
        f->use = c->world->use;
        f->viewer = cay_op_viewer(c);
        cay_str_copy(f->owner, sizeof(f->owner), c->caller.owner);
        f->viewer.owner = f->owner;
        cay_str_copy(f->sandbox, sizeof(f->sandbox), view.id);
        f->from = from;
        f->due = true;
        f->watch.on_event = on_news;
        if (f->use)
                f->use->followers++;
        c->state = f;
        c->on_drain = on_drain;
        c->on_gone = on_gone;
        c->works_for_listener = true;
        cay_service_watch_network(c->world->service, &f->viewer, f->sandbox, &f->watch);
        if (cay_op_begin(c, NULL) < 0)
                drop(f);
        else
                ask(f);
}
