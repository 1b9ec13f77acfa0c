/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a run's result: one JSON object, one line about its cause, a table of its steps. */
#pragma once

#include "foundation/base/buf.h"
#include "cay/cli/run_keep.h"
#include "libcay/run.h"

/*
 * The object of --json; out and err are the streams' bytes; keep is NULL without a copy-on-write workspace.
 * err_or_null: the run failed, and there is only an id. 0 or -errno.
 */
int cay_render_run_json(const struct cay_run_result *r, const char *engine, const struct cay_buf *out,
                        const struct cay_buf *err, const struct cay_error *failure,
                        const struct cay_run_keep *keep, struct cay_buf *json);
/*
 * One line about the changes in a copy-on-write workspace and how to see them; losses are reported even when
 * quiet.
 */
void cay_render_run_changes(const struct cay_run_keep *keep, bool quiet, FILE *to);
/* Prints "cay: CAUSE: text; advice" and other warnings; nothing after a success. */
void cay_render_run_cause(const struct cay_run_result *r, FILE *to);
void cay_render_run_trace(struct cay_run *run, FILE *to);
