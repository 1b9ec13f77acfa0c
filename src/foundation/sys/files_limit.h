/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of open files (RLIMIT_NOFILE) of a process that holds much: its soft limit goes up to the hard one, and those that it starts get
 * back what it was given itself (programs that close "all" descriptors, or select(2), go by it).
 */
#pragma once

#include <stdint.h>

#include "foundation/base/banned.h"

uint64_t sys_files_raise(uint64_t most); /* at most to this; what it is now */
void sys_files_restore(void);            /* in a child; nothing where it was not raised */
uint64_t sys_files_limit(void);          /* as it is now; 0: not known */
