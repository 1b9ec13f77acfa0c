/* SPDX-License-Identifier: Apache-2.0 */
/* Converts records to rows and back, by table. */

#include "daemon/store/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/parse.h"

enum { LIMITS_MAX = 512 };

#define COLUMN(type, member, kind)                                                                           \
        {                                                                                                    \
#member, CAY_COLUMN_##kind, offsetof(struct cay_store_##type, member)                        \
        }

static const struct cay_column sandbox_columns[] = {
        COLUMN(sandbox, id, TEXT),
        COLUMN(sandbox, name, TEXT),
        COLUMN(sandbox, owner, TEXT),
        COLUMN(sandbox, template_name, TEXT),
        COLUMN(sandbox, engine, TEXT),
        COLUMN(sandbox, labels, TEXT),
        COLUMN(sandbox, metadata, TEXT),
        COLUMN(sandbox, env, TEXT),
        COLUMN(sandbox, spec, TEXT),
        COLUMN(sandbox, state, TEXT),
        COLUMN(sandbox, cause, TEXT),
        COLUMN(sandbox, cause_text, TEXT),
        COLUMN(sandbox, limits, LIMITS),
        COLUMN(sandbox, created_wall_ms, U64),
        COLUMN(sandbox, started_wall_ms, U64),
        COLUMN(sandbox, changed_wall_ms, U64),
        COLUMN(sandbox, expires_ms, U64),
        COLUMN(sandbox, idle_ms, U64),
        COLUMN(sandbox, used_ms, U64),
        COLUMN(sandbox, secret, BYTES32),
};

static const struct cay_column exec_columns[] = {
        COLUMN(exec, id, TEXT),           COLUMN(exec, sandbox, TEXT),    COLUMN(exec, argv, TEXT),
        COLUMN(exec, spec, TEXT),         COLUMN(exec, state, TEXT),      COLUMN(exec, cause, TEXT),
        COLUMN(exec, cause_text, TEXT),   COLUMN(exec, channel, U64),     COLUMN(exec, started_wall_ms, U64),
        COLUMN(exec, ended_wall_ms, U64), COLUMN(exec, deadline_ms, U64), COLUMN(exec, output_first, U64),
        COLUMN(exec, output_end, U64),    COLUMN(exec, exit_code, I64),   COLUMN(exec, signal, U64),
};

static const struct cay_column claim_columns[] = {
        COLUMN(claim, owner, TEXT),
        COLUMN(claim, key, TEXT),
        COLUMN(claim, result, TEXT),
        COLUMN(claim, created_ms, U64),
};

static const struct cay_column key_columns[] = {
        COLUMN(key, id, TEXT),
        COLUMN(key, owner, TEXT),
        COLUMN(key, label, TEXT),
        COLUMN(key, scopes, U64),
        COLUMN(key, created_wall_ms, U64),
        COLUMN(key, used_wall_ms, U64),
        COLUMN(key, revoked_wall_ms, U64),
        COLUMN(key, hash, BYTES32),
};

static const struct cay_column event_columns[] = {
        COLUMN(event, seq, U64),   COLUMN(event, sandbox, TEXT),   COLUMN(event, owner, TEXT),
        COLUMN(event, kind, TEXT), COLUMN(event, detail, TEXT),    COLUMN(event, wall_ms, U64),
        COLUMN(event, at_ms, U64), COLUMN(event, before, BYTES32), COLUMN(event, hash, BYTES32),
};

static const struct cay_column snapshot_columns[] = {
        COLUMN(snapshot, id, TEXT),
        COLUMN(snapshot, name, TEXT),
        COLUMN(snapshot, owner, TEXT),
        COLUMN(snapshot, sandbox, TEXT),
        COLUMN(snapshot, template_name, TEXT),
        COLUMN(snapshot, engine, TEXT),
        COLUMN(snapshot, env, TEXT),
        COLUMN(snapshot, spec, TEXT),
        COLUMN(snapshot, limits, LIMITS),
        COLUMN(snapshot, created_wall_ms, U64),
        COLUMN(snapshot, expires_ms, U64),
        COLUMN(snapshot, bytes, U64),
        COLUMN(snapshot, added, U64),
        COLUMN(snapshot, step, U64),
        COLUMN(snapshot, note, TEXT),
};

static const struct cay_column value_columns[] = {
        COLUMN(value, name, TEXT),
        COLUMN(value, value, TEXT),
};

_Static_assert(CAY_STORE_SECRET == 32 && CAY_STORE_HASH == 32, "BYTES32");

#define TABLE(type)                                                                                          \
        .columns = type##_columns, .count = CAY_COUNT(type##_columns), .size = sizeof(struct cay_store_##type)

