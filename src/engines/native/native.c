/* SPDX-License-Identifier: Apache-2.0 */
/* The native engine: port_engine over a warden. Builds its requests and interprets its answers. */
#include "engines/native/native.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engines/engine_list.h"
#include "engines/helper_client/linked.h"
#include "engines/native/native_volume.h"
#include "links/helper/message.h"

#define LAYERS_MAX (1u << 20)

ENGINE_LINKED_FITS(struct wire_request, struct wire_answer);

struct cay_engine_native {
        struct engine_linked linked; /* first */
        struct cay_steps steps;      /* reached in this process */
};

static struct cay_engine_native *self(struct cay_engine *e)
{
        return cay_container_of(engine_linked_of(e), struct cay_engine_native, linked);
}

static const struct wire_answer *whole(const struct helper_answer_head *a)
{
        return (const void *)a;
}

/* Answers */

static void on_hello(struct engine_linked *e, const struct helper_answer_head *a)
{
        const unsigned with_layers = CAY_ENGINE_CAN_KEEP | CAY_ENGINE_CAN_VOLUMES;

        e->engine.caps = CAY_ENGINE_native_CAPS & (whole(a)->hello.can_keep ? ~0u : ~with_layers);
}

static void on_listed(struct engine_linked *e, const char *id, const struct helper_answer_head *a)
{
        engine_boxes_note(&e->boxes, id, true, false);
}

static void take_answer(struct engine_linked_call *c, const struct wire_answer *a)
{
        const struct wire_stats *s = &a->box.stats;

        if (c->type == WIRE_box_make || c->type == WIRE_box_link) {
                c->box->skipped = engine_limits_from_wire(a->box.skipped);
                c->box->watched = engine_limits_from_wire(a->box.watched);
                c->box->kept = a->box.kept;
                c->box->mended = a->box.mended;
        }
        if (c->type == WIRE_layer_clone) {
                c->box->clone.is_shared = a->clone.is_shared;
                c->box->clone.bytes = a->clone.bytes;
                c->box->clone.added = a->clone.added;
                c->box->clone.frozen_us = a->clone.frozen_us;
        }
        if (c->type == WIRE_box_stop)
                c->box->damaged = a->box.damaged;
        if (c->type == WIRE_box_reclaim)
                c->box->reclaimed_bytes = a->box.reclaimed_bytes;
        if (c->type == WIRE_box_stat || c->type == WIRE_box_drop || c->type == WIRE_box_stop)
                c->box->stats = (struct cay_engine_stats){ .memory_bytes = s->memory_bytes,
                                                           .memory_peak_bytes = s->memory_peak_bytes,
                                                           .oom_kills = s->oom_kills,
                                                           .pids = s->pids,
                                                           .pids_refused = s->pids_refused,
                                                           .cpu_us = s->cpu_us,
                                                           .rx_bytes = a->box.network.rx_bytes,
                                                           .tx_bytes = a->box.network.tx_bytes,
                                                           .loopback_bytes = a->box.network.loopback_bytes };
}

static void on_answer(struct engine_linked_call *c, const struct helper_answer_head *a, enum cay_code code)
{
        if (a)
                take_answer(c, whole(a));
        if (c->box &&
            ((c->type == WIRE_box_make && code != CAY_OK && code != CAY_EXISTS) || c->type == WIRE_box_drop ||
             (c->type == WIRE_box_stop && (code == CAY_OK || code == CAY_DAMAGED))))
                engine_boxes_forget(&c->engine->boxes, c->box->id);
}

/* Opening */

static const struct engine_linked_kind kind = {
        .link = { .program = "cay-warden",
                  .who = "the warden",
                  .protocol = &wire_protocol,
                  .close_ms = 10000 },
        .ops = &cay_engine_native_ops,
        .size = sizeof(struct cay_engine_native),
        .answer_ms = 10000,
        .box_make = WIRE_box_make,
        .box_link = WIRE_box_link,
        .box_list = WIRE_box_list,
        .box_freeze = WIRE_box_freeze,
        .box_thaw = WIRE_box_thaw,
        .box_stat = WIRE_box_stat,
        .box_reclaim = WIRE_box_reclaim,
        .box_stop = WIRE_box_stop,
        .box_drop = WIRE_box_drop,
        .box_gone = WIRE_box_gone,
        .on_hello = on_hello,
        .on_listed = on_listed,
        .on_answer = on_answer,
};

