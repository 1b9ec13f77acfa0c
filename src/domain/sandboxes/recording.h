/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings: what was asked of a sandbox and what came of it, so that it can be run again (options.record).
 *
 * Theory of operation. A recording begins with the first request that works in the sandbox: before it, a step
 * is made (step.h), with whose files a replay begins. From then on commands with their words, variables and
 * input, uploads and other changes of files, and what terminals show are appended to an encrypted file in the
 * folder of outputs (domain/recordings), whose key is not in the database. Variables whose names look like
 * those of secrets are kept by name alone. A recording ends when it is CAY_RECORDING_MAX long, when it cannot
 * be written, or when the sandbox is undone; it says so itself, and the journal does. It goes with its
 * sandbox.
 *
 * The file is written as things happen: what a front that dies had not written is missing, and what a command
 * did meanwhile is added by the next front, except for digests.
 */
#pragma once

#include "domain/recordings/sealed_log.h"
#include "domain/sandboxes/service.h"

#define CAY_RECORDING_MAX (32u << 20) /* bytes of its file */

/* CAY_RECORDING_KIND_…: bits of an EXEC's flags */
enum {
        CAY_RECORDING_LINE = 1,
        CAY_RECORDING_STDIN = 2,
        CAY_RECORDING_TTY = 4,
        CAY_RECORDING_CUT = 8,
};

/* It is to be recorded, and its recording has not begun. */
bool cay_service_recording_is_due(struct cay_service *s, const struct cay_viewer *v, const char *id);
/* Makes the step, and begins it. */
void cay_service_recording_begin(struct cay_service *s, const struct cay_viewer *v, const char *id,
                                 struct cay_service_call *c);

struct cay_recording_view {
        const char *snapshot; /* with whose files it begins */
        const char *stopped;  /* why it ended: a word; "": it goes on */
        uint64_t began_wall_ms, bytes, items;
};

/* CAY_NOT_FOUND: it is not recorded, or nothing was asked of it yet. */
int cay_service_recording_get(struct cay_service *s, const struct cay_viewer *v, const char *id,
                              struct cay_recording_view *ret, struct cay_error *err);
/* The same, and opens it for reading; the caller closes it. */
int cay_service_recording_read(struct cay_service *s, const struct cay_viewer *v, const char *id,
                               struct cay_sealed_reader *ret, struct cay_error *err);
