/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine's end of the link to its helper, a program of its own that has the privileges: fixed-size
 * messages over a SOCK_SEQPACKET socket, one request or answer each, paired by number.
 *
 * Theory of operation. A kind says what differs between helpers. The helper is started here (open), or
 * another process started it and passes a socket (open_link_take). Only a helper started here is waited for
 * when the link is closed. A malformed answer counts as the helper's end, like end of file: every pending
 * call fails, then on_lost is called. Nothing here blocks except closing and the call documented so. A
 * request that does not fit into the socket is queued with copies of its descriptors. (A helper may wait for
 * us to read its answers; waiting for it as well would be a deadlock.)
 */
#pragma once

#include "foundation/base/error.h"
#include "foundation/loop/loop.h"
#include "links/helper/helper_message.h"

#define ENGINE_LINK_ANSWER_MAX 4096u
#define ENGINE_LINK_KEPT_MAX                                                                                 \
        16384u /* maximum of queued requests; a helper that leaves more unread is stuck */

struct engine_link_kind {
        const char *program; /* its file in the program folder */
        const char *who;     /* in messages: "the warden" */
        /* prefixes of environment variables that it inherits; NULL: none. Test builds add CAY_TEST_ */
        const char *const *variables;
        const struct helper_protocol *protocol;
        unsigned close_ms; /* time for it to remove everything and exit */
};

struct engine_link;
struct engine_kept;

struct engine_call { /* embedded by the caller; pending until on_answer */
        void (*on_answer)(
                struct engine_call *call,
                const struct helper_answer_head *a); /* the whole answer; NULL: the helper has exited */
        struct engine_call *next;
        uint32_t seq; /* 0: not pending */
};

struct engine_link {
        const struct engine_link_kind *kind;
        void (*on_unasked)(struct engine_link *l, const struct helper_answer_head *a);
        void (*on_lost)(struct engine_link *l); /* the helper itself */

        /* below: private to link.c, but for `pid` and `sock` to be looked at */
        struct cay_watch watch;
        int sock;  /* -1: gone */
        int pid;   /* 0: none of ours */
        int pidfd; /* owned; -1: none, or this kernel has none */
        uint32_t seq;
        struct engine_call *calls;
        struct engine_kept *kept, **kept_end; /* not sent yet, oldest first */
        unsigned kept_count;
};

/* The three members at the top are set. Starts the helper. */
int engine_link_open(struct engine_link *l, struct cay_loop *loop, const char *program_dir,
                     struct cay_error *err);
/* Over a socket to a helper that outlives us (the daemon's keeper owns it). Takes sock, also on failure. */
int engine_link_open_take(struct engine_link *l, struct cay_loop *loop, int sock, struct cay_error *err);
/*
 * Waits (bounded) until a helper that we started has removed everything and exited. -1: it did not report
 * success. -ECHILD: it has exited, and its status was reaped elsewhere in this process.
 */
int engine_link_close(struct engine_link *l);
/*
 * Closes the link: every pending call fails, then on_lost is called. Allowed when the link is already lost.
 */
void engine_link_lose(struct engine_link *l);
/* Detaches its socket, for another link; nothing may be pending. The link is lost then, without callbacks. */
int engine_link_take_socket(struct engine_link *l);
/*
 * Sends; descriptors are copied. If it cannot be sent, the call is answered with NULL, here or from the loop.
 * If it cannot be queued for lack of memory or descriptors, it is answered with CAY_LIMIT, here.
 */
void engine_link_ask(struct engine_link *l, struct engine_call *call, void *request, const int *fds,
                     unsigned fd_count);
/* Waits for the answer of one call, handling others meanwhile; at most ms. */
void engine_link_await(struct engine_link *l, struct engine_call *call, int ms);
/* Cancels the wait for its answer. */
void engine_link_forget(struct engine_link *l, struct engine_call *call);
/* The error in an answer (NULL: the helper has exited); CAY_OK where there is none. */
void engine_link_read_error(const struct engine_link *l, const struct helper_answer_head *a,
                            struct cay_error *ret);

/* A blocking call: for start-up, and where the port permits blocking. */
struct engine_ask_now {
        struct engine_call call;
        bool answered;
        union {
                struct helper_answer_head answer; /* the whole of it, of the kind's size */
                uint64_t room[ENGINE_LINK_ANSWER_MAX / 8];
        };
};

/* Fills `now`. -1: it was not answered in time, or with an error. */
int engine_link_ask_now(struct engine_link *l, struct engine_ask_now *now, void *request, int ms,
                        struct cay_error *err);
