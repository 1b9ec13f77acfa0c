/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the store: checks that the folder is ours alone, checks and repairs the file, continues the store
 * time.
 */

#include "daemon/store/store_sqlite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/base/clock.h"
#include "daemon/store/mend.h"
#include "daemon/store/schema.h"
#include "daemon/store/select.h"
#include "daemon/store/store_priv.h"
#include "daemon/store/timeline.h"

static int open_folder(struct cay_store_sqlite *s, const char *folder, struct cay_error *err)
{
        struct stat st;

        s->dirfd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (s->dirfd < 0)
                return cay_fail_sys(err, errno == ENOENT ? CAY_NOT_FOUND : CAY_DENIED, -errno,
                                    "open '%.120s'", folder);
        if (fstat(s->dirfd, &st) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "stat '%.120s'", folder);
        if ((st.st_uid != geteuid() && st.st_uid != 0) || st.st_mode & 022)
                return cay_fail(err, CAY_DENIED,
                                "others may write to '%.100s' (owner %u, mode %04o): it must belong to the "
                                "daemon alone",
                                folder, st.st_uid, st.st_mode & 07777);
        if (asprintf(&s->path, "%s/%s", folder, CAY_STORE_FILE) < 0) {
                s->path = NULL;
                return cay_fail(err, CAY_INTERNAL, "no memory to open the store");
        }
        return 0;
}

static int lock_folder(struct cay_store_sqlite *s, const char *folder, struct cay_error *err)
{
        s->lock_fd = openat(s->dirfd, "state.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (s->lock_fd < 0)
                return cay_fail_sys(err, errno == ENOSPC ? CAY_NO_SPACE : CAY_DENIED, -errno,
                                    "open '%.120s/state.lock'", folder);
        if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0)
                return cay_fail(
                        err, CAY_CONFLICT,
                        "another daemon uses '%.120s': stop it, or give this one a data folder of its own",
                        folder);
        return 0;
}

