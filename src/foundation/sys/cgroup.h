/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroups of a box, whatever version the host has. A box is one node in every hierarchy that matters,
 * made below the caller's own node or as near to it as possible, so that limits which hold for the caller
 * hold for the box too.
 *
 * Theory of operation. On v1 and the hybrid (cgroup_v1.c) limits are v1's: memory, cpu, pids, cpuset.
 * Freezing, killing and per-exec processor time are cgroup2's, which works without any controller, and which
 * is mounted privately when it is not mounted. Commands join the v1 nodes by writing "0" to `tasks`
 * themselves, through descriptors the warden opened (cheap, and the kernel checks the opener's rights); the
 * cgroup2 node is delegated to cay-init, which makes one child per exec in it.
 *
 * Where cgroup2 has the controllers (cgroup_v2.c) that one node does everything: the box's first process is
 * created in it, the limits are set on it, and there is nothing to join. cay-init is inside the limits then:
 * pids allows one more, and its few pages count as the box's memory. cgroup_v2_place.c finds a place for a
 * node with controllers.
 *
 * A host without cgroups that the caller may use is no error: there are no nodes, no limit is enforced, and
 * all functions below handle that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

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

#define SYS_CGROUP_RESTS (-2) /* of `dir`: the node exists, its descriptor was closed */

struct sys_cgroup {
        int dir[SYS_CGROUP_PARTS]; /* -1: none */
        char name[80];
        const struct sys_cgroup_ops *ops; /* as the host's */
        /* the cgroup2 node belongs to its owner, who can make children in it */
        bool is_delegated;
};

struct sys_cgroup_limits { /* 0: no limit */
        uint64_t memory_bytes, swap_bytes, pids;
        uint32_t cpu_milli;
        bool hold_swap;  /* swap_bytes is used; 0 means no swap */
        uint32_t spread; /* selects which processors are used */
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
 * Examines the host and chooses a version. On v2 this may enable controllers for the chosen node's children.
 * In a container whose only node is the caller's own, it moves the caller and its parent into a leaf of it.
 */
int sys_cgroup_host_open(struct sys_cgroup_host *host);
void sys_cgroup_host_close(struct sys_cgroup_host *host);
/*
 * For a program that executes its successor: everything in a host stays valid except a pointer. 1 or 2; 0:
 * none was opened.
 */
unsigned sys_cgroup_version(const struct sys_cgroup_host *host);
void sys_cgroup_resume(struct sys_cgroup_host *host, unsigned version);
unsigned sys_cgroup_can_hold(const struct sys_cgroup_host *host);
/*
 * True if the limits include the box's first process. It must then be the last one that the kernel kills for
 * memory.
 */
bool sys_cgroup_counts_init(const struct sys_cgroup_host *host);

/* The path of a box's future node, to be recorded before it is made. False when that part has no path. */
bool sys_cgroup_path(const struct sys_cgroup_host *host, enum sys_cgroup_part part, const char *name,
                     char ret[SYS_CGROUP_PATH]);
/* Makes the cgroup2 node, in which a box's first process is created. */
int sys_cgroup_begin(const struct sys_cgroup_host *host, const char *name, struct sys_cgroup *cg);
/* Makes the other nodes. After a failure, sys_cgroup_remove cleans up. */
int sys_cgroup_make(const struct sys_cgroup_host *host, struct sys_cgroup *cg);
/* How many processors a box with this limit sees (0: no limit); 0 where there is no cpuset. */
uint32_t sys_cgroup_cpus(const struct sys_cgroup_host *host, uint32_t cpu_milli);
/*
 * A sleeping process wakes up on a processor of this limit's cpuset. false: there is no cpuset, it has all,
 * or the machine is not busy. To join a cpuset from a processor that it lacks takes a wake-up of the kernel's
 * migration thread: on a busy machine that waits, on a quiet one a free choice of processors gains more.
 */
bool sys_cgroup_send_ahead(const struct sys_cgroup_host *host, const struct sys_cgroup_limits *l, pid_t pid);
/*
 * Writes the limits and gives the cgroup2 node to its owner. On failure *ret_what names the file. An ordinary
 * user cannot change the owner, not even to ids of the user's own range. That is not a failure: the node
 * stays undelegated.
 */
int sys_cgroup_limit(const struct sys_cgroup_host *host, struct sys_cgroup *cg,
                     const struct sys_cgroup_limits *l, const char **ret_what);
/* Opens the v1 `tasks` files for writing, that of pids last; returns how many (at most `max`) or -errno. */
int sys_cgroup_open_joins(const struct sys_cgroup *cg, int *fds, unsigned max);
int sys_cgroup_open_usage(const struct sys_cgroup *cg, int *ret_usage,
                          int *ret_stat); /* memory; -1 where there is none */
/*
 * Call after all limits are written and all files opened: closes descriptors that are not needed until the
 * nodes are removed.
 */
void sys_cgroup_rest(struct sys_cgroup *cg);
void sys_cgroup_stats(const struct sys_cgroup *cg, struct sys_cgroup_stats *ret);
int sys_cgroup_freeze(const struct sys_cgroup *cg, bool frozen);
/*
 * Gives memory back to the host, as far as the kernel can: caches, and anonymous memory where there is swap.
 * May take long (about 0.4 s for a GiB); a signal that ends the process ends it. The directory that
 * sys_cgroup_reclaim_node needs: sys_cgroup_memory_node; -1: the node's memory is not counted.
 */
int sys_cgroup_memory_node(const struct sys_cgroup *cg);
int sys_cgroup_reclaim_node(const struct sys_cgroup_host *host, int dir);
/*
 * Kills what is in the cgroup2 node and below; -EOPNOTSUPP where there is none. Without cgroup.kill it waits
 * for the end.
 */
int sys_cgroup_kill(const struct sys_cgroup *cg);
int sys_cgroup_kill_node(int dir); /* the same for any cgroup2 node */
/* Removes what is empty now; sys_cgroup_remove removes the rest. */
void sys_cgroup_remove_empty(const struct sys_cgroup_host *host, struct sys_cgroup *cg);
int sys_cgroup_remove(const struct sys_cgroup_host *host,
                      struct sys_cgroup *cg); /* waits for the last task, for a bounded time; closes */
/*
 * Kills what is in a node named by a record and removes it with its children; absent is success. Waits until
 * the given time (cay_clock_ms; 0: no wait) for the killed processes to leave it. -EBUSY: the time was too
 * short.
 */
int sys_cgroup_remove_at(int dirfd, const char *path, uint64_t until_ms);
