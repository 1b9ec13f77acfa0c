/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker CHANGES: what was changed in a copy-on-write workspace, as a change set (foundation/tar/change.h).
 *
 * Theory of operation. The workspace is an overlay: what the commands wrote is in its upper directory, over
 * the host's folder, the base. The walk goes through the upper directory and tracks the same position in the
 * base, both by descriptor and without following links. The base entry has the same name in real directories,
 * or does not exist. The overlay's representation is decoded here:
 *
 *   a device 0:0 hides an entry of the base: removed. (Newer kernels have an empty file with a mark instead
 *       in some layers.)
 *   a directory marked opaque hides all that the base has in it: what is not there is removed, what is there
 *       is compared
 *   a file that was opened for writing but is what it was, and a directory that is there because of what is
 *       in it: no change
 *
 * A removed directory becomes a list of all that was in it, since the program that applies the set must check
 * that nothing else is in it. Marks of renamed directories and of files without their data never occur in
 * such an overlay; an incomplete set without an error would be worse than none, so such a mark is an error.
 * Left out and counted: special files, what even the owner can't read, names too long. Files that their owner
 * cannot read (mode 000) are made readable for a moment: no other process is in the box by then, and the
 * original mode is reported. Memory is bounded as in files_walk.h.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/files_text.h"
#include "cay-init/archive_stream.h"
#include "cay-init/files.h"
#include "cay-init/files_walk.h"
#include "foundation/sys/dir.h"
#include "foundation/tar/change.h"
#include "foundation/sys/fd.h"

#define OPAQUE "user.overlay.opaque"
#define WHITEOUT "user.overlay.whiteout"
#define REDIRECT "user.overlay.redirect"
#define METACOPY "user.overlay.metacopy"

enum { COMPARE_BYTES = 32 * 1024 };

struct pack {
        struct cay_files_walk walk;  /* over the upper directory */
        struct cay_files_chain base; /* as deep as the walk, or less where the base has no such directory */
        struct cay_files_walk gone;  /* over what is removed */
        uint32_t opaque_depth;       /* the base is hidden from this level of the walk on; 0: it is not */
        uint64_t entries, left_out, max_entries;
        size_t list_len; /* of list */
        char path[CAY_CHANGE_PATH_MAX + 2];
        char below[CAY_CHANGE_PATH_MAX + 1];
        char target[CAY_CHANGE_PATH_MAX + 1], other[CAY_CHANGE_PATH_MAX + 1];
        char compared[2][COMPARE_BYTES];
        char list[CAY_CHANGE_LIST_MAX];
        struct cay_archive_stream stream;
};

static int count_entry(struct pack *p, struct cay_error *err)
{
        if (p->entries >= p->max_entries)
                return cay_fail(err, CAY_LIMIT, "more than %llu changes", (unsigned long long)p->max_entries);
        p->entries++;
        return 0;
}

static int member_put(struct pack *p, const struct cay_tar_member *m, struct cay_error *err)
{
        int r = cay_archive_stream_member(&p->stream, m, err);

        return r > 0 ? cay_files_fail(err, -ENAMETOOLONG, "tell", m->name) : r;
}

/* An entry as it is now, under p->path. */
static int header_put(struct pack *p, enum cay_tar_type type, const struct stat *st, const char *target,
                      const struct cay_change_base *base, struct cay_error *err)
{
        char record[CAY_TAR_BASE_MAX + 1];
        struct cay_tar_member m = {
                .type = type,
                .mode = st->st_mode & 0777,
                .size = type == CAY_TAR_FILE ? (uint64_t)st->st_size : 0,
                .mtime_s = st->st_mtim.tv_sec,
                .mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
                .name = p->path,
                .link = target,
                .base = record,
        };

        cay_change_base_format(base, record);
        return count_entry(p, err) < 0 ? -1 : member_put(p, &m, err);
}

/* --- What is removed --- */

static int list_flush(struct pack *p, struct cay_error *err)
{
        struct cay_tar_member m = { .type = CAY_TAR_FILE,
                                    .mode = 0600,
                                    .size = p->list_len,
                                    .name = CAY_CHANGE_REMOVED,
                                    .link = "",
                                    .kind = CAY_CHANGE_REMOVED };

        if (p->list_len == 0)
                return 0;
        if (member_put(p, &m, err) < 0 || cay_archive_stream_bytes(&p->stream, p->list, p->list_len, err) < 0)
                return -1;
        p->list_len = 0;
        return 0;
}

static int list_put(struct pack *p, const char *path, const struct cay_change_base *base,
                    struct cay_error *err)
{
        char record[CAY_TAR_BASE_MAX + 1];
        size_t record_len = cay_change_base_format(base, record) + 1, path_len = strlen(path) + 1;

