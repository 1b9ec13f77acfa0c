/* SPDX-License-Identifier: Apache-2.0 */
/* Limits as fields. */
#include "domain/ops/limit_fields.h"

#include <inttypes.h>

/* `at` is the whole struct: cay_limit_parse finds its member by number. */
int cay_op_parse_limit(const struct cay_field *field, const char *where, const char *text, void *at,
                       struct cay_error *err)
{
        return cay_limit_parse(at, (enum cay_limit)field->nr, where, text, err);
}

const struct cay_field cay_op_limit_fields[] = {
#define CAY_LIMIT(field, word, kind, min, max, doc)                                                          \
        { word, CAY_FIELD_PARSED, 0, 0, doc, .parse = cay_op_parse_limit, .nr = CAY_LIMIT_NR_##field },
#include "domain/model/limits.def"
#undef CAY_LIMIT
        {},
};

/*
 * Inode tables are on the disk, so a file system has only so many inodes: at most one per block, and in a
 * small one those of the first group.
 */
#define INODES_OF_FEW 32000u
#define BLOCK_BYTES 4096u

int cay_op_fit_inodes(struct cay_limits *l, bool is_default, struct cay_error *err)
{
        uint64_t by_size = l->disk_bytes / BLOCK_BYTES;
        uint64_t most = by_size > INODES_OF_FEW ? by_size : INODES_OF_FEW;
        char disk[48];

        if (l->disk_bytes == 0 || l->inodes <= most)
                return 0;
        if (is_default) {
                l->inodes = most;
                return 0;
        }
        cay_limit_value_text(CAY_LIMIT_NR_disk_bytes, l->disk_bytes, disk, sizeof(disk));
        return cay_fail(err, CAY_INVALID,
                        "limits.inodes: %" PRIu64 " are more than a disk of %s can have: at most %" PRIu64
                        " here (one for each 4 KiB of limits.disk), or ask for a larger disk",
                        l->inodes, disk, most);
}
