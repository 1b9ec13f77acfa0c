/* SPDX-License-Identifier: Apache-2.0 */
/* port_engine over cay-process. Every call is one request; answers finish jobs. */
#include "engine/process/process_link.h"

#include <assert.h>
#include <stdio.h>

#include "base/str.h"
#include "engine/link/box_call.h"
#include "engine/link/boxes.h"
#include "engine/link/link.h"
#include "loop/loop.h"
#include "wire/process_message.h"

#define HELLO_WAIT_MS 20000

static const struct engine_link_kind kind = {
        .program = "cay-process",
        .who = "cay-process",
        .magic = PROCESS_WIRE_MAGIC,
        .request_size = sizeof(struct process_request),
        .answer_size = sizeof(struct process_answer),
        .fd = PROCESS_FRONT_FD,
};

static_assert(offsetof(struct process_answer, text) == offsetof(struct engine_link_answer, text) &&
                      sizeof(struct process_answer) <= ENGINE_LINK_ANSWER_MAX &&
                      PROCESS_TEXT == ENGINE_LINK_TEXT,
              "as every link's answers begin");
static_assert(PROCESS_LIMIT_MEMORY == (int)ENGINE_LIMIT_MEMORY &&
                      PROCESS_LIMIT_SWAP == (int)ENGINE_LIMIT_SWAP &&
                      PROCESS_LIMIT_CPUS == (int)ENGINE_LIMIT_CPUS &&
                      PROCESS_LIMIT_PIDS == (int)ENGINE_LIMIT_PIDS &&
                      PROCESS_LIMIT_DISK == (int)ENGINE_LIMIT_DISK &&
                      PROCESS_LIMIT_INODES == (int)ENGINE_LIMIT_INODES,
              "as every link calls them");

struct process_link {
        struct cay_engine engine;
        struct cay_loop *loop; /* borrowed */
        struct engine_link link;
        unsigned can_hold; /* wire bits */
        struct engine_boxes boxes;
        char workspaces[ENGINE_BOXES_MAX][PROCESS_WORKSPACE]; /* by the row of its box */
};

static struct process_link *self(struct cay_engine *e)
{
        return cay_container_of(e, struct process_link, engine);
}

static const struct process_answer *whole(const struct engine_link_answer *a)
{
        return (const void *)a;
}

static void on_unasked(struct engine_link *l, const struct engine_link_answer *a)
{
        struct process_link *e = cay_container_of(l, struct process_link, link);
        char id[CAY_NAME_MAX + 1];

        if (a->type != PROCESS_box_gone)
                return;
        snprintf(id, sizeof(id), "%.*s", CAY_NAME_MAX, whole(a)->box.id);
        if (engine_boxes_find(&e->boxes, id))
                engine_boxes_tell_gone(&e->boxes, id);
}

/* Boxes end with it. */
static void on_lost(struct engine_link *l)
{
        engine_boxes_lose_all(&cay_container_of(l, struct process_link, link)->boxes);
}

/* Opening */

static int greet(struct process_link *e, struct cay_error *err)
{
        struct process_request hello = { .type = PROCESS_hello, .hello.version = PROCESS_WIRE_VERSION };
        struct engine_ask_now now = { 0 };
        struct process_answer a = { 0 };

        if (engine_link_ask_now(&e->link, &now, &hello, HELLO_WAIT_MS, err) < 0)
                return -1;
        e->can_hold = whole(&now.answer)->hello.can_hold;
        for (unsigned i = 0; i < ENGINE_BOXES_MAX; i++) { /* what fronts before us made */
                struct process_request req = { .type = PROCESS_box_list, .list.from = a.list.next };

                if (engine_link_ask_now(&e->link, &now, &req, HELLO_WAIT_MS, err) < 0)
                        return cay_wrap(err, "ask for the sandboxes there are");
                a = *whole(&now.answer);
                a.list.id[CAY_NAME_MAX] = '\0';
                if (a.list.id[0] == '\0')
                        break;
                engine_boxes_note(&e->boxes, a.list.id, a.list.live, false);
        }
        return 0;
}

int cay_engine_process_open_link_take(const struct cay_engine_env *env, int sock, struct cay_engine **ret,
                                      struct cay_error *err)
{
        struct process_link *e = calloc(1, sizeof(*e));

