/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers READ and WRITE: bytes of one regular file. Other types are refused before they are opened, since
 * opening a FIFO or a device affects others. The open cannot block if the file is replaced in between.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/files_text.h"
#include "cay-init/files.h"
#include "cay-init/files_attributes.h"
#include "cay-init/files_replace.h"
#include "foundation/sys/fd.h"

#define IO_BUFFER (256u * 1024) /* as the pipes of such workers (spawn.c) */

static int regular_check(const struct stat *st, const char *path, struct cay_error *err)
{
        static const char *const what[] = {
                [CAY_FILE_OTHER] = "something else",    [CAY_FILE_DIRECTORY] = "a directory",
                [CAY_FILE_SYMLINK] = "a symbolic link", [CAY_FILE_FIFO] = "a FIFO",
                [CAY_FILE_SOCKET] = "a socket",         [CAY_FILE_DEVICE] = "a device",
        };
        struct cay_files_text t;
        uint32_t type = cay_files_type(st->st_mode);

        if (type == CAY_FILE_REGULAR)
                return 0;
        return cay_fail(err, CAY_CONFLICT, "'%s' is %s, not a regular file", cay_files_quote(&t, path),
                        what[type]);
}

/* Opens a regular file; with O_CREAT it may be missing. */
static int regular_open(const char *path, int flags, mode_t mode, int *ret_fd, struct stat *ret_st,
                        struct cay_error *err)
{
        cay_auto_at struct cay_files_at at = { AT_FDCWD, "" };
        cay_auto_close int fd = -1;

        if (cay_files_at_open(&at, path, err) < 0)
                return -1;
        if (fstatat(at.fd, at.path, ret_st, 0) == 0) {
                if (!(flags & O_EXCL) && regular_check(ret_st, path, err) < 0)
                        return -1;
        } else if (errno != ENOENT || !(flags & O_CREAT)) {
                return cay_files_fail(err, -errno, "open", path);
        }
        fd = openat(at.fd, at.path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);
        if (fd < 0)
                return cay_files_fail(err, -errno, "open", path);
        if (fstat(fd, ret_st) < 0)
                return cay_files_fail(err, -errno, "stat", path);
        if (regular_check(ret_st, path, err) < 0)
                return -1;
        *ret_fd = cay_take_fd(fd);
        return 0;
}

static int offset_check(uint64_t offset, struct cay_error *err)
{
        if (offset > INT64_MAX)
                return cay_fail(err, CAY_INVALID, "offset %llu is out of range", (unsigned long long)offset);
        return 0;
}

/* --- READ --- */

/*
 * Moves the file's pages to the pipe without copying. 1: not supported here, bytes have to be copied; the
 * last attempt moved nothing.
 */
static int send_pages(int fd, int out_fd, uint64_t offset, uint64_t max, uint64_t *moved, const char *path,
                      struct cay_error *err)
{
        while (*moved < max) {
                off_t at = (off_t)(offset + *moved);
                ssize_t n = sendfile(out_fd, fd, &at, max - *moved < IO_BUFFER ? max - *moved : IO_BUFFER);

                if (n == 0)
                        return 0;
                if (n > 0)
                        *moved += (uint64_t)n;
                else if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)
                        return 1;
                else if (errno != EINTR)
                        return cay_files_fail(err, -errno, "send", path);
        }
        return 0;
}

static int read_stream(int fd, int out_fd, uint64_t offset, uint64_t max, uint64_t *moved, const char *path,
                       struct cay_error *err)
{
        cay_auto_free char *buf = malloc(CAY_FILES_BUFFER);
        int sent;

        if (!buf)
                return cay_files_fail(err, -ENOMEM, "read", path);
        if (max > (uint64_t)INT64_MAX - offset)
                max = (uint64_t)INT64_MAX - offset; /* no file has bytes beyond */
        sent = send_pages(fd, out_fd, offset, max, moved, path, err);
        if (sent <= 0)
                return sent;
        while (*moved < max) {
                size_t want = max - *moved < CAY_FILES_BUFFER ? (size_t)(max - *moved) : CAY_FILES_BUFFER;
                ssize_t n;
                int r;

                n = pread(fd, buf, want, (off_t)(offset + *moved));
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return cay_files_fail(err, -errno, "read", path);
                if (n == 0)
                        break;
                r = sys_write_all(out_fd, buf, (size_t)n);
                if (r < 0)
                        return cay_files_fail(err, r, "send", path);
                *moved += (uint64_t)n;
        }
        return 0;
}

void cay_file_read(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        const struct cay_box_file *f = &req->open->file;
        uint64_t max = f->max_bytes > 0 ? f->max_bytes : UINT64_MAX;
        struct cay_error err = { .code = CAY_OK };
        cay_auto_close int fd = -1;
        struct stat st;

        if (offset_check(f->offset, &err) < 0 || regular_open(req->path, O_RDONLY, 0, &fd, &st, &err) < 0) {
                cay_files_answer(ret, &err);
                return;
        }
        cay_files_answer_stat(ret, &st, cay_files_last_name(req->path));
        if (read_stream(fd, req->out_fd, f->offset, max, &ret->bytes, req->path, &err) < 0)
                cay_files_answer(ret, &err);
}

/* --- WRITE --- */

static int write_stream(int fd, int in_fd, uint64_t max, uint64_t *moved, const char *path,
                        struct cay_error *err)
{
        cay_auto_free char *buf = malloc(IO_BUFFER);
        struct cay_files_text t;

