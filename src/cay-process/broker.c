/* SPDX-License-Identifier: Apache-2.0 */
/* What cay-process hears and says: a front's requests become calls of the engine. */
#include "cay-process/broker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "engines/helper_client/boxes.h"
#include "engines/process/process.h"
#include "engines/process/scratch.h"
#include "links/helper_server/helper_server.h"
#include "foundation/loop/loop.h"
#include "foundation/sys/caps.h"
#include "foundation/sys/fd.h"
#include "links/helper/process_message.h"

_Static_assert(PROCESS_BOXES_MAX == ENGINE_BOXES_MAX, "fronts have room for all of them");

struct broker {
        struct cay_loop *loop;
        struct cay_engine *engine;
        struct helper_server server;    /* calls of fronts before are not answered */
        struct process_request request; /* the one that is heard now */
};

struct call { /* one request under way; freed when it is answered */
        struct broker *broker;
        struct cay_engine_box box;
        struct cay_job job;
        uint32_t type, seq;
        unsigned front_serial;
};

/* Saying */

static void on_gone(void *ctx, const char *id)
{
        struct broker *b = ctx;
        struct process_answer a = { .type = PROCESS_box_gone };

        cay_str_copy(a.box.id, sizeof(a.box.id), id);
        if (b->server.state == HELPER_READY)
                helper_server_say(&b->server, &a);
}

static void on_done(struct cay_job *job)
{
        struct call *c = cay_container_of(job, struct call, job);
        struct process_answer a = { .type = c->type, .seq = c->seq };

        helper_answer_put_error(&a, &job->err);
        cay_str_copy(a.box.id, sizeof(a.box.id), c->box.id);
        if (job->err.code == CAY_OK) {
                a.box.skipped = engine_limits_to_wire(c->box.skipped);
                cay_str_copy(a.box.workspace, sizeof(a.box.workspace),
                             c->box.workspace ? c->box.workspace : "");
                a.box.memory_bytes = c->box.stats.memory_bytes;
                a.box.pids = c->box.stats.pids;
                a.box.cpu_us = c->box.stats.cpu_us;
        }
        if (c->front_serial == c->broker->server.serial)
                helper_server_say(&c->broker->server, &a);
        explicit_bzero(c, sizeof(*c));
        free(c);
}

/* Hearing */

static void answer_hello(struct broker *b, const struct process_request *req)
{
        struct process_answer a = { .type = PROCESS_hello, .seq = req->seq };
        struct cay_error err = { 0 };

        if (helper_hello_check(&process_protocol, req->hello.version, &err) < 0)
                helper_answer_put_error(&a, &err);
        else
                b->server.state = HELPER_READY;
        a.hello.version = PROCESS_WIRE_VERSION;
        a.hello.can_hold = engine_limits_to_wire(b->engine->ops->can_hold(b->engine));
        helper_server_say(&b->server, &a);
}

static void answer_list(struct broker *b, const struct process_request *req)
{
        struct process_answer a = { .type = PROCESS_box_list, .seq = req->seq };
        const char *id = cay_process_list_from(b->engine, req->list.from, &a.list.next);

        a.list.live = id != NULL;
        if (id)
                cay_str_copy(a.list.id, sizeof(a.list.id), id);
        helper_server_say(&b->server, &a);
}

