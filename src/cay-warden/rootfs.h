/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which folders may become a box's root.
 *
 * Theory of operation. Files in it that belong to root can be read by root in the box. A caller that started
 * the warden itself (`cay run`) is trusted with that. The daemon's front is not: its root must be below the
 * registry's folder, which the keeper has named. This is checked by going up from the folder itself: no path
 * is trusted or needed.
 */
#pragma once

#include "foundation/base/error.h"

struct warden;

/* rootfs: a directory's descriptor, borrowed. */
int warden_rootfs_check(const struct warden *w, int rootfs, struct cay_error *err);
