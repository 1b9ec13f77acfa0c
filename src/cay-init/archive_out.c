/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker TAR_OUT: a file, a link or a whole tree as a tar stream.
 *
 * Theory of operation
 *
 * The walk uses descriptors, and a header describes what was opened, not what was listed: a directory's
 * header is written after it was entered, a file's from its descriptor. Names are relative to the requested
 * directory, which comes first as "./"; a single file has its own name.
 *
 * Left out and counted: FIFOs, sockets, devices, what the sandbox's user can't read, names too long, other
 * mounts (their directory is there, empty). Hard links are sent as copies: telling them apart would take
 * memory that grows with the tree. Times are whole seconds, as ustar has them, unless a pax header is there
 * anyway: it would be two more blocks for every file. Holes stay holes: such a file is sent in pax form 1.0,
 * which GNU tar, bsdtar and Python read. max_bytes is a limit on the stream, checked before a member is
 * begun.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/files_text.h"
#include "cay-init/archive_plan.h"
#include "cay-init/archive_stream.h"
#include "cay-init/files.h"
#include "cay-init/files_walk.h"

struct pack {
        struct cay_files_walk walk;
        uint64_t entries, left_out, max_entries;
        char name[CAY_TAR_NAME_MAX + 2];
        char target[4096];
        struct cay_archive_stream stream;
};

/* The header of p->name. 1: left out, because its name can't be written. */
static int header_put(struct pack *p, enum cay_tar_type type, const struct stat *st, uint64_t stored,
                      const char *target, struct cay_error *err)
{
        struct cay_tar_member m = {
                .type = type,
                .mode = st->st_mode & 0777,
                .size = type == CAY_TAR_FILE ? (uint64_t)st->st_size : 0,
                .mtime_s = st->st_mtim.tv_sec,
                .mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
                .name = p->name,
                .link = target,
                .stored = stored,
        };
        struct cay_files_text t;
        int r;

        if (p->entries >= p->max_entries)
                return cay_fail(err, CAY_LIMIT, "pack '%s': more than %llu members",
                                cay_files_quote(&t, p->name), (unsigned long long)p->max_entries);
        r = cay_archive_stream_member(&p->stream, &m, err);
        p->entries += r == 0;
        p->left_out += r > 0;
        return r;
}

static int file_put(struct pack *p, int at, const char *name, int more_flags, struct cay_error *err)
{
        cay_auto_close int fd = openat(at, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | more_flags);
        uint64_t stored;
        struct stat st;
        int r;

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
                p->left_out++;
                return 0;
        }
        stored = cay_archive_stream_map(&p->stream, fd, &st);
        r = header_put(p, CAY_TAR_FILE, &st, stored, "", err);
        if (r != 0)
                return r < 0 ? -1 : 0;
        return stored > 0 ? cay_archive_stream_pieces(&p->stream, fd, p->name, err)
                          : cay_archive_stream_file(&p->stream, fd, (uint64_t)st.st_size, p->name, err);
}

static int link_put(struct pack *p, int at, const char *name, const struct stat *st, struct cay_error *err)
{
        ssize_t n = readlinkat(at, name, p->target, sizeof(p->target) - 1);

        if (n <= 0) {
                p->left_out++;
                return 0;
        }
        p->target[n] = '\0';
        return header_put(p, CAY_TAR_SYMLINK, st, 0, p->target, err) < 0 ? -1 : 0;
}

static int directory_put(struct pack *p, const struct stat *st, struct cay_error *err)
{
        size_t len = strlen(p->name);

        memcpy(p->name + len, "/", 2);
        return header_put(p, CAY_TAR_DIRECTORY, st, 0, "", err) < 0 ? -1 : 0;
}

/* Enter a directory first, so that its header describes the directory that was entered. */
static int directory_enter(struct pack *p, const struct stat *listed, struct cay_error *err)
{
        int r = cay_files_walk_descend(&p->walk), fd;
        struct stat st = *listed;

        if (r == -ENOTDIR || r == -ENOENT) {
                p->left_out++; /* it was a directory a moment ago */
                return 0;
        }
        if (r == -EACCES || r == -EXDEV || r == -ENAMETOOLONG)
                p->left_out++;
        else if (r < 0)
                return cay_files_fail(err, r, "pack", p->name);
        if (r == 0) {
                fd = cay_files_chain_fd(&p->walk.chain);
                if (fd < 0 || fstat(fd, &st) < 0)
                        return cay_files_fail(err, fd < 0 ? fd : -errno, "pack", p->name);
        }
        return directory_put(p, &st, err);
}

