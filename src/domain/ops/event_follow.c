/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal as a stream of events.
 *
 * Theory of operation. One query to the store is pending at a time; news that come meanwhile are noted (due)
 * and queried next. From CAY_OP_HIGH on, no query is made until the client has taken what is buffered, so a
 * slow client costs one page of rows. A query cannot be withdrawn: if the client goes during one, the memory
 * is freed with its answer.
 */
#include "domain/ops/event_follow.h"

#include <inttypes.h>
#include <stdio.h>

#include "foundation/base/fair.h"
#include "foundation/base/str.h"
#include "foundation/loop/loop.h"
#include "domain/ops/view.h"

#define PAGE 100u
#define KIND_MAX 63u

struct follower {
        struct cay_event_watch watch;
        struct cay_store_query query;
        struct cay_deferred release;
        struct cay_loop *loop;
        struct cay_op_use *use;   /* NULL: not counted */
        struct cay_op_call *call; /* NULL: ended */
        struct cay_op_result event;
        struct cay_viewer viewer; /* points to owner: the query outlives the call */
        char owner[CAY_NAME_MAX + 1], sandbox[CAY_NAME_MAX + 1], kind[KIND_MAX + 1];
        uint64_t after;
        bool seeks;   /* queries where the journal ends */
        bool busy;    /* a query is pending */
        bool due;     /* there is more to query */
        bool waiting; /* until the client takes what is buffered */
};

static void release_follow(struct cay_deferred *d)
{
        struct follower *f = cay_container_of(d, struct follower, release);

        cay_op_result_done(&f->event);
        free(f);
}

static void let_go(struct follower *f)
{
        f->release.run = release_follow;
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

static ssize_t put(struct follower *f, const struct cay_store_event *e)
{
        char id[24];

        cay_op_event_begin(&f->event, f->call);
        cay_op_put_event(&f->event.j, e);
        snprintf(id, sizeof(id), "%" PRIu64, e->seq);
        return cay_op_event_put(&f->event, f->call, id, e->kind);
}

static void on_rows(struct cay_job *job);

static void ask(struct follower *f)
{
        if (f->busy || f->waiting || !f->due)
                return;
        f->busy = true;
        f->due = false;
        f->query = (struct cay_store_query){ 0 };
        cay_job_init(&f->query.job, on_rows);
        f->query.id = f->kind[0] ? f->kind : NULL;
        f->query.after = f->after;
        f->query.newest_first = f->seeks;
        f->query.max = f->seeks ? 1 : PAGE;
        cay_service_events(f->call->world->service, &f->viewer, f->sandbox[0] ? f->sandbox : NULL, &f->query);
}

/* How many bytes are buffered, or -errno. */
static ssize_t take_rows(struct follower *f)
{
        ssize_t queued = 0;

        for (unsigned i = 0; i < f->query.count && queued >= 0; i++) {
                const struct cay_store_event *e = f->query.rows[i];

                if (!f->seeks)
                        queued = put(f, e);
                f->after = e->seq;
        }
        f->due = f->due || f->query.count == PAGE;
        f->seeks = false;
        return queued;
}

static void on_rows(struct cay_job *job)
{
        struct follower *f = cay_container_of(job, struct follower, query.job);
        ssize_t queued = -1;

        f->busy = false;
        if (f->call && job->err.code == CAY_OK)
                queued = take_rows(f);
        cay_store_query_done(&f->query);
        if (!f->call) {
                let_go(f);
        } else if (queued < 0) {
                drop(f); /* the client resumes after its last event */
        } else {
                f->waiting = queued >= (ssize_t)CAY_OP_HIGH;
                ask(f);
        }
}

static void on_event(struct cay_event_watch *w)
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

/* The journal has ids only, also of destroyed sandboxes. */
static void name_sandbox(struct follower *f, const struct cay_op_call *c, const char *sandbox)
{
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };
        bool found = cay_service_get(c->world->service, &f->viewer, sandbox, &view, &err) == 0;

        cay_str_copy(f->sandbox, sizeof(f->sandbox), found ? view.id : sandbox);
}

static struct follower *make(struct cay_op_call *c, const struct cay_op_follow *what)
{
        struct follower *f = calloc(1, sizeof(*f));

        if (!f)
                return NULL;
        f->call = c;
        f->loop = c->world->loop;
        f->use = c->world->use;
        f->viewer = cay_op_viewer(c);
        cay_str_copy(f->owner, sizeof(f->owner), c->caller.owner);
        f->viewer.owner = f->owner;
        cay_str_copy(f->kind, sizeof(f->kind), what->kind ? what->kind : "");
        if (what->sandbox)
                name_sandbox(f, c, what->sandbox);
        f->after = what->after;
        f->seeks = what->new_only && what->after == 0;
        f->due = true;
        f->watch.on_event = on_event;
        return f;
}

void cay_op_event_follow(struct cay_op_call *c, const struct cay_op_follow *what)
{
        struct cay_op_use *use = c->world->use;
        unsigned own = cay_service_event_watches(c->world->service, c->caller.owner);
        struct cay_error err = { 0 };
        struct follower *f;

        if (!cay_fair_has_room(CAY_OP_FOLLOWERS_MAX, CAY_OP_FOLLOWERS_OWNER, use ? use->followers : own,
                               own)) {
                if (own > 0)
                        cay_fail(&err, CAY_LIMIT,
                                 "%u clients of this owner follow events, which is the maximum; end some",
                                 own);
                else
                        cay_fail(&err, CAY_LIMIT,
                                 "%u clients follow events, which is the maximum; try again later",
                                 CAY_OP_FOLLOWERS_MAX);
                cay_op_fail(c, &err, NULL);
                return;
        }
        f = make(c, what);
        if (!f) {
                cay_op_fail_memory(c);
                return;
        }
        if (use)
                use->followers++;
        c->state = f;
        c->on_drain = on_drain;
        c->on_gone = on_gone;
        c->works_for_listener = true;
        cay_service_watch_events(c->world->service, &f->viewer, f->sandbox[0] ? f->sandbox : NULL, &f->watch);
        if (cay_op_begin(c, NULL) < 0)
                drop(f);
        else
                ask(f);
}
