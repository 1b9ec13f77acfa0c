/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a change set with its folder. */
#include "cay/changes/check.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/files_text.h"
#include "foundation/sys/dir.h"

enum { COMPARE_BYTES = 64 * 1024 };

/* What the folder has under a name now. */
struct now {
        bool is_there, is_parent_there;
        struct stat st;
        enum cay_change_type type;
};

/* --- One entry as it is --- */

static int same_content(const struct cay_change_set *set, struct cay_folder *folder,
                        const struct cay_change *c)
{
        cay_auto_close int fd = -1;
        cay_auto_free char *mem = malloc(2 * COMPARE_BYTES);
        struct stat st;

        if (mem == NULL)
                return -ENOMEM;
        fd = cay_folder_open_file(folder, c->path, &st);
        if (fd < 0)
                return fd;
        for (uint64_t at = 0; at < c->size;) {
                ssize_t n = cay_change_set_read(set, c, at, mem, COMPARE_BYTES), have = 0, got = 1;

                if (n < 0)
                        return (int)n;
                while (have < n && got > 0) {
                        got = pread(fd, mem + COMPARE_BYTES + have, (size_t)(n - have), (off_t)at + have);
                        if (got < 0)
                                return -errno;
                        have += got;
                }
                if (have < n || memcmp(mem, mem + COMPARE_BYTES, (size_t)n) != 0)
                        return 0;
                at += (uint64_t)n;
        }
        return 1;
}

static int is_as_wanted(struct cay_change_set *set, struct cay_folder *folder, const struct cay_change *c,
                        const struct now *now)
{
        char target[CAY_CHANGE_PATH_MAX + 1];
        ssize_t n;

        if (!now->is_there)
                return c->type == CAY_CHANGE_NONE;
        if (now->type != c->type)
                return 0;
        switch (c->type) {
        case CAY_CHANGE_DIRECTORY:
                /* A directory that both made is no conflict: the folder's keeps its mode. */
                return c->base.type == CAY_CHANGE_NONE || (now->st.st_mode & 0777) == c->mode;
        case CAY_CHANGE_SYMLINK:
                n = cay_folder_readlink(folder, c->path, target);
                return n < 0 ? (int)n : strcmp(target, c->target) == 0;
        case CAY_CHANGE_FILE:
                if ((uint64_t)now->st.st_size != c->size || (now->st.st_mode & 0777) != c->mode)
                        return 0;
                return same_content(set, folder, c);
        default:
                return 0;
        }
}

/* The set makes the directory above: what the folder has there now is judged with that entry. */
static bool is_in_new(struct cay_change_set *set, const struct cay_change *c)
{
        char dir[CAY_CHANGE_PATH_MAX + 1];
        const struct cay_change *d;
        size_t len = strlen(c->path);

        memcpy(dir, c->path, len + 1);
        for (;;) {
                char *slash = strrchr(dir, '/');

                if (slash == NULL)
                        return false;
                *slash = '\0';
                d = cay_change_set_find(set, dir);
                if (d != NULL && d->type == CAY_CHANGE_DIRECTORY && d->base.type != CAY_CHANGE_DIRECTORY)
                        return true;
        }
}

/* -errno: something above it is in the way. */
static int look(struct cay_change_set *set, struct cay_folder *folder, const struct cay_change *c,
                struct now *ret)
{
        struct cay_change_base as;
        const char *name;
        int r = cay_folder_stat(folder, c->path, &ret->st);

        ret->is_there = ret->is_parent_there = r == 0;
        ret->type = CAY_CHANGE_NONE;
        if (r == 0) {
                cay_change_base_of(&ret->st, &as);
                ret->type = as.type;
                return 0;
        }
        /* A removed entry is also gone if its directory became something else. */
        if ((r == -ENOTDIR || r == -ELOOP) && (c->type == CAY_CHANGE_NONE || is_in_new(set, c)))
                return 0;
        if (r == -ENOENT)
                ret->is_parent_there = cay_folder_parent(folder, c->path, &name) >= 0;
        return r == -ENOENT ? 0 : r;
}

int cay_check_is_applied(struct cay_change_set *set, struct cay_folder *folder, const struct cay_change *c)
{
        struct now now;
        int r = look(set, folder, c, &now);

        return r < 0 ? r : is_as_wanted(set, folder, c, &now);
}

bool cay_check_is_base(const struct stat *st, const struct cay_change *c, int64_t began_ns)
{
        struct cay_change_base as;

        cay_change_base_of(st, &as);
        if (as.type != c->base.type)
                return false;
        if (as.type == CAY_CHANGE_DIRECTORY)
                return c->type != CAY_CHANGE_DIRECTORY || as.mode == c->base.mode;
        return as.mode == c->base.mode && as.size == c->base.size && as.ino == c->base.ino &&
               as.mtime_ns == c->base.mtime_ns && as.ctime_ns == c->base.ctime_ns && as.ctime_ns < began_ns;
}

/* --- Directories that go --- */

struct listing {
        struct cay_change_set *set;
        const struct cay_change *dir;
        char unknown[CAY_CHANGE_NAME_MAX + 1];
};

static void on_child(void *ctx, int dirfd, const char *name, unsigned type)
{
        struct listing *l = ctx;
        char path[CAY_CHANGE_PATH_MAX + 1];
        const struct cay_change *c = NULL;

        if (l->unknown[0] != '\0')
                return;
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", l->dir->path, name) < sizeof(path))
                c = cay_change_set_find(l->set, path);
        if (c == NULL || c->base.type == CAY_CHANGE_NONE)
                snprintf(l->unknown, sizeof(l->unknown), "%s", name);
}

