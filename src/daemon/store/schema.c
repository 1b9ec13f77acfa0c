/* SPDX-License-Identifier: Apache-2.0 */
/* Steps are only ever added: existing files have had the old ones. */

#include "daemon/store/schema.h"

#include <stdint.h>

#define ZEROS "X'0000000000000000000000000000000000000000000000000000000000000000'"

static const char *const steps[] = {
        /* 1 */
        "CREATE TABLE sandboxes(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL,"
        " template_name TEXT NOT NULL, engine TEXT NOT NULL, labels TEXT NOT NULL, metadata TEXT NOT NULL,"
        " env TEXT NOT NULL, spec TEXT NOT NULL, state TEXT NOT NULL, cause TEXT NOT NULL, cause_text TEXT "
        "NOT NULL,"
        " limits TEXT NOT NULL, created_wall_ms INTEGER NOT NULL, started_wall_ms INTEGER NOT NULL,"
        " changed_wall_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, idle_ms INTEGER NOT NULL,"
        " used_ms INTEGER NOT NULL, secret BLOB NOT NULL);"
        "CREATE TABLE execs(id TEXT PRIMARY KEY NOT NULL, sandbox TEXT NOT NULL, argv TEXT NOT NULL, spec "
        "TEXT NOT NULL,"
        " state TEXT NOT NULL, cause TEXT NOT NULL, cause_text TEXT NOT NULL, channel INTEGER NOT NULL,"
        " started_wall_ms INTEGER NOT NULL, ended_wall_ms INTEGER NOT NULL, deadline_ms INTEGER NOT NULL,"
        " output_first INTEGER NOT NULL, output_end INTEGER NOT NULL, exit_code INTEGER NOT NULL,"
        " signal INTEGER NOT NULL);"
        "CREATE INDEX execs_by_sandbox ON execs(sandbox, started_wall_ms);"
        "CREATE TABLE claims(owner TEXT NOT NULL, key TEXT NOT NULL, result TEXT NOT NULL,"
        " created_ms INTEGER NOT NULL, PRIMARY KEY(owner, key)) WITHOUT ROWID;"
        "CREATE INDEX claims_by_time ON claims(created_ms);"
        "CREATE INDEX claims_by_owner ON claims(owner, created_ms);"
        "CREATE TABLE keys(id TEXT PRIMARY KEY NOT NULL, owner TEXT NOT NULL, label TEXT NOT NULL,"
        " scopes INTEGER NOT NULL, created_wall_ms INTEGER NOT NULL, used_wall_ms INTEGER NOT NULL,"
        " revoked_wall_ms INTEGER NOT NULL, hash BLOB NOT NULL UNIQUE);"
        "CREATE TABLE events(seq INTEGER PRIMARY KEY AUTOINCREMENT, sandbox TEXT NOT NULL, owner TEXT NOT "
        "NULL,"
        " kind TEXT NOT NULL, detail TEXT NOT NULL, wall_ms INTEGER NOT NULL, at_ms INTEGER NOT NULL);"
        "CREATE INDEX events_by_sandbox ON events(sandbox, seq);"
        "CREATE TABLE vals(name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;",
        /* 2: count rows by owner, and page through one owner's rows */
        "CREATE INDEX events_by_owner ON events(owner, seq);",
        /* 3: events of a sandbox are a chain */
        "ALTER TABLE events ADD COLUMN before BLOB NOT NULL DEFAULT " ZEROS ";"
        "ALTER TABLE events ADD COLUMN hash BLOB NOT NULL DEFAULT " ZEROS ";",
        /* 4: snapshots, and the steps of sandboxes */
        "CREATE TABLE snapshots(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL,"
        " sandbox TEXT NOT NULL, template_name TEXT NOT NULL, engine TEXT NOT NULL, env TEXT NOT NULL,"
        " spec TEXT NOT NULL, limits TEXT NOT NULL, created_wall_ms INTEGER NOT NULL,"
        " expires_ms INTEGER NOT NULL, bytes INTEGER NOT NULL, added INTEGER NOT NULL,"
        " step INTEGER NOT NULL, note TEXT NOT NULL);"
        "CREATE INDEX snapshots_by_sandbox ON snapshots(sandbox, step);",
};

unsigned cay_schema_version(void)
{
        return CAY_COUNT(steps);
}

static int run_steps(struct cay_db *db, size_t from, struct cay_error *err)
{
        char version[48];

        for (size_t i = from; i < CAY_COUNT(steps); i++) {
                if (cay_db_run(db, steps[i], err) < 0)
                        return cay_wrap(err, "step %zu", i + 1);
        }
        snprintf(version, sizeof(version), "PRAGMA user_version=%zu", CAY_COUNT(steps));
        return cay_db_run(db, version, err);
}

int cay_schema_migrate(struct cay_db *db, bool *ret_is_new, struct cay_error *err)
{
        int64_t version;

        if (cay_db_number(db, "PRAGMA user_version", &version, err) < 0)
                return -1;
        *ret_is_new = version == 0;
        if (version < 0 || (uint64_t)version > CAY_COUNT(steps))
                return cay_fail(err, CAY_UNSUPPORTED,
                                "the state was written by a newer Cay (version %lld; this one knows %zu); "
                                "use the newer one",
                                (long long)version, CAY_COUNT(steps));
        if ((uint64_t)version == CAY_COUNT(steps))
                return 0;
        if (cay_db_run(db, "BEGIN IMMEDIATE", err) < 0)
                return -1;
        if (run_steps(db, (size_t)version, err) < 0 || cay_db_run(db, "COMMIT", err) < 0) {
                struct cay_error ignored;

                cay_db_run(db, "ROLLBACK", &ignored);
                return -1;
        }
        return 0;
}
