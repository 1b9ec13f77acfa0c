/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the keeper: it passes fronts and folders, and requests the upgrade. It is trusted, so its
 * requests are obeyed. An invalid message ends the link, and when the keeper ends everything ends.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "foundation/sys/unix_socket.h"
#include "cay-warden/upgrade.h"
#include "cay-warden/warden.h"

void warden_hang_up(struct warden *w)
{
        if (w->front >= 0)
                close(w->front); /* epoll forgets it: nobody else has it */
        w->front = -1;
        warden_boxes_unasked(w);
        warden_clones_unasked(w);
}

static void take_front(struct warden *w, int fd)
{
        const struct timeval patience = { .tv_sec = WARDEN_FRONT_PATIENCE_S };

        warden_hang_up(w);
        w->front = fd;
        w->state = HELPER_FRESH;
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        warden_watch(w, fd, WATCH_FRONT, NULL);
}

void warden_answer_keeper(struct warden *w, uint32_t type, const struct cay_error *err)
{
        struct wire_kept a = {
                .magic = WIRE_KEEPER_MAGIC, .size = sizeof(a), .type = type, .code = err->code
        };

        snprintf(a.text, sizeof(a.text), "%s", err->msg);
        /* if it has exited, its socket reports that */
        send(w->keeper, &a, sizeof(a), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool take_root(struct warden *w, uint32_t nr, int fd)
{
        if (nr >= WIRE_ROOTS || w->roots[nr] >= 0) /* the list is given once */
                return false;
        w->roots[nr] = fd;
        return true;
}

/* Accepted once: a later sender cannot raise it. */
static bool take_ceiling(struct warden *w, const struct wire_keeper_ceiling *say)
{
        const struct wire_ceiling *c = &say->ceiling;

        if (say->magic != WIRE_KEEPER_MAGIC || say->size != sizeof(*say) ||
            say->type != WIRE_KEEPER_CEILING || w->has_ceiling)
                return false;
        if (!c->memory_bytes || !c->cpu_milli || !c->pids || !c->disk_bytes || !c->inodes || !c->boxes)
                return false;
        w->ceiling = *c;
        w->has_ceiling = true;
        return true;
}

/* The keeper is trusted; checking its messages anyway costs nothing. false: an invalid message. */
static bool obey(struct warden *w, const struct wire_keeper *say, const int *fds, unsigned count)
{
        struct cay_error err = { 0 };

        if (say->magic != WIRE_KEEPER_MAGIC || say->size != sizeof(*say) ||
            count != (say->type <= WIRE_KEEPER_REGISTRY))
                return false;
        switch (say->type) {
        case WIRE_KEEPER_FRONT:
                take_front(w, fds[0]);
                return true;
        case WIRE_KEEPER_LISTENER:
                warden_listener_note(&w->listener, fds[0]);
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
                warden_answer_keeper(w, say->type, &err);
                return true;
        case WIRE_KEEPER_MARGIN:
                w->margin = (uint64_t)say->nr << 20;
                return true;
        case WIRE_KEEPER_OWN_ROOTS:
                w->has_own_roots = true;
                return true;
        case WIRE_KEEPER_UPGRADE:
                w->is_upgrading = true; /* as soon as no box is being made */
                return true;
        }
        return false;
}

/* Handles a message of the keeper, or its end, which ends everything. false: no message now. */
static bool on_keeper(struct warden *w)
{
        union {
                struct wire_keeper say;
                struct wire_keeper_ceiling ceiling;
        } m = { 0 };
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        ssize_t n = sys_recv_fds(w->keeper, &m, sizeof(m), fds, &count, MSG_DONTWAIT);

        if (n == -EAGAIN || n == -EINTR)
                return false;
        if (n == (ssize_t)sizeof(m.say) && obey(w, &m.say, fds, count))
                return true;
        if (n == (ssize_t)sizeof(m.ceiling) && count == 0 && take_ceiling(w, &m.ceiling))
                return true;
        sys_close_fds(fds, n < 0 ? 0 : count);
        epoll_ctl(w->epoll, EPOLL_CTL_DEL, w->keeper, NULL);
        close(w->keeper);
        w->keeper = -1;
        warden_hang_up(w);
        return false;
}

/* Called before a front is served: all earlier messages about it have been handled. */
void warden_hear_keeper(struct warden *w)
{
        while (w->keeper >= 0 && on_keeper(w))
                ;
}