/* 1: it holds something that the run may not remove, which is named. */
static int holds_unknown(struct cay_check *k, const struct cay_change *c, struct listing *ret)
{
        cay_auto_close int fd = cay_folder_open_dir(k->folder, c->path);
        int r;

        *ret = (struct listing){ .set = k->set, .dir = c };
        if (fd < 0)
                return fd;
        r = sys_dir_each(fd, on_child, ret);
        return r < 0 ? r : ret->unknown[0] != '\0';
}

/* --- Judging --- */

static enum cay_verdict conflict(struct cay_check *k, const struct cay_change *c, bool can_force,
                                 const char *why)
{
        if (can_force && k->force)
                return CAY_VERDICT_READY;
        k->conflicts++;
        if (k->on_conflict != NULL)
                k->on_conflict(k->ctx, c, why);
        return can_force ? CAY_VERDICT_CONFLICT : CAY_VERDICT_STUCK;
}

static enum cay_verdict stuck(struct cay_check *k, const struct cay_change *c, int r)
{
        char why[128];

        switch (r) {
        case -ENOTDIR:
                return conflict(k, c, false, "something above it is no directory any more");
        case -ELOOP:
                return conflict(k, c, false, "something above it is a symbolic link now");
        case -EXDEV:
                return conflict(k, c, false,
                                "another file system is mounted there, which the run did not see");
        default:
                snprintf(why, sizeof(why), "it cannot be looked at: %s", strerror(-r));
                return conflict(k, c, false, why);
        }
}

static enum cay_verdict judge_directory(struct cay_check *k, const struct cay_change *c)
{
        struct listing l;
        struct cay_files_text t;
        char why[192];
        int r = holds_unknown(k, c, &l);

        if (r < 0)
                return stuck(k, c, r);
        if (r == 0)
                return CAY_VERDICT_READY;
        if (k->force && c->type == CAY_CHANGE_NONE)
                return CAY_VERDICT_LEFT;
        snprintf(why, sizeof(why), "it holds '%s', which the run did not know",
                 cay_files_quote(&t, l.unknown));
        return conflict(k, c, c->type == CAY_CHANGE_NONE, why);
}

static enum cay_verdict judge_there(struct cay_check *k, const struct cay_change *c, const struct now *now)
{
        bool in_the_way = now->type == CAY_CHANGE_DIRECTORY && c->type != CAY_CHANGE_DIRECTORY;

        if (c->base.type == CAY_CHANGE_NONE)
                return conflict(k, c, !in_the_way, "it is there, but was not when the run ended");
        if (c->base.type == CAY_CHANGE_UNKNOWN)
                return conflict(k, c, !in_the_way, "what it was when the run ended could not be seen");
        if (now->type != c->base.type)
                return conflict(k, c, !in_the_way, "it is something else than when the run ended");
        if (!cay_check_is_base(&now->st, c, k->began_ns))
                return conflict(k, c, true,
                                now->type != CAY_CHANGE_DIRECTORY && c->base.ctime_ns >= k->began_ns
                                        ? "it was changed in the folder while the run went on"
                                        : "it was changed in the folder since the run");
        return in_the_way ? judge_directory(k, c) : CAY_VERDICT_READY;
}

/* Its directory is writable, or will be once the set has changed its mode. */
static bool is_writable(struct cay_check *k, const struct cay_change *c)
{
        const char *name;
        int dir = cay_folder_parent(k->folder, c->path, &name);

        if (c->type == CAY_CHANGE_DIRECTORY && c->base.type == CAY_CHANGE_DIRECTORY)
                return true; /* is changed itself; its directory is not */
        if (dir < 0 || faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) == 0 || errno != EACCES)
                return true;
        return k->folder->dir[0] != '\0' && cay_change_set_find(k->set, k->folder->dir) != NULL;
}

static enum cay_verdict judge_entry(struct cay_check *k, const struct cay_change *c)
{
        struct now now;
        int r = look(k->set, k->folder, c, &now);

        if (r == 0)
                r = is_as_wanted(k->set, k->folder, c, &now);
        if (r < 0)
                return stuck(k, c, r);
        if (r > 0)
                return CAY_VERDICT_DONE;
        if (now.is_there)
                return judge_there(k, c, &now);
        if (c->base.type != CAY_CHANGE_NONE)
                return conflict(k, c, true, "it was removed from the folder since the run");
        if (!now.is_parent_there && !is_in_new(k->set, c))
                return conflict(k, c, true, "its directory was removed from the folder since the run");
        return CAY_VERDICT_READY;
}

static enum cay_verdict judge(struct cay_check *k, const struct cay_change *c)
{
        enum cay_verdict v = judge_entry(k, c);

        if (v == CAY_VERDICT_READY && !is_writable(k, c))
                return conflict(k, c, false, "you may not write to its directory");
        return v;
}

int cay_check_run(struct cay_check *k, struct cay_error *err)
{
        size_t count = cay_change_set_count(k->set);

        k->verdicts = calloc(count > 0 ? count : 1, 1);
        if (k->verdicts == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory for %zu entries", count);
        k->ready = k->done = k->conflicts = 0;
        for (size_t i = 0; i < count; i++) {
                const struct cay_change *c = cay_change_set_at(k->set, i);

                if (!c->is_selected)
                        continue;
                k->verdicts[i] = (uint8_t)judge(k, c);
                k->ready += k->verdicts[i] == CAY_VERDICT_READY;
                k->done += k->verdicts[i] == CAY_VERDICT_DONE;
        }
        return 0;
}

void cay_check_done(struct cay_check *k)
{
        free(cay_take(k->verdicts));
}
