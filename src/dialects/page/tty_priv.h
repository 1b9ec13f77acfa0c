/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One terminal, for the files that make it up: tty_open.c lets a request in, tty.c hears the client and ends it all, tty_shell.c starts a
 * shell where none was named, tty_responder.c says what the command says.
 *
 * Life. Waiting for the first message; then, for a shell of our own, asking exec_run; then following (the op call is exec_stream's). Three
 * things end in any order: the ask, the following and the WebSocket. The memory goes, with the round, when all have.
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
        struct cay_call *ask; /* NULL: none under way */
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
        bool is_known; /* who it is; else the first message has to say */
        bool told;     /* the first message has come */
        bool follows;  /* the op has the call */
        bool in_input; /* an input message is not all taken */
        bool is_paid;  /* the message that is being taken */
        bool paused, closed;
};

extern const struct cay_op_responder cay_tty_responder; /* of its call */
extern const struct cay_ws_ops cay_tty_ws_ops;

/* The sandbox (as it was named) is there for the caller and, if one is named, so is the command, and it has a terminal. */
int cay_tty_find(struct cay_tty *t, struct cay_error *err);
void cay_tty_follow(struct cay_tty *t);         /* the command is known: shows it */
void cay_tty_let_go_if_done(struct cay_tty *t); /* after each of the three ends */

/* Bytes in frames of one kind; as cay_ws_send. */
ssize_t cay_tty_say(struct cay_tty *t, char kind, const void *bytes, size_t len);

void cay_tty_let_go(struct cay_guard *g, const char *why); /* of its guard */
void cay_tty_start_shell(struct cay_tty *t);
void cay_tty_end_shell(struct cay_tty *t); /* one that was started here; another's is left alone */
