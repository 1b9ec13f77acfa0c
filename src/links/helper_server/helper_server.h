/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program that holds an engine for a daemon (cay-docker, cay-process) has besides its work: it hears one front after the other, and
 * the keeper who brings them.
 *
 * Theory of operation. Two sockets. Over the front's come requests of one fixed size, each checked by its row of the program's
 * policy before anything of it is looked at; a front that says what it may not is hung up on. Over the keeper's (struct wire_keeper)
 * comes the next front's socket, for which the one before is let go: its requests that are still under way are done and answered to nobody,
 * which `serial` tells. The keeper's end stops the loop, after what the program has to do then
 * (unless the keeper has said that another takes its place: UPGRADE). What is said to a front waits for it, bounded.
 */
#pragma once

#include <stdint.h>

#include "foundation/loop/loop.h"
#include "links/helper/helper_message.h"

struct helper_server;

struct helper_server_kind {
        const struct helper_protocol *protocol;
        /* A request that was let through. Takes fd (-1: it came without). Less than 0: the front is hung up on. */
        int (*hear_take)(struct helper_server *e, const void *request, int fd);
        /* In place of hear_take, for programs with requests of several descriptors; takes them all. */
        int (*hear_all_take)(struct helper_server *e, const void *request, const int *fds, unsigned count);
        void (*on_front_end)(struct helper_server *e); /* it was let go; may be NULL */
        /* The daemon ends: what has to be done before the loop is stopped, which is up to it. NULL: nothing. Not for an upgrade. */
        void (*on_keeper_end)(struct helper_server *e);
};

struct helper_server {
        const struct helper_server_kind *kind;
        struct cay_loop *loop; /* borrowed */
        void *request;         /* room for one; borrowed */
        unsigned serial;       /* of the front: grows with each */
        unsigned state;        /* enum helper_state, of the front */

        /* below: private to server.c */
        struct cay_watch front, keeper;
        bool is_upgrade; /* the keeper's end is the next one's beginning */
};

/* The members at the top are set. Takes the front's socket unless it fails: 0 or -errno. */
int helper_server_open_front(struct helper_server *e, int fd);
int helper_server_open_keeper(struct helper_server *e, int fd); /* likewise */
void helper_server_let_front_go(struct helper_server *e);       /* fine when there is none */
void helper_server_close(struct helper_server *e);              /* both */
/* One answer, whose magic and size are set here. Nothing happens when there is no front. */
void helper_server_say(struct helper_server *e, void *answer);
/* The same for what nobody has asked for, without a wait: -EAGAIN when the front has no room now, -ENOTCONN when there is none. */
int helper_server_offer(struct helper_server *e, void *answer);
