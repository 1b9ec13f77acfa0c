/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs a damaged database; mend.h has the theory of operation. */

#include "daemon/store/mend.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "foundation/base/buf.h"
#include "foundation/base/json_out.h"
#include "daemon/store/record.h"
#include "daemon/store/schema.h"
#include "daemon/store/select.h"

#define FILE_NEW CAY_STORE_FILE ".new"
#define FILE_MENDED CAY_STORE_FILE ".mended"

static const char *const followers[] = { "", "-wal", "-shm", "-journal" };

struct carrying {
        struct cay_db from, to;
        const struct cay_record_table *table;
        sqlite3_stmt *insert;
        unsigned kept;
        struct cay_error err; /* of writing */
};

static bool carry(void *ctx, const void *record)
{
        struct carrying *c = ctx;
        int rc;

        sqlite3_reset(c->insert);
        rc = cay_record_bind(c->table, record, c->insert);
        if (rc == SQLITE_OK)
                rc = sqlite3_step(c->insert);
        if (rc == SQLITE_DONE) {
                c->kept++;
                return true;
        }
        /* A row whose columns break a rule is damage; any other error ends the repair. */
        if ((rc & 0xff) == SQLITE_CONSTRAINT)
                return true;
        cay_db_fail(&c->to, rc, &c->err, "carry over");
        return false;
}

static int carry_kind(struct carrying *c, enum cay_store_kind kind, struct cay_store_sqlite_report *report,
                      struct cay_error *err)
{
        char sql[CAY_RECORD_SQL_MAX];
        struct cay_error reading;
        int64_t count = 0;
        int rc;

        c->table = cay_record_table(kind);
        cay_record_insert_sql(c->table, sql);
        rc = sqlite3_prepare_v2(c->to.handle, sql, -1, &c->insert, NULL);
        if (rc != SQLITE_OK)
                return cay_db_fail(&c->to, rc, err, "prepare");
        report->lost[kind] = !c->from.handle ||
                             cay_select_all(&c->from, kind, CAY_SELECT_FORWARDS, carry, c, &reading) < 0;
        if (report->lost[kind] && c->from.handle && c->err.code == CAY_OK)
                cay_select_all(&c->from, kind, CAY_SELECT_BACKWARDS, carry, c, &reading);
        sqlite3_finalize(c->insert);
        if (c->err.code != CAY_OK) {
                *err = c->err;
                return -1;
        }
        snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", c->table->name);
        if (cay_db_number(&c->to, sql, &count, err) < 0)
                return -1;
        report->kept[kind] = (unsigned)count;
        return 0;
}

/* The first event of the new store: what happened. */
static int put_event(struct carrying *c, const struct cay_store_sqlite_report *report, uint64_t wall_ms,
                     struct cay_error *err)
{
        const struct cay_record_table *t = cay_record_table(CAY_STORE_EVENT);
        struct cay_store_event event = {
                .seq = wall_ms, .kind = "store_damaged", .wall_ms = wall_ms, .at_ms = wall_ms
        };
        cay_auto_buf struct cay_buf detail;
        char sql[CAY_RECORD_SQL_MAX];
        sqlite3_stmt *stmt = NULL;
        struct cay_json j;
        int rc;

        cay_buf_init(&detail, 4096);
        cay_json_init(&j, &detail);
        cay_json_begin_object(&j);
        cay_json_key(&j, "damage");
        cay_json_text(&j, report->damage);
        cay_json_key(&j, "moved_to");
        cay_json_text(&j, report->moved_to);
        for (unsigned kind = 0; kind < CAY_STORE_KIND_COUNT; kind++) {
                cay_json_key(&j, cay_record_table(kind)->name);
                cay_json_begin_object(&j);
                cay_json_key(&j, "kept");
                cay_json_u64(&j, report->kept[kind]);
                cay_json_key(&j, "maybe_lost");
                cay_json_bool(&j, report->lost[kind]);
                cay_json_end_object(&j);
        }
        cay_json_end_object(&j);
        if (cay_json_end(&j) < 0)
                return cay_fail(err, CAY_INTERNAL, "store: no room for the report of a repair");
        event.detail = cay_buf_data(&detail);
        cay_record_insert_sql(t, sql);
        rc = sqlite3_prepare_v2(c->to.handle, sql, -1, &stmt, NULL);
        if (rc == SQLITE_OK)
                rc = cay_record_bind(t, &event, stmt);
        if (rc == SQLITE_OK)
                rc = sqlite3_step(stmt);
        if (rc != SQLITE_DONE)
                cay_db_fail(&c->to, rc, err, "report");
        sqlite3_finalize(stmt);
        return rc == SQLITE_DONE ? 0 : -1;
}

