/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For a process that has done its privileged work and now parses a stranger's bytes: gives up every capability, root's
 * ids (to nobody's), new privileges, dumpability, and, where there is landlock, every file that is not open yet.
 */
#pragma once

int sys_self_confine(void); /* 0 or -errno; also fine for a process that never had privileges */
