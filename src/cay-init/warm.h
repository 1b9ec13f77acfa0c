/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Python that has started before its command is known.
 *
 * Theory of operation. Starting an interpreter takes longer than most short programs. Where the engine asked
 * for it (CAY_INIT_WARM), one process has done everything that a command does before its first instruction:
 * its node, cgroups (the one that counts processes, too), landlock, the filter with a listener, limits, ids,
 * no capabilities; and it has executed python3 with a driver (warm_python.py), which waits on a socket. A
 * command `python3 -c …`, `python3 FILE`, `python3 -` or `python3` goes there, as one message with its words,
 * folder and environment. What the driver cannot do exactly as a fresh interpreter it leaves to one, by
 * executing python3 in the same process. So pid, node, listener, limits and kill are those of an ordinary
 * command, and there is no answer to wait for.
 *
 * The first command of a box has the process that was started, which is as good as a fresh interpreter: a
 * fork pays for every page that it touches. After that, unless the box is for one piece of work
 * (CAY_INIT_BRIEF), the next one that is started is a *server*: it never runs a command, and forks the
 * processes that wait, one for each command. Init sends it the descriptors for one (streams, socket, landlock
 * rules). The fork enters the rules and says that it waits; a helper of init moves it to its node
 * (warm_slot.h). It forks twice: init is the parent of what is left, and waits for it as for any command.
 * (clone() with CLONE_PARENT would take one fork less, but neither libc nor libraries with threads notice
 * such a fork.) Rules are nested, so no fork can look into its server or into another fork. A seccomp filter
 * has one listener at most: forks share their server's, and a denied call counts for the command in whose
 * node its thread is. Where Python cannot serve (no ctypes, an older kernel), it says so and takes one
 * command itself.
 *
 * The driver is code of ours in a process of the sandbox's user, and is not trusted. It may say: that it
 * serves, that it waits (one byte each), that files which it has loaded were changed, and that it could not
 * enter the folder (an errno). Its socket is not the one of the child's notes, which is closed by the exec.
 *
 * What other processes of the box can do to it: they have its uid, so they can signal it. Ended, it costs a
 * command its head start; stopped, it is continued when it is needed. They cannot look into it, nor change
 * it: each command is in a landlock domain of its own, which ptrace and /proc/PID/mem do not cross. Without
 * landlock there is none. It knows nothing before its command arrives.
 *
 * One process serves one command. The next one (or the server) is started when the first command has ended,
 * or has run for BEHIND_MS; in a box for one piece of work there is none. A server's forks follow at once:
 * CAY_WARM_FORKS_MAX of them wait. Those that wait count as processes and in the memory of the box. They are
 * let go after KEEP_MS without a command; before the first HELLO (a box that waits in a pool) they stay. None
 * is started where memory is short, and no more after FAILURES_MAX that never waited.
 */
#pragma once

#include "cay-init/warm_slot.h"

struct cay_channel;
struct cay_child;

#define CAY_WARM_FORKS_MAX 2
#define CAY_WARM_FILTERS_MAX 4 /* servers of which something lives */

struct cay_warm {
        bool is_possible;
        bool may_fork;
        struct cay_warm_slot first; /* the one that we started: it waits, or is a server */
        struct cay_warm_slot forks[CAY_WARM_FORKS_MAX];
        struct cay_warm_filter filters[CAY_WARM_FILTERS_MAX];
        struct cay_watch listener; /* of a server's status socket, until its listener has come */
        bool is_used;              /* a command has taken one */
        bool is_wanted;            /* another one, when the first has been reaped */
        unsigned failures;         /* in a row: ended before they waited */
        unsigned fork_failures;    /* likewise */
        uint32_t files_max;        /* limits of the last command, which the next one most likely has, too */
        uint64_t file_max_bytes;
        uint32_t own_files_max; /* those of the processes */
        uint64_t own_file_max_bytes;
        struct cay_timer timer; /* until one is started, or all are let go */
        struct cay_timer again; /* until a fork is asked for that there was no process for */
        int archive_fd;         /* owned: the driver, sealed; -1: none */
};

void cay_warm_init(struct cay_init *init);     /* before init's own filter */
void cay_warm_welcome(struct cay_init *init);  /* a front has the box */
void cay_warm_ended(struct cay_init *init);    /* a command has ended: another may follow */
void cay_warm_outdated(struct cay_init *init); /* what was loaded ahead has changed */
/* Returns its pid, its ends and its group, with the command sent to it; 0: there is none that fits. */
pid_t cay_warm_take(struct cay_init *init, const struct cay_child *c, struct cay_ends *e,
                    struct cay_group *ret_group);
bool cay_warm_reaped(struct cay_init *init, pid_t pid); /* false: another process */
bool cay_warm_is_any(const struct cay_init *init);      /* one waits, or is about to */
bool cay_warm_has(const struct cay_init *init, pid_t pid);

enum cay_warm_word { CAY_WARM_QUIET, CAY_WARM_OVER, CAY_WARM_OLD, CAY_WARM_NO_FOLDER };
/* Reads what the driver of a taken one says; NO_FOLDER: and *ret_errno why it could not enter it. */
enum cay_warm_word cay_warm_hear(int ask_fd, int *ret_errno);

/*
 * The message to the driver, see warm_python.py. Its length; 0: it does not fit, or this is no such command.
 */
size_t cay_warm_put(const struct cay_child *c, char *to, size_t size);
/* In the child, with its limits and ids: executes it. Returns -errno. */
int cay_warm_exec(const struct cay_child *c);
