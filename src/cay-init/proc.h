/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /proc says about the processes of the box. The text is partly controlled by the code (names): it is
 * parsed as untrusted input.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CAY_PROC_MAX 4096u /* processes looked at */

struct cay_proc {
        pid_t pid, parent;
        char state;
        bool mark; /* for the caller */
        uint32_t threads;
        uint64_t ticks; /* user and system time, of waited-for children too */
};

/* Fills rows with at most `max` processes and returns how many; 0 also when there is no /proc. */
unsigned cay_proc_scan(struct cay_proc *rows, unsigned max);
/* One line of /proc/PID/stat; false when it is not of that form. */
bool cay_proc_parse(const char *text, struct cay_proc *ret);
/* Marks the descendants of `root` (without itself); returns how many. */
unsigned cay_proc_mark_below(struct cay_proc *rows, unsigned count, pid_t root);
