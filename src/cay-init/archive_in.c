/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker TAR_IN: unpacks a tar stream below a directory.
 *
 * Theory of operation
 *
 * archive_plan.h decides what a member may be; here it becomes files. The target directory is opened once,
 * and every step below it opens one component with O_NOFOLLOW from the descriptor above: nothing is created
 * outside, even if the stream or a racing program puts links into the target. Files and links are always
 * created new: an existing entry of that name is never written through. Where a file is replaced, the old one
 * stays until the new one is complete (foundation/sys/replace.h); a link's name is unlinked first.
 * Directories are never replaced, and nothing but a directory can have members below it. (openat2 would do
 * the same in one call, but the sandbox's filter returns ENOSYS for it. So the walk is the only code path,
 * and it is the tested one.)
 *
 * Modes and times of directories are set when the stream leaves them, else making files in them would undo
 * the time, and a read-only one could not be filled. An archive that returns to a directory which it made
 * read-only is refused. A file that can't be completed is removed again; what was unpacked before it stays.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/files_text.h"
#include "cay-init/archive_plan.h"
#include "cay-init/files.h"
#include "cay-init/files_chain.h"
#include "cay-init/files_replace.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/sparse.h"

enum { REPLACE_TRIES = 8 }; /* against a program that recreates the name each time */

struct unpack {
        struct cay_archive_actions actions;
        struct cay_archive_plan plan;
        struct cay_files_chain chain;
        int file_fd;              /* owned, or that of `whole`; -1: no file is being written */
        struct sys_replace whole; /* replaces another file when complete; descriptor -1: the name was free */
        bool has_hole;
        struct cay_tar_member file;
        char name[256]; /* last component of the current path; of the file while one is open */
        char buf[CAY_FILES_BUFFER];
};

static int refuse(struct cay_error *err, int r, const char *path)
{
        return cay_files_fail(err, r, "member", path);
}

static void times_of(const struct cay_tar_member *m, struct timespec ret[2])
{
        ret[0] = (struct timespec){ .tv_nsec = UTIME_OMIT };
        ret[1] = (struct timespec){ .tv_sec = m->mtime_s, .tv_nsec = (long)m->mtime_ns };
}

/* --- The place in the tree --- */

static void level_leave(struct unpack *u)
{
        struct cay_files_level *l = cay_files_chain_level(&u->chain);
        int fd = l->is_ours ? cay_files_chain_fd(&u->chain) : -1;

        /*
         * Failures are ignored: a directory that existed before may belong to another user, or be moved by
         * now.
         */
        if (fd >= 0) {
                struct timespec times[2];

                times_of(&(struct cay_tar_member){ .mtime_s = l->mtime_s, .mtime_ns = l->mtime_ns }, times);
                futimens(fd, times);
                fchmod(fd, l->mode);
        }
        cay_files_chain_leave(&u->chain);
}

static bool is_above(const struct unpack *u, const char *path, size_t len)
{
        size_t at = u->chain.levels[u->chain.depth].path_len;

        return at == 0 ||
               (at <= len && memcmp(u->chain.path, path, at) == 0 && (at == len || path[at] == '/'));
}

/* Changes to the directory path[0..len), which is made where it is missing. */
static int go_to(struct unpack *u, const char *path, size_t len, struct cay_error *err)
{
        while (!is_above(u, path, len))
                level_leave(u);
        for (;;) {
                size_t at = cay_files_chain_level(&u->chain)->path_len, n;
                int r, fd;

                at += at > 0 && at < len; /* the slash */
                if (at >= len)
                        return 0;
                n = strcspn(path + at, "/");
                r = cay_files_chain_enter(&u->chain, path + at, n);
                if (r == -ENOENT) {
                        memcpy(u->name, path + at, n);
                        u->name[n] = '\0';
                        fd = cay_files_chain_fd(&u->chain);
                        r = fd < 0 ? fd : mkdirat(fd, u->name, 0755) < 0 ? -errno : 0;
                        if (r == 0 || r == -EEXIST)
                                r = cay_files_chain_enter(&u->chain, path + at, n);
                }
                if (r < 0)
                        return refuse(err, r, path);
        }
}

/*
 * Changes to the directory that holds path, with the last component in u->name; returns its descriptor or -1.
 */
static int go_to_parent(struct unpack *u, const char *path, struct cay_error *err)
{
        const char *slash = strrchr(path, '/');
        int fd;

        if (go_to(u, path, slash ? (size_t)(slash - path) : 0, err) < 0)
                return -1;
        snprintf(u->name, sizeof(u->name), "%s", slash ? slash + 1 : path);
        fd = cay_files_chain_fd(&u->chain);
        return fd < 0 ? refuse(err, fd, path) : fd;
}

