/* SPDX-License-Identifier: Apache-2.0 */
/* The docker engine: port_engine over cay-docker. Every call is one request; answers finish jobs. */
#include "engine/docker/docker.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/str.h"
#include "engine/docker/docker_image.h"
#include "engine/link/box_call.h"
#include "engine/link/boxes.h"
#include "engine/link/link.h"
#include "loop/loop.h"
#include "wire/docker_message.h"

#define HELLO_WAIT_MS 20000

/* Where Docker is, and the image of a run; nothing else of the caller's environment. */
static const char *const variables[] = { "DOCKER_HOST=", "DOCKER_TLS_VERIFY=", "DOCKER_CERT_PATH=",
                                         "CAY_DOCKER_IMAGE=", NULL };

static const struct engine_link_kind broker = {
        .program = "cay-docker",
        .who = "cay-docker",
        .variables = variables,
        .magic = DOCKER_WIRE_MAGIC,
        .request_size = sizeof(struct docker_request),
        .answer_size = sizeof(struct docker_answer),
        .fd = DOCKER_FRONT_FD,
        .close_ms = 30000,
};

static_assert(offsetof(struct docker_answer, text) == offsetof(struct engine_link_answer, text) &&
                      sizeof(struct docker_answer) <= ENGINE_LINK_ANSWER_MAX &&
                      DOCKER_TEXT == ENGINE_LINK_TEXT,
              "as every link's answers begin");
static_assert(DOCKER_LIMIT_MEMORY == (int)ENGINE_LIMIT_MEMORY &&
                      DOCKER_LIMIT_SWAP == (int)ENGINE_LIMIT_SWAP &&
                      DOCKER_LIMIT_CPUS == (int)ENGINE_LIMIT_CPUS &&
                      DOCKER_LIMIT_PIDS == (int)ENGINE_LIMIT_PIDS &&
                      DOCKER_LIMIT_DISK == (int)ENGINE_LIMIT_DISK &&
                      DOCKER_LIMIT_INODES == (int)ENGINE_LIMIT_INODES,
              "as every link calls them");

struct cay_engine_docker {
        struct cay_engine engine;
        struct cay_loop *loop;
        struct engine_link link;
        struct engine_call hello;
        bool greeted, away;
        struct cay_error refused, away_why;
        unsigned can_hold; /* wire bits */
        struct engine_boxes boxes;
};

static struct cay_engine_docker *self(struct cay_engine *e)
{
        return cay_container_of(e, struct cay_engine_docker, engine);
}

static const struct docker_answer *whole(const struct engine_link_answer *a)
{
        return (const void *)a;
}

static void on_hello(struct engine_call *call, const struct engine_link_answer *a)
{
        struct cay_engine_docker *e = cay_container_of(call, struct cay_engine_docker, hello);

        e->greeted = true;
        if (!a) {
                cay_fail(&e->refused, CAY_UNAVAILABLE, "cay-docker ended before it answered");
                return;
        }
        engine_link_read_error(&e->link, a, &e->refused);
        if (a->code == CAY_OK)
                e->can_hold = whole(a)->hello.can_hold;
}

static void on_unasked(struct engine_link *l, const struct engine_link_answer *a)
{
        struct cay_engine_docker *e = cay_container_of(l, struct cay_engine_docker, link);
        char id[CAY_NAME_MAX + 1];

        if (a->type == DOCKER_daemon) {
                e->away = whole(a)->daemon.away;
                if (!e->away)
                        e->can_hold = whole(a)->daemon.can_hold; /* of the one that is there now */
                cay_fail(&e->away_why, CAY_UNAVAILABLE, "%s", a->text);
        } else if (a->type == DOCKER_box_gone) {
                snprintf(id, sizeof(id), "%.*s", CAY_NAME_MAX, whole(a)->box.id);
                if (engine_boxes_find(&e->boxes, id))
                        engine_boxes_tell_gone(&e->boxes, id);
        }
}

/* Containers live on without cay-docker: a keeper starts the next one, which finds them. Without a keeper nobody reaches them again. */
static void on_lost(struct engine_link *l)
{
        if (l->pid != 0)
                engine_boxes_lose_all(&cay_container_of(l, struct cay_engine_docker, link)->boxes);
}

