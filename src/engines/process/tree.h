/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of one box, found by descent in /proc: everything below its init, and the orphans of a dead
 * init.
 *
 * Theory of operation. Init is a child subreaper, so nothing that it started leaves its tree while it exists
 * (stopped counts as existing). Init leads a session of its own; sessions are inherited and ours can't be
 * entered from another, so a child of ours that we did not spawn and that is in another session is an orphan
 * of a box (this process is a subreaper too).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cay_tree_sum {
        unsigned alive;                /* processes that are not zombies; without the root */
        unsigned refused;              /* of those, not ours to signal */
        uint64_t memory_bytes, cpu_us; /* with the root */
};

/* Sends signo (0: none) to every live process below root and counts them. 0 or -errno. */
int cay_tree_signal(pid_t root, int signo, struct cay_tree_sum *ret);
/*
 * Kills and reaps orphans of this process; `is_known` identifies children that are not orphans. ret_left 0:
 * there are none left.
 */
int cay_tree_end_orphans(bool (*is_known)(void *ctx, pid_t pid), void *ctx, unsigned *ret_left);
