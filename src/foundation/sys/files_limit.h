/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of open files (RLIMIT_NOFILE) for a process with many descriptors. Its soft limit is raised to
 * the hard one. Its children get the original limit back, since some programs close "all" descriptors or use
 * select(2).
 */
#pragma once

#include <stdint.h>

#include "foundation/base/banned.h"

uint64_t sys_files_raise(uint64_t most); /* at most to this; returns the current limit */
void sys_files_restore(void);            /* in a child; nothing where it was not raised */
uint64_t sys_files_limit(void);          /* as it is now; 0: not known */