static struct cay_engine_docker *make(const struct cay_engine_env *env, struct cay_error *err)
{
        struct cay_engine_docker *e = calloc(1, sizeof(*e));

        if (!e) {
                cay_fail(err, CAY_INTERNAL, "no memory for the docker engine");
                return NULL;
        }
        e->engine.ops = &cay_engine_docker_ops;
        e->engine.caps = CAY_ENGINE_CAN_KEEP | CAY_ENGINE_CAN_BRIDGE | CAY_ENGINE_CAN_ONCE;
        e->loop = env->loop;
        e->link = (struct engine_link){ .kind = &broker, .on_unasked = on_unasked, .on_lost = on_lost };
        e->hello.on_answer = on_hello;
        return e;
}

/* What fronts before us made: asked for one by one, at start-up. */
static int learn_boxes(struct cay_engine_docker *e, struct cay_error *err)
{
        struct engine_ask_now now = { 0 };
        struct docker_answer a = { 0 };

        for (unsigned i = 0; i < ENGINE_BOXES_MAX; i++) {
                struct docker_request req = { .type = DOCKER_box_list, .list.from = a.list.next };

                if (engine_link_ask_now(&e->link, &now, &req, HELLO_WAIT_MS, err) < 0)
                        return cay_wrap(err, "ask for the sandboxes there are");
                a = *whole(&now.answer);
                a.list.id[CAY_NAME_MAX] = '\0';
                if (a.list.id[0] == '\0')
                        break;
                engine_boxes_note(&e->boxes, a.list.id, a.list.live, a.list.kept);
        }
        return 0;
}

/* Closes and frees the engine where it fails. */
static int greet(struct cay_engine_docker *e, struct cay_engine **ret, struct cay_error *err)
{
        struct docker_request hello = { .type = DOCKER_hello, .hello.version = DOCKER_WIRE_VERSION };

        engine_link_ask(&e->link, &e->hello, &hello, NULL, 0);
        engine_link_await(&e->link, &e->hello, HELLO_WAIT_MS);
        if (!e->greeted)
                cay_fail(&e->refused, CAY_TIMEOUT, "cay-docker does not answer");
        if (e->refused.code == CAY_OK && learn_boxes(e, &e->refused) == 0) {
                *ret = &e->engine;
                return 0;
        }
        *err = e->refused;
        engine_link_close(&e->link);
        free(e);
        return -1;
}

static int docker_open(const struct cay_engine_env *env, struct cay_engine **ret, struct cay_error *err)
{
        struct cay_engine_docker *e = make(env, err);

        if (!e)
                return -1;
        if (engine_link_open(&e->link, env->loop, env->program_dir, err) == 0)
                return greet(e, ret, err);
        free(e);
        return -1;
}

int cay_engine_docker_open_link_take(const struct cay_engine_env *env, int sock, struct cay_engine **ret,
                                     struct cay_error *err)
{
        struct cay_engine_docker *e = make(env, err);

        if (!e) {
                close(sock);
                return -1;
        }
        if (engine_link_open_take(&e->link, env->loop, sock, err) == 0)
                return greet(e, ret, err);
        free(e);
        return -1;
}

static int docker_close(struct cay_engine *engine)
{
        bool live;
        int r;

        if (!engine)
                return 0;
        live = engine_boxes_has_live(&self(engine)->boxes);
        r = engine_link_close(&self(engine)->link);
        free(self(engine));
        return r == -ECHILD ? -(int)live
                            : r; /* how it ended is not known, but whether there was work left is */
}

static unsigned docker_can_hold(struct cay_engine *engine)
{
        return engine_limits_from_wire(self(engine)->can_hold) | engine_limits_by_init();
}

static void take_stats(struct cay_engine_box *box, const struct docker_stats *s)
{
        box->stats = (struct cay_engine_stats){ .memory_bytes = s->memory_bytes,
                                                .memory_peak_bytes = s->memory_peak_bytes,
                                                .oom_kills = s->oom_kills,
                                                .pids = s->pids,
                                                .cpu_us = s->cpu_us,
                                                .rx_bytes = s->rx_bytes,
                                                .tx_bytes = s->tx_bytes };
}

