/* SPDX-License-Identifier: Apache-2.0 */
/* The tables, as steps that bring any older file to today's form; a file's user_version counts the steps it has had. */
#pragma once

#include "daemon/store/db.h"

/* In one transaction. CAY_UNSUPPORTED: the file has had steps that this program does not know. *ret_is_new: it had none. */
int cay_schema_migrate(struct cay_db *db, bool *ret_is_new, struct cay_error *err);
unsigned cay_schema_version(void);
