/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command in a sandbox, on our streams: `cay exec`, `shell`, `attach` and `logs`.
 *
 * Theory of operation. One connection carries the output: events, one JSON object per line (start, output,
 * end). Another carries input, one request per piece. The next piece is sent after the previous answer, so a
 * command that does not read slows down only its own client. Short requests (a signal, a terminal's size) are
 * sent in between. If our side does not accept output, reading stops, so no buffer grows. When the connection
 * is lost the command continues. For a while the session reconnects and continues at its cursor, so the
 * daemon may be restarted meanwhile.
 */
#pragma once

#include "cay/cli/reach.h"

struct cay_session {
        struct cay_reach *reach;         /* borrowed */
        const struct cay_values *begins; /* borrowed: the call whose answer is the stream */
        const char *sandbox;
        const char *exec;    /* NULL: told when it starts */
        bool wants_input;    /* standard input goes to it */
        bool is_terminal;    /* keys as they are pressed, sizes; Ctrl-] twice detaches */
        bool follows;        /* false: only up to `until` */
        bool passes_signals; /* our signals go to the command; else they end us as usual */
        bool is_raw;         /* a terminal of ours gets the bytes unescaped; always with is_terminal */
        bool as_events;      /* lines of JSON are printed unchanged */
        uint64_t from, until;

        /* results */
        char exec_id[64];
        bool ended, left;                       /* it ended; we left it running */
        int status;                             /* for our exit */
        char cause[32], text[256], advice[256]; /* why it ended, escaped; cause "": it just exited */
        char network[4096];                     /* lines of what it could not reach, escaped */
        bool lacks_network;
};

/* -1: err says why there is no end to report. */
int cay_session_run(struct cay_session *s, struct cay_error *err);
/* Our exit status for a command's end, and the reason into s. */
void cay_session_read_end(struct cay_session *s, struct cay_json_view exec, int asked);
/* Prints "cay: memory: …" on standard error, unless it just exited. */
void cay_session_print_end(const struct cay_session *s);