static void take_ports(struct cay_engine_box *box, const struct docker_answer *a)
{
        box->port_count = a->box.port_count < CAY_SPEC_PORTS_MAX ? a->box.port_count : CAY_SPEC_PORTS_MAX;
        for (unsigned i = 0; i < box->port_count; i++)
                box->ports[i] = (struct cay_spec_port){ .inside = a->box.ports[i].inside,
                                                        .host = a->box.ports[i].host };
}

static void on_answer(struct engine_call *call, const struct engine_link_answer *a)
{
        struct engine_box_call *c = cay_container_of(call, struct engine_box_call, call);
        struct cay_engine_docker *e = c->engine;
        bool links = c->type == DOCKER_box_make || c->type == DOCKER_box_link;
        struct engine_boxes *boxes = &e->boxes;
        struct engine_known *known = c->box ? engine_boxes_find(boxes, c->box->id) : NULL;
        struct cay_error err = { 0 };

        engine_link_read_error(&e->link, a, &err);
        if (err.code == CAY_OK && links) {
                c->box->skipped = engine_limits_from_wire(whole(a)->box.skipped);
                c->box->kept = whole(a)->box.kept;
                take_ports(c->box, whole(a));
                engine_boxes_note(boxes, c->box->id, true, c->box->kept);
        } else if (err.code == CAY_OK && c->box) {
                take_stats(c->box, &whole(a)->box.stats);
        }
        if (err.code == CAY_OK && c->type == DOCKER_box_stop && known && known->kept)
                known->live = false;
        else if (c->box && (c->type == DOCKER_box_drop || (c->type == DOCKER_box_stop && err.code == CAY_OK)))
                engine_boxes_forget(boxes, c->box->id);
        if (links && err.code != CAY_OK && c->box->link_fd >= 0)
                close(cay_take_fd(c->box->link_fd));
        engine_box_call_end(c, &err);
}

static void finish(struct cay_engine_docker *e, struct cay_job *job, const struct cay_error *err)
{
        cay_job_finish(cay_loop_jobs(e->loop), job, err);
}

static void ask(struct cay_engine_docker *e, struct docker_request *req, struct cay_engine_box *box,
                struct cay_job *job, int fd)
{
        const struct engine_box_call what = {
                .call.on_answer = on_answer, .loop = e->loop, .engine = e, .box = box, .job = job
        };

        engine_box_ask(&e->link, &what, req, &fd, fd >= 0 ? 1 : 0);
}

/* What this engine cannot give is refused before anything is made. */
static int check(struct cay_engine_docker *e, const struct cay_spec *spec, struct cay_error *err)
{
        const struct engine_known *k;

        if (cay_spec_check(spec, err) < 0)
                return -1;
        k = engine_boxes_find(&e->boxes, spec->id);
        if (k && !(spec->go_on && k->kept && !k->live))
                return cay_fail(err, CAY_EXISTS, "a sandbox with the id '%s' exists already", spec->id);
        if (spec->template_kind != CAY_TEMPLATE_HOST)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "the docker engine takes images, no folders: name one of docker_images");
        if (spec->workspace_cow)
                return cay_fail(err, CAY_UNSUPPORTED, "the docker engine has no copy-on-write workspace");
        if (spec->workspace_fd >= 0)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "the docker engine takes a workspace by its path below workspace_roots only: "
                                "Docker cannot be given an open folder");
        return 0;
}

static int put_word(char *ret, size_t size, const char *text, const char *what, struct cay_error *err)
{
        if (text && !cay_str_copy(ret, size, text))
                return cay_fail(err, CAY_INVALID, "%s: at most %zu bytes", what, size - 1);
        return 0;
}

