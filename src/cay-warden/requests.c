/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of a front: read one message, look up its row, act, answer.
 *
 * Why it is safe to serve a compromised front: a message is of fixed size and checked against its row
 * (links/helper/requests.def) before anything of it is read; ids are only compared; and a front may do
 * anything to boxes of its own warden. Making a box has its own file and checks (request_box_make.c).
 */
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "foundation/sys/unix_socket.h"
#include "cay-warden/keep.h"
#include "cay-warden/room_pool.h"
#include "cay-warden/volume.h"
#include "cay-warden/warden.h"
#include "links/helper/init_config.h"

/* The front reads its answers; one that does not is dead or broken, and its boxes are removed with it. */
void warden_answer(struct warden *w, struct wire_answer *a)
{
        helper_answer_seal(&wire_protocol, a);
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
        struct cay_error err = { 0 };

        if (helper_hello_check(&wire_protocol, req->hello.version, &err) < 0) {
                helper_answer_put_error(a, &err);
                return;
        }
        w->state = HELPER_READY;
        w->single = req->hello.flags & WIRE_HELLO_SINGLE;
        if (!w->single && !w->has_swept)
                warden_sweep(w, WARDEN_SWEEP_MS);
        a->hello.version = WIRE_VERSION;
        a->hello.can_hold = w->can_hold;
        a->hello.watched = w->can_watch;
        a->hello.can_keep = w->can_keep;
}

/*
 * For a box that does not exist: what an earlier one left. Safe because the name is made of a strictly
 * checked id.
 */
static void drop_layer(struct warden *w, struct wire_answer *a)
{
        struct cay_error err = { 0 };
        int r = w->layers >= 0 && cay_id_is_valid(a->box.id) ? cay_keep_drop(w->layers, a->box.id) : 0;

        warden_pool_expect(w);
        if (r == 0)
                return;
        cay_fail_sys(&err, CAY_UNAVAILABLE, r, "remove the files of '%s'", a->box.id);
        helper_answer_put_error(a, &err);
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

/* Dropping a missing box succeeds, though its files may exist; so does stopping it. */
static void answer_absent(struct warden *w, uint32_t type, struct wire_answer *a)
{
        if (type == WIRE_box_drop) {
                drop_layer(w, a);
        } else if (type != WIRE_box_stop) {
                a->code = CAY_NOT_FOUND;
                snprintf(a->text, sizeof(a->text), "there is no sandbox '%s'", a->box.id);
        }
        warden_answer(w, a);
}

static int relink(const struct warden_box *box, int link)
{
        struct cay_init_relink what = { CAY_INIT_MAGIC, sizeof(what) };

        return (int)sys_send_fds(box->control, &what, sizeof(what), &link, 1, MSG_DONTWAIT);
}

static void fail_box(uint32_t type, int neg_errno, struct wire_answer *a)
{
        struct cay_error err = { 0 };

        if (neg_errno == -EOPNOTSUPP)
                cay_fail(&err, CAY_UNSUPPORTED,
                         "this sandbox cannot be paused: it has no cgroup2 group of its own (an ordinary "
                         "user's daemon needs one delegated to it). Run the daemon as root, or in a scope: "
                         "systemd-run --user --scope -p Delegate=yes cay serve");
        else
                cay_fail_sys(&err, CAY_UNAVAILABLE, neg_errno, "%s '%s'",
                             helper_request_name(&wire_protocol, type), a->box.id);
        helper_answer_put_error(a, &err);
}

/* The box that a request names, if it exists. A request about a box being removed waits until it is gone. */
static struct warden_box *find_asked(struct warden *w, const struct wire_request *req)
{
        struct warden_box *box =
                memchr(req->box.id, 0, sizeof(req->box.id)) ? warden_find(w, req->box.id) : NULL;

        if (!box || box->state != BOX_LEAVING)
                return box;
        warden_box_left(w, box);
        return NULL;
}

static void on_box(struct warden *w, const struct wire_request *req, const int *fds, unsigned fd_count,
                   struct wire_answer *a)
{
        struct warden_box *box = find_asked(w, req);
        int r = 0;

        memcpy(a->box.id, req->box.id, sizeof(a->box.id));
        a->box.id[sizeof(a->box.id) - 1] = 0;
        /* A new stream to a dead box: its end may have been reported to an earlier front, or to none. */
        if (!box || (box->state == BOX_DEAD && req->type == WIRE_box_link)) {
                answer_absent(w, req->type, a);
                return;
        }
        warden_box_describe(w, box, a);
        switch (req->type) {
        case WIRE_box_link:
                r = relink(box, fds[0]);
                break;
        case WIRE_box_freeze:
        case WIRE_box_thaw:
                r = sys_cgroup_freeze(&box->cgroup, req->type == WIRE_box_freeze);
                break;
        case WIRE_box_network:
                r = warden_box_change_network(box, req->network.mode, fd_count > 0 ? fds[0] : -1);
                break;
        case WIRE_box_stat:
                warden_box_stats(box, &a->box.stats);
                warden_box_network(box, &a->box.network);
                break;
        case WIRE_box_reclaim:
                warden_box_reclaim(w, box, req->seq);
                return;
        default: /* box_drop, box_stop */
                warden_box_leave(w, box, req, a);
                return;
        }
        if (r < 0)
                fail_box(req->type, r, a);
        warden_answer(w, a);
}

/* A new front lists the existing boxes. */
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
bool warden_on_request(struct warden *w)
{
        static struct wire_request req;
        static struct wire_answer a;
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        ssize_t n = sys_recv_fds(w->front, &req, sizeof(req), fds, &count, MSG_DONTWAIT);

        if (n == -EAGAIN || n == -EINTR)
                return true; /* notification of a front that has been replaced meanwhile */
        if (n <= 0 || helper_request_check(&wire_protocol, &req, n, count, w->state) < 0) {
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
        case WIRE_volume_list:
                warden_volumes_list(w, &req, &a);
                warden_answer(w, &a);
                break;
        case WIRE_volume_drop:
                warden_volume_drop(w, &req, &a);
                warden_answer(w, &a);
                break;
        case WIRE_layer_clone:
                warden_layer_clone(w, &req);
                break;
        case WIRE_trace:
                a.trace = *w->steps;
                warden_answer(w, &a);
                break;
        default:
                on_box(w, &req, fds, count, &a);
                break;
        }
        sys_close_fds(fds, count);
        return w->front >= 0 && !(w->single && req.type == WIRE_box_drop);
}
