/* SPDX-License-Identifier: Apache-2.0 */
/* Which encoding of a file a browser accepts. */
#pragma once

#include <stdbool.h>

/* Whether the value of an Accept-Encoding field allows gzip. NULL: no such field, so no. */
bool cay_ui_accepts_gzip(const char *value);
