/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One interpreter that waits, from init's side: its process, its ends, its node, what it has said. The theory
 * is in warm.h.
 *
 * A process is started by init, or forked by a server. Init does not know the pid of a forked one until that
 * says that it waits: the kernel tells who sent the message (SCM_CREDENTIALS). It must be a child of init in
 * the server's node. A helper moves it to its node, which takes the kernel some milliseconds, and there it
 * must be alone; anything else is not used. It does not join by itself: with a descriptor of cgroup.procs,
 * code of the box that has got into a server (it may, by .pth files) could move any process of the box, init
 * too.
 */
#pragma once

#include "cay-init/ends.h"
#include "cay-init/group.h"
#include "cay-init/notify.h"
#include "foundation/loop/loop.h"

struct cay_child;
struct cay_init;

enum cay_warm_said {
        CAY_WARM_SAID_NOTHING,
        CAY_WARM_WAITS = 'R',
        CAY_WARM_FORKS = 'F',
        CAY_WARM_JOINS = 'J', /* it waits, and is on its way to its node */
        CAY_WARM_FULL = 'E',  /* in the place of a fork: the sandbox has no process left for it */
};

struct cay_warm_slot {
        struct cay_init *init;
        bool is_forked;         /* by a server */
        pid_t pid;              /* 0: there is none, or it is not known (yet) */
        pid_t helper;           /* moves it to its node; 0: none */
        struct cay_ends ends;   /* owned; without ask[0] nothing is expected of it */
        struct cay_group group; /* its node; may outlive it for a moment */
        struct cay_watch watch; /* of ask[0] */
        char said;              /* enum cay_warm_said */
};

/*
 * The filter of a server and of all that it forks: it has one listener. In use until the last of them has
 * died.
 */
struct cay_warm_filter {
        struct cay_init *init;
        struct cay_notify notify;
};

void cay_warm_slot_init(struct cay_warm_slot *s, struct cay_init *init, bool is_forked);
/* Nothing is expected of it and nothing is left of it. */
bool cay_warm_slot_is_free(struct cay_warm_slot *s);
bool cay_warm_slot_is_expected(const struct cay_warm_slot *s); /* it waits, or may still say that it does */
void cay_warm_slot_drop(struct cay_warm_slot *s);              /* ends it */
/*
 * Reads what it says. False: there is no process, or it said or was something that it must not: it has to be
 * dropped.
 */
bool cay_warm_slot_listen(struct cay_warm_slot *s);
/* The helper has ended. True: it is in its node, and has been told; false: it has to be dropped. */
bool cay_warm_slot_joined(struct cay_warm_slot *s);
/* Asks the server for a process in this free slot. 0 or -errno. */
int cay_warm_slot_ask(struct cay_warm_slot *s, const struct cay_warm_slot *server, struct cay_child *c);
/* Its ends and its node, and nothing of it stays here. */
void cay_warm_slot_give(struct cay_warm_slot *s, struct cay_ends *e, struct cay_group *ret_group);

/*
 * Takes the listener from the first message on the slot's status socket. 0 or -errno; -EAGAIN: there is none
 * yet.
 */
int cay_warm_filter_take(struct cay_warm_filter *f, struct cay_warm_slot *server);
