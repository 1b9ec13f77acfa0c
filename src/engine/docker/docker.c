/* SPDX-License-Identifier: Apache-2.0 */
/* The docker engine: port_engine over cay-docker. Every call is one request; answers finish jobs. */
#include "engine/docker/docker.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/str.h"
#include "engine/docker/docker_client.h"
#include "loop/loop.h"

#define HELLO_WAIT_MS 20000
#define BOXES_MAX 1024u

static const struct
{ /* core's limits that Docker may hold, by cay-docker's own bits; the rest are cay-init's */
        unsigned core, wire;
} limit_bits[] = {
        { CAY_LIMIT_BIT(memory_bytes), DOCKER_LIMIT_MEMORY },
        { CAY_LIMIT_BIT(swap_bytes), DOCKER_LIMIT_SWAP },
        { CAY_LIMIT_BIT(cpu_milli), DOCKER_LIMIT_CPUS },
        { CAY_LIMIT_BIT(pids), DOCKER_LIMIT_PIDS },
        { CAY_LIMIT_BIT(disk_bytes), DOCKER_LIMIT_DISK },
        { CAY_LIMIT_BIT(inodes), DOCKER_LIMIT_INODES },
};

#define ALWAYS_HELD                                                                                          \
        (CAY_LIMIT_BIT(files) | CAY_LIMIT_BIT(output_bytes) | CAY_LIMIT_BIT(wall_ms) |                       \
         CAY_LIMIT_BIT(cpu_time_ms))

struct known { /* a box there is */
        char id[CAY_NAME_MAX + 1];
        bool live, kept;
};

struct cay_engine_docker {
        struct cay_engine engine;
        struct cay_loop *loop;
        struct docker_client client;
        struct docker_ask hello;
        bool greeted, away;
        struct cay_error refused, away_why;
        unsigned can_hold; /* wire bits */
        void (*gone)(void *ctx, const char *id);
        void *gone_ctx;
        unsigned rows;
        struct known known[BOXES_MAX]; /* id "": free */
};

struct call { /* one request for one job; freed with its answer */
        struct docker_ask ask;
        struct cay_engine_docker *e;
        struct cay_engine_box *box; /* borrowed; may be NULL */
        struct cay_job *job;
        uint32_t type;
        bool keeps;
};

static struct cay_engine_docker *self(struct cay_engine *e)
{
        return cay_container_of(e, struct cay_engine_docker, engine);
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

static struct known *find(struct cay_engine_docker *e, const char *id)
{
        for (unsigned i = 0; i < e->rows; i++)
                if (strcmp(e->known[i].id, id) == 0)
                        return &e->known[i];
        return NULL;
}

static void note(struct cay_engine_docker *e, const char *id, bool live, bool kept)
{
        struct known *k = find(e, id);
        unsigned i = 0;

        if (!k) {
                while (i < e->rows && e->known[i].id[0])
                        i++;
                if (i == BOXES_MAX)
                        return; /* cay-docker will refuse it */
                if (i == e->rows)
                        e->rows++;
                k = &e->known[i];
                cay_str_copy(k->id, sizeof(k->id), id);
        }
        k->live = live;
        k->kept = kept;
}

static void forget(struct cay_engine_docker *e, const char *id)
{
        struct known *k = find(e, id);

        if (k)
                k->id[0] = '\0';
}

static void on_hello(struct docker_ask *ask, const struct docker_answer *a)
{
        struct cay_engine_docker *e = cay_container_of(ask, struct cay_engine_docker, hello);

        e->greeted = true;
        if (!a) {
                cay_fail(&e->refused, CAY_UNAVAILABLE, "cay-docker ended before it answered");
        } else if (a->code != CAY_OK) {
                e->refused.code = (enum cay_code)(a->code < CAY_CODE_COUNT ? a->code : CAY_INTERNAL);
                snprintf(e->refused.msg, sizeof(e->refused.msg), "%s", a->text);
        } else {
                e->can_hold = a->hello.can_hold;
        }
}

static void on_news(struct docker_client *c, const struct docker_answer *a)
{
        struct cay_engine_docker *e = cay_container_of(c, struct cay_engine_docker, client);
        char id[CAY_NAME_MAX + 1];

        if (a->type == DOCKER_daemon) {
                e->away = a->daemon.away;
                cay_fail(&e->away_why, CAY_UNAVAILABLE, "%s", a->text);
        } else if (a->type == DOCKER_box_gone) {
                snprintf(id, sizeof(id), "%.*s", CAY_NAME_MAX, a->box.id);
                if (e->gone && find(e, id))
                        e->gone(e->gone_ctx, id);
        }
}

/* Containers live on without cay-docker: a keeper starts the next one, which finds them. Without a keeper nobody reaches them again. */
static void on_lost(struct docker_client *c)
{
        struct cay_engine_docker *e = cay_container_of(c, struct cay_engine_docker, client);

        if (c->pid == 0)
                return;
        for (unsigned i = 0; i < e->rows; i++)
                if (e->known[i].id[0] && e->known[i].live && e->gone)
                        e->gone(e->gone_ctx, e->known[i].id);
        e->rows = 0;
}

static struct cay_engine_docker *make(const struct cay_engine_env *env, struct cay_error *err)
{
        struct cay_engine_docker *e = calloc(1, sizeof(*e));

