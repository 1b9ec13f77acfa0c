/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether a change set may be applied to its folder. For each selected entry the folder may already
 * have the new state, still have the state from before the run, or have been changed by somebody else, which
 * is a conflict.
 *
 * "Still the state from before the run" is exact: type, mode, size, inode and both times are those recorded
 * when the run ended, and the time of the last change is before the run began. A directory's times change
 * with its content, so only its type counts, and its mode if it is to be changed. A directory that is to be
 * removed must contain nothing that the run did not know.
 */
#pragma once

#include "foundation/base/error.h"
#include "cay/changes/change_set.h"
#include "cay/changes/folder.h"

enum cay_verdict {
        CAY_VERDICT_NONE,     /* not selected */
        CAY_VERDICT_READY,    /* to be applied */
        CAY_VERDICT_DONE,     /* the folder has it already */
        CAY_VERDICT_LEFT,     /* forced, but a directory stays: it holds files that the run did not know */
        CAY_VERDICT_CONFLICT, /* somebody else changed it meanwhile */
        CAY_VERDICT_STUCK,    /* the same, and force would not help */
};

struct cay_check {
        struct cay_change_set *set; /* borrowed, as is folder */
        struct cay_folder *folder;
        int64_t began_ns; /* when the run began: later changes in the folder came from others */
        bool force;       /* overwrite what somebody else changed */
        /* Called for each conflict; may be NULL. */
        void (*on_conflict)(void *ctx, const struct cay_change *c, const char *why);
        void *ctx;

        uint8_t *verdicts; /* owned; enum cay_verdict by the entry's number in the set */
        size_t ready, done, conflicts;
};

/* Fills verdicts and counts. 0 also with conflicts; -1: the folder could not be read. */
int cay_check_run(struct cay_check *k, struct cay_error *err);
void cay_check_done(struct cay_check *k);

/* Whether the folder already has what the set wants: 1, 0, -errno. For callers that compare one entry. */
int cay_check_is_applied(struct cay_change_set *set, struct cay_folder *folder, const struct cay_change *c);
/* Whether this is what the record says, unchanged since the run began. */
bool cay_check_is_base(const struct stat *st, const struct cay_change *c, int64_t began_ns);
