/* SPDX-License-Identifier: Apache-2.0 */
/*
 * box_make: why it is safe for an untrusted caller. Nothing is named by path: link, rootfs and workspace come
 * as descriptors that the caller could open itself, and their kind is checked here. Numbers are checked
 * against closed ranges again. The id is matched against its pattern before it becomes part of a cgroup's
 * name. The host's /usr is shown read-only and without set-id bits; the box gets host ids of its own, none of
 * which owns anything (but for a workspace's owner, where mounts cannot shift ids). A plan with a limit that
 * cannot be enforced is refused unless the caller allowed to skip it. A layer that outlives its box is stored
 * in a folder from the keeper, under the box's id and no other name (keep.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/files_limit.h"
#include "foundation/sys/userns_why.h"
#include "cay-warden/make.h"

#define FILES_TO_MAKE 64u /* descriptors that making a box takes at once, with those that a message brings */

static struct sys_cgroup_limits limits_of(const struct warden *w, const struct warden_box *box)
{
        const struct wire_plan *p = &box->plan;

        return (struct sys_cgroup_limits){
                .memory_bytes = cay_layer_is_on(p->test_off, CAY_LAYER_MEMORY) ? p->memory_bytes : 0,
                .swap_bytes = p->swap_bytes,
                .hold_swap = w->can_hold & HELPER_LIMIT_SWAP,
                .pids = cay_layer_is_on(p->test_off, CAY_LAYER_PIDS) ? p->pids : 0,
                .cpu_milli = cay_layer_is_on(p->test_off, CAY_LAYER_CPU) ? p->cpu_milli : 0,
                .spread = box->record.slot,
        };
}

static int make_cgroups(struct warden *w, struct warden_box *box, struct cay_error *err)
{
        const struct wire_plan *p = &box->plan;
        struct sys_cgroup_limits l = limits_of(w, box);
        const char *what = "?";
        int r;

        cay_ids_outside(&box->ids,
                        cay_layer_is_on(p->test_off, CAY_LAYER_INIT_UID) ? box->ids.init_user : CAY_BOX_USER,
                        &l.owner);
        r = sys_cgroup_make(&w->cgroups, &box->cgroup);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "make cgroups for '%s'", p->id);
        cay_step_reached(w->steps, CAY_STEP_cgroups_made);
        r = sys_cgroup_limit(&w->cgroups, &box->cgroup, &l, &what);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "set limit %s", what);
        cay_step_reached(w->steps, CAY_STEP_limits_set);
        return 0;
}

/* Control socket and status pipe; the box's ends are in iso. */
static int make_channels(struct warden_box *box, struct isolate *iso, struct cay_error *err)
{
        int control[2], status[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the control socket");
        box->control = control[0];
        iso->control = control[1];
        if (pipe2(status, O_CLOEXEC) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the status pipe");
        box->status = status[0];
        iso->status = status[1];
        return 0;
}

/*
 * The whole box is what the kernel should end first when the machine runs out of memory; commands inherit it.
 * Where init is inside of the box's memory limit, commands go before it: they set the rest themselves.
 */
static bool offer_to_oom_killer(const struct warden *w, const struct warden_box *box)
{
        bool apart = !sys_cgroup_counts_init(&w->cgroups);
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)box->pid);
        return sys_write_file(AT_FDCWD, path, apart ? "1000" : "500") == 0 && apart;
}

/* The files of /proc, while the box's process is being created: its mounts need them. */
static int make_beside(struct warden *w, struct warden_box *box, struct cay_proc_overlay *proc_overlay,
                       uint32_t cpus, struct cay_error *err)
{
        int r;

        if (w->self) { /* the box makes its own */
                cay_step_reached(w->steps, CAY_STEP_proc_files_made);
                return 0;
        }
        r = cay_proc_overlay_make(proc_overlay, box->plan.memory_bytes != 0, cpus);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "make the files of /proc");
        cay_step_reached(w->steps, CAY_STEP_proc_files_made);
        return 0;
}

