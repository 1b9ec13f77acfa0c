/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts a checked change set into its folder. Each entry appears, changes or goes atomically: a reader of the
 * folder never sees half a file, and an interruption (a full disk, a signal) leaves every entry either old or
 * new. The whole set is not one step. Applying it again continues where it ended, because entries that are
 * there already count as done.
 */
#pragma once

#include "cay/changes/check.h"

struct cay_apply {
        struct cay_check *check; /* borrowed: run before, and without conflicts */
        /* Called for each entry that was put in place; may be NULL. */
        void (*on_applied)(void *ctx, const struct cay_change *c);
        void *ctx;

        size_t applied; /* entries put in place by this call */
        size_t left;    /* directories that stay because they hold files that the run did not know */
};

/*
 * -1: the entry named in err could not be applied. Entries passed to on_applied were, the others are
 * unchanged. Files belong to the caller; root keeps the owner of what is replaced and gives new entries to
 * the folder's owner. Modes never have set-id bits.
 */
int cay_apply_run(struct cay_apply *a, struct cay_error *err);
