/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's end of the warden link: starts cay-warden, sends requests, pairs answers with them by number. Nothing here
 * waits, except closing and the two calls that say so.
 */
#pragma once

#include "loop/loop.h"
#include "wire/message.h"

struct warden_call { /* embedded by whoever asks; pending until on_answer */
        void (*on_answer)(struct warden_call *call,
                          const struct wire_answer *a); /* a NULL: the warden is gone */
        struct warden_call *next;
        uint32_t seq;
};

struct warden_client {
        struct cay_watch watch;
        int sock;  /* -1: gone */
        int pid;   /* 0: none */
        int pidfd; /* owned; -1: this kernel has none */
        uint32_t seq;
        struct warden_call *calls;
        void (*on_gone)(struct warden_client *c, const struct wire_answer *a); /* a box ended by itself */
        void (*on_lost)(struct warden_client *c);                              /* the warden itself */
};

int warden_client_open(struct cay_loop *loop, struct warden_client *c, const char *program_dir,
                       struct cay_error *err);
/* Over a link that somebody else (the daemon's keeper) has made to a warden that lives on without us. Takes sock. 0 or -errno. */
int warden_client_open_link_take(struct cay_loop *loop, struct warden_client *c, int sock);
/*
 * Waits (bounded) until the warden has unmade everything and is gone. -1: it did not say that it had. -ECHILD: it is gone, and
 * what it said was taken by somebody else in this process.
 */
int warden_client_close(struct warden_client *c);
/* Sends; descriptors are copied. When it cannot be sent the call is answered with NULL from the loop. */
void warden_client_ask(struct warden_client *c, struct warden_call *call, struct wire_request *req,
                       const int *fds, unsigned fd_count);
/* Waits for the answer of one call, handling others meanwhile; at most ms. */
void warden_client_await(struct warden_client *c, struct warden_call *call, int ms);
/* Its answer is not waited for any more. */
void warden_client_forget(struct warden_client *c, struct warden_call *call);
