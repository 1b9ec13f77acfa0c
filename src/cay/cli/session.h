/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command in a sandbox, on our streams: `cay exec`, `shell`, `attach` and `logs`.
 *
 * Theory of operation. One connection has the output: events, one JSON text a line (a command's output text
 * by text, its start, its end). Another carries input, one request per piece; the next is sent after the
 * previous answer, so a command that does not read slows down only its own client. Short requests (a signal,
 * a terminal's size) are sent in between. If our side does not accept output, reading stops, so no buffer
 * grows. When the connection is lost the command continues. For a while the session reconnects and continues
 * at its cursor, so the daemon may be restarted meanwhile.
 */
#pragma once

#include "cay/cli/reach.h"

struct cay_session {
        struct cay_reach *reach;         /* borrowed */
        const struct cay_values *begins; /* borrowed: the call whose answer is the stream */
        const char *sandbox;
        const char *exec;    /* NULL: told when it starts */
        bool wants_input;    /* standard input goes to it */
        bool is_terminal;    /* keys as they are pressed, sizes; Ctrl-] twice leaves */
        bool follows;        /* false: up to `until`, then it is over */
        bool passes_signals; /* ours are the command's; else they end us as always */
        bool is_raw;         /* a terminal of ours gets the bytes as they are; with is_terminal always */
        bool as_events;      /* lines of JSON go out as they come */
        uint64_t from, until;

        /* results */
        char exec_id[64];
        bool ended, left;                       /* it did; we left it running */
        int status;                             /* for our exit */
        char cause[32], text[256], advice[256]; /* why it ended, safe to print; cause "" when it did not */
};

/* -1: err says why there is no end to report. */
int cay_session_run(struct cay_session *s, struct cay_error *err);
/* Our exit status for a command as the daemon tells it, and the reason into s. */
void cay_session_read_end(struct cay_session *s, struct cay_json_view exec, int asked);
/* "cay: memory: …" on standard error, unless it just exited. */
void cay_session_print_end(const struct cay_session *s);