        if (!buf)
                return cay_files_fail(err, -ENOMEM, "write", path);
        for (;;) {
                ssize_t n = read(in_fd, buf, IO_BUFFER);
                size_t fits;
                int r;

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return cay_files_fail(err, -errno, "receive", path);
                if (n == 0)
                        return 0;
                /*
                 * Writes what fits, so that the result does not depend on how the bytes were split in
                 * transit.
                 */
                fits = (uint64_t)n > max - *moved ? (size_t)(max - *moved) : (size_t)n;
                r = sys_write_all(fd, buf, fits);
                if (r < 0)
                        return cay_files_fail(err, r, "write", path);
                *moved += fits;
                if (fits < (size_t)n)
                        return cay_fail(err, CAY_LIMIT, "write '%s': more than %llu bytes",
                                        cay_files_quote(&t, path), (unsigned long long)max);
        }
}

static int fail_tag(struct cay_error *err)
{
        return cay_fail(err, CAY_CONFLICT,
                        "if_tag: the file was changed since; read it again, or write without if_tag");
}

/* In place. */
static int write_open(const char *path, const struct cay_box_file *f, int *ret_fd, struct cay_error *err)
{
        mode_t mode = f->mode & 0777 ? f->mode & 0777 : 0644;
        cay_auto_close int fd = -1;
        int flags = O_WRONLY | (f->max_entries ? 0 : O_CREAT);
        struct stat st;
        int r;

        if (f->flags & CAY_BOX_EXCLUSIVE)
                flags |= O_EXCL;
        if (f->flags & CAY_BOX_APPEND)
                flags |= O_APPEND;
        if (regular_open(path, flags, mode, &fd, &st, err) < 0)
                return -1;
        if (f->max_entries && !cay_files_has_tag(&st, f->max_entries))
                return fail_tag(err);
        /* Only now: a refused write must not change anything. */
        r = (f->flags & CAY_BOX_TRUNCATE) && ftruncate(fd, 0) < 0 ? -errno : 0;
        if (r == 0 && f->offset > 0 && lseek(fd, (off_t)f->offset, SEEK_SET) < 0)
                r = -errno;
        if (r < 0)
                return cay_files_fail(err, r, "write", path);
        *ret_fd = cay_take_fd(fd);
        return 0;
}

static int write_check(const struct cay_box_file *f, struct cay_error *err)
{
        if (offset_check(f->offset, err) < 0)
                return -1;
        if ((f->flags & CAY_BOX_APPEND) && f->offset > 0)
                return cay_fail(err, CAY_INVALID, "a write is appended or has an offset, not both");
        return 0;
}

/* All of the file is to be new. */
static bool replaces(const struct cay_box_file *f)
{
        return (f->flags & CAY_BOX_TRUNCATE) && !(f->flags & CAY_BOX_APPEND) && f->offset == 0;
}

static bool is_whole(const struct cay_worker_request *req)
{
        char byte;

        return req->whole_fd == 0 || recv(req->whole_fd, &byte, 1, MSG_DONTWAIT) == 1;
}

static int write_attributes(int fd, const struct cay_worker_request *req, struct cay_error *err)
{
        int r = req->open->file.flags & CAY_BOX_ATTRIBUTES ? cay_files_attributes_set(fd, req->path2) : 0;

        if (r == -EOPNOTSUPP)
                return cay_fail(err, CAY_UNSUPPORTED, "the file system of this folder keeps no metadata");
        return r < 0 ? cay_files_fail(err, r == -E2BIG || r == -ERANGE ? -ENOSPC : r, "keep metadata of",
                                      req->path)
                     : 0;
}

static int write_file(const struct cay_worker_request *req, struct cay_worker_result *ret,
                      struct cay_error *err)
{
        const struct cay_box_file *f = &req->open->file;
        uint64_t max = f->max_bytes > 0 ? f->max_bytes : UINT64_MAX;
        cay_auto(cay_files_replace_done) struct cay_files_replace whole = CAY_FILES_REPLACE_NONE;
        cay_auto_close int fd = -1;
        unsigned made = 0;
        struct stat st;
        bool is_new;
        int r;

        if (write_check(f, err) < 0 ||
            ((f->flags & CAY_BOX_PARENTS) && cay_files_parents_make(req->path, false, &made, err) < 0))
                return -1;
        is_new = replaces(f) && cay_files_replace_begin(&whole, req->path, f);
        if (!is_new && write_open(req->path, f, &fd, err) < 0) {
                cay_files_parents_undo(req->path, false, made);
                return -1;
        }
        r = write_stream(is_new ? whole.file.fd : fd, req->in_fd, max, &ret->bytes, req->path, err);
        if (r == 0)
                r = write_attributes(is_new ? whole.file.fd : fd, req, err);
        if (r == 0 && is_new && !is_whole(req)) {
                r = cay_fail(err, CAY_UNAVAILABLE, "the upload was cut off; the file is as it was");
        } else if (r == 0 && is_new) {
                r = cay_files_replace_commit(&whole);
                if (r == -ESTALE && f->max_entries)
                        fail_tag(err);
                else if (r < 0)
                        cay_files_fail(err, r, "write", req->path);
        }
        if ((r == 0 || !is_new) && fstat(is_new ? whole.file.fd : fd, &st) == 0)
                cay_files_answer_stat(ret, &st, cay_files_last_name(req->path));
        return r < 0 ? -1 : 0;
}

void cay_file_write(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        struct cay_error err = { .code = CAY_OK };

        umask(0);
        signal(SIGXFSZ, SIG_IGN); /* the file size limit: EFBIG tells it better */
        if (write_file(req, ret, &err) < 0)
                cay_files_answer(ret, &err);
}
