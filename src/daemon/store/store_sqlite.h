/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store port on SQLite: one file in the data folder, a write-ahead log beside it.
 *
 * Theory of operation. Two threads beside the loop, each with a connection of its own: the writer takes everything that is queued
 * and commits it as one transaction (a savepoint per batch, so that one refused batch undoes only itself); the
 * reader answers queries. Both hand finished jobs back through an eventfd; on_done runs on the loop. The loop thread
 * itself never touches SQLite after open: a commit can pause for 100 ms while the disk syncs. (Reading on the loop was
 * measured too: 22 us in place against 35 us through the thread, but up to 25 ms beside a busy writer.)
 *
 * What a finished commit promises: the bytes are in the log file, in the kernel's hands (synchronous=NORMAL): the death of this
 * process, at any instruction, does not lose them. A power cut may take the last moment, never consistency; commits asked
 * for as CAY_STORE_SURE are on the disk before they are finished.
 *
 * A full disk fails the batch that met it and leaves nothing of it. Batches that drop something may then use the
 * reserve, a file of no content that is given up to make room and taken back when there is some.
 *
 * A database that SQLite finds damaged is moved aside (never removed), what can still be read is carried over, and an event
 * says what was lost. A cut or damaged log is SQLite's ordinary business: it ends with the last whole commit. When that was not the last
 * one, or the database is an older copy, newest.h notices: the log is copied to a name that stays, an event says it, and nothing counts as known
 * that lies on disk without a record.
 */
#pragma once

#include "domain/model/port_clock.h"
#include "domain/model/port_store.h"

struct cay_loop;

struct cay_store_sqlite_env {
        struct cay_loop *loop;         /* borrowed: outlives the store */
        const struct cay_clock *clock; /* borrowed; asked from other threads too */
        const char *folder;            /* exists, writable by us and by nobody else */
        int newest_fd; /* borrowed during open: a file beside what records are about (newest.h); 0: none */
};

struct cay_store_sqlite_report { /* what open met, for the log */
        bool is_new;
        bool was_damaged;
        bool has_damaged_file;               /* one that was moved aside, now or earlier, still lies there */
        bool is_older;                       /* commits are missing that somebody was told of (newest.h) */
        uint64_t missing;                    /* so many events; UINT64_MAX: nobody can tell */
        char moved_to[128];                  /* the name, in the folder, of the damaged file */
        char damage[160];                    /* what SQLite said */
        unsigned kept[CAY_STORE_KIND_COUNT]; /* records carried over, by kind */
        bool lost[CAY_STORE_KIND_COUNT]; /* reading that kind ended with an error: there may have been more */
};

/*
 * Blocks; start-up only. CAY_CONFLICT: another daemon has this folder; CAY_DENIED: others may write to it;
 * CAY_NO_SPACE; CAY_UNSUPPORTED: the file was written by a newer Cay.
 */
int cay_store_sqlite_open(const struct cay_store_sqlite_env *env, struct cay_store **ret,
                          struct cay_store_sqlite_report *ret_report, struct cay_error *err);

extern const struct cay_clock cay_store_system_clock; /* the machine's own */
