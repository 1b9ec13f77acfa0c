/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the database was, kept beside what its records are about, so that an older one is noticed.
 *
 * Theory of operation. Whatever makes or removes a sandbox puts an event, and the numbers of events only grow. So the number of the last
 * event that was committed is also written to a small file that lies beside the sandboxes' files (not in the store's folder: that may be put
 * back as a whole). It is mapped, has two slots with a checksum each, and is written after the commit and before anybody is told of
 * it: the death of a process leaves it at most behind the database, which says nothing. When the database is behind the file, commits are missing
 * that somebody was told of: an older copy was put back, or the log was damaged or lost. Then what no record knows of is
 * not to be removed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/store/db.h"

struct cay_newest_page; /* the mapping */

struct cay_newest {
        struct cay_newest_page *page; /* owned; NULL: there is none, and nothing is noticed */
        uint64_t seq;                 /* of the last event; 0: none is known */
        bool is_damaged;              /* there is something in the file, and it says nothing */
};

/* fd is borrowed; < 0: none. Fails silently: then nothing is noticed. */
void cay_newest_open(struct cay_newest *n, int fd);
void cay_newest_close(struct cay_newest *n);
void cay_newest_set(struct cay_newest *n, uint64_t seq); /* if it is more */

/* How many events the database lacks; 0: none that one knows of. UINT64_MAX: nobody can tell. */
int cay_newest_compare(const struct cay_newest *n, struct cay_db *db, uint64_t *ret_missing,
                       struct cay_error *err);
/*
 * In one transaction: the values that say that all files are known (CAY_STORE_FILES_KNOWN) go, events are numbered on behind
 * the newest, and an event says what was found.
 */
int cay_newest_settle(struct cay_newest *n, struct cay_db *db, uint64_t missing, uint64_t wall_ms,
                      struct cay_error *err);
