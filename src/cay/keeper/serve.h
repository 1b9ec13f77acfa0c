/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay serve`: the keeper of a daemon. It holds what must outlive its children: the data folder and its lock,
 * listening sockets, the settings. No bytes from clients ever reach it.
 *
 * Theory of operation. The keeper starts the helper programs of the engines (helpers.h) and one front after
 * another. A front that dies is replaced, with growing pauses. Helpers and boxes stay, and the next front
 * gets new links to them. A helper that dies is replaced alone, and the front gets a link to the new one. A
 * warden's boxes die with it; the kernel ensures that. A stop has an order: first the front, which may finish
 * its requests, then the helpers, which remove what they made. The exit status says whether all was removed.
 * Connections that arrive while there is no front wait in the listening sockets.
 *
 * Upgrade. SIGUSR2 replaces all programs by those now installed at their paths (upgrade.c). Boxes and their
 * processes stay.
 *
 * The keeper's death. The children see end of file on their sockets: the front exits, and the warden removes
 * everything and exits.
 */
#pragma once

#include "foundation/base/error.h"
#include "domain/settings/config.h"

struct cay_serve_options {
        const struct cay_config *config; /* borrowed */
        const char *program_dir;         /* where the other programs are */
        char *const *argv; /* as given to the verb, for the program that takes over; NULL: no upgrade */
        int resume_fd;     /* from the previous keeper (resume.h); 0: an ordinary start */
};

/*
 * Serves until told to stop. 0: all was removed; -1 with err; 1: stopped, but something may be left (logged).
 */
int cay_serve(const struct cay_serve_options *options, struct cay_error *err);
