/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker REMOVE: a file, a link, an empty directory, or a whole tree.
 *
 * Theory of operation
 *
 * A tree is removed bottom-up by descriptors only: no path string, no recursion, no memory that grows with
 * it. The last LEVELS directories of the current path are kept open, each with a few entries read from it.
 * Files and empty directories are removed immediately; the first directory that is not empty is entered. A
 * path deeper than LEVELS drops its upper end. When the lower end is removed, the walk restarts from the top
 * and finds what is left. Each restart removes at least LEVELS directories, so trees of any depth are
 * finished. Rejected: going up by "..", which is wrong when a directory is moved meanwhile; keeping all
 * names, which limits the depth.
 *
 * Links are never followed, and a mount point is an error, not a way into another file system.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/files_text.h"
#include "cay-init/files.h"
#include "cay-init/files_chain.h"

enum {
        LEVELS = 128,
        DENTS = 512,  /* 64 KiB for all levels; an entry has 280 bytes at most */
        RESCANS = 64, /* of a directory that is filled again while it is emptied */
};

struct level {
        int fd;
        unsigned rescans;
        uint16_t at, next, len; /* of dents: the entry being removed, the one behind it, all */
        char dents[DENTS] __attribute__((aligned(8)));
};

struct removal {
        struct level levels[LEVELS]; /* a ring: level n at n % LEVELS */
        unsigned top, depth;         /* levels top … depth - 1 are open; 0 is the tree's own directory */
        uint64_t mount, dev;
        uint64_t removed;
        char name[256]; /* of what could not be removed */
};

static struct level *level_at(struct removal *t, unsigned n)
{
        return &t->levels[n % LEVELS];
}

static void level_close(struct level *l)
{
        if (l->fd >= 0)
                close(l->fd);
        l->fd = -1;
}

