/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker does one file operation: a forked child of cay-init, already in the sandbox's cgroup, with the
 * sandbox's ids, rlimits, landlock rules and filter, working directory "/". It runs one function of
 * workers.def and exits.
 *
 * A worker function may rely on this: it is alone (one thread, may block, may allocate within reason, may
 * leave things open: the process ends after it); signals are at their defaults but SIGPIPE is ignored, so a
 * closed reader gives EPIPE; it is killed when its channel is closed. in_fd and out_fd are blocking pipes:
 * end of file on in_fd is the front's EOF of IN (or the end of init: whole_fd); closing out_fd is not needed.
 * The filter is the commands' own and what seccomp_worker.def adds: openat2 and clone3 return ENOSYS, denied
 * calls ENOSYS or EPERM. It must bound its memory, fill *ret, and return.
 */
#pragma once

#include <stdint.h>

#include "foundation/base/error.h"
#include "links/box/message.h"

#define CAY_WORKER_MSG 200
#define CAY_WORKER_TARGET 4096 /* CAY_BOX_PATH_MAX */

struct cay_worker_exec {
        int32_t pid;
        uint32_t channel;
        uint32_t serial; /* its node is s<serial>; 0: x<channel> */
};

struct cay_worker_request {
        const struct cay_box_open *open; /* views inside are not NUL-terminated */
        const char *path, *path2;        /* open->file's, as C strings ("" when not of a file kind) */
        int in_fd, out_fd;               /* -1: the kind's row in workers.def has no such stream */
        /*
         * Init sends a byte here when IN is complete, before it closes in_fd. An end of file without it means
         * that init ended, or that the channel was closed early. 0: there is no such signal, the end of file
         * is enough.
         */
        int whole_fd;
        /*
         * For PROCESSES: every live exec. Which exec a process belongs to says its cgroup2 node, if there is
         * one: the last component of the "0::" line of /proc/PID/cgroup is "x<channel>" (or
         * "x<channel>_<n>"), or "s<serial>" of one in this list; else the nearest ancestor or the session
         * (each exec without a node starts its own) that is in this list.
         */
        const struct cay_worker_exec *execs;
        uint32_t exec_count;
        /* For CHANGES: the overlay's upper and lower directory, which only it may read; -1: there is none. */
        int changes_fd, base_fd;
};

/* Plain memory, sent to init in one message. Zeroed before the function runs: code CAY_OK. */
struct cay_worker_result {
        uint32_t code; /* enum cay_code */
        int32_t sys;   /* errno, positive */
        char msg[CAY_WORKER_MSG];
        uint32_t type, mode, uid, gid; /* cay_box_stat, with name and target as C strings */
        uint64_t size;
        int64_t mtime_ns;
        char name[256];
        char target[CAY_WORKER_TARGET];
        uint64_t bytes, entries; /* moved by the operation */
};

enum { CAY_WORKER_IN = 1, CAY_WORKER_OUT = 2, CAY_WORKER_BULK = 4 }; /* streams of a kind; BULK: of much */

struct cay_worker {
        uint32_t streams;
        void (*run)(const struct cay_worker_request *req, struct cay_worker_result *ret);
};

const struct cay_worker *cay_worker_find(unsigned kind); /* NULL: no worker does this kind */

#define CAY_WORKER(kind, streams, function)                                                                  \
        void function(const struct cay_worker_request *req, struct cay_worker_result *ret);
#include "cay-init/workers.def"
#undef CAY_WORKER
