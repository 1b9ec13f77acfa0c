/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps SQLite: only this file, record.c, apply.c and select.c call it. */

#include "daemon/store/db.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUSY_MS = 5000 };

/*
 * NORMAL: see store_sqlite.h. FAST: dropped secrets are overwritten if that costs no extra write. The size
 * limit shrinks the log after a burst.
 */
static const char write_pragmas[] = "PRAGMA journal_mode=WAL;"
                                    "PRAGMA synchronous=NORMAL;"
                                    "PRAGMA secure_delete=FAST;"
                                    "PRAGMA journal_size_limit=8388608;";
static const char pragmas[] = "PRAGMA temp_store=MEMORY;"
                              "PRAGMA cache_size=-1024;"
                              "PRAGMA trusted_schema=OFF;"
                              "PRAGMA cell_size_check=ON;";

static enum cay_code code_of(int rc, int sys)
{
        if (sys == ENOSPC || sys == EDQUOT)
                return CAY_NO_SPACE;
        switch (rc & 0xff) {
        case SQLITE_FULL:
                return CAY_NO_SPACE;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
        case SQLITE_READONLY:
        case SQLITE_CANTOPEN:
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
                return CAY_UNAVAILABLE;
        case SQLITE_TOOBIG:
                return CAY_LIMIT;
        default:
                return CAY_INTERNAL;
        }
}

int cay_db_fail(struct cay_db *db, int rc, struct cay_error *err, const char *what)
{
        const char *text = db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(rc);
        int sys = db->handle ? sqlite3_system_errno(db->handle) : 0;
        enum cay_code code;

        if ((rc & 0xff) != SQLITE_IOERR && (rc & 0xff) != SQLITE_CANTOPEN && (rc & 0xff) != SQLITE_FULL)
                sys = 0; /* of some earlier call */
        code = code_of(rc, sys);
        if ((rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB)
                sys = EUCLEAN;
        cay_fail(err, code, "store: %s: %s", what,
                 code == CAY_NO_SPACE ? "no space left for the state" : text);
        err->sys = sys;
        return -1;
}

bool cay_db_is_damage(const struct cay_error *err)
{
        return err->sys == EUCLEAN;
}

int cay_db_run(struct cay_db *db, const char *sql, struct cay_error *err)
{
        int rc = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);

        return rc == SQLITE_OK ? 0 : cay_db_fail(db, rc, err, "run");
}

static int set_up(struct cay_db *db, enum cay_db_how how, struct cay_error *err)
{
        sqlite3_busy_timeout(db->handle, BUSY_MS);
        sqlite3_extended_result_codes(db->handle, 1);
        sqlite3_limit(db->handle, SQLITE_LIMIT_ATTACHED, 0);
        if (cay_db_run(db, pragmas, err) < 0)
                return -1;
        return how == CAY_DB_WRITE ? cay_db_run(db, write_pragmas, err) : 0;
}

/*
 * The first connection truncates the log's index and extends it again. On a full disk its blocks would be
 * lost in between. Zeros written over it have the same effect.
 */
#define INDEX_EMPTY 3
#define INDEX_MOST (1 << 20)

static int truncate_file(int fd, off_t size)
{
        static const char nothing[4096];
        struct stat st;

        if (size != INDEX_EMPTY || fstat(fd, &st) < 0 || st.st_size <= size || st.st_size > INDEX_MOST)
                return ftruncate(fd, size);
        for (off_t at = 0; at < st.st_size;) {
                size_t len = st.st_size - at < (off_t)sizeof(nothing) ? (size_t)(st.st_size - at)
                                                                      : sizeof(nothing);
                ssize_t n = pwrite(fd, nothing, len, at);

                if (n <= 0)
                        return ftruncate(fd, size);
                at += n;
        }
        return 0;
}

static void set_up_files(void)
{
        static _Atomic bool is_done;
        sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

        if (!atomic_exchange(&is_done, true))
                vfs->xSetSystemCall(vfs, "ftruncate", (sqlite3_syscall_ptr)truncate_file);
}

/* Log and index keep their blocks when the last connection closes; store_open.c says why. */
static void keep_log_file(struct cay_db *db)
{
        int yes = 1;

        sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_PERSIST_WAL, &yes);
}

int cay_db_open(struct cay_db *db, const char *path, enum cay_db_how how, struct cay_error *err)
{
        int flags = how == CAY_DB_WRITE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY,
            rc;

        *db = (struct cay_db){ 0 };
        set_up_files();
        rc = sqlite3_open_v2(path, &db->handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, NULL);
        if (rc != SQLITE_OK) {
                cay_db_fail(db, rc, err, "open");
        } else if (set_up(db, how, err) == 0) {
                keep_log_file(db);
                return 0;
        }
        cay_db_close(db);
        return -1;
}

bool cay_db_close_last(struct cay_db *db)
{
        int in_log = -1, copied = -1, rc = SQLITE_MISUSE;
        struct cay_error ignored;

        /* Otherwise SQLite would truncate the log and free its blocks. */
        if (db->handle) {
                cay_db_run(db, "PRAGMA journal_size_limit=-1", &ignored);
                rc = sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_FULL, &in_log, &copied);
        }
        cay_db_close(db);
        return rc == SQLITE_OK && in_log == copied;
}

void cay_db_close(struct cay_db *db)
{
        for (unsigned i = 0; i < CAY_DB_STATEMENTS; i++)
                sqlite3_finalize(db->statements[i]);
        sqlite3_close(db->handle);
        *db = (struct cay_db){ 0 };
}

sqlite3_stmt *cay_db_statement(struct cay_db *db, unsigned slot, const char *sql, struct cay_error *err)
{
        assert(slot < CAY_DB_STATEMENTS);
        if (!db->statements[slot]) {
                int rc = sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                            &db->statements[slot], NULL);

                if (rc != SQLITE_OK) {
                        cay_db_fail(db, rc, err, "prepare");
                        return NULL;
                }
        }
        sqlite3_reset(db->statements[slot]);
        sqlite3_clear_bindings(db->statements[slot]);
        return db->statements[slot];
}

int cay_db_step(struct cay_db *db, sqlite3_stmt *stmt, struct cay_error *err)
{
        int rc = sqlite3_step(stmt);

        if (rc == SQLITE_ROW)
                return 1;
        if (rc != SQLITE_DONE)
                cay_db_fail(db, rc, err, "step"); /* before reset, which forgets the reason */
        sqlite3_reset(stmt);
        return rc == SQLITE_DONE ? 0 : -1;
}

int cay_db_number(struct cay_db *db, const char *sql, int64_t *ret, struct cay_error *err)
{
        sqlite3_stmt *stmt = NULL;
        int rc = sqlite3_prepare_v2(db->handle, sql, -1, &stmt, NULL), r;

        if (rc != SQLITE_OK)
                return cay_db_fail(db, rc, err, "prepare");
        r = cay_db_step(db, stmt, err);
        if (r > 0)
                *ret = sqlite3_column_int64(stmt, 0);
        else if (r == 0)
                cay_fail(err, CAY_INTERNAL, "store: a number is missing");
        sqlite3_finalize(stmt);
        return r > 0 ? 0 : -1;
}

bool cay_db_in_transaction(const struct cay_db *db)
{
        return sqlite3_get_autocommit(db->handle) == 0;
}
