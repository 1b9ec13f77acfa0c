/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the system calls that a process can reach, as security.md part 4 counts: called with wrong
 * arguments, anything but ENOSYS, EPERM, EACCES or SIGSYS counts. Used by the probe inside a box and by the
 * test of the bare filter.
 */
#ifndef CAY_ATTACK_SURFACE_H
#define CAY_ATTACK_SURFACE_H

/* The highest number tried; those above are younger than any kernel we know. */
#define SURFACE_HIGHEST 520

/*
 * Each call is made in a child of its own. Sets ret_reached[nr] to 1 for every call reached and returns how
 * many, or -1 with errno set. Not to be called with privileges: some calls do what they say.
 */
int surface_count(unsigned char ret_reached[SURFACE_HIGHEST + 1]);

#endif
