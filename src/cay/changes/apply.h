/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts a checked change set into its folder: each entry appears, changes or goes at once and whole, so that a reader of the folder never
 * sees half a file and an end in the middle (a full disk, a signal) leaves every entry either old or new. The set as a
 * whole is not one step; applying it again goes on where it ended, since what is there already counts as done.
 */
#pragma once

#include "cay/changes/check.h"

struct cay_apply {
        struct cay_check *check; /* borrowed: run before, and without conflicts */
        /* Told each entry that was put in place; may be NULL. */
        void (*on_applied)(void *ctx, const struct cay_change *c);
        void *ctx;

        size_t applied; /* entries put in place by this call */
        size_t left;    /* directories that stay because they hold what the run did not know */
};

/*
 * -1: the entry named in err could not be applied; those told to on_applied were, the others were not touched. Files belong to the
 * caller; root keeps the owner of what is replaced and gives what is new to the folder's owner. Modes never have set-id bits.
 */
int cay_apply_run(struct cay_apply *a, struct cay_error *err);
