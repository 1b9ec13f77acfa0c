/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting a channel's process, init's side: cgroup node, fork (or a preforked process), and the child's
 * messages afterwards.
 */
#pragma once

#include "cay-init/channel.h"

/* On failure the channel has its END already. worker NULL: an exec. */
void cay_spawn_start(struct cay_channel *ch, const struct cay_box_open *open,
                     const struct cay_worker *worker);
void cay_spawn_listen(struct cay_channel *ch);  /* reads all messages of the child so far */
void cay_spawn_hang_up(struct cay_channel *ch); /* reads no more messages of it */
/* A process of init's own, which is not listed as one of the box. -errno */
pid_t cay_spawn_fork_helper(struct cay_init *init);
pid_t cay_spawn_fork(struct cay_child *c,
                     int node_fd); /* into a cgroup2 node (-1: ours), and on from there; -errno */