static bool is_stream(int fd)
{
        int type = 0;
        socklen_t len = sizeof(type);

        return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

/*
 * Safe because a plan is numbers and an id, all checked again by the engine; the id names nothing outside of
 * this program.
 */
static void make(struct broker *b, const struct process_plan *p, int link, struct call *c)
{
        struct cay_spec spec = {
                .template_kind = CAY_TEMPLATE_HOST,
                .rootfs_fd = -1,
                .workspace_fd = -1,
                .may_skip = engine_limits_from_wire(p->may_skip),
                .limits = { .memory_bytes = p->memory_bytes,
                            .swap_bytes = p->swap_bytes,
                            .cpu_milli = p->cpu_milli,
                            .pids = p->pids,
                            .disk_bytes = p->disk_bytes,
                            .inodes = p->inodes },
        };

        cay_str_copy(spec.id, sizeof(spec.id), c->box.id);
        memcpy(c->box.secret, p->secret, sizeof(c->box.secret));
        cay_process_create(b->engine, &spec, link, &c->box, &c->job);
}

static void relink(struct broker *b, int link, struct call *c)
{
        struct cay_error err = { 0 };

        cay_process_relink(b->engine, &c->box, link, &err);
        cay_job_finish(cay_loop_jobs(b->loop), &c->job, err.code != CAY_OK ? &err : NULL);
}

/*
 * Requests about one box: safe because its id is only compared, and a front may do anything to boxes of its
 * own daemon.
 */
static int begin(struct broker *b, const struct process_request *req, int link)
{
        const char *id = req->type == PROCESS_box_make ? req->plan.id : req->box.id;
        struct call *c = memchr(id, 0, CAY_NAME_MAX + 1) ? calloc(1, sizeof(*c)) : NULL;

        if (!c)
                return -ENOMEM;
        *c = (struct call){ .broker = b,
                            .type = req->type,
                            .seq = req->seq,
                            .front_serial = b->server.serial,
                            .box.link_fd = -1 };
        cay_job_init(&c->job, on_done);
        cay_str_copy(c->box.id, sizeof(c->box.id), id);
        if (req->type == PROCESS_box_make)
                make(b, &req->plan, link, c);
        else if (req->type == PROCESS_box_link)
                relink(b, link, c);
        else if (req->type == PROCESS_box_stat)
                b->engine->ops->stats(b->engine, &c->box, &c->job);
        else
                b->engine->ops->destroy(b->engine, &c->box, &c->job);
        return 0;
}

static int serve_take(struct helper_server *e, const void *request, int fd)
{
        struct broker *b = cay_container_of(e, struct broker, server);
        const struct process_request *req = request;
        cay_auto_close int link = fd;

        if (req->type == PROCESS_hello) {
                answer_hello(b, req);
                return 0;
        }
        if (req->type == PROCESS_box_list) {
                answer_list(b, req);
                return 0;
        }
        if (link >= 0 && !is_stream(link))
                return -EPROTO;
        return begin(b, req, link);
}

static const struct helper_server_kind front = {
        .protocol = &process_protocol,
        .serve_take = serve_take,
};

/* Start and end */

static int set_up(struct broker *b, const struct process_options *o, struct cay_error *err)
{
        struct cay_engine_env env = { .program_dir = o->program_dir };
        int r;

        env.loop = b->loop = cay_loop_new();
        if (!b->loop)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        if (cay_process_open(&env, o->ids_at, &b->engine, err) < 0)
                return -1;
        b->engine->ops->on_gone(b->engine, on_gone, b);
        b->server = (struct helper_server){ .kind = &front, .loop = b->loop, .request = &b->request };
        r = helper_server_open_keeper(&b->server, o->keeper);
        if (r == 0)
                r = helper_server_open_front(&b->server, o->front);
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "watch the front's socket") : 0;
}

int process_broker_run(const struct process_options *o)
{
        struct broker b = { 0 };
        struct cay_error err = { 0 };
        int r = set_up(&b, o, &err);

        if (r == 0)
                cay_loop_run(b.loop);
        else
                cay_log_error("cay-process cannot start", "error=%s", err.msg);
        helper_server_close(&b.server);
        if (b.engine && b.engine->ops->close(b.engine) < 0)
                r = -1;
        if (b.loop)
                cay_loop_round(b.loop, 0); /* what was under way is told to nobody, and freed */
        cay_loop_free(b.loop);
        return r < 0 ? 1 : 0;
}

/*
 * What ids take: becoming them, ending their processes, having and removing their folders. Nothing that is
 * executed gets any of it.
 */
static int confine(bool with_ids)
{
        const uint64_t keep = SYS_CAP(CAP_SETUID) | SYS_CAP(CAP_SETGID) | SYS_CAP(CAP_KILL) |
                              SYS_CAP(CAP_CHOWN) | SYS_CAP(CAP_FOWNER) | SYS_CAP(CAP_DAC_OVERRIDE);
        int r = with_ids ? sys_caps_bound(keep) : 0;

        if (r == 0 && with_ids)
                r = sys_caps_set(keep, keep, 0);
        if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                r = -errno;
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        return r;
}

int process_main(int argc, char **argv)
{
        struct process_options o = { .program_dir = argc > 1 ? argv[1] : ".",
                                     .front = HELPER_FRONT_FD,
                                     .keeper = HELPER_KEEPER_FD,
                                     .ids_at = geteuid() == 0 ? CAY_SCRATCH_IDS_AT : NULL };
        int r;

        signal(SIGPIPE, SIG_IGN);
        sys_fd_mark(o.front, true);
        sys_fd_mark(o.keeper, true);
        r = confine(o.ids_at != NULL);
        if (r < 0) {
                cay_log_error("cay-process cannot give up its privileges", "error=%s", strerror(-r));
                return 1;
        }
        return process_broker_run(&o);
}
