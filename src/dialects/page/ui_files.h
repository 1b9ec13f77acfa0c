/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded files, in the order of web/meson.build. */
#pragma once

#include <stddef.h>

struct cay_ui_file {
        const char *type;
        const char *tag; /* changes with the bytes; in quotes, as in ETag */
        const char *packed_tag;
        const unsigned char *bytes;
        size_t len;
        const unsigned char *packed; /* the same bytes, compressed with gzip */
        size_t packed_len;           /* 0: not smaller */
};

extern const struct cay_ui_file cay_ui_files[];