static int native_open(const struct cay_engine_env *env, struct cay_engine **ret, struct cay_error *err)
{
        struct wire_request hello = {
                .type = WIRE_hello,
                .hello = { .version = WIRE_VERSION, .flags = env->single ? WIRE_HELLO_SINGLE : 0 },
        };
        struct engine_linked *e = engine_linked_new(&kind, env, err);

        if (!e)
                return -1;
        if (engine_link_open(&e->link, env->loop, env->program_dir, err) < 0) {
                free(e);
                return -1;
        }
        cay_step_arm(getpid(), e->link.pid);
        cay_step_reached(&self(&e->engine)->steps, CAY_STEP_warden_spawned);
        engine_linked_say_hello(e, &hello); /* its answer is awaited when it is needed */
        *ret = &e->engine;
        return 0;
}

int cay_engine_native_open_link_take(const struct cay_engine_env *env, int sock, struct cay_engine **ret,
                                     struct cay_error *err)
{
        struct wire_request hello = { .type = WIRE_hello, .hello = { .version = WIRE_VERSION } };

        return engine_linked_open_take(&kind, env, sock, &hello, ret, err);
}

/* Making */

/*
 * By descriptor, with the client that passed it where the warden requires it, or by a root and a name; the
 * warden decides which one counts.
 */
static void add_workspace(const struct cay_spec *spec, struct wire_plan *p, int *fds, unsigned *count)
{
        if (spec->workspace_root > 0) {
                p->flags |= WIRE_PLAN_WORKSPACE | WIRE_PLAN_WORKSPACE_BELOW;
                p->workspace_root = spec->workspace_root - 1;
                snprintf(p->workspace_below, sizeof(p->workspace_below), "%s", spec->workspace_below);
        } else if (spec->workspace_fd >= 0) {
                p->flags |= WIRE_PLAN_WORKSPACE;
                fds[(*count)++] = spec->workspace_fd;
                if (spec->workspace_peer > 0) {
                        p->flags |= WIRE_PLAN_WORKSPACE_PEER;
                        fds[(*count)++] = spec->workspace_peer;
                }
        }
}

/* Where the sockets of its network are sent: the caller has the other end. */
static int open_network(enum cay_spec_egress egress, struct cay_engine_box *box, int *ret_theirs,
                        struct cay_error *err)
{
        int ends[2];

        if (egress == CAY_EGRESS_NONE)
                return 0;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a socket for the network");
        box->network_fd = ends[0];
        *ret_theirs = ends[1];
        return 0;
}

static uint32_t network_mode(enum cay_spec_egress egress)
{
        static_assert((int)CAY_EGRESS_NAMES == WIRE_NETWORK_NAMES &&
                              (int)CAY_EGRESS_ADDRESSES == WIRE_NETWORK_ADDRESSES &&
                              (int)CAY_EGRESS_PUBLIC == WIRE_NETWORK_PUBLIC &&
                              (int)CAY_EGRESS_UDP == WIRE_NETWORK_UDP &&
                              (int)CAY_EGRESS_DIAL == WIRE_NETWORK_DIAL,
                      "a spec's egress is a plan's mode");
        return (uint32_t)egress;
}

/*
 * link_fd is set before the job is finished: frames sent now are queued in the socket until cay-init reads
 * them.
 */
static void native_create(struct cay_engine *engine, const struct cay_spec *spec, struct cay_engine_box *box,
                          struct cay_job *job)
{
        struct engine_linked *e = engine_linked_of(engine);
        const struct cay_limits *l = &spec->limits;
        struct wire_request req = { .type = WIRE_box_make };
        struct wire_plan *p = &req.plan;
        struct cay_error err = { 0 };
        int theirs = -1, network = -1, fds[5];
        unsigned count = 0;

