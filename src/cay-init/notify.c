/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers denied system calls. Only the number is used, and the thread where commands share a filter: the
 * code controls the arguments, so no decision depends on them.
 */
#include "cay-init/notify.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>

void cay_notify_init(struct cay_notify *n)
{
        *n = (struct cay_notify){ .fd = -1, .last = -1 };
}

void cay_notify_record(struct cay_notify *n, int nr)
{
        uint32_t i = 0;

        n->total++;
        if (nr < 0)
                return;
        n->last = nr;
        while (i < n->denied_count && n->denied[i].nr != (uint32_t)nr)
                i++;
        if (i == n->denied_count) {
                if (i == CAY_BOX_DENIED_MAX)
                        return;
                n->denied[n->denied_count++].nr = (uint32_t)nr;
        }
        n->denied[i].count++;
}

/* The thread that asked may have died, and its number may be another's: then nobody is the owner. */
static struct cay_notify *find_owner(struct cay_notify *n, const struct seccomp_notif *req)
{
        struct cay_notify *owner = n->find_owner ? n->find_owner(n, (int32_t)req->pid) : n;
        uint64_t id = req->id;

        if (n->find_owner && ioctl(n->fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0 && errno == ENOENT)
                return NULL;
        return owner;
}

static void count_one(struct cay_notify *n, int nr)
{
        bool was_below = n->total < CAY_NOTIFY_MAX;

        cay_notify_record(n, nr);
        if (was_below && n->total >= CAY_NOTIFY_MAX)
                n->on_too_many(n); /* before the answer: the caller cannot make another call */
}

/* The kernel's structs may be larger than the ones we were built with: the buffers leave room for that. */
static void answer_one(struct cay_notify *n)
{
        struct cay_notify *owner;
        union {
                struct seccomp_notif req;
                char room[512];
        } ask = { .room = { 0 } };
        union {
                struct seccomp_notif_resp resp;
                char room[512];
        } say = { .room = { 0 } };

        if (ioctl(n->fd, SECCOMP_IOCTL_NOTIF_RECV, &ask) < 0)
                return; /* ENOENT: the caller has died meanwhile */
        owner = find_owner(n, &ask.req);
        if (owner)
                count_one(owner, ask.req.data.nr);
        say.resp.id = ask.req.id;
        say.resp.error = -EPERM;
        ioctl(n->fd, SECCOMP_IOCTL_NOTIF_SEND, &say);
}

static void on_event(struct cay_watch *w, uint32_t events)
{
        struct cay_notify *n = cay_container_of(w, struct cay_notify, watch);

        if (events & EPOLLIN)
                answer_one(n);
        else if (events & (EPOLLHUP | EPOLLERR)) {
                cay_watch_remove(&n->watch); /* closing takes time, so it is done after all reports */
                if (n->on_alone)
                        n->on_alone(n);
        }
}

int cay_notify_start_take(struct cay_loop *loop, struct cay_notify *n, int fd)
{
        int r;

        cay_notify_stop(n);
        r = cay_watch_add(loop, &n->watch, fd, EPOLLIN, on_event);
        if (r < 0) {
                close(fd);
                return r;
        }
        n->fd = fd;
        return 0;
}

void cay_notify_stop(struct cay_notify *n)
{
        cay_watch_remove(&n->watch);
        if (n->fd >= 0)
                close(n->fd);
        n->fd = -1;
}
