/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command's output as a stream of events: started, stdout, stderr…, exited. Every event says at which cursor it begins and the next
 * one will (its id), so a client that was cut off asks again from the last `next` that it has and loses nothing. Bytes are `text` when they
 * are UTF-8 and hold no NUL, else `base64`: never changed. Or the bytes alone, without events.
 *
 * A client that can speak meanwhile and may run commands gives input, signals and the terminal's size on the same stream.
 */
#pragma once

#include "domain/ops/op.h"
#include "domain/sandboxes/exec.h"

struct cay_op_exec_follow { /* zeroed: all of it, as events */
        uint64_t from;
        const char *execution_id; /* told with `started`; NULL: none */
        bool raw;
        unsigned only; /* 1 stdout, 2 stderr, 0 both */
};

/* Watches from a cursor and takes the call over. The call is failed when that cannot be. */
void cay_op_exec_stream(struct cay_op_call *c, const char *sandbox, const char *exec,
                        const struct cay_op_exec_follow *how);
