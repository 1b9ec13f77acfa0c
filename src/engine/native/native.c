/* SPDX-License-Identifier: Apache-2.0 */
/* The native engine: port_engine over a warden. Every call is one request; answers finish jobs. */
#include "engine/native/native.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "engine/link/box_call.h"
#include "engine/link/boxes.h"
#include "engine/link/link.h"
#include "wire/message.h"

#define HELLO_WAIT_MS 10000
#define LAYERS_MAX (1u << 20)

static const struct engine_link_kind warden = {
        .program = "cay-warden",
        .who = "the warden",
        .magic = WIRE_MAGIC,
        .request_size = sizeof(struct wire_request),
        .answer_size = sizeof(struct wire_answer),
        .fd = WIRE_WARDEN_FD,
        .close_ms = 10000,
};

static_assert(offsetof(struct wire_answer, text) == offsetof(struct engine_link_answer, text) &&
                      sizeof(struct wire_answer) <= ENGINE_LINK_ANSWER_MAX && WIRE_TEXT == ENGINE_LINK_TEXT,
              "as every link's answers begin");
static_assert(WIRE_LIMIT_MEMORY == (int)ENGINE_LIMIT_MEMORY && WIRE_LIMIT_SWAP == (int)ENGINE_LIMIT_SWAP &&
                      WIRE_LIMIT_CPUS == (int)ENGINE_LIMIT_CPUS &&
                      WIRE_LIMIT_PIDS == (int)ENGINE_LIMIT_PIDS &&
                      WIRE_LIMIT_DISK == (int)ENGINE_LIMIT_DISK &&
                      WIRE_LIMIT_INODES == (int)ENGINE_LIMIT_INODES,
              "as every link calls them");

struct cay_engine_native {
        struct cay_engine engine;
        struct cay_loop *loop;
        struct engine_link link;
        struct engine_call hello;
        struct cay_steps steps;   /* reached in this process */
        unsigned can_hold;        /* wire bits */
        struct cay_error refused; /* what the hello was answered with */
        bool greeted;
        bool lost_boxes; /* the warden went before they did */
        struct engine_boxes boxes;
};

static struct cay_engine_native *self(struct cay_engine *e)
{
        return cay_container_of(e, struct cay_engine_native, engine);
}

static const struct wire_answer *whole(const struct engine_link_answer *a)
{
        return (const void *)a;
}

static void on_hello(struct engine_call *call, const struct engine_link_answer *a)
{
        struct cay_engine_native *e = cay_container_of(call, struct cay_engine_native, hello);

        e->greeted = true;
        if (!a) {
                cay_fail(&e->refused, CAY_UNAVAILABLE, "the warden ended before it answered");
                return;
        }
        engine_link_read_error(&e->link, a, &e->refused);
        if (a->code == CAY_OK) {
                e->can_hold = whole(a)->hello.can_hold;
                e->engine.caps = whole(a)->hello.can_keep ? CAY_ENGINE_CAN_KEEP : 0;
        }
}

static void on_unasked(struct engine_link *l, const struct engine_link_answer *a)
{
        struct cay_engine_native *e = cay_container_of(l, struct cay_engine_native, link);
        char id[CAY_NAME_MAX + 1];

        if (a->type != WIRE_box_gone)
                return;
        snprintf(id, sizeof(id), "%.*s", CAY_NAME_MAX, whole(a)->box.id);
        engine_boxes_tell_gone(&e->boxes, id);
}

/* Without a warden there are no boxes: the kernel ended them with it. */
static void on_lost(struct engine_link *l)
{
        struct cay_engine_native *e = cay_container_of(l, struct cay_engine_native, link);

        e->lost_boxes = engine_boxes_has_live(&e->boxes);
        engine_boxes_lose_all(&e->boxes);
}

static struct cay_engine_native *make(const struct cay_engine_env *env, struct cay_error *err)
{
        struct cay_engine_native *e = calloc(1, sizeof(*e));