        if (!e) {
                cay_fail(err, CAY_INTERNAL, "no memory for the docker engine");
                return NULL;
        }
        e->engine.ops = &cay_engine_docker_ops;
        e->engine.caps = CAY_ENGINE_CAN_KEEP;
        e->loop = env->loop;
        e->client.on_news = on_news;
        e->client.on_lost = on_lost;
        e->hello.on_answer = on_hello;
        return e;
}

struct list_ask {
        struct docker_ask ask;
        struct docker_answer answer;
        bool answered;
};

static void on_listed(struct docker_ask *ask, const struct docker_answer *a)
{
        struct list_ask *l = cay_container_of(ask, struct list_ask, ask);

        l->answered = a != NULL;
        if (a)
                l->answer = *a;
}

/* What fronts before us made: asked for one by one, at start-up. */
static int learn_boxes(struct cay_engine_docker *e, struct cay_error *err)
{
        struct list_ask l = { .ask.on_answer = on_listed };

        for (unsigned i = 0; i < BOXES_MAX; i++) {
                struct docker_request req = { .type = DOCKER_box_list, .list.from = l.answer.list.next };

                l.answered = false;
                docker_client_send(&e->client, &l.ask, &req, -1);
                docker_client_await(&e->client, &l.ask, HELLO_WAIT_MS);
                if (!l.answered) {
                        docker_client_forget(&e->client, &l.ask);
                        return cay_fail(err, CAY_UNAVAILABLE, "cay-docker does not tell its sandboxes");
                }
                l.answer.list.id[CAY_NAME_MAX] = '\0';
                if (l.answer.list.id[0] == '\0')
                        break;
                note(e, l.answer.list.id, l.answer.list.live, l.answer.list.kept);
        }
        return 0;
}

static int greet(struct cay_engine_docker *e, struct cay_error *err)
{
        struct docker_request hello = { .type = DOCKER_hello, .hello.version = DOCKER_WIRE_VERSION };

        docker_client_send(&e->client, &e->hello, &hello, -1);
        docker_client_await(&e->client, &e->hello, HELLO_WAIT_MS);
        if (!e->greeted)
                cay_fail(&e->refused, CAY_TIMEOUT, "cay-docker does not answer");
        if (e->refused.code == CAY_OK && learn_boxes(e, &e->refused) == 0)
                return 0;
        *err = e->refused;
        return -1;
}

static int docker_open(const struct cay_engine_env *env, struct cay_engine **ret, struct cay_error *err)
{
        struct cay_engine_docker *e = make(env, err);

        if (!e)
                return -1;
        if (docker_client_open(env->loop, &e->client, env->program_dir, err) < 0) {
                free(e);
                return -1;
        }
        if (greet(e, err) < 0) {
                docker_client_close(&e->client);
                free(e);
                return -1;
        }
        *ret = &e->engine;
        return 0;
}

int cay_engine_docker_open_link_take(const struct cay_engine_env *env, int sock, struct cay_engine **ret,
                                     struct cay_error *err)
{
        struct cay_engine_docker *e = make(env, err);
        int r;

