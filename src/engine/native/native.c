/* SPDX-License-Identifier: Apache-2.0 */
/* The native engine: port_engine over a warden. Every call is one request; answers finish jobs. */
#include "engine/native/native.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "engine/native/warden_client.h"

#define HELLO_WAIT_MS 10000
#define BOXES_MAX 1024u
#define LAYERS_MAX (1u << 20)

static const struct
{ /* core's limits that the warden holds, by its own bits; the rest are cay-init's and ours */
        unsigned core, wire;
} limit_bits[] = {
        { CAY_LIMIT_BIT(memory_bytes), WIRE_LIMIT_MEMORY }, { CAY_LIMIT_BIT(swap_bytes), WIRE_LIMIT_SWAP },
        { CAY_LIMIT_BIT(cpu_milli), WIRE_LIMIT_CPUS },      { CAY_LIMIT_BIT(pids), WIRE_LIMIT_PIDS },
        { CAY_LIMIT_BIT(disk_bytes), WIRE_LIMIT_DISK },     { CAY_LIMIT_BIT(inodes), WIRE_LIMIT_INODES },
};

#define ALWAYS_HELD                                                                                          \
        (CAY_LIMIT_BIT(files) | CAY_LIMIT_BIT(output_bytes) | CAY_LIMIT_BIT(wall_ms) |                       \
         CAY_LIMIT_BIT(cpu_time_ms))

struct cay_engine_native {
        struct cay_engine engine;
        struct cay_loop *loop;
        struct warden_client warden;
        struct warden_call hello;
        struct cay_steps steps;   /* reached in this process */
        unsigned can_hold;        /* wire bits */
        struct cay_error refused; /* what the hello was answered with */
        bool greeted;
        bool lost_boxes; /* the warden went before they did */
        void (*gone)(void *ctx, const char *id);
        void *gone_ctx;
        unsigned rows;                         /* of ids that were ever used */
        char ids[BOXES_MAX][CAY_NAME_MAX + 1]; /* boxes there are; "" = free */
};

struct call { /* one request for one job; freed with its answer */
        struct warden_call warden;
        struct cay_engine_native *e;
        struct cay_engine_box *box; /* borrowed; may be NULL */
        struct cay_job *job;
        uint32_t type;
};

static struct cay_engine_native *self(struct cay_engine *e)
{
        return cay_container_of(e, struct cay_engine_native, engine);
}

static unsigned from_wire(unsigned wire)
{
        unsigned core = 0;

        for (unsigned i = 0; i < CAY_COUNT(limit_bits); i++)
                core |= wire & limit_bits[i].wire ? limit_bits[i].core : 0;
        return core;
}

static unsigned to_wire(unsigned core)
{
        unsigned wire = 0;

        for (unsigned i = 0; i < CAY_COUNT(limit_bits); i++)
                wire |= core & limit_bits[i].core ? limit_bits[i].wire : 0;
        return wire;
}

static void note_id(struct cay_engine_native *e, const char *id)
{
        unsigned i = 0;

        while (i < e->rows && e->ids[i][0])
                i++;
        if (i == BOXES_MAX)
                return; /* the warden will refuse it */
        if (i == e->rows)
                e->rows++;
        snprintf(e->ids[i], sizeof(e->ids[i]), "%s", id);
}

static void forget_id(struct cay_engine_native *e, const char *id)
{
        for (unsigned i = 0; i < e->rows; i++)
                if (strcmp(e->ids[i], id) == 0)
                        e->ids[i][0] = 0;
}

static void on_hello(struct warden_call *call, const struct wire_answer *a)
{
        struct cay_engine_native *e = cay_container_of(call, struct cay_engine_native, hello);

        e->greeted = true;
        if (!a) {
                cay_fail(&e->refused, CAY_UNAVAILABLE, "the warden ended before it answered");
        } else if (a->code != CAY_OK) {
                e->refused.code = (enum cay_code)(a->code < CAY_CODE_COUNT ? a->code : CAY_INTERNAL);
                e->refused.sys = a->sys;
                snprintf(e->refused.msg, sizeof(e->refused.msg), "%s", a->text);
        } else {
                e->can_hold = a->hello.can_hold;
                e->engine.caps = a->hello.can_keep ? CAY_ENGINE_CAN_KEEP : 0;
        }
}

