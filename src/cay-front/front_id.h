/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which id the front of root's daemon becomes.
 *
 * Theory of operation. Processes of one id may signal each other, and have the same rights to files: the fronts of two daemons on one
 * machine must not share one. There are CAY_FRONT_IDS numbers that belong to no account; a front holds the lock of a file in the machine's run
 * folder that stands for its number, for as long as it lives. It prefers the number that its state folder has, so that nothing changes from one
 * front to the next; when another daemon has that by now (both were made by a version with a single number, or a data folder was copied), it takes
 * a free one, and the folder's content is given to it. Numbers that this user namespace does not map are left out.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "foundation/base/error.h"

#define CAY_FRONT_ID                                                                                         \
        0x6ca7 /* uid and gid; the only one there was, once, and the one that small containers map */
#define CAY_FRONT_ID_MORE                                                                                    \
        0x78002000u       /* the others, above the ids of boxes and of the process engine's sandboxes */
#define CAY_FRONT_IDS 64u /* all together */

/*
 * Takes an id for the front whose state folder is `state_name` in data_fd (it need not be there). *ret_lock: held by this descriptor; -1 where no
 * lock could be had (no run folder, all in use), and then the id is CAY_FRONT_ID, which others may have too.
 */
uid_t cay_front_id_take(const char *run_folder, int data_fd, const char *state_name, int *ret_lock);
bool cay_front_id_is_one(uid_t id);
/* Gives what lies below the folder, and is owned by `from`, to the new id. Nobody else may be at work there. */
int cay_front_id_give(int folder_fd, uid_t from, uid_t to, struct cay_error *err);
