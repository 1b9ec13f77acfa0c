/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changing the network of a sandbox.
 *
 * Theory of operation. What holds from now on is stored first. Then it is applied, if there is a box: the
 * kernel's rules in it by the engine, and what it may reach by the broker, which ends connections that are
 * not allowed any more. A box that had no network gets sockets. One that is to have none any more is dropped
 * by the broker. Only then is the request answered. A process that ends in between leaves the record; the
 * next one applies what is stored to every box whose broker it did not tell itself (network_synced). What
 * cannot be applied now is tried again (cay_network_tend), and the answer says so. A network that cannot be
 * given at all (no nf_tables) is taken back.
 */
#include <stdlib.h>
#include <string.h>

#include "foundation/base/str.h"
#include "domain/sandboxes/service_priv.h"

struct cay_network_before {
        enum cay_network network;
        enum cay_spec_egress egress;
        char *policy; /* owned */
        struct cay_limits limits;
};

void cay_network_before_free(struct cay_network_before *b)
{
        if (b == NULL)
                return;
        free(b->policy);
        free(b);
}

static void take_back(struct cay_sandbox *sb, struct cay_network_before *b)
{
        free(sb->policy);
        sb->network = b->network;
        sb->egress = b->egress;
        sb->policy = cay_take(b->policy);
        sb->limits = b->limits;
}

static void answer(struct cay_async *e, const struct cay_error *err)
{
        struct cay_service_call *call = cay_take(e->call);

        if (call != NULL)
                cay_service_fail_job(e->service, &call->job, err);
}

/* The next step of the same change: whoever waits for it waits for that. */
static struct cay_async *go_on(struct cay_async *e,
                               void (*on_done)(struct cay_async *e, const struct cay_error *err))
{
        struct cay_async *next = cay_async_new(e->service, e->sandbox, NULL, on_done);

        next->call = cay_take(e->call);
        next->before = cay_take(e->before);
        return next;
}

/* A network that it did not have before, and cannot have. */
static bool is_in_vain(const struct cay_async *e)
{
        return e->before != NULL && e->before->policy == NULL;
}

static void fail(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;
        struct cay_error told = *err;

        sb->network_asked = false;
        if (is_in_vain(e)) {
                take_back(sb, e->before);
                sb->dirty = true;
                cay_tick_sandbox(sb, 0);
                cay_wrap(&told, "network");
        } else {
                cay_log_warn("a sandbox's network is not as it should be yet", "id=%s error=%s", sb->id,
                             err->msg);
                cay_network_try_again(e->service);
                cay_wrap(&told, "network: stored, and not in force yet");
        }
        answer(e, &told);
}

/* The broker has closed its sockets: it gets others. */
static void on_let_go(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;

        if (sb == NULL || !sb->has_box || cay_sandbox_is_ending(sb)) {
                if (sb != NULL)
                        sb->network_asked = false;
                answer(e, &(struct cay_error){ 0 }); /* it is stored, and there is nothing to apply it to */
        } else if (err->code != CAY_OK) {
                fail(e, err);
        } else {
                cay_network_apply(sb, cay_take(e->call), cay_take(e->before));
        }
}

/* Its sockets are too few for what it is to have: a member of a private network has more. */
static void make_anew(struct cay_sandbox *sb, struct cay_async *e)
{
        struct cay_network_broker *n = sb->service->env.network;
        struct cay_async *next = go_on(e, on_let_go);

        next->local = true;
        n->ops->let_go(n, sb->id, cay_async_engine(next, CAY_SERVICE_ENGINE_MS));
}

static void on_in_force(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;

        if (sb == NULL) {
                answer(e, err);
                return;
        }
        if (err->code == CAY_CONFLICT && sb->has_box && !cay_sandbox_is_ending(sb)) {
                make_anew(sb, e);
                return;
        }
        if (err->code != CAY_OK && err->code != CAY_EXISTS && sb->has_box && !cay_sandbox_is_ending(sb)) {
                fail(e, err);
                return;
        }
        sb->network_asked = false;
        sb->network_synced = true;
        cay_proxy_tend(sb);
        answer(e, &(struct cay_error){ 0 });
}

/*
 * What the broker is to allow; fd: of the box's sockets, which it has not; -1: it has them, or there are
 * none.
 */
static void tell_broker_take(struct cay_sandbox *sb, struct cay_async *e, int fd)
{
        struct cay_network_broker *n = sb->service->env.network;
        struct cay_job *job;

        e->local = true;
        job = cay_async_engine(e, CAY_SERVICE_ENGINE_MS);
        if (fd >= 0 || !n->ops->has(n, sb->id)) {
                n->ops->add_take(n, sb->id, fd, sb->policy, &sb->limits, job);
                cay_sandbox_send_secrets(sb);
        } else {
                n->ops->change(n, sb->id, sb->policy, &sb->limits, job);
        }
}

/* The kernel's rules in the box are right; now what the broker allows. */
static void on_rules(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;
        int fd = cay_take_fd(e->box.network_fd);

        if (sb == NULL || sb->policy == NULL || !sb->has_box || cay_sandbox_is_ending(sb)) {
                if (fd >= 0)
                        close(fd);
                if (sb != NULL)
                        sb->network_asked = false;
                answer(e, &(struct cay_error){ 0 }); /* it is stored, and there is nothing to apply it to */
                return;
        }
        if (err->code != CAY_OK) {
                fail(e, err);
                return;
        }
        tell_broker_take(sb, go_on(e, on_in_force), fd);
}

