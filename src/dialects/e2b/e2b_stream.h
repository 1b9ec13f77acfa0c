/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of enveloped messages to a client, with a sign of life in silence; and the user and paths of a
 * request to envd.
 */
#pragma once

#include "dialects/e2b/e2b_priv.h"
#include "foundation/loop/loop.h"

#define E2B_PATH_MAX 4096u

struct e2b_stream { /* embedded, zeroed */
        struct e2b_request *q;
        struct cay_timer alive;
        uint32_t alive_ms;
        bool spoke;
        const char *keepalive; /* the message that is sent in silence */
        struct cay_buf message, frame;
};

/* Sends the head. 0 or -errno. keepalive: static. */
int e2b_stream_begin(struct e2b_stream *s, struct e2b_request *q, const char *keepalive);
/* A message, written to the returned j; then put (how much is queued, or -errno). */
struct cay_json *e2b_stream_message(struct e2b_stream *s, struct cay_json *j);
ssize_t e2b_stream_put(struct e2b_stream *s, struct cay_json *j);
void e2b_stream_done(struct e2b_stream *s); /* frees what it has; not the request */
/* The last frame, of success, and the end of the answer. */
void e2b_stream_end(struct e2b_stream *s);

/*
 * The user that a request names: "user" or "root". NULL: another one; the request was refused. `field`: of
 * Authorization, or NULL: the query's username.
 */
const char *e2b_user(struct e2b_request *q, bool in_query);
/* An absolute path: one that is relative, or begins with ~/, is below the user's home. -1: refused. */
int e2b_path(struct e2b_request *q, const char *user, const char *path, char ret[E2B_PATH_MAX]);
bool e2b_is_root(const char *user);