        if (!e) {
                close(sock);
                return cay_fail(err, CAY_INTERNAL, "no memory for the process engine");
        }
        e->engine.ops = &cay_engine_process_link_ops;
        e->loop = env->loop;
        e->link = (struct engine_link){ .kind = &kind, .on_unasked = on_unasked, .on_lost = on_lost };
        if (engine_link_open_take(&e->link, env->loop, sock, err) < 0) {
                free(e);
                return -1;
        }
        if (greet(e, err) < 0) {
                engine_link_close(&e->link);
                free(e);
                return -1;
        }
        *ret = &e->engine;
        return 0;
}

/* There is none to be had without a keeper: `cay run` has the engine in its own process. */
static int link_open(const struct cay_engine_env *env, struct cay_engine **ret, struct cay_error *err)
{
        return cay_fail(err, CAY_UNSUPPORTED, "cay-process is started by a daemon's keeper alone");
}

static int link_close(struct cay_engine *engine)
{
        int r;

        if (!engine)
                return 0;
        r = engine_link_close(&self(engine)->link);
        free(self(engine));
        return r;
}

static unsigned link_can_hold(struct cay_engine *engine)
{
        return engine_limits_from_wire(self(engine)->can_hold) | engine_limits_by_init();
}

/* Asking */

static void note_box(struct process_link *e, struct cay_engine_box *box, const struct process_answer *a)
{
        struct engine_known *known;

        engine_boxes_note(&e->boxes, box->id, true, false);
        known = engine_boxes_find(&e->boxes, box->id);
        if (known) {
                char *workspace = e->workspaces[known - e->boxes.known];

                snprintf(workspace, PROCESS_WORKSPACE, "%.*s", PROCESS_WORKSPACE - 1, a->box.workspace);
                box->workspace = workspace;
        }
        box->skipped = engine_limits_from_wire(a->box.skipped);
}

static void on_answer(struct engine_call *call, const struct engine_link_answer *a)
{
        struct engine_box_call *c = cay_container_of(call, struct engine_box_call, call);
        struct process_link *e = c->engine;
        bool links = c->type == PROCESS_box_make || c->type == PROCESS_box_link;
        struct cay_error err = { 0 };

        engine_link_read_error(&e->link, a, &err);
        if (err.code == CAY_OK && links)
                note_box(e, c->box, whole(a));
        else if (err.code == CAY_OK)
                c->box->stats = (struct cay_engine_stats){ .memory_bytes = whole(a)->box.memory_bytes,
                                                           .pids = whole(a)->box.pids,
                                                           .cpu_us = whole(a)->box.cpu_us };
        if (c->type == PROCESS_box_drop) {
                engine_boxes_forget(&e->boxes, c->box->id);
                c->box->workspace = NULL;
        }
        if (links && err.code != CAY_OK && c->box->link_fd >= 0)
                close(cay_take_fd(c->box->link_fd));
        engine_box_call_end(c, &err);
}

static void finish(struct process_link *e, struct cay_job *job, const struct cay_error *err)
{
        cay_job_finish(cay_loop_jobs(e->loop), job, err);
}

static void ask(struct process_link *e, struct process_request *req, struct cay_engine_box *box,
                struct cay_job *job, int fd)
{
        const struct engine_box_call what = {
                .call.on_answer = on_answer, .loop = e->loop, .engine = e, .box = box, .job = job
        };

        engine_box_ask(&e->link, &what, req, &fd, fd >= 0 ? 1 : 0);
}

/* What this engine cannot give is refused before anything is made; limits are cay-process's to judge. */
static int check(struct process_link *e, const struct cay_spec *spec, struct cay_error *err)
{
        if (cay_spec_check(spec, err) < 0 || cay_spec_check_plain(spec, "process", err) < 0)
                return -1;
        if (engine_boxes_find(&e->boxes, spec->id))
                return cay_fail(err, CAY_EXISTS, "a sandbox with the id '%s' exists already", spec->id);
        if (spec->template_kind != CAY_TEMPLATE_HOST)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "the process engine has no root of its own: no template but host");
        if (spec->read_only)
                return cay_fail(err, CAY_UNSUPPORTED, "the process engine cannot make its root read-only");
        if (spec->go_on)
                return cay_fail(err, CAY_UNSUPPORTED, "the process engine keeps no files over a stop");
        if (spec->workspace_fd >= 0 || spec->workspace_root > 0)
                return cay_fail(
                        err, CAY_UNSUPPORTED,
                        "the process engine of a daemon maps no workspace: its commands have an id of "
                        "their own, without a right to it; put the files in through the API");
        return 0;
}

