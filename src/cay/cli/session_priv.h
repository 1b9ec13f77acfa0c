/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of a session. */
#pragma once

#include "cay/cli/session.h"
#include "cay/cli/sink.h"
#include "foundation/loop/signal.h"

#define SESSION_RETRY_MS 250
#define SESSION_RETRIES_MAX 120u

enum session_input_state {
        SESSION_INPUT_OFF,
        SESSION_INPUT_WAITING, /* for standard input */
        SESSION_INPUT_SENDING,
        SESSION_INPUT_ANSWER, /* awaited */
        SESSION_INPUT_AGAIN,  /* retry a little later: the piece was not accepted */
        SESSION_INPUT_OVER,
};

struct session_input {
        enum session_input_state state;
        struct cay_client_conn conn;
        struct cay_watch stdin_watch, conn_watch;
        struct cay_timer timer; /* for a piece that is sent again, or the last one before detaching */
        struct cay_deferred again;
        struct cay_buf out;   /* the current request; when it is sent, its answer */
        uint64_t answered_ms; /* when the connection was last good */
        bool eof, held;       /* held: a Ctrl-] that may be the first of two */
        bool leaves;          /* the second came: keys typed before it are still sent */
        bool begun;           /* a byte of the piece was sent */
        bool queued;          /* `again` is */
        bool plain;           /* offsets are unknown */
        uint64_t offset;      /* offset of the current piece in the command's input */
        unsigned retries;     /* of this piece */
        size_t len;           /* length of the current piece */
        char bytes[CAY_CONN_PIECE];
};

struct session {
        struct cay_session *s;
        struct cay_loop *loop;
        struct cay_client_conn out;
        struct cay_watch watch;
        struct cay_timer timer;
        struct cay_signal signal;
        struct cay_sink sinks[2];
        struct cay_buf pending[2]; /* decoded, not yet taken by its sink */
        struct cay_buf line;
        uint64_t cursor;
        unsigned retries, signals;
        int asked;           /* the last signal that we received */
        unsigned rows, cols; /* the last size given to the command's terminal; 0: unknown */
        bool started, is_over, broken;
        struct cay_error failure;
        struct session_input in;
};

void cay_session_input_begin(struct session *t);
void cay_session_input_done(struct session *t); /* also if never begun */
