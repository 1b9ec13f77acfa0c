/* SPDX-License-Identifier: Apache-2.0 */
/* The docker engine: port_engine over cay-docker. Builds its requests and interprets its answers. */
#include "engines/docker/docker.h"

#include <stdio.h>
#include <unistd.h>

#include "foundation/base/str.h"
#include "engines/docker/docker_image.h"
#include "engines/docker/docker_volume.h"
#include "engines/engine_list.h"
#include "engines/helper_client/linked.h"
#include "links/helper/docker_message.h"

ENGINE_LINKED_FITS(struct docker_request, struct docker_answer);

struct cay_engine_docker {
        struct engine_linked linked; /* first */
        bool away;
        struct cay_error away_why;
};

static struct cay_engine_docker *self(struct cay_engine *e)
{
        return cay_container_of(engine_linked_of(e), struct cay_engine_docker, linked);
}

static const struct docker_answer *whole(const struct helper_answer_head *a)
{
        return (const void *)a;
}

/* Answers */

static void on_unasked(struct engine_linked *l, const struct helper_answer_head *a)
{
        struct cay_engine_docker *e = cay_container_of(l, struct cay_engine_docker, linked);

        if (a->type == DOCKER_files_lost) {
                char id[CAY_NAME_MAX + 1];

                snprintf(id, sizeof(id), "%.*s", CAY_NAME_MAX, whole(a)->box.id);
                engine_boxes_tell_files_lost(&l->boxes, id);
        }
        if (a->type != DOCKER_daemon)
                return;
        e->away = whole(a)->daemon.away;
        if (!e->away)
                l->can_hold = whole(a)->daemon.can_hold; /* of the one that is there now */
        cay_fail(&e->away_why, CAY_UNAVAILABLE, "%s", a->text);
}

static void docker_on_files_lost(struct cay_engine *engine, void (*lost)(void *ctx, const char *id),
                                 void *ctx)
{
        struct engine_boxes *boxes = &engine_linked_of(engine)->boxes;

        boxes->files_lost = lost;
        boxes->files_lost_ctx = ctx;
}

/* A following message reports that Docker does not respond. */
static void on_hello(struct engine_linked *l, const struct helper_answer_head *a)
{
        cay_container_of(l, struct cay_engine_docker, linked)->away = false;
}