        if (!e) {
                close(sock);
                return -1;
        }
        r = docker_client_open_link_take(env->loop, &e->client, sock);
        if (r < 0) {
                free(e);
                return cay_fail_sys(err, CAY_INTERNAL, r, "watch cay-docker's socket");
        }
        if (greet(e, err) < 0) {
                docker_client_close(&e->client);
                free(e);
                return -1;
        }
        *ret = &e->engine;
        return 0;
}

static int docker_close(struct cay_engine *engine)
{
        int r;

        if (!engine)
                return 0;
        r = docker_client_close(&self(engine)->client);
        free(self(engine));
        return r;
}

static unsigned docker_can_hold(struct cay_engine *engine)
{
        return from_wire(self(engine)->can_hold) | ALWAYS_HELD;
}

static void answer_to_error(const struct docker_answer *a, struct cay_error *ret)
{
        if (!a) {
                cay_fail(ret, CAY_UNAVAILABLE, "cay-docker is gone");
                return;
        }
        ret->code = (enum cay_code)(a->code < CAY_CODE_COUNT ? a->code : CAY_INTERNAL);
        ret->sys = a->sys;
        snprintf(ret->msg, sizeof(ret->msg), "%s", a->text);
}

static void take_stats(struct cay_engine_box *box, const struct docker_stats *s)
{
        box->stats = (struct cay_engine_stats){ .memory_bytes = s->memory_bytes,
                                                .memory_peak_bytes = s->memory_peak_bytes,
                                                .oom_kills = s->oom_kills,
                                                .pids = s->pids,
                                                .cpu_us = s->cpu_us };
}

static void on_answer(struct docker_ask *ask, const struct docker_answer *a)
{
        struct call *c = cay_container_of(ask, struct call, ask);
        bool links = c->type == DOCKER_box_make || c->type == DOCKER_box_link;
        struct cay_error err = { 0 };

        answer_to_error(a, &err);
        if (err.code == CAY_OK && links) {
                c->box->skipped = from_wire(a->box.skipped);
                c->box->kept = a->box.kept;
                note(c->e, c->box->id, true, a->box.kept);
        } else if (err.code == CAY_OK && c->box) {
                take_stats(c->box, &a->box.stats);
        }
        if (err.code == CAY_OK && c->type == DOCKER_box_stop && find(c->e, c->box->id) &&
            find(c->e, c->box->id)->kept)
                note(c->e, c->box->id, false, true);
        else if (c->box && (c->type == DOCKER_box_drop || (c->type == DOCKER_box_stop && err.code == CAY_OK)))
                forget(c->e, c->box->id);
        if (links && err.code != CAY_OK && c->box->link_fd >= 0)
                close(cay_take_fd(c->box->link_fd));
        cay_job_finish(cay_loop_jobs(c->e->loop), c->job, err.code != CAY_OK ? &err : NULL);
        free(c);
}

static void finish(struct cay_engine_docker *e, struct cay_job *job, const struct cay_error *err)
{
        cay_job_finish(cay_loop_jobs(e->loop), job, err);
}

static void ask(struct cay_engine_docker *e, struct docker_request *req, struct cay_engine_box *box,
                struct cay_job *job, int fd)
{
        struct call *c = calloc(1, sizeof(*c));
        struct cay_error err = { 0 };

