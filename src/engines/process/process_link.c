/* SPDX-License-Identifier: Apache-2.0 */
/* port_engine over cay-process: builds its requests and interprets its answers. */
#include "engines/process/process_link.h"

#include <stdio.h>

#include "engines/engine_list.h"
#include "foundation/base/str.h"
#include "engines/helper_client/linked.h"
#include "links/helper/process_message.h"

ENGINE_LINKED_FITS(struct process_request, struct process_answer);

struct process_link {
        struct engine_linked linked;                          /* first */
        char workspaces[ENGINE_BOXES_MAX][PROCESS_WORKSPACE]; /* by the row of its box */
};

static const struct process_answer *whole(const struct helper_answer_head *a)
{
        return (const void *)a;
}

/* Answers */

static void on_listed(struct engine_linked *e, const char *id, const struct helper_answer_head *a)
{
        engine_boxes_note(&e->boxes, id, whole(a)->list.live, false);
}

static void note_box(struct engine_linked *e, struct cay_engine_box *box, const struct process_answer *a)
{
        struct process_link *self = cay_container_of(e, struct process_link, linked);
        struct engine_known *known;

        engine_boxes_note(&e->boxes, box->id, true, false);
        known = engine_boxes_find(&e->boxes, box->id);
        if (known) {
                char *workspace = self->workspaces[known - e->boxes.known];

                snprintf(workspace, PROCESS_WORKSPACE, "%.*s", PROCESS_WORKSPACE - 1, a->box.workspace);
                box->workspace = workspace;
        }
        box->skipped = engine_limits_from_wire(a->box.skipped);
}

static void on_answer(struct engine_linked_call *c, const struct helper_answer_head *a, enum cay_code code)
{
        if (a && (c->type == PROCESS_box_make || c->type == PROCESS_box_link))
                note_box(c->engine, c->box, whole(a));
        else if (a)
                c->box->stats = (struct cay_engine_stats){ .memory_bytes = whole(a)->box.memory_bytes,
                                                           .pids = whole(a)->box.pids,
                                                           .cpu_us = whole(a)->box.cpu_us };
        if (c->type == PROCESS_box_drop) {
                engine_boxes_forget(&c->engine->boxes, c->box->id);
                c->box->workspace = NULL;
        }
}

/* Opening */

static const struct engine_linked_kind kind = {
        .link = { .program = "cay-process", .who = "cay-process", .protocol = &process_protocol },
        .ops = &cay_engine_process_link_ops,
        .size = sizeof(struct process_link),
        .answer_ms = 20000,
        .box_make = PROCESS_box_make,
        .box_link = PROCESS_box_link,
        .box_list = PROCESS_box_list,
        .box_stat = PROCESS_box_stat,
        .box_drop = PROCESS_box_drop,
        .box_gone = PROCESS_box_gone,
        .on_listed = on_listed,
        .on_answer = on_answer,
};

int cay_engine_process_open_link_take(const struct cay_engine_env *env, int sock, struct cay_engine **ret,
                                      struct cay_error *err)
{
        struct process_request hello = { .type = PROCESS_hello, .hello.version = PROCESS_WIRE_VERSION };

        return engine_linked_open_take(&kind, env, sock, &hello, ret, err);
}

/* Not available without a keeper: `cay run` has the engine in its own process. */
static int link_open(const struct cay_engine_env *env, struct cay_engine **ret, struct cay_error *err)
{
        return cay_fail(err, CAY_UNSUPPORTED, "cay-process is started by a daemon's keeper alone");
}

/* Making */

/*
 * Requests that this engine cannot satisfy are refused before anything is made; cay-process checks the
 * limits.
 */
static int check(struct engine_linked *e, const struct cay_spec *spec, struct cay_error *err)
{
        if (cay_spec_check(spec, err) < 0 || cay_spec_check_caps(spec, "process", e->engine.caps, err) < 0)
                return -1;
        if (engine_boxes_find(&e->boxes, spec->id))
                return cay_fail(err, CAY_EXISTS, "a sandbox with the id '%s' exists already", spec->id);
        if (spec->template_kind != CAY_TEMPLATE_HOST)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "the process engine has no root of its own: no template but host");
        if (spec->options.read_only)
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

/*
 * link_fd is set before the job is finished: frames sent now are queued in the socket until init reads them.
 */
static void link_create(struct cay_engine *engine, const struct cay_spec *spec, struct cay_engine_box *box,
                        struct cay_job *job)
{
        struct engine_linked *e = engine_linked_of(engine);
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
        if (spec->secret)
                memcpy(box->secret, spec->secret, sizeof(box->secret));
        if (check(e, spec, &err) < 0 || (!spec->secret && engine_box_make_secret(box, &err) < 0) ||
            engine_box_open_link(box, &theirs, &err) < 0) {
                engine_linked_finish(e, job, &err);
                return;
        }
        cay_str_copy(req.plan.id, sizeof(req.plan.id), spec->id);
        memcpy(req.plan.secret, box->secret, sizeof(req.plan.secret));
        engine_linked_ask(e, &req, box, job, &theirs, 1);
        close(theirs);
        explicit_bzero(&req, sizeof(req));
}

static void refuse_freezer(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job)
{
        struct engine_linked *e = engine_linked_of(engine);
        struct cay_error err = { 0 };

        if (!engine_boxes_find(&e->boxes, box->id))
                cay_fail(&err, CAY_NOT_FOUND, "no box '%s'", box->id);
        else
                cay_fail(&err, CAY_UNSUPPORTED,
                         "the process engine has no freezer: signals would be seen by the code inside");
        engine_linked_finish(e, job, &err);
}

const struct cay_engine_ops cay_engine_process_link_ops = {
        .name = "process",
        .lacks = CAY_ENGINE_process_LACKS,
        .open = link_open,
        .close = engine_linked_close,
        .reopen_take = engine_linked_reopen_take,
        .can_hold = engine_linked_can_hold,
        .create = link_create,
        .relink = engine_linked_relink,
        .freeze = refuse_freezer,
        .thaw = refuse_freezer,
        .stats = engine_linked_stats,
        .destroy = engine_linked_destroy,
        .on_gone = engine_linked_on_gone,
        .list = engine_linked_list,
        .health = engine_linked_health,
        .trace = engine_linked_trace,
};
