/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks by policy: gives the broker (port_network.h) the sockets of a box and its policy.
 *
 * Theory of operation. A sandbox has its policy as one text, which is stored with it. Its box is made with
 * sockets, which the broker gets before the sandbox is READY. The broker is told to forget them when the box
 * is removed (async.c). The broker's list is compared with the expected one when this process starts, when
 * the broker was replaced, and when an engine returns. A box that the broker does not know gets new sockets
 * from its engine; a box without a sandbox is dropped. What fails is tried again.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "domain/network/policy_text.h"
#include "domain/sandboxes/service_priv.h"

#define AGAIN_MS 2000u

/* The policy of those that name no rule: everything public. */
static const char plain[] = "template public\nown public\n";

/* Policies */

/* Others have networks of their own, which know no limits, or a proxy for those with rules. */
static bool hands_over(const struct cay_sandbox *sb)
{
        return sb->engine->engine != NULL && sb->engine->engine->caps & CAY_ENGINE_CAN_EGRESS;
}

static bool has_broker(const struct cay_sandbox *sb)
{
        return hands_over(sb) || (cay_sandbox_is_proxied(sb) && sb->policy != NULL);
}

bool cay_sandbox_is_proxied(const struct cay_sandbox *sb)
{
        return sb->engine->engine != NULL &&
               cay_engine_policy_cap(sb->engine->engine->caps) == CAY_ENGINE_CAN_PROXY;
}

unsigned cay_sandbox_unheld_network(const struct cay_sandbox *sb)
{
        return has_broker(sb) ? 0 : cay_limits_set_mask(&sb->limits) & CAY_LIMIT_MASK_NETWORK;
}

int cay_sandbox_check_network_limits(const struct cay_sandbox *sb, struct cay_error *err)
{
        unsigned unheld = cay_sandbox_unheld_network(sb) & ~sb->may_skip;
        char list[CAY_LIMIT_LIST_MAX];

        if (unheld == 0)
                return 0;
        return cay_fail(err, CAY_UNSUPPORTED,
                        "limits: the %s engine cannot hold %s: leave them out, or add them to may_skip",
                        sb->engine->name, cay_limit_mask_text(unheld, list, sizeof(list)));
}

int cay_sandbox_read_policy(struct cay_sandbox *sb, const char *policy, struct cay_error *err)
{
        struct cay_policy_pair pair = { 0 };

        if (policy == NULL && sb->network == CAY_NETWORK_BRIDGE && hands_over(sb))
                policy = plain;
        if (policy == NULL && sb->network != CAY_NETWORK_NONE && sb->network != CAY_NETWORK_BRIDGE)
                return cay_fail(err, CAY_INVALID, "allow: the network '%s' needs rules",
                                cay_network_word(sb->network));
        free(cay_take(sb->policy));
        if (policy == NULL)
                return 0;
        if (sb->network == CAY_NETWORK_NONE || strlen(policy) > CAY_SERVICE_TEXT_MAX)
                return cay_fail(err, CAY_INVALID, "allow: the rules are too long, or are for no network");
        if (cay_policy_text_read(policy, strlen(policy), &pair, err) < 0)
                return -1;
        static_assert((int)CAY_POLICY_EGRESS_NAMES == CAY_EGRESS_NAMES &&
                              (int)CAY_POLICY_EGRESS_ADDRESSES == CAY_EGRESS_ADDRESSES &&
                              (int)CAY_POLICY_EGRESS_PUBLIC == CAY_EGRESS_PUBLIC &&
                              (int)CAY_POLICY_EGRESS_UDP == CAY_EGRESS_UDP,
                      "what a policy can allow is what a box is made for");
        sb->egress = (enum cay_spec_egress)(cay_policy_egress(&pair.own) |
                                            (pair.member.network[0] != '\0' ? CAY_EGRESS_DIAL : 0));
        cay_policy_pair_done(&pair);
        if (sb->egress & CAY_EGRESS_DIAL && cay_sandbox_is_proxied(sb))
                return cay_fail(err, CAY_UNSUPPORTED,
                                "private_network: sandboxes of the %s engine cannot be in one; leave it out, "
                                "or choose another "
                                "engine",
                                sb->engine->name);
        sb->policy = strdup(policy);
        return sb->policy != NULL ? 0 : cay_fail(err, CAY_INTERNAL, "no memory");
}

/* Not for what is stored: one that was made before this was checked is kept. */
int cay_sandbox_check_datagrams(const struct cay_sandbox *sb, struct cay_error *err)
{
        if (sb->policy == NULL || !(sb->egress & CAY_EGRESS_UDP) || !cay_sandbox_is_proxied(sb))
                return 0;
        return cay_fail(err, CAY_UNSUPPORTED,
                        "allow: the way out of sandboxes of the %s engine is a proxy, which carries no UDP; "
                        "leave rules with /udp out, or choose another engine",
                        sb->engine->name);
}