/* Name and value one after the other, each with its NUL; one NUL more ends them. */
static int put_labels(const struct cay_spec *spec, struct docker_plan *p, struct cay_error *err)
{
        size_t at = 0;

        for (unsigned i = 0; i < spec->label_count * 2; i++) {
                size_t len = strlen(spec->labels[i]) + 1;

                if (len >= sizeof(p->labels) - at)
                        return cay_fail(err, CAY_INVALID, "labels: at most %zu bytes all together",
                                        sizeof(p->labels) - 2);
                memcpy(p->labels + at, spec->labels[i], len);
                at += len;
        }
        return 0;
}

static int put_extras(const struct cay_spec *spec, struct docker_plan *p, struct cay_error *err)
{
        p->network = spec->bridge ? DOCKER_NETWORK_BRIDGE : DOCKER_NETWORK_NONE;
        p->port_count = spec->port_count;
        for (unsigned i = 0; i < spec->port_count; i++)
                p->ports[i] =
                        (struct docker_port){ .inside = spec->ports[i].inside, .host = spec->ports[i].host };
        p->volume_count = spec->volume_count;
        for (unsigned i = 0; i < spec->volume_count; i++) {
                p->volumes[i].read_only = spec->volumes[i].read_only;
                if (put_word(p->volumes[i].name, sizeof(p->volumes[i].name), spec->volumes[i].name, "volume",
                             err) < 0 ||
                    put_word(p->volumes[i].target, sizeof(p->volumes[i].target), spec->volumes[i].target,
                             "a volume's place", err) < 0)
                        return -1;
        }
        return put_labels(spec, p, err);
}

static int put_plan(const struct cay_spec *spec, struct docker_plan *p, struct cay_error *err)
{
        const struct cay_limits *l = &spec->limits;

        cay_str_copy(p->id, sizeof(p->id), spec->id);
        p->may_skip = engine_limits_to_wire(spec->may_skip);
        p->test_off = spec->test_off;
        p->cpu_milli = (uint32_t)l->cpu_milli;
        p->memory_bytes = l->memory_bytes;
        p->swap_bytes = l->swap_bytes;
        p->pids = l->pids;
        p->disk_bytes = l->disk_bytes;
        p->inodes = l->inodes;
        p->flags = (spec->read_only ? DOCKER_PLAN_READ_ONLY : 0) | (spec->keep ? DOCKER_PLAN_KEEP : 0) |
                   (spec->go_on ? DOCKER_PLAN_GO_ON : 0) | (spec->no_init ? DOCKER_PLAN_NO_INIT : 0);
        if (spec->workspace_root > 0) {
                p->flags |= DOCKER_PLAN_WORKSPACE | (spec->workspace_rw ? DOCKER_PLAN_WORKSPACE_RW : 0);
                p->workspace_root = spec->workspace_root - 1;
                cay_str_copy(p->workspace_below, sizeof(p->workspace_below), spec->workspace_below);
        }
        if (spec->image && strcmp(spec->image, CAY_IMAGE_BUILT) == 0)
                p->flags |= DOCKER_PLAN_BUILT;
        else if (put_word(p->image, sizeof(p->image), spec->image, "image", err) < 0)
                return -1;
        if (put_word(p->owner, sizeof(p->owner), spec->owner, "owner", err) < 0)
                return -1;
        if (put_word(p->template_name, sizeof(p->template_name), spec->template_name, "template", err) < 0)
                return -1;
        return put_extras(spec, p, err);
}

/* link_fd is there before the job is finished: frames sent now wait in the socket until the container's init is reached. */
static void docker_create(struct cay_engine *engine, const struct cay_spec *spec, struct cay_engine_box *box,
                          struct cay_job *job)
{
        struct cay_engine_docker *e = self(engine);
        struct docker_request req = { .type = DOCKER_box_make };
        struct cay_error err = { 0 };
        int theirs = -1;

        box->link_fd = -1;
        cay_str_copy(box->id, sizeof(box->id), spec->id);
        if (check(e, spec, &err) < 0 || put_plan(spec, &req.plan, &err) < 0 ||
            engine_box_make_secret(box, &err) < 0 || engine_box_open_link(box, &theirs, &err) < 0) {
                finish(e, job, &err);
                return;
        }
        memcpy(req.plan.secret, box->secret, sizeof(req.plan.secret));
        ask(e, &req, box, job, theirs);
        close(theirs);
        explicit_bzero(&req, sizeof(req));
}