        box->link_fd = box->network_fd = -1;
        snprintf(box->id, sizeof(box->id), "%s", spec->id);
        if (cay_spec_check(spec, &err) == 0 &&
            cay_spec_check_caps(spec, "native", CAY_ENGINE_native_CAPS, &err) == 0 &&
            engine_boxes_find(&e->boxes, spec->id))
                cay_fail(&err, CAY_EXISTS, "a sandbox with the id '%s' exists already", spec->id);
        if (spec->secret)
                memcpy(box->secret, spec->secret, sizeof(box->secret));
        if (err.code != CAY_OK || native_volumes_put(spec, p, &err) < 0 ||
            (!spec->secret && engine_box_make_secret(box, &err) < 0) ||
            open_network(spec->egress, box, &network, &err) < 0 ||
            engine_box_open_link(box, &theirs, &err) < 0) {
                engine_linked_finish(e, job, &err);
                return;
        }
        snprintf(p->id, sizeof(p->id), "%s", spec->id);
        memcpy(p->secret, box->secret, sizeof(p->secret));
        p->may_skip = engine_limits_to_wire(spec->may_skip);
        p->test_off = spec->test_off;
        p->cpu_milli = (uint32_t)l->cpu_milli;
        p->memory_bytes = l->memory_bytes;
        p->swap_bytes = l->swap_bytes;
        p->pids = l->pids;
        p->disk_bytes = l->disk_bytes;
        p->inodes = l->inodes;
        p->flags = (spec->options.read_only ? WIRE_PLAN_READ_ONLY : 0) |
                   (spec->options.font_cache ? WIRE_PLAN_FONT_CACHE : 0) |
                   (spec->one_shot ? WIRE_PLAN_ONE_SHOT : 0) | (spec->brief ? WIRE_PLAN_BRIEF : 0) |
                   (spec->options.warm ? WIRE_PLAN_WARM : 0) | (spec->keep ? WIRE_PLAN_KEEP : 0) |
                   (spec->go_on ? WIRE_PLAN_GO_ON : 0) | (spec->host_plain ? WIRE_PLAN_HOST_PLAIN : 0) |
                   (spec->workspace_rw ? WIRE_PLAN_WORKSPACE_RW : 0) |
                   (spec->workspace_cow ? WIRE_PLAN_WORKSPACE_COW : 0);
        if (spec->options.warm && spec->options.warm_modules)
                snprintf(p->warm_modules, sizeof(p->warm_modules), "%s", spec->options.warm_modules);
        fds[count++] = theirs;
        if (spec->template_kind == CAY_TEMPLATE_ROOTFS) {
                p->flags |= WIRE_PLAN_ROOTFS;
                fds[count++] = spec->rootfs_fd;
        }
        add_workspace(spec, p, fds, &count);
        if (network >= 0) {
                p->flags |= WIRE_PLAN_NETWORK;
                p->network = network_mode(spec->egress);
                fds[count++] = network;
                if (spec->ca) {
                        p->flags |= WIRE_PLAN_CA;
                        snprintf(p->ca, sizeof(p->ca), "%s", spec->ca);
                }
        }
        engine_boxes_note(&e->boxes, spec->id, true, false);
        engine_linked_ask(e, &req, box, job, fds, count);
        close(theirs);
        if (network >= 0)
                close(network);
        cay_step_reached(&self(engine)->steps, CAY_STEP_plan_sent);
}

/* Those of a network are cay-net's. */
static unsigned native_can_hold(struct cay_engine *engine)
{
        return engine_linked_can_hold(engine) | CAY_LIMIT_MASK_NETWORK;
}

static void native_network(struct cay_engine *engine, struct cay_engine_box *box, enum cay_spec_egress egress,
                           bool has_sockets, struct cay_job *job)
{
        struct engine_linked *e = engine_linked_of(engine);
        struct wire_request req = { .type = WIRE_box_network, .network.mode = network_mode(egress) };
        cay_auto_close int theirs = -1;
        struct cay_error err = { 0 };

        if (egress == CAY_EGRESS_NONE)
                cay_fail(&err, CAY_INVALID, "sandbox '%s' has no network", box->id);
        if (err.code != CAY_OK || (!has_sockets && open_network(egress, box, &theirs, &err) < 0)) {
                engine_linked_finish(e, job, &err);
                return;
        }
        snprintf(req.network.id, sizeof(req.network.id), "%s", box->id);
        engine_linked_ask(e, &req, box, job, &theirs, !has_sockets);
}

