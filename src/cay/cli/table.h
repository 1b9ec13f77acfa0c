/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers for people: JSON values as a table with aligned columns, or as a list of one object's members.
 * Control characters are escaped.
 */
#pragma once

#include <stdio.h>

#include "foundation/base/error.h"
#include "foundation/base/json_view.h"

enum cay_cell {
        CAY_CELL_TEXT,     /* a string; "-" for null and "" */
        CAY_CELL_STATUS,   /* the same, coloured */
        CAY_CELL_NUMBER,   /* as it stands there */
        CAY_CELL_BYTES,    /* "256M" */
        CAY_CELL_SIZE,     /* the same; "-" for 0: none */
        CAY_CELL_MILLI,    /* thousandths: "0.5" */
        CAY_CELL_MS,       /* a duration: "1.2s", "5m", "3h" */
        CAY_CELL_LIMIT_MS, /* the same; "-" for 0: no limit */
        CAY_CELL_US,       /* the same, of microseconds */
        CAY_CELL_AGE,      /* how long ago a time was */
        CAY_CELL_WHEN,     /* a time, here */
        CAY_CELL_COMMAND,  /* a line, or words */
        CAY_CELL_PAIRS,    /* an object's members: "a=1 b=2" */
        CAY_CELL_LIST,     /* an array's items */
        CAY_CELL_QUOTED,   /* the same, each in quotes */
        CAY_CELL_PORTS,    /* of a sandbox: "3000->80", and "80" while it is stopped */
        CAY_CELL_VOLUMES,  /* of a sandbox: "data:/data:ro" */
        CAY_CELL_BOOL,     /* yes, no */
        CAY_CELL_JSON,     /* as it is */
        CAY_CELL_WHOLE, /* of a record: a text of any length as it is, other values as JSON, without a head */
};

/* Texts are arrays in the rows: pointers would need relocation at every start of the program. */
struct cay_column {
        char head[16]; /* "" ends a table of columns */
        char path[24]; /* "limits.memory_bytes"; "" is the value itself */
        enum cay_cell kind;
        bool if_any; /* omitted from a table if no row has it */
        bool may_go; /* omitted if a terminal is too narrow; the last of them first */
};

#define CAY_CELL_MAX 512u

/* A cell's text, escaped; returns ret. */
const char *cay_cell_format(struct cay_json_view value, enum cay_cell kind, char ret[CAY_CELL_MAX]);
/* A head line and a line per item; nothing for an empty array. On a terminal lines are cut to its width. */
int cay_table_print(FILE *out, struct cay_json_view array, const struct cay_column *columns,
                    struct cay_error *err);
void cay_record_print(FILE *out, struct cay_json_view object, const struct cay_column *columns);

const char *cay_bytes_text(uint64_t bytes, char *ret, size_t size); /* "1.5G" */
const char *cay_ms_text(uint64_t ms, char *ret, size_t size);
