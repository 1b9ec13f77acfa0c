/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May a change set be applied to its folder? For each selected entry the folder is compared with what the set says: it is that already,
 * it is still what the run began from, or it was changed meanwhile by somebody else, which is a conflict.
 *
 * "Still what the run began from" is exact: type, mode, size, inode and both times are those that were recorded when the run ended, and
 * the time of the last change lies before the run began. A directory's times change with what is in it, so there only
 * its type and (where it is to be changed) its mode count; one that is to go must hold nothing that the run did not know.
 */
#pragma once

#include "foundation/base/error.h"
#include "cay/changes/change_set.h"
#include "cay/changes/folder.h"

enum cay_verdict {
        CAY_VERDICT_NONE,     /* not selected */
        CAY_VERDICT_READY,    /* to be applied */
        CAY_VERDICT_DONE,     /* the folder is like that already */
        CAY_VERDICT_LEFT,     /* forced, but a directory stays: it holds what the run did not know */
        CAY_VERDICT_CONFLICT, /* somebody else changed it meanwhile */
        CAY_VERDICT_STUCK,    /* the same, and force would not help */
};

struct cay_check {
        struct cay_change_set *set; /* borrowed, as is folder */
        struct cay_folder *folder;
        int64_t began_ns; /* when the run began: what was changed since then was changed beside it */
        bool force;       /* overwrite what somebody else changed */
        /* Told each conflict; may be NULL. */
        void (*on_conflict)(void *ctx, const struct cay_change *c, const char *why);
        void *ctx;

        uint8_t *verdicts; /* owned; enum cay_verdict by the entry's number in the set */
        size_t ready, done, conflicts;
};

/* Fills verdicts and counts. 0 also when there are conflicts; -1: the folder could not be looked at. */
int cay_check_run(struct cay_check *k, struct cay_error *err);
void cay_check_done(struct cay_check *k);

/* Is the entry in the folder what the set wants it to be? 1, 0, -errno. For callers that compare one entry. */
int cay_check_is_applied(struct cay_change_set *set, struct cay_folder *folder, const struct cay_change *c);
/* Is this what the record says, untouched since the run began? */
bool cay_check_is_base(const struct stat *st, const struct cay_change *c, int64_t began_ns);
