/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives up privileges. The front starts with the keeper's privileges, to read the secret and a certificate.
 * It gives them all up before it reads a client's first byte.
 *
 * Started by root, the front becomes an id of its own (front_id.h) whose root folder is the state folder. It
 * can reach the database and the output of commands by name, and nothing else on the machine. Started by an
 * ordinary user, it stays that user. In both cases it has no capabilities, no new privileges, no core dumps,
 * and cannot be traced.
 */
#pragma once

#include <stdbool.h>

#include "foundation/base/error.h"
#include "cay-front/front_id.h"

#define CAY_FRONT_STATE "state" /* in the data folder */

/*
 * Opens the state folder, and makes it if needed, owned by the front's id (front_id.h; only if we are root).
 * Call it before the drop.
 */
int cay_front_state_open(int data_fd, uid_t id, int *ret_fd, struct cay_error *err);
/* *ret_is_root: the state folder is "/" now. */
int cay_front_drop(int state_fd, uid_t id, bool *ret_is_root, struct cay_error *err);
