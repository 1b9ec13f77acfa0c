/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Python that has started before its command is known.
 *
 * Theory of operation. Starting an interpreter takes longer than most short programs. Where the engine asked for it
 * (CAY_INIT_WARM), one process has done everything that a command does before its first instruction: its node, cgroups
 * (the one that counts processes, too), landlock, the filter with a listener of its own, limits, ids, no capabilities;
 * and it has executed python3 with a driver (warm_python.py), which waits on a socket. A command `python3 -c …`,
 * `python3 FILE`, `python3 -` or `python3` goes there, as one message with its words, folder and environment. What the
 * driver cannot do exactly as a fresh interpreter it leaves to one, by executing python3 in the same process. So pid,
 * node, listener, limits and kill are those of an ordinary command, and there is no answer to wait for.
 *
 * The driver is code of ours in a process of the sandbox's user, and is not trusted. It may say two things: that it waits
 * (one byte), and that it could not enter the folder (an errno). Its socket is not the one of the child's notes, which
 * is closed by the exec.
 *
 * What other processes of the box can do to it: they have its uid, so they can signal it. Ended, it costs a command
 * its head start; stopped, it is continued when it is taken. They cannot look into it, nor change it: each command is
 * in a landlock domain of its own, which ptrace and /proc/PID/mem do not cross. Without landlock there is none. It
 * knows nothing before its command arrives.
 *
 * One process serves one command. The next is started when that command has ended, or has run for BEHIND_MS; in a box
 * for one piece of work (CAY_INIT_BRIEF) there is no next one. A waiting one counts as a process and in the memory of
 * the box. It is let go after KEEP_MS without a command; before the first HELLO (a box that waits in a pool) it stays.
 * It is not started where memory is short, and no more after FAILURES_MAX that never waited.
 */
#pragma once

#include "cay-init/ends.h"
#include "cay-init/group.h"
#include "foundation/loop/loop.h"

struct cay_channel;
struct cay_child;
struct cay_init;

struct cay_warm {
        bool is_possible;
        pid_t pid;              /* 0: there is none */
        struct cay_ends ends;   /* owned */
        struct cay_group group; /* its node; may outlive it for a moment */
        bool is_ready;          /* it has said that it waits */
        unsigned failures;      /* in a row: ended before they waited */
        uint32_t files_max;     /* limits of the last command, which the next one most likely has, too */
        uint64_t file_max_bytes;
        uint32_t own_files_max; /* those of the process */
        uint64_t own_file_max_bytes;
        struct cay_timer timer; /* until it is started, or let go */
        int archive_fd;         /* owned: the driver, sealed; -1: none */
};

void cay_warm_init(struct cay_init *init);    /* before init's own filter */
void cay_warm_welcome(struct cay_init *init); /* a front has the box */
void cay_warm_ended(struct cay_init *init);   /* a command has ended: another may follow */
/* Returns its pid, its ends and its group, with the command sent to it; 0: there is none that fits. */
pid_t cay_warm_take(struct cay_init *init, const struct cay_child *c, struct cay_ends *e,
                    struct cay_group *ret_group);
bool cay_warm_reaped(struct cay_init *init, pid_t pid); /* false: another process */
/*
 * Reads what the driver of a taken one says: errno of the folder that it could not enter. 0: nothing (yet); -1: nothing any
 * more.
 */
int cay_warm_hear(int ask_fd);

/* The message to the driver, see warm_python.py. Its length; 0: it does not fit, or this is no such command. */
size_t cay_warm_put(const struct cay_child *c, char *to, size_t size);
/* In the child, with its limits and ids: executes it. Returns -errno. */
int cay_warm_exec(const struct cay_init *init);