static void on_box_gone(struct warden_client *c, const struct wire_answer *a)
{
        struct cay_engine_native *e = cay_container_of(c, struct cay_engine_native, warden);
        char id[CAY_NAME_MAX + 1];

        snprintf(id, sizeof(id), "%.*s", CAY_NAME_MAX, a->box.id);
        if (e->gone)
                e->gone(e->gone_ctx, id);
}

static bool has_boxes(const struct cay_engine_native *e)
{
        for (unsigned i = 0; i < e->rows; i++)
                if (e->ids[i][0])
                        return true;
        return false;
}

/* Without a warden there are no boxes: the kernel ended them with it. */
static void on_lost(struct warden_client *c)
{
        struct cay_engine_native *e = cay_container_of(c, struct cay_engine_native, warden);

        e->lost_boxes = has_boxes(e);
        for (unsigned i = 0; i < e->rows; i++)
                if (e->ids[i][0] && e->gone)
                        e->gone(e->gone_ctx, e->ids[i]);
        e->rows = 0;
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
        e->warden.on_gone = on_box_gone;
        e->warden.on_lost = on_lost;
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
        if (warden_client_open(env->loop, &e->warden, env->program_dir, err) < 0) {
                free(e);
                return -1;
        }
        cay_step_arm(getpid(), e->warden.pid);
        cay_step_reached(&e->steps, CAY_STEP_warden_spawned);
        warden_client_ask(&e->warden, &e->hello, &hello, NULL,
                          0); /* its answer is awaited when it is needed */
        *ret = &e->engine;
        return 0;
}

struct list_call {
        struct warden_call warden;
        struct wire_answer answer;
        bool answered;
};

static void on_listed(struct warden_call *call, const struct wire_answer *a)
{
        struct list_call *c = cay_container_of(call, struct list_call, warden);

        c->answered = a != NULL;
        if (a)
                c->answer = *a;
}

/* Waits for the answer: at start-up. */
static int ask_now(struct cay_engine_native *e, struct list_call *call, struct wire_request *req,
                   struct cay_error *err)
{
        call->answered = false;
        warden_client_ask(&e->warden, &call->warden, req, NULL, 0);
        warden_client_await(&e->warden, &call->warden, HELLO_WAIT_MS);
        if (call->answered && call->answer.code == CAY_OK)
                return 0;
        if (!call->answered)
                warden_client_forget(&e->warden, &call->warden); /* it stands on the caller's stack */
        return cay_fail(err, CAY_UNAVAILABLE, "the warden does not tell its sandboxes");
}

/* What fronts before us made: asked for one by one, at start-up. */
static int learn_boxes(struct cay_engine_native *e, struct cay_error *err)
{
        struct list_call call = { .warden.on_answer = on_listed };

        for (unsigned i = 0; i < BOXES_MAX; i++) {
                struct wire_request req = { .type = WIRE_box_list, .list.from = call.answer.list.next };

                if (ask_now(e, &call, &req, err) < 0)
                        return -1;
                call.answer.list.id[CAY_NAME_MAX] = '\0';
                if (call.answer.list.id[0] == '\0')
                        break;
                note_id(e, call.answer.list.id);
        }
        return 0;
}

int cay_engine_native_open_link_take(const struct cay_engine_env *env, int sock, struct cay_engine **ret,
                                     struct cay_error *err)
{
        struct wire_request hello = { .type = WIRE_hello, .hello = { .version = WIRE_VERSION } };
        struct cay_engine_native *e = make(env, err);
        int r;

