/* SPDX-License-Identifier: Apache-2.0 */
/* The folders of kept runs. */
#include "cay/changes/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/clock.h"
#include "foundation/base/files_text.h"
#include "foundation/base/str.h"
#include "foundation/sys/dir.h"
#include "foundation/sys/fd.h"

#define META "meta"
#define META_NEW "meta.new"
#define CHANGES "changes.tar"
#define LOCK_WAIT_MS 5000

static int fail(struct cay_error *err, int r, const char *what, const char *path)
{
        struct cay_files_text t;
        enum cay_code code = r == -EACCES || r == -EPERM || r == -EROFS ? CAY_DENIED
                             : r == -ENOSPC || r == -EDQUOT             ? CAY_NO_SPACE
                                                                        : CAY_INTERNAL;

        return cay_fail_sys(err, code, r, "%s '%s'", what, cay_files_quote(&t, path));
}

/* --- The store itself --- */

int cay_run_store_path(char *ret, size_t size, struct cay_error *err)
{
        const char *own = getenv("CAY_RUNS"), *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
        int n;

        if (own != NULL && own[0] != '\0')
                n = snprintf(ret, size, "%s", own);
        else if (geteuid() == 0)
                n = snprintf(ret, size, "/var/lib/cay/runs");
        else if (state != NULL && state[0] == '/')
                n = snprintf(ret, size, "%s/cay/runs", state);
        else if (home != NULL && home[0] == '/')
                n = snprintf(ret, size, "%s/.local/state/cay/runs", home);
        else
                return cay_fail(
                        err, CAY_UNAVAILABLE,
                        "there is no place to keep runs: HOME is not set; CAY_RUNS names a folder for them");
        if (n < 0 || (size_t)n >= size || ret[0] != '/')
                return cay_fail(err, CAY_INVALID, "CAY_RUNS must be an absolute path shorter than %zu bytes",
                                size);
        return 0;
}