        if (!e) {
                cay_fail(err, CAY_INTERNAL, "no memory for the native engine");
                return NULL;
        }
        e->engine.ops = &cay_engine_native_ops;
        e->loop = env->loop;
        e->link = (struct engine_link){ .kind = &warden, .on_unasked = on_unasked, .on_lost = on_lost };
        e->hello.on_answer = on_hello;
        return e;
}

static int native_open(const struct cay_engine_env *env, struct cay_engine **ret, struct cay_error *err)
{
        struct wire_request hello = {
                .type = WIRE_hello,
                .hello = { .version = WIRE_VERSION, .flags = env->single ? WIRE_HELLO_SINGLE : 0 },
        };
        struct cay_engine_native *e = make(env, err);

        if (!e)
                return -1;
        if (engine_link_open(&e->link, env->loop, env->program_dir, err) < 0) {
                free(e);
                return -1;
        }
        cay_step_arm(getpid(), e->link.pid);
        cay_step_reached(&e->steps, CAY_STEP_warden_spawned);
        engine_link_ask(&e->link, &e->hello, &hello, NULL, 0); /* its answer is awaited when it is needed */
        *ret = &e->engine;
        return 0;
}

/* What fronts before us made: asked for one by one, at start-up. */
static int learn_boxes(struct cay_engine_native *e, struct cay_error *err)
{
        struct engine_ask_now now = { 0 };
        struct wire_answer a = { 0 };

        for (unsigned i = 0; i < ENGINE_BOXES_MAX; i++) {
                struct wire_request req = { .type = WIRE_box_list, .list.from = a.list.next };

                if (engine_link_ask_now(&e->link, &now, &req, HELLO_WAIT_MS, err) < 0)
                        return cay_wrap(err, "ask for the sandboxes there are");
                a = *whole(&now.answer);
                a.list.id[CAY_NAME_MAX] = '\0';
                if (a.list.id[0] == '\0')
                        break;
                engine_boxes_note(&e->boxes, a.list.id, true, false);
        }
        return 0;
}

int cay_engine_native_open_link_take(const struct cay_engine_env *env, int sock, struct cay_engine **ret,
                                     struct cay_error *err)
{
        struct wire_request hello = { .type = WIRE_hello, .hello = { .version = WIRE_VERSION } };
        struct cay_engine_native *e = make(env, err);

        if (!e) {
                close(sock);
                return -1;
        }
        if (engine_link_open_take(&e->link, env->loop, sock, err) < 0) {
                free(e);
                return -1;
        }
        engine_link_ask(&e->link, &e->hello, &hello, NULL, 0);
        engine_link_await(&e->link, &e->hello, HELLO_WAIT_MS);
        if (!e->greeted)
                cay_fail(&e->refused, CAY_TIMEOUT, "the warden does not answer");
        if (e->refused.code != CAY_OK || learn_boxes(e, &e->refused) < 0) {
                *err = e->refused;
                engine_link_close(&e->link);
                free(e);
                return -1;
        }
        *ret = &e->engine;
        return 0;
}

static int native_close(struct cay_engine *engine)
{
        bool dropped;
        int r;

        if (!engine)
                return 0;
        dropped = !self(engine)->lost_boxes && !engine_boxes_has_live(&self(engine)->boxes);
        r = engine_link_close(&self(engine)->link);
        free(self(engine));
        if (r == -ECHILD)
                r = dropped ? 0 : -1; /* how it ended is not known, but whether its work was done is */
        return r;
}

static unsigned native_can_hold(struct cay_engine *engine)
{
        struct cay_engine_native *e = self(engine);

        engine_link_await(&e->link, &e->hello, HELLO_WAIT_MS);
        return engine_limits_from_wire(e->can_hold) | engine_limits_by_init();
}

