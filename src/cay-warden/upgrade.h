/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The warden becomes its successor by execve: same process, same children, same descriptors, another program. Boxes do not notice.
 *
 * Theory of operation. Everything the warden knows is one struct of fixed size without pointers that matter (those into its own
 * program are found again). It is written to a sealed memory file, behind a head with version and sizes; the descriptors it names
 * lose their close-on-exec mark, and the program that lies where ours was started from is executed as "cay-warden resume FD". That
 * one reads the file, marks the descriptors again, and goes on. Locks of records belong to the descriptors, so they never open; boxes
 * are children of the process, so none is told of a parent's death, and an end that happens meanwhile is seen afterwards.
 *
 * There is no way back from execve. So before it the new program is asked, in a child, whether it could ("cay-warden check", with
 * the state itself): one that is missing, does not start, has another layout or no cay-init beside it is refused while nothing has
 * happened, and the old one goes on. A release that changes the layout says so by STATE_VERSION; then a daemon is stopped and started.
 *
 * Not kept: the link to a front (the keeper hands over the next one), the trace of steps. Boxes on their way are waited for.
 */
#pragma once

#include "foundation/base/error.h"

struct warden;

#define WARDEN_CHECK_OK 42 /* exit status of a check that says yes: nothing that fails by accident says it */

/* Where this program was started from; at the start, while that is known. */
void warden_upgrade_note_program(void);
/* Whether the program that is there now could take over. */
int warden_upgrade_check(struct warden *w, struct cay_error *err);
/* Becomes it. Returns only when that failed, with everything as it was. */
int warden_upgrade(struct warden *w, struct cay_error *err);

/* The new program's side: */
int warden_upgrade_main_check(int state_fd);                                    /* exit status */
int warden_upgrade_load(struct warden *w, int state_fd, struct cay_error *err); /* takes state_fd */
