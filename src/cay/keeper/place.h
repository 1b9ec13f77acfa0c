/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's place: its data folder (made 0700, locked), the sockets it listens on, and folders that clients may map. */
#pragma once

#include "domain/settings/config.h"
#include "foundation/http/listen.h"

#define CAY_PLACE_ROOTS 64 /* config's own maximum */

/* Plain values: it is handed on as it is (resume.h). */
struct cay_place {
        int data_fd, lock_fd;
        int layers_fd; /* folder of sandboxes' files, for the warden alone */
        int unix_fd;
        char unix_path[108]; /* removed at the end */
        int tcp_fds[CAY_LISTEN_MAX];
        unsigned tcp_count;
        unsigned port;                 /* as the kernel gave it */
        int root_fds[CAY_PLACE_ROOTS]; /* workspace_roots, as numbered there; -1: it is not there */
        unsigned root_count;
};

/* CAY_CONFLICT: another daemon has the folder. Errors say what to do. */
int cay_place_open(struct cay_place *p, const struct cay_config *config, struct cay_error *err);
void cay_place_close(struct cay_place *p); /* also of one that was not opened wholly (zeroed, then opened) */
