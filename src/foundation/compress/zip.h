/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a zip archive, piece by piece and without going back: files are stored as they are, and the sum and
 * the size of each follow it. At most CAY_ZIP_FILES_MAX files and 4 GiB in all. The owner writes a file's
 * bytes behind its head itself, and tells of them.
 *
 *      cay_zip_begin(&z, "a.txt", wall_s, &out);   send out
 *      cay_zip_bytes(&z, bytes, len);              send bytes
 *      cay_zip_end(&z, &out);                      send out
 *      cay_zip_finish(&z, &out);                   send out
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/buf.h"

#define CAY_ZIP_FILES_MAX 1024u
#define CAY_ZIP_BYTES_MAX 0xf0000000ull /* of the whole archive: what lies before the limit of the format */
#define CAY_ZIP_NAME_MAX 512u

struct cay_zip {     /* zeroed */
        uint64_t at; /* bytes so far */
        /* private */
        struct cay_buf table; /* the directory, which is the end of it */
        uint64_t head_at, size;
        uint32_t crc, dos_time;
        unsigned count;
        char name[CAY_ZIP_NAME_MAX + 1];
        bool is_open;
};

/*
 * Each appends to `out` what is to be sent. 0; -E2BIG: too many files or bytes; -ENOMEM, -ENOSPC; -EINVAL:
 * out of order.
 */
int cay_zip_begin(struct cay_zip *z, const char *name, uint64_t wall_s, struct cay_buf *out);
int cay_zip_bytes(struct cay_zip *z, const void *bytes, size_t len);
int cay_zip_end(struct cay_zip *z, struct cay_buf *out);
int cay_zip_finish(struct cay_zip *z, struct cay_buf *out);
void cay_zip_done(struct cay_zip *z); /* frees; accepts a zeroed one */
