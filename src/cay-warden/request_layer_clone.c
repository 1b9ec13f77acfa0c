/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_clone: copies of kept layers, made by helper processes (keep_clone.h), a few at a time.
 *
 * Why it is safe for an untrusted caller. Both layers are named by ids of the strict form, in the keeper's
 * folder. A front may do anything to the layers of its own warden anyway. A box is frozen only by the helper
 * and only for the copy; if the helper dies, it is thawed here. Copies are bounded in number and time, and by
 * the room that the disk has above the margin. A layer whose box lives is never replaced.
 *
 * Copies of one source follow each other: the first one's end would thaw a box in the middle of the second.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/base/clock.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"
#include "cay-warden/keep.h"
#include "cay-warden/keep_clone.h"
#include "cay-warden/room.h"
#include "cay-warden/room_shared.h"
#include "cay-warden/warden.h"

#define AT_ONCE 4u
#define CLONE_MS (10u * 60 * 1000)
#define LEAST_KEPT 5u /* descriptors that a helper gets, from 3 on */

struct result {
        int32_t r;
        struct cay_keep_cloned cloned;
};

static void answer(struct warden *w, const struct warden_clone *c, const struct cay_error *err,
                   const struct cay_keep_cloned *got)
{
        struct wire_answer a = { .type = WIRE_layer_clone, .seq = c->seq };

        if (!c->is_asked)
                return;
        memcpy(a.clone.to, c->to, sizeof(a.clone.to));
        if (err->code != CAY_OK)
                helper_answer_put_error(&a, err);
        else
                a.clone.is_shared = got->is_shared;
        a.clone.bytes = got->bytes;
        a.clone.added = got->added;
        a.clone.frozen_us = got->frozen_us;
        warden_answer(w, &a);
}

static void explain(const struct warden_clone *c, int r, struct cay_error *err)
{
        if (r == -ENOENT)
                cay_fail_sys(err, CAY_CONFLICT, r, "the files of '%s' are gone (layers/%s.img)", c->from,
                             c->from);
        else if (r == -EUCLEAN)
                cay_fail_sys(err, CAY_CONFLICT, r, "the files of '%s' are damaged", c->from);
        else if (r == -EBUSY)
                cay_fail_sys(err, CAY_UNAVAILABLE, r, "the files of '%s' are still in use: try again",
                             c->from);
        else if (r == -EEXIST)
                cay_fail(err, CAY_EXISTS, "files of '%s' are there already", c->to);
        else if (r == -ETIME)
                cay_fail(err, CAY_UNAVAILABLE,
                         "the sandbox '%s' could not be frozen: a process in it waits for the kernel; try "
                         "again",
                         c->from);
        else
                cay_fail_sys(err, r == -ENOSPC || r == -EDQUOT || r == -EFBIG ? CAY_NO_SPACE : CAY_INTERNAL,
                             r, "copy the files of '%s'", c->from);
}

static _Noreturn void work(const struct warden *w, const struct warden_clone *c, int cgroup, int fs, int out,
                           uint64_t promised, uint64_t room)
{
        int given[LEAST_KEPT] = { w->layers, out, cgroup, fs, w->disk };
        struct result got = { 0 };
        struct cay_keep_clone what = {
                .from = c->from, .to = c->to, .flags = c->flags, .cgroup = -1, .fs = -1
        };

        what.margin = w->margin > 0 ? w->margin : WARDEN_LEAST_MARGIN;
        what.promised = promised;
        what.has_room = w->pool.is_locked || w->pool.has_room;
        what.room = room;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (unsigned i = 0; i < LEAST_KEPT; i++)
                given[i] = given[i] < 0 ? -1 : fcntl(given[i], F_DUPFD, 3 + (int)LEAST_KEPT);
        for (unsigned i = 0; i < LEAST_KEPT; i++) {
                close(3 + (int)i);
                if (given[i] >= 0)
                        dup2(given[i], 3 + (int)i);
        }
        sys_close_range(3 + LEAST_KEPT, ~0U, 0);
        if (cgroup >= 0)
                what.cgroup = 5;
        if (fs >= 0)
                what.fs = 6;
        what.disk = 7;
        got.r = cay_keep_clone(3, &what, &got.cloned);
        _exit(sys_write_all(4, &got, sizeof(got)) < 0);
}

static bool is_frozen(const struct warden_box *box)
{
        char text[16];

        return sys_read_file(box->cgroup.dir[SYS_CGROUP_2], "cgroup.freeze", text, sizeof(text)) > 0 &&
               text[0] == '1';
}

