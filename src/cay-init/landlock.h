/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second layer below the mounts: commands may read and run everything they can see, but write only below
 * the directories of "/" that are meant for it. /proc and /sys are never among them, and in /dev nothing can
 * be made.
 */
#pragma once

/*
 * Makes the rules once; returns a descriptor for cay_landlock_enter, or -errno (-ENOSYS, -EOPNOTSUPP: not on
 * this kernel).
 */
int cay_landlock_make(void);
int cay_landlock_enter(int ruleset_fd); /* 0 or -errno; needs no_new_privs */
/* Tighter: from here on only what is below these directories can be opened, and only for reading. */
int cay_landlock_enter_to_read(const int *dir_fds, unsigned count);
