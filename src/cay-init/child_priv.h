/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a child. child.c has their order and reports a failed one to init. Each returns 0 or -errno,
 * and each affects only the child, not init.
 */
#pragma once

#include "cay-init/child.h"

enum {
        CAY_CHILD_STATUS_FD = 3,  /* where the socket to init is moved */
        CAY_CHILD_CHANGES_FD = 4, /* of the worker CHANGES: the workspace's two layers */
        CAY_CHILD_BASE_FD = 5,
        CAY_CHILD_ASK_FD = 4, /* of a waiting interpreter: its socket, and its driver (warm.h) */
        CAY_CHILD_ARCHIVE_FD = 5,
        CAY_CHILD_LAST_JOIN_FD = 4, /* of a preforked process: the cgroup that it joins with its command */
};

/* child_place.c: cgroups, session, descriptors, folder */
int cay_child_join_cgroups(const struct cay_child *c);
int cay_child_join_last(const struct cay_child *c);
void cay_child_be_first_to_go(void);
int cay_child_start_session(const struct cay_child *c);
bool cay_child_has_layers(const struct cay_child *c); /* it is given the workspace's two layers */
int cay_child_set_stdio(const struct cay_child *c);
int cay_child_enter_directory(const struct cay_child *c);

/* child_rights.c: limits, ids, capabilities, landlock, filter */
int cay_child_set_rlimits(const struct cay_child *c);
int cay_child_drop_groups(const struct cay_init *init);
int cay_child_switch_ids(const struct cay_child *c);
int cay_child_drop_caps(const struct cay_init *init);
int cay_child_enter_landlock(const struct cay_child *c);
int cay_child_install_filter(const struct cay_child *c);

/*
 * child_exec.c: the program or worker. The first returns only when there is nothing to run; ret_step says
 * what was missing.
 */
int cay_child_run_exec(const struct cay_child *c, enum cay_child_step *ret_step);
_Noreturn void cay_child_run_worker(const struct cay_child *c);