static const struct cay_record_table tables[] = {
        [CAY_STORE_SANDBOX] = { .name = "sandboxes",
                                TABLE(sandbox),
                                .id = "id",
                                .owner = "owner",
                                .order = "created_wall_ms",
                                .backwards = "rowid DESC",
                                .is_numbered = true,
                                .is_updated = true,
                                .is_dropped = true },
        [CAY_STORE_EXEC] = { .name = "execs",
                             TABLE(exec),
                             .id = "id",
                             .sandbox = "sandbox",
                             .order = "started_wall_ms",
                             .backwards = "rowid DESC",
                             .is_numbered = true,
                             .is_updated = true,
                             .is_dropped = true },
        [CAY_STORE_CLAIM] = { .name = "claims",
                              TABLE(claim),
                              .id = "key",
                              .owner = "owner",
                              .order = "created_ms",
                              .backwards = "owner DESC, key DESC",
                              .is_numbered = true },
        [CAY_STORE_KEY] = { .name = "keys",
                            TABLE(key),
                            .id = "id",
                            .owner = "owner",
                            .order = "created_wall_ms",
                            .backwards = "rowid DESC",
                            .is_numbered = true,
                            .is_dropped = true },
        [CAY_STORE_EVENT] = { .name = "events",
                              TABLE(event),
                              .id = "kind",
                              .sandbox = "sandbox",
                              .owner = "owner",
                              .order = "seq",
                              .backwards = "seq DESC",
                              .is_numbered = true },
        [CAY_STORE_VALUE] = { .name = "vals",
                              TABLE(value),
                              .id = "name",
                              .order = "name",
                              .backwards = "name DESC",
                              .is_dropped = true },
        [CAY_STORE_SNAPSHOT] = { .name = "snapshots",
                                 TABLE(snapshot),
                                 .id = "id",
                                 .sandbox = "sandbox",
                                 .owner = "owner",
                                 .order = "created_wall_ms",
                                 .backwards = "rowid DESC",
                                 .is_numbered = true,
                                 .is_dropped = true },
};

_Static_assert(CAY_COUNT(tables) == CAY_STORE_KIND_COUNT, "a table for every kind");

const struct cay_record_table *cay_record_table(enum cay_store_kind kind)
{
        return &tables[kind];
}

static void *member(void *record, const struct cay_column *c)
{
        return (char *)record + c->offset;
}

static const void *member_of(const void *record, const struct cay_column *c)
{
        return (const char *)record + c->offset;
}

void *cay_record_copy(const struct cay_record_table *t, const void *record, struct cay_arena *mem,
                      bool *ret_too_long)
{
        void *copy = cay_arena_alloc(mem, t->size);

        *ret_too_long = false;
        if (!copy)
                return NULL;
        memcpy(copy, record, t->size);
        for (unsigned i = 0; i < t->count; i++) {
                const char **text = member(copy, &t->columns[i]);
                size_t len;

                if (t->columns[i].kind != CAY_COLUMN_TEXT)
                        continue;
                len = *text ? strnlen(*text, CAY_STORE_TEXT_MAX + 1) : 0;
                *ret_too_long = len > CAY_STORE_TEXT_MAX;
                *text = *ret_too_long ? NULL : cay_arena_copy(mem, *text, len);
                if (!*text)
                        return NULL;
        }
        return copy;
}

/* Limits by name: a new limit needs no new column. */

static const size_t limit_offsets[] = {
#define CAY_LIMIT(field, word, kind, min, max, doc) offsetof(struct cay_limits, field),
#include "domain/model/limits.def"
#undef CAY_LIMIT
};

static const char *const limit_words[] = {
#define CAY_LIMIT(field, word, kind, min, max, doc) word,
#include "domain/model/limits.def"
#undef CAY_LIMIT
};

static void limits_text(const struct cay_limits *l, char buf[LIMITS_MAX])
{
        size_t len = 0;

        buf[0] = '\0';
        for (size_t i = 0; i < CAY_COUNT(limit_offsets) && len < LIMITS_MAX; i++) {
                uint64_t v = *(const uint64_t *)(const void *)((const char *)l + limit_offsets[i]);

                if (v > 0)
                        len += (size_t)snprintf(buf + len, LIMITS_MAX - len, "%s=%" PRIu64 " ",
                                                limit_words[i], v);
        }
        if (l->output_cut && len < LIMITS_MAX)
                snprintf(buf + len, LIMITS_MAX - len, "output_cut=1 ");
}

static void set_limit(struct cay_limits *l, const char *word, uint64_t v)
{
        for (size_t i = 0; i < CAY_COUNT(limit_offsets); i++) {
                if (strcmp(limit_words[i], word) == 0)
                        *(uint64_t *)(void *)((char *)l + limit_offsets[i]) = v;
        }
        if (strcmp(word, "output_cut") == 0)
                l->output_cut = v > 0;
}

/* Unknown names (from a newer Cay) are ignored. */
static void read_limits(struct cay_limits *l, const char *text)
{
        *l = (struct cay_limits){ 0 };
        while (text && *text) {
                size_t len = strcspn(text, " ");
                char pair[64], *equals;
                uint64_t v;

                snprintf(pair, sizeof(pair), "%.*s", (int)len, text);
                equals = strchr(pair, '=');
                if (equals) {
                        *equals = '\0';
                        if (cay_parse_u64(equals + 1, &v) == 0)
                                set_limit(l, pair, v);
                }
                text += len;
                text += strspn(text, " ");
        }
}