/*
 * The box builds its root, and nobody waits for us until its cay-init wants the configuration: time for the
 * cgroups, which only commands are in. Until then the box's process runs our code alone, without limits. A
 * third running process delays two on two processors (measured), and the helper makes the network namespace
 * now: a single run waits for its end first, which is in time for the configuration. With a way out it takes
 * longer than that, and a daemon's warden waits for nobody.
 */
static void let_helper_finish(const struct warden *w, struct warden_box *box)
{
        if (w->is_kept || !(box->plan.flags & WIRE_PLAN_ONE_SHOT) || box->plan.flags & WIRE_PLAN_NETWORK ||
            box->helper <= 0)
                return;
        while (waitpid(box->helper, NULL, 0) < 0 && errno == EINTR)
                ;
        box->helper = 0;
}

static int instruct(struct warden *w, struct warden_box *box, const struct warden_given *given,
                    const struct cay_proc_overlay *proc_overlay, bool tmpfs, uint32_t cpus,
                    struct cay_error *err)
{
        const struct sys_cgroup_limits l = limits_of(w, box);
        bool oom_set = offer_to_oom_killer(w, box),
             is_placed = sys_cgroup_send_ahead(&w->cgroups, &l, box->pid);
        int mounts[ISOLATE_MOUNTS], r;

        for (unsigned i = 0; i < ISOLATE_MOUNTS; i++)
                mounts[i] = -1;
        if (cay_ids_give(&box->ids, box->pid, err) < 0)
                return -1;
        cay_step_reached(w->steps, CAY_STEP_mapped);
        r = warden_make_mounts(w, box, given, proc_overlay, tmpfs, mounts, err);
        if (r == 0) {
                cay_step_reached(w->steps, CAY_STEP_mounts_ready);
                r = warden_make_send_mounts(box, mounts);
                if (r < 0)
                        cay_fail_sys(err, CAY_INTERNAL, r, "instruct the box");
        }
        for (unsigned i = ISOLATE_LAYER; i < ISOLATE_MOUNTS;
             i++) /* the proc_overlay mount is proc_overlay's */
                if (mounts[i] >= 0)
                        close(mounts[i]);
        if (r < 0)
                return -1;
        let_helper_finish(w, box);
        if (make_cgroups(w, box, err) < 0)
                return -1;
        r = warden_make_send_config(w, box, given->link, proc_overlay, cpus, oom_set, is_placed);
        if (r == -EPIPE)
                return 0; /* it has given up already: the status pipe says why */
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "instruct cay-init") : 0;
}

/* Only one step here is often forbidden, for many different reasons: name the reason. */
static int fail_birth(int neg_errno, struct cay_error *err)
{
        char why[SYS_WHY_SIZE];

        sys_userns_why(neg_errno, why, sizeof(why));
        return cay_fail(err, CAY_UNSUPPORTED, "no user namespace can be made here: %s", why);
}

/*
 * Where mounts cannot shift ids, an id of the box is a user of the host: the owner of what was mapped, never
 * root.
 */
static int choose_ids(struct warden *w, struct warden_box *box, const struct warden_given *given,
                      struct cay_error *err)
{
        struct cay_id_pin pin = { 0 };
        bool pinned = false;
        struct stat st;
        int workspace = given->workspace.fd;
        int fd = workspace >= 0 ? workspace : given->rootfs;

        if (w->self && fd >= 0 && fstat(fd, &st) == 0) {
                bool own = w->ids.source == CAY_IDS_HOST ? st.st_uid != 0 && st.st_gid != 0
                                                         : st.st_uid == getuid();

                own = own && (fd != workspace || given->workspace.as_owner);
                pin = (struct cay_id_pin){ fd == workspace ? CAY_BOX_USER : 0, st.st_uid,
                                           w->ids.source != CAY_IDS_HOST ? getgid()
                                           : fd == workspace             ? given->workspace.gid
                                                                         : st.st_gid };
                pinned = own && (fd == workspace || w->ids.source == CAY_IDS_RANGE);
                if (!own && fd == workspace && box->plan.flags & WIRE_PLAN_WORKSPACE_RW)
                        return cay_fail(
                                err, CAY_UNSUPPORTED,
                                "workspace: the folder belongs to uid %u, and ids cannot be shifted here: "
                                "map it read-only (:ro) or as a copy (:cow)",
                                st.st_uid);
        }
        cay_ids_choose(&box->ids, &w->ids, box->record.slot, pinned ? &pin : NULL);
        return 0;
}

