/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: the disk fails, or the process dies, at SQLite's Nth write. Not in release builds. */
#pragma once

#ifdef CAY_TEST_HOOKS

enum cay_fault {
        CAY_FAULT_NONE,
        CAY_FAULT_FULL,       /* ENOSPC, from the Nth on */
        CAY_FAULT_IO,         /* EIO, the Nth */
        CAY_FAULT_KILL,       /* SIGKILL before the Nth */
        CAY_FAULT_KILL_TORN,  /* SIGKILL when half of it is written */
        CAY_FAULT_KILL_AFTER, /* SIGKILL when it is written */
};

/* For the whole process, all threads. Counts writes from this call on; the first is 1. */
void cay_store_fault_set(enum cay_fault fault, unsigned long at);

#endif
