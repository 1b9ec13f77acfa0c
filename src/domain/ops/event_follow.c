/* SPDX-License-Identifier: Apache-2.0 */
/* The journal as a stream of events (follow.h). */
#include "domain/ops/event_follow.h"

#include <inttypes.h>
#include <stdio.h>

#include "foundation/base/str.h"
#include "domain/ops/follow.h"
#include "domain/ops/view.h"

#define KIND_MAX 63u

struct event_follower {
        struct cay_follower base;
        struct cay_store_query query;
        char sandbox[CAY_NAME_MAX + 1], kind[KIND_MAX + 1];
        uint64_t after;
        bool seeks; /* queries where the journal ends */
};

static const char *sandbox_of(const struct event_follower *f)
{
        return f->sandbox[0] ? f->sandbox : NULL;
}

static ssize_t put(struct event_follower *f, const struct cay_store_event *e)
{
        struct cay_follower *b = &f->base;
        char id[24];

        cay_op_event_begin(&b->event, b->call);
        cay_op_put_members(&b->event.j, &cay_result_event, e);
        snprintf(id, sizeof(id), "%" PRIu64, e->seq);
        return cay_op_event_put(&b->event, b->call, id, e->kind);
}

/* How many bytes are buffered, or -errno. */
static ssize_t take_rows(struct event_follower *f)
{
        ssize_t queued = 0;

        for (unsigned i = 0; i < f->query.count && queued >= 0; i++) {
                const struct cay_store_event *e = f->query.rows[i];

                if (!f->seeks)
                        queued = put(f, e);
                f->after = e->seq;
        }
        f->base.due = f->base.due || f->query.count == CAY_FOLLOW_PAGE;
        f->seeks = false;
        return queued;
}

static void on_rows(struct cay_job *job)
{
        struct event_follower *f = cay_container_of(job, struct event_follower, query.job);
        ssize_t queued = -1;

        if (f->base.call && job->err.code == CAY_OK)
                queued = take_rows(f);
        cay_store_query_done(&f->query);
        cay_follower_took(&f->base, queued);
}

static void ask(struct cay_follower *b)
{
        struct event_follower *f = cay_container_of(b, struct event_follower, base);

        f->query = (struct cay_store_query){ 0 };
        cay_job_init(&f->query.job, on_rows);
        f->query.id = f->kind[0] ? f->kind : NULL;
        f->query.after = f->after;
        f->query.newest_first = f->seeks;
        f->query.max = f->seeks ? 1 : CAY_FOLLOW_PAGE;
        cay_service_events(b->call->world->service, &b->viewer, sandbox_of(f), &f->query);
}

/* The journal has ids only, also of destroyed sandboxes. */
static void name_sandbox(struct event_follower *f, const struct cay_op_call *c, const char *sandbox)
{
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };
        bool found = cay_service_get(c->world->service, &f->base.viewer, sandbox, &view, &err) == 0;

        cay_str_copy(f->sandbox, sizeof(f->sandbox), found ? view.id : sandbox);
}

void cay_op_event_follow(struct cay_op_call *c, const struct cay_op_follow *what)
{
        struct cay_error err = { 0 };
        struct event_follower *f;

        if (cay_follower_check(c, &err) < 0) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        f = cay_op_alloc(c, sizeof(*f));
        if (!f)
                return;
        cay_follower_init(&f->base, c, ask);
        cay_str_copy(f->kind, sizeof(f->kind), what->kind ? what->kind : "");
        if (what->sandbox)
                name_sandbox(f, c, what->sandbox);
        f->after = what->after;
        f->seeks = what->new_only && what->after == 0;
        cay_service_watch_events(c->world->service, &f->base.viewer, sandbox_of(f), &f->base.watch);
        cay_follower_begin(&f->base);
}