/* Starts the box's first process and, in parallel, makes what it needs. What was begun is always finished. */
static int give_birth(struct warden *w, struct warden_box *box, struct isolate *iso,
                      struct cay_proc_overlay *proc_overlay, struct cay_error *err)
{
        int r = cay_isolate_begin(iso);

        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "start the box's first process");
        r = make_beside(w, box, proc_overlay, iso->cpus, err);
        box->helper = iso->helper;
        box->pid = cay_isolate_end(iso, &box->pidfd);
        return r == 0 && box->pid < 0 ? fail_birth(box->pid, err) : r;
}

static int start(struct warden *w, struct warden_box *box, const struct warden_given *given,
                 struct cay_error *err)
{
        bool tmpfs = warden_make_fits_tmpfs(w, &box->plan) || box->skipped & HELPER_LIMIT_DISK ||
                     !box->plan.disk_bytes;
        struct isolate iso = { .plan = &box->plan,
                               .steps = w->steps,
                               .ids = box->ids,
                               .self = w->self,
                               .rootfs = w->self ? given->rootfs : -1,
                               .workspace = w->self ? given->workspace.fd : -1,
                               .network = given->network,
                               .control = -1,
                               .status = -1,
                               .init_exe = w->init_exe,
                               .pin_at = -1,
                               .cgroup2 = box->cgroup.dir[SYS_CGROUP_2] };
        struct cay_proc_overlay proc_overlay = CAY_PROC_OVERLAY_NONE;
        uint32_t cpu_milli = cay_layer_is_on(box->plan.test_off, CAY_LAYER_CPU) ? box->plan.cpu_milli : 0;
        uint32_t cpus = sys_cgroup_cpus(&w->cgroups, cpu_milli);
        int r = make_channels(box, &iso, err);

        box->kept = box->plan.flags & WIRE_PLAN_KEEP && w->can_keep && !tmpfs;
        if (box->plan.flags & WIRE_PLAN_GO_ON && !box->kept && r == 0)
                r = cay_fail(err, CAY_CONFLICT, "this host can no longer show the files that '%s' left",
                             box->plan.id);
        if (cpus == 0 && cpu_milli) { /* no cpuset: the box keeps to as many processors by itself */
                cpus = (cpu_milli + 999) / 1000;
                iso.pin_at = (int)box->record.slot;
        }
        iso.cpus = cpus;
        if (r == 0)
                r = give_birth(w, box, &iso, &proc_overlay, err);
        if (iso.control >= 0)
                close(iso.control);
        if (iso.status >= 0)
                close(iso.status);
        if (r == 0) {
                cay_step_box(box->pid);
                cay_step_reached(w->steps, CAY_STEP_cloned);
                r = instruct(w, box, given, &proc_overlay, tmpfs, cpus, err);
        }
        cay_proc_overlay_done(&proc_overlay);
        return r < 0 ? -1 : 0;
}