        if (p->list_len + record_len + path_len > sizeof(p->list) && list_flush(p, err) < 0)
                return -1;
        memcpy(p->list + p->list_len, record, record_len);
        memcpy(p->list + p->list_len + record_len, path, path_len);
        p->list_len += record_len + path_len;
        return count_entry(p, err);
}

static void base_look(int at, const char *name, struct cay_change_base *ret)
{
        struct stat st;

        if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
                cay_change_base_of(&st, ret);
        else
                *ret = (struct cay_change_base){ .type = errno == ENOENT || errno == ENOTDIR
                                                                 ? CAY_CHANGE_NONE
                                                                 : CAY_CHANGE_UNKNOWN };
}

/* One entry below the removed directory p->path. */
static int below_put(struct pack *p, struct cay_error *err)
{
        int at = cay_files_chain_fd(&p->gone.chain), r;
        struct cay_change_base base;
        size_t len = strlen(p->path);

        if (at < 0)
                return cay_files_fail(err, at, "look at", p->gone.chain.path);
        memcpy(p->below, p->path, len);
        p->below[len] = '/';
        if (len + 1 >= sizeof(p->below) ||
            cay_files_chain_join(&p->gone.chain, p->gone.name, p->below + len + 1,
                                 sizeof(p->below) - len - 1) < 0) {
                p->left_out++;
                return 0;
        }
        base_look(at, p->gone.name, &base);
        if (base.type == CAY_CHANGE_NONE)
                return 0; /* removed from the host's folder at this moment */
        if (list_put(p, p->below, &base, err) < 0)
                return -1;
        if (base.type != CAY_CHANGE_DIRECTORY)
                return 0;
        r = cay_files_walk_descend(&p->gone);
        /*
         * Its content is unknown: the program that applies the set finds entries that the set does not name,
         * and refuses.
         */
        return r == -ENOMEM ? cay_files_fail(err, r, "look at", p->below) : 0;
}

/* Everything below `name` of the base's directory `at`, which was a directory. */
static int tree_gone(struct pack *p, int at, const char *name, struct cay_error *err)
{
        int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r;

        if (fd < 0)
                return 0; /* as above */
        r = cay_files_walk_init_take(&p->gone, fd);
        if (r < 0)
                return cay_files_fail(err, r, "look at", p->path);
        while ((r = cay_files_walk_next(&p->gone)) != CAY_FILES_END) {
                if (r < 0)
                        r = cay_files_fail(err, r, "look at", p->path);
                else if (r == CAY_FILES_ENTRY)
                        r = below_put(p, err);
                if (r < 0)
                        break;
        }
        cay_files_walk_done(&p->gone);
        return r < 0 ? -1 : 0;
}

/* p->path does not exist any more. */
static int entry_gone(struct pack *p, int at, const char *name, const struct cay_change_base *base,
                      struct cay_error *err)
{
        if (base->type == CAY_CHANGE_NONE)
                return 0;
        if (list_put(p, p->path, base, err) < 0)
                return -1;
        return base->type == CAY_CHANGE_DIRECTORY ? tree_gone(p, at, name, err) : 0;
}

/* --- The base beside the walk --- */

/* The base's directory for the one that the walk is in; -1: it has none. */
static int base_at(struct pack *p)
{
        return p->base.depth == p->walk.chain.depth ? cay_files_chain_fd(&p->base) : -1;
}

static bool same_content(struct pack *p, int fd, uint64_t size, int at, const char *name)
{
        cay_auto_close int old = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        struct stat st;
        ssize_t n, m;

        if (old < 0 || fstat(old, &st) < 0 || !S_ISREG(st.st_mode))
                return false;
        for (uint64_t done = 0; done < size; done += (uint64_t)n) {
                n = sys_read_all(fd, p->compared[0], COMPARE_BYTES);
                m = sys_read_all(old, p->compared[1], COMPARE_BYTES);
                if (n <= 0 || n != m || memcmp(p->compared[0], p->compared[1], (size_t)n) != 0)
                        return false;
        }
        return true;
}

/* --- Entries of the upper directory --- */

/* Opens it for reading, even if its owner has no permission. -1: left out. */
static int file_open(int at, const char *name, const struct stat *listed, struct stat *ret)
{
        int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
        int fd = openat(at, name, flags);

        if (fd < 0 && errno == EACCES && fchmodat(at, name, (listed->st_mode & 0777) | 0400, 0) == 0)
                fd = openat(at, name, flags);
        if (fd < 0)
                return -1;
        if (fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode) || ret->st_ino != listed->st_ino) {
                close(fd);
                return -1;
        }
        ret->st_mode = listed->st_mode;
        return fd;
}

static int file_put(struct pack *p, int at, const struct stat *listed, const struct cay_change_base *base,
                    struct cay_error *err)
{
        cay_auto_close int fd = -1;
        struct cay_files_text t;
        struct stat st;
        int old = base_at(p);

