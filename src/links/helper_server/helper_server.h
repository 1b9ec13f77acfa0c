/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server part of a helper program of a daemon (cay-docker, cay-process): it serves one front after the
 * other, and the keeper that passes them on.
 *
 * Theory of operation. Two sockets. The front's socket carries requests of one fixed size. Each is checked
 * against its row of the program's policy before it is used. A front that sends an unpermitted request is
 * disconnected. The keeper's socket (struct wire_keeper) carries the next front's socket, which replaces the
 * previous one. Pending requests of the previous front are completed, but their answers are dropped; `serial`
 * identifies the front. End of file from the keeper stops the loop after the program's cleanup, unless an
 * UPGRADE preceded it. A send to a front waits for it, for a bounded time.
 */
#pragma once

#include <stdint.h>

#include "foundation/loop/loop.h"
#include "links/helper/helper_message.h"

struct helper_server;

struct helper_server_kind {
        const struct helper_protocol *protocol;
        /*
         * A request that passed the check. Takes fd (-1: there was none). Negative: the front is
         * disconnected.
         */
        int (*serve_take)(struct helper_server *e, const void *request, int fd);
        /* Replaces serve_take in programs whose requests have several descriptors; takes them all. */
        int (*serve_all_take)(struct helper_server *e, const void *request, const int *fds, unsigned count);
        void (*on_front_end)(struct helper_server *e); /* the front was disconnected; may be NULL */
        /*
         * The daemon ends: cleanup before the loop is stopped; this function stops the loop. NULL: none. Not
         * called for an upgrade.
         */
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
        bool is_upgrade; /* end of file from the keeper means that a new one follows */
};

/* The members at the top are set. Takes the front's socket unless it fails: 0 or -errno. */
int helper_server_open_front(struct helper_server *e, int fd);
int helper_server_open_keeper(struct helper_server *e, int fd); /* likewise */
void helper_server_let_front_go(struct helper_server *e);       /* allowed when there is none */
void helper_server_close(struct helper_server *e);              /* both */
/* Sends one answer; sets its magic and size. Does nothing when there is no front. */
void helper_server_say(struct helper_server *e, void *answer);
/*
 * The same for an unsolicited message, without waiting: -EAGAIN when the front has no room now, -ENOTCONN
 * when there is none.
 */
int helper_server_offer(struct helper_server *e, void *answer);
