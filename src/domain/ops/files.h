/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the file ops: a channel that belongs to a call, and the form of paths and entries. */
#pragma once

#include "foundation/loop/loop.h"
#include "domain/ops/op.h"
#include "domain/sandboxes/channel.h"

#define CAY_OP_PATH_FIELD(type, member, text)                                                                \
        {                                                                                                    \
                "path", CAY_FIELD_TEXT, offsetof(type, member), CAY_FIELD_REQUIRED | CAY_FIELD_BYTES, text,  \
                        .min = 1, .max = CAY_BOX_PATH_MAX - 1                                                \
        }
#define CAY_OP_SANDBOX_FIELD(type, member)                                                                   \
        {                                                                                                    \
                "id", CAY_FIELD_TEXT, offsetof(type, member), 0, "the sandbox", .min = 1,                    \
                                                                                .max = CAY_NAME_MAX          \
        }
#define CAY_OP_USER_FIELD(type, member)                                                                      \
        {                                                                                                    \
                "as_root", CAY_FIELD_BOOL, offsetof(type, member), 0,                                        \
                        "work as root of the sandbox instead of as its user"                                 \
        }

struct cay_op_channel { /* first member of an op's state, which owns it; freed after the round */
        struct cay_service_channel ch;
        struct cay_timer silence;
        struct cay_deferred release;
        struct cay_op_call *call;               /* NULL: ended */
        void (*done)(struct cay_op_channel *s); /* frees the rest of the state; may be NULL */
        char sandbox[CAY_NAME_MAX + 1];         /* its id */
};

/*
 * Opens it for the call; on success the call's on_gone closes it. On failure the call is answered and the
 * state is about to be freed: do not touch it.
 */
int cay_op_channel_open(struct cay_op_channel *s, struct cay_op_call *c, const char *sandbox,
                        const struct cay_box_open *open);
/* Closes it, and returns the call, which still has to be ended. */
struct cay_op_call *cay_op_channel_finish(struct cay_op_channel *s);
void cay_op_channel_fail(struct cay_op_channel *s, const struct cay_error *err);
/*
 * A box may answer pings and nothing else. So a deadline (file_timeout) runs whenever the box has to act,
 * from the opening on. When it is over the channel is closed, and on_end gets no end and CAY_TIMEOUT. It does
 * not run while the box waits for the client (clients have their own deadlines), nor while the sandbox is
 * paused.
 */
void cay_op_channel_await(struct cay_op_channel *s, bool box_is_due);
void cay_op_channel_ack(struct cay_op_channel *s, size_t len); /* its data was handled: more is due */
/* A file request: absolute paths as they are, others relative to the workspace (a rule of the box). */
struct cay_box_open cay_op_file_open(unsigned kind, const char *path, bool as_root);
void cay_op_put_stat(struct cay_json *j, const struct cay_box_stat *st);
/* A text that changes when the file is written: made of its size and its modification time in nanoseconds. */
#define CAY_OP_FILE_TAG 36
void cay_op_file_tag(const struct cay_box_stat *st, char ret[CAY_OP_FILE_TAG]);
int cay_op_parse_mode(const char *text, uint32_t *ret, struct cay_error *err); /* "0644", at most 0777 */
