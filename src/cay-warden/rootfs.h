/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose folder becomes a box's root.
 *
 * Theory of operation. The root's files are the box's root's: root's own file in it can be read by whoever runs as root in the box. A
 * caller that started the warden itself (`cay run`) is trusted with that. The daemon's front is not: from it a root is taken only when it lies
 * below the registry's folder, which the keeper has named. That is seen from the folder itself, by going up from it: no
 * path is believed, and the front needs to say none.
 */
#pragma once

#include "foundation/base/error.h"

struct warden;

/* rootfs: a directory's descriptor, borrowed. */
int warden_rootfs_check(const struct warden *w, int rootfs, struct cay_error *err);
