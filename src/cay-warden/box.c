/* SPDX-License-Identifier: Apache-2.0 */
/* A box after its start: reports of its first process, its end, and the removal of everything made for it. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/clock.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/netdev.h"
#include "foundation/sys/syscalls.h"
#include "cay-warden/keep.h"
#include "cay-warden/room.h"
#include "cay-warden/volume.h"

#define REAP_MS 10000
#define WRITE_OUT_MS 20000  /* time to write out a layer; the front waits longer for its answer */
#define WRITE_OUT_DAMAGED 3 /* exit status of the helper that writes a layer out */

void warden_box_stats(struct warden_box *box, struct wire_stats *ret)
{
        struct sys_cgroup_stats s = { 0 };

        sys_cgroup_stats(&box->cgroup, &s);
        *ret = (struct wire_stats){ s.memory_bytes, s.memory_peak_bytes, s.oom_kills,
                                    s.pids,         s.pids_refused,      s.cpu_us };
}

/* Our child and not reaped, so its pid is not reused. A dead one has carried no traffic. */
void warden_box_network(const struct warden_box *box, struct wire_network *ret)
{
        struct sys_netdev n = { 0 };

        if (box->pid > 0)
                sys_netdev_read(box->pid, &n);
        *ret = (struct wire_network){ n.rx_bytes, n.tx_bytes, n.loopback_bytes };
}

void warden_box_describe(const struct warden *w, const struct warden_box *box, struct wire_answer *a)
{
        const struct wire_plan *p = &box->plan;
        uint32_t set = (p->memory_bytes ? HELPER_LIMIT_MEMORY | HELPER_LIMIT_SWAP : 0) |
                       (p->cpu_milli ? HELPER_LIMIT_CPUS : 0) | (p->pids ? HELPER_LIMIT_PIDS : 0);

        memcpy(a->box.id, p->id, sizeof(a->box.id));
        a->box.skipped = box->skipped;
        a->box.watched = w->can_watch & set & ~box->skipped;
        a->box.kept = box->kept;
        a->box.mended = box->is_mended;
        a->box.damaged = box->is_damaged;
}

static void close_fd(int *fd)
{
        if (*fd >= 0)
                close(*fd);
        *fd = -1;
}

/* The helper has finished when the box runs; if the box is removed before, so is the helper. */
static void reap_helper(struct warden_box *box, bool kill_it)
{
        if (box->helper <= 0)
                return;
        if (kill_it)
                kill(box->helper, SIGKILL);
        while (waitpid(box->helper, NULL, 0) < 0 && errno == EINTR)
                ;
        box->helper = 0;
}

/*
 * Both ways of killing reach everything: the pid namespace dies with its first process, and the cgroup
 * contains all processes.
 */
void warden_box_doom(struct warden *w, struct warden_box *box, struct wire_stats *ret_stats)
{
        cay_step_reached(w->steps, CAY_STEP_killed);
        if (box->pid > 0 && (box->pidfd < 0 || sys_pidfd_send_signal(box->pidfd, SIGKILL) < 0))
                kill(box->pid, SIGKILL); /* our child and not reaped: its pid is not reused */
        sys_cgroup_kill(&box->cgroup);
        /*
         * Removes only the name while the loop device holds the file. Slow work (writing pages, freeing
         * blocks) is then done by whoever releases it last, and not here. A failure is retried and reported
         * when the box is removed.
         */
        if (box->drop_layer)
                cay_keep_drop(w->layers, box->plan.id);
        if (ret_stats)
                warden_box_stats(box, ret_stats);
}

/* The same where the kernel has no pidfd: polls every millisecond. */
static bool await_exit(pid_t pid)
{
        const struct timespec nap = { .tv_nsec = 1000000 };

        for (int i = 0; i < REAP_MS; i++) {
                siginfo_t info = { 0 };

                if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid != 0)
                        return true;
                nanosleep(&nap, NULL);
        }
        return false;
}

