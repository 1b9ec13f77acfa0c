/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's data folder (made 0700, locked), the sockets it listens on, and the folders that clients may
 * map.
 */
#pragma once

#include "domain/settings/config.h"
#include "foundation/http/listen.h"

#define CAY_PLACE_ROOTS 64 /* config's own maximum */

/* Plain values: handed to the next keeper as they are (resume.h). */
struct cay_place {
        int data_fd, lock_fd;
        int layers_fd; /* folder of sandboxes' files; only the warden uses it */
        int disk_fd; /* a folder on the disk that has these in the end: layer_pool.h; else layers_fd again */
        int unix_fd;
        char unix_path[108]; /* removed on close */
        int tcp_fds[CAY_LISTEN_MAX];
        unsigned tcp_count;
        unsigned port;                 /* as assigned by the kernel */
        int root_fds[CAY_PLACE_ROOTS]; /* workspace_roots, in the same order; -1: missing */
        unsigned root_count;
};

/* CAY_CONFLICT: another daemon uses the folder. The error says what to do. */
int cay_place_open(struct cay_place *p, const struct cay_config *config, struct cay_error *err);
void cay_place_close(struct cay_place *p); /* also after a failed open (zero it before cay_place_open) */
