/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All processes that one exec has started, however they forked: counted, timed and killed as one.
 *
 * Theory of operation. Where the engine gave a cgroup2 directory, an exec starts in a node of its own below
 * it (x<channel>), no process can leave that, and cgroup.kill ends it in one step. Elsewhere a *keeper*
 * process is the parent of the exec: a subreaper that only waits, so that even double-forked daemons stay
 * below it. Init finds them in /proc and kills until none is left. The keeper reports the exec's own end and
 * exits after its last descendant. The exec of a one-shot box needs neither: everything in the box but init
 * is its group, and making and removing a node would cost more than the exec.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cay_group {
        pid_t pid;          /* of the exec itself; 0: not known yet, or reaped */
        pid_t keeper;       /* 0: none, or gone */
        bool is_alone;      /* the keeper has reported that nothing is left below it */
        uint64_t reaped_us; /* processor time of what the keeper had waited for, then */
        bool is_box;        /* the group is the whole box */
        int box_fd;         /* then: its cgroup2 node (borrowed); -1: it has none */
        int node_fd;        /* owned; -1: no cgroup */
        uint32_t serial; /* of a node that was made before its channel was known (prefork.h); 0: x<channel> */
        char node[32];   /* its name below the box's node */
};

void cay_group_init(struct cay_group *g);
/* 0 or -errno; cgroup_fd is the box's own node. Names are x<channel> (or x<channel>_<n>), and s<serial>. */
int cay_group_make_node(struct cay_group *g, int cgroup_fd, uint32_t channel);
int cay_group_make_spare_node(struct cay_group *g, int cgroup_fd, uint32_t serial);
void cay_group_take_box(struct cay_group *g, int cgroup_fd); /* for pid 1 only; cgroup_fd may be -1 */
/* SIGKILL to everything. Without a node some may escape: call again until cay_group_count returns 0. */
void cay_group_kill(struct cay_group *g);
unsigned cay_group_count(const struct cay_group *g);  /* processes alive */
uint64_t cay_group_cpu_us(const struct cay_group *g); /* 0: unknown */
/* Removes the node if it is empty; true when there is no node (any more) and no keeper. */
bool cay_group_remove(struct cay_group *g, int cgroup_fd);
bool cay_group_kill_below_self(
        void); /* one pass over all descendants of the caller; false: there were none */
