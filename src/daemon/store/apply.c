/* SPDX-License-Identifier: Apache-2.0 */
/* Writes batches into the database; apply.h has the theory of operation. */

#include "daemon/store/apply.h"

#include <errno.h>
#include <inttypes.h>

#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "daemon/store/record.h"
#include "domain/auth/journal_chain.h"

enum { /* statements of the writer's connection */
       S_PUT,
       S_DROP = S_PUT + CAY_STORE_KIND_COUNT,
       S_DROP_EXECS = S_DROP + CAY_STORE_KIND_COUNT,
       S_CLAIM_FIND,
       S_CLAIM_OLD,
       S_CLAIM_MOST,
       S_CLAIM_OWNER,
       S_CLAIM_OLDEST,
       S_EVENT_AGE,
       S_EVENT_MOST,
       S_EVENT_OWNER,
       S_EVENT_LAST,
       S_EXEC_COUNT,
       S_BEGIN,
       S_COMMIT,
       S_SAVE,
       S_RELEASE,
       S_COUNT
};

_Static_assert(S_COUNT <= CAY_DB_STATEMENTS, "a slot for every statement");

enum {
        CLAIMS_AT_ONCE = 1000, /* evicted together, because the search for a victim is slow */
        CLAIMS_FAIR = 2000,    /* an owner with fewer does not fill the table */
        EVERY_CLAIMS = 256,
        EVERY_EVENTS = 256,
        EVENTS_AT_ONCE = 2000, /* likewise */
        EVERY_EXECS = 32,
        MARK_MS = 10000,
        LOG_PAGES_IDLE = 250,
        LOG_PAGES_BUSY = 2000,
};

#define OWNER_SIZE 256u

/* SQLite calls this after each commit; by default it would checkpoint inside the commit. */
static int note_log(void *ctx, sqlite3 *handle, const char *name, int pages)
{
        ((struct cay_apply *)ctx)->log_pages = pages;
        return SQLITE_OK;
}

void cay_apply_init(struct cay_apply *a, const struct cay_clock *clock, uint64_t offset_ms)
{
        a->clock = clock;
        a->offset_ms = offset_ms;
        a->claims = a->events = -1;
        sqlite3_wal_hook(a->db.handle, note_log, a);
}

bool cay_apply_is_untidy(const struct cay_apply *a)
{
        return a->log_pages >= LOG_PAGES_IDLE;
}