        fd = file_open(at, p->walk.name, listed, &st);
        if (fd < 0) {
                p->left_out++;
                return 0;
        }
        if (fgetxattr(fd, METACOPY, NULL, 0) >= 0)
                return cay_fail(err, CAY_UNSUPPORTED, "'%s' has no content of its own in this overlay",
                                cay_files_quote(&t, p->path));
        if (base->type == CAY_CHANGE_FILE && base->size == (uint64_t)st.st_size &&
            (base->mode & 0777) == (st.st_mode & 0777) &&
            same_content(p, fd, (uint64_t)st.st_size, old, p->walk.name))
                return 0;
        if (base->type == CAY_CHANGE_DIRECTORY && tree_gone(p, old, p->walk.name, err) < 0)
                return -1;
        if (lseek(fd, 0, SEEK_SET) < 0)
                return cay_files_fail(err, -errno, "read", p->path);
        if (header_put(p, CAY_TAR_FILE, &st, "", base, err) < 0)
                return -1;
        return cay_archive_stream_file(&p->stream, fd, (uint64_t)st.st_size, p->path, err);
}

static int link_put(struct pack *p, int at, const struct stat *st, const struct cay_change_base *base,
                    struct cay_error *err)
{
        ssize_t n = readlinkat(at, p->walk.name, p->target, sizeof(p->target) - 1), m;
        int old = base_at(p);

        if (n <= 0) {
                p->left_out++;
                return 0;
        }
        p->target[n] = '\0';
        if (base->type == CAY_CHANGE_SYMLINK) {
                m = readlinkat(old, p->walk.name, p->other, sizeof(p->other) - 1);
                if (m == n && memcmp(p->target, p->other, (size_t)n) == 0)
                        return 0;
        }
        if (base->type == CAY_CHANGE_DIRECTORY && tree_gone(p, old, p->walk.name, err) < 0)
                return -1;
        return header_put(p, CAY_TAR_SYMLINK, st, p->target, base, err);
}

static bool is_opaque(int fd)
{
        char value[2];

        return fgetxattr(fd, OPAQUE, value, sizeof(value)) == 1 && value[0] == 'y';
}

struct hidden {
        struct pack *p;
        struct cay_error *err;
        int upper, old; /* the directory that was entered, and the base's */
        int result;
};

