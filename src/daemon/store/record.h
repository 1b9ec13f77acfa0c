/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of domain/model/port_store.h as tables. One row per column says how a member is copied, bound
 * and read. A new member needs a row here and a step in schema.c.
 */
#pragma once

#include <sqlite3.h>

#include "foundation/base/arena.h"
#include "domain/model/port_store.h"

enum cay_column_kind {
        CAY_COLUMN_TEXT,
        CAY_COLUMN_U64,
        CAY_COLUMN_I64,
        CAY_COLUMN_BYTES32, /* a secret or a hash */
        CAY_COLUMN_LIMITS,  /* struct cay_limits as text: "memory=268435456 pids=50" */
};

struct cay_column {
        const char *name;
        enum cay_column_kind kind;
        size_t offset;
};

struct cay_record_table {
        const char *name;
        const struct cay_column *columns;
        unsigned count;
        bool is_numbered; /* order is a number */
        bool is_dropped;  /* drop is allowed */
        bool is_updated; /* put repeatedly: updated in place, except the columns it is found and ordered by */
        size_t size;     /* of the record's struct */
        const char *id;  /* column that query.id and drop name */
        const char *sandbox; /* columns that queries filter by; NULL: has none */
        const char *owner;
        const char *order;     /* column that orders the rows; numbers also take after and before */
        const char *backwards; /* terms that walk the table backwards */
};

const struct cay_record_table *cay_record_table(enum cay_store_kind kind);

/* A copy with all its texts; NULL: no memory, or (*ret_too_long) a text is longer than CAY_STORE_TEXT_MAX. */
void *cay_record_copy(const struct cay_record_table *t, const void *record, struct cay_arena *mem,
                      bool *ret_too_long);
/* Binds column i to parameter i + 1; an SQLite code. */
int cay_record_bind(const struct cay_record_table *t, const void *record, sqlite3_stmt *stmt);
/* The current row of stmt, its columns in the table's order; NULL: no memory. */
void *cay_record_read(const struct cay_record_table *t, sqlite3_stmt *stmt, struct cay_arena *mem);
/* "id, name, …" into buf; the column names of any table fit. */
#define CAY_RECORD_NAMES_MAX 512
#define CAY_RECORD_SQL_MAX 2048
void cay_record_names(const struct cay_record_table *t, char buf[CAY_RECORD_NAMES_MAX]);
/*
 * "INSERT OR REPLACE INTO … VALUES(?,…)", with parameters as cay_record_bind fills them. Replacing deletes
 * and inserts in the table and all its indexes, so rows that change often are updated instead ("ON
 * CONFLICT…").
 */
void cay_record_insert_sql(const struct cay_record_table *t, char sql[CAY_RECORD_SQL_MAX]);