void cay_apply_checkpoint(struct cay_apply *a, bool is_idle)
{
        if (a->log_pages < (is_idle ? LOG_PAGES_IDLE : LOG_PAGES_BUSY))
                return;
        /*
         * Pages that cannot be moved now (a reader uses them, the disk is full) stay in the log, which is
         * harmless.
         */
        sqlite3_wal_checkpoint_v2(a->db.handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        a->log_pages = 0; /* not again before the next commit */
}

uint64_t cay_apply_now_ms(const struct cay_apply *a)
{
        struct cay_clock_reading now;

        a->clock->read(a->clock, &now);
        return now.boot_ms + a->offset_ms;
}

/* Steps to the end and ignores rows. */
static int finish(struct cay_apply *a, sqlite3_stmt *stmt, struct cay_error *err)
{
        int r;

        do
                r = cay_db_step(&a->db, stmt, err);
        while (r > 0);
        return r;
}

static int run_statement(struct cay_apply *a, unsigned slot, const char *sql, struct cay_error *err)
{
        sqlite3_stmt *stmt = cay_db_statement(&a->db, slot, sql, err);

        return stmt ? finish(a, stmt, err) : -1;
}

static int run_number(struct cay_apply *a, unsigned slot, const char *sql, int64_t v, struct cay_error *err)
{
        sqlite3_stmt *stmt = cay_db_statement(&a->db, slot, sql, err);

        if (!stmt)
                return -1;
        sqlite3_bind_int64(stmt, 1, v);
        return finish(a, stmt, err);
}

static sqlite3_stmt *put_statement(struct cay_apply *a, enum cay_store_kind kind, struct cay_error *err)
{
        char sql[CAY_RECORD_SQL_MAX] = "";

        if (!a->db.statements[S_PUT + kind]) /* else it is made already */
                cay_record_insert_sql(cay_record_table(kind), sql);
        return cay_db_statement(&a->db, S_PUT + kind, sql, err);
}

static int put_record(struct cay_apply *a, enum cay_store_kind kind, const void *record,
                      struct cay_error *err)
{
        sqlite3_stmt *stmt = put_statement(a, kind, err);
        int rc;

        if (!stmt)
                return -1;
        rc = cay_record_bind(cay_record_table(kind), record, stmt);
        if (rc != SQLITE_OK)
                return cay_db_fail(&a->db, rc, err, "bind");
        if (kind == CAY_STORE_EVENT)
                sqlite3_bind_null(stmt, 1); /* seq: SQLite gives the next */
        return finish(a, stmt, err);
}

/* Claims */

static int count_claims(struct cay_apply *a, struct cay_error *err)
{
        return a->claims >= 0 ? 0 : cay_db_number(&a->db, "SELECT count(*) FROM claims", &a->claims, err);
}

/* The owner with most rows, and how many; `sql` selects it. *ret_count 0: none. */
static int find_most(struct cay_apply *a, unsigned slot, const char *sql, char ret_owner[OWNER_SIZE],
                     int64_t *ret_count, struct cay_error *err)
{
        sqlite3_stmt *stmt = cay_db_statement(&a->db, slot, sql, err);
        int r = stmt ? cay_db_step(&a->db, stmt, err) : -1;
        const char *owner;

        if (r < 0)
                return -1;
        *ret_count = 0;
        if (r == 0)
                return 0;
        owner = (const char *)sqlite3_column_text(stmt, 0);
        if (owner && cay_str_copy(ret_owner, OWNER_SIZE, owner))
                *ret_count = sqlite3_column_int64(stmt, 1);
        sqlite3_reset(stmt);
        return 0;
}

/* `sql` has the owner as ?1 and a number as ?2. */
static int run_of_owner(struct cay_apply *a, unsigned slot, const char *sql, const char *owner, int64_t v,
                        struct cay_error *err)
{
        sqlite3_stmt *stmt = cay_db_statement(&a->db, slot, sql, err);

        if (!stmt)
                return -1;
        sqlite3_bind_text(stmt, 1, owner, -1, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 2, v);
        return finish(a, stmt, err);
}

/*
 * Evicts the oldest of the owner who fills the table, so that one owner cannot evict another's; else the
 * oldest of all.
 */
static int evict_claims(struct cay_apply *a, struct cay_error *err)
{
        char owner[OWNER_SIZE] = "";
        int64_t count;

        if (find_most(a, S_CLAIM_MOST,
                      "SELECT owner, count(*) FROM claims GROUP BY owner ORDER BY 2 DESC LIMIT 1", owner,
                      &count, err) < 0)
                return -1;
        if (count >= CLAIMS_FAIR)
                return run_of_owner(a, S_CLAIM_OWNER,
                                    "DELETE FROM claims WHERE owner = ?1 AND key IN (SELECT key FROM claims"
                                    " WHERE owner = ?1 ORDER BY created_ms LIMIT ?2)",
                                    owner, CLAIMS_AT_ONCE, err);
        return run_number(
                a, S_CLAIM_OLDEST,
                "DELETE FROM claims WHERE (owner, key) IN (SELECT owner, key FROM claims ORDER BY created_ms"
                " LIMIT ?1)",
                CLAIMS_AT_ONCE, err);
}

static int thin_claims(struct cay_apply *a, uint64_t now_ms, struct cay_error *err)
{
        if (a->claims < CAY_STORE_CLAIMS_MAX && a->claims_added < EVERY_CLAIMS)
                return 0;
        a->claims_added = 0;
        if (run_number(a, S_CLAIM_OLD, "DELETE FROM claims WHERE created_ms <= ?1",
                       (int64_t)(now_ms - CAY_STORE_CLAIM_MS), err) < 0)
                return -1;
        a->claims -= sqlite3_changes(a->db.handle);
        if (a->claims < CAY_STORE_CLAIMS_MAX)
                return 0;
        if (evict_claims(a, err) < 0)
                return -1;
        a->claims -= sqlite3_changes(a->db.handle);
        return 0;
}

/* 1: taken (b->taken says by what), 0: free; an expired claim counts as free. */
static int find_claim(struct cay_apply *a, struct cay_store_batch *b, const struct cay_store_claim *claim,
                      uint64_t now_ms, bool *ret_replaces, struct cay_error *err)
{
        sqlite3_stmt *stmt =
                cay_db_statement(&a->db, S_CLAIM_FIND,
                                 "SELECT result, created_ms FROM claims WHERE owner = ? AND key = ?", err);
        const char *result;
        bool is_old;
        int r;

        if (!stmt)
                return -1;
        sqlite3_bind_text(stmt, 1, claim->owner, -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 2, claim->key, -1, SQLITE_STATIC);
        r = cay_db_step(&a->db, stmt, err);
        *ret_replaces = r > 0;
        if (r <= 0)
                return r;
        is_old = now_ms - (uint64_t)sqlite3_column_int64(stmt, 1) >= CAY_STORE_CLAIM_MS;
        result = (const char *)sqlite3_column_text(stmt, 0);
        snprintf(b->taken, sizeof(b->taken), "%s", result ? result : "");
        sqlite3_reset(stmt);
        return is_old ? 0 : 1;
}

static int put_claim(struct cay_apply *a, struct cay_store_batch *b, struct cay_store_claim *claim,
                     struct cay_error *err)
{
        uint64_t now_ms = cay_apply_now_ms(a);
        bool replaces;
        int r;

        r = find_claim(a, b, claim, now_ms, &replaces, err);
        if (r < 0)
                return -1;
        if (r > 0)
                return cay_fail(err, CAY_EXISTS, "'%.80s' was used before; it made '%s'", claim->key,
                                b->taken);
        if (count_claims(a, err) < 0 || thin_claims(a, now_ms, err) < 0)
                return -1;
        claim->created_ms = now_ms;
        if (put_record(a, CAY_STORE_CLAIM, claim, err) < 0)
                return -1;
        a->claims += !replaces;
        a->claims_added++;
        return 0;
}

/* Events and execs */

static int count_events(struct cay_apply *a, struct cay_error *err)
{
        return a->events >= 0 ? 0 : cay_db_number(&a->db, "SELECT count(*) FROM events", &a->events, err);
}

/* Times grow with numbers: scans from the oldest to the first that is young enough. */
static int drop_old_events(struct cay_apply *a, uint64_t now_ms, struct cay_error *err)
{
        if (run_number(a, S_EVENT_AGE,
                       "DELETE FROM events WHERE seq < (SELECT seq FROM events WHERE at_ms > ?1 ORDER BY "
                       "seq LIMIT 1)",
                       (int64_t)(now_ms - CAY_STORE_EVENT_MS), err) < 0)
                return -1;
        a->events -= sqlite3_changes(a->db.handle);
        return 0;
}

/* Evicts the oldest of the owner who has most: a noisy owner evicts only its own. */
static int evict_events(struct cay_apply *a, struct cay_error *err)
{
        char owner[OWNER_SIZE] = "";
        int64_t count;

        if (find_most(a, S_EVENT_MOST,
                      "SELECT owner, count(*) FROM events GROUP BY owner ORDER BY 2 DESC LIMIT 1", owner,
                      &count, err) < 0)
                return -1;
        if (run_of_owner(a, S_EVENT_OWNER,
                         "DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE owner = ?1"
                         " ORDER BY seq LIMIT ?2)",
                         owner, count < EVENTS_AT_ONCE ? count : EVENTS_AT_ONCE, err) < 0)
                return -1;
        a->events -= sqlite3_changes(a->db.handle);
        return 0;
}

static int thin_events(struct cay_apply *a, uint64_t now_ms, struct cay_error *err)
{
        if (++a->events_added < EVERY_EVENTS)
                return 0;
        a->events_added = 0;
        if (drop_old_events(a, now_ms, err) < 0)
                return -1;
        return a->events <= CAY_STORE_EVENTS_MAX ? 0 : evict_events(a, err);
}

/* Its place behind the last event of its sandbox. */
static int chain_event(struct cay_apply *a, struct cay_store_event *event, struct cay_error *err)
{
        const struct cay_chain_event what = { .sandbox = event->sandbox,
                                              .owner = event->owner,
                                              .kind = event->kind,
                                              .detail = event->detail,
                                              .wall_ms = event->wall_ms };
        sqlite3_stmt *stmt =
                cay_db_statement(&a->db, S_EVENT_LAST,
                                 "SELECT hash FROM events WHERE sandbox = ?1 ORDER BY seq DESC LIMIT 1", err);
        int r;

        if (!stmt)
                return -1;
        memset(event->before, 0, sizeof(event->before));
        sqlite3_bind_text(stmt, 1, event->sandbox ? event->sandbox : "", -1, SQLITE_STATIC);
        r = cay_db_step(&a->db, stmt, err);
        if (r < 0)
                return -1;
        if (r > 0 && sqlite3_column_bytes(stmt, 0) == (int)sizeof(event->before))
                memcpy(event->before, sqlite3_column_blob(stmt, 0), sizeof(event->before));
        sqlite3_reset(stmt);
        r = cay_chain_hash(event->before, &what, event->hash);
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "store: hash an event") : 0;
}

