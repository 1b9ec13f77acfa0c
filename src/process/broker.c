/* SPDX-License-Identifier: Apache-2.0 */
/* Front and keeper: one message after the other, every one checked by its row before it is looked at. */
#include "process/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/str.h"
#include "engine/link/boxes.h"
#include "engine/process/process.h"
#include "engine/process/scratch.h"
#include "loop/loop.h"
#include "sys/caps.h"
#include "sys/fd.h"
#include "sys/unix_socket.h"
#include "wire/message.h"
#include "wire/process_message.h"

#define ANSWER_WAIT_MS 5000

_Static_assert(PROCESS_BOXES_MAX == ENGINE_BOXES_MAX, "fronts have room for all of them");

struct broker {
        struct cay_loop *loop;
        struct cay_engine *engine;
        struct cay_watch front, keeper;
        unsigned front_serial; /* calls of fronts before are not answered */
        unsigned state;        /* enum process_state */
};

struct call { /* one request under way; freed when it is answered */
        struct broker *broker;
        struct cay_engine_box box;
        struct cay_job job;
        uint32_t type, seq;
        unsigned front_serial;
};

/* Saying */

static void let_front_go(struct broker *b)
{
        int fd = b->front.fd;

        if (!b->front.loop)
                return;
        cay_watch_remove(&b->front);
        close(fd);
        b->front_serial++;
}

