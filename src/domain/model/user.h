/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user of a command inside a box: from a caller's text, with the image's own passwd file for names. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/error.h"

#define CAY_USER_ID_MAX 65535u      /* a box has 65,536 ids */
#define CAY_USER_DEFAULT UINT32_MAX /* the box's own default */
#define CAY_USER_OWN 1001u          /* and its number, where the box isolates */
#define CAY_USER_NAME_MAX 32
#define CAY_USER_PASSWD_MAX (1024u * 1024) /* of an image's passwd file that is looked at */

struct cay_user {
        uint32_t uid, gid;
        bool lookup;                      /* name must be found with cay_user_find first */
        char name[CAY_USER_NAME_MAX + 1]; /* for USER; "" when given by number */
};

/* NULL or "sandbox": the default; "root", "1001", "1001:100"; anything else is a name to look up. */
int cay_user_parse(const char *text, struct cay_user *ret, struct cay_error *err);
/* The number of the own user of every isolating box becomes the default, which every engine supports. */
void cay_user_settle(struct cay_user *u);
/*
 * Finds u->name in the bytes of a passwd file, which may hold anything; fills the ids. CAY_NOT_FOUND without
 * it.
 */
int cay_user_find(struct cay_user *u, const char *passwd, size_t len, struct cay_error *err);
