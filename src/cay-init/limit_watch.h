/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits that no cgroup holds here, held by watching: memory, processors, processes of everything in the box.
 *
 * Theory of operation. Init is the box's first process: it sees all others and may signal all of them at once
 * (kill(-1)), with nothing forked in between. While commands run it looks every hundredth of a second.
 *   memory   anonymous, shared and swapped pages of all processes, and what lies in the box's own file
 *            systems (they are memory here), and page tables. Pages of files can be had again and do not
 *            count. Above the limit: everything is ended, cause memory. Unnamed files (memfd) count too, and
 *            what lies in sockets of the box's network. Not seen: what lies in pipes; the kernel bounds those
 *            per user.
 *   cpus     processor time against the time that has gone by. Ahead of its share: all stopped until it is
 *            not. Each stop and go is one signal; parents are not told (children go first), but some system
 *            calls return EINTR.
 *   pids     RLIMIT_NPROC, counted by the kernel per user of the box's own user namespace; init only notices
 *            that it is hit.
 * A watch is weaker than a cgroup: between two looks a box can have more, as much as it can write in a
 * hundredth of a second. It can keep nothing, though. (RLIMIT_DATA would narrow that, and break every program
 * that reserves more than it uses.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/loop/loop.h"

struct cay_init;

struct cay_limit_watch {
        struct cay_timer timer;
        bool is_running, is_stopped;
        uint64_t start_ns;   /* of the current stretch of work */
        uint64_t start_us;   /* processor time at that moment */
        uint64_t peak_bytes; /* highest sum seen */
        uint32_t pids_hits;  /* looks at which the limit was reached */
        uint32_t looks;
        uint64_t fs_bytes, socket_bytes;
        int sockets_fd; /* owned: asks for the memory of sockets; -1: nobody to ask */
};

/* Call it before our own filter is installed: that forbids such sockets. */
void cay_limit_watch_init(struct cay_init *init);

/* Commands run from now on (called for every exec): starts watching, unless there is nothing to watch. */
void cay_limit_watch_wake(struct cay_init *init);
void cay_limit_watch_ending(
        struct cay_init *init); /* something died and is not reaped yet: a last look at how many there are */
/* RLIMITs of a command about to be started: 0 or -errno. Async-signal-safe. */
int cay_limit_watch_limit(const struct cay_init *init);

/* Whether a share of the processors is exceeded: pure, for the tests. True: stop. */
bool cay_limit_watch_is_ahead(uint64_t elapsed_us, uint64_t used_us, uint32_t cpu_milli);