/* How the helper ended. Only a successful helper guarantees that the files are on disk. */
static void note_written(struct warden_box *box, int status)
{
        box->is_damaged = box->is_damaged || (WIFEXITED(status) && WEXITSTATUS(status) == WRITE_OUT_DAMAGED);
        box->leaving.is_unsure = !box->is_damaged && !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/*
 * Waits, bounded, for killed processes: one that is stuck in the kernel (a dead network file system in the
 * workspace) must not stop the other boxes. It keeps its record, and the sweep of a later warden removes it.
 */
static bool reap(struct warden_box *box)
{
        struct pollfd p = { .fd = box->pidfd, .events = POLLIN };
        uint64_t now = cay_clock_ms();
        int left = box->state != BOX_LEAVING     ? REAP_MS
                   : now < box->leaving.until_ms ? (int)(box->leaving.until_ms - now)
                                                 : 0;
        int status = 0;
        bool dead = box->pid <= 0 || (box->pidfd < 0 ? await_exit(box->pid) : poll(&p, 1, left) > 0);

        if (dead && box->pid > 0) {
                while (waitpid(box->pid, &status, 0) < 0 && errno == EINTR)
                        ;
                if (box->state == BOX_LEAVING && box->leaving.is_unsure)
                        note_written(box, status);
        }
        box->pid = -1;
        close_fd(&box->pidfd);
        return dead;
}

bool warden_box_unmake(struct warden *w, struct warden_box *box)
{
        bool all;

        /* Close descriptors first: epoll drops them, and a live box sees its control socket close. */
        close_fd(&box->status);
        close_fd(&box->control);
        warden_box_end_reclaim(box);
        if (box->state == BOX_LEAVING)
                close_fd(&box->leaving.fs);
        /*
         * While the namespaces are torn down, empty nodes are removed already: for a one-shot box all that
         * have limits.
         */
        sys_cgroup_remove_empty(&w->cgroups, &box->cgroup);
        reap_helper(box, true);
        all = reap(box);
        warden_volumes_release(w, box);
        cay_step_reached(w->steps, CAY_STEP_reaped);
        /* A node that cannot be removed keeps its record: the next warden tries again. */
        all = sys_cgroup_remove(&w->cgroups, &box->cgroup) == 0 && all;
        if (box->drop_layer)
                all = cay_keep_drop(w->layers, box->plan.id) == 0 && all;
        if (all) {
                cay_step_reached(w->steps, CAY_STEP_cgroups_gone);
                cay_record_drop(&box->record);
        }
        close_fd(&box->record.fd);
        cay_step_reached(w->steps, CAY_STEP_record_gone);
        w->leaving -= box->state == BOX_LEAVING;
        box->state = BOX_FREE;
        return all;
}

static int write_out_as_helper(int dir, const struct warden_box *box)
{
        int r = cay_keep_write_out(dir, box->plan.id, box->leaving.fs);

        return r == -EUCLEAN ? WRITE_OUT_DAMAGED : r < 0;
}

/*
 * Data that `stop` keeps must be on disk before the answer. A helper process waits for that, in place of the
 * box's process, with only the folder open. false: there is none. Until the write is confirmed, the answer
 * must not say that the files are kept.
 */
static bool write_out(struct warden *w, struct warden_box *box)
{
        struct clone_args args = { .exit_signal = SIGCHLD };
        pid_t pid;

        box->leaving.is_written = true;
        if (!box->kept || box->leaving.type != WIRE_box_stop)
                return false;
        box->leaving.is_unsure = true;
        box->leaving.until_ms = cay_clock_ms() + WRITE_OUT_MS;
        pid = sys_clone3(&args);
        if (pid == 0) {
                int dir = dup2(w->layers, 3), fs = box->leaving.fs >= 0 ? dup2(box->leaving.fs, 4) : -1;

                sys_close_range(fs < 0 ? 4 : 5, ~0U, 0);
                box->leaving.fs = fs;
                _exit(dir < 0 ? 1 : write_out_as_helper(dir, box));
        }
        close_fd(&box->leaving.fs); /* the helper has it; its exit releases the mount */
        if (pid < 0)
                return false;
        box->pid = pid;
        box->pidfd = sys_pidfd_open(pid, 0);
        if (box->pidfd >= 0)
                warden_watch(w, box->pidfd, WATCH_PIDFD, box);
        return box->pidfd >= 0;
}

/* Answers with the final facts about a removed box. */
static void tell_gone(struct warden *w, struct wire_answer *a, bool all)
{
        if (!all) {
                w->failed = true;
                a->code = CAY_INTERNAL;
                snprintf(a->text, sizeof(a->text),
                         "clean-up of '%s' is not complete; the next start goes on with it", a->box.id);
        }
        warden_answer(w, a);
}

/* Before it is killed: its root is in its layer, or is an overlay over it. */
static int open_layer(const struct warden_box *box)
{
        char path[32];

        if (!box->kept || box->state != BOX_LIVE || box->pid <= 0)
                return -1;
        snprintf(path, sizeof(path), "/proc/%d/root", (int)box->pid);
        return sys_open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
}

void warden_box_leave(struct warden *w, struct warden_box *box, const struct wire_request *req,
                      struct wire_answer *a)
{
        cay_step_reached(w->steps, CAY_STEP_drop_asked);
        box->drop_layer = box->kept && req->type == WIRE_box_drop;
        box->leaving.fs = req->type == WIRE_box_stop ? open_layer(box) : -1;
        warden_box_doom(w, box, &a->box.stats);
        /*
         * The front of a single box waits for our exit. So it gets its figures now and works in parallel; if
         * something could not be removed, our exit status says so.
         */
        if (w->single && req->type == WIRE_box_drop) {
                warden_answer(w, a);
                w->failed = !warden_box_unmake(w, box) || w->failed;
                return;
        }
        box->leaving.type = req->type;
        box->leaving.seq = req->seq;
        box->leaving.is_asked = true;
        box->leaving.is_written = box->leaving.is_unsure = false;
        box->leaving.stats = a->box.stats;
        box->leaving.until_ms = cay_clock_ms() + REAP_MS;
        w->leaving++;
        close_fd(&box->status); /* of a box being made: no longer needed */
        if (box->state == BOX_LIVE && box->pidfd >= 0) {
                box->state = BOX_LEAVING; /* its pidfd is watched already */
                return;
        }
        box->state = BOX_LEAVING; /* no process to wait for, or no notification of its end */
        warden_box_on_left(w, box);
}

void warden_box_on_left(struct warden *w, struct warden_box *box)
{
        bool is_dead = box->pid <= 0 || box->pidfd >= 0; /* the event of its pidfd is why we are here */

        if (!box->leaving.is_written && is_dead && reap(box) && write_out(w, box))
                return;
        warden_box_left(w, box);
}

void warden_box_left(struct warden *w, struct warden_box *box)
{
        struct wire_answer a = { .type = box->leaving.type, .seq = box->leaving.seq };
        bool is_asked = box->leaving.is_asked, all, is_unsure;

        a.box.stats = box->leaving.stats;
        all = reap(box); /* what the helper found is known now */
        is_unsure = box->kept && box->leaving.type == WIRE_box_stop && !box->is_damaged &&
                    (box->leaving.is_unsure || !box->leaving.is_written);
        if (box->is_damaged && box->leaving.type == WIRE_box_stop)
                cay_keep_set_aside(w->layers, box->plan.id);
        warden_box_describe(w, box, &a);
        all = warden_box_unmake(w, box) && all;
        if (is_unsure) {
                a.code = CAY_DAMAGED;
                snprintf(a.text, sizeof(a.text),
                         "its files could not be written to the host's disk, or not in time: whether "
                         "layers/%s.img "
                         "has all of them is not known",
                         a.box.id);
        }
        if (is_asked)
                tell_gone(w, &a, all);
        else
                w->failed = w->failed || !all;
}

static bool is_overdue(const struct warden_box *box)
{
        return box->state == BOX_LEAVING && cay_clock_ms() >= box->leaving.until_ms;
}

void warden_boxes_overdue(struct warden *w)
{
        for (unsigned i = 0; i < w->rows && w->leaving > 0; i++) {
                struct warden_box *box = &w->boxes[i];

                if (!is_overdue(box))
                        continue;
                if (box->leaving.is_written) { /* a disk that does not respond: the box itself is gone */
                        box->pid = -1;
                        close_fd(&box->pidfd);
                }
                warden_box_left(w, box);
        }
}

void warden_boxes_unasked(struct warden *w)
{
        for (unsigned i = 0; i < w->rows; i++)
                w->boxes[i].leaving.is_asked = w->boxes[i].reclaim.is_asked = false;
}

void warden_box_on_exit(struct warden *w, struct warden_box *box)
{
        struct wire_answer a = { .type = WIRE_box_gone };
        int status;

        if (box->state == BOX_MAKING) {
                warden_box_on_status(w, box); /* reports the reason and removes the box */
                return;
        }
        if (box->pidfd >= 0)
                epoll_ctl(w->epoll, EPOLL_CTL_DEL, box->pidfd, NULL);
        if (box->pid > 0)
                waitpid(box->pid, &status, 0);
        box->pid = -1;
        box->state = BOX_DEAD;
        warden_box_describe(w, box, &a);
        warden_box_stats(box, &a.box.stats);
        warden_answer(w, &a);
}

void warden_box_on_status(struct warden *w, struct warden_box *box)
{
        struct wire_answer a = { .type = WIRE_box_make, .seq = box->make_seq };
        struct isolate_failure why = { 0 };
        ssize_t n = read(box->status, &why, sizeof(why));
        siginfo_t info = { 0 };

        warden_box_describe(w, box, &a);
        if (n == (ssize_t)sizeof(why)) {
                struct cay_error err = { 0 };

                why.text[sizeof(why.text) - 1] = 0;
                if (why.sys)
                        cay_fail_sys(&err, why.sys == ENOSPC ? CAY_NO_SPACE : CAY_INTERNAL, -why.sys, "%s",
                                     why.text);
                else
                        cay_fail(&err, CAY_UNSUPPORTED, "%s", why.text);
                a.code = err.code;
                a.sys = err.sys;
                snprintf(a.text, sizeof(a.text), "%s", err.msg);
        } else if (waitid(P_PID, (id_t)box->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                   info.si_pid != 0 && !(box->plan.flags & WIRE_PLAN_ONE_SHOT)) {
                a.code = CAY_UNAVAILABLE;
                snprintf(a.text, sizeof(a.text), "the box's first process died while it was made");
        }
        if (a.code != CAY_OK) {
                warden_box_doom(w, box, NULL);
                warden_box_unmake(w, box);
        } else {
                close_fd(&box->status);
                reap_helper(box, false);
                /* releasing a mount waits for a grace period: do it now, while the command runs */
                if (w->single)
                        close_fd(&w->init_exe);
                warden_volumes_keep(w, box);
                box->drop_layer = false; /* from here on the front knows about it */
                box->state = BOX_LIVE;
                warden_room_note_live(w, box);
                cay_step_reached(w->steps, CAY_STEP_made);
        }
        warden_answer(w, &a);
        if (!w->has_swept)
                warden_sweep(w, 0);
}