/* A front never waits in a send, so it reads on. One that does not read for so long has ended. */
static void say(struct broker *b, struct process_answer *a)
{
        struct pollfd p = { .fd = b->front.fd, .events = POLLOUT };
        ssize_t n;

        a->magic = PROCESS_WIRE_MAGIC;
        a->size = sizeof(*a);
        if (!b->front.loop)
                return;
        n = sys_send_fds(p.fd, a, sizeof(*a), NULL, 0, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n == -EAGAIN && poll(&p, 1, ANSWER_WAIT_MS) > 0)
                n = sys_send_fds(p.fd, a, sizeof(*a), NULL, 0, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
                shutdown(p.fd, SHUT_RDWR); /* the loop sees its end */
}

static void put_error(struct process_answer *a, const struct cay_error *err)
{
        a->code = err->code;
        a->sys = err->sys;
        cay_str_copy(a->text, sizeof(a->text), err->msg);
}

static void on_gone(void *ctx, const char *id)
{
        struct broker *b = ctx;
        struct process_answer a = { .type = PROCESS_box_gone };

        cay_str_copy(a.box.id, sizeof(a.box.id), id);
        if (b->state == PROCESS_READY)
                say(b, &a);
}

static void on_done(struct cay_job *job)
{
        struct call *c = cay_container_of(job, struct call, job);
        struct process_answer a = { .type = c->type, .seq = c->seq };

        put_error(&a, &job->err);
        cay_str_copy(a.box.id, sizeof(a.box.id), c->box.id);
        if (job->err.code == CAY_OK) {
                a.box.skipped = engine_limits_to_wire(c->box.skipped);
                cay_str_copy(a.box.workspace, sizeof(a.box.workspace),
                             c->box.workspace ? c->box.workspace : "");
                a.box.memory_bytes = c->box.stats.memory_bytes;
                a.box.pids = c->box.stats.pids;
                a.box.cpu_us = c->box.stats.cpu_us;
        }
        if (c->front_serial == c->broker->front_serial)
                say(c->broker, &a);
        explicit_bzero(c, sizeof(*c));
        free(c);
}

/* Hearing */

static void answer_hello(struct broker *b, const struct process_request *req)
{
        struct process_answer a = { .type = PROCESS_hello, .seq = req->seq };
        struct cay_error err = { 0 };

        if (req->hello.version != PROCESS_WIRE_VERSION) {
                cay_fail(&err, CAY_INVALID, "cay-process and its caller are of different versions (%u, %u)",
                         PROCESS_WIRE_VERSION, req->hello.version);
                put_error(&a, &err);
        } else {
                b->state = PROCESS_READY;
        }
        a.hello.version = PROCESS_WIRE_VERSION;
        a.hello.can_hold = engine_limits_to_wire(b->engine->ops->can_hold(b->engine));
        say(b, &a);
}

static void answer_list(struct broker *b, const struct process_request *req)
{
        struct process_answer a = { .type = PROCESS_box_list, .seq = req->seq };
        const char *id = cay_process_list_from(b->engine, req->list.from, &a.list.next);

        a.list.live = id != NULL;
        if (id)
                cay_str_copy(a.list.id, sizeof(a.list.id), id);
        say(b, &a);
}

static bool is_stream(int fd)
{
        int type = 0;
        socklen_t len = sizeof(type);

        return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

/* Safe because a plan is numbers and an id, all checked again by the engine; the id names nothing outside of this program. */
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

/* Requests about one box: safe because its id is only compared, and a front may do anything to boxes of its own daemon. */
static int begin(struct broker *b, const struct process_request *req, int link)
{
        const char *id = req->type == PROCESS_box_make ? req->plan.id : req->box.id;
        struct call *c = memchr(id, 0, CAY_NAME_MAX + 1) ? calloc(1, sizeof(*c)) : NULL;

        if (!c)
                return -ENOMEM;
        *c = (struct call){ .broker = b,
                            .type = req->type,
                            .seq = req->seq,
                            .front_serial = b->front_serial,
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

static int hear(struct broker *b, const struct process_request *req, int link)
{
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

static void on_front(struct cay_watch *w, uint32_t events)
{
        struct broker *b = cay_container_of(w, struct broker, front);
        struct process_request req;
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        ssize_t n = sys_recv_fds(w->fd, &req, sizeof(req), fds, &count, MSG_DONTWAIT);
        int r;

        (void)events;
        if (n == -EAGAIN || n == -EINTR)
                return;
        r = n <= 0 ? -EPIPE : process_request_check(&req, n, count, b->state);
        if (r == 0)
                r = hear(b, &req, count == 1 ? fds[0] : -1);
        if (r < 0 && n > 0)
                cay_log_error("the front said what it may not: hung up", "type=%s state=%u",
                              n == (ssize_t)sizeof(req) ? process_request_name(req.type) : "?", b->state);
        sys_close_fds(fds, n >= 0 ? count : 0);
        explicit_bzero(&req, sizeof(req));
        if (r < 0)
                let_front_go(b);
}

static int take_front(struct broker *b, int fd)
{
        let_front_go(b);
        b->state = PROCESS_FRESH;
        return cay_watch_add(b->loop, &b->front, fd, EPOLLIN, on_front);
}

static void on_keeper(struct cay_watch *w, uint32_t events)
{
        struct broker *b = cay_container_of(w, struct broker, keeper);
        struct wire_keeper told = { 0 };
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        ssize_t n = sys_recv_fds(w->fd, &told, sizeof(told), fds, &count, MSG_DONTWAIT);

        (void)events;
        if (n == -EAGAIN || n == -EINTR)
                return;
        if (n == (ssize_t)sizeof(told) && told.magic == WIRE_MAGIC && told.type == WIRE_KEEPER_FRONT &&
            count == 1) {
                if (take_front(b, fds[0]) < 0)
                        close(fds[0]);
                return;
        }
        sys_close_fds(fds, n >= 0 ? count : 0);
        if (n <= 0)
                cay_loop_stop(b->loop);
}

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
        r = cay_watch_add(b->loop, &b->keeper, o->keeper, EPOLLIN, on_keeper);
        if (r == 0)
                r = take_front(b, o->front);
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
        let_front_go(&b);
        cay_watch_remove(&b.keeper);
        if (b.engine && b.engine->ops->close(b.engine) < 0)
                r = -1;
        if (b.loop)
                cay_loop_round(b.loop, 0); /* what was under way is told to nobody, and freed */
        cay_loop_free(b.loop);
        return r < 0 ? 1 : 0;
}

/* What ids take: becoming them, ending their processes, having and removing their folders. Nothing that is executed gets any of it. */
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
                                     .front = PROCESS_FRONT_FD,
                                     .keeper = PROCESS_KEEPER_FD,
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
