/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's operations as the CLI knows them. The table is written at build time by tools/gen_cli out of
 * src/domain/ops's own rows, which this program cannot link (it has no library but libc): a new op, field or
 * text there is here with the next build.
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
        const struct cay_field *fields; /* never NULL; offsets and functions in it mean nothing here */
};

/* All of them; made at the first call. */
const struct cay_cli_op *cay_cli_ops(unsigned *ret_count);
const struct cay_cli_op *cay_cli_op_find(const char *name); /* NULL: none */

/*
 * What the generated file holds: rows without pointers, which would cost at every start, and room for the
 * tables.
 */
struct cay_cli_field_row {
        uint32_t name, doc; /* places in the texts */
        int kind;
        uint64_t flags, min, max;
        size_t item_max;
        unsigned fields; /* place of an object's own; 0: none */
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