        if (!e) {
                close(sock);
                return -1;
        }
        r = warden_client_open_link_take(env->loop, &e->warden, sock);
        if (r < 0) {
                free(e);
                return cay_fail_sys(err, CAY_INTERNAL, r, "watch the warden's socket");
        }
        warden_client_ask(&e->warden, &e->hello, &hello, NULL, 0);
        warden_client_await(&e->warden, &e->hello, HELLO_WAIT_MS);
        if (!e->greeted)
                cay_fail(&e->refused, CAY_TIMEOUT, "the warden does not answer");
        if (e->refused.code != CAY_OK || learn_boxes(e, &e->refused) < 0) {
                *err = e->refused;
                warden_client_close(&e->warden);
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
        dropped = !self(engine)->lost_boxes && !has_boxes(self(engine));
        r = warden_client_close(&self(engine)->warden);
        free(self(engine));
        if (r == -ECHILD)
                r = dropped ? 0 : -1; /* how it ended is not known, but whether its work was done is */
        return r;
}

static unsigned native_can_hold(struct cay_engine *engine)
{
        struct cay_engine_native *e = self(engine);

        warden_client_await(&e->warden, &e->hello, HELLO_WAIT_MS);
        return from_wire(e->can_hold) | ALWAYS_HELD;
}

static void answer_to_error(struct cay_engine_native *e, const struct wire_answer *a, struct cay_error *ret)
{
        if (a) {
                ret->code = (enum cay_code)(a->code < CAY_CODE_COUNT ? a->code : CAY_INTERNAL);
                ret->sys = a->sys;
                snprintf(ret->msg, sizeof(ret->msg), "%s", a->text);
        } else if (e->refused.code != CAY_OK) {
                *ret = e->refused; /* it said why before it went */
        } else {
                cay_fail(ret, CAY_UNAVAILABLE, "the warden is gone");
        }
}

static void on_answer(struct warden_call *warden_call, const struct wire_answer *a)
{
        struct call *c = cay_container_of(warden_call, struct call, warden);
        struct cay_error err = { 0 };

        answer_to_error(c->e, a, &err);
        if (a && err.code == CAY_OK) {
                const struct wire_stats *s = &a->box.stats;

                if (c->type == WIRE_box_make || c->type == WIRE_box_link) {
                        c->box->skipped = from_wire(a->box.skipped);
                        c->box->watched = from_wire(a->box.watched);
                        c->box->kept = a->box.kept;
                }
                if (c->type == WIRE_box_stat || c->type == WIRE_box_drop || c->type == WIRE_box_stop)
                        c->box->stats = (struct cay_engine_stats){ s->memory_bytes, s->memory_peak_bytes,
                                                                   s->oom_kills,    s->pids,
                                                                   s->pids_refused, s->cpu_us };
        }
        if (c->box && ((c->type == WIRE_box_make && err.code != CAY_OK && err.code != CAY_EXISTS) ||
                       c->type == WIRE_box_drop || (c->type == WIRE_box_stop && err.code == CAY_OK)))
                forget_id(c->e, c->box->id);
        if ((c->type == WIRE_box_make || c->type == WIRE_box_link) && err.code != CAY_OK &&
            c->box->link_fd >= 0) {
                close(c->box->link_fd);
                c->box->link_fd = -1;
        }
        cay_job_finish(cay_loop_jobs(c->e->loop), c->job, err.code != CAY_OK ? &err : NULL);
        free(c);
}

static void ask(struct cay_engine_native *e, struct wire_request *req, struct cay_engine_box *box,
                struct cay_job *job, const int *fds, unsigned fd_count)
{
        struct call *c = calloc(1, sizeof(*c));
        struct cay_error err = { 0 };

