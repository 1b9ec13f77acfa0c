/* SPDX-License-Identifier: Apache-2.0 */
/* Pure parts of the process list: what a line of /proc means. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "foundation/base/banned.h"
#include "foundation/base/bytes.h"
#include "cay-init/worker.h"

#define CAY_PROCESSES_MAX 65536u /* lines, where the caller sets no limit */

struct cay_process {
        pid_t pid, ppid, session;
        char state;
        uint64_t cpu_ticks; /* processor time that it used, in user and in system mode; 0: unknown */
        char comm[64];
};

/*
 * Reads the text of /proc/PID/stat; a name with brackets, blanks or newlines in it does not confuse it. 0 or
 * -EINVAL.
 */
int cay_process_stat_parse(const char *text, struct cay_process *ret);

/*
 * The last component of the "0::" line in the text of /proc/PID/cgroup; empty if there is none. A view into
 * text.
 */
struct cay_view cay_process_node(const char *text);
/*
 * The channel in a node's name, "x<channel>" or "x<channel>_<n>", or of the exec whose node "s<serial>" is; 0
 * for any other name.
 */
uint32_t cay_process_channel(struct cay_view node, const struct cay_worker_exec *execs, uint32_t count);
