/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cay-init as a plain child of this process: started, configured, given new links. The caller watches and
 * reaps it.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "foundation/base/error.h"

struct cay_init_child {
        pid_t pid; /* 0: none */
        int pidfd; /* owned; becomes readable when init ends (without pidfds: the control socket); -1: none */
        int control; /* owned; closing it ends init; -1: none */
};

struct cay_init_how { /* all borrowed */
        const char *path;
        int cwd;  /* where commands start */
        int link; /* init's end of the first box link */
        const uint8_t *secret;
        uint32_t test_off;
        uint32_t id; /* its uid and gid (own_id.h); 0: ours */
        /* processes and threads that the id may have beside init, not above the hard limit; 0: no limit */
        uint64_t pids;
};

/* On failure nothing runs. */
int cay_init_child_start(struct cay_init_child *c, const struct cay_init_how *how, struct cay_error *err);
int cay_init_child_relink(struct cay_init_child *c, int link, struct cay_error *err); /* borrowed */
void cay_init_child_close(struct cay_init_child *c); /* descriptors only; fine when never started (-1) */