int cay_sandbox_put_network(const struct cay_sandbox *sb, struct cay_spec *spec, struct cay_error *err)
{
        struct cay_network_broker *n = sb->service->env.network;

        spec->bridge = sb->network == CAY_NETWORK_BRIDGE && sb->policy == NULL;
        if (sb->policy == NULL)
                return 0;
        if (n == NULL || !n->ops->is_ready(n))
                return cay_fail_because(
                        err, CAY_UNAVAILABLE, CAY_REASON_RETRY,
                        "network: cay-net is not running now; try again, or leave the network out");
        spec->egress = sb->egress;
        if (sb->secrets != NULL && sb->service->env.secrets_ca != NULL)
                spec->ca = sb->service->env.secrets_ca(sb->service->env.ctx);
        return 0;
}

const char *cay_service_member_find(const struct cay_service *s, const char *owner, const char *network,
                                    const char *host, const char *except)
{
        char line[3 * CAY_NAME_MAX + 16];
        size_t len = (size_t)snprintf(line, sizeof(line), "\nmember %s %s %s\n", owner, network, host);

        for (unsigned i = 0; i < s->count; i++) {
                const struct cay_sandbox *sb = s->sorted[i];
                size_t policy_len = sb->policy != NULL ? strlen(sb->policy) : 0;

                if (policy_len >= len && !cay_sandbox_is_ending(sb) &&
                    strcmp(sb->policy + policy_len - len, line) == 0 &&
                    (except == NULL || strcmp(sb->id, except) != 0))
                        return sb->id;
        }
        return NULL;
}

/* Boxes and the broker */

struct cay_async *cay_sandbox_connect_take(struct cay_sandbox *sb, int fd,
                                           void (*on_done)(struct cay_async *e, const struct cay_error *err))
{
        struct cay_network_broker *n = sb->service->env.network;
        struct cay_async *e = cay_async_new(sb->service, sb, NULL, on_done);

        e->local = true;
        n->ops->add_take(n, sb->id, fd, sb->policy, &sb->limits, cay_async_engine(e, CAY_SERVICE_ENGINE_MS));
        cay_sandbox_send_secrets(sb);
        return e;
}

void cay_network_drop(struct cay_service *s, const char *id)
{
        const struct cay_sandbox *sb = cay_table_find(s, id);

        if (s->env.network == NULL)
                return;
        s->env.network->ops->drop(s->env.network, id);
        if (sb != NULL)
                cay_event_tell_network(s, sb->owner, sb->id);
}

static void on_again(struct cay_timer *t)
{
        cay_network_tend(cay_container_of(t, struct cay_service, network_timer));
}

void cay_network_try_again(struct cay_service *s)
{
        if (s->network_timer.loop == NULL)
                cay_timer_set(s->loop, &s->network_timer, AGAIN_MS, on_again);
}

void cay_network_tend_soon(struct cay_service *s)
{
        cay_timer_set(s->loop, &s->network_timer, 1, on_again);
}

/*
 * The broker does not have it, or was told of it by another process, which may have stored something else
 * since.
 */
static bool wants_network(const struct cay_sandbox *sb)
{
        struct cay_network_broker *n = sb->service->env.network;

        return sb->policy != NULL && sb->has_box && !sb->network_asked && !cay_sandbox_is_away(sb) &&
               (!sb->network_synced || !n->ops->has(n, sb->id));
}

static void tend_one(struct cay_sandbox *sb)
{
        enum cay_pending pending = cay_sandbox_pending(sb);
        const struct cay_engine *engine = sb->engine->engine;

        if (engine == NULL || (engine->ops->network == NULL && !cay_sandbox_is_proxied(sb)) ||
            cay_sandbox_is_ending(sb))
                return;
        if (pending != CAY_PENDING_NONE && pending != CAY_PENDING_ADOPT) /* it may be getting one now */
                cay_network_try_again(sb->service);
        else
                cay_network_apply(sb, NULL, NULL);
}

static void drop_unowned(void *ctx, const char *id)
{
        struct cay_service *s = ctx;
        const struct cay_sandbox *sb = cay_table_find(s, id);

        if (sb == NULL || !sb->has_box || sb->policy == NULL)
                cay_network_drop(s, id);
}

void cay_network_tend(struct cay_service *s)
{
        struct cay_network_broker *n = s->env.network;

        if (n == NULL || !n->ops->is_ready(n))
                return;
        n->ops->each(n, drop_unowned, s);
        for (unsigned i = 0; i < s->count; i++)
                if (wants_network(s->sorted[i]))
                        tend_one(s->sorted[i]);
                else
                        cay_proxy_tend(s->sorted[i]);
}

