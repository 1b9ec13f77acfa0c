/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving up privileges: the front starts with those of the keeper, to read the secret and a certificate, and lets all go before
 * it reads the first byte of a stranger.
 *
 * Started by root it becomes an id of its own (no account is needed: nobody else has that number) whose root folder is the
 * state folder: it can reach the database and the output of commands by name, and nothing else of the machine. Started by a person it
 * stays that person. Either way: no capabilities, no new privileges, no core dumps, nobody may attach.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

#define CAY_FRONT_ID 0x6ca7 /* uid and gid */

/*
 * Opens (makes, if it is not there) the state folder, owned by the front's id. Before the drop.
 */
int cay_front_state_open(int data_fd, int *ret_fd, struct cay_error *err);
/* *ret_is_root: the state folder is "/" now. */
int cay_front_drop(int state_fd, bool *ret_is_root, struct cay_error *err);