/* Removes whatever has the name, unless that is a directory. 0, or -errno. */
static int name_free(int dir, const char *name)
{
        struct stat st;

        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (S_ISDIR(st.st_mode))
                return -EISDIR;
        return unlinkat(dir, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

/* --- Actions --- */

static int on_directory(struct cay_archive_actions *a, const char *path, const struct cay_tar_member *m,
                        struct cay_error *err)
{
        struct unpack *u = cay_container_of(a, struct unpack, actions);
        struct cay_files_level *l;
        struct stat st;
        int fd;

        if (go_to(u, path, strlen(path), err) < 0)
                return -1;
        fd = cay_files_chain_fd(&u->chain);
        /* A directory from an earlier unpacking may be read-only: keep it writable until it is left. */
        if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
                fchmod(fd, (st.st_mode & 0777) | 0700); /* ignoring: creating something in it will fail */
        l = cay_files_chain_level(&u->chain);
        l->is_ours = true;
        l->mode = (uint16_t)m->mode;
        l->mtime_s = m->mtime_s;
        l->mtime_ns = m->mtime_ns;
        return 0;
}

/* The name exists: that entry stays until the new file is complete. */
static int begin_whole(struct unpack *u, int dir)
{
        struct stat st;
        int r;

        if (fstatat(dir, u->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
                return -EISDIR;
        r = sys_replace_open(&u->whole, dir);
        if (r < 0)
                return r;
        cay_files_replace_guard(&u->whole);
        u->file_fd = u->whole.fd;
        return 0;
}

static int on_file_begin(struct cay_archive_actions *a, const char *path, const struct cay_tar_member *m,
                         struct cay_error *err)
{
        struct unpack *u = cay_container_of(a, struct unpack, actions);
        int dir = go_to_parent(u, path, err), r;

        if (dir < 0)
                return -1;
        u->file_fd = openat(dir, u->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        r = u->file_fd >= 0 ? 0 : errno == EEXIST ? begin_whole(u, dir) : -errno;
        if (r < 0)
                return refuse(err, r, path);
        u->file = *m;
        u->has_hole = false;
        return 0;
}

static int on_file_data(struct cay_archive_actions *a, const void *bytes, size_t len, struct cay_error *err)
{
        struct unpack *u = cay_container_of(a, struct unpack, actions);
        int r = sys_write_all(u->file_fd, bytes, len);

        return r < 0 ? refuse(err, r, u->plan.path) : 0;
}

/* The new file is empty there, so seeking past it makes a hole. */
static int on_file_hole(struct cay_archive_actions *a, uint64_t len, struct cay_error *err)
{
        struct unpack *u = cay_container_of(a, struct unpack, actions);

        u->has_hole = true;
        return lseek(u->file_fd, (off_t)len, SEEK_CUR) < 0 ? refuse(err, -errno, u->plan.path) : 0;
}

static void file_close(struct unpack *u)
{
        if (u->whole.fd >= 0) {
                cay_files_replace_guard(NULL);
                sys_replace_drop(&u->whole);
        } else if (u->file_fd >= 0) {
                close(u->file_fd);
        }
        u->file_fd = -1;
}

static int on_file_end(struct cay_archive_actions *a, struct cay_error *err)
{
        struct unpack *u = cay_container_of(a, struct unpack, actions);
        struct timespec times[2];
        int r = 0;

        times_of(&u->file, times);
        if (u->has_hole)
                r = sys_sparse_end(u->file_fd);
        if (r == 0 && (fchmod(u->file_fd, u->file.mode & 0777) < 0 || futimens(u->file_fd, times) < 0))
                r = -errno;
        if (r == 0 && u->whole.fd >= 0)
                r = sys_replace_commit(&u->whole, u->name, false);
        if (r < 0)
                return refuse(err, r, u->plan.path);
        file_close(u);
        return 0;
}

static int on_symlink(struct cay_archive_actions *a, const char *path, const struct cay_tar_member *m,
                      struct cay_error *err)
{
        struct unpack *u = cay_container_of(a, struct unpack, actions);
        int dir = go_to_parent(u, path, err), r = -EEXIST;
        struct timespec times[2];

        if (dir < 0)
                return -1;
        times_of(m, times);
        for (unsigned i = 0; r == -EEXIST && i < REPLACE_TRIES; i++) {
                if (symlinkat(m->link, dir, u->name) == 0) {
                        utimensat(dir, u->name, times, AT_SYMLINK_NOFOLLOW); /* ignoring: not essential */
                        return 0;
                }
                r = -errno;
                if (r == -EEXIST) {
                        int freed = name_free(dir, u->name);

                        if (freed < 0)
                                return refuse(err, freed, path);
                }
        }
        return refuse(err, r, path);
}

/*
 * The directory that holds `target`, by components from the root and through no link; its descriptor (owned)
 * or -errno.
 */
static int target_open(const struct unpack *u, const char *target, const char **ret_name)
{
        cay_auto_close int dir = dup(u->chain.root_fd);
        const char *slash;

        if (dir < 0)
                return -errno;
        for (; (slash = strchr(target, '/')); target = slash + 1) {
                char name[256];
                int fd;

                snprintf(name, sizeof(name), "%.*s", (int)(slash - target), target);
                fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (fd < 0)
                        return -errno;
                close(dir);
                dir = fd;
        }
        *ret_name = target;
        return cay_take_fd(dir);
}

static int on_link(struct cay_archive_actions *a, const char *path, const char *target, struct cay_error *err)
{
        struct unpack *u = cay_container_of(a, struct unpack, actions);
        int dir = go_to_parent(u, path, err), r = -EEXIST;
        cay_auto_close int from = -1;
        struct stat st, there;
        const char *name = "";

        if (dir < 0)
                return -1;
        from = target_open(u, target, &name);
        if (from < 0)
                return cay_files_fail(
                        err, from, "hard link through something that is no directory of the archive, member",
                        path);
        if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return refuse(err, -errno, path);
        if (!S_ISREG(st.st_mode)) {
                struct cay_files_text t;

                return cay_fail(err, CAY_DENIED,
                                "member '%s': a hard link to something that is not a regular file",
                                cay_files_quote(&t, path));
        }
        for (unsigned i = 0; r == -EEXIST && i < REPLACE_TRIES; i++) {
                int freed;

                if (linkat(from, name, dir, u->name, 0) == 0)
                        return 0;
                r = -errno;
                if (r != -EEXIST)
                        break;
                /* It is already a name of the same file, possibly the target's own name: nothing to do. */
                if (fstatat(dir, u->name, &there, AT_SYMLINK_NOFOLLOW) == 0 && there.st_dev == st.st_dev &&
                    there.st_ino == st.st_ino)
                        return 0;
                freed = name_free(dir, u->name);
                if (freed < 0)
                        return refuse(err, freed, path);
        }
        return refuse(err, r, path);
}

static const struct cay_archive_action_ops action_ops = {
        .directory = on_directory,
        .file_begin = on_file_begin,
        .file_data = on_file_data,
        .file_hole = on_file_hole,
        .file_end = on_file_end,
        .symlink = on_symlink,
        .link = on_link,
};

/* --- The stream --- */

static int unpack_stream(struct unpack *u, int in_fd, struct cay_error *err)
{
        for (;;) {
                ssize_t n = read(in_fd, u->buf, sizeof(u->buf));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return cay_fail_sys(err, CAY_UNAVAILABLE, -errno, "receive the archive");
                if (n == 0)
                        return cay_archive_plan_finish(&u->plan, err);
                if (cay_archive_plan_feed(&u->plan, u->buf, (size_t)n, err) < 0)
                        return -1;
        }
}

/* Restores modes and times, also after a failure. */
static void unpack_end(struct unpack *u)
{
        if (u->file_fd >= 0) {
                int dir = u->whole.fd >= 0 ? -1 : cay_files_chain_fd(&u->chain);

                file_close(u);
                if (dir >= 0)
                        unlinkat(dir, u->name, 0); /* ignoring: gone already */
        }
        while (u->chain.depth > 0)
                level_leave(u);
        cay_files_chain_done(&u->chain);
}

static int archive_in(const struct cay_worker_request *req, struct cay_worker_result *ret,
                      struct cay_error *err)
{
        const struct cay_box_file *f = &req->open->file;
        cay_auto_at struct cay_files_at at = { AT_FDCWD, "" };
        cay_auto_free struct unpack *u = malloc(sizeof(*u));
        unsigned made = 0;
        int r, fd;

        if (!u)
                return cay_files_fail(err, -ENOMEM, "unpack to", req->path);
        if ((f->flags & CAY_BOX_PARENTS) && cay_files_parents_make(req->path, true, &made, err) < 0)
                return -1;
        if (cay_files_at_open(&at, req->path, err) < 0)
                return -1;
        fd = openat(at.fd, at.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return cay_files_fail(err, -errno, "unpack to", req->path);
        r = cay_files_chain_init_take(&u->chain, fd);
        if (r < 0)
                return cay_files_fail(err, r, "unpack to", req->path);
        u->actions.ops = &action_ops;
        u->file_fd = -1;
        u->whole = SYS_REPLACE_NONE;
        cay_archive_plan_init(&u->plan, &u->actions, f->max_bytes, f->max_entries);
        r = unpack_stream(u, req->in_fd, err);
        unpack_end(u);
        ret->bytes = u->plan.bytes;
        ret->entries = u->plan.entries;
        return r;
}

void cay_archive_in(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        struct cay_error err = { .code = CAY_OK };

        umask(0);
        signal(SIGXFSZ, SIG_IGN);
        if (archive_in(req, ret, &err) < 0)
                cay_files_answer(ret, &err);
}
