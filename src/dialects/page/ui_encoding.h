/* SPDX-License-Identifier: Apache-2.0 */
/* Which encoding of a file a browser takes. */
#pragma once

#include <stdbool.h>

/* Whether the value of an Accept-Encoding field allows gzip. NULL: there is no such field, and it does not. */
bool cay_ui_accepts_gzip(const char *value);
