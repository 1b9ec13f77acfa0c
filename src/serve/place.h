/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's place: its data folder (made 0700, locked), and the sockets it listens on. */
#pragma once

#include "config/config.h"
#include "http/listen.h"

struct cay_place {
        int data_fd, lock_fd;
        int unix_fd;
        char unix_path[108]; /* removed at the end */
        int tcp_fds[CAY_LISTEN_MAX];
        unsigned tcp_count;
        unsigned port; /* as the kernel gave it */
};

/* CAY_CONFLICT: another daemon has the folder. Errors say what to do. */
int cay_place_open(struct cay_place *p, const struct cay_config *config, struct cay_error *err);
void cay_place_close(struct cay_place *p); /* also of one that was not opened wholly (zeroed, then opened) */