static bool is_dot(const char *name)
{
        return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static int fail(struct removal *t, int r, const char *name)
{
        snprintf(t->name, sizeof(t->name), "%s", name);
        return r;
}

/* Opens a directory of the tree as its next level. */
static int level_push(struct removal *t, int at, const char *name)
{
        cay_auto_close int fd = -1;
        struct level *l;
        struct stat st;

        for (;;) {
                fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                /*
                 * With a low limit of open files fewer levels are kept open, but never less than the current
                 * one.
                 */
                if (fd >= 0 || errno != EMFILE || t->depth - t->top < 2)
                        break;
                level_close(level_at(t, t->top++));
        }
        if (fd < 0)
                return fail(t, errno == ELOOP ? -ENOTDIR : -errno, name);
        if (fstat(fd, &st) < 0)
                return fail(t, -errno, name);
        if (st.st_dev != t->dev || cay_files_mount_of(fd) != t->mount)
                return fail(t, -EBUSY, name);
        if (t->depth - t->top == LEVELS)
                level_close(level_at(t, t->top++));
        l = level_at(t, t->depth++);
        l->fd = cay_take_fd(fd);
        l->rescans = 0;
        l->at = l->next = l->len = 0;
        return 0;
}

/* The next entry of a level, NULL at the end. */
static int level_next(struct level *l, const struct cay_dent **ret)
{
        for (;;) {
                const struct cay_dent *d;

                if (l->next >= l->len) {
                        long n = syscall(SYS_getdents64, l->fd, l->dents, DENTS);

                        if (n < 0 && errno != ENOENT)
                                return -errno;
                        *ret = NULL;
                        if (n <= 0)
                                return 0;
                        l->at = l->next = 0;
                        l->len = (uint16_t)n;
                }
                d = (const struct cay_dent *)(const void *)(l->dents + l->next);
                l->at = l->next;
                l->next = (uint16_t)(l->next + d->reclen);
                *ret = d;
                if (!is_dot(d->name))
                        return 0;
        }
}

/* 0: removed; 1: a directory that is not empty; or -errno. `type` is the directory entry's, a hint. */
static int entry_remove(struct removal *t, int at, const char *name, unsigned type)
{
        if (type != DT_DIR) {
                if (unlinkat(at, name, 0) == 0 || errno == ENOENT) {
                        t->removed++;
                        return 0;
                }
                if (errno != EISDIR && errno != EPERM)
                        return fail(t, -errno, name);
        }
        if (unlinkat(at, name, AT_REMOVEDIR) == 0 || errno == ENOENT) {
                t->removed++;
                return 0;
        }
        if (errno == ENOTEMPTY || errno == EEXIST)
                return 1;
        if (errno != ENOTDIR)
                return fail(t, -errno, name);
        if (type != DT_DIR)
                return fail(t, -EPERM, name); /* what unlink said */
        /* It was a directory when it was listed. */
        if (unlinkat(at, name, 0) < 0 && errno != ENOENT)
                return fail(t, -errno, name);
        t->removed++;
        return 0;
}

/* The lowest level seems empty: return to the one above, which removes it; 1: restart from the top. */
static int level_pop(struct removal *t)
{
        const struct cay_dent *d;
        struct level *up;
        int r;

        level_close(level_at(t, --t->depth));
        if (t->depth == t->top)
                return 1;
        up = level_at(t, t->depth - 1);
        d = (const struct cay_dent *)(const void *)(up->dents + up->at);
        r = entry_remove(t, up->fd, d->name, d->type);
        if (r <= 0)
                return r;
        /* An entry was added meanwhile: scan that directory again. */
        if (++up->rescans > RESCANS)
                return fail(t, -ENOTEMPTY, d->name);
        up->next = up->at;
        return 0;
}

/* Descends from the tree's directory until everything within reach is removed. 0, or -errno. */
static int tree_pass(struct removal *t, int parent_fd, const char *root)
{
        int r = level_push(t, parent_fd, root);

        while (r == 0) {
                struct level *l = level_at(t, t->depth - 1);
                const struct cay_dent *d = NULL;

                r = level_next(l, &d);
                if (r < 0)
                        return fail(t, r, root);
                if (!d) {
                        r = level_pop(t);
                        continue;
                }
                r = entry_remove(t, l->fd, d->name, d->type);
                if (r == 1)
                        r = level_push(t, l->fd, d->name);
        }
        return r < 0 ? r : 0;
}

static int tree_remove(struct removal *t, int parent_fd, const char *root)
{
        unsigned idle = 0;
        int r;

        for (;;) {
                uint64_t before = t->removed;

                r = entry_remove(t, parent_fd, root, DT_DIR);
                if (r <= 0)
                        return r;
                r = tree_pass(t, parent_fd, root);
                while (t->depth > t->top)
                        level_close(level_at(t, --t->depth));
                t->depth = t->top = 0;
                if (r < 0)
                        return r;
                idle = t->removed > before ? 0 : idle + 1;
                if (idle > RESCANS)
                        return fail(t, -ENOTEMPTY, root);
        }
}

static int remove_entry(const struct cay_worker_request *req, struct cay_worker_result *ret,
                        struct cay_error *err)
{
        cay_auto_free struct removal *t = calloc(1, sizeof(*t));
        cay_auto_close int parent_fd = -1;
        struct cay_files_text t1, t2;
        struct stat st, parent_st;
        char name[256];
        int r;

        if (!t)
                return cay_files_fail(err, -ENOMEM, "remove", req->path);
        for (unsigned i = 0; i < LEVELS; i++)
                t->levels[i].fd = -1;
        if (cay_files_parent_open(req->path, &parent_fd, name, err) < 0)
                return -1;
        if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || fstat(parent_fd, &parent_st) < 0)
                return cay_files_fail(err, -errno, "remove", req->path);
        t->mount = cay_files_mount_of(parent_fd);
        t->dev = parent_st.st_dev;

        if (!S_ISDIR(st.st_mode))
                r = unlinkat(parent_fd, name, 0) < 0 ? -errno : 0;
        else if (!(req->open->file.flags & CAY_BOX_RECURSIVE))
                r = unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 ? (errno == EEXIST ? -ENOTEMPTY : -errno) : 0;
        else
                r = tree_remove(t, parent_fd, name);
        ret->entries = t->removed > 0 ? t->removed : r == 0;
        if (r < 0 && t->name[0] && strcmp(t->name, name) != 0)
                return cay_fail_sys(err, cay_files_code(r), r, "remove '%s': '%s'",
                                    cay_files_quote(&t1, req->path), cay_files_quote(&t2, t->name));
        return r < 0 ? cay_files_fail(err, r, "remove", req->path) : 0;
}

void cay_file_remove(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        struct cay_error err = { .code = CAY_OK };

        if (remove_entry(req, ret, &err) < 0)
                cay_files_answer(ret, &err);
}
