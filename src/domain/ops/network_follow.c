/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a sandbox's network as a stream of events (follow.h). It ends when its client goes, or when the
 * sandbox has no network any more. While cay-net is replaced there is nothing to read; its first entry after
 * that goes on with the numbers.
 */
#include "domain/ops/network_follow.h"

#include <inttypes.h>
#include <stdlib.h>

#include "foundation/base/str.h"
#include "domain/ops/follow.h"
#include "domain/ops/network_view.h"

struct network_follower {
        struct cay_follower base;
        struct cay_service_network page;
        char sandbox[CAY_NAME_MAX + 1];
        uint64_t from;
};

static ssize_t put(struct network_follower *f, const struct cay_network_entry *e)
{
        struct cay_follower *b = &f->base;
        char id[24];

        cay_op_event_begin(&b->event, b->call);
        cay_op_put_network_entry(&b->event.j, e);
        snprintf(id, sizeof(id), "%" PRIu64, e->number);
        return cay_op_event_put(&b->event, b->call, id, e->kind);
}

static ssize_t take_page(struct network_follower *f)
{
        ssize_t queued = 0;

        for (unsigned i = 0; i < f->page.log.count && queued >= 0; i++) {
                queued = put(f, &f->page.log.entries[i]);
                f->from = f->page.log.entries[i].number + 1;
        }
        f->base.due = f->base.due || f->page.log.count == CAY_FOLLOW_PAGE;
        return queued;
}

static void on_page(struct cay_job *job)
{
        struct network_follower *f = cay_container_of(job, struct network_follower, page.call.job);
        enum cay_code code = job->err.code;
        bool is_over = code != CAY_OK && code != CAY_UNAVAILABLE &&
                       code != CAY_TIMEOUT; /* it has no network any more */
        ssize_t queued = 0;

        if (f->base.call && code == CAY_OK)
                queued = take_page(f);
        cay_service_network_done(&f->page);
        if (f->base.call && is_over)
                cay_follower_end(&f->base);
        else
                cay_follower_took(&f->base, queued);
}

static void ask(struct cay_follower *b)
{
        struct network_follower *f = cay_container_of(b, struct network_follower, base);

        f->page = (struct cay_service_network){ .log = { .from = f->from, .max = CAY_FOLLOW_PAGE } };
        cay_job_init(&f->page.call.job, on_page);
        cay_service_network_log(b->call->world->service, &b->viewer, f->sandbox, &f->page);
}

static int check(const struct cay_op_call *c, const char *id, struct cay_sandbox_view *ret,
                 struct cay_error *err)
{
        struct cay_viewer viewer = cay_op_viewer(c);

        if (cay_service_get(c->world->service, &viewer, id, ret, err) < 0)
                return -1;
        if (!ret->policy)
                return cay_fail(err, CAY_CONFLICT, "sandbox '%s' has no network with rules", ret->id);
        return cay_follower_check(c, err);
}

void cay_op_network_follow(struct cay_op_call *c, const char *id, uint64_t from)
{
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };
        struct network_follower *f;

        if (check(c, id, &view, &err) < 0) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        f = cay_op_alloc(c, sizeof(*f));
        if (!f)
                return;
        cay_follower_init(&f->base, c, ask);
        cay_str_copy(f->sandbox, sizeof(f->sandbox), view.id);
        f->from = from;
        cay_service_watch_network(c->world->service, &f->base.viewer, f->sandbox, &f->base.watch);
        cay_follower_begin(&f->base);
}