/* What a live box needs for it. 0, or -1. */
static int look_at_box(const struct warden_box *box, int *ret_fs, int *ret_cgroup, struct cay_error *err)
{
        char path[32];

        if (!box->kept || box->state != BOX_LIVE || box->is_damaged)
                return cay_fail(err, CAY_CONFLICT,
                                "the files of '%s' cannot be copied: it is starting or ending", box->plan.id);
        if (box->cgroup.dir[SYS_CGROUP_2] < 0)
                return cay_fail(err, CAY_UNSUPPORTED, "'%s' cannot be frozen here: stop it first",
                                box->plan.id);
        snprintf(path, sizeof(path), "/proc/%d/root", (int)box->pid);
        *ret_fs = sys_open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
        if (*ret_fs < 0)
                return cay_fail_sys(err, CAY_UNAVAILABLE, *ret_fs, "open the files of '%s'", box->plan.id);
        *ret_cgroup = is_frozen(box) ? -1 : box->cgroup.dir[SYS_CGROUP_2];
        return 0;
}

static void begin(struct warden *w, struct warden_clone *c)
{
        struct warden_box *box = warden_find(w, c->from);
        static const struct cay_keep_cloned none;
        struct clone_args args = { .exit_signal = SIGCHLD };
        int fs = -1, cgroup = -1, ends[2] = { -1, -1 };
        struct cay_error err = { 0 };
        uint64_t promised = warden_room_promised(w, box), room = warden_room_for_copy(w, box);

        if (box && box->state == BOX_DEAD)
                cay_fail(&err, CAY_CONFLICT, "the files of '%s' cannot be copied: it is ending", c->from);
        else if (warden_find(w, c->to))
                cay_fail(&err, CAY_CONFLICT, "the files of '%s' are in use", c->to);
        else if (box && look_at_box(box, &fs, &cgroup, &err) < 0)
                ;
        else if (pipe2(ends, O_CLOEXEC) < 0)
                cay_fail_sys(&err, CAY_INTERNAL, -errno, "make a pipe");
        c->freezes = cgroup >= 0;
        c->is_live = fs >= 0;
        if (err.code == CAY_OK) {
                c->pid = sys_clone3(&args);
                if (c->pid == 0)
                        work(w, c, cgroup, fs, ends[1], promised, room);
                if (c->pid < 0)
                        cay_fail_sys(&err, CAY_INTERNAL, c->pid, "start a helper");
        }
        if (fs >= 0)
                close(fs);
        if (ends[1] >= 0)
                close(ends[1]);
        if (err.code != CAY_OK) {
                if (ends[0] >= 0)
                        close(ends[0]);
                c->state = CLONE_FREE;
                answer(w, c, &err, &none);
                return;
        }
        if (c->is_live)
                warden_shared_note_copy(w, box);
        c->state = CLONE_RUNS;
        c->out = ends[0];
        c->until_ms = cay_clock_ms() + CLONE_MS;
        warden_watch_nr(w, c->out, WATCH_CLONE, (unsigned)(c - w->clones));
}

/* Whether one that runs already uses one of its layers. */
static bool must_wait(const struct warden *w, const struct warden_clone *c)
{
        unsigned running = 0;

        for (unsigned i = 0; i < WARDEN_CLONES; i++) {
                const struct warden_clone *o = &w->clones[i];

                if (o->state != CLONE_RUNS)
                        continue;
                running++;
                if ((o->is_live && strcmp(o->from, c->from) == 0) || strcmp(o->to, c->to) == 0 ||
                    strcmp(o->to, c->from) == 0)
                        return true;
        }
        return running >= AT_ONCE;
}

/* In the order of the requests, as far as they do not wait for each other. */
static void begin_next(struct warden *w)
{
        for (;;) {
                struct warden_clone *next = NULL;

                for (unsigned i = 0; i < WARDEN_CLONES; i++) {
                        struct warden_clone *c = &w->clones[i];

                        if (c->state == CLONE_WAITS && (!next || c->nr < next->nr) && !must_wait(w, c))
                                next = c;
                }
                if (!next)
                        return;
                begin(w, next);
        }
}

