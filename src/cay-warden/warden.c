/* SPDX-License-Identifier: Apache-2.0 */
/* The warden's event loop. See warden.h for the theory. */
#include "cay-warden/warden.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "cay-warden/room.h"
#include "cay-warden/upgrade.h"
#include "cay-warden/volume.h"

#define LOOK_MS 1000 /* how often boxes that do not die are checked */

void warden_watch_nr(struct warden *w, int fd, unsigned kind, unsigned nr)
{
        struct epoll_event ev = { .events = EPOLLIN, .data.u64 = (uint64_t)kind << 32 | nr };

        epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &ev);
}

void warden_watch(struct warden *w, int fd, unsigned kind, struct warden_box *box)
{
        warden_watch_nr(w, fd, kind, box ? (unsigned)(box - w->boxes) : 0);
}

void warden_watch_volume(struct warden *w, int fd, struct warden_volume *v)
{
        warden_watch_nr(w, fd, WATCH_VOLUME, (unsigned)(v - w->volumes));
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
                warden_hear_keeper(w);
                if (w->front >= 0 && !warden_on_request(w))
                        warden_hang_up(w);
        } else if (kind == WATCH_KEEPER) {
                warden_hear_keeper(w);
        } else if (kind == WATCH_SIGNAL) {
                on_signals(w);
        } else if (kind == WATCH_VOLUME) {
                warden_volume_on_closed(w, &w->volumes[(uint32_t)ev->data.u64]);
        } else if (kind == WATCH_CLONE) {
                warden_clone_on_event(w, (uint32_t)ev->data.u64);
        } else if (kind == WATCH_RECLAIM) {
                warden_box_on_reclaimed(w, box);
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
                if (w->boxes[i].state == BOX_MAKING || w->boxes[i].state == BOX_LEAVING ||
                    w->boxes[i].reclaim.pid > 0)
                        return true;
        return warden_clones_count(w) > 0;
}

static void upgrade(struct warden *w)
{
        struct cay_error err = { 0 };

        w->is_upgrading = false;
        warden_upgrade(w, &err); /* does not return, except on failure */
        if (w->keeper >= 0)
                warden_answer_keeper(w, WIRE_KEEPER_UPGRADE, &err);
}

static int patience(const struct warden *w)
{
        int room = warden_room_wait(w), most = w->leaving > 0 || warden_clones_count(w) > 0 ? LOOK_MS : -1;

        return room < 0 || (most >= 0 && most < room) ? most : room;
}

static int serve(struct warden *w)
{
        struct epoll_event events[64];

        while (w->front >= 0 || w->keeper >= 0) {
                int n = epoll_wait(w->epoll, events, CAY_COUNT(events), patience(w));

                if (n < 0 && errno != EINTR)
                        break;
                for (int i = 0; i < n; i++)
                        on_event(w, &events[i]);
                warden_boxes_overdue(w);
                warden_clones_overdue(w);
                warden_room_look(w);
                if (w->is_upgrading && !has_boxes_on_their_way(w) && !warden_volumes_are_closing(w))
                        upgrade(w);
        }
        for (unsigned i = 0; i < w->rows; i++)
                if (w->boxes[i].state != BOX_FREE) {
                        warden_box_doom(w, &w->boxes[i], NULL);
                        warden_box_unmake(w, &w->boxes[i]);
                }
        warden_volumes_close(w);
        warden_sweep_at_last(w);
        cay_records_close();
        return w->failed;
}

static struct warden warden; /* large, and touched only as far as it is used */

int warden_main(bool kept)
{
        struct cay_error err = { 0 };

        warden_take_given(&warden, kept);
        if (warden_set_up(&warden, false, &err) < 0)
                return warden_refuse(&warden, &err);
        return serve(&warden);
}

/* Replaces the warden that executed us. */
int warden_main_resume(int state_fd)
{
        struct warden *w = &warden;
        struct cay_error err = { 0 };

        if (warden_upgrade_load(w, state_fd, &err) < 0) {
                dprintf(STDERR_FILENO, "cay-warden: %s\n", err.msg); /* where the keeper is, nobody knows */
                return 1;
        }
        w->front = -1; /* the next one is the keeper's to hand over */
        if (warden_set_up(w, true, &err) < 0)
                return warden_answer_keeper(w, WIRE_KEEPER_UPGRADE, &err), 1;
        for (unsigned i = 0; i < w->rows; i++)
                if (w->boxes[i].state == BOX_LIVE && w->boxes[i].pidfd >= 0)
                        warden_watch(w, w->boxes[i].pidfd, WATCH_PIDFD, &w->boxes[i]);
        if (w->signals > 0)
                on_signals(w); /* ends without a notification */
        warden_room_soon(w);
        warden_answer_keeper(w, WIRE_KEEPER_UPGRADE, &err);
        return serve(w);
}
