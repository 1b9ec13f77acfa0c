/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of making a box; request_box_make.c has their order. A plan is checked (make_check.c), its mounts
 * are made from outside where permitted (make_mounts.c), and the configuration of the box and its cay-init is
 * sent (make_send.c).
 */
#pragma once

#include "cay-warden/proc_overlay.h"
#include "cay-warden/warden.h"

struct warden_given { /* descriptors of the plan; -1: not given */
        int link, rootfs;
        int folder, peer; /* of a workspace by descriptor */
        int network;      /* where sockets go */
        struct warden_workspace workspace;
};

/* make_check.c. The caller closes the workspace in ret; the rest stays the request's. */
int warden_make_check_plan(struct warden *w, const struct wire_plan *p, const int *fds, unsigned count,
                           struct warden_given *ret, struct cay_error *err);
int warden_make_check_limits(struct warden *w, const struct wire_plan *p, unsigned *ret_skipped,
                             struct cay_error *err);
bool warden_make_fits_tmpfs(const struct warden *w, const struct wire_plan *p);

/* make_mounts.c: ISOLATE_MOUNTS of them, -1 before; the caller closes them, but for that of proc_overlay. */
int warden_make_mounts(struct warden *w, struct warden_box *box, const struct warden_given *given,
                       const struct cay_proc_overlay *proc_overlay, bool tmpfs, int *mounts,
                       struct cay_error *err);

/* make_send.c: 0 or -errno. The second is queued in cay-init's socket before it runs. */
int warden_make_send_mounts(struct warden_box *box, const int *mounts);
int warden_make_send_config(struct warden *w, struct warden_box *box, int link,
                            const struct cay_proc_overlay *proc_overlay, uint32_t cpus, bool oom_set,
                            bool is_placed);