static int make(struct warden *w, struct warden_box *box, const struct wire_request *req, const int *fds,
                unsigned fd_count, struct warden_given *given, struct cay_error *err)
{
        char name[CAY_NAME_MAX + 8];
        int r;

        if (warden_make_check_plan(w, &req->plan, fds, fd_count, given, err) < 0)
                return -1;
        if (warden_make_check_limits(w, &req->plan, &box->skipped, err) < 0)
                return -1;
        box->plan = req->plan;
        box->make_seq = req->seq;
        snprintf(name, sizeof(name), "cay-%s", box->plan.id);
        if (cay_record_make(&box->record, box->plan.id, &w->cgroups, name, err) < 0)
                return -1;
        cay_step_reached(w->steps, CAY_STEP_recorded);
        if (choose_ids(w, box, given, err) < 0)
                return -1;
        if (!cay_layer_is_on(box->plan.test_off, CAY_LAYER_IDS) && w->ids.source == CAY_IDS_HOST) {
                box->ids.uids[0].outside = box->ids.gids[0].outside = 0;
                box->ids.first_uid = 0;
        }
        r = sys_cgroup_begin(&w->cgroups, name, &box->cgroup);
        if (r == -EEXIST) { /* not one of ours: perhaps of a warden that was killed */
                cay_records_sweep(&w->cgroups, &box->record, 0);
                r = sys_cgroup_begin(&w->cgroups, name, &box->cgroup);
        }
        /*
         * Only this sandbox knows the id of its kept files: it is the previous box, which the kernel has not
         * ended yet.
         */
        if (r == -EEXIST && box->plan.flags & WIRE_PLAN_KEEP)
                return cay_fail(err, CAY_UNAVAILABLE,
                                "what ran in sandbox '%s' before is still on its way out: try again",
                                box->plan.id);
        if (r == -EEXIST)
                return cay_fail(err, CAY_EXISTS, "id: a sandbox '%s' exists already", box->plan.id);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "make a cgroup for '%s'", box->plan.id);
        r = cay_record_note_made(&box->record);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "write the record of '%s'", box->plan.id);
        return start(w, box, given, err);
}

/*
 * A descriptor gets the lowest free number. If that is close to the limit, a box is refused here with a clear
 * error. Messages and the removal of boxes still have room.
 */
static int check_files(const struct warden *w, struct cay_error *err)
{
        uint64_t most = sys_files_limit();
        int fd = fcntl(w->epoll, F_DUPFD_CLOEXEC, 0);

        if (fd >= 0)
                close(fd);
        if (fd >= 0 && (most == 0 || (uint64_t)fd + FILES_TO_MAKE <= most))
                return 0;
        return cay_fail(err, CAY_LIMIT,
                        "the open files of cay-warden are used up (RLIMIT_NOFILE is %llu): destroy or stop "
                        "sandboxes, or "
                        "start the daemon with a higher limit (ulimit -n, LimitNOFILE=)",
                        (unsigned long long)most);
}

void warden_box_make(struct warden *w, const struct wire_request *req, int *fds, unsigned fd_count)
{
        struct wire_answer a = { .type = req->type, .seq = req->seq };
        struct warden_given given = {
                .link = -1, .rootfs = -1, .folder = -1, .peer = -1, .network = -1, .workspace.fd = -1
        };
        struct cay_error err = { 0 };
        struct warden_box *box = NULL;
        int r;

        for (unsigned i = 0; i < w->rows && !box; i++)
                if (w->boxes[i].state == BOX_FREE)
                        box = &w->boxes[i];
        if (!box && w->rows < WARDEN_BOXES)
                box = &w->boxes[w->rows++];
        if (check_files(w, &err) < 0) {
                box = NULL;
        } else if (!box) {
                cay_fail(&err, CAY_LIMIT, "all %u sandboxes of this warden are in use", WARDEN_BOXES);
        } else {
                *box = (struct warden_box){ .state = BOX_MAKING,
                                            .pidfd = -1,
                                            .control = -1,
                                            .status = -1,
                                            .record.fd = -1,
                                            .pid = -1 };
                for (unsigned i = 0; i < SYS_CGROUP_PARTS; i++)
                        box->cgroup.dir[i] = -1;
                r = make(w, box, req, fds, fd_count, &given, &err);
                warden_workspace_close(&given.workspace); /* the box has it, or there is no box */
                if (r == 0) {
                        sys_cgroup_rest(&box->cgroup);
                        warden_watch(w, box->status, WATCH_STATUS, box);
                        if (box->pidfd >= 0)
                                warden_watch(w, box->pidfd, WATCH_PIDFD, box);
                        return; /* answered by the status pipe */
                }
                warden_box_doom(w, box, NULL);
                warden_box_unmake(w, box);
        }
        a.code = err.code;
        a.sys = err.sys;
        snprintf(a.text, sizeof(a.text), "%s", err.msg);
        warden_answer(w, &a);
}
