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
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "sys/caps.h"
#include "sys/fd.h"
#include "sys/loopdev.h"
#include "sys/mounts.h"
#include "sys/unix_socket.h"
#include "warden/keep.h"
#include "warden/upgrade.h"
#include "wire/init_config.h"

#define FRONT_PATIENCE_S 5 /* with a front that does not read its answers */
#define LOOK_MS 1000       /* how often boxes that do not die are looked at */

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
        a->hello.watched = w->can_watch;
        a->hello.can_keep = w->can_keep;
}

/* Of a box that is not there: what an earlier one left. Safe because the name is made of an id of the strict form. */
static void drop_layer(const struct warden *w, struct wire_answer *a)
{
        struct cay_error err = { 0 };
        int r = w->layers >= 0 && cay_id_is_valid(a->box.id) ? cay_keep_drop(w->layers, a->box.id) : 0;

        if (r == 0)
                return;
        cay_fail_sys(&err, CAY_UNAVAILABLE, r, "remove the files of '%s'", a->box.id);
        a->code = err.code;
        a->sys = err.sys;
        snprintf(a->text, sizeof(a->text), "%s", err.msg);
}

static void on_layers(const struct warden *w, const struct wire_request *req, struct wire_answer *a)
{
        int r = w->layers >= 0 ? cay_keep_list(w->layers, req->layers.from, a) : 0;

        if (r == 0)
                return;
        a->code = CAY_UNAVAILABLE;
        a->sys = -r;
        snprintf(a->text, sizeof(a->text), "the folder of kept files cannot be read");
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
        if (box && box->state == BOX_LEAVING) { /* who asks about one that goes waits until it is gone */
                warden_box_left(w, box);
                box = NULL;
        }
        if (box)
                warden_box_describe(w, box, a);
        if (!box) {
                if (req->type ==
                    WIRE_box_drop) { /* dropping what is not there is done; its files may be there */
                        drop_layer(w, a);
                } else if (req->type != WIRE_box_stop) {
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
                warden_box_network(box, &a->box.network);
                break;
        default: /* box_drop, box_stop */
                warden_box_leave(w, box, req, a);
                return;
        }
        if (r < 0) {
                struct cay_error err = { 0 };

                if (r == -EOPNOTSUPP)
                        cay_fail(&err, CAY_UNSUPPORTED,
                                 "this sandbox cannot be paused: it has no cgroup2 group of its own (an "
                                 "ordinary "
                                 "user's daemon needs one delegated to it). Run the daemon as root, or in a "
                                 "scope: "
                                 "systemd-run --user --scope -p Delegate=yes cay serve");
                else
                        cay_fail_sys(&err, CAY_UNAVAILABLE, r, "%s '%s'", wire_request_name(req->type),
                                     a->box.id);
                a->code = err.code;
                a->sys = err.sys;
                snprintf(a->text, sizeof(a->text), "%s", err.msg);
        }
        warden_answer(w, a);
}

/* A front that comes after another asks what is there. */
static void on_list(struct warden *w, const struct wire_request *req, struct wire_answer *a)
{
        for (uint32_t i = req->list.from; i < w->rows; i++) {
                const struct warden_box *box = &w->boxes[i];

                if (box->state == BOX_FREE)
                        continue;
                memcpy(a->list.id, box->plan.id, sizeof(a->list.id));
                a->list.next = i + 1;
                a->list.live = box->state == BOX_LIVE;
                return;
        }
}

/* One request; false ends the link. */
static bool on_request(struct warden *w)
{
        static struct wire_request req;
        static struct wire_answer a;
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        ssize_t n = sys_recv_fds(w->front, &req, sizeof(req), fds, &count, MSG_DONTWAIT);

        if (n == -EAGAIN || n == -EINTR)
                return true; /* news of a front that has been replaced meanwhile */
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
        case WIRE_box_list:
                on_list(w, &req, &a);
                warden_answer(w, &a);
                break;
        case WIRE_layer_list:
                on_layers(w, &req, &a);
                warden_answer(w, &a);
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

static bool has_admin(void)
{
        uint64_t effective = 0, permitted, inheritable;

        return sys_caps_get(&effective, &permitted, &inheritable) == 0 && effective & SYS_CAP(CAP_SYS_ADMIN);
}

static void see_what_can_be_held(struct warden *w)
{
        unsigned can = sys_cgroup_can_hold(&w->cgroups);
        unsigned held = 0;

        held |= can & SYS_CGROUP_CAN_MEMORY ? WIRE_LIMIT_MEMORY : 0;
        held |= can & SYS_CGROUP_CAN_SWAP ? WIRE_LIMIT_SWAP : 0;
        held |= can & SYS_CGROUP_CAN_CPU ? WIRE_LIMIT_CPUS : 0;
        held |= can & SYS_CGROUP_CAN_PIDS ? WIRE_LIMIT_PIDS : 0;
        if (!w->self && sys_layer_image_can())
                held |= WIRE_LIMIT_DISK | WIRE_LIMIT_INODES;
        w->can_keep = w->layers >= 0 && held & WIRE_LIMIT_DISK;
        /* Root has a way to make cgroups work, and gets a refusal that says so; a person often has none. */
        if (w->ids.source != CAY_IDS_HOST || !has_admin())
                w->can_watch = WIRE_LIMIT_WATCHABLE & ~held;
        w->can_hold = held | w->can_watch;
}

/* A copy that nobody can write to, in memory: for those who cannot have a read-only mount of their own. */
static int seal_copy(const char *path)
{
        cay_auto_close int from = sys_open_at(AT_FDCWD, path, O_RDONLY, 0);
        cay_auto_close int to = memfd_create("cay-init", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        struct stat st;

        if (from < 0)
                return from;
        if (to < 0 || fstat(from, &st) < 0)
                return -errno;
        for (off_t at = 0; at < st.st_size;) {
                ssize_t n = sendfile(to, from, &at, (size_t)(st.st_size - at));

                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
        }
        if (fchmod(to, 0555) < 0 ||
            fcntl(to, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
                return -errno;
        return cay_take_fd(to);
}

/* cay-init lies beside us; it runs from a read-only copy of its mount, so that nothing can write to it through /proc. */
static int open_init(bool self)
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
        return self ? seal_copy(path) : sys_mount_copy(AT_FDCWD, path, SYS_MOUNT_SAFE | SYS_MOUNT_RDONLY);
}

/* Mounts outside of a box need the host's (or container's) own administrator, and a kernel that can shift ids in them. */
static bool must_make_own_mounts(void)
{
        uint64_t effective = 0, permitted, inheritable;
        struct sys_mount_attr none = { 0 };

        return sys_caps_get(&effective, &permitted, &inheritable) < 0 ||
               !(effective & SYS_CAP(CAP_SYS_ADMIN)) || !sys_mount_has_api() ||
               sys_mount_setattr(-1, "", 0, &none) == -ENOSYS;
}

/* Boxes' ends as a descriptor: where there are no pidfds. */
static int watch_signals(struct warden *w)
{
        sigset_t child;
        int fd;

        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        sigprocmask(SIG_BLOCK, &child, NULL);
        fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
        if (fd < 0)
                return -errno;
        w->signals = fd;
        warden_watch(w, fd, WATCH_SIGNAL, NULL);
        return 0;
}

/* A keeper that gives no folder has sandboxes that keep nothing. */
static int take_layers(void)
{
        struct stat st;

        if (fstat(WIRE_LAYERS_FD, &st) < 0 || !S_ISDIR(st.st_mode))
                return -1;
        fcntl(WIRE_LAYERS_FD, F_SETFD, FD_CLOEXEC);
        return WIRE_LAYERS_FD;
}

/* What a warden is born with. */
static void take_given(struct warden *w, bool kept)
{
        const struct timeval patience = { .tv_sec = FRONT_PATIENCE_S };

        w->front = WIRE_WARDEN_FD;
        w->keeper = kept ? WIRE_KEEPER_FD : -1;
        w->is_kept = kept;
        w->layers = kept ? take_layers() : -1;
        for (unsigned i = 0; i < WIRE_ROOTS; i++)
                w->roots[i] = -1;
        w->registry = -1;
        fcntl(w->front, F_SETFD, FD_CLOEXEC);
        if (kept)
                fcntl(w->keeper, F_SETFD, FD_CLOEXEC);
        setsockopt(w->front, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

/* is_resumed: our predecessor's boxes are in the table, and its cgroups are ours. */
static int set_up(struct warden *w, bool is_resumed, struct cay_error *err)
{
        sigset_t none;
        int r;

        w->state = WIRE_FRESH;
        w->init_exe = -1;
        w->signals = 0;
        w->is_upgrading = false;
        warden_upgrade_note_program();
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
        if (cay_ids_pool_open(&w->ids, err) < 0)
                return -1;
        w->self = w->ids.source != CAY_IDS_HOST || must_make_own_mounts();
        if (sys_pidfd_open(getpid(), 0) == -ENOSYS && watch_signals(w) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a descriptor for signals");
        r = is_resumed ? 0 : sys_cgroup_host_open(&w->cgroups);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "look at the host's cgroups");
        w->init_exe = open_init(w->self);
        if (w->init_exe < 0)
                return cay_fail_sys(err, CAY_INTERNAL, w->init_exe, "open cay-init beside cay-warden");
        if (cay_records_open(w->ids.slots, w->ids.source == CAY_IDS_HOST, err) < 0)
                return -1;
        see_what_can_be_held(w);
        cay_step_reached(w->steps, CAY_STEP_warden_up);
        cay_records_sweep(&w->cgroups);
        cay_step_reached(w->steps, CAY_STEP_swept);
        if (w->front >= 0)
                warden_watch(w, w->front, WATCH_FRONT, NULL);
        if (w->keeper >= 0)
                warden_watch(w, w->keeper, WATCH_KEEPER, NULL);
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

static void hang_up(struct warden *w)
{
        if (w->front >= 0)
                close(w->front); /* epoll forgets it: nobody else has it */
        w->front = -1;
        warden_boxes_unasked(w);
}

static void take_front(struct warden *w, int fd)
{
        const struct timeval patience = { .tv_sec = FRONT_PATIENCE_S };

        hang_up(w);
        w->front = fd;
        w->state = WIRE_FRESH;
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        warden_watch(w, fd, WATCH_FRONT, NULL);
}

static void answer_keeper(struct warden *w, uint32_t type, const struct cay_error *err)
{
        struct wire_kept a = { .magic = WIRE_MAGIC, .size = sizeof(a), .type = type, .code = err->code };

        snprintf(a.text, sizeof(a.text), "%s", err->msg);
        send(w->keeper, &a, sizeof(a), MSG_NOSIGNAL | MSG_DONTWAIT); /* should it be gone, its socket tells */
}

static bool take_root(struct warden *w, uint32_t nr, int fd)
{
        if (nr >= WIRE_ROOTS || w->roots[nr] >= 0) /* the list is given once */
                return false;
        w->roots[nr] = fd;
        return true;
}

/* The keeper is our own; that it is looked at all the same costs nothing. false: that was not said by it. */
static bool obey(struct warden *w, const struct wire_keeper *say, const int *fds, unsigned count)
{
        struct cay_error err = { 0 };

        if (say->magic != WIRE_MAGIC || say->size != sizeof(*say) ||
            count != (say->type <= WIRE_KEEPER_REGISTRY))
                return false;
        switch (say->type) {
        case WIRE_KEEPER_FRONT:
                take_front(w, fds[0]);
                return true;
        case WIRE_KEEPER_DOOR:
                warden_door_note(&w->door, fds[0]);
                close(fds[0]);
                return true;
        case WIRE_KEEPER_ROOT:
                return take_root(w, say->nr, fds[0]);
        case WIRE_KEEPER_REGISTRY:
                if (w->registry >= 0)
                        close(w->registry);
                w->registry = fds[0];
                return true;
        case WIRE_KEEPER_CHECK:
                warden_upgrade_check(w, &err);
                answer_keeper(w, say->type, &err);
                return true;
        case WIRE_KEEPER_UPGRADE:
                w->is_upgrading = true; /* as soon as no box is on its way */
                return true;
        }
        return false;
}

/* What the keeper says, or its end, and with it everything's. false: it has nothing to say now. */
static bool on_keeper(struct warden *w)
{
        struct wire_keeper say = { 0 };
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        ssize_t n = sys_recv_fds(w->keeper, &say, sizeof(say), fds, &count, MSG_DONTWAIT);

        if (n == -EAGAIN || n == -EINTR)
                return false;
        if (n == (ssize_t)sizeof(say) && obey(w, &say, fds, count))
                return true;
        sys_close_fds(fds, n < 0 ? 0 : count);
        epoll_ctl(w->epoll, EPOLL_CTL_DEL, w->keeper, NULL);
        close(w->keeper);
        w->keeper = -1;
        hang_up(w);
        return false;
}

/* Before a front is listened to: what was said about it and for it before it was there has been heard. */
static void hear_keeper(struct warden *w)
{
        while (w->keeper >= 0 && on_keeper(w))
                ;
}

static void on_signals(struct warden *w)
{
        struct signalfd_siginfo ignored;

        while (read(w->signals, &ignored, sizeof(ignored)) > 0)
                ;
        for (unsigned i = 0; i < w->rows; i++) {
                struct warden_box *box = &w->boxes[i];
                siginfo_t info = { 0 };

                if ((box->state == BOX_MAKING || box->state == BOX_LIVE) && box->pid > 0 &&
                    waitid(P_PID, (id_t)box->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                    info.si_pid != 0)
                        warden_box_on_exit(w, box);
        }
}

static void on_event(struct warden *w, const struct epoll_event *ev)
{
        unsigned kind = (unsigned)(ev->data.u64 >> 32);
        struct warden_box *box = &w->boxes[(uint32_t)ev->data.u64];

        if (kind == WATCH_FRONT) {
                hear_keeper(w);
                if (w->front >= 0 && !on_request(w))
                        hang_up(w);
        } else if (kind == WATCH_KEEPER) {
                hear_keeper(w);
        } else if (kind == WATCH_SIGNAL) {
                on_signals(w);
        } else if (kind == WATCH_STATUS && box->state == BOX_MAKING) {
                warden_box_on_status(w, box);
        } else if (kind == WATCH_PIDFD && (box->state == BOX_MAKING || box->state == BOX_LIVE)) {
                warden_box_on_exit(w, box);
        } else if (kind == WATCH_PIDFD && box->state == BOX_LEAVING) {
                warden_box_on_left(w, box);
        }
}

static bool has_boxes_on_their_way(const struct warden *w)
{
        for (unsigned i = 0; i < w->rows; i++)
                if (w->boxes[i].state == BOX_MAKING || w->boxes[i].state == BOX_LEAVING)
                        return true;
        return false;
}

static void upgrade(struct warden *w)
{
        struct cay_error err = { 0 };

        w->is_upgrading = false;
        warden_upgrade(w, &err); /* does not come back, but for */
        if (w->keeper >= 0)
                answer_keeper(w, WIRE_KEEPER_UPGRADE, &err);
}

static int serve(struct warden *w)
{
        struct epoll_event events[64];

        while (w->front >= 0 || w->keeper >= 0) {
                int n = epoll_wait(w->epoll, events, CAY_COUNT(events), w->leaving > 0 ? LOOK_MS : -1);

                if (n < 0 && errno != EINTR)
                        break;
                for (int i = 0; i < n; i++)
                        on_event(w, &events[i]);
                warden_boxes_overdue(w);
                if (w->is_upgrading && !has_boxes_on_their_way(w))
                        upgrade(w);
        }
        for (unsigned i = 0; i < w->rows; i++)
                if (w->boxes[i].state != BOX_FREE) {
                        warden_box_doom(w, &w->boxes[i], NULL);
                        warden_box_unmake(w, &w->boxes[i]);
                }
        cay_records_close();
        return w->failed;
}

static struct warden warden; /* large, and touched only as far as it is used */

int warden_main(bool kept)
{
        struct cay_error err = { 0 };

        take_given(&warden, kept);
        if (set_up(&warden, false, &err) < 0)
                return refuse(&warden, &err);
        return serve(&warden);
}

/* In place of the warden that executed us. */
int warden_main_resume(int state_fd)
{
        struct warden *w = &warden;
        struct cay_error err = { 0 };

        if (warden_upgrade_load(w, state_fd, &err) < 0) {
                dprintf(STDERR_FILENO, "cay-warden: %s\n", err.msg); /* where the keeper is, nobody knows */
                return 1;
        }
        w->front = -1; /* the next one is the keeper's to hand over */
        if (set_up(w, true, &err) < 0)
                return answer_keeper(w, WIRE_KEEPER_UPGRADE, &err), 1;
        for (unsigned i = 0; i < w->rows; i++)
                if (w->boxes[i].state == BOX_LIVE && w->boxes[i].pidfd >= 0)
                        warden_watch(w, w->boxes[i].pidfd, WATCH_PIDFD, &w->boxes[i]);
        if (w->signals > 0)
                on_signals(w); /* ends that nobody heard */
        answer_keeper(w, WIRE_KEEPER_UPGRADE, &err);
        return serve(w);
}
