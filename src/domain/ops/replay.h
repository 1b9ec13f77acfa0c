/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a recording again in another sandbox, and compares.
 *
 * Theory of operation. The items of the recording are done one after the other, in their order: commands are
 * started, get their input and signals, files are written. Where the recording says that a command ended, its
 * counterpart is waited for and compared: exit code, signal, cause, the digests of its output where both are
 * known. So commands that ran at once do so again. What was ended from outside is ended, and not compared.
 * What is typed into a terminal is typed when the terminal has shown as much as it had then, or shows nothing
 * more for a while: programs that are asked before they listen answer in another order. Kernels of contexts
 * are run again, but what they print (times, numbers of runs) is not compared.
 */
#pragma once

#include "domain/ops/recording_read.h"
#include "domain/sandboxes/channel.h"
#include "domain/sandboxes/exec.h"

#define CAY_REPLAY_DIFFERENCES_MAX 100u
#define CAY_REPLAY_EXECS_MAX 10000u
#define CAY_REPLAY_TEXT 200u

struct cay_replay_difference {
        char exec[CAY_NAME_MAX + 1];       /* in the recording; "": of a file */
        char command[CAY_REPLAY_TEXT + 1]; /* or path */
        const char *what;                  /* a word */
        char was[80], is[80];
};

struct cay_replay_exec;
struct cay_replay_file;

struct cay_replay { /* embedded, zeroed, with what is above `read` */
        void (*on_done)(struct cay_replay *r, const struct cay_error *err); /* exactly once, from the loop */
        const struct cay_op_world *world;
        struct cay_viewer viewer; /* of the recorded one and of the other; borrowed */
        const char *sandbox, *other;
        uint64_t timeout_ms;

        /* what came of it */
        unsigned commands, compared, files, hidden;
        char stopped[16]; /* why the recording ends; "" */
        struct cay_replay_difference differences[CAY_REPLAY_DIFFERENCES_MAX];
        unsigned count, more; /* that are there; and that had no room */
        bool is_late;         /* timeout_ms was over before all was done */

        /* private */
        struct cay_recording_read read;
        struct cay_timer late, quiet;  /* quiet: how long a terminal's output is waited for */
        struct cay_replay_exec *execs; /* owned; the newest first */
        struct cay_replay_file *open;  /* owned: files under way */
        struct cay_exec_call start;
        struct cay_exec_input input;
        struct cay_buf bytes; /* of the input or file under way */
        struct cay_replay_exec *current;
        struct cay_replay_file *current_file;
        size_t sent;
        bool is_done, is_busy; /* busy: a start or an input is on its way */
};

void cay_replay_begin(struct cay_replay *r);
void cay_replay_cancel(struct cay_replay *r); /* on_done still comes */
