/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named volumes: files of an owner that outlive sandboxes, and that several of them may use at once.
 *
 * Theory of operation. A volume is an ext4 image like a layer (keep.h), in the folder `volumes` beside the
 * layers. Its file is named by the owner's bytes in hexadecimal and the volume's name, both from the plan: no
 * byte of the caller's becomes part of a path unchecked. An image is mounted once, by the warden, on a loop
 * device that holds its lock. The warden keeps that first mount while a box uses the volume, in a row of its
 * table. Each box gets a further mount of the same file system, shifted to its own ids, so that a file has
 * the same owner in all of them (the ids in an image are those inside of boxes). Programs in two boxes see
 * each other's writes immediately, and locks on files count between them.
 *
 * The size of an image is what fits into it: a full volume refuses writes (ENOSPC) in every box that has it,
 * and nothing else is affected. Volumes take part in the division of the host's disk (room.h).
 *
 * When the last box has gone, a helper process syncs and unmounts: a slow disk delays nobody. Until it has
 * finished, the row stays, so that a box which comes meanwhile gets a further mount of the same device.
 * Unlike layers, volumes are mounted with barriers: what a program has synced is on the disk.
 *
 * A volume made for a box that could not be started goes with it. An image with errors (the disk below was
 * full, or failed) is refused until an administrator has repaired it; it is never replaced by an empty one.
 */
#pragma once

#include "cay-warden/warden.h"

/* Whether the plan's volumes are permitted, and possible here. */
int warden_volumes_check(const struct warden *w, const struct wire_plan *p, struct cay_error *err);
/* Mounts them for the box, from mounts[ISOLATE_VOLUME0] on; they are the caller's to close. */
int warden_volumes_mount(struct warden *w, struct warden_box *box, int userns, int *mounts,
                         struct cay_error *err);
void warden_volumes_keep(struct warden *w, struct warden_box *box); /* its box is made: new ones stay */
void warden_volumes_release(struct warden *w, struct warden_box *box);
void warden_volume_on_closed(struct warden *w, struct warden_volume *v); /* its helper has exited */
void warden_volumes_close(struct warden *w); /* waits for all of them: at the end */
bool warden_volumes_are_closing(const struct warden *w);
/* How long its file is, and how much of that the disk already has. 0 or -errno. */
int warden_volume_measure(const struct warden *w, const struct warden_volume *v, uint64_t *ret_bytes,
                          uint64_t *ret_had);

/* Requests */
void warden_volumes_list(struct warden *w, const struct wire_request *req, struct wire_answer *a);
void warden_volume_drop(struct warden *w, const struct wire_request *req, struct wire_answer *a);
