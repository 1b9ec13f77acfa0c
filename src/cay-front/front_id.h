/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the id that the front of root's daemon switches to.
 *
 * Theory of operation. Processes of one id may signal each other and have the same rights to files. So the
 * fronts of two daemons on one machine must not share an id. CAY_FRONT_IDS numbers belong to no account. A
 * front locks the file of its number in the machine's run folder while it lives. It prefers the number that
 * owns its state folder, so that nothing changes from one front to the next. If another daemon has that
 * number (a data folder was copied), it takes a free one and gives the folder's content to it. Numbers that
 * this user namespace does not map are left out.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "foundation/base/error.h"

#define CAY_FRONT_ID 0x6ca7 /* uid and gid; the one that small containers map */
#define CAY_FRONT_ID_MORE                                                                                    \
        0x78002000u       /* the others, above the ids of boxes and of the process engine's sandboxes */
#define CAY_FRONT_IDS 64u /* all together */

/*
 * Takes an id for the front whose state folder is `state_name` in data_fd (it need not exist). *ret_lock:
 * held by this descriptor. It is -1 if no lock is available (no run folder, all in use); then the id is
 * CAY_FRONT_ID, which others may have too.
 */
uid_t cay_front_id_take(const char *run_folder, int data_fd, const char *state_name, int *ret_lock);
bool cay_front_id_is_one(uid_t id);
/*
 * Gives everything below the folder that `from` owns to the new id. Nothing else may change files there
 * meanwhile.
 */
int cay_front_id_give(int folder_fd, uid_t from, uid_t to, struct cay_error *err);
