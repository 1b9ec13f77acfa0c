/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A private folder for a box without a workspace of its own, removed with it. The folder is its own record:
 * it is flocked while its box lives. A folder with a free lock belongs to a dead run; the next engine removes
 * it.
 *
 * For a box with its own id (own_id.h) the folder is inside an outer folder, which belongs to root, is named
 * after the id, has the lock, and can be entered but not listed by others. So making that folder reserves the
 * id, and no process in the box can take the lock. If it is found unlocked, its name gives the id of the
 * processes to kill before it is removed. All outer folders are in one folder that only root can write, so
 * others cannot reserve ids. It is on a disk, not in /run: what commands write must not be able to fill the
 * memory that the host's services have there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/error.h"
#include "engines/process/own_id.h"

#define CAY_SCRATCH_PATH 256
#define CAY_SCRATCH_IDS_AT "/var/lib/cay-process"

struct cay_scratch {
        int fd;      /* the folder, locked unless there is one around it; -1: none */
        int around;  /* locked; -1: none */
        uint32_t id; /* whose it is; 0: ours */
        char path[CAY_SCRATCH_PATH];
};

#define CAY_SCRATCH_NONE                                                                                     \
        {                                                                                                    \
                .fd = -1, .around = -1                                                                       \
        }

/*
 * Ids are used in turn, so that one is reused only after all others (in this process: each begins at another
 * one).
 */
struct cay_scratch_ids {
        char at[128];            /* the folder of folders; made when needed */
        struct cay_id_set given; /* by the host to others: never taken, never ended */
        uint32_t next;           /* to be taken, if it is free */
        uint32_t sweep_next;
};

enum cay_swept { CAY_SWEPT, CAY_SWEPT_STUCK, CAY_SWEPT_MORE }; /* STUCK: what does not die, or go, now */

int cay_scratch_make(struct cay_scratch *s, struct cay_error *err);
/*
 * Removes up to `budget` entries: 1 when nothing is left (folder and lock are removed), 0 when there is more,
 * -errno.
 */
int cay_scratch_remove(struct cay_scratch *s, unsigned budget);
void cay_scratch_close(struct cay_scratch *s); /* descriptors, and with them the lock; the folder stays */
/*
 * Removes up to `budget` entries of folders of dead runs of this user. Best effort: failures are retried next
 * time.
 */
enum cay_swept cay_scratch_sweep(unsigned budget);

/* Ids need root. */
void cay_scratch_ids_open(struct cay_scratch_ids *ids, const char *at);
void cay_scratch_ids_close(
        struct cay_scratch_ids *ids); /* the folder of folders goes when nothing is in it */
/* With a free id, which is reserved from now on. */
int cay_scratch_make_with_id(struct cay_scratch_ids *ids, struct cay_scratch *s, struct cay_error *err);
/*
 * As cay_scratch_sweep, but first kills the processes with their ids, one attempt each. What does not die
 * keeps its folder and thereby its id.
 */
enum cay_swept cay_scratch_sweep_ids(struct cay_scratch_ids *ids, unsigned budget);

/*
 * For the two of them. Opens and locks a folder of this user's that is there under this name: -EAGAIN when it
 * is not, or another has it.
 */
int cay_scratch_lock(int at, const char *name, int *ret);
int cay_scratch_remove_some(struct cay_scratch *s,
                            unsigned *budget); /* as cay_scratch_remove; says what is left of it */