static int put_event(struct cay_apply *a, struct cay_store_batch *b, struct cay_store_event *event,
                     struct cay_error *err)
{
        event->at_ms = cay_apply_now_ms(a);
        if (count_events(a, err) < 0 || chain_event(a, event, err) < 0 ||
            put_record(a, CAY_STORE_EVENT, event, err) < 0)
                return -1;
        a->events++;
        b->seq = (uint64_t)sqlite3_last_insert_rowid(a->db.handle);
        return thin_events(a, event->at_ms, err);
}

static int put_exec(struct cay_apply *a, const struct cay_store_exec *exec, struct cay_error *err)
{
        sqlite3_stmt *stmt;

        if (put_record(a, CAY_STORE_EXEC, exec, err) < 0)
                return -1;
        if (++a->execs_added < EVERY_EXECS)
                return 0;
        a->execs_added = 0;
        stmt = cay_db_statement(
                &a->db, S_EXEC_COUNT,
                "DELETE FROM execs WHERE id IN (SELECT id FROM execs WHERE sandbox = ?1 AND ended_wall_ms > 0"
                " ORDER BY started_wall_ms DESC LIMIT -1 OFFSET ?2)",
                err);
        if (!stmt)
                return -1;
        sqlite3_bind_text(stmt, 1, exec->sandbox, -1, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 2, CAY_STORE_EXECS_MAX);
        return finish(a, stmt, err);
}