static int bind_column(const struct cay_column *c, const void *record, sqlite3_stmt *stmt, int nr)
{
        const void *at = member_of(record, c);
        char limits[LIMITS_MAX];

        switch (c->kind) {
        case CAY_COLUMN_TEXT:
                return sqlite3_bind_text(stmt, nr, *(const char *const *)at ? *(const char *const *)at : "",
                                         -1, SQLITE_STATIC);
        case CAY_COLUMN_U64:
        case CAY_COLUMN_I64:
                return sqlite3_bind_int64(stmt, nr, *(const int64_t *)at);
        case CAY_COLUMN_BYTES32:
                return sqlite3_bind_blob(stmt, nr, at, 32, SQLITE_STATIC);
        case CAY_COLUMN_LIMITS:
                limits_text(at, limits);
                return sqlite3_bind_text(stmt, nr, limits, -1, SQLITE_TRANSIENT);
        }
        return SQLITE_MISUSE;
}

int cay_record_bind(const struct cay_record_table *t, const void *record, sqlite3_stmt *stmt)
{
        for (unsigned i = 0; i < t->count; i++) {
                int r = bind_column(&t->columns[i], record, stmt, (int)i + 1);

                if (r != SQLITE_OK)
                        return r;
        }
        return SQLITE_OK;
}

static bool read_column(const struct cay_column *c, void *record, sqlite3_stmt *stmt, int nr,
                        struct cay_arena *mem)
{
        void *at = member(record, c);
        const char *text;

        switch (c->kind) {
        case CAY_COLUMN_TEXT:
                text = (const char *)sqlite3_column_text(stmt, nr);
                *(const char **)at = cay_arena_copy(mem, text, text ? strlen(text) : 0);
                return *(const char **)at != NULL;
        case CAY_COLUMN_U64:
        case CAY_COLUMN_I64:
                *(int64_t *)at = sqlite3_column_int64(stmt, nr);
                return true;
        case CAY_COLUMN_BYTES32:
                if (sqlite3_column_bytes(stmt, nr) == 32)
                        memcpy(at, sqlite3_column_blob(stmt, nr), 32);
                return true;
        case CAY_COLUMN_LIMITS:
                read_limits(at, (const char *)sqlite3_column_text(stmt, nr));
                return true;
        }
        return false;
}

void *cay_record_read(const struct cay_record_table *t, sqlite3_stmt *stmt, struct cay_arena *mem)
{
        void *record = cay_arena_alloc(mem, t->size);

        for (unsigned i = 0; record && i < t->count; i++) {
                if (!read_column(&t->columns[i], record, stmt, (int)i, mem))
                        return NULL;
        }
        return record;
}

void cay_record_names(const struct cay_record_table *t, char buf[CAY_RECORD_NAMES_MAX])
{
        size_t len = 0;

        for (unsigned i = 0; i < t->count && len < CAY_RECORD_NAMES_MAX; i++)
                len += (size_t)snprintf(buf + len, CAY_RECORD_NAMES_MAX - len, "%s%s", i > 0 ? ", " : "",
                                        t->columns[i].name);
}

struct sql {
        char *text;
        size_t len;
};

static void add(struct sql *q, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct sql *q, const char *fmt, ...)
{
        va_list args;

        if (q->len >= CAY_RECORD_SQL_MAX)
                return;
        va_start(args, fmt);
        q->len += (size_t)vsnprintf(q->text + q->len, CAY_RECORD_SQL_MAX - q->len, fmt, args);
        va_end(args);
}

/*
 * Columns that rows are found and ordered by are not updated: an index that does not change needs no page
 * write.
 */
static bool is_fixed(const struct cay_record_table *t, const char *column)
{
        return strcmp(column, t->id) == 0 || strcmp(column, t->order) == 0 ||
               (t->sandbox && strcmp(column, t->sandbox) == 0);
}

static void add_update(struct sql *q, const struct cay_record_table *t)
{
        const char *comma = "";

        add(q, " ON CONFLICT(%s) DO UPDATE SET ", t->id);
        for (unsigned i = 0; i < t->count; i++) {
                const char *name = t->columns[i].name;

                if (is_fixed(t, name))
                        continue;
                add(q, "%s%s=excluded.%s", comma, name, name);
                comma = ",";
        }
}

void cay_record_insert_sql(const struct cay_record_table *t, char sql[CAY_RECORD_SQL_MAX])
{
        char names[CAY_RECORD_NAMES_MAX];
        struct sql q = { .text = sql };

        cay_record_names(t, names);
        add(&q, "INSERT %sINTO %s(%s) VALUES(", t->is_updated ? "" : "OR REPLACE ", t->name, names);
        for (unsigned i = 0; i < t->count; i++)
                add(&q, "%s", i > 0 ? ",?" : "?");
        add(&q, ")");
        if (t->is_updated)
                add_update(&q, t);
}