static int make_private(struct cay_store_sqlite *s, struct cay_error *err)
{
        cay_auto_close int fd =
                openat(s->dirfd, CAY_STORE_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

        if (fd < 0)
                return cay_fail_sys(err, errno == ENOSPC ? CAY_NO_SPACE : CAY_UNAVAILABLE, -errno,
                                    "open '%.150s'", s->path);
        return 0;
}

/* Checks every page once. What it finds counts as damage, like errors that SQLite reports itself. */
static int check_pages(struct cay_db *db, struct cay_error *err)
{
        sqlite3_stmt *stmt = NULL;
        int r = sqlite3_prepare_v2(db->handle, "PRAGMA quick_check(1)", -1, &stmt, NULL);
        const char *found;

        if (r != SQLITE_OK)
                return cay_db_fail(db, r, err, "check");
        r = cay_db_step(db, stmt, err);
        found = r > 0 ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
        if (found && strcmp(found, "ok") != 0) {
                cay_fail(err, CAY_UNAVAILABLE, "store: %.150s", found);
                err->sys = EUCLEAN;
                r = -1;
        }
        sqlite3_finalize(stmt);
        return r < 0 ? -1 : 0;
}

static int open_database(struct cay_store_sqlite *s, bool *ret_is_new, struct cay_error *err)
{
        if (make_private(s, err) < 0 || cay_db_open(&s->apply.db, s->path, CAY_DB_WRITE, err) < 0)
                return -1;
        if (cay_schema_migrate(&s->apply.db, ret_is_new, err) == 0 && check_pages(&s->apply.db, err) == 0)
                return 0;
        cay_db_close(&s->apply.db);
        return -1;
}

static int open_or_mend(struct cay_store_sqlite *s, const struct cay_store_sqlite_env *env,
                        struct cay_store_sqlite_report *report, struct cay_error *err)
{
        bool is_new;

        if (cay_mend_finish(s->dirfd, CAY_STORE_FILE ".damaged-interrupted", err) < 0)
                return -1;
        if (open_database(s, &report->is_new, err) == 0)
                return 0;
        if (!cay_db_is_damage(err))
                return -1;
        snprintf(report->damage, sizeof(report->damage), "%.159s", err->msg);
        if (cay_mend(s->dirfd, env->folder, env->clock, report, err) < 0)
                return -1;
        return open_database(s, &is_new, err);
}

/* While a damaged file is still there, records may be missing for files on disk. */
static bool has_damaged_file(int dirfd)
{
        int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        const struct dirent *e;
        bool found = false;

        if (!dir) {
                if (fd >= 0)
                        close(fd);
                return true; /* what cannot be checked is not removed */
        }
        while (!found && (e = readdir(dir)) != NULL)
                found = strncmp(e->d_name, CAY_STORE_FILE ".damaged", strlen(CAY_STORE_FILE ".damaged")) == 0;
        closedir(dir);
        return found;
}

struct found_mark {
        struct cay_timeline_mark mark;
        bool is_there;
};

static bool find_mark(void *ctx, const void *record)
{
        const struct cay_store_value *v = record;
        struct found_mark *found = ctx;

        if (strcmp(v->name, "time") == 0)
                found->is_there = cay_timeline_parse(v->value, &found->mark) == 0;
        return true;
}

static int resume_time(struct cay_store_sqlite *s, const struct cay_clock *clock, struct cay_error *err)
{
        struct found_mark found = { 0 };
        struct cay_clock_reading now;

        if (cay_select_all(&s->apply.db, CAY_STORE_VALUE, CAY_SELECT_ORDERED, find_mark, &found, err) < 0)
                return -1;
        clock->read(clock, &now);
        cay_apply_init(&s->apply, clock,
                       cay_timeline_resume(found.is_there ? &found.mark : NULL, &now) - now.boot_ms);
        return cay_apply_mark(&s->apply, err);
}

/* The log is about to be overwritten: a copy stays under another name, for later inspection. */
static void keep_log(const struct cay_store_sqlite *s, uint64_t wall_ms)
{
        cay_auto_close int from = openat(s->dirfd, CAY_STORE_FILE "-wal", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        cay_auto_close int to = -1;
        char name[64], bytes[16384];
        ssize_t n;

        if (from < 0 || cay_reserve_is_empty_log(s->dirfd, CAY_STORE_FILE "-wal"))
                return;
        snprintf(name, sizeof(name), CAY_STORE_FILE "-wal.older-%" PRIu64, wall_ms);
        to = openat(s->dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        while (to >= 0 && (n = read(from, bytes, sizeof(bytes))) > 0)
                if (write(to, bytes, (size_t)n) != n)
                        return; /* a full disk: a part of it may still help */
}

/* Checks, before any write, whether this is the database that was left. */
static int check_age(struct cay_store_sqlite *s, const struct cay_clock *clock,
                     struct cay_store_sqlite_report *report, struct cay_error *err)
{
        struct cay_clock_reading now;

        if (cay_newest_compare(&s->newest, &s->apply.db, &report->missing, err) < 0)
                return -1;
        if (report->missing == 0)
                return 0;
        clock->read(clock, &now);
        report->is_older = true;
        keep_log(s, now.wall_ms);
        return cay_newest_settle(&s->newest, &s->apply.db, report->missing, now.wall_ms, err);
}

static int open_and_resume(struct cay_store_sqlite *s, const struct cay_store_sqlite_env *env,
                           struct cay_store_sqlite_report *report, struct cay_error *err)
{
        if (open_or_mend(s, env, report, err) < 0 || check_age(s, env->clock, report, err) < 0)
                return -1;
        return resume_time(s, env->clock, err);
}

/* The disk is full, so the reserve is released: a daemon that cannot start cannot free space. */
static int open_again(struct cay_store_sqlite *s, const struct cay_store_sqlite_env *env,
                      struct cay_store_sqlite_report *report, struct cay_error *err)
{
        cay_db_close(&s->apply.db);
        *err = (struct cay_error){ 0 };
        return open_and_resume(s, env, report, err);
}

static int open_all(struct cay_store_sqlite *s, const struct cay_store_sqlite_env *env,
                    struct cay_store_sqlite_report *report, struct cay_error *err)
{
        if (open_folder(s, env->folder, err) < 0 || lock_folder(s, env->folder, err) < 0)
                return -1;
        cay_newest_open(&s->newest, env->newest_fd > 0 ? env->newest_fd : -1);
        cay_reserve_open(&s->apply.reserve, s->dirfd, "state.reserve");
        cay_reserve_take(&s->apply.reserve, cay_clock_ms()); /* left by an earlier one: costs nothing then */
        if (open_and_resume(s, env, report, err) < 0 &&
            (err->code != CAY_NO_SPACE || !cay_reserve_give(&s->apply.reserve) ||
             open_again(s, env, report, err) < 0))
                return -1;
        cay_reserve_log(s->dirfd, CAY_STORE_FILE "-wal");
        report->has_damaged_file = has_damaged_file(s->dirfd);
        if (cay_db_open(&s->reader, s->path, CAY_DB_READ, err) < 0)
                return -1;
        return cay_store_start(s, err);
}

int cay_store_sqlite_open(const struct cay_store_sqlite_env *env, struct cay_store **ret,
                          struct cay_store_sqlite_report *ret_report, struct cay_error *err)
{
        struct cay_store_sqlite *s = cay_store_new(env->loop);

        *ret_report = (struct cay_store_sqlite_report){ 0 };
        if (!s)
                return cay_fail(err, CAY_INTERNAL, "no memory to open the store");
        if (open_all(s, env, ret_report, err) < 0) {
                cay_store_close(s);
                return -1;
        }
        *ret = &s->base;
        return 0;
}