static int drop_record(struct cay_apply *a, enum cay_store_kind kind, const char *id, struct cay_error *err)
{
        const struct cay_record_table *t = cay_record_table(kind);
        sqlite3_stmt *stmt;
        char sql[128];

        snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE %s = ?1", t->name, t->id);
        stmt = cay_db_statement(&a->db, S_DROP + kind, sql, err);
        if (!stmt)
                return -1;
        sqlite3_bind_text(stmt, 1, id, -1, SQLITE_STATIC);
        if (finish(a, stmt, err) < 0)
                return -1;
        if (kind != CAY_STORE_SANDBOX)
                return 0;
        stmt = cay_db_statement(&a->db, S_DROP_EXECS, "DELETE FROM execs WHERE sandbox = ?1", err);
        if (!stmt)
                return -1;
        sqlite3_bind_text(stmt, 1, id, -1, SQLITE_STATIC);
        return finish(a, stmt, err);
}

static int apply_change(struct cay_apply *a, struct cay_store_batch *b, struct cay_change *c,
                        struct cay_error *err)
{
        if (c->drop)
                return drop_record(a, c->kind, c->drop, err);
        switch (c->kind) {
        case CAY_STORE_CLAIM:
                return put_claim(a, b, c->record, err);
        case CAY_STORE_EVENT:
                return put_event(a, b, c->record, err);
        case CAY_STORE_EXEC:
                return put_exec(a, c->record, err);
        default:
                return put_record(a, c->kind, c->record, err);
        }
}

