/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restrictions of the front that apply after the drop (cay-front/drop.h), so that a compromised front can do
 * little.
 *
 * Theory of operation. Landlock comes first, before state is read. The front can open only the state folder's
 * files by name, cannot bind or connect TCP ports, and cannot signal outside processes, as far as the kernel
 * supports these rules. Without landlock the front continues and logs it: root's front has the state folder
 * as its root anyway; a user's front then reaches what that user does. The seccomp filter comes last, when
 * everything is open and all long-lived threads run. A denied call ends the front: a handler writes one line
 * that names the call and exits with CAY_HAND_DENIED. The keeper logs that and starts another front. The
 * filter also denies removing the handler.
 *
 * Sanitizer builds have landlock but no filter: their run time makes other calls and maps code.
 */
#pragma once

#include "foundation/base/error.h"

/* registry_fd: a folder whose files may be read (O_PATH); -1: none. */
int cay_front_landlock(int state_fd, int registry_fd, struct cay_error *err);
int cay_front_filter(struct cay_error *err);