static void docker_relink(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        struct docker_request req = { .type = DOCKER_box_link };
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

static void ask_about(struct cay_engine *engine, uint32_t type, const char *id, struct cay_engine_box *box,
                      struct cay_job *job)
{
        struct docker_request req = { .type = type };

        cay_str_copy(req.box.id, sizeof(req.box.id), id);
        ask(self(engine), &req, box, job, -1);
}

static void docker_freeze(struct cay_engine *engine, const char *id, struct cay_job *job)
{
        ask_about(engine, DOCKER_box_freeze, id, NULL, job);
}

static void docker_thaw(struct cay_engine *engine, const char *id, struct cay_job *job)
{
        ask_about(engine, DOCKER_box_thaw, id, NULL, job);
}

static void docker_stats(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        ask_about(engine, DOCKER_box_stat, box->id, box, job);
}

static void docker_destroy(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        ask_about(engine, DOCKER_box_drop, box->id, box, job);
}

static void docker_stop(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        ask_about(engine, DOCKER_box_stop, box->id, box, job);
}

static int docker_list_kept(struct cay_engine *engine, void (*each)(void *ctx, const char *id), void *ctx,
                            struct cay_error *err)
{
        const struct engine_boxes *b = &self(engine)->boxes;

        if (self(engine)->away) { /* it may have some that nobody knows of */
                *err = self(engine)->away_why;
                return -1;
        }
        for (unsigned i = 0; i < b->rows; i++)
                if (b->known[i].id[0] && b->known[i].kept)
                        each(ctx, b->known[i].id);
        return 0;
}

static void docker_on_gone(struct cay_engine *engine, void (*gone)(void *ctx, const char *id), void *ctx)
{
        self(engine)->boxes.gone = gone;
        self(engine)->boxes.gone_ctx = ctx;
}

static void docker_list(struct cay_engine *engine, void (*each)(void *ctx, const char *id), void *ctx)
{
        engine_boxes_each_live(&self(engine)->boxes, each, ctx);
}

static void docker_build(struct cay_engine *engine, struct cay_build *b, struct cay_job *job)
{
        docker_image_build(&self(engine)->link, self(engine)->loop, b, job);
}

static void docker_build_ears(struct cay_engine *engine, struct cay_build *b, enum cay_build_ears ears)
{
        docker_image_ears(b, ears);
}

static void docker_images(struct cay_engine *engine, struct cay_images *ret, struct cay_job *job)
{
        docker_image_list(&self(engine)->link, self(engine)->loop, ret, job);
}

static void docker_remove_image(struct cay_engine *engine, const char *template_name, struct cay_image *ret,
                                struct cay_job *job)
{
        docker_image_remove(&self(engine)->link, self(engine)->loop, template_name, ret, job);
}

static int docker_health(struct cay_engine *engine, struct cay_error *err)
{
        struct cay_engine_docker *e = self(engine);

        if (e->link.sock < 0)
                return cay_fail(err, CAY_UNAVAILABLE, "cay-docker is gone");
        if (e->away) {
                *err = e->away_why;
                return -1;
        }
        return 0;
}

static void docker_trace(struct cay_engine *engine,
                         void (*each)(void *ctx, const char *who, const char *step, uint64_t ns), void *ctx)
{
}

const struct cay_engine_ops cay_engine_docker_ops = {
        .name = "docker",
        .lacks = CAY_ENGINE_LACKS_USERS | CAY_ENGINE_LACKS_COUNTS,
        .open = docker_open,
        .close = docker_close,
        .can_hold = docker_can_hold,
        .create = docker_create,
        .relink = docker_relink,
        .freeze = docker_freeze,
        .thaw = docker_thaw,
        .stats = docker_stats,
        .stop = docker_stop,
        .list_kept = docker_list_kept,
        .destroy = docker_destroy,
        .on_gone = docker_on_gone,
        .list = docker_list,
        .build = docker_build,
        .build_ears = docker_build_ears,
        .images = docker_images,
        .image_remove = docker_remove_image,
        .health = docker_health,
        .trace = docker_trace,
};
