/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving up privileges: the front starts with those of the keeper, to read the secret and a certificate, and lets all go before
 * it reads the first byte of a stranger.
 *
 * Started by root it becomes an id of its own (front_id.h) whose root folder is the
 * state folder: it can reach the database and the output of commands by name, and nothing else of the machine. Started by a person it
 * stays that person. Either way: no capabilities, no new privileges, no core dumps, nobody may attach.
 */
#pragma once

#include <stdbool.h>

#include "foundation/base/error.h"
#include "cay-front/front_id.h"

#define CAY_FRONT_STATE "state" /* in the data folder */

/*
 * Opens (makes, if it is not there) the state folder, owned by the front's id (front_id.h; where root is not our caller it is not used). Before
 * the drop.
 */
int cay_front_state_open(int data_fd, uid_t id, int *ret_fd, struct cay_error *err);
/* *ret_is_root: the state folder is "/" now. */
int cay_front_drop(int state_fd, uid_t id, bool *ret_is_root, struct cay_error *err);