/* link_fd is there before the job is finished: frames sent now wait in the socket until init reads them. */
static void link_create(struct cay_engine *engine, const struct cay_spec *spec, struct cay_engine_box *box,
                        struct cay_job *job)
{
        struct process_link *e = self(engine);
        const struct cay_limits *l = &spec->limits;
        struct process_request req = {
                .type = PROCESS_box_make,
                .plan = { .may_skip = engine_limits_to_wire(spec->may_skip),
                          .cpu_milli = (uint32_t)l->cpu_milli,
                          .memory_bytes = l->memory_bytes,
                          .swap_bytes = l->swap_bytes,
                          .pids = l->pids,
                          .disk_bytes = l->disk_bytes,
                          .inodes = l->inodes },
        };
        struct cay_error err = { 0 };
        int theirs = -1;

        box->link_fd = -1;
        cay_str_copy(box->id, sizeof(box->id), spec->id);
        if (check(e, spec, &err) < 0 || engine_box_make_secret(box, &err) < 0 ||
            engine_box_open_link(box, &theirs, &err) < 0) {
                finish(e, job, &err);
                return;
        }
        cay_str_copy(req.plan.id, sizeof(req.plan.id), spec->id);
        memcpy(req.plan.secret, box->secret, sizeof(req.plan.secret));
        ask(e, &req, box, job, theirs);
        close(theirs);
        explicit_bzero(&req, sizeof(req));
}

static void link_relink(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        struct process_request req = { .type = PROCESS_box_link };
        struct cay_error err = { 0 };
        int theirs = -1;

        cay_str_copy(req.box.id, sizeof(req.box.id), box->id);
        if (engine_box_open_link(box, &theirs, &err) < 0) {
                finish(self(engine), job, &err);
                return;
        }
        ask(self(engine), &req, box, job, theirs);
        close(theirs);
}

static void refuse_freezer(struct cay_engine *engine, const char *id, struct cay_job *job)
{
        struct cay_error err = { 0 };

        if (!engine_boxes_find(&self(engine)->boxes, id))
                cay_fail(&err, CAY_NOT_FOUND, "no box '%s'", id);
        else
                cay_fail(&err, CAY_UNSUPPORTED,
                         "the process engine has no freezer: signals would be seen by the code inside");
        finish(self(engine), job, &err);
}

static void ask_about(struct cay_engine *engine, uint32_t type, struct cay_engine_box *box,
                      struct cay_job *job)
{
        struct process_request req = { .type = type };

        cay_str_copy(req.box.id, sizeof(req.box.id), box->id);
        ask(self(engine), &req, box, job, -1);
}

static void link_stats(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        ask_about(engine, PROCESS_box_stat, box, job);
}

static void link_destroy(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        ask_about(engine, PROCESS_box_drop, box, job);
}

static void link_on_gone(struct cay_engine *engine, void (*gone)(void *ctx, const char *id), void *ctx)
{
        self(engine)->boxes.gone = gone;
        self(engine)->boxes.gone_ctx = ctx;
}

static void link_list(struct cay_engine *engine, void (*each)(void *ctx, const char *id), void *ctx)
{
        engine_boxes_each_live(&self(engine)->boxes, each, ctx);
}

static int link_health(struct cay_engine *engine, struct cay_error *err)
{
        return self(engine)->link.sock >= 0 ? 0 : cay_fail(err, CAY_UNAVAILABLE, "cay-process is gone");
}

static void link_trace(struct cay_engine *engine,
                       void (*each)(void *ctx, const char *who, const char *step, uint64_t ns), void *ctx)
{
}

const struct cay_engine_ops cay_engine_process_link_ops = {
        .name = "process",
        .lacks = CAY_ENGINE_LACKS_USERS | CAY_ENGINE_LACKS_ISOLATION | CAY_ENGINE_LACKS_FREEZER,
        .open = link_open,
        .close = link_close,
        .can_hold = link_can_hold,
        .create = link_create,
        .relink = link_relink,
        .freeze = refuse_freezer,
        .thaw = refuse_freezer,
        .stats = link_stats,
        .destroy = link_destroy,
        .on_gone = link_on_gone,
        .list = link_list,
        .health = link_health,
        .trace = link_trace,
};