static int make_path(const char *path)
{
        char part[PATH_MAX];

        if (!cay_str_copy(part, sizeof(part), path))
                return -ENAMETOOLONG;
        for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                if (mkdir(part, 0755) < 0 && errno != EEXIST)
                        return -errno;
                *slash = '/';
        }
        return mkdir(part, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* flock itself has no deadline. */
static int lock_wait(int fd, int how)
{
        const struct timespec nap = { .tv_nsec = 5 * 1000 * 1000 };
        uint64_t until_ms = cay_clock_ms() + LOCK_WAIT_MS;

        while (flock(fd, how | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK && errno != EINTR)
                        return -errno;
                if (cay_clock_ms() >= until_ms)
                        return -ETIMEDOUT;
                nanosleep(&nap, NULL);
        }
        return 0;
}

static void unlock(int *fd)
{
        if (*fd >= 0)
                flock(*fd, LOCK_UN);
}

#define auto_unlock cay_auto(unlock)

static int check_owner(const struct cay_run_store *s, struct cay_error *err)
{
        struct cay_files_text t;
        struct stat st;

        if (fstat(s->fd, &st) < 0)
                return fail(err, -errno, "look at", s->path);
        if (st.st_uid != geteuid() || st.st_mode & 022)
                return cay_fail(
                        err, CAY_DENIED,
                        "'%s' belongs to uid %u, mode %03o: runs are kept only where nobody else may write",
                        cay_files_quote(&t, s->path), (unsigned)st.st_uid, (unsigned)st.st_mode & 0777);
        return 0;
}

/* --- One run's folder --- */

void cay_run_store_let_go(struct cay_stored *run)
{
        if (run->changes_fd >= 0)
                close(cay_take_fd(run->changes_fd));
        if (run->dir_fd >= 0)
                close(cay_take_fd(run->dir_fd));
}

static int run_open(const struct cay_run_store *s, const char *id, struct cay_stored *ret)
{
        *ret = (struct cay_stored){ .dir_fd = -1, .changes_fd = -1 };
        ret->dir_fd = sys_open_at(s->fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        return ret->dir_fd < 0 ? ret->dir_fd : 0;
}

static bool is_removed(int dir_fd)
{
        struct stat st;

        return fstat(dir_fd, &st) < 0 || st.st_nlink == 0;
}

/* -EWOULDBLOCK: in use; -ENOENT: it was just removed. */
static int run_lock(struct cay_stored *run, int how)
{
        if (flock(run->dir_fd, how | LOCK_NB) < 0)
                return -errno;
        return is_removed(run->dir_fd) ? -ENOENT : 0;
}

static int meta_read(int dir_fd, const char *id, struct cay_meta *ret)
{
        cay_auto_free char *mem = malloc(CAY_META_MAX + 2);
        ssize_t n;
        int r;

        if (mem == NULL)
                return -ENOMEM;
        n = sys_read_file(dir_fd, META, mem, CAY_META_MAX + 2);
        if (n < 0)
                return (int)n;
        r = cay_meta_parse(mem, (size_t)n, ret);
        return r == 0 && strcmp(ret->id, id) != 0 ? -EINVAL : r;
}

static int meta_write(int dir_fd, const struct cay_meta *m)
{
        cay_auto_buf struct cay_buf text;
        cay_auto_close int fd = -1;
        int r;

        cay_buf_init(&text, CAY_META_MAX);
        r = cay_meta_format(m, &text);
        if (r < 0)
                return r;
        fd = sys_open_at(dir_fd, META_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
        r = fd < 0 ? fd : sys_write_all(fd, cay_buf_data(&text), text.len);
        if (r == 0 && fsync(fd) < 0)
                r = -errno;
        if (r == 0 && renameat(dir_fd, META_NEW, dir_fd, META) < 0)
                r = -errno;
        if (r < 0)
                unlinkat(dir_fd, META_NEW, 0);
        return r;
}

/* First removes what makes the folder a run. */
static int run_unlink(const struct cay_run_store *s, const char *id, int dir_fd)
{
        static const char *const names[] = { META, META_NEW, CHANGES };

        for (unsigned i = 0; i < CAY_COUNT(names); i++)
                if (unlinkat(dir_fd, names[i], 0) < 0 && errno != ENOENT)
                        return -errno;
        return unlinkat(s->fd, id, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}

/* --- Sweeping --- */

struct sweep {
        const struct cay_run_store *s;
        uint64_t now_ms;
};

static void sweep_one(void *ctx, int dirfd, const char *name, unsigned type)
{
        const struct sweep *w = ctx;
        cay_auto(cay_run_store_let_go) struct cay_stored run = { -1, -1, { .id = "" } };
        bool dead;
        int r;

        if (!cay_id_is_valid(name) || run_open(w->s, name, &run) < 0 || run_lock(&run, LOCK_EX) < 0)
                return;
        r = meta_read(run.dir_fd, name, &run.meta);
        /* An unreadable file may be of another version: the user decides. */
        dead = r == -ENOENT || (r == 0 && run.meta.state == CAY_META_RUNNING);
        if (dead || (r == 0 && run.meta.expires_ms <= w->now_ms))
                run_unlink(w->s, name, run.dir_fd); /* what stays is tried again next time */
}

int cay_run_store_open(struct cay_run_store *s, const char *path, bool create, uint64_t now_ms,
                       struct cay_error *err)
{
        struct sweep w = { .s = s, .now_ms = now_ms };
        int r = create ? make_path(path) : 0;

        s->fd = -1;
        if (r < 0)
                return fail(err, r, "make the folder of kept runs,", path);
        if (!cay_str_copy(s->path, sizeof(s->path), path))
                return cay_fail(err, CAY_INVALID, "the path of the kept runs is too long");
        s->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (s->fd < 0 && errno == ENOENT)
                return cay_fail(err, CAY_NOT_FOUND, "there are no kept runs");
        if (s->fd < 0)
                return fail(err, -errno, "open the folder of kept runs,", path);
        if (check_owner(s, err) < 0) {
                cay_run_store_close(s);
                return -1;
        }
        /* A busy store is swept by the next caller. */
        if (lock_wait(s->fd, LOCK_EX) == 0) {
                sys_dir_each(s->fd, sweep_one, &w);
                flock(s->fd, LOCK_UN);
        }
        return 0;
}

void cay_run_store_close(struct cay_run_store *s)
{
        if (s->fd >= 0)
                close(cay_take_fd(s->fd));
}

/* --- Making and changing --- */

static int run_make(struct cay_run_store *s, const struct cay_meta *meta, struct cay_stored *run)
{
        auto_unlock int store_lock = -1;
        int r = lock_wait(s->fd, LOCK_EX);

        if (r < 0)
                return r;
        store_lock = s->fd;
        if (mkdirat(s->fd, meta->id, 0700) < 0)
                return -errno;
        r = run_open(s, meta->id, run);
        if (r == 0)
                r = run_lock(run, LOCK_EX);
        if (r == 0) {
                run->meta = *meta;
                run->changes_fd =
                        sys_open_at(run->dir_fd, CHANGES, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
                r = run->changes_fd < 0 ? run->changes_fd : meta_write(run->dir_fd, meta);
        }
        if (r < 0 && run->dir_fd >= 0)
                run_unlink(s, meta->id, run->dir_fd);
        return r == -EEXIST ? -EIO : r; /* from the folder alone it means what it says */
}

int cay_run_store_make(struct cay_run_store *s, const struct cay_meta *meta, struct cay_stored *ret,
                       struct cay_error *err)
{
        struct cay_stored run = { .dir_fd = -1, .changes_fd = -1 };
        int r = run_make(s, meta, &run);

        if (r == 0) {
                *ret = run;
                return 0;
        }
        cay_run_store_let_go(&run);
        if (r == -EEXIST)
                return cay_fail(err, CAY_EXISTS,
                                "a kept run '%s' exists already; use `cay discard %s` or another --id",
                                meta->id, meta->id);
        return fail(err, r, "make a folder for the run's changes in", s->path);
}

int cay_run_store_save(struct cay_stored *run, struct cay_error *err)
{
        int r = run->changes_fd >= 0 && fsync(run->changes_fd) < 0 ? -errno : 0;

        if (r == 0)
                r = meta_write(run->dir_fd, &run->meta);
        if (r == 0 && fsync(run->dir_fd) < 0)
                r = -errno;
        return r < 0 ? fail(err, r, "keep the changes of", run->meta.id) : 0;
}

int cay_run_store_remove(struct cay_run_store *s, struct cay_stored *run, struct cay_error *err)
{
        int r = run_unlink(s, run->meta.id, run->dir_fd);

        cay_run_store_let_go(run);
        return r < 0 ? fail(err, r, "remove the kept run", run->meta.id) : 0;
}

/* --- Finding --- */

struct listing {
        struct cay_run_store *s;
        struct cay_run_store_row *rows; /* owned */
        size_t count, cap;
        int failed;
};

static uint64_t size_of(int dir_fd)
{
        struct stat st;

        return fstatat(dir_fd, CHANGES, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_size : 0;
}

static void list_one(void *ctx, int dirfd, const char *name, unsigned type)
{
        struct listing *l = ctx;
        cay_auto(cay_run_store_let_go) struct cay_stored run = { -1, -1, { .id = "" } };
        struct cay_run_store_row *row;
        int r;

        if (l->failed < 0 || l->count >= CAY_STORE_RUNS_MAX || !cay_id_is_valid(name) ||
            run_open(l->s, name, &run) < 0)
                return;
        if (l->count == l->cap) {
                size_t cap = l->cap > 0 ? 2 * l->cap : 8;
                struct cay_run_store_row *rows = reallocarray(l->rows, cap, sizeof(*rows));

                if (rows == NULL) {
                        l->failed = -ENOMEM;
                        return;
                }
                l->rows = rows;
                l->cap = cap;
        }
        row = &l->rows[l->count];
        *row = (struct cay_run_store_row){ .size_bytes = size_of(run.dir_fd) };
        r = meta_read(run.dir_fd, name, &row->meta);
        if (r == -ENOENT)
                return; /* is being removed */
        if (r < 0) {
                row->is_broken = true;
                cay_str_copy(row->meta.id, sizeof(row->meta.id), name);
        }
        l->count++;
}

static int by_age(const void *a, const void *b)
{
        const struct cay_meta *x = &((const struct cay_run_store_row *)a)->meta;
        const struct cay_meta *y = &((const struct cay_run_store_row *)b)->meta;

        if (x->started_ms != y->started_ms)
                return x->started_ms < y->started_ms ? -1 : 1;
        return strcmp(x->id, y->id);
}

int cay_run_store_list(struct cay_run_store *s, struct cay_run_store_row **ret, size_t *ret_count,
                       struct cay_error *err)
{
        struct listing l = { .s = s };
        int r = sys_dir_each(s->fd, list_one, &l);

        if (r == 0)
                r = l.failed;
        if (r < 0) {
                free(l.rows);
                return fail(err, r, "list", s->path);
        }
        if (l.count > 0)
                qsort(l.rows, l.count, sizeof(*l.rows), by_age);
        *ret = l.rows;
        *ret_count = l.count;
        return 0;
}

static int not_found(const char *name, struct cay_error *err)
{
        struct cay_files_text t;

        return cay_fail(err, CAY_NOT_FOUND, "no kept run '%s'; `cay runs` lists them",
                        cay_files_quote(&t, name));
}

/* Which row a name means; NULL with err. */
static const struct cay_run_store_row *choose(const struct cay_run_store_row *rows, size_t count,
                                              const char *name, struct cay_error *err)
{
        const struct cay_run_store_row *found = NULL;
        struct cay_files_text t;

        for (size_t i = count; i-- > 0;) {
                if (strcmp(rows[i].meta.id, name) == 0)
                        return &rows[i];
                if (strcmp(name, "last") == 0 && found == NULL && rows[i].meta.state == CAY_META_KEPT &&
                    !rows[i].is_broken)
                        found = &rows[i];
        }
        if (found != NULL)
                return found;
        if (strcmp(name, "last") == 0) {
                cay_fail(err, CAY_NOT_FOUND, "there are no kept runs");
                return NULL;
        }
        for (size_t i = 0; i < count && name[0] != '\0'; i++) {
                if (!cay_str_starts(rows[i].meta.id, name))
                        continue;
                if (found != NULL) {
                        cay_fail(err, CAY_INVALID, "'%s' matches more than one kept run: %s and %s",
                                 cay_files_quote(&t, name), found->meta.id, rows[i].meta.id);
                        return NULL;
                }
                found = &rows[i];
        }
        if (found == NULL)
                not_found(name, err);
        return found;
}

static int hold(struct cay_run_store *s, const struct cay_run_store_row *row, int how, struct cay_stored *ret,
                struct cay_error *err)
{
        const char *id = row->meta.id;
        int r = run_open(s, id, ret);

        if (r == 0)
                r = run_lock(ret, how);
        if (r == -EWOULDBLOCK)
                return cay_fail(err, CAY_CONFLICT, "run '%s' %s", id,
                                row->meta.state == CAY_META_RUNNING && !row->is_broken
                                        ? "has not ended yet"
                                        : "is in use by another cay");
        if (r == -ENOENT)
                return not_found(id, err);
        return r < 0 ? fail(err, r, "open the kept run", id) : 0;
}

static int find(struct cay_run_store *s, const char *name, int how, bool any, struct cay_stored *ret,
                struct cay_error *err)
{
        cay_auto_free struct cay_run_store_row *rows = NULL;
        const struct cay_run_store_row *row;
        size_t count = 0;
        int r;

        if (cay_run_store_list(s, &rows, &count, err) < 0)
                return -1;
        row = choose(rows, count, name, err);
        if (row == NULL || hold(s, row, how, ret, err) < 0)
                return -1;
        r = meta_read(ret->dir_fd, row->meta.id, &ret->meta);
        if (any) {
                if (r < 0)
                        cay_str_copy(ret->meta.id, sizeof(ret->meta.id), row->meta.id);
                return 0;
        }
        if (r == 0 && ret->meta.state != CAY_META_KEPT) /* died; the next sweep removes it */
                return not_found(name, err);
        if (r == 0) {
                ret->changes_fd = sys_open_at(ret->dir_fd, CHANGES, O_RDONLY | O_NOFOLLOW, 0);
                r = ret->changes_fd < 0 ? ret->changes_fd : 0;
        }
        if (r == -EINVAL)
                return cay_fail(err, CAY_INVALID,
                                "the kept run '%s' is broken or of another version of cay; `cay discard %s` "
                                "removes it",
                                row->meta.id, row->meta.id);
        return r < 0 ? fail(err, r, "open the kept run", row->meta.id) : 0;
}

static int find_or_let_go(struct cay_run_store *s, const char *name, int how, bool any,
                          struct cay_stored *ret, struct cay_error *err)
{
        struct cay_stored run = { .dir_fd = -1, .changes_fd = -1 };

        if (find(s, name, how, any, &run, err) < 0) {
                cay_run_store_let_go(&run);
                return -1;
        }
        *ret = run;
        return 0;
}

int cay_run_store_find(struct cay_run_store *s, const char *name, enum cay_run_store_use use,
                       struct cay_stored *ret, struct cay_error *err)
{
        return find_or_let_go(s, name, use == CAY_STORE_READ ? LOCK_SH : LOCK_EX, false, ret, err);
}

int cay_run_store_find_any(struct cay_run_store *s, const char *name, struct cay_stored *ret,
                           struct cay_error *err)
{
        return find_or_let_go(s, name, LOCK_EX, true, ret, err);
}
