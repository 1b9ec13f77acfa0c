/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces a helper that ended, while the engine is in use.
 *
 * Theory of operation. The new socket belongs to a temporary link until the helper has accepted the hello and
 * listed its boxes. Meanwhile the engine's own link is lost, so calls fail immediately. Then the socket
 * becomes the engine's own. Nothing here blocks; a helper that does not answer in time is abandoned.
 */
#include <stdio.h>

#include "foundation/base/str.h"
#include "engines/helper_client/linked.h"

static struct engine_linked *engine_of(struct engine_link *l)
{
        return cay_container_of(cay_container_of(l, struct engine_reopen, link), struct engine_linked,
                                reopen);
}

/* err NULL: the engine has its link. */
static void finish(struct engine_linked *e, const struct cay_error *err)
{
        struct engine_reopen *r = &e->reopen;
        struct cay_job *job = cay_take(r->job);

        cay_timer_clear(&r->timer);
        if (r->call.seq != 0)
                engine_link_forget(&r->link, &r->call);
        if (r->link.sock >= 0)
                engine_link_close(&r->link);
        if (job)
                engine_linked_finish(e, job, err);
}

void engine_linked_reopen_cancel(struct engine_linked *e)
{
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_UNAVAILABLE, "%s is not waited for any more", e->kind->link.who);
        if (e->reopen.job)
                finish(e, &err);
}

static void on_time(struct cay_timer *t)
{
        struct engine_reopen *r = cay_container_of(t, struct engine_reopen, timer);
        struct engine_linked *e = cay_container_of(r, struct engine_linked, reopen);
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_TIMEOUT, "%s does not answer", e->kind->link.who);
        finish(e, &err);
}

static void on_unasked(struct engine_link *l, const struct helper_answer_head *a)
{
        engine_linked_on_unasked(engine_of(l), a);
}

/* Everything is known: the socket becomes the engine's own, with its pending data. */
static void done(struct engine_linked *e)
{
        struct engine_reopen *r = &e->reopen;
        struct cay_error err = { 0 };
        int sock = engine_link_take_socket(&r->link);

        finish(e, engine_link_open_take(&e->link, e->loop, sock, &err) < 0 ? &err : NULL);
}

static void ask_list(struct engine_linked *e);

static void on_listed(struct engine_call *call, const struct helper_answer_head *a)
{
        struct engine_reopen *r = cay_container_of(call, struct engine_reopen, call);
        struct engine_linked *e = cay_container_of(r, struct engine_linked, reopen);
        const struct engine_linked_answer *known = (const void *)a;
        struct cay_error err = { 0 };
        char id[CAY_NAME_MAX + 1];

        engine_link_read_error(&r->link, a, &err);
        if (err.code != CAY_OK) {
                cay_wrap(&err, "ask for the sandboxes there are");
                finish(e, &err);
                return;
        }
        snprintf(id, sizeof(id), "%.*s", CAY_NAME_MAX, known->list.id);
        if (id[0] == '\0' || ++r->listed > ENGINE_BOXES_MAX) {
                done(e);
                return;
        }
        e->kind->on_listed(e, id, a);
        r->from = known->list.next;
        ask_list(e);
}

static void ask_list(struct engine_linked *e)
{
        struct engine_linked_request req = { .head.type = e->kind->box_list, .list.from = e->reopen.from };

        e->reopen.call.on_answer = on_listed;
        engine_link_ask(&e->reopen.link, &e->reopen.call, &req, NULL, 0);
}

static void on_hello(struct engine_call *call, const struct helper_answer_head *a)
{
        struct engine_reopen *r = cay_container_of(call, struct engine_reopen, call);
        struct engine_linked *e = cay_container_of(r, struct engine_linked, reopen);
        struct cay_error err = { 0 };

        engine_link_read_error(&r->link, a, &err);
        if (err.code != CAY_OK) {
                finish(e, &err);
                return;
        }
        engine_linked_take_hello(e, a);
        ask_list(e);
}

void engine_linked_reopen_take(struct cay_engine *engine, int sock, struct cay_job *job)
{
        struct engine_linked *e = engine_linked_of(engine);
        struct engine_linked_request hello = e->hello_request;
        struct engine_reopen *r = &e->reopen;
        struct cay_error err = { 0 };

        engine_linked_reopen_cancel(e);
        engine_link_lose(&e->link); /* the end of the previous helper may not have been noticed yet */
        *r = (struct engine_reopen){ .link = { .kind = &e->kind->link, .on_unasked = on_unasked },
                                     .call = { .on_answer = on_hello },
                                     .job = job };
        if (engine_link_open_take(&r->link, e->loop, sock, &err) < 0) {
                finish(e, &err);
                return;
        }
        if (cay_timer_set(e->loop, &r->timer, (uint64_t)e->kind->answer_ms, on_time) < 0) {
                cay_fail(&err, CAY_INTERNAL, "no timer for %s", e->kind->link.who);
                finish(e, &err);
                return;
        }
        engine_link_ask(&r->link, &r->call, &hello, NULL, 0);
}