static void on_listed(struct engine_linked *e, const char *id, const struct helper_answer_head *a)
{
        engine_boxes_note(&e->boxes, id, whole(a)->list.live, whole(a)->list.kept);
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

static void on_answer(struct engine_linked_call *c, const struct helper_answer_head *a, enum cay_code code)
{
        struct engine_boxes *boxes = &c->engine->boxes;
        struct engine_known *known = c->box ? engine_boxes_find(boxes, c->box->id) : NULL;

        if (a && (c->type == DOCKER_box_make || c->type == DOCKER_box_link)) {
                c->box->skipped = engine_limits_from_wire(whole(a)->box.skipped);
                c->box->kept = whole(a)->box.kept;
                take_ports(c->box, whole(a));
                engine_boxes_note(boxes, c->box->id, true, c->box->kept);
        } else if (a && c->box) {
                take_stats(c->box, &whole(a)->box.stats);
        }
        if (a && c->type == DOCKER_box_stop && known && known->kept)
                known->live = false;
        else if (c->box && (c->type == DOCKER_box_drop || (a && c->type == DOCKER_box_stop)))
                engine_boxes_forget(boxes, c->box->id);
}

/* Opening */

/* Where Docker is, and the image of a run; nothing else of the caller's environment. */
static const char *const variables[] = { "DOCKER_HOST=", "DOCKER_TLS_VERIFY=", "DOCKER_CERT_PATH=",
                                         "CAY_DOCKER_IMAGE=", NULL };

static const struct engine_linked_kind kind = {
        .link = { .program = "cay-docker",
                  .who = "cay-docker",
                  .variables = variables,
                  .protocol = &docker_protocol,
                  .close_ms = 30000 },
        .ops = &cay_engine_docker_ops,
        .size = sizeof(struct cay_engine_docker),
        .caps = CAY_ENGINE_docker_CAPS,
        .answer_ms = 20000,
        .outlives = true,
        .box_make = DOCKER_box_make,
        .box_link = DOCKER_box_link,
        .box_list = DOCKER_box_list,
        .box_freeze = DOCKER_box_freeze,
        .box_thaw = DOCKER_box_thaw,
        .box_stat = DOCKER_box_stat,
        .box_stop = DOCKER_box_stop,
        .box_drop = DOCKER_box_drop,
        .box_gone = DOCKER_box_gone,
        .on_hello = on_hello,
        .on_unasked = on_unasked,
        .on_listed = on_listed,
        .on_answer = on_answer,
};

static int docker_open(const struct cay_engine_env *env, struct cay_engine **ret, struct cay_error *err)
{
        struct docker_request hello = { .type = DOCKER_hello, .hello.version = DOCKER_WIRE_VERSION };
        struct engine_linked *e = engine_linked_new(&kind, env, err);

        if (!e)
                return -1;
        if (engine_link_open(&e->link, env->loop, env->program_dir, err) == 0)
                return engine_linked_greet(e, &hello, ret, err);
        free(e);
        return -1;
}

int cay_engine_docker_open_link_take(const struct cay_engine_env *env, int sock, struct cay_engine **ret,
                                     struct cay_error *err)
{
        struct docker_request hello = { .type = DOCKER_hello, .hello.version = DOCKER_WIRE_VERSION };

        return engine_linked_open_take(&kind, env, sock, &hello, ret, err);
}

/* Making */

/* Requests that this engine cannot satisfy are refused before anything is made. */
static int check(struct engine_linked *e, const struct cay_spec *spec, struct cay_error *err)
{
        const struct engine_known *k;

        if (cay_spec_check(spec, err) < 0 || cay_spec_check_caps(spec, "docker", e->engine.caps, err) < 0)
                return -1;
        k = engine_boxes_find(&e->boxes, spec->id);
        if (k && !(spec->go_on && k->kept && !k->live))
                return cay_fail(err, CAY_EXISTS, "a sandbox with the id '%s' exists already", spec->id);
        if (spec->template_kind != CAY_TEMPLATE_HOST)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "the docker engine takes images, no folders: name one of docker_images");
        if (spec->workspace_cow)
                return cay_fail(err, CAY_UNSUPPORTED, "the docker engine has no copy-on-write workspace");
        if (spec->workspace_fd >= 0 && e->link.pid == 0)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "the docker engine takes a workspace by its path below workspace_roots only: "
                                "Docker cannot be given an open folder");
        if (spec->egress != CAY_EGRESS_NONE && e->link.pid != 0)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "allow: a single run has no rules on the docker engine; use a daemon's "
                                "sandbox, or the "
                                "native engine");
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

/*
 * For a cay-docker started by the caller. Docker needs a path; cay-docker and cay-init verify that it is this
 * folder.
 */
