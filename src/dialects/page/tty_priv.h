/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One terminal, for its files: tty_open.c accepts a request, tty.c reads the client's messages and ends it,
 * tty_shell.c starts a shell if no command is named, tty_responder.c sends the command's output.
 *
 * Life: it waits for the first message; for its own shell it calls exec_run; then it follows (the call is
 * exec_stream's). The call, the following and the WebSocket end in any order. The memory is freed, after the
 * round, when all have ended.
 */
#pragma once

#include "dialects/call/call.h"
#include "daemon/gate/gate_pass.h"
#include "dialects/rest/rest_stream.h"
#include "dialects/page/tty_words.h"
#include "foundation/http/ws.h"
#include "foundation/loop/loop.h"
#include "domain/ops/exec_stream.h"

struct cay_tty {
        struct cay_op_call call; /* while it follows */
        struct cay_ws ws;
        struct cay_call *ask; /* NULL: none pending */
        struct cay_timer patience;
        struct cay_timer room;   /* until the next message is within the rate */
        struct cay_timer sizing; /* until the size is tried again */
        struct cay_guard guard;
        struct cay_deferred release;
        struct cay_rest_stream stream;
        char sandbox[CAY_NAME_MAX + 1], exec[CAY_NAME_MAX + 1];
        uint64_t from;
        struct cay_tty_size size;
        bool is_ours;  /* the shell was started here and ends with its client */
        bool is_known; /* authenticated; else the first message has to do that */
        bool told;     /* the first message has come */
        bool follows;  /* the op has the call */
        bool in_input; /* an input message is partly taken */
        bool is_paid;  /* the message that is being taken */
        bool paused, closed;
};

extern const struct cay_op_responder cay_tty_responder; /* of its call */
extern const struct cay_ws_ops cay_tty_ws_ops;

/*
 * Checks that the sandbox exists for the caller and, if a command is named, that it exists and has a
 * terminal.
 */
int cay_tty_find(struct cay_tty *t, struct cay_error *err);
void cay_tty_follow(struct cay_tty *t);         /* the command is known: shows it */
void cay_tty_let_go_if_done(struct cay_tty *t); /* after each of the three ends */

/* Sends bytes in frames of one kind; returns as cay_ws_send. */
ssize_t cay_tty_say(struct cay_tty *t, char kind, const void *bytes, size_t len);

void cay_tty_let_go(struct cay_guard *g, const char *why); /* of its guard */
void cay_tty_start_shell(struct cay_tty *t);
void cay_tty_end_shell(struct cay_tty *t); /* ends a shell that was started here, no other command */