/* The rest of the port */

/* Requested page by page; changes meanwhile have the usual effects of reading a folder. */
static int native_list_kept(struct cay_engine *engine, void (*each)(void *ctx, const char *id), void *ctx,
                            struct cay_error *err)
{
        struct engine_linked *e = engine_linked_of(engine);
        struct engine_ask_now now = { 0 };
        struct wire_answer a = { 0 };

        for (unsigned i = 0; i < LAYERS_MAX / WIRE_LAYERS; i++) {
                struct wire_request req = { .type = WIRE_layer_list, .layers.from = a.layers.next };

                if (engine_link_ask_now(&e->link, &now, &req, kind.answer_ms, err) < 0)
                        return cay_wrap(err, "ask for the layers there are");
                a = *whole(&now.answer);
                for (unsigned k = 0; k < a.layers.count && k < WIRE_LAYERS; k++) {
                        a.layers.ids[k][CAY_NAME_MAX] = '\0';
                        each(ctx, a.layers.ids[k]);
                }
                if (!a.layers.more)
                        break;
        }
        return 0;
}

static void native_volumes(struct cay_engine *engine, const char *owner, struct cay_volumes *ret,
                           struct cay_job *job)
{
        native_volume_list(&engine_linked_of(engine)->link, engine_linked_of(engine)->loop, owner, ret, job);
}

static void native_remove_volume(struct cay_engine *engine, const char *owner, const char *name,
                                 struct cay_job *job)
{
        native_volume_remove(&engine_linked_of(engine)->link, engine_linked_of(engine)->loop, owner, name,
                             job);
}

static void native_clone(struct cay_engine *engine, const char *from, unsigned how,
                         struct cay_engine_box *box, struct cay_job *job)
{
        struct wire_request req = { .type = WIRE_layer_clone };

        req.clone.flags = (how & CAY_ENGINE_CLONE_REPLACE ? WIRE_CLONE_REPLACE : 0) |
                          (how & CAY_ENGINE_CLONE_SYNC ? WIRE_CLONE_SYNC : 0);
        snprintf(req.clone.from, sizeof(req.clone.from), "%s", from);
        snprintf(req.clone.to, sizeof(req.clone.to), "%s", box->id);
        engine_linked_ask(engine_linked_of(engine), &req, box, job, NULL, 0);
}

static void native_trace(struct cay_engine *engine,
                         void (*each)(void *ctx, const char *who, const char *step, uint64_t ns), void *ctx)
{
        static const char *const who[] = { "cli", "warden", "box" };
        const struct cay_steps *own = &self(engine)->steps;
        struct wire_request req = { .type = WIRE_trace };
        struct engine_ask_now now = { 0 };
        struct cay_error err = { 0 };
        struct cay_steps theirs = { 0 };

        if (engine_link_ask_now(&engine_linked_of(engine)->link, &now, &req, kind.answer_ms, &err) == 0)
                theirs = whole(&now.answer)->trace;
        for (unsigned i = 0; i < CAY_STEP_COUNT; i++) {
                uint64_t ns = cay_step_who(i) == CAY_WHO_CLI ? own->at_ns[i] : theirs.at_ns[i];

                if (ns)
                        each(ctx, who[cay_step_who(i)], cay_step_name(i), ns);
        }
}

const struct cay_engine_ops cay_engine_native_ops = {
        .name = "native",
        .lacks = CAY_ENGINE_native_LACKS,
        .open = native_open,
        .close = engine_linked_close,
        .reopen_take = engine_linked_reopen_take,
        .can_hold = native_can_hold,
        .create = native_create,
        .relink = engine_linked_relink,
        .freeze = engine_linked_freeze,
        .thaw = engine_linked_thaw,
        .stats = engine_linked_stats,
        .reclaim = engine_linked_reclaim,
        .network = native_network,
        .stop = engine_linked_stop,
        .list_kept = native_list_kept,
        .volumes = native_volumes,
        .volume_remove = native_remove_volume,
        .clone = native_clone,
        .destroy = engine_linked_destroy,
        .on_gone = engine_linked_on_gone,
        .list = engine_linked_list,
        .health = engine_linked_health,
        .trace = native_trace,
};
