/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine's end of the link to its helper, a program of its own that has the privileges: fixed-size messages over a
 * SOCK_SEQPACKET socket, one request or answer each, paired by number.
 *
 * Theory of operation. A kind says what differs between helpers. The helper is started here (open) or by somebody else who hands
 * over a socket (open_link_take); only one that was started here is waited for when the link is closed. An answer that is
 * not of the kind's form is the helper's end, like the end of the socket: every call that waits is told so, then on_lost. Nothing
 * here waits, except closing and the call that says so: a request that the socket has no room for is kept, with copies of its
 * descriptors, until it has. (A helper may wait for us to read its answers; were we to wait for it as well, nobody would ever.)
 */
#pragma once

#include "foundation/base/error.h"
#include "foundation/loop/loop.h"
#include "links/helper/helper_message.h"

#define ENGINE_LINK_ANSWER_MAX 4096u
#define ENGINE_LINK_KEPT_MAX                                                                                 \
        16384u /* requests that wait for room; a helper that leaves more than that unread is stuck */

struct engine_link_kind {
        const char *program; /* its file in the program folder */
        const char *who;     /* in messages: "the warden" */
        const char *const *
                variables; /* how names begin that it gets of our environment; NULL: none. Test builds add CAY_TEST_ */
        const struct helper_protocol *protocol;
        unsigned close_ms; /* for it to unmake everything and go */
};

struct engine_link;
struct engine_kept;

struct engine_call { /* embedded by whoever asks; pending until on_answer */
        void (*on_answer)(
                struct engine_call *call,
                const struct helper_answer_head *a); /* the whole answer; NULL: the helper is gone */
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
/* Over a socket to a helper that lives on without us (the daemon's keeper has it). Takes sock, also on failure. */
int engine_link_open_take(struct engine_link *l, struct cay_loop *loop, int sock, struct cay_error *err);
/*
 * Waits (bounded) until a helper that we started has unmade everything and is gone. -1: it did not say that it had. -ECHILD: it is
 * gone, and what it said was taken by somebody else in this process.
 */
int engine_link_close(struct engine_link *l);
/* Hangs up: every call that waits is told that the helper is gone, then on_lost. Fine when the link is lost already. */
void engine_link_lose(struct engine_link *l);
/* Its socket, for another link to go on with; nothing is pending. The link is lost then, and nobody is told. */
int engine_link_take_socket(struct engine_link *l);
/*
 * Sends; descriptors are copied. When it cannot be sent the call is answered with NULL, here or from the loop; when it would have to be
 * kept and we have no memory or descriptors for that, with CAY_LIMIT, here.
 */
void engine_link_ask(struct engine_link *l, struct engine_call *call, void *request, const int *fds,
                     unsigned fd_count);
/* Waits for the answer of one call, handling others meanwhile; at most ms. */
void engine_link_await(struct engine_link *l, struct engine_call *call, int ms);
/* Its answer is not waited for any more. */
void engine_link_forget(struct engine_link *l, struct engine_call *call);
/* What an answer (NULL: the helper is gone) says as an error; CAY_OK where it says none. */
void engine_link_read_error(const struct engine_link *l, const struct helper_answer_head *a,
                            struct cay_error *ret);

/* A call whose answer is waited for at once: start-up, and where the port says that it may block. */
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
