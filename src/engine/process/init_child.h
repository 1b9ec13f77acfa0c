/* SPDX-License-Identifier: Apache-2.0 */
/* A cay-init as a plain child of this process: started, configured, given new links. The caller watches and reaps it. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct cay_init_child {
        pid_t pid; /* 0: none */
        int pidfd; /* owned; becomes readable when init ends (without pidfds: the control socket); -1: none */
        int control; /* owned; closing it ends init; -1: none */
};

/* cwd: where commands start. On failure nothing runs. *ret_link is our end of the first box link. */
int cay_init_child_start(struct cay_init_child *c, const char *path, int cwd, const uint8_t secret[32],
                         uint32_t test_off, int *ret_link, struct cay_error *err);
int cay_init_child_relink(struct cay_init_child *c, int *ret_link, struct cay_error *err);
void cay_init_child_close(struct cay_init_child *c); /* descriptors only; fine when never started (-1) */
