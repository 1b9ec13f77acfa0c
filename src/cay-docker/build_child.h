/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build_context.h in a process of its own: reading a template's folder may take long, and boxes must not wait
 * for it. The child has no descriptor of ours (Docker's socket least of all), and where the kernel has
 * landlock it can open nothing but files below the registry's folder. Its records come through a pipe, its
 * archive in a memory file.
 */
#pragma once

#include "foundation/base/buf.h"
#include "cay-docker/build_context.h"
#include "foundation/loop/loop.h"

struct docker_child { /* embedded, zeroed */
        /* Ended, well or not; the child is reaped. May free the owner. */
        void (*on_done)(struct docker_child *c);
        struct cay_error err; /* CAY_OK: records are whole */
        struct cay_buf records;
        int tar_fd; /* owned; -1: none was asked for */

        /* below: private */
        struct cay_loop *loop;
        struct cay_watch watch;
        struct cay_timer deadline, start;
        pid_t pid;
};

/* name NULL: hashes of all. on_done comes from the loop, also for what fails at once. */
void docker_child_begin(struct docker_child *c, struct cay_loop *loop, const char *registry,
                        const char *name);
void docker_child_abort(
        struct docker_child *c); /* kills and reaps it; tells nothing; fine when there is none, and twice */
const struct docker_context *docker_child_record(const struct docker_child *c,
                                                 unsigned i); /* NULL: no more */