        if (!c) {
                cay_fail(&err, CAY_INTERNAL, "no memory for a request");
                cay_job_finish(cay_loop_jobs(e->loop), job, &err);
                return;
        }
        c->warden.on_answer = on_answer;
        c->e = e;
        c->box = box;
        c->job = job;
        c->type = req->type;
        warden_client_ask(&e->warden, &c->warden, req, fds, fd_count);
}

static void fail_job(struct cay_engine_native *e, struct cay_job *job, enum cay_code code, const char *what)
{
        struct cay_error err = { 0 };

        cay_fail_sys(&err, code, -errno, "%s", what);
        cay_job_finish(cay_loop_jobs(e->loop), job, &err);
}

static bool knows_id(const struct cay_engine_native *e, const char *id)
{
        for (unsigned i = 0; i < e->rows; i++)
                if (strcmp(e->ids[i], id) == 0)
                        return true;
        return false;
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
        int links[2], fds[4];
        unsigned count = 0;

        box->link_fd = -1;
        snprintf(box->id, sizeof(box->id), "%s", spec->id);
        if (cay_spec_check(spec, &err) == 0 && knows_id(e, spec->id))
                cay_fail(&err, CAY_EXISTS, "a sandbox with the id '%s' exists already", spec->id);
        if (err.code != CAY_OK) {
                cay_job_finish(cay_loop_jobs(e->loop), job, &err);
                return;
        }
        if (getrandom(box->secret, sizeof(box->secret), 0) != (ssize_t)sizeof(box->secret)) {
                fail_job(e, job, CAY_INTERNAL, "make the box's secret");
                return;
        }
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, links) < 0) {
                fail_job(e, job, CAY_INTERNAL, "make the box link");
                return;
        }
        snprintf(p->id, sizeof(p->id), "%s", spec->id);
        memcpy(p->secret, box->secret, sizeof(p->secret));
        p->may_skip = to_wire(spec->may_skip);
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
        fds[count++] = links[1];
        if (spec->template_kind == CAY_TEMPLATE_ROOTFS) {
                p->flags |= WIRE_PLAN_ROOTFS;
                fds[count++] = spec->rootfs_fd;
        }
        add_workspace(spec, p, fds, &count);
        note_id(e, spec->id);
        box->link_fd = links[0];
        ask(e, &req, box, job, fds, count);
        close(links[1]);
        cay_step_reached(&e->steps, CAY_STEP_plan_sent);
}

static void native_relink(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        struct cay_engine_native *e = self(engine);
        struct wire_request req = { .type = WIRE_box_link };
        int links[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, links) < 0) {
                fail_job(e, job, CAY_INTERNAL, "make the box link");
                return;
        }
        snprintf(req.box.id, sizeof(req.box.id), "%s", box->id);
        box->link_fd = links[0];
        ask(e, &req, box, job, &links[1], 1);
        close(links[1]);
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
        struct list_call call = { .warden.on_answer = on_listed };

        for (unsigned i = 0; i < LAYERS_MAX / WIRE_LAYERS; i++) {
                struct wire_request req = { .type = WIRE_layer_list, .layers.from = call.answer.layers.next };

                if (ask_now(e, &call, &req, err) < 0)
                        return -1;
                for (unsigned k = 0; k < call.answer.layers.count && k < WIRE_LAYERS; k++) {
                        char *id = call.answer.layers.ids[k];

                        id[CAY_NAME_MAX] = '\0';
                        each(ctx, id);
                }
                if (!call.answer.layers.more)
                        break;
        }
        return 0;
}

static void native_on_gone(struct cay_engine *engine, void (*gone)(void *ctx, const char *id), void *ctx)
{
        self(engine)->gone = gone;
        self(engine)->gone_ctx = ctx;
}

static void native_list(struct cay_engine *engine, void (*each)(void *ctx, const char *id), void *ctx)
{
        struct cay_engine_native *e = self(engine);

        for (unsigned i = 0; i < e->rows; i++)
                if (e->ids[i][0])
                        each(ctx, e->ids[i]);
}

struct trace_call {
        struct warden_call warden;
        struct cay_steps steps;
};

static void on_trace(struct warden_call *call, const struct wire_answer *a)
{
        if (a && a->code == CAY_OK)
                cay_container_of(call, struct trace_call, warden)->steps = a->trace;
}

/* Without its helper there is nobody to ask. */
static int native_health(struct cay_engine *engine, struct cay_error *err)
{
        return self(engine)->warden.sock >= 0 ? 0 : cay_fail(err, CAY_UNAVAILABLE, "the warden is gone");
}

static void native_trace(struct cay_engine *engine,
                         void (*each)(void *ctx, const char *who, const char *step, uint64_t ns), void *ctx)
{
        static const char *const who[] = { "cli", "warden", "box" };
        struct trace_call call = { .warden.on_answer = on_trace };
        struct wire_request req = { .type = WIRE_trace };
        const struct cay_steps *own = &self(engine)->steps;

        warden_client_ask(&self(engine)->warden, &call.warden, &req, NULL, 0);
        warden_client_await(&self(engine)->warden, &call.warden, HELLO_WAIT_MS);
        for (unsigned i = 0; i < CAY_STEP_COUNT; i++) {
                uint64_t ns = cay_step_who(i) == CAY_WHO_CLI ? own->at_ns[i] : call.steps.at_ns[i];

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
