/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A private folder for a box without a workspace of its own, removed with it. The folder is its own record: it is flocked
 * while its box lives, and a folder whose lock is free belongs to a run that died; the next engine removes it.
 *
 * One for a box with an id of its own (own_id.h) lies in a folder around it, which is root's, is named after the id, has the lock, and
 * lets others through but shows them nothing. So making that folder is taking the id, nobody in the box can take the lock, and
 * when it is found without one, its name says whose processes are to be ended before it goes. All of these are in one folder that root alone
 * can write: nobody else can make names there, and so take ids away. It is on a disk, not in /run: what commands write must not be able to
 * fill the memory that the host's services have there.
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

/* Ids are taken in turn, so that one is used again after all others were (by this process: each begins somewhere). */
struct cay_scratch_ids {
        char at[128];            /* the folder of folders; made when needed */
        struct cay_id_set given; /* by the host to others: never taken, never ended */
        uint32_t next;           /* to be taken, if it is free */
        uint32_t sweep_next;
};

enum cay_swept { CAY_SWEPT, CAY_SWEPT_STUCK, CAY_SWEPT_MORE }; /* STUCK: what does not die, or go, now */

int cay_scratch_make(struct cay_scratch *s, struct cay_error *err);
/* Removes up to `budget` entries: 1 when nothing is left (the folder and the lock are gone), 0 when there is more, -errno. */
int cay_scratch_remove(struct cay_scratch *s, unsigned budget);
void cay_scratch_close(struct cay_scratch *s); /* descriptors, and with them the lock; the folder stays */
/* Removes up to `budget` entries of folders of dead runs of this user. Best effort: what fails now is met again next time. */
enum cay_swept cay_scratch_sweep(unsigned budget);

/* Ids need root. */
void cay_scratch_ids_open(struct cay_scratch_ids *ids, const char *at);
void cay_scratch_ids_close(
        struct cay_scratch_ids *ids); /* the folder of folders goes when nothing is in it */
/* With an id that nobody has, and which it is from now on. */
int cay_scratch_make_with_id(struct cay_scratch_ids *ids, struct cay_scratch *s, struct cay_error *err);
/* As cay_scratch_sweep; first ends what has their ids, one try each. What does not die keeps its folder and thereby its id. */
enum cay_swept cay_scratch_sweep_ids(struct cay_scratch_ids *ids, unsigned budget);

/* For the two of them. Opens and locks a folder of this user's that is there under this name: -EAGAIN when it is not, or another has it. */
int cay_scratch_lock(int at, const char *name, int *ret);
int cay_scratch_remove_some(struct cay_scratch *s,
                            unsigned *budget); /* as cay_scratch_remove; says what is left of it */