void cay_network_apply(struct cay_sandbox *sb, struct cay_service_call *call,
                       struct cay_network_before *before)
{
        struct cay_network_broker *n = sb->service->env.network;
        struct cay_async *e =
                cay_async_new(sb->service, sb, NULL, cay_sandbox_is_proxied(sb) ? on_in_force : on_rules);
        struct cay_engine *engine;
        struct cay_job *job;

        e->call = call;
        e->before = before;
        sb->network_asked = true;
        if (cay_sandbox_is_proxied(sb)) { /* there are no rules of a kernel, and no sockets */
                tell_broker_take(sb, e, -1);
                return;
        }
        engine = cay_async_ask(e, CAY_SERVICE_ENGINE_MS, &job);
        if (engine != NULL)
                engine->ops->network(engine, &e->box, sb->egress, n->ops->has(n, sb->id), job);
}

/* Answers come in order: when this one is here, it has been dropped. */
static void on_dropped(struct cay_async *e, const struct cay_error *err)
{
        answer(e, &(struct cay_error){ 0 });
}

static void drop(struct cay_sandbox *sb, struct cay_async *e)
{
        struct cay_network_broker *n = sb->service->env.network;
        struct cay_async *next = go_on(e, on_dropped);

        next->local = true;
        cay_proxy_end_all(sb);
        cay_network_drop(sb->service, sb->id);
        n->ops->stats(n, sb->id, &next->network_stats, cay_async_engine(next, CAY_SERVICE_ENGINE_MS));
}

static void on_stored(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;
        struct cay_network_broker *n = e->service->env.network;

        if (sb == NULL || err->code != CAY_OK) {
                if (sb != NULL)
                        take_back(sb, e->before);
                answer(e, err);
                return;
        }
        sb->network_synced = false;
        if (!sb->has_box || n == NULL || cay_sandbox_is_ending(sb))
                answer(e, err);
        else if (sb->policy == NULL && n->ops->has(n, sb->id))
                drop(sb, e);
        else if (sb->policy != NULL && n->ops->is_ready(n))
                cay_network_apply(sb, cay_take(e->call), cay_take(e->before));
        else
                answer(e, err); /* without a broker nothing is reached; the next one gets what is stored */
}

static int set(struct cay_sandbox *sb, const struct cay_network_change *change, struct cay_error *err)
{
        const struct cay_engine *engine = sb->engine->engine;

        if (engine == NULL || !(engine->caps & cay_engine_policy_cap(engine->caps)))
                return cay_engine_caps_check(sb->engine->name, engine != NULL ? engine->caps : 0,
                                             CAY_ENGINE_CAN_EGRESS, err);
        /* The engine's own network, or none: which of them a container has is decided when it is made. */
        if (cay_sandbox_is_proxied(sb) && sb->policy == NULL && sb->network == CAY_NETWORK_BRIDGE)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "network: this sandbox has the %s engine's own network, which knows no rules "
                                "and stays; "
                                "create one with allow",
                                sb->engine->name);
        sb->network = change->network;
        if (change->network == CAY_NETWORK_NONE) {
                free(cay_take(sb->policy));
                sb->egress = CAY_EGRESS_NONE;
        } else if (cay_sandbox_read_policy(sb, change->policy, err) < 0 ||
                   cay_sandbox_check_datagrams(sb, err) < 0 || cay_proxy_check(sb, err) < 0) {
                return -1;
        }
        sb->limits = change->limits;
        return cay_limits_check(&sb->limits, err);
}

static struct cay_network_before *remember(const struct cay_sandbox *sb)
{
        struct cay_network_before *b = cay_service_alloc(sizeof(*b));

        *b = (struct cay_network_before){ .network = sb->network,
                                          .egress = sb->egress,
                                          .limits = sb->limits };
        if (sb->policy != NULL) {
                b->policy = cay_service_alloc(strlen(sb->policy) + 1);
                memcpy(b->policy, sb->policy, strlen(sb->policy));
        }
        return b;
}

void cay_service_network_update(struct cay_service *s, const struct cay_viewer *v, const char *id,
                                const struct cay_network_change *change, struct cay_service_call *c)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, id, &err);
        struct cay_network_before *before = NULL;
        struct cay_store_batch *b;
        struct cay_async *e;

        c->next = NULL;
        if (sb != NULL && cay_sandbox_check_free(sb, &err) == 0) {
                before = remember(sb);
                if (set(sb, change, &err) < 0)
                        take_back(sb, before);
        }
        if (err.code != CAY_OK) {
                cay_network_before_free(before);
                cay_service_fail_job(s, &c->job, &err);
                return;
        }
        cay_str_copy(c->id, sizeof(c->id), sb->id);
        e = cay_async_new(s, sb, NULL, on_stored);
        e->call = c;
        e->before = before;
        cay_sandbox_use(sb);
        b = s->store->ops->begin(s->store);
        cay_record_put_sandbox(sb, b, cay_sandbox_state(sb));
        cay_sandbox_asked_by(sb, v);
        cay_event_put(e, b, sb, CAY_EVENT_NETWORK_CHANGED, "network", cay_network_word(sb->network), NULL);
        cay_async_commit(e, b);
}
