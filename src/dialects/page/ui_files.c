/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded files. */
#include "dialects/page/ui_files.h"

#define CAY_UI_BYTES 1
#include "web_files.inc"
#undef CAY_UI_BYTES

#define CAY_UI_FILE(number, route, type, tag, len, packed_len)                                               \
        { type, "\"" tag "\"",          "\"" tag "-gz\"", cay_ui_bytes_##number,                             \
          len,  cay_ui_packed_##number, packed_len },
const struct cay_ui_file cay_ui_files[] = {
#include "web_files.inc"
};
