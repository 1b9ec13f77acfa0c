/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walls around the front that stand after the drop (cay-front/drop.h), so that whoever takes it over has little in hand.
 *
 * Theory of operation. Landlock comes first, before state is read: nothing can be opened by name but the state folder's files, no TCP port bound
 * or connected to, no process outside signalled (as far as the kernel knows these rules; without landlock the front goes on, and says so: root's
 * front has its root folder there anyway, a person's front then reaches what that person does). The filter of system calls comes last, when everything
 * is open and every thread that lives long runs. What it denies ends the front: a handler writes one line that names the call and exits
 * with CAY_HAND_DENIED, at which the keeper says so and starts another. The handler cannot be taken away, for that call is denied too.
 *
 * Sanitizer builds have no filter: their run-time calls what it likes (and maps code). They have landlock.
 */
#pragma once

#include "foundation/base/error.h"

/* registry_fd: folder whose files may be read (O_PATH); -1: none. */
int cay_front_landlock(int state_fd, int registry_fd, struct cay_error *err);
int cay_front_filter(struct cay_error *err);
