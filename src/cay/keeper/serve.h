/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay serve`: the keeper of a daemon. It holds what must outlive its children (the data folder and its lock, listening sockets, the
 * settings). Nothing that clients send ever reaches it.
 *
 * Theory of operation. It starts the helper programs of the engines that run (helpers.h) and one front after the other. A front that dies
 * is replaced, with growing pauses; helpers and their boxes stay, and the next front gets fresh links to them through the keeper's
 * sockets. A helper that dies is replaced alone, and the front gets a link to the next one; a warden takes its boxes with it (the kernel
 * sees to that). What is told to stop stops in order: the front (requests under way may finish), then the helpers, which unmake what they
 * made; the exit status says whether all was unmade. Connections that come while there is no front wait in the listening sockets.
 *
 * Upgrade. SIGUSR2 replaces all three programs by those that lie where they were started from (upgrade.c); boxes and what runs in them
 * live on.
 *
 * Ends of others. The keeper's death is seen by both children at their sockets: the front goes, the warden unmakes all and goes.
 */
#pragma once

#include "foundation/base/error.h"
#include "domain/settings/config.h"

struct cay_serve_options {
        const struct cay_config *config; /* borrowed */
        const char *program_dir;         /* where cay-warden and cay-front are */
        char *const *argv; /* as the verb was given, for the program that takes our place; NULL: none can */
        int resume_fd;     /* from the keeper whose place we took (resume.h); 0: an ordinary start */
};

/* Serves until it is told to stop. 0: all was unmade; -1 with err; 1: stopped, but something may have stayed (told in the log). */
int cay_serve(const struct cay_serve_options *options, struct cay_error *err);
