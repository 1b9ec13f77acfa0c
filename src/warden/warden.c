/* SPDX-License-Identifier: Apache-2.0 */
/* The warden's loop and its dispatch of requests. See warden.h for the theory. */
#include "warden/warden.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "sys/fd.h"
#include "sys/loopdev.h"
#include "sys/mounts.h"
#include "sys/unix_socket.h"
#include "wire/init_config.h"

void warden_watch(struct warden *w, int fd, unsigned kind, struct warden_box *box)
{
        struct epoll_event ev = {
                .events = EPOLLIN,
                .data.u64 = (uint64_t)kind << 32 | (box ? (uint64_t)(box - w->boxes) : 0),
        };

        epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &ev);
}

/* The front reads its answers; one that does not is gone or broken, and its boxes go with it. */
void warden_answer(struct warden *w, struct wire_answer *a)
{
        a->magic = WIRE_MAGIC;
        a->size = sizeof(*a);
        if (w->front >= 0 && send(w->front, a, sizeof(*a), MSG_NOSIGNAL) < 0) {
                epoll_ctl(w->epoll, EPOLL_CTL_DEL, w->front, NULL);
                close(w->front);
                w->front = -1;
        }
}

struct warden_box *warden_find(struct warden *w, const char *id)
{
        for (unsigned i = 0; i < w->rows; i++)
                if (w->boxes[i].state != BOX_FREE && strcmp(w->boxes[i].plan.id, id) == 0)
                        return &w->boxes[i];
        return NULL;
}

static void on_hello(struct warden *w, const struct wire_request *req, struct wire_answer *a)
{
        if (req->hello.version != WIRE_VERSION) {
                a->code = CAY_INVALID;
                snprintf(a->text, sizeof(a->text),
                         "warden and caller are of different versions (%u, %u): reinstall both", WIRE_VERSION,
                         req->hello.version);
                return;
        }
        w->state = WIRE_READY;
        w->single = req->hello.flags & WIRE_HELLO_SINGLE;
        a->hello.version = WIRE_VERSION;
        a->hello.can_hold = w->can_hold;
}

/* Requests about one box: safe because the id is only compared, and a front may do anything to boxes of its own warden. */
static void on_box(struct warden *w, const struct wire_request *req, const int *fds, struct wire_answer *a)
{
        struct warden_box *box =
                memchr(req->box.id, 0, sizeof(req->box.id)) ? warden_find(w, req->box.id) : NULL;
        struct cay_init_relink relink = { CAY_INIT_MAGIC, sizeof(relink) };
        int r = 0;

        memcpy(a->box.id, req->box.id, sizeof(a->box.id));
        a->box.id[sizeof(a->box.id) - 1] = 0;
        if (!box) {
                if (req->type != WIRE_box_drop) { /* dropping what is not there is done */
                        a->code = CAY_NOT_FOUND;
                        snprintf(a->text, sizeof(a->text), "there is no sandbox '%s'", a->box.id);
                }
                warden_answer(w, a);
                return;
        }
        switch (req->type) {
        case WIRE_box_link:
                r = box->state == BOX_DEAD
                            ? -ESRCH
                            : (int)sys_send_fds(box->control, &relink, sizeof(relink), fds, 1, MSG_DONTWAIT);
                break;
        case WIRE_box_freeze:
        case WIRE_box_thaw:
                r = sys_cgroup_freeze(&box->cgroup, req->type == WIRE_box_freeze);
                break;
        case WIRE_box_stat:
                warden_box_stats(box, &a->box.stats);
                break;
        default: /* box_drop */
                cay_step_reached(w->steps, CAY_STEP_drop_asked);
                a->box.skipped = box->skipped;
                warden_box_doom(w, box, &a->box.stats);
                /*
                 * The front of a single box waits for our own end before it is done, so it gets its figures now and does its
                 * part while we do ours; should something stay, our exit status says so.
                 */
                if (w->single)
                        warden_answer(w, a);
                if (!warden_box_unmake(w, box)) {
                        w->failed = true;
                        a->code = CAY_INTERNAL;
                        snprintf(a->text, sizeof(a->text),
                                 "clean-up of '%s' is not complete; the next start goes on with it",
                                 a->box.id);
                }
                break;
        }
        if (r < 0) {
                struct cay_error err = { 0 };

                cay_fail_sys(&err, r == -EOPNOTSUPP ? CAY_UNSUPPORTED : CAY_UNAVAILABLE, r, "%s '%s'",
                             wire_request_name(req->type), a->box.id);
                a->code = err.code;
                a->sys = err.sys;
                snprintf(a->text, sizeof(a->text), "%s", err.msg);
        }
        if (!(w->single && req->type == WIRE_box_drop)) /* that one is answered already */
                warden_answer(w, a);
}

/* One request; false ends the link. */
static bool on_request(struct warden *w)
{
        static struct wire_request req;
        static struct wire_answer a;
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        ssize_t n = sys_recv_fds(w->front, &req, sizeof(req), fds, &count, 0);

        if (n <= 0 || wire_request_check(&req, n, count, w->state) < 0) {
                sys_close_fds(fds, n < 0 ? 0 : count);
                return false;
        }
        memset(&a, 0, sizeof(a));
        a.type = req.type;
        a.seq = req.seq;
        switch (req.type) {
        case WIRE_hello:
                on_hello(w, &req, &a);
                warden_answer(w, &a);
                break;
        case WIRE_box_make:
                warden_box_make(w, &req, fds, count);
                break;
        case WIRE_trace:
                a.trace = *w->steps;
                warden_answer(w, &a);
                break;
        default:
                on_box(w, &req, fds, &a);
                break;
        }
        sys_close_fds(fds, count);
        return w->front >= 0 && !(w->single && req.type == WIRE_box_drop);
}

