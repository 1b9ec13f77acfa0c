/* SPDX-License-Identifier: Apache-2.0 */
/* One SQLite connection, with our options, errors and cached statements. Used by one thread at a time. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

#include "foundation/base/error.h"

#define CAY_DB_STATEMENTS 32

struct cay_db {
        sqlite3 *handle;                             /* owned; NULL: closed */
        sqlite3_stmt *statements[CAY_DB_STATEMENTS]; /* owned; made when first used */
};

enum cay_db_how {
        CAY_DB_WRITE, /* made if missing */
        CAY_DB_READ,
};

/* CAY_UNAVAILABLE with sys = EUCLEAN: the file is damaged or not a database. */
int cay_db_open(struct cay_db *db, const char *path, enum cay_db_how how, struct cay_error *err);
/* For the writer's connection, closed last: the log keeps its blocks. */
bool cay_db_close_last(struct cay_db *db); /* true: the database holds all of its log */
void cay_db_close(struct cay_db *db);      /* fine when closed */
int cay_db_run(struct cay_db *db, const char *sql, struct cay_error *err);
/* The statement in a slot, prepared from sql the first time, reset and without bindings. NULL: see err. */
sqlite3_stmt *cay_db_statement(struct cay_db *db, unsigned slot, const char *sql, struct cay_error *err);
/* One step. 1: a row, 0: done, -1: see err; after 0 and -1 the statement is reset. */
int cay_db_step(struct cay_db *db, sqlite3_stmt *stmt, struct cay_error *err);
/* A single number; -1: see err. */
int cay_db_number(struct cay_db *db, const char *sql, int64_t *ret, struct cay_error *err);
int cay_db_fail(struct cay_db *db, int rc, struct cay_error *err,
                const char *what); /* fills err, returns -1 */
bool cay_db_is_damage(const struct cay_error *err);
bool cay_db_in_transaction(const struct cay_db *db);
