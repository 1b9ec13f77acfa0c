/* SPDX-License-Identifier: Apache-2.0 */
/* The engine port over a link; the theory is in linked.h. */
#include "engines/helper_client/linked.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "foundation/base/str.h"
#include "foundation/loop/loop.h"

static const struct engine_linked_answer *known(const struct helper_answer_head *a)
{
        return (const void *)a;
}

/* Unsolicited messages of the helper, and its end */

void engine_linked_on_unasked(struct engine_linked *e, const struct helper_answer_head *a)
{
        char id[CAY_NAME_MAX + 1];

        if (a->type != e->kind->box_gone) {
                if (e->kind->on_unasked)
                        e->kind->on_unasked(e, a);
                return;
        }
        snprintf(id, sizeof(id), "%.*s", CAY_NAME_MAX, known(a)->box.id);
        if (engine_boxes_find(&e->boxes, id))
                engine_boxes_tell_gone(&e->boxes, id);
}

static void on_unasked(struct engine_link *l, const struct helper_answer_head *a)
{
        engine_linked_on_unasked(cay_container_of(l, struct engine_linked, link), a);
}

static void on_lost(struct engine_link *l)
{
        struct engine_linked *e = cay_container_of(l, struct engine_linked, link);

        if (e->kind->outlives && l->pid == 0)
                return; /* its owner restarts it, and the next one finds them */
        e->lost_boxes = engine_boxes_has_live(&e->boxes);
        engine_boxes_lose_all(&e->boxes);
}

/* Opening */

void engine_linked_take_hello(struct engine_linked *e, const struct helper_answer_head *a)
{
        e->can_hold = known(a)->hello.can_hold;
        if (e->kind->on_hello)
                e->kind->on_hello(e, a);
}

static void on_hello(struct engine_call *call, const struct helper_answer_head *a)
{
        struct engine_linked *e = cay_container_of(call, struct engine_linked, hello);

        e->greeted = true;
        if (!a) {
                cay_fail(&e->refused, CAY_UNAVAILABLE, "%s ended before it answered", e->kind->link.who);
                return;
        }
        engine_link_read_error(&e->link, a, &e->refused);
        if (a->code == CAY_OK)
                engine_linked_take_hello(e, a);
}

struct engine_linked *engine_linked_new(const struct engine_linked_kind *kind,
                                        const struct cay_engine_env *env, struct cay_error *err)
{
        struct engine_linked *e = calloc(1, kind->size);

        if (!e) {
                cay_fail(err, CAY_INTERNAL, "no memory for the %s engine", kind->ops->name);
                return NULL;
        }
        e->engine = (struct cay_engine){ .ops = kind->ops, .caps = kind->caps };
        e->kind = kind;
        e->loop = env->loop;
        e->reopen.link.sock = -1;
        e->link = (struct engine_link){ .kind = &kind->link, .on_unasked = on_unasked, .on_lost = on_lost };
        e->hello.on_answer = on_hello;
        return e;
}

void engine_linked_say_hello(struct engine_linked *e, void *request)
{
        memcpy(&e->hello_request, request, e->kind->link.protocol->request_size);
        engine_link_ask(&e->link, &e->hello, request, NULL, 0);
}

/* Boxes of earlier fronts, requested one by one. */
static int learn_boxes(struct engine_linked *e, struct cay_error *err)
{
        struct engine_ask_now now = { 0 };
        uint32_t from = 0;

        for (unsigned i = 0; i < ENGINE_BOXES_MAX; i++) {
                struct engine_linked_request req = { .head.type = e->kind->box_list, .list.from = from };
                char id[CAY_NAME_MAX + 1];

                if (engine_link_ask_now(&e->link, &now, &req, e->kind->answer_ms, err) < 0)
                        return cay_wrap(err, "ask for the sandboxes there are");
                snprintf(id, sizeof(id), "%.*s", CAY_NAME_MAX, known(&now.answer)->list.id);
                if (id[0] == '\0')
                        break;
                e->kind->on_listed(e, id, &now.answer);
                from = known(&now.answer)->list.next;
        }
        return 0;
}

int engine_linked_greet(struct engine_linked *e, void *request, struct cay_engine **ret,
                        struct cay_error *err)
{
        engine_linked_say_hello(e, request);
        engine_link_await(&e->link, &e->hello, e->kind->answer_ms);
        if (!e->greeted)
                cay_fail(&e->refused, CAY_TIMEOUT, "%s does not answer", e->kind->link.who);
        if (e->refused.code == CAY_OK && learn_boxes(e, &e->refused) == 0) {
                *ret = &e->engine;
                return 0;
        }
        *err = e->refused;
        engine_link_close(&e->link);
        free(e);
        return -1;
}

int engine_linked_open_take(const struct engine_linked_kind *kind, const struct cay_engine_env *env, int sock,
                            void *hello, struct cay_engine **ret, struct cay_error *err)
{
        struct engine_linked *e = engine_linked_new(kind, env, err);

        if (!e) {
                close(sock);
                return -1;
        }
        if (engine_link_open_take(&e->link, env->loop, sock, err) == 0)
                return engine_linked_greet(e, hello, ret, err);
        free(e);
        return -1;
}

