/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store port on SQLite: one file in the data folder, with a write-ahead log beside it.
 *
 * Theory of operation. There are two threads beside the loop, each with its own connection. The writer takes
 * everything that is queued and commits it as one transaction, with a savepoint per batch, so that one
 * refused batch undoes only itself. The reader answers queries. Both hand finished jobs back through an
 * eventfd; on_done runs on the loop. The loop's thread never touches SQLite after open: a commit can take 100
 * ms while the disk syncs. (Reading on the loop was measured too: 22 us in place against 35 us through the
 * thread, but up to 25 ms beside a busy writer.)
 *
 * A finished commit is in the log file, in the kernel's memory (synchronous=NORMAL), so the death of this
 * process does not lose it. A power cut may lose the last moment, but not consistency. Commits with
 * CAY_STORE_SURE are on the disk before they finish.
 *
 * A full disk fails the batch that met it and leaves nothing of it. Batches that drop something may then use
 * the reserve, an empty file whose blocks are released to make room and allocated again later.
 *
 * A database that SQLite finds damaged is moved aside (never removed). What is readable is copied, and an
 * event says what was lost. SQLite itself handles a truncated or damaged log: it ends at the last whole
 * commit. If that was not the last one, or the database is an older copy, newest.h notices. Then a copy of
 * the log is kept, an event says so, and files on disk without a record do not count as known.
 */
#pragma once

#include "domain/model/port_clock.h"
#include "domain/model/port_store.h"

struct cay_loop;

struct cay_store_sqlite_env {
        struct cay_loop *loop;         /* borrowed: outlives the store */
        const struct cay_clock *clock; /* borrowed; asked from other threads too */
        const char *folder;            /* exists, writable by us alone */
        int newest_fd; /* borrowed during open: a file beside the sandboxes' files (newest.h); 0: none */
};

struct cay_store_sqlite_report { /* what open found, for the log */
        bool is_new;
        bool was_damaged;
        bool has_damaged_file; /* a damaged file that was moved aside, now or earlier, is still there */
        bool is_older;         /* commits are missing that were reported (newest.h) */
        uint64_t missing;      /* so many events; UINT64_MAX: unknown */
        char moved_to[128];    /* the name, in the folder, of the damaged file */
        char damage[160];      /* what SQLite said */
        unsigned kept[CAY_STORE_KIND_COUNT]; /* records carried over, by kind */
        bool lost[CAY_STORE_KIND_COUNT]; /* reading that kind ended with an error: there may have been more */
};

/*
 * Blocks; only for the start. CAY_CONFLICT: another daemon uses this folder; CAY_DENIED: others may write to
 * it; CAY_NO_SPACE; CAY_UNSUPPORTED: a newer Cay wrote the file.
 */
int cay_store_sqlite_open(const struct cay_store_sqlite_env *env, struct cay_store **ret,
                          struct cay_store_sqlite_report *ret_report, struct cay_error *err);

extern const struct cay_clock cay_store_system_clock; /* the machine's own */
