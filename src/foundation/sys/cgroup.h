/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroups of a box, whatever version the host has. A box is one node in every hierarchy that matters, made below the
 * caller's own node or as near to it as possible, so that limits which hold for the caller hold for the box too.
 *
 * Theory of operation. On v1 and the hybrid (cgroup_v1.c) limits are v1's: memory, cpu, pids, cpuset. Freezing, killing and
 * per-exec processor time are cgroup2's, which works without any controller, and which is mounted privately when nobody has.
 * Commands join the v1 nodes by writing "0" to `tasks` themselves, through descriptors the warden opened (cheap, and the
 * kernel checks the opener's rights); the cgroup2 node is delegated to cay-init, which makes one child per exec in it.
 *
 * Where cgroup2 has the controllers (cgroup_v2.c) that one node does everything: the box's first process is born in it, the
 * limits stand on it, and there is nothing to join. cay-init is inside the limits then: it is allowed for in pids, and its few
 * pages are part of the box's memory. Where a node with controllers can be had is a question of its own: cgroup_v2_place.c.
 *
 * A host without cgroups that the caller may use is no error: there are no nodes, nothing can be held, and everything below
 * copes with that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/banned.h"

enum sys_cgroup_part {
        SYS_CGROUP_MEMORY,
        SYS_CGROUP_CPU,
        SYS_CGROUP_PIDS,
        SYS_CGROUP_CPUSET,
        SYS_CGROUP_2, /* the unified hierarchy */
        SYS_CGROUP_PARTS
};

struct sys_cgroup_ops;

#define SYS_CGROUP_PATH 256
#define SYS_CGROUP_CPUS 1024

struct sys_cgroup_host {
        int parent[SYS_CGROUP_PARTS];                 /* where boxes' nodes are made; -1: none */
        char path[SYS_CGROUP_PARTS][SYS_CGROUP_PATH]; /* its path; "" when it has none (private mount) */
        bool memory_swap;                             /* swap can be limited, or there is none */
        unsigned held;                                /* v2: controllers of the nodes made here, 1 << part */
        const struct sys_cgroup_ops *ops;             /* the version; NULL before sys_cgroup_host_open */
};

#define SYS_CGROUP_RESTS (-2) /* of `dir`: the node is there, its descriptor was let go */

struct sys_cgroup {
        int dir[SYS_CGROUP_PARTS]; /* -1: none */
        char name[80];
        const struct sys_cgroup_ops *ops; /* as the host's */
        bool is_delegated;                /* the cgroup2 node is its owner's: children can be made in it */
};

struct sys_cgroup_limits { /* 0: no limit */
        uint64_t memory_bytes, swap_bytes, pids;
        uint32_t cpu_milli;
        bool hold_swap;  /* swap_bytes counts, 0 meaning none */
        uint32_t spread; /* which processors a part of the machine is taken from */
        uint32_t owner;  /* host uid (and gid) that the cgroup2 node is delegated to */
};

struct sys_cgroup_stats {
        uint64_t memory_bytes, memory_peak_bytes, oom_kills, pids, pids_refused, cpu_us;
};

enum sys_cgroup_can {
        SYS_CGROUP_CAN_MEMORY = 1,
        SYS_CGROUP_CAN_SWAP = 2,
        SYS_CGROUP_CAN_CPU = 4,
        SYS_CGROUP_CAN_PIDS = 8
};

/*
 * Looks at the host and chooses. On v2 this may enable controllers for the chosen node's children, and in a container whose
 * only node is the caller's own it moves the caller and its parent into a leaf of it.
 */
int sys_cgroup_host_open(struct sys_cgroup_host *host);
void sys_cgroup_host_close(struct sys_cgroup_host *host);
/* For a program that executes its successor: what stays true of a host but for a pointer. 1 or 2; 0: none was opened. */
unsigned sys_cgroup_version(const struct sys_cgroup_host *host);
void sys_cgroup_resume(struct sys_cgroup_host *host, unsigned version);
unsigned sys_cgroup_can_hold(const struct sys_cgroup_host *host);
/* Whether the limits include the box's first process, which must then be the last that the kernel kills for memory. */
bool sys_cgroup_counts_init(const struct sys_cgroup_host *host);

/* Where a box's node will be; false when that part has no path. For the record, before it is made. */
bool sys_cgroup_path(const struct sys_cgroup_host *host, enum sys_cgroup_part part, const char *name,
                     char ret[SYS_CGROUP_PATH]);
/* Makes the cgroup2 node, which a box's first process is born in. */
int sys_cgroup_begin(const struct sys_cgroup_host *host, const char *name, struct sys_cgroup *cg);
/* Makes the other nodes. What a failure leaves is sys_cgroup_remove's. */
int sys_cgroup_make(const struct sys_cgroup_host *host, struct sys_cgroup *cg);
/* How many processors a box with this limit sees (0: no limit); 0 where there is no cpuset. */
uint32_t sys_cgroup_cpus(const struct sys_cgroup_host *host, uint32_t cpu_milli);
/*
 * Writes the limits and gives the cgroup2 node to its owner. On failure *ret_what names the file. An ordinary user cannot give
 * anything away, not even to ids of a range that is the user's own: that is no failure, and the node stays undelegated.
 */
int sys_cgroup_limit(const struct sys_cgroup_host *host, struct sys_cgroup *cg,
                     const struct sys_cgroup_limits *l, const char **ret_what);
/* Opens the v1 `tasks` files for writing, that of pids last; returns how many (at most `max`) or -errno. */
int sys_cgroup_open_joins(const struct sys_cgroup *cg, int *fds, unsigned max);
int sys_cgroup_open_usage(const struct sys_cgroup *cg, int *ret_usage,
                          int *ret_stat); /* memory; -1 where there is none */
/* All limits are written and all files opened: descriptors that nothing needs until the nodes are removed are let go. */
void sys_cgroup_rest(struct sys_cgroup *cg);
void sys_cgroup_stats(const struct sys_cgroup *cg, struct sys_cgroup_stats *ret);
int sys_cgroup_freeze(const struct sys_cgroup *cg, bool frozen);
/* Kills what is in the cgroup2 node and below; -EOPNOTSUPP where there is none. Without cgroup.kill it waits for the end. */
int sys_cgroup_kill(const struct sys_cgroup *cg);
int sys_cgroup_kill_node(int dir); /* the same for any cgroup2 node */
/* Removes at once what is empty already; the rest waits for sys_cgroup_remove. */
void sys_cgroup_remove_empty(const struct sys_cgroup_host *host, struct sys_cgroup *cg);
int sys_cgroup_remove(const struct sys_cgroup_host *host,
                      struct sys_cgroup *cg); /* bounded wait for the last task; closes */
/*
 * Kills what is in a node named by a record and removes it with its children; absent is success. Until then (cay_clock_ms; 0: not at
 * all) it waits for what was killed to be gone from it: -EBUSY when that was too short.
 */
int sys_cgroup_remove_at(int dirfd, const char *path, uint64_t until_ms);
