/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The box's own /proc/meminfo, /proc/stat and /proc/loadavg: files that the engine bound over those names,
 * written here. Totals are exact at all times, moving figures at most a second old while anything runs.
 */
#pragma once

#include "foundation/loop/loop.h"
#include "links/helper/init_config.h"

#define CAY_PROC_OVERLAY_TEXT (16u * 1024)

struct cay_proc_overlay {
        struct cay_loop *loop;
        const struct cay_init_config *config; /* borrowed */
        const int *fds;                       /* borrowed: by enum cay_init_fd */
        struct cay_timer timer;
        bool is_on;
        uint64_t start_ns, at_ns; /* of the box; of the last refresh */
        uint64_t load[3];         /* averages over 1, 5, 15 minutes, in 1/65536 */
        uint64_t load_at_ns;
        uint64_t idle_ticks; /* never goes back */
        uint64_t last_pid;
        bool (*is_busy)(struct cay_proc_overlay *t); /* anything runs: keep the figures fresh */
};

void cay_proc_overlay_init(struct cay_proc_overlay *t, struct cay_loop *loop,
                           const struct cay_init_config *config, const int *fds,
                           bool (*is_busy)(struct cay_proc_overlay *t));
void cay_proc_overlay_refresh(
        struct cay_proc_overlay *t); /* writes unless a second has not passed; keeps on while busy */

/* The texts; each returns its length, constant for one box. size is CAY_PROC_OVERLAY_TEXT. */
struct cay_proc_overlay_memory {
        uint64_t total, used, swap_total, swap_used; /* bytes, as all below */
        uint64_t cache, shmem, mapped, dirty, writeback, active_anon, inactive_anon, active_file,
                inactive_file;
        uint64_t slab_reclaimable, slab_unreclaimable, kernel_stack, page_tables, anon;
};
struct cay_proc_overlay_cpu {
        uint32_t cpus;
        uint64_t user_ticks, system_ticks, idle_ticks; /* of all together */
        uint64_t boot_s, last_pid, running, blocked;
};
void cay_proc_overlay_parse_memory(const char *stat_text,
                                   struct cay_proc_overlay_memory *ret); /* v1's or v2's memory.stat */
size_t cay_proc_overlay_meminfo(const struct cay_proc_overlay_memory *m, char *text, size_t size);
size_t cay_proc_overlay_stat(const struct cay_proc_overlay_cpu *c, char *text, size_t size);
size_t cay_proc_overlay_loadavg(const uint64_t load[3], unsigned running, unsigned total, int last_pid,
                                char *text, size_t size);
void cay_proc_overlay_decay(uint64_t load[3], unsigned running, uint64_t seconds);
