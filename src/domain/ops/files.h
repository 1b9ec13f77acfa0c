/* SPDX-License-Identifier: Apache-2.0 */
/* What the file ops share: a channel that belongs to a call, and how paths and entries are given. */
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

struct cay_op_channel { /* first member of an op's state; owned by it, freed with the round */
        struct cay_service_channel ch;
        struct cay_timer silence;
        struct cay_deferred release;
        struct cay_op_call *call;               /* NULL: ended */
        void (*done)(struct cay_op_channel *s); /* frees what else the state owns; may be NULL */
        char sandbox[CAY_NAME_MAX + 1];         /* its id */
};

/*
 * Opens for the call; on success the call's on_gone closes it. On failure the call is answered and the state is on its
 * way out: do not touch it.
 */
int cay_op_channel_open(struct cay_op_channel *s, struct cay_op_call *c, const char *sandbox,
                        const struct cay_box_open *open);
/* Closes, and gives back the call that is still to be ended. */
struct cay_op_call *cay_op_channel_finish(struct cay_op_channel *s);
void cay_op_channel_fail(struct cay_op_channel *s, const struct cay_error *err);
/*
 * A box may answer pings and nothing else. So whenever the next word is the box's (from the opening on), a deadline runs, file_timeout
 * from here: when it is over the channel is closed, and its on_end gets no end and CAY_TIMEOUT. While the box waits for the
 * client it does not run (clients have deadlines of their own), nor while the sandbox is paused.
 */
void cay_op_channel_await(struct cay_op_channel *s, bool box_is_due);
void cay_op_channel_ack(struct cay_op_channel *s, size_t len); /* what it sent is done with: more is due */
/* A file request: absolute paths as they are, others below the workspace (the box's own rule). */
struct cay_box_open cay_op_file_open(unsigned kind, const char *path, bool as_root);
void cay_op_put_stat(struct cay_json *j, const struct cay_box_stat *st);
/* A text that differs when the file was written in between: of its size and of the time of its last change, in nanoseconds. */
#define CAY_OP_FILE_TAG 36
void cay_op_file_tag(const struct cay_box_stat *st, char ret[CAY_OP_FILE_TAG]);
int cay_op_parse_mode(const char *text, uint32_t *ret, struct cay_error *err); /* "0644", at most 0777 */