static unsigned what_can_be_held(const struct warden *w)
{
        unsigned can = sys_cgroup_can_hold(&w->cgroups);
        unsigned held = 0;

        held |= can & SYS_CGROUP_CAN_MEMORY ? WIRE_LIMIT_MEMORY : 0;
        held |= can & SYS_CGROUP_CAN_SWAP ? WIRE_LIMIT_SWAP : 0;
        held |= can & SYS_CGROUP_CAN_CPU ? WIRE_LIMIT_CPUS : 0;
        held |= can & SYS_CGROUP_CAN_PIDS ? WIRE_LIMIT_PIDS : 0;
        if (sys_layer_image_can())
                held |= WIRE_LIMIT_DISK | WIRE_LIMIT_INODES;
        return held;
}

/* cay-init lies beside us; it runs from a read-only copy of its mount, so that nothing can write to it through /proc. */
static int open_init(void)
{
        char path[4096];
        ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 16);
        char *slash;

        if (len < 0)
                return -errno;
        path[len] = 0;
        slash = strrchr(path, '/');
        if (!slash)
                return -ENOENT;
        memcpy(slash + 1, "cay-init", sizeof("cay-init"));
        return sys_mount_copy(AT_FDCWD, path, SYS_MOUNT_SAFE | SYS_MOUNT_RDONLY);
}

static int set_up(struct warden *w, struct cay_error *err)
{
        const struct timeval patience = { .tv_sec = 5 }; /* with a front that does not read its answers */
        sigset_t none;
        int r;

        w->front = WIRE_WARDEN_FD;
        w->state = WIRE_FRESH;
        w->init_exe = -1;
        fcntl(w->front, F_SETFD, FD_CLOEXEC);
        setsockopt(w->front, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL); /* the caller's is its own */
        signal(SIGPIPE, SIG_IGN);
        signal(SIGINT, SIG_IGN); /* the terminal's Ctrl-C is the front's to decide about */
        signal(SIGHUP, SIG_IGN);
        umask(022);
        w->steps = mmap(NULL, sizeof(*w->steps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (w->steps == MAP_FAILED)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "map the trace");
        cay_step_arm(getppid(), getpid());
        w->epoll = epoll_create1(EPOLL_CLOEXEC);
        if (w->epoll < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make an epoll");
        if (geteuid() != 0)
                return cay_fail(err, CAY_DENIED,
                                "the native engine needs root for now: run as root or with sudo");
        r = sys_cgroup_host_open(&w->cgroups);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "look at the host's cgroups");
        w->init_exe = open_init();
        if (w->init_exe < 0)
                return cay_fail_sys(err, CAY_INTERNAL, w->init_exe, "open cay-init beside cay-warden");
        if (cay_records_open(err) < 0)
                return -1;
        w->can_hold = what_can_be_held(w);
        cay_step_reached(w->steps, CAY_STEP_warden_up);
        cay_records_sweep(&w->cgroups);
        cay_step_reached(w->steps, CAY_STEP_swept);
        warden_watch(w, w->front, WATCH_FRONT, NULL);
        return 0;
}

/* The front is told why there is nothing to be had, in answer to its first request. */
static int refuse(struct warden *w, const struct cay_error *err)
{
        struct wire_request req;
        struct wire_answer a = { .type = WIRE_hello, .code = err->code, .sys = err->sys };
        const struct timeval patience = { .tv_sec = 2 };
        int fds[SYS_FDS_MAX];
        unsigned count = 0;

        if (sys_recv_fds(w->front, &req, sizeof(req), fds, &count, 0) != (ssize_t)sizeof(req))
                return 1;
        sys_close_fds(fds, count);
        a.seq = req.seq;
        snprintf(a.text, sizeof(a.text), "%s", err->msg);
        w->epoll = -1;
        warden_answer(w, &a);
        /* What was sent meanwhile is read before we go: closing on unread bytes would take the answer back. */
        setsockopt(w->front, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        while (sys_recv_fds(w->front, &req, sizeof(req), fds, &count, 0) > 0)
                sys_close_fds(fds, count);
        return 1;
}

static void on_event(struct warden *w, const struct epoll_event *ev)
{
        unsigned kind = (unsigned)(ev->data.u64 >> 32);
        struct warden_box *box = &w->boxes[(uint32_t)ev->data.u64];

        if (kind == WATCH_FRONT) {
                if (w->front >= 0 && !on_request(w)) {
                        if (w->front >= 0)
                                close(w->front);
                        w->front = -1;
                }
        } else if (kind == WATCH_STATUS && box->state == BOX_MAKING) {
                warden_box_on_status(w, box);
        } else if (kind == WATCH_PIDFD && (box->state == BOX_MAKING || box->state == BOX_LIVE)) {
                warden_box_on_exit(w, box);
        }
}

int warden_main(void)
{
        static struct warden w;
        struct cay_error err = { 0 };
        struct epoll_event events[64];

        if (set_up(&w, &err) < 0)
                return refuse(&w, &err);
        while (w.front >= 0) {
                int n = epoll_wait(w.epoll, events, CAY_COUNT(events), -1);

                if (n < 0 && errno != EINTR)
                        break;
                for (int i = 0; i < n; i++)
                        on_event(&w, &events[i]);
        }
        for (unsigned i = 0; i < w.rows; i++)
                if (w.boxes[i].state != BOX_FREE) {
                        warden_box_doom(&w, &w.boxes[i], NULL);
                        warden_box_unmake(&w, &w.boxes[i]);
                }
        return w.failed;
}
