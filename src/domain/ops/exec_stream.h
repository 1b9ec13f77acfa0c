/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command's output as a stream of events: started, stdout, stderr…, exited. Every event has its own cursor
 * and the next one's (its id), so a client that was cut off resumes from its last `next` and loses nothing.
 * Bytes are `text` if they are UTF-8 without NUL, else `base64`: they are never changed. Alternatively the
 * stream has the bytes only, without events.
 *
 * A client with a two-way connection and the scope exec can send input, signals and the terminal's size on
 * the same stream.
 */
#pragma once

#include "domain/ops/op.h"
#include "domain/sandboxes/exec.h"

struct cay_op_exec_follow { /* zeroed: everything, as events */
        uint64_t from;
        const char *execution_id; /* sent with `started`; NULL: none */
        bool raw;
        unsigned only; /* 1 stdout, 2 stderr, 0 both */
};

/* Watches from a cursor and takes the call over. Fails the call if that is not possible. */
void cay_op_exec_stream(struct cay_op_call *c, const char *sandbox, const char *exec,
                        const struct cay_op_exec_follow *how);
