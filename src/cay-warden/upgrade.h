/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The warden becomes its successor by execve: same process, same children, same descriptors, another program.
 * Boxes do not notice.
 *
 * Theory of operation. The warden's whole state is one struct of fixed size without essential pointers (those
 * into its own program are restored). It is written to a sealed memory file, after a head with version and
 * sizes. Its descriptors lose their close-on-exec mark, and the program at our original path is executed as
 * "cay-warden resume FD". That one reads the file, marks the descriptors again, and goes on. Locks of records
 * belong to the descriptors, so they are never released. Boxes are children of the process, so none sees a
 * parent's death, and an end that happens meanwhile is noticed afterwards.
 *
 * There is no way back from execve. So a child first runs the new program as "cay-warden check", with the
 * state itself. A program that is missing, does not start, has another layout or no cay-init beside it is
 * refused before anything has changed, and the old one continues. A release that changes the layout says so
 * by STATE_VERSION; then a daemon is stopped and started.
 *
 * Not kept: the link to a front (the keeper passes the next one), the trace of steps. Boxes being made are
 * completed first.
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
