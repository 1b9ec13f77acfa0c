/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers the database's newest position outside of it, so that an older database is noticed.
 *
 * Theory of operation. Whatever makes or removes a sandbox stores an event, and event numbers only grow. So
 * the number of the last committed event is also written to a small file beside the sandboxes' files. (It is
 * not in the store's folder, which may be restored as a whole.) The file is mapped and has two slots, each
 * with a checksum. It is written after the commit and before anybody is told of it. So if the process dies,
 * the file is at most behind the database, which means nothing. When the database is behind the file, commits
 * are missing that were already reported: an older copy was restored, or the log was damaged or lost. Then
 * files without a record must not be removed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/store/db.h"

struct cay_newest_page; /* the mapping */

struct cay_newest {
        struct cay_newest_page *page; /* owned; NULL: none, and nothing is noticed */
        uint64_t seq;                 /* of the last event; 0: none is known */
        bool is_damaged;              /* the file has content that is not valid */
};

/* fd is borrowed; < 0: none. Fails silently: then an older database goes unnoticed. */
void cay_newest_open(struct cay_newest *n, int fd);
void cay_newest_close(struct cay_newest *n);
void cay_newest_set(struct cay_newest *n, uint64_t seq); /* if it is more */

/* How many events the database lacks; 0: none as far as known. UINT64_MAX: unknown. */
int cay_newest_compare(const struct cay_newest *n, struct cay_db *db, uint64_t *ret_missing,
                       struct cay_error *err);
/*
 * In one transaction: removes the values that say that all files are known (CAY_STORE_FILES_KNOWN), continues
 * event numbers after the newest, and adds an event that says what was found.
 */
int cay_newest_settle(struct cay_newest *n, struct cay_db *db, uint64_t missing, uint64_t wall_ms,
                      struct cay_error *err);
