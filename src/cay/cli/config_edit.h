/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds an entry to a configuration file of another program, and leaves the rest as it is, byte for byte:
 * comments, order, indentation, line ends, a byte order mark. Pure: text in, text out. A text that is not
 * understood whole is refused, never changed.
 *
 * JSON may have comments and commas after the last member, as editors allow. Of TOML, strings, comments and
 * the heads of tables are understood; what else there is on a line does not matter here.
 */
#pragma once

#include <stdbool.h>

#include "foundation/base/buf.h"
#include "foundation/base/error.h"

#define CAY_CONFIG_EDIT_MAX (4u * 1024 * 1024)

enum cay_config_edit {
        CAY_CONFIG_SAME,  /* the entry is there already */
        CAY_CONFIG_ADDED, /* it was not there */
        CAY_CONFIG_OTHER, /* there is another of that name, which was replaced in `out` */
};

/*
 * A NUL is behind the text. The member `name` of the member `group` of the object that the text is; value:
 * JSON. -1: err says why not.
 */
int cay_config_edit_json(const char *text, size_t len, const char *group, const char *name, const char *value,
                         struct cay_buf *out, struct cay_error *err);
/* The table [group.name]; body: its lines, each with its end. */
int cay_config_edit_toml(const char *text, size_t len, const char *group, const char *name, const char *body,
                         struct cay_buf *out, struct cay_error *err);
