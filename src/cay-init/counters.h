/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of the box's own cgroups, read from inside, where the engine cannot provide them. Docker's API has
 * no count of refused forks, and its report of killed processes may be late. Supports both layouts; a missing
 * counter is 0.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cay_counters {
        bool is_open;
        int oom_fd, pids_fd, peak_fd; /* owned while is_open; -1: none */
};

void cay_counters_open(struct cay_counters *c, bool wanted);
uint64_t cay_counters_oom_kills(const struct cay_counters *c);
uint64_t cay_counters_pids_refused(const struct cay_counters *c);
uint64_t cay_counters_memory_peak(const struct cay_counters *c);
