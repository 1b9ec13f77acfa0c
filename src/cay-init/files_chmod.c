/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker CHMOD: permission bits of one entry or of a tree. Set-id and sticky bits are never set, and a link's
 * own mode does not exist: links are skipped in trees and refused by name unless they are to be followed.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/files_text.h"
#include "cay-init/files.h"
#include "cay-init/files_walk.h"
#include "foundation/sys/fd.h"

/*
 * Directories are changed when they are left, so that removing the search permission does not stop the walk.
 * An unreadable one is changed first, which may make it readable.
 */
static int tree_entry(struct cay_files_walk *w, mode_t mode, uint64_t *changed)
{
        int at = cay_files_chain_fd(&w->chain), r = -ENOTDIR;

        if (at < 0)
                return at;
        if (w->dtype == DT_LNK)
                return 0;
        if (w->dtype == DT_DIR || w->dtype == DT_UNKNOWN) {
                r = cay_files_walk_descend(w);
                if (r == -EACCES) {
                        r = sys_chmod_at(at, w->name, mode);
                        if (r < 0)
                                return r;
                        r = cay_files_walk_descend(w);
                        if (r == -EACCES) {
                                ++*changed; /* closed as requested: nothing below is reachable */
                                return 0;
                        }
                }
                if (r == 0 || r == -EXDEV || r == -ENOENT)
                        return 0;
                if (r != -ENOTDIR)
                        return r;
        }
        r = sys_chmod_at(at, w->name, mode);
        if (r == 0)
                ++*changed;
        return r == -ELOOP || r == -ENOENT ? 0 : r;
}

static int tree_chmod(struct cay_files_walk *w, mode_t mode, uint64_t *changed)
{
        int r;

        while ((r = cay_files_walk_next(w)) != CAY_FILES_END) {
                if (r == CAY_FILES_ENTRY) {
                        r = tree_entry(w, mode, changed);
                } else if (r == CAY_FILES_LEAVE) {
                        int fd = cay_files_chain_fd(&w->chain);

                        /* The next step may open ancestors again, never this level: it may be closed now. */
                        r = fd < 0 ? fd : fchmod(fd, mode) < 0 ? -errno : 0;
                        if (r == 0)
                                ++*changed;
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

static int mode_set(const struct cay_files_at *at, mode_t mode, bool follow)
{
        if (!follow)
                return sys_chmod_at(at->fd, at->path, mode);
        return fchmodat(at->fd, at->path, mode, 0) < 0 ? -errno : 0;
}

/* Everything below a directory, which is itself changed first if it can't be read, as in tree_entry. */
static int below_chmod(const struct cay_files_at *at, mode_t mode, bool follow, uint64_t *changed)
{
        cay_auto_free struct cay_files_walk *w = malloc(sizeof(*w));
        int flags = O_RDONLY | O_DIRECTORY | (follow ? 0 : O_NOFOLLOW), r;
        cay_auto_close int fd = sys_open_at(at->fd, at->path, flags, 0);

        if (fd == -EACCES) {
                r = mode_set(at, mode, follow);
                if (r < 0)
                        return r;
                fd = sys_open_at(at->fd, at->path, flags, 0);
                if (fd == -EACCES)
                        return 0;
        }
        if (fd < 0 || !w)
                return fd < 0 ? fd : -ENOMEM;
        r = cay_files_walk_init_take(w, cay_take_fd(fd));
        if (r == 0) {
                r = tree_chmod(w, mode, changed);
                cay_files_walk_done(w);
        }
        return r;
}

static int chmod_entry(const struct cay_worker_request *req, struct cay_worker_result *ret,
                       struct cay_error *err)
{
        const struct cay_box_file *f = &req->open->file;
        bool follow = f->flags & CAY_BOX_FOLLOW;
        cay_auto_at struct cay_files_at at = { AT_FDCWD, "" };
        mode_t mode = f->mode & 0777;
        struct cay_files_text t;
        struct stat st;
        int r = 0;

        if (cay_files_at_open(&at, req->path, err) < 0)
                return -1;
        if (fstatat(at.fd, at.path, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
                return cay_files_fail(err, -errno, "chmod", req->path);
        if ((f->flags & CAY_BOX_RECURSIVE) && S_ISDIR(st.st_mode))
                r = below_chmod(&at, mode, follow, &ret->entries);
        if (r == 0)
                r = mode_set(&at, mode, follow);
        if (r == -ELOOP && S_ISLNK(st.st_mode))
                return cay_fail(err, CAY_CONFLICT, "chmod '%s': a symbolic link has no mode of its own",
                                cay_files_quote(&t, req->path));
        if (r < 0)
                return cay_files_fail(err, r, "chmod", req->path);
        ret->entries++;
        if (fstatat(at.fd, at.path, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0)
                cay_files_answer_stat(ret, &st, cay_files_last_name(req->path));
        return 0;
}

void cay_file_chmod(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        struct cay_error err = { .code = CAY_OK };

        if (chmod_entry(req, ret, &err) < 0)
                cay_files_answer(ret, &err);
}
