/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's operations as the CLI knows them. tools/gen_cli writes the table at build time from the rows
 * of src/domain/ops, which this program cannot link (it links only libc). A new op, field or text there
 * appears here with the next build.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/field.h"

struct cay_cli_op {
        const char *name;   /* "sandbox_create" */
        const char *method; /* "POST" */
        const char *path;   /* "/api/sandboxes/{id}/stop"; names in braces are fields */
        const char *doc;
        const char *scope; /* "read", "exec", "admin"; "" for anybody */
        bool takes_bytes;  /* the body is bytes; fields go into the query */
        bool streams, destroys;
        const struct cay_field *fields; /* never NULL; its offsets and functions are not valid here */
};

/* All of them; made at the first call. */
const struct cay_cli_op *cay_cli_ops(unsigned *ret_count);
const struct cay_cli_op *cay_cli_op_find(const char *name); /* NULL: none */

/*
 * The content of the generated file: rows without pointers, which would need relocation at every start, and
 * memory for the tables.
 */
struct cay_cli_field_row {
        uint32_t name, doc; /* places in the texts */
        int kind;
        uint64_t flags, min, max;
        size_t item_max;
        unsigned fields; /* offset of an object's own table; 0: none */
};

struct cay_cli_op_row {
        uint32_t name, method, path, doc, scope;
        bool takes_bytes, streams, destroys;
        unsigned fields;
};

struct cay_cli_tables {
        const char *texts;
        const struct cay_cli_field_row *field_rows;
        unsigned field_count;
        const struct cay_cli_op_row *op_rows;
        unsigned op_count;
        struct cay_field *fields;
        struct cay_cli_op *ops;
};

struct cay_cli_tables cay_cli_tables_get(void);
