/* SPDX-License-Identifier: Apache-2.0 */
/*
 * box_reclaim: gives the memory of a box back to the host, as far as the kernel can. That may take a second
 * for a large box, so a helper process writes the cgroup's file, and the answer, with the figures after it,
 * is sent when the helper has ended.
 *
 * Why it is safe for an untrusted caller. The box is one of its own; nothing is ended or lost, and what is
 * needed again is read again. One helper per box, and one request at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/sys/syscalls.h"
#include "cay-warden/warden.h"

enum { NODE = 3, OUT = 4, FIRST_CLOSED = 5 }; /* descriptors of the helper */

static _Noreturn void work(const struct warden *w, int node, int out)
{
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* Nothing else stays open: whoever waits for the end of such a stream would wait for the kernel. */
        node = fcntl(node, F_DUPFD, FIRST_CLOSED);
        out = fcntl(out, F_DUPFD, FIRST_CLOSED);
        if (node < 0 || out < 0 || dup2(node, NODE) < 0 || dup2(out, OUT) < 0)
                _exit(1);
        sys_close_range(FIRST_CLOSED, ~0U, 0);
        _exit(sys_cgroup_reclaim_node(&w->cgroups, NODE) < 0);
}

static void answer(struct warden *w, struct warden_box *box, uint32_t seq, const struct cay_error *err)
{
        struct wire_answer a = { .type = WIRE_box_reclaim, .seq = seq };

        warden_box_describe(w, box, &a);
        warden_box_stats(box, &a.box.stats);
        if (err->code != CAY_OK)
                helper_answer_put_error(&a, err);
        else if (box->reclaim.before_bytes > a.box.stats.memory_bytes)
                a.box.reclaimed_bytes = box->reclaim.before_bytes - a.box.stats.memory_bytes;
        warden_answer(w, &a);
}

void warden_box_reclaim(struct warden *w, struct warden_box *box, uint32_t seq)
{
        struct clone_args args = { .exit_signal = SIGCHLD };
        int node = sys_cgroup_memory_node(&box->cgroup), ends[2] = { -1, -1 };
        struct wire_stats before = { 0 };
        struct cay_error err = { 0 };
        pid_t pid = 0;

        if (node < 0)
                cay_fail(&err, CAY_UNSUPPORTED, "the memory of '%s' is not counted here", box->plan.id);
        else if (box->state != BOX_LIVE || box->reclaim.pid > 0)
                cay_fail(&err, CAY_CONFLICT, "the memory of '%s' cannot be given back now", box->plan.id);
        else if (pipe2(ends, O_CLOEXEC) < 0)
                cay_fail_sys(&err, CAY_INTERNAL, -errno, "make a pipe");
        if (err.code == CAY_OK) {
                warden_box_stats(box, &before);
                pid = sys_clone3(&args);
                if (pid == 0)
                        work(w, node, ends[1]);
                if (pid < 0)
                        cay_fail_sys(&err, CAY_INTERNAL, pid, "start a helper");
        }
        if (ends[1] >= 0)
                close(ends[1]);
        if (err.code != CAY_OK) {
                if (ends[0] >= 0)
                        close(ends[0]);
                answer(w, box, seq, &err);
                return;
        }
        box->reclaim.pid = pid;
        box->reclaim.out = ends[0];
        box->reclaim.seq = seq;
        box->reclaim.before_bytes = before.memory_bytes;
        box->reclaim.is_asked = true;
        warden_watch(w, ends[0], WATCH_RECLAIM, box);
}

/* How the helper ended. */
static int reap(struct warden_box *box)
{
        int status = 0;

        close(box->reclaim.out);
        while (waitpid(box->reclaim.pid, &status, 0) < 0 && errno == EINTR)
                ;
        box->reclaim.pid = 0;
        return status;
}

/* Its end of the pipe is closed: it has ended. */
void warden_box_on_reclaimed(struct warden *w, struct warden_box *box)
{
        struct cay_error err = { 0 };

        if (box->reclaim.pid <= 0)
                return;
        if (reap(box) != 0)
                cay_fail(&err, CAY_UNSUPPORTED, "the kernel cannot give the memory of '%s' back",
                         box->plan.id);
        if (box->reclaim.is_asked)
                answer(w, box, box->reclaim.seq, &err);
}

void warden_box_end_reclaim(struct warden_box *box)
{
        if (box->reclaim.pid <= 0)
                return;
        kill(box->reclaim.pid, SIGKILL);
        reap(box);
}
