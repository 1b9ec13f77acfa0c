/* SPDX-License-Identifier: Apache-2.0 */
/* Paths, errors and whole reads and writes for the file workers. */

#include "cay-init/files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/files_text.h"

const char *cay_files_base = "/workspace";

int cay_files_at_open(struct cay_files_at *at, const char *path, struct cay_error *err)
{
        *at = (struct cay_files_at){ AT_FDCWD, path };
        if (path[0] == '\0')
                return cay_fail(err, CAY_INVALID, "the path is empty");
        if (path[0] == '/')
                return 0;
        at->fd = open(cay_files_base, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (at->fd < 0) {
                int r = -errno;

                at->fd = AT_FDCWD;
                return cay_files_fail(err, r, "open", cay_files_base);
        }
        return 0;
}

void cay_files_at_done(struct cay_files_at *at)
{
        if (at->fd >= 0)
                close(at->fd);
        at->fd = AT_FDCWD;
}

/* The last component: where it starts and its length without slashes behind it. */
static size_t last_find(const char *path, size_t *ret_len)
{
        size_t end = strlen(path), start;

        while (end > 0 && path[end - 1] == '/')
                end--;
        for (start = end; start > 0 && path[start - 1] != '/';)
                start--;
        *ret_len = end - start;
        return start;
}

const char *cay_files_last_name(const char *path)
{
        static char name[256];
        size_t len, start = last_find(path, &len);

        if (len >= sizeof(name))
                len = sizeof(name) - 1;
        memcpy(name, path + start, len);
        name[len] = '\0';
        return name;
}

int cay_files_parent_open(const char *path, int *ret_fd, char ret_name[256], struct cay_error *err)
{
        cay_auto_at struct cay_files_at at = { AT_FDCWD, "" };
        char dir[CAY_BOX_PATH_MAX + 1];
        size_t len, start = last_find(path, &len);
        struct cay_files_text t;
        int fd;

        if (len == 0 || (len == 1 && path[start] == '.') || (len == 2 && memcmp(path + start, "..", 2) == 0))
                return cay_fail(err, CAY_INVALID, "'%s' names no entry of a directory",
                                cay_files_quote(&t, path));
        if (len > 255 || start > CAY_BOX_PATH_MAX)
                return cay_files_fail(err, -ENAMETOOLONG, "open", path);
        if (cay_files_at_open(&at, path, err) < 0)
                return -1;
        memcpy(dir, path, start);
        dir[start] = '\0';
        fd = openat(at.fd, start > 0 ? dir : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return cay_files_fail(err, -errno, "open the directory of", path);
        memcpy(ret_name, path + start, len);
        ret_name[len] = '\0';
        *ret_fd = fd;
        return 0;
}

/* Cuts the copy of a path behind its nth component; false when it has fewer. */
static bool prefix_cut(const char *path, size_t limit, unsigned n, char *ret)
{
        size_t i = 0;

        while (n-- > 0) {
                while (i < limit && path[i] == '/')
                        i++;
                if (i >= limit)
                        return false;
                while (i < limit && path[i] != '/')
                        i++;
        }
        memcpy(ret, path, i);
        ret[i] = '\0';
        return true;
}

static size_t parents_limit(const char *path, bool all)
{
        size_t len;

        return all ? strlen(path) : last_find(path, &len);
}

int cay_files_parents_make(const char *path, bool all, unsigned *ret_made, struct cay_error *err)
{
        cay_auto_at struct cay_files_at at = { AT_FDCWD, "" };
        size_t limit = parents_limit(path, all);
        char dir[CAY_BOX_PATH_MAX + 1];
        unsigned made = 0;

        *ret_made = 0;
        if (strlen(path) > CAY_BOX_PATH_MAX)
                return cay_files_fail(err, -ENAMETOOLONG, "make", path);
        if (cay_files_at_open(&at, path, err) < 0)
                return -1;
        for (unsigned n = 1; prefix_cut(path, limit, n, dir); n++) {
                struct stat st;
                int r;

                if (mkdirat(at.fd, dir, 0755) == 0) {
                        made++;
                        continue;
                }
                r = -errno;
                if ((r == -EEXIST || r == -EROFS || r == -EACCES || r == -EPERM) &&
                    fstatat(at.fd, dir, &st, 0) == 0) {
                        if (S_ISDIR(st.st_mode))
                                continue;
                        r = -ENOTDIR;
                }
                cay_files_parents_undo(dir, false, made);
                return cay_files_fail(err, r, "make directory", dir);
        }
        *ret_made = made;
        return 0;
}

void cay_files_parents_undo(const char *path, bool all, unsigned made)
{
        cay_auto_at struct cay_files_at at = { AT_FDCWD, "" };
        size_t limit = parents_limit(path, all);
        char dir[CAY_BOX_PATH_MAX + 1];
        struct cay_error ignored;
        unsigned n = 1;

        if (made == 0 || cay_files_at_open(&at, path, &ignored) < 0)
                return;
        /* The created directories are a tail of the path: once one was missing, so were all below it. */
        while (prefix_cut(path, limit, n, dir))
                n++;
        for (n--; made > 0 && n > 0 && prefix_cut(path, limit, n, dir); n--, made--)
                unlinkat(at.fd, dir, AT_REMOVEDIR); /* ignoring: it may be in use by now */
}

enum cay_code cay_files_code(int neg_errno)
{
        switch (-neg_errno) {
        case ENOENT:
        case ESTALE:
                return CAY_NOT_FOUND;
        case EEXIST:
                return CAY_EXISTS;
        case EACCES:
        case EPERM:
        case EROFS:
                return CAY_DENIED;
        case ENOTDIR:
        case EISDIR:
        case ENOTEMPTY:
        case EBUSY:
        case ETXTBSY:
        case EXDEV:
        case ELOOP:
        case ENXIO:
                return CAY_CONFLICT;
        case ENOSPC:
        case EDQUOT:
                return CAY_NO_SPACE;
        case EFBIG:
        case EMFILE:
        case ENFILE:
        case EMLINK:
        case ENOMEM:
                return CAY_LIMIT;
        case EINVAL:
        case ENAMETOOLONG:
        case EILSEQ:
                return CAY_INVALID;
        case EOPNOTSUPP:
        case ENOSYS:
                return CAY_UNSUPPORTED;
        case EPIPE:
                return CAY_UNAVAILABLE;
        default:
                return CAY_INTERNAL;
        }
}

int cay_files_fail(struct cay_error *err, int neg_errno, const char *what, const char *path)
{
        struct cay_files_text t;

        return cay_fail_sys(err, cay_files_code(neg_errno), neg_errno, "%s '%s'", what,
                            cay_files_quote(&t, path));
}

void cay_files_answer(struct cay_worker_result *ret, const struct cay_error *err)
{
        ret->code = err->code;
        ret->sys = err->sys;
        snprintf(ret->msg, sizeof(ret->msg), "%.*s", (int)sizeof(ret->msg) - 1, err->msg);
}

uint32_t cay_files_type(mode_t mode)
{
        switch (mode & S_IFMT) {
        case S_IFREG:
                return CAY_FILE_REGULAR;
        case S_IFDIR:
                return CAY_FILE_DIRECTORY;
        case S_IFLNK:
                return CAY_FILE_SYMLINK;
        case S_IFIFO:
                return CAY_FILE_FIFO;
        case S_IFSOCK:
                return CAY_FILE_SOCKET;
        case S_IFCHR:
        case S_IFBLK:
                return CAY_FILE_DEVICE;
        default:
                return CAY_FILE_OTHER;
        }
}

int64_t cay_files_mtime_ns(const struct stat *st)
{
        int64_t s = st->st_mtim.tv_sec, limit = INT64_MAX / 1000000000 - 1; /* years 1678 to 2262 */

        if (s > limit || s < -limit)
                return (s > 0 ? limit : -limit) * 1000000000;
        return s * 1000000000 + st->st_mtim.tv_nsec;
}

bool cay_files_has_tag(const struct stat *st, uint64_t tag)
{
        return cay_box_file_tag((uint64_t)cay_files_mtime_ns(st), (uint64_t)st->st_size) == tag;
}

void cay_files_answer_stat(struct cay_worker_result *ret, const struct stat *st, const char *name)
{
        ret->type = cay_files_type(st->st_mode);
        ret->mode = st->st_mode & 07777;
        ret->uid = st->st_uid;
        ret->gid = st->st_gid;
        ret->size = (uint64_t)st->st_size;
        ret->mtime_ns = cay_files_mtime_ns(st);
        snprintf(ret->name, sizeof(ret->name), "%s", name);
}
