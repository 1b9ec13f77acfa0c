/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child's side of a spawn: from the fork to the command (or the worker). It sends messages to init over
 * one socket, `status_fd`: each is a struct cay_note, or the larger cay_note_result of a worker. The socket
 * closes with the exec.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "links/box/message.h"
#include "cay-init/init.h"
#include "cay-init/worker.h"

enum cay_child_step {
        CAY_STEP_NONE,
#define CAY_STEP(name, text) CAY_STEP_##name,
#include "cay-init/child_steps.def"
#undef CAY_STEP
        CAY_STEP_COUNT
};

enum cay_note_what {
        CAY_NOTE_NONE,
        CAY_NOTE_LISTENER, /* with the filter's descriptor */
        CAY_NOTE_FAILED,   /* step, sys */
        CAY_NOTE_STARTED,  /* keeper: pid */
        CAY_NOTE_EXITED,   /* keeper: status, times */
        CAY_NOTE_RESULT,   /* worker: a cay_note_result */
};

struct cay_note {
        uint32_t what;
        int32_t step, sys; /* sys: positive errno */
        int32_t pid, status;
        uint32_t alone; /* EXITED: nothing is left below the keeper */
        uint64_t user_us, sys_us;
        uint64_t tree_us;  /* EXITED: processor time of all that the keeper has waited for */
        uint64_t most_kib; /* EXITED: the largest resident set of any of them */
};

#define CAY_CHILD_ASK_MAX                                                                                    \
        (16u * 1024) /* a command for a preforked process: OPEN's payload, with the descriptor of its input */

struct cay_note_result {
        struct cay_note note;
        struct cay_worker_result result;
};

struct cay_child {
        const struct cay_init *init;
        const struct cay_box_open *open;
        const struct cay_worker *worker; /* NULL: exec */
        int fds[3];                      /* become 0, 1, 2; -1: init's own, which is /dev/null */
        int status_fd;
        int node_fd;    /* cgroup2 node to join; -1: it was created in its own, or there is none */
        bool tty, kept; /* kept: below a keeper */
        /* for its command, which comes over the socket (prefork.h); open is NULL until then */
        bool waits;
        bool warm;   /* an interpreter that waits (warm.h); open has its limits */
        bool serves; /* then: to fork those that wait */
        bool forked; /* then: by such a one, and not by us */
        int ask_fd;  /* then: its socket */
        uint32_t uid, gid;
        const struct cay_worker_exec *execs; /* for a worker that lists processes */
        uint32_t exec_count;
};

_Noreturn void cay_child_run(const struct cay_child *c);
/*
 * What init sets on itself once because children inherit it: bounding set, no_new_privs, rlimits. 0 or
 * -errno.
 */
int cay_child_prepare(const struct cay_init *init);