/* Also of a front that is gone: nobody knows about the copy then, so it goes. */
static void end(struct warden *w, struct warden_clone *c, struct cay_error *err,
                const struct cay_keep_cloned *got)
{
        struct warden_box *box = warden_find(w, c->from);

        if (c->is_live && err->code == CAY_OK && (!box || box->state != BOX_LIVE))
                cay_fail(err, CAY_CONFLICT, "sandbox '%s' ended while its files were copied", c->from);
        if (c->freezes && box && box->state == BOX_LIVE && err->code != CAY_OK)
                sys_cgroup_freeze(&box->cgroup, false);
        if (err->code != CAY_OK || !c->is_asked)
                cay_keep_clone_undo(w->layers, c->to);
        if (!(c->flags & WIRE_CLONE_REPLACE) && (!c->is_asked || (err->code != CAY_OK && got->bytes > 0)))
                cay_keep_drop(w->layers, c->to);
        if (c->is_live && box && box->state == BOX_LIVE && err->code != CAY_OK)
                warden_shared_read(w, box); /* it shares no more than before */
        c->state = CLONE_FREE;
        answer(w, c, err, got);
        warden_room_soon(w);
}

static void reap(struct warden_clone *c, bool kill_it)
{
        if (kill_it)
                kill(c->pid, SIGKILL);
        while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        c->pid = 0;
}

void warden_clone_on_event(struct warden *w, unsigned nr)
{
        struct warden_clone *c = &w->clones[nr];
        struct result got = { 0 };
        struct cay_error err = { 0 };

        if (nr >= WARDEN_CLONES || c->state != CLONE_RUNS)
                return;
        if (sys_read_all(c->out, &got, sizeof(got)) != (ssize_t)sizeof(got))
                got = (struct result){ .r = -EIO };
        close(c->out); /* epoll forgets it */
        c->out = -1;
        reap(c, false);
        if (got.r < 0)
                explain(c, got.r, &err);
        end(w, c, &err, &got.cloned);
        begin_next(w);
}

void warden_clones_overdue(struct warden *w)
{
        for (unsigned i = 0; i < WARDEN_CLONES; i++)
                if (w->clones[i].state == CLONE_RUNS && cay_clock_ms() >= w->clones[i].until_ms)
                        kill(w->clones[i].pid, SIGKILL); /* the pipe's end comes next */
}

void warden_clones_unasked(struct warden *w)
{
        for (unsigned i = 0; i < WARDEN_CLONES; i++) {
                struct warden_clone *c = &w->clones[i];

                c->is_asked = false;
                if (c->state == CLONE_WAITS)
                        c->state = CLONE_FREE;
                else if (c->state == CLONE_RUNS && !(c->flags & WIRE_CLONE_REPLACE))
                        kill(c->pid, SIGKILL);
        }
}

unsigned warden_clones_count(const struct warden *w)
{
        unsigned count = 0;

        for (unsigned i = 0; i < WARDEN_CLONES; i++)
                count += w->clones[i].state != CLONE_FREE;
        return count;
}

static bool is_id(const char id[CAY_NAME_MAX + 1])
{
        return memchr(id, 0, CAY_NAME_MAX + 1) && cay_id_is_valid(id);
}

void warden_layer_clone(struct warden *w, const struct wire_request *req)
{
        static const struct cay_keep_cloned none;
        struct warden_clone *c = NULL, refused = { .seq = req->seq, .is_asked = true };
        struct cay_error err = { 0 };

        for (unsigned i = 0; i < WARDEN_CLONES && !c; i++)
                if (w->clones[i].state == CLONE_FREE)
                        c = &w->clones[i];
        if (!w->can_keep)
                cay_fail(&err, CAY_UNSUPPORTED,
                         "files cannot be copied here: they need loop devices and shifted ids, which only "
                         "root has");
        else if (!is_id(req->clone.from) || !is_id(req->clone.to) ||
                 strcmp(req->clone.from, req->clone.to) == 0 || req->clone.flags & ~WIRE_CLONE_ALL)
                cay_fail(&err, CAY_INVALID, "a copy between these layers is not possible");
        else if (!c)
                cay_fail(&err, CAY_LIMIT, "%u copies of files are under way: no more at once; try again",
                         WARDEN_CLONES);
        if (err.code != CAY_OK) {
                answer(w, &refused, &err, &none);
                return;
        }
        *c = (struct warden_clone){ .state = CLONE_WAITS,
                                    .nr = ++w->clone_nr,
                                    .seq = req->seq,
                                    .is_asked = true,
                                    .flags = req->clone.flags,
                                    .out = -1 };
        memcpy(c->from, req->clone.from, sizeof(c->from));
        memcpy(c->to, req->clone.to, sizeof(c->to));
        begin_next(w);
}