/* One entry of a hidden base directory. Names that exist in the upper directory are visited by the walk. */
static int hidden_put(struct hidden *h, const char *name)
{
        struct pack *p = h->p;
        struct cay_change_base base;
        struct stat st;

        if (fstatat(h->upper, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
                return 0;
        if (cay_files_chain_join(&p->walk.chain, name, p->path, CAY_CHANGE_PATH_MAX + 1) < 0) {
                p->left_out++;
                return 0;
        }
        base_look(h->old, name, &base);
        return entry_gone(p, h->old, name, &base, h->err);
}

static void on_hidden(void *ctx, int dirfd, const char *name, unsigned type)
{
        struct hidden *h = ctx;

        if (h->result == 0)
                h->result = hidden_put(h, name);
}

/* The walk has just entered a directory: does it hide the base's content? */
static int hidden_look(struct pack *p, struct cay_error *err)
{
        struct hidden h = {
                .p = p, .err = err, .upper = cay_files_chain_fd(&p->walk.chain), .old = base_at(p)
        };
        struct cay_files_text t;
        int r;

        if (h.upper < 0)
                return cay_files_fail(err, h.upper, "look at", p->walk.chain.path);
        if (fgetxattr(h.upper, REDIRECT, NULL, 0) >= 0)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "directory '%s' was moved in a way that this overlay should not know",
                                cay_files_quote(&t, p->walk.chain.path));
        if (p->opaque_depth == 0 && is_opaque(h.upper))
                p->opaque_depth = p->walk.chain.depth + 1;
        if (p->opaque_depth == 0 || h.old < 0)
                return 0;
        r = sys_dir_each(h.old, on_hidden, &h);
        if (r < 0 && h.result == 0)
                return cay_files_fail(err, r, "look at the base of", p->walk.chain.path);
        return h.result;
}

static int directory_put(struct pack *p, int at, const struct stat *st, const struct cay_change_base *base,
                         struct cay_error *err)
{
        bool is_same = base->type == CAY_CHANGE_DIRECTORY && (base->mode & 0777) == (st->st_mode & 0777);
        bool has_base = base->type == CAY_CHANGE_DIRECTORY && base_at(p) >= 0;
        const char *name;
        int r;

        if (!is_same) {
                size_t len = strlen(p->path);

                memcpy(p->path + len, "/", 2);
                if (header_put(p, CAY_TAR_DIRECTORY, st, "", base, err) < 0)
                        return -1;
        }
        if ((st->st_mode & 0700) != 0700)
                (void)!fchmodat(at, p->walk.name, (st->st_mode & 0777) | 0700,
                                0); /* else it is left out below */
        r = cay_files_walk_descend(&p->walk);
        if (r == -ENOMEM)
                return cay_files_fail(err, r, "look at", p->path);
        if (r < 0) {
                p->left_out++;
                return 0;
        }
        /* The name is the last one of the walk's own path now. */
        name = p->walk.chain.path + p->walk.chain.levels[p->walk.chain.depth - 1].path_len;
        name += *name == '/';
        if (has_base)
                cay_files_chain_enter(&p->base, name, strlen(name)); /* else there is no base below */
        return hidden_look(p, err);
}

/* Newer kernels have an empty file with a mark, in a directory with another mark. */
static bool is_marked_away(int at, const char *name)
{
        cay_auto_close int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        char value[2];

        return fd >= 0 && fgetxattr(fd, WHITEOUT, NULL, 0) >= 0 &&
               fgetxattr(at, OPAQUE, value, sizeof(value)) == 1 && value[0] == 'x';
}

static int entry_put(struct pack *p, struct cay_error *err)
{
        int at = cay_files_chain_fd(&p->walk.chain), old;
        struct cay_change_base base = { .type = CAY_CHANGE_NONE };
        struct stat st;

        if (at < 0)
                return cay_files_fail(err, at, "look at", p->walk.chain.path);
        if (cay_files_chain_join(&p->walk.chain, p->walk.name, p->path, CAY_CHANGE_PATH_MAX + 1) < 0 ||
            fstatat(at, p->walk.name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
                p->left_out++;
                return 0;
        }
        old = base_at(p);
        if (old >= 0)
                base_look(old, p->walk.name, &base);
        if ((S_ISCHR(st.st_mode) && st.st_rdev == 0) ||
            (S_ISREG(st.st_mode) && st.st_size == 0 && is_marked_away(at, p->walk.name)))
                return entry_gone(p, old, p->walk.name, &base, err);
        switch (st.st_mode & S_IFMT) {
        case S_IFREG:
                return file_put(p, at, &st, &base, err);
        case S_IFLNK:
                return link_put(p, at, &st, &base, err);
        case S_IFDIR:
                return directory_put(p, at, &st, &base, err);
        default:
                p->left_out++;
                return 0;
        }
}

static void directory_left(struct pack *p)
{
        uint32_t depth = p->walk.chain.depth;

        if (p->opaque_depth == depth + 1)
                p->opaque_depth = 0;
        if (p->base.depth == depth)
                cay_files_chain_leave(&p->base);
}

static int all_put(struct pack *p, struct cay_error *err)
{
        int r;

        if (hidden_look(p, err) < 0)
                return -1;
        while ((r = cay_files_walk_next(&p->walk)) != CAY_FILES_END) {
                if (r < 0)
                        return cay_files_fail(err, r, "look at", p->walk.chain.path);
                if (r == CAY_FILES_LEAVE)
                        directory_left(p);
                else if (entry_put(p, err) < 0)
                        return -1;
        }
        return 0;
}

static int pack_all(struct pack *p, const struct cay_worker_request *req, struct cay_error *err)
{
        int upper = openat(req->changes_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), base, r;

        if (upper < 0)
                return cay_files_fail(err, -errno, "open", "the changes");
        r = cay_files_walk_init_take(&p->walk, upper);
        if (r < 0)
                return cay_files_fail(err, r, "open", "the changes");
        base = openat(req->base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = base < 0 ? -errno : cay_files_chain_init_take(&p->base, base);
        if (r < 0)
                return cay_files_fail(err, r, "open", "the folder below the changes");
        if (all_put(p, err) < 0 || list_flush(p, err) < 0)
                return -1;
        return cay_archive_stream_end(&p->stream, err);
}

void cay_changes_out(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        const struct cay_box_file *f = &req->open->file;
        cay_auto_free struct pack *p = calloc(1, sizeof(*p));
        struct cay_error err = { .code = CAY_OK };

        if (req->changes_fd < 0 || req->base_fd < 0) {
                cay_fail(&err, CAY_UNSUPPORTED, "this sandbox has no copy-on-write workspace");
        } else if (!p) {
                cay_files_fail(&err, -ENOMEM, "tell", "the changes");
        } else {
                cay_archive_stream_init(&p->stream, req->out_fd, "changes", f->max_bytes);
                p->max_entries = f->max_entries > 0 ? f->max_entries : CAY_CHANGE_ENTRIES_MAX;
                pack_all(p, req, &err);
                cay_files_walk_done(&p->walk);
                cay_files_chain_done(&p->base);
                ret->bytes = p->stream.bytes;
                ret->entries = p->entries;
                ret->size = p->left_out;
        }
        if (err.code != CAY_OK)
                cay_files_answer(ret, &err);
}
