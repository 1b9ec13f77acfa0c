/* SPDX-License-Identifier: Apache-2.0 */
/* What file_read and file_write are asked for: for ops that write files on the way. */
#pragma once

#include "domain/ops/op.h"

struct cay_file_bytes_args {
        const char *id, *path, *mode, *if_tag;
        uint64_t offset, length, tail;
        bool parents, exclusive, append, as_root, has_offset, has_length, has_tail;
};

extern const struct cay_op cay_op_file_write;