static int carry_all(struct carrying *c, struct cay_store_sqlite_report *report, uint64_t wall_ms,
                     struct cay_error *err)
{
        bool is_new;

        if (cay_schema_migrate(&c->to, &is_new, err) < 0 || cay_db_run(&c->to, "BEGIN", err) < 0)
                return -1;
        for (unsigned kind = 0; kind < CAY_STORE_KIND_COUNT; kind++) {
                if (carry_kind(c, kind, report, err) < 0)
                        return -1;
        }
        if (put_event(c, report, wall_ms, err) < 0)
                return -1;
        /* Synced before the old one is moved; no log is left beside it. */
        return cay_db_run(&c->to, "COMMIT; PRAGMA journal_mode=DELETE;", err);
}

static void path_of(const char *folder, const char *name, char ret[PATH_MAX])
{
        snprintf(ret, PATH_MAX, "%s/%s", folder, name);
}

static void remove_new(int dirfd)
{
        char name[64];

        for (size_t i = 0; i < CAY_COUNT(followers); i++) {
                snprintf(name, sizeof(name), FILE_NEW "%s", followers[i]);
                unlinkat(dirfd, name, 0);
        }
}

/* The old file and its log stay together: each is useless alone. */
static int move_aside(int dirfd, const char *moved_to)
{
        char from[64], to[192];

        unlinkat(dirfd, CAY_STORE_FILE "-shm", 0);
        snprintf(from, sizeof(from), CAY_STORE_FILE "-wal");
        snprintf(to, sizeof(to), "%s-wal", moved_to);
        if (renameat(dirfd, from, dirfd, to) < 0 && errno != ENOENT)
                return -errno;
        if (renameat(dirfd, CAY_STORE_FILE, dirfd, moved_to) < 0 && errno != ENOENT)
                return -errno;
        return 0;
}

int cay_mend_finish(int dirfd, const char *moved_to, struct cay_error *err)
{
        int r;

        if (faccessat(dirfd, FILE_MENDED, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
                return 0;
        r = move_aside(dirfd, moved_to);
        if (r == 0 && renameat(dirfd, FILE_MENDED, dirfd, CAY_STORE_FILE) < 0)
                r = -errno;
        if (r == 0 && fsync(dirfd) < 0)
                r = -errno;
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "move the damaged '%s' aside", CAY_STORE_FILE) : 0;
}

static int make_file(int dirfd, const char *name, struct cay_error *err)
{
        cay_auto_close int fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

        return fd >= 0 ? 0
                       : cay_fail_sys(err, errno == ENOSPC ? CAY_NO_SPACE : CAY_INTERNAL, -errno, "make '%s'",
                                      name);
}

int cay_mend(int dirfd, const char *folder, const struct cay_clock *clock,
             struct cay_store_sqlite_report *report, struct cay_error *err)
{
        struct carrying c = { 0 };
        struct cay_clock_reading now;
        struct cay_error unreadable;
        char path[PATH_MAX];
        int r;

        clock->read(clock, &now);
        report->was_damaged = true;
        snprintf(report->moved_to, sizeof(report->moved_to), CAY_STORE_FILE ".damaged-%" PRIu64, now.wall_ms);
        remove_new(dirfd);
        if (make_file(dirfd, FILE_NEW, err) < 0)
                return -1;
        path_of(folder, FILE_NEW, path);
        if (cay_db_open(&c.to, path, CAY_DB_WRITE, err) < 0)
                return -1;
        path_of(folder, CAY_STORE_FILE, path);
        cay_db_open(&c.from, path, CAY_DB_READ, &unreadable); /* may be unreadable: then all is lost */
        r = carry_all(&c, report, now.wall_ms, err);
        cay_db_close(&c.from);
        cay_db_close(&c.to);
        if (r == 0 && renameat(dirfd, FILE_NEW, dirfd, FILE_MENDED) < 0)
                r = cay_fail_sys(err, CAY_INTERNAL, -errno, "rename '%s'", FILE_NEW);
        if (r < 0)
                remove_new(dirfd);
        return r < 0 ? cay_wrap(err, "mend the store") : cay_mend_finish(dirfd, report->moved_to, err);
}
