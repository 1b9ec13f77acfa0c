/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A `cay serve` of our own for the rows that need one: started in a folder of its own, looked at from
 * outside, stopped, folder removed.
 */
#pragma once

#include <limits.h>
#include <sys/types.h>

struct daemon {
        pid_t keeper, front, warden;
        unsigned port;
        char token[1024];
        char folder[PATH_MAX];
};

/* Resident memory in KiB, as the kernel counts it. */
struct resident {
        long now, peak; /* peak: since the last daemon_forget_peak */
};

int daemon_start(struct daemon *d, const char *build); /* -1 after saying why */
/* The same with more words for `cay serve` (NULL at the end); `warden` stays 0 where there is none. */
int daemon_start_with(struct daemon *d, const char *build, char *const *more);
int daemon_stop(struct daemon *d); /* -1: it did not end well */

struct resident daemon_resident(pid_t pid); /* of one process */
void daemon_forget_peak(pid_t pid);
long daemon_fds(pid_t pid); /* open descriptors */
/* The number behind `key` at the start of a line of a file of /proc; -1: there is none. */
long daemon_field(const char *path, const char *key);