static void count(struct cay_network_totals *t, const struct cay_network_entry *e)
{
        t->allowed += e->port > 0 && strcmp(e->verdict, "allowed") == 0;
        t->refused += strcmp(e->verdict, "refused") == 0;
        t->failed += strcmp(e->verdict, "failed") == 0;
        t->up_bytes += e->connection > 0 ? e->up_bytes : 0;
        t->down_bytes += e->connection > 0 ? e->down_bytes : 0;
}

static void on_entry(void *ctx, const char *id, const struct cay_network_entry *entry)
{
        struct cay_service *s = ctx;
        struct cay_sandbox *sb = cay_table_find(s, id);

        count(&s->network_totals, entry);
        if (sb == NULL)
                return;
        for (struct cay_exec *x = sb->execs; x != NULL; x = x->next)
                if (cay_exec_is_alive(x) || cay_exec_phase_end(x->phase) == CAY_EXEC_END_KNOWN)
                        cay_exec_note_network(x, entry);
        cay_event_tell_network(s, sb->owner, sb->id); /* the last: who is told may do anything */
}

static void on_broker_ready(void *ctx)
{
        cay_network_tend(ctx);
}

void cay_network_open(struct cay_service *s)
{
        if (s->env.network == NULL)
                return;
        s->env.network->ops->on_ready(s->env.network, on_broker_ready, s);
        s->env.network->ops->on_entry(s->env.network, on_entry, s);
        cay_network_tend(s);
}

void cay_network_close(struct cay_service *s)
{
        cay_timer_clear(&s->network_timer);
        if (s->env.network == NULL)
                return;
        s->env.network->ops->on_ready(s->env.network, NULL, NULL);
        s->env.network->ops->on_entry(s->env.network, NULL, NULL);
}

/* Figures and the log */

static void on_answer(struct cay_async *e, const struct cay_error *err)
{
        struct cay_service_call *call = cay_take(e->call);
        struct cay_service_network *c;

        if (call == NULL)
                return;
        c = cay_container_of(call, struct cay_service_network, call);
        if (err->code == CAY_OK) { /* otherwise it may still be filled */
                c->stats = e->network_stats;
                c->log = e->network_log;
                e->network_log.entries = NULL;
        }
        cay_service_fail_job(e->service, &call->job, err);
}

/* The async operation for the request; NULL: the call was answered. */
static struct cay_async *begin(struct cay_service *s, const struct cay_viewer *v, const char *id,
                               struct cay_service_network *c)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, id, &err);
        struct cay_async *e;

        c->call.next = NULL;
        if (sb != NULL && (sb->policy == NULL || s->env.network == NULL))
                cay_fail(&err, CAY_CONFLICT,
                         "sandbox '%s' has no network with rules; create a sandbox with allow, or with the "
                         "network bridge",
                         sb->id);
        else if (sb != NULL && !sb->has_box)
                cay_fail(&err, CAY_CONFLICT, "sandbox '%s' is not running (%s)", sb->id,
                         cay_state_word(cay_sandbox_state(sb)));
        if (err.code != CAY_OK) {
                cay_service_fail_job(s, &c->call.job, &err);
                return NULL;
        }
        e = cay_async_new(s, sb, NULL, on_answer);
        e->local = true;
        e->call = &c->call;
        e->network_log.from = c->log.from;
        e->network_log.max = c->log.max;
        return e;
}

void cay_service_network_stats(struct cay_service *s, const struct cay_viewer *v, const char *id,
                               struct cay_service_network *c)
{
        struct cay_error err = { 0 };
        const struct cay_sandbox *sb = cay_table_get(s, v, id, &err);
        struct cay_async *e;

        if (sb == NULL || sb->policy == NULL || !sb->has_box || s->env.network == NULL) {
                cay_service_fail_job(s, &c->call.job,
                                     &err); /* one without has figures, too: nothing went over it */
                return;
        }
        e = begin(s, v, id, c);
        if (e != NULL)
                s->env.network->ops->stats(s->env.network, e->box.id, &e->network_stats,
                                           cay_async_engine(e, CAY_SERVICE_ENGINE_MS));
}

void cay_service_network_log(struct cay_service *s, const struct cay_viewer *v, const char *id,
                             struct cay_service_network *c)
{
        struct cay_async *e = begin(s, v, id, c);

        if (e != NULL)
                s->env.network->ops->read_log(s->env.network, e->box.id, &e->network_log,
                                              cay_async_engine(e, CAY_SERVICE_ENGINE_MS));
}

void cay_service_network_done(struct cay_service_network *c)
{
        free(cay_take(c->log.entries));
}
