/* SPDX-License-Identifier: Apache-2.0 */
/* Replacing a file when the new one is complete; the rules are in files_replace.h. */
#include "cay-init/files_replace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "cay-init/files.h"

enum { LINKS_MAX = 40 }; /* as the kernel has it */

/* Asked to go */

static volatile sig_atomic_t guarded_dir = -1;
static char guarded_name[sizeof(((struct sys_replace *)NULL)->temp)];

static void on_term(int signo)
{
        (void)signo;
        if (guarded_dir >= 0)
                unlinkat(guarded_dir, guarded_name, 0);
        _exit(1);
}

void cay_files_replace_guard(const struct sys_replace *file)
{
        guarded_dir = -1;
        if (!file || file->temp[0] == '\0')
                return;
        memcpy(guarded_name, file->temp, sizeof(guarded_name));
        guarded_dir = file->dir;
        signal(SIGTERM, on_term);
}

/* Where it is */

/* Follows a link to the folder and name in its text. False: that is not a plain name. */
static bool follow(struct cay_files_replace *r)
{
        char text[CAY_BOX_PATH_MAX + 1];
        ssize_t len = readlinkat(r->dir, r->name, text, sizeof(text) - 1);
        char *slash;
        int dir;

        if (len <= 0 || len >= (ssize_t)sizeof(text) - 1)
                return false;
        text[len] = '\0';
        slash = strrchr(text, '/');
        len = (ssize_t)strlen(slash ? slash + 1 : text);
        if (len == 0 || len > 255)
                return false;
        memcpy(r->name, slash ? slash + 1 : text, (size_t)len + 1);
        if (strcmp(r->name, ".") == 0 || strcmp(r->name, "..") == 0)
                return false;
        if (!slash)
                return true;
        slash[slash == text ? 1 : 0] = '\0';
        dir = openat(r->dir, text, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return false;
        close(r->dir);
        r->dir = dir;
        return true;
}

/* Mode 0 in *ret: the name does not exist. */
static bool find_target(struct cay_files_replace *r, const char *path, struct stat *ret)
{
        struct cay_error err = { .code = CAY_OK };

        if (cay_files_parent_open(path, &r->dir, r->name, &err) < 0)
                return false;
        for (unsigned i = 0; i < LINKS_MAX; i++) {
                if (fstatat(r->dir, r->name, ret, AT_SYMLINK_NOFOLLOW) < 0) {
                        *ret = (struct stat){ 0 };
                        return errno == ENOENT;
                }
                if (!S_ISLNK(ret->st_mode))
                        return true;
                if (r->exclusive || !follow(r))
                        return false;
        }
        return false;
}

/*
 * Attributes that a new file would not have. Labels (security.…) are set by the system; those of clients
 * (files_attributes.h) go.
 */
static bool has_more(int fd)
{
        char names[4096];
        ssize_t len = flistxattr(fd, names, sizeof(names));

        if (len < 0)
                return errno == ERANGE;
        for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1)
                if ((strncmp(names + at, "user.", 5) == 0 && strncmp(names + at, "user.e2b.", 9) != 0) ||
                    strncmp(names + at, "system.", 7) == 0)
                        return true;
        return false;
}

static bool open_old(struct cay_files_replace *r, const struct stat *st)
{
        struct stat now;

        r->old_fd = openat(r->dir, r->name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        return r->old_fd >= 0 && fstat(r->old_fd, &now) == 0 && S_ISREG(now.st_mode) &&
               now.st_ino == st->st_ino && now.st_dev == st->st_dev && !has_more(r->old_fd);
}

bool cay_files_replace_begin(struct cay_files_replace *r, const char *path, const struct cay_box_file *f)
{
        mode_t mode = f->mode & 0777 ? f->mode & 0777 : 0644;
        struct stat st, mine;

        r->exclusive = f->flags & CAY_BOX_EXCLUSIVE;
        r->tag = f->max_entries;
        if (!find_target(r, path, &st))
                return false;
        if (st.st_mode != 0) {
                if (r->exclusive || !S_ISREG(st.st_mode) || !open_old(r, &st))
                        return false;
                mode = st.st_mode & 0777;
        }
        if (sys_replace_open(&r->file, r->dir) < 0 || fstat(r->file.fd, &mine) < 0)
                return false;
        cay_files_replace_guard(&r->file);
        if (st.st_mode != 0 && (st.st_uid != mine.st_uid || st.st_gid != mine.st_gid) &&
            fchown(r->file.fd, st.st_uid, st.st_gid) < 0)
                return false;
        return fchmod(r->file.fd, mode) == 0;
}

/*
 * The target cannot be replaced (a mount): write the bytes into it. All bytes have arrived, so the write
 * cannot be cut off.
 */
static int copy_into_old(struct cay_files_replace *r)
{
        off_t at = 0;
        ssize_t n;

        if (r->old_fd < 0)
                return -EBUSY;
        if (ftruncate(r->old_fd, 0) < 0)
                return -errno;
        do {
                n = sendfile(r->old_fd, r->file.fd, &at, CAY_FILES_BUFFER);
        } while (n > 0 || (n < 0 && errno == EINTR));
        return n < 0 ? -errno : 0;
}

/*
 * Checked when all new bytes have arrived, right before the call that replaces the target, so writes until
 * then are detected. The kernel has no call that does both; only the short gap between the two remains.
 */
static bool is_as_tagged(const struct cay_files_replace *r)
{
        struct stat st;

        return r->tag == 0 ||
               (fstatat(r->dir, r->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && cay_files_has_tag(&st, r->tag));
}

int cay_files_replace_commit(struct cay_files_replace *r)
{
        int done = is_as_tagged(r) ? sys_replace_commit(&r->file, r->name, r->exclusive) : -ESTALE;

        return done == -EBUSY ? copy_into_old(r) : done;
}

void cay_files_replace_done(struct cay_files_replace *r)
{
        cay_files_replace_guard(NULL);
        sys_replace_drop(&r->file);
        if (r->old_fd >= 0)
                close(cay_take_fd(r->old_fd));
        if (r->dir >= 0)
                close(cay_take_fd(r->dir));
}
