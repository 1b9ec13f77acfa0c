/* SPDX-License-Identifier: Apache-2.0 */
/* Workers STAT, MKDIR, SYMLINK and MOVE: one entry of a directory, by name. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "cay-init/files.h"
#include "cay-init/files_attributes.h"
#include "foundation/sys/fd.h"

#define NO_REPLACE 1u /* RENAME_NOREPLACE, which musl does not declare */

/* --- STAT --- */

static int stat_entry(const struct cay_worker_request *req, struct cay_worker_result *ret,
                      struct cay_error *err)
{
        bool follow = req->open->file.flags & CAY_BOX_FOLLOW;
        cay_auto_at struct cay_files_at at = { AT_FDCWD, "" };
        struct stat st;
        ssize_t n;

        if (cay_files_at_open(&at, req->path, err) < 0)
                return -1;
        if (fstatat(at.fd, at.path, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
                return cay_files_fail(err, -errno, "stat", req->path);
        cay_files_answer_stat(ret, &st, cay_files_last_name(req->path));
        if (!S_ISLNK(st.st_mode)) {
                if (req->open->file.flags & CAY_BOX_ATTRIBUTES &&
                    (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
                        cay_files_attributes_find(at.fd, at.path, ret->target, sizeof(ret->target));
                return 0;
        }
        n = readlinkat(at.fd, at.path, ret->target, sizeof(ret->target) - 1);
        if (n < 0)
                return cay_files_fail(err, -errno, "read link", req->path);
        ret->target[n] = '\0';
        return 0;
}

void cay_file_stat(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        struct cay_error err = { .code = CAY_OK };

        if (stat_entry(req, ret, &err) < 0)
                cay_files_answer(ret, &err);
}

/* --- MKDIR --- */

static int mkdir_entry(const struct cay_worker_request *req, struct cay_worker_result *ret,
                       struct cay_error *err)
{
        const struct cay_box_file *f = &req->open->file;
        mode_t mode = f->mode & 0777 ? f->mode & 0777 : 0755;
        cay_auto_at struct cay_files_at at = { AT_FDCWD, "" };
        bool parents = f->flags & CAY_BOX_PARENTS;
        unsigned made = 0;
        struct stat st;
        int r = 0;

        umask(0);
        if (parents && cay_files_parents_make(req->path, false, &made, err) < 0)
                return -1;
        if (cay_files_at_open(&at, req->path, err) < 0)
                return -1;
        if (mkdirat(at.fd, at.path, mode) < 0) {
                r = -errno;
                if (parents && r == -EEXIST && fstatat(at.fd, at.path, &st, 0) == 0 && S_ISDIR(st.st_mode))
                        r = 0;
        }
        if (r < 0) {
                cay_files_parents_undo(req->path, false, made);
                return cay_files_fail(err, r, "make directory", req->path);
        }
        if (fstatat(at.fd, at.path, &st, 0) == 0)
                cay_files_answer_stat(ret, &st, cay_files_last_name(req->path));
        return 0;
}

void cay_file_mkdir(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        struct cay_error err = { .code = CAY_OK };

        if (mkdir_entry(req, ret, &err) < 0)
                cay_files_answer(ret, &err);
}

/* --- SYMLINK --- */

static int symlink_entry(const struct cay_worker_request *req, struct cay_error *err)
{
        cay_auto_at struct cay_files_at at = { AT_FDCWD, "" };
        unsigned made = 0;
        int r;

        if (req->path2[0] == '\0')
                return cay_fail(err, CAY_INVALID, "a symbolic link needs a target");
        umask(0);
        if ((req->open->file.flags & CAY_BOX_PARENTS) &&
            cay_files_parents_make(req->path, false, &made, err) < 0)
                return -1;
        if (cay_files_at_open(&at, req->path, err) < 0)
                return -1;
        if (symlinkat(req->path2, at.fd, at.path) == 0)
                return 0;
        r = -errno;
        cay_files_parents_undo(req->path, false, made);
        return cay_files_fail(err, r, "make symbolic link", req->path);
}

void cay_file_symlink(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        struct cay_error err = { .code = CAY_OK };

        if (symlink_entry(req, &err) < 0)
                cay_files_answer(ret, &err);
}

/* --- MOVE --- */

struct move {
        int from_fd, to_fd;
        char from[256], to[256];
        bool exclusive;
};

static int move_rename(const struct move *m)
{
        struct stat st;

        if (!m->exclusive)
                return renameat(m->from_fd, m->from, m->to_fd, m->to) < 0 ? -errno : 0;
        if (syscall(SYS_renameat2, m->from_fd, m->from, m->to_fd, m->to, NO_REPLACE) == 0)
                return 0;
        if (errno != EINVAL && errno != ENOSYS)
                return -errno;
        /* The file system lacks it. For all but directories, link() fails if the name exists. */
        if (linkat(m->from_fd, m->from, m->to_fd, m->to, 0) == 0)
                return unlinkat(m->from_fd, m->from, 0) < 0 ? -errno : 0;
        if (errno == EEXIST)
                return -EEXIST;
        /* The rest can be replaced between the check and the move, but only by the sandbox's own user. */
        if (fstatat(m->to_fd, m->to, &st, AT_SYMLINK_NOFOLLOW) == 0)
                return -EEXIST;
        return renameat(m->from_fd, m->from, m->to_fd, m->to) < 0 ? -errno : 0;
}

static int copy_bytes(int from, int to)
{
        cay_auto_free char *buf = malloc(CAY_FILES_BUFFER);
        ssize_t n;
        int r;

        if (!buf)
                return -ENOMEM;
        while ((n = sys_read_all(from, buf, CAY_FILES_BUFFER)) > 0) {
                r = sys_write_all(to, buf, (size_t)n);
                if (r < 0)
                        return r;
        }
        return (int)n;
}

static int copy_file(const struct move *m, const char *temp, const struct stat *st)
{
        cay_auto_close int from = -1, to = -1;
        struct timespec times[2] = { st->st_atim, st->st_mtim };
        int r;

        from = openat(m->from_fd, m->from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (from < 0)
                return -errno;
        to = openat(m->to_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (to < 0)
                return -errno;
        r = copy_bytes(from, to);
        if (r == 0 && (futimens(to, times) < 0 || fchmod(to, st->st_mode & 0777) < 0))
                r = -errno;
        return r;
}

static int copy_link(const struct move *m, const char *temp)
{
        char target[4096];
        ssize_t n = readlinkat(m->from_fd, m->from, target, sizeof(target) - 1);

        if (n < 0)
                return -errno;
        target[n] = '\0';
        return symlinkat(target, m->to_fd, temp) < 0 ? -errno : 0;
}

/*
 * /tmp and /workspace are separate file systems. Between them a file or a link is copied beside its new name,
 * renamed, and the old one removed. Directories are refused: use an archive for them.
 */
static int move_copy(const struct move *m)
{
        struct move last = *m;
        struct stat st;
        int r;

        if (fstatat(m->from_fd, m->from, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
                return -EXDEV;
        snprintf(last.from, sizeof(last.from), ".cay-move.%ld.%lld", (long)getpid(), (long long)st.st_ino);
        r = S_ISREG(st.st_mode) ? copy_file(m, last.from, &st) : copy_link(m, last.from);
        if (r == 0) {
                last.from_fd = m->to_fd;
                r = move_rename(&last);
        }
        if (r < 0) {
                if (r != -EEXIST || last.from_fd == m->to_fd)
                        unlinkat(m->to_fd, last.from, 0);
                return r;
        }
        return unlinkat(m->from_fd, m->from, 0) < 0 ? -errno : 0;
}

static int move_entry(const struct cay_worker_request *req, struct cay_error *err)
{
        cay_auto_close int from_fd = -1, to_fd = -1;
        unsigned made = 0;
        struct move m;
        int r;

        umask(0);
        m.exclusive = req->open->file.flags & CAY_BOX_EXCLUSIVE;
        if (cay_files_parent_open(req->path, &from_fd, m.from, err) < 0)
                return -1;
        if ((req->open->file.flags & CAY_BOX_PARENTS) &&
            cay_files_parents_make(req->path2, false, &made, err) < 0)
                return -1;
        if (cay_files_parent_open(req->path2, &to_fd, m.to, err) < 0) {
                cay_files_parents_undo(req->path2, false, made);
                return -1;
        }
        m.from_fd = from_fd;
        m.to_fd = to_fd;
        r = move_rename(&m);
        if (r == -EXDEV)
                r = move_copy(&m);
        if (r < 0) {
                cay_files_parents_undo(req->path2, false, made);
                return cay_files_fail(err, r, "move", r == -EEXIST ? req->path2 : req->path);
        }
        return 0;
}

void cay_file_move(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        struct cay_error err = { .code = CAY_OK };

        signal(SIGXFSZ, SIG_IGN);
        if (move_entry(req, &err) < 0)
                cay_files_answer(ret, &err);
}
