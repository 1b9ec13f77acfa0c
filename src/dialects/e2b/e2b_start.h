/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a template that was built (e2b_build.h) says beside its files: the user and the folder of its
 * commands, what is started at once.
 */
#pragma once

#include "dialects/e2b/e2b_priv.h"

#define E2B_START_MAX 8192u /* bytes of a start command, with a NUL */

/* A variable of a snapshot. False: there is none, or it is too long. */
bool e2b_template_variable(const struct cay_op_world *world, const char *owner, const char *snapshot,
                           const char *name, char *ret, size_t size);
/* Members of the labels of a sandbox that is made of this. */
void e2b_template_labels_put(struct cay_json *j, const struct cay_op_world *world, const char *owner,
                             const char *snapshot);
/* Whether there is a command to start, or one to wait for. */
bool e2b_starts(const struct e2b_request *q, const char *snapshot);
/*
 * Starts it in q->sandbox, which was just made, and waits until it is ready; then calls. If it does not get
 * ready, the sandbox is removed, and the request is refused. The request's state is taken.
 */
void e2b_start(struct e2b_request *q, const char *snapshot, void (*then)(struct e2b_request *q));

/* A time for a command, as an argument: this long, or as long as the caller may ask for. */
const char *e2b_time_at_most(const struct cay_op_world *world, const struct cay_caller *caller, uint64_t ms,
                             char ret[32]);