static int apply_batch(struct cay_apply *a, struct cay_store_batch *b, struct cay_error *err)
{
        for (struct cay_change *c = b->first; c; c = c->next) {
                if (apply_change(a, b, c, err) < 0)
                        return -1;
        }
        return 0;
}

/* Groups */

int cay_apply_mark(struct cay_apply *a, struct cay_error *err)
{
        struct cay_store_value value = { .name = "time" };
        struct cay_timeline_mark mark;
        char text[CAY_TIMELINE_TEXT_MAX];

        a->clock->read(a->clock, &mark.at);
        mark.store_ms = mark.at.boot_ms + a->offset_ms;
        cay_timeline_text(&mark, text);
        value.value = text;
        if (put_record(a, CAY_STORE_VALUE, &value, err) < 0)
                return -1;
        a->marked_ms = mark.store_ms;
        return 0;
}

static void undo_all(struct cay_apply *a)
{
        struct cay_error ignored;

        if (cay_db_in_transaction(&a->db))
                cay_db_run(&a->db, "ROLLBACK", &ignored);
        a->claims = a->events = -1; /* counted again when needed */
}

/*
 * One batch inside the transaction. -1: the whole transaction failed; b->err has a refusal of this batch
 * alone.
 */
static int apply_saved(struct cay_apply *a, struct cay_store_batch *b, struct cay_error *err)
{
        int64_t events = a->events;
        struct cay_error undone;

        if (run_statement(a, S_SAVE, "SAVEPOINT batch", err) < 0)
                return -1;
        if (apply_batch(a, b, err) == 0)
                return run_statement(a, S_RELEASE, "RELEASE batch", err);
        if (err->code == CAY_NO_SPACE || !cay_db_in_transaction(&a->db))
                return -1;
        b->err = *err;
        a->claims = -1;
        a->events = events;
        if (cay_db_run(&a->db, "ROLLBACK TO batch", &undone) < 0)
                return -1;
        return run_statement(a, S_RELEASE, "RELEASE batch", err);
}

static int set_sure(struct cay_apply *a, bool sure, struct cay_error *err)
{
        if (a->is_sure == sure)
                return 0;
        if (cay_db_run(&a->db, sure ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", err) < 0)
                return -1;
        a->is_sure = sure;
        return 0;
}

/* The whole list in one transaction: 0, or -1 and nothing of it is stored. */
static int commit_list(struct cay_apply *a, struct cay_store_batch *list, struct cay_error *err)
{
        bool sure = false;

        for (struct cay_store_batch *b = list; b; b = b->next) {
                b->err = (struct cay_error){ 0 };
                sure = sure || b->how == CAY_STORE_SURE;
        }
        if (set_sure(a, sure, err) < 0 || run_statement(a, S_BEGIN, "BEGIN IMMEDIATE", err) < 0)
                return -1;
        for (struct cay_store_batch *b = list; b; b = b->next) {
                if (apply_saved(a, b, err) < 0)
                        goto undo;
        }
        if (cay_apply_now_ms(a) - a->marked_ms >= MARK_MS && cay_apply_mark(a, err) < 0)
                goto undo;
        if (run_statement(a, S_COMMIT, "COMMIT", err) < 0)
                goto undo;
        return 0;
undo:
        undo_all(a);
        return -1;
}

/* One batch alone, using the reserve if it may. */
static void commit_alone(struct cay_apply *a, struct cay_store_batch *b)
{
        struct cay_store_batch *next = b->next;
        struct cay_error err = { 0 };
        int r;

        b->next = NULL;
        r = commit_list(a, b, &err);
        if (r < 0 && err.code == CAY_NO_SPACE && b->drops && cay_reserve_give(&a->reserve))
                r = commit_list(a, b, &err);
        if (r < 0)
                b->err = err;
        b->next = next;
}

void cay_apply_group(struct cay_apply *a, struct cay_store_batch *list)
{
        struct cay_error err = { 0 };

        if (list->next == NULL || commit_list(a, list, &err) < 0) {
                for (struct cay_store_batch *b = list; b; b = b->next)
                        commit_alone(a, b);
        }
        cay_reserve_take(&a->reserve, cay_clock_ms());
}
