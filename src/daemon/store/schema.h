/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables, as steps that bring any older file to the current form. A file's user_version counts its steps.
 */
#pragma once

#include "daemon/store/db.h"

/*
 * In one transaction. CAY_UNSUPPORTED: the file has steps that this program does not know. *ret_is_new: it
 * had none.
 */
int cay_schema_migrate(struct cay_db *db, bool *ret_is_new, struct cay_error *err);
unsigned cay_schema_version(void);