static int put_folder(const struct cay_spec *spec, struct docker_plan *p, struct cay_error *err)
{
        char link[40], path[sizeof(p->workspace_below) + 1];
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", spec->workspace_fd);
        n = readlink(link, path, sizeof(path));
        if (n < 2 || path[0] != '/')
                return cay_fail(err, CAY_INVALID,
                                "workspace: the folder has no path that Docker could be given");
        if ((size_t)n >= sizeof(path))
                return cay_fail(err, CAY_INVALID, "workspace: the folder's path is longer than %zu bytes",
                                sizeof(p->workspace_below) - 1);
        path[n] = '\0';
        p->flags |= DOCKER_PLAN_WORKSPACE | (spec->workspace_rw ? DOCKER_PLAN_WORKSPACE_RW : 0);
        p->workspace_root = DOCKER_ROOT_CALLER;
        cay_str_copy(p->workspace_below, sizeof(p->workspace_below), path + 1);
        return 0;
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
        p->flags = (spec->options.read_only ? DOCKER_PLAN_READ_ONLY : 0) |
                   (spec->keep ? DOCKER_PLAN_KEEP : 0) | (spec->go_on ? DOCKER_PLAN_GO_ON : 0) |
                   (spec->options.no_init ? DOCKER_PLAN_NO_INIT : 0);
        if (spec->ca) {
                p->flags |= DOCKER_PLAN_CA;
                if (put_word(p->ca, sizeof(p->ca), spec->ca, "the daemon's certificate", err) < 0)
                        return -1;
        }
        if (spec->workspace_fd >= 0 && put_folder(spec, p, err) < 0)
                return -1;
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

/*
 * link_fd is set before the job is finished: frames sent now are queued in the socket until the container's
 * init reads them.
 */
static void docker_create(struct cay_engine *engine, const struct cay_spec *spec, struct cay_engine_box *box,
                          struct cay_job *job)
{
        struct engine_linked *e = engine_linked_of(engine);
        struct docker_request req = { .type = DOCKER_box_make };
        struct cay_error err = { 0 };
        int theirs = -1;

        box->link_fd = -1;
        cay_str_copy(box->id, sizeof(box->id), spec->id);
        if (check(e, spec, &err) < 0 || put_plan(spec, &req.plan, &err) < 0 ||
            engine_box_make_secret(box, &err) < 0 || engine_box_open_link(box, &theirs, &err) < 0) {
                engine_linked_finish(e, job, &err);
                return;
        }
        memcpy(req.plan.secret, box->secret, sizeof(req.plan.secret));
        engine_linked_ask(e, &req, box, job, &theirs, 1);
        close(theirs);
        explicit_bzero(&req, sizeof(req));
}

/* The rest of the port */

static int docker_list_kept(struct cay_engine *engine, void (*each)(void *ctx, const char *id), void *ctx,
                            struct cay_error *err)
{
        const struct engine_boxes *b = &engine_linked_of(engine)->boxes;

        if (self(engine)->away) { /* it may have boxes that are not known here */
                *err = self(engine)->away_why;
                return -1;
        }
        for (unsigned i = 0; i < b->rows; i++)
                if (b->known[i].id[0] && b->known[i].kept)
                        each(ctx, b->known[i].id);
        return 0;
}

static void docker_build(struct cay_engine *engine, struct cay_build *b, struct cay_job *job)
{
        docker_image_build(&engine_linked_of(engine)->link, engine_linked_of(engine)->loop, b, job);
}

static void docker_build_flow(struct cay_engine *engine, struct cay_build *b, enum cay_build_flow flow)
{
        docker_image_flow(b, flow);
}

static void docker_images(struct cay_engine *engine, struct cay_images *ret, struct cay_job *job)
{
        docker_image_list(&engine_linked_of(engine)->link, engine_linked_of(engine)->loop, ret, job);
}

static void docker_remove_image(struct cay_engine *engine, const char *template_name, struct cay_image *ret,
                                struct cay_job *job)
{
        docker_image_remove(&engine_linked_of(engine)->link, engine_linked_of(engine)->loop, template_name,
                            ret, job);
}

static void docker_volumes(struct cay_engine *engine, const char *owner, struct cay_volumes *ret,
                           struct cay_job *job)
{
        docker_volume_list(&engine_linked_of(engine)->link, engine_linked_of(engine)->loop, owner, ret, job);
}

static void docker_remove_volume(struct cay_engine *engine, const char *owner, const char *name,
                                 struct cay_job *job)
{
        docker_volume_remove(&engine_linked_of(engine)->link, engine_linked_of(engine)->loop, owner, name,
                             job);
}

static int docker_health(struct cay_engine *engine, struct cay_error *err)
{
        if (engine_linked_health(engine, err) < 0)
                return -1;
        if (!self(engine)->away)
                return 0;
        *err = self(engine)->away_why;
        return -1;
}

const struct cay_engine_ops cay_engine_docker_ops = {
        .name = "docker",
        .lacks = CAY_ENGINE_docker_LACKS,
        .never_holds = CAY_LIMIT_BIT(disk_bytes) | CAY_LIMIT_BIT(inodes),
        .open = docker_open,
        .close = engine_linked_close,
        .reopen_take = engine_linked_reopen_take,
        .can_hold = engine_linked_can_hold,
        .create = docker_create,
        .relink = engine_linked_relink,
        .freeze = engine_linked_freeze,
        .thaw = engine_linked_thaw,
        .stats = engine_linked_stats,
        .stop = engine_linked_stop,
        .list_kept = docker_list_kept,
        .destroy = engine_linked_destroy,
        .on_gone = engine_linked_on_gone,
        .on_files_lost = docker_on_files_lost,
        .list = engine_linked_list,
        .build = docker_build,
        .build_flow = docker_build_flow,
        .images = docker_images,
        .image_remove = docker_remove_image,
        .volumes = docker_volumes,
        .volume_remove = docker_remove_volume,
        .health = docker_health,
        .trace = engine_linked_trace,
};
