/* SPDX-License-Identifier: Apache-2.0 */
/* Queries: the SQL is assembled from the filters that are set; values are bound, never pasted. */

#include "daemon/store/select.h"

#include "daemon/store/record.h"

enum {
        SQL_MAX = 1024,
        ROW_MAX = 4 * 1024 * 1024, /* of one record: every text at its longest */
};

static int check_filters(const struct cay_record_table *t, const struct cay_store_query *q,
                         struct cay_error *err)
{
        if ((q->sandbox && !t->sandbox) || (q->owner && !t->owner) ||
            ((q->after > 0 || q->before > 0) && !t->is_numbered))
                return cay_fail(err, CAY_INTERNAL, "store: %s have no such filter", t->name);
        return 0;
}

static void build(const struct cay_record_table *t, const struct cay_store_query *q, char sql[SQL_MAX])
{
        char names[CAY_RECORD_NAMES_MAX];
        size_t len;

        cay_record_names(t, names);
        len = (size_t)snprintf(sql, SQL_MAX, "SELECT %s FROM %s WHERE 1", names, t->name);
        if (q->id)
                len += (size_t)snprintf(sql + len, SQL_MAX - len, " AND %s = ?1", t->id);
        if (q->sandbox)
                len += (size_t)snprintf(sql + len, SQL_MAX - len, " AND %s = ?2", t->sandbox);
        if (q->owner)
                len += (size_t)snprintf(sql + len, SQL_MAX - len, " AND %s = ?3", t->owner);
        if (q->after > 0)
                len += (size_t)snprintf(sql + len, SQL_MAX - len, " AND %s > ?4", t->order);
        if (q->before > 0)
                len += (size_t)snprintf(sql + len, SQL_MAX - len, " AND %s < ?5", t->order);
        snprintf(sql + len, SQL_MAX - len, " ORDER BY %s%s LIMIT ?6", t->order,
                 q->newest_first ? " DESC" : "");
}

static unsigned limit_of(const struct cay_store_query *q)
{
        return q->max > 0 && q->max < CAY_STORE_ROWS_MAX ? q->max : CAY_STORE_ROWS_MAX;
}

/* Binding a parameter that the statement lacks returns an error, which is ignored. */
static void bind(const struct cay_store_query *q, sqlite3_stmt *stmt)
{
        sqlite3_bind_text(stmt, 1, q->id, -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 2, q->sandbox, -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 3, q->owner, -1, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 4, (int64_t)q->after);
        sqlite3_bind_int64(stmt, 5, (int64_t)q->before);
        sqlite3_bind_int64(stmt, 6, limit_of(q));
}

/* As many rows as memory allows, but at least one. */
static int gather(struct cay_db *db, const struct cay_record_table *t, sqlite3_stmt *stmt,
                  struct cay_arena *mem, const void **rows, unsigned *ret_count, struct cay_error *err)
{
        unsigned count = 0;
        int r;

        while ((r = cay_db_step(db, stmt, err)) > 0) {
                void *record = cay_record_read(t, stmt, mem);

                if (!record && count == 0)
                        return cay_fail(err, CAY_LIMIT, "store: a record of %s is too big", t->name);
                if (!record)
                        break;
                rows[count++] = record;
        }
        *ret_count = count;
        return r < 0 ? -1 : 0;
}

int cay_select_query(struct cay_db *db, const struct cay_store_query *q, struct cay_arena *mem,
                     const void ***ret_rows, unsigned *ret_count, struct cay_error *err)
{
        const struct cay_record_table *t = cay_record_table(q->kind);
        sqlite3_stmt *stmt = NULL;
        const void **rows;
        char sql[SQL_MAX];
        int r;

        if (check_filters(t, q, err) < 0)
                return -1;
        rows = cay_arena_array(mem, limit_of(q), sizeof(*rows));
        if (!rows)
                return cay_fail(err, CAY_INTERNAL, "no memory for an answer of the store");
        build(t, q, sql);
        r = sqlite3_prepare_v2(db->handle, sql, -1, &stmt, NULL);
        if (r != SQLITE_OK)
                return cay_db_fail(db, r, err, "query");
        bind(q, stmt);
        r = gather(db, t, stmt, mem, rows, ret_count, err);
        sqlite3_finalize(stmt);
        if (r == 0)
                *ret_rows = rows;
        return r;
}

static int walk(struct cay_db *db, const struct cay_record_table *t, sqlite3_stmt *stmt,
                bool (*each)(void *ctx, const void *record), void *ctx, struct cay_error *err)
{
        bool go_on = true;
        int r = 1;

        while (go_on && (r = cay_db_step(db, stmt, err)) > 0) {
                cay_auto_arena struct cay_arena mem;
                void *record;

                cay_arena_init(&mem, ROW_MAX);
                record = cay_record_read(t, stmt, &mem);
                if (!record)
                        return cay_fail(err, CAY_INTERNAL, "no memory for a record of the store");
                go_on = each(ctx, record);
        }
        return r < 0 ? -1 : 0;
}

int cay_select_all(struct cay_db *db, enum cay_store_kind kind, enum cay_select_way way,
                   bool (*each)(void *ctx, const void *record), void *ctx, struct cay_error *err)
{
        const struct cay_record_table *t = cay_record_table(kind);
        char names[CAY_RECORD_NAMES_MAX], sql[SQL_MAX];
        sqlite3_stmt *stmt = NULL;
        int r;

        cay_record_names(t, names);
        snprintf(sql, sizeof(sql), "SELECT %s FROM %s%s%s", names, t->name,
                 way == CAY_SELECT_FORWARDS ? " NOT INDEXED" : " ORDER BY ",
                 way == CAY_SELECT_FORWARDS    ? ""
                 : way == CAY_SELECT_BACKWARDS ? t->backwards
                                               : t->order);
        r = sqlite3_prepare_v2(db->handle, sql, -1, &stmt, NULL);
        if (r != SQLITE_OK)
                return cay_db_fail(db, r, err, "load");
        r = walk(db, t, stmt, each, ctx, err);
        sqlite3_finalize(stmt);
        return r;
}
