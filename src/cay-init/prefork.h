/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prefork: a process that is ready before its command is known.
 *
 * Theory of operation. Much of a command's setup does not depend on the command: its node, the fork, cgroups,
 * landlock, the filter (child.c). So from the second command on, the next process is started when a command
 * ends (a box for one command never pays for it). It starts DELAY_US later, since until then the processors
 * are busy with the answer. It completes as much setup as possible and waits for OPEN's payload on its
 * socket. It has init's uid until it has a command, so nothing in the box can signal or stop it; it is in the
 * box's memory and processor limits, but not counted as a process of the box. After KEEP_MS without a command
 * it exits: an idle box has no process but init.
 *
 * It is not used where this does not hold: where the node that includes init enforces the pids limit (cgroup
 * v2), where limits are enforced by watching, without isolation, without a cgroup2 node, and in one-shot
 * boxes. Commands for another user, with a terminal, or larger than CAY_CHILD_ASK_MAX do not use it.
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
void cay_prefork_want(struct cay_init *init); /* a command has ended: another may follow */
/* Returns its pid, its ends and its group, with the command sent to it; 0: there is no suitable one. */
pid_t cay_prefork_take(struct cay_init *init, const struct cay_child *c, struct cay_ends *e,
                       struct cay_group *ret_group);
void cay_prefork_dismiss(struct cay_prefork *s); /* there is one, and it has to exit without a command */
bool cay_prefork_reaped(struct cay_init *init, pid_t pid); /* true: it was the preforked process */