static int entry_put(struct pack *p, struct cay_error *err)
{
        int at = cay_files_chain_fd(&p->walk.chain);
        struct stat st;

        if (at < 0)
                return cay_files_fail(err, at, "pack", p->walk.chain.path);
        if (cay_files_chain_join(&p->walk.chain, p->walk.name, p->name, CAY_TAR_NAME_MAX) < 0 ||
            fstatat(at, p->walk.name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
                p->left_out++;
                return 0;
        }
        switch (st.st_mode & S_IFMT) {
        case S_IFREG:
                return file_put(p, at, p->walk.name, O_NOFOLLOW, err);
        case S_IFLNK:
                return link_put(p, at, p->walk.name, &st, err);
        case S_IFDIR:
                return directory_enter(p, &st, err);
        default:
                p->left_out++;
                return 0;
        }
}

static int tree_put(struct pack *p, struct cay_error *err)
{
        int r;

        while ((r = cay_files_walk_next(&p->walk)) != CAY_FILES_END) {
                if (r < 0)
                        return cay_files_fail(err, r, "pack", p->walk.chain.path);
                if (r == CAY_FILES_ENTRY && entry_put(p, err) < 0)
                        return -1;
        }
        return 0;
}

static int root_put(struct pack *p, const struct cay_worker_request *req, struct cay_error *err)
{
        bool follow = req->open->file.flags & CAY_BOX_FOLLOW;
        cay_auto_at struct cay_files_at at = { AT_FDCWD, "" };
        cay_auto_close int dir = -1;
        char name[256];
        struct stat st;
        int fd, r;

        if (cay_files_at_open(&at, req->path, err) < 0)
                return -1;
        if (fstatat(at.fd, at.path, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
                return cay_files_fail(err, -errno, "pack", req->path);
        if (S_ISDIR(st.st_mode)) {
                fd = openat(at.fd, at.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
                if (fd < 0)
                        return cay_files_fail(err, -errno, "pack", req->path);
                memcpy(p->name, ".", 2);
                if (directory_put(p, &st, err) < 0) {
                        close(fd);
                        return -1;
                }
                r = cay_files_walk_init_take(&p->walk, fd);
                if (r < 0)
                        return cay_files_fail(err, r, "pack", req->path);
                r = tree_put(p, err);
                cay_files_walk_done(&p->walk);
                return r;
        }
        if (cay_files_parent_open(req->path, &dir, name, err) < 0)
                return -1;
        memcpy(p->name, name, sizeof(name));
        if (S_ISLNK(st.st_mode))
                return link_put(p, dir, name, &st, err);
        if (!S_ISREG(st.st_mode))
                return cay_fail(err, CAY_CONFLICT, "only files, directories and links can be packed");
        r = file_put(p, dir, name, follow ? 0 : O_NOFOLLOW, err);
        if (r == 0 && p->entries == 0)
                return cay_files_fail(err, -EACCES, "pack", req->path);
        return r;
}

void cay_archive_out(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        const struct cay_box_file *f = &req->open->file;
        cay_auto_free struct pack *p = malloc(sizeof(*p));
        struct cay_error err = { .code = CAY_OK };

        if (!p) {
                cay_files_fail(&err, -ENOMEM, "pack", req->path);
                cay_files_answer(ret, &err);
                return;
        }
        p->entries = p->left_out = 0;
        p->max_entries = f->max_entries > 0 ? f->max_entries : CAY_ARCHIVE_ENTRIES_MAX;
        cay_archive_stream_init(&p->stream, req->out_fd, "archive", f->max_bytes);
        if (root_put(p, req, &err) < 0 || cay_archive_stream_end(&p->stream, &err) < 0)
                cay_files_answer(ret, &err);
        else if (p->left_out > 0)
                snprintf(ret->msg, sizeof(ret->msg),
                         "%llu entries left out: special files, unreadable, too deep or other mounts",
                         (unsigned long long)p->left_out);
        ret->bytes = p->stream.bytes;
        ret->entries = p->entries;
}