        if (!c) {
                cay_fail(&err, CAY_INTERNAL, "no memory for a request");
                finish(e, job, &err);
                return;
        }
        c->ask.on_answer = on_answer;
        c->e = e;
        c->box = box;
        c->job = job;
        c->type = req->type;
        docker_client_send(&e->client, &c->ask, req, fd);
}

/* What this engine cannot give is refused before anything is made. */
static int check(struct cay_engine_docker *e, const struct cay_spec *spec, struct cay_error *err)
{
        const struct known *k;

        if (cay_spec_check(spec, err) < 0)
                return -1;
        k = find(e, spec->id);
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

static int put_plan(const struct cay_spec *spec, struct docker_plan *p, struct cay_error *err)
{
        const struct cay_limits *l = &spec->limits;

        cay_str_copy(p->id, sizeof(p->id), spec->id);
        p->may_skip = to_wire(spec->may_skip);
        p->test_off = spec->test_off;
        p->cpu_milli = (uint32_t)l->cpu_milli;
        p->memory_bytes = l->memory_bytes;
        p->swap_bytes = l->swap_bytes;
        p->pids = l->pids;
        p->disk_bytes = l->disk_bytes;
        p->inodes = l->inodes;
        p->flags = (spec->read_only ? DOCKER_PLAN_READ_ONLY : 0) | (spec->keep ? DOCKER_PLAN_KEEP : 0) |
                   (spec->go_on ? DOCKER_PLAN_GO_ON : 0);
        if (spec->workspace_root > 0) {
                p->flags |= DOCKER_PLAN_WORKSPACE | (spec->workspace_rw ? DOCKER_PLAN_WORKSPACE_RW : 0);
                p->workspace_root = spec->workspace_root - 1;
                cay_str_copy(p->workspace_below, sizeof(p->workspace_below), spec->workspace_below);
        }
        if (put_word(p->image, sizeof(p->image), spec->image, "image", err) < 0 ||
            put_word(p->owner, sizeof(p->owner), spec->owner, "owner", err) < 0)
                return -1;
        return put_word(p->template_name, sizeof(p->template_name), spec->template_name, "template", err);
}

static int make_link(struct cay_engine_box *box, int *ret_theirs, struct cay_error *err)
{
        int links[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, links) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the box link");
        box->link_fd = links[0];
        *ret_theirs = links[1];
        return 0;
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
        if (check(e, spec, &err) < 0 || put_plan(spec, &req.plan, &err) < 0) {
                finish(e, job, &err);
                return;
        }
        if (getrandom(box->secret, sizeof(box->secret), 0) != (ssize_t)sizeof(box->secret))
                cay_fail_sys(&err, CAY_INTERNAL, -errno, "make the box's secret");
        else
                make_link(box, &theirs, &err);
        if (err.code != CAY_OK) {
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
        if (make_link(box, &theirs, &err) < 0) {
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
        struct cay_engine_docker *e = self(engine);

        for (unsigned i = 0; i < e->rows; i++)
                if (e->known[i].id[0] && e->known[i].kept)
                        each(ctx, e->known[i].id);
        return 0;
}

static void docker_on_gone(struct cay_engine *engine, void (*gone)(void *ctx, const char *id), void *ctx)
{
        self(engine)->gone = gone;
        self(engine)->gone_ctx = ctx;
}

static void docker_list(struct cay_engine *engine, void (*each)(void *ctx, const char *id), void *ctx)
{
        struct cay_engine_docker *e = self(engine);

        for (unsigned i = 0; i < e->rows; i++)
                if (e->known[i].id[0] && e->known[i].live)
                        each(ctx, e->known[i].id);
}

static int docker_health(struct cay_engine *engine, struct cay_error *err)
{
        struct cay_engine_docker *e = self(engine);

        if (e->client.sock < 0)
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
        .lacks = CAY_ENGINE_LACKS_USERS,
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
        .health = docker_health,
        .trace = docker_trace,
};
