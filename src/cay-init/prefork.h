/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spare: a process that is ready before its command is known.
 *
 * Theory of operation. Much of what a command waits for does not depend on it: its node, the fork, cgroups, landlock, the
 * filter (child.c). Where commands follow each other (from the second on, so that a box for one command never pays for it), the
 * end of one is when the next one's process is started: DELAY_US later, since until then the processors work on the answer. It
 * goes as far as it can and waits for OPEN's payload on its socket. It has init's uid until it has a command, so nothing in the
 * box can signal or stop it; it is in the box's memory and processor limits, but not counted as a process of the box. After
 * KEEP_MS without a command it goes: an idle box has no process but init.
 *
 * There is none where that would not be so: where the box's pids limit is held by the node that init sits in as well
 * (cgroup v2), where limits are held by watching, without a box of its own, without a cgroup2 node, in one-shot boxes.
 * Commands for another user, with a terminal, or larger than CAY_CHILD_ASK_MAX do not take it.
 */
#pragma once

#include "cay-init/ends.h"
#include "cay-init/group.h"
#include "foundation/loop/loop.h"

struct cay_init;

struct cay_prefork {
        bool is_possible;
        pid_t pid;              /* 0: there is none */
        struct cay_ends ends;   /* owned */
        struct cay_group group; /* its node; may outlive it for a moment */
        uint32_t serial;        /* of the last node */
        uint64_t ended;         /* commands so far */
        struct cay_timer timer;
        struct cay_watch delay;
        int delay_fd; /* owned: a timer finer than the loop's; -1: there is none */
};

void cay_prefork_init(struct cay_init *init);
void cay_prefork_want(struct cay_init *init); /* a command is over: another may follow */
/* Its pid, with the command on its way to it, its ends and its group; 0: there is none that fits. */
pid_t cay_prefork_take(struct cay_init *init, const struct cay_child *c, struct cay_ends *e,
                       struct cay_group *ret_group);
void cay_prefork_dismiss(
        struct cay_prefork *s); /* there is one, and it is to go without having been a command */
bool cay_prefork_reaped(struct cay_init *init, pid_t pid); /* true: it was the spare */