int engine_linked_close(struct cay_engine *engine)
{
        struct engine_linked *e;
        bool left;
        int r;

        if (!engine)
                return 0;
        e = engine_linked_of(engine);
        engine_linked_reopen_cancel(e);
        left = e->lost_boxes || engine_boxes_has_live(&e->boxes);
        r = engine_link_close(&e->link);
        free(e);
        return r == -ECHILD ? -(int)left
                            : r; /* its exit status is unknown, but whether work was left is known */
}

/* Asking */

static void on_answer(struct engine_call *call, const struct helper_answer_head *a)
{
        struct engine_linked_call *c = cay_container_of(call, struct engine_linked_call, call);
        const struct engine_linked_kind *kind = c->engine->kind;
        struct cay_error err = { 0 };

        engine_link_read_error(&c->engine->link, a, &err);
        if (!a && c->engine->refused.code != CAY_OK)
                err = c->engine->refused; /* it reported the reason before it exited */
        kind->on_answer(c, err.code == CAY_OK ? a : NULL, err.code);
        if (err.code != CAY_OK && (c->type == kind->box_make || c->type == kind->box_link) &&
            c->box->link_fd >= 0)
                close(cay_take_fd(c->box->link_fd));
        engine_linked_finish(c->engine, c->job, err.code != CAY_OK ? &err : NULL);
        free(c);
}

void engine_linked_finish(struct engine_linked *e, struct cay_job *job, const struct cay_error *err)
{
        cay_job_finish(cay_loop_jobs(e->loop), job, err);
}

void engine_linked_ask(struct engine_linked *e, void *request, struct cay_engine_box *box,
                       struct cay_job *job, const int *fds, unsigned fd_count)
{
        const struct helper_request_head *head = request;
        struct engine_linked_call *c = calloc(1, sizeof(*c));
        struct cay_error err = { 0 };

        if (!c) {
                cay_fail(&err, CAY_INTERNAL, "no memory for a request");
                engine_linked_finish(e, job, &err);
                return;
        }
        c->call.on_answer = on_answer;
        c->engine = e;
        c->box = box;
        c->job = job;
        c->type = head->type;
        engine_link_ask(&e->link, &c->call, request, fds, fd_count);
}

/* fd: goes with it; -1: none. */
static void ask_about(struct cay_engine *engine, uint32_t type, const char *id, struct cay_engine_box *box,
                      struct cay_job *job, int fd)
{
        struct engine_linked_request req = { .head.type = type };

        cay_str_copy(req.box.id, sizeof(req.box.id), id);
        engine_linked_ask(engine_linked_of(engine), &req, box, job, &fd, fd >= 0 ? 1 : 0);
}

void engine_linked_relink(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        struct engine_linked *e = engine_linked_of(engine);
        cay_auto_close int theirs = -1;
        struct cay_error err = { 0 };

        if (engine_box_open_link(box, &theirs, &err) == 0)
                ask_about(engine, e->kind->box_link, box->id, box, job, theirs);
        else
                engine_linked_finish(e, job, &err);
}

void engine_linked_freeze(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        ask_about(engine, engine_linked_of(engine)->kind->box_freeze, box->id, NULL, job, -1);
}

void engine_linked_thaw(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        ask_about(engine, engine_linked_of(engine)->kind->box_thaw, box->id, NULL, job, -1);
}

void engine_linked_reclaim(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        ask_about(engine, engine_linked_of(engine)->kind->box_reclaim, box->id, box, job, -1);
}

void engine_linked_stats(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        ask_about(engine, engine_linked_of(engine)->kind->box_stat, box->id, box, job, -1);
}

void engine_linked_stop(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        ask_about(engine, engine_linked_of(engine)->kind->box_stop, box->id, box, job, -1);
}

void engine_linked_destroy(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        ask_about(engine, engine_linked_of(engine)->kind->box_drop, box->id, box, job, -1);
}

/* Answered locally */

unsigned engine_linked_can_hold(struct cay_engine *engine)
{
        struct engine_linked *e = engine_linked_of(engine);

        engine_link_await(&e->link, &e->hello, e->kind->answer_ms);
        return engine_limits_from_wire(e->can_hold) | engine_limits_by_init();
}

void engine_linked_on_gone(struct cay_engine *engine, void (*gone)(void *ctx, const char *id), void *ctx)
{
        engine_linked_of(engine)->boxes.gone = gone;
        engine_linked_of(engine)->boxes.gone_ctx = ctx;
}

void engine_linked_list(struct cay_engine *engine, void (*each)(void *ctx, const char *id), void *ctx)
{
        engine_boxes_each_live(&engine_linked_of(engine)->boxes, each, ctx);
}

/* Without its helper there is nothing to query. */
int engine_linked_health(struct cay_engine *engine, struct cay_error *err)
{
        const struct engine_linked *e = engine_linked_of(engine);

        return e->link.sock >= 0 ? 0 : cay_fail(err, CAY_UNAVAILABLE, "%s is gone", e->kind->link.who);
}

void engine_linked_trace(struct cay_engine *engine,
                         void (*each)(void *ctx, const char *who, const char *step, uint64_t ns), void *ctx)
{
}
