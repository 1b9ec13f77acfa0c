/* SPDX-License-Identifier: Apache-2.0 */
/* A box after its birth: reports of its first process, its end, and the unmaking of all that was made for it. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "sys/fd.h"
#include "warden/warden.h"

#define REAP_MS 10000

void warden_box_stats(struct warden_box *box, struct wire_stats *ret)
{
        struct sys_cgroup_stats s = { 0 };

        sys_cgroup_stats(&box->cgroup, &s);
        *ret = (struct wire_stats){ s.memory_bytes, s.memory_peak_bytes, s.oom_kills,
                                    s.pids,         s.pids_refused,      s.cpu_us };
}

static void close_fd(int *fd)
{
        if (*fd >= 0)
                close(*fd);
        *fd = -1;
}

/* The helper is done when the box runs; when the box has to go before, so does the helper. */
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

/* Both ways of killing reach everything: the pid namespace dies with its first process, the cgroup has all of them. */
void warden_box_doom(struct warden *w, struct warden_box *box, struct wire_stats *ret_stats)
{
        cay_step_reached(w->steps, CAY_STEP_killed);
        if (box->pid > 0 && (box->pidfd < 0 || sys_pidfd_send_signal(box->pidfd, SIGKILL) < 0))
                kill(box->pid, SIGKILL); /* our child, not waited for yet: the number is its own */
        sys_cgroup_kill(&box->cgroup);
        if (ret_stats)
                warden_box_stats(box, ret_stats);
}

/* The same where the kernel has no pidfd: looks every millisecond. */
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

/*
 * Waits for what was killed, with a bound: a process that is stuck in the kernel (a dead network file system in the workspace)
 * must not stop the other boxes. It keeps its record; the sweep of a later warden gets it.
 */
static bool reap(struct warden_box *box)
{
        struct pollfd p = { .fd = box->pidfd, .events = POLLIN };
        bool dead = box->pid <= 0 || (box->pidfd < 0 ? await_exit(box->pid) : poll(&p, 1, REAP_MS) > 0);

        if (dead && box->pid > 0)
                while (waitpid(box->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        box->pid = -1;
        close_fd(&box->pidfd);
        return dead;
}

bool warden_box_unmake(struct warden *w, struct warden_box *box)
{
        bool all;

        /* Descriptors first: epoll forgets them, and a box that lives sees its control socket close. */
        close_fd(&box->status);
        close_fd(&box->control);
        /* While the namespaces come down, nodes that no process is left in go already: of a one-shot box all with limits. */
        sys_cgroup_remove_empty(&w->cgroups, &box->cgroup);
        reap_helper(box, true);
        all = reap(box);
        cay_step_reached(w->steps, CAY_STEP_reaped);
        /* A node that cannot be removed keeps its record: the next warden tries again. */
        all = sys_cgroup_remove(&w->cgroups, &box->cgroup) == 0 && all;
        if (all) {
                cay_step_reached(w->steps, CAY_STEP_cgroups_gone);
                cay_record_drop(&box->record);
        }
        close_fd(&box->record.fd);
        cay_step_reached(w->steps, CAY_STEP_record_gone);
        box->state = BOX_FREE;
        return all;
}

void warden_box_on_exit(struct warden *w, struct warden_box *box)
{
        struct wire_answer a = { .type = WIRE_box_gone };
        int status;

        if (box->state == BOX_MAKING) {
                warden_box_on_status(w, box); /* says why, and unmakes */
                return;
        }
        if (box->pidfd >= 0)
                epoll_ctl(w->epoll, EPOLL_CTL_DEL, box->pidfd, NULL);
        if (box->pid > 0)
                waitpid(box->pid, &status, 0);
        box->pid = -1;
        box->state = BOX_DEAD;
        memcpy(a.box.id, box->plan.id, sizeof(a.box.id));
        a.box.skipped = box->skipped;
        warden_box_stats(box, &a.box.stats);
        warden_answer(w, &a);
}

void warden_box_on_status(struct warden *w, struct warden_box *box)
{
        struct wire_answer a = { .type = WIRE_box_make, .seq = box->make_seq };
        struct isolate_failure why = { 0 };
        ssize_t n = read(box->status, &why, sizeof(why));
        siginfo_t info = { 0 };

        memcpy(a.box.id, box->plan.id, sizeof(a.box.id));
        a.box.skipped = box->skipped;
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
                if (w->single) /* letting go of a mount waits for a grace period: now, while the command runs, nobody waits */
                        close_fd(&w->init_exe);
                box->state = BOX_LIVE;
                cay_step_reached(w->steps, CAY_STEP_made);
        }
        warden_answer(w, &a);
}
