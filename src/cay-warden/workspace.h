/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which folder may become a box's workspace, and with which ids the box may use it.
 *
 * Theory of operation. A warden that was started by its caller (`cay run`) maps what the caller could open:
 * the caller is trusted. The daemon's front is not. So a warden with a keeper does not trust it and uses
 * other evidence:
 *
 * - a folder below one of the administrator's roots: the keeper has handed over descriptors of the roots, the
 *   front says a number and a path, and the path is resolved here, beneath the root, without following a
 *   link. The front needs no right of its own to the folder, and gets no descriptor of it.
 * - a folder whose descriptor a client has passed over the unix socket: with it comes that client's
 *   connection. It must have been accepted from the daemon's own listening socket (told by the file it is
 *   bound to, which nobody can imitate), be alive, and the kernel says whose it is. The descriptor must be
 *   open for reading: somebody with the right to read had to open it, which the front has not; one that only
 *   names a folder (O_PATH) proves nothing. Writable it must be the client's own.
 *
 * The folder's owner is the box's user inside, so the box has the owner's rights to everything below. That is
 * right only for the owner's own client. For other clients the folder is shown as nobody's: only what
 * everybody may read can be read. Root's folders are never writable and never shown as the box user's own,
 * kernel file systems and the root directory are no workspace at all.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "foundation/base/error.h"
#include "links/helper/message.h"

struct warden;

struct warden_listener { /* the socket that clients come by */
        bool is_known;
        bool by_file; /* dev and ino say which; else its name, where the front has our own rights anyway */
        dev_t dev;
        ino_t ino;
        char name[108];
};

struct warden_workspace {
        int fd;        /* owned; -1: none */
        bool as_owner; /* uid is the box's user inside; else nobody owns the folder */
        bool as_group; /* likewise gid */
        uid_t uid;
        gid_t gid;
};

/* The listening socket, from the keeper. */
void warden_listener_note(struct warden_listener *listener, int listening);
/*
 * The plan's workspace, opened and checked. folder, peer: descriptors that came with it, -1: none; borrowed.
 */
int warden_workspace_open(const struct warden *w, const struct wire_plan *p, int folder, int peer,
                          struct warden_workspace *ret, struct cay_error *err);
void warden_workspace_close(struct warden_workspace *ws);
