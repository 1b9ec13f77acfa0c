/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of file_read and file_write, for ops that write files as one of their steps. */
#pragma once

#include "domain/ops/op.h"

#define CAY_OP_FILE_METADATA 12287u    /* of the text, three times what a file can have */
#define CAY_OP_FILE_METADATA_NAME 246u /* with "user.e2b." 255 bytes */

struct cay_file_bytes_args {
        const char *id, *path, *mode, *if_tag, *metadata;
        uint64_t offset, length, tail;
        bool parents, exclusive, append, as_root, has_offset, has_length, has_tail;
};

extern const struct cay_op cay_op_file_write;