static void take_answer(struct engine_box_call *c, const struct wire_answer *a)
{
        const struct wire_stats *s = &a->box.stats;

        if (c->type == WIRE_box_make || c->type == WIRE_box_link) {
                c->box->skipped = engine_limits_from_wire(a->box.skipped);
                c->box->watched = engine_limits_from_wire(a->box.watched);
                c->box->kept = a->box.kept;
        }
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

static void on_answer(struct engine_call *call, const struct engine_link_answer *a)
{
        struct engine_box_call *c = cay_container_of(call, struct engine_box_call, call);
        struct cay_engine_native *e = c->engine;
        struct cay_error err = { 0 };

        engine_link_read_error(&e->link, a, &err);
        if (!a && e->refused.code != CAY_OK)
                err = e->refused; /* it said why before it went */
        if (err.code == CAY_OK)
                take_answer(c, whole(a));
        if (c->box && ((c->type == WIRE_box_make && err.code != CAY_OK && err.code != CAY_EXISTS) ||
                       c->type == WIRE_box_drop || (c->type == WIRE_box_stop && err.code == CAY_OK)))
                engine_boxes_forget(&e->boxes, c->box->id);
        if ((c->type == WIRE_box_make || c->type == WIRE_box_link) && err.code != CAY_OK &&
            c->box->link_fd >= 0)
                close(cay_take_fd(c->box->link_fd));
        engine_box_call_end(c, &err);
}

static void ask(struct cay_engine_native *e, struct wire_request *req, struct cay_engine_box *box,
                struct cay_job *job, const int *fds, unsigned fd_count)
{
        const struct engine_box_call what = {
                .call.on_answer = on_answer, .loop = e->loop, .engine = e, .box = box, .job = job
        };

        engine_box_ask(&e->link, &what, req, fds, fd_count);
}

/* By descriptor, with who passed it where the warden asks for that, or by a root and a name; which of them counts, it decides. */
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

/* link_fd is there before the job is finished: frames sent now wait in the socket until cay-init reads them. */
static void native_create(struct cay_engine *engine, const struct cay_spec *spec, struct cay_engine_box *box,
                          struct cay_job *job)
{
        struct cay_engine_native *e = self(engine);
        const struct cay_limits *l = &spec->limits;
        struct wire_request req = { .type = WIRE_box_make };
        struct wire_plan *p = &req.plan;
        struct cay_error err = { 0 };
        int theirs = -1, fds[4];
        unsigned count = 0;

        box->link_fd = -1;
        snprintf(box->id, sizeof(box->id), "%s", spec->id);
        if (cay_spec_check(spec, &err) == 0 && cay_spec_check_plain(spec, "native", &err) == 0 &&
            engine_boxes_find(&e->boxes, spec->id))
                cay_fail(&err, CAY_EXISTS, "a sandbox with the id '%s' exists already", spec->id);
        if (err.code != CAY_OK || engine_box_make_secret(box, &err) < 0 ||
            engine_box_open_link(box, &theirs, &err) < 0) {
                cay_job_finish(cay_loop_jobs(e->loop), job, &err);
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
        p->flags = (spec->read_only ? WIRE_PLAN_READ_ONLY : 0) | (spec->one_shot ? WIRE_PLAN_ONE_SHOT : 0) |
                   (spec->keep ? WIRE_PLAN_KEEP : 0) | (spec->go_on ? WIRE_PLAN_GO_ON : 0) |
                   (spec->host_plain ? WIRE_PLAN_HOST_PLAIN : 0) |
                   (spec->workspace_rw ? WIRE_PLAN_WORKSPACE_RW : 0) |
                   (spec->workspace_cow ? WIRE_PLAN_WORKSPACE_COW : 0);
        fds[count++] = theirs;
        if (spec->template_kind == CAY_TEMPLATE_ROOTFS) {
                p->flags |= WIRE_PLAN_ROOTFS;
                fds[count++] = spec->rootfs_fd;
        }
        add_workspace(spec, p, fds, &count);
        engine_boxes_note(&e->boxes, spec->id, true, false);
        ask(e, &req, box, job, fds, count);
        close(theirs);
        cay_step_reached(&e->steps, CAY_STEP_plan_sent);
}

static void native_relink(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        struct cay_engine_native *e = self(engine);
        struct wire_request req = { .type = WIRE_box_link };
        struct cay_error err = { 0 };
        int theirs = -1;

        if (engine_box_open_link(box, &theirs, &err) < 0) {
                cay_job_finish(cay_loop_jobs(e->loop), job, &err);
                return;
        }
        snprintf(req.box.id, sizeof(req.box.id), "%s", box->id);
        ask(e, &req, box, job, &theirs, 1);
        close(theirs);
}

static void ask_about(struct cay_engine *engine, uint32_t type, const char *id, struct cay_engine_box *box,
                      struct cay_job *job)
{
        struct wire_request req = { .type = type };

        snprintf(req.box.id, sizeof(req.box.id), "%s", id);
        ask(self(engine), &req, box, job, NULL, 0);
}

static void native_freeze(struct cay_engine *engine, const char *id, struct cay_job *job)
{
        ask_about(engine, WIRE_box_freeze, id, NULL, job);
}

static void native_thaw(struct cay_engine *engine, const char *id, struct cay_job *job)
{
        ask_about(engine, WIRE_box_thaw, id, NULL, job);
}

static void native_stats(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        ask_about(engine, WIRE_box_stat, box->id, box, job);
}

static void native_destroy(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        ask_about(engine, WIRE_box_drop, box->id, box, job);
}

static void native_stop(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        ask_about(engine, WIRE_box_stop, box->id, box, job);
}

/* Asked for page by page; a folder that changes meanwhile is read like any folder. */
static int native_list_kept(struct cay_engine *engine, void (*each)(void *ctx, const char *id), void *ctx,
                            struct cay_error *err)
{
        struct cay_engine_native *e = self(engine);
        struct engine_ask_now now = { 0 };
        struct wire_answer a = { 0 };

        for (unsigned i = 0; i < LAYERS_MAX / WIRE_LAYERS; i++) {
                struct wire_request req = { .type = WIRE_layer_list, .layers.from = a.layers.next };

                if (engine_link_ask_now(&e->link, &now, &req, HELLO_WAIT_MS, err) < 0)
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

static void native_on_gone(struct cay_engine *engine, void (*gone)(void *ctx, const char *id), void *ctx)
{
        self(engine)->boxes.gone = gone;
        self(engine)->boxes.gone_ctx = ctx;
}

static void native_list(struct cay_engine *engine, void (*each)(void *ctx, const char *id), void *ctx)
{
        engine_boxes_each_live(&self(engine)->boxes, each, ctx);
}

/* Without its helper there is nobody to ask. */
static int native_health(struct cay_engine *engine, struct cay_error *err)
{
        return self(engine)->link.sock >= 0 ? 0 : cay_fail(err, CAY_UNAVAILABLE, "the warden is gone");
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

        if (engine_link_ask_now(&self(engine)->link, &now, &req, HELLO_WAIT_MS, &err) == 0)
                theirs = whole(&now.answer)->trace;
        for (unsigned i = 0; i < CAY_STEP_COUNT; i++) {
                uint64_t ns = cay_step_who(i) == CAY_WHO_CLI ? own->at_ns[i] : theirs.at_ns[i];

                if (ns)
                        each(ctx, who[cay_step_who(i)], cay_step_name(i), ns);
        }
}

const struct cay_engine_ops cay_engine_native_ops = {
        .name = "native",
        .open = native_open,
        .close = native_close,
        .can_hold = native_can_hold,
        .create = native_create,
        .relink = native_relink,
        .freeze = native_freeze,
        .thaw = native_thaw,
        .stats = native_stats,
        .stop = native_stop,
        .list_kept = native_list_kept,
        .destroy = native_destroy,
        .on_gone = native_on_gone,
        .list = native_list,
        .health = native_health,
        .trace = native_trace,
};
