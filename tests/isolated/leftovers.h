/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is on the machine before a test and what is there after it: processes, cgroups, mounts, network
 * namespaces, loop devices, run records (and with them id ranges), temporary files. Everything that is
 * ignored stands in one table with a reason.
 */
#ifndef CAY_TEST_LEFTOVERS_H
#define CAY_TEST_LEFTOVERS_H

struct cay_leftovers; /* a snapshot; owned by who took it */

/* Takes a snapshot. Stops the program if that is not possible: a test that can't look proves nothing. */
struct cay_leftovers *cay_leftovers_take(void);
void cay_leftovers_free(struct cay_leftovers *l); /* accepts NULL */

/*
 * Compares `before` with now and prints every difference to stderr: "left: …" for what is new, "gone: …" for
 * what has vanished of the machine's own (mounts, namespaces, loop devices). Processes take a moment to
 * disappear, so it looks again until nothing differs or deadline_ms is over (CAY_LEFTOVERS_WAIT_MS is what
 * tests give). Returns the number of differences, 0: the machine is as it was.
 */
#define CAY_LEFTOVERS_WAIT_MS 20000u
unsigned cay_leftovers_compare(const struct cay_leftovers *before, unsigned deadline_ms);

#endif
