/* SPDX-License-Identifier: Apache-2.0 */
/* A file in E2B's words (EntryInfo). */
#pragma once

#include "foundation/base/json_out.h"
#include "foundation/json/json_in.h"

/*
 * An object; file is a File of Cay, path its absolute path. target: what a link points to, as a File; NULL:
 * not a link, or it points nowhere.
 */
void e2b_entry_put(struct cay_json *j, const struct cay_json_value *file, const char *path,
                   const struct cay_json_value *target);
