/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies a change set.
 *
 * Theory of operation. There are four passes over the entries. First, directories that will become writable
 * get their new mode, because files could not be put in otherwise. Second, removals, the deepest first.
 * Third, directories, files and links are put in place, parents first. Fourth, directories get their final
 * modes, the deepest first.
 *
 * A file is written without a name (O_TMPFILE) or under a temporary one, gets owner and mode, is synced, and
 * only then put in place: with link(2) if nothing may be there, with rename(2) if something is replaced.
 * Right before that the place is checked once more. Another process could still write between this check and
 * the call, and would lose that write, as with every editor. Everything happens in directories held by
 * descriptor, so no link leads out of the folder.
 */
#include "cay/changes/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/files_text.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/sparse.h"

enum { COPY_BYTES = 256 * 1024, TEMP_NAME = 40 };

struct job {
        struct cay_apply *a;
        struct cay_check *check;
        struct cay_change_set *set;
        struct cay_folder *folder;
        struct stat top; /* the folder itself */
        char *mem;       /* COPY_BYTES */
};

static int fail(const struct cay_change *c, int r, const char *what, struct cay_error *err)
{
        enum cay_code code = r == -ENOSPC || r == -EDQUOT                      ? CAY_NO_SPACE
                             : r == -EACCES || r == -EPERM || r == -EROFS      ? CAY_DENIED
                             : r == -ESTALE || r == -EEXIST || r == -ENOTEMPTY ? CAY_CONFLICT
                                                                               : CAY_INTERNAL;
        struct cay_files_text t;

        if (r == -ESTALE)
                return cay_fail(err, code, "%s '%s': another process is changing it in the folder; try again",
                                what, cay_files_quote(&t, c->path));
        return cay_fail_sys(err, code, r, "%s '%s'", what, cay_files_quote(&t, c->path));
}

static int temp_name(char ret[TEMP_NAME])
{
        uint64_t random;

        if (getrandom(&random, sizeof(random), 0) != sizeof(random))
                return -EIO;
        snprintf(ret, TEMP_NAME, ".cay-apply-%016llx", (unsigned long long)random);
        return 0;
}

static bool keeps_directory(const struct cay_change *c)
{
        return c->type == CAY_CHANGE_DIRECTORY && c->base.type == CAY_CHANGE_DIRECTORY;
}

/* --- Whose it is --- */

/* Root writes for others: into somebody's file or folder. */
static int give(const struct job *j, int fd, const struct stat *old)
{
        const struct stat *like = old != NULL ? old : &j->top;

        if (geteuid() != 0)
                return 0;
        return fchown(fd, like->st_uid, like->st_gid) < 0 ? -errno : 0;
}

/* Through a descriptor: the name could mean another file by now. */
static int give_link(const struct job *j, int dir, const char *name, const struct stat *old)
{
        const struct stat *like = old != NULL ? old : &j->top;
        cay_auto_close int fd = -1;
        struct stat st;

        if (geteuid() != 0)
                return 0;
        fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISLNK(st.st_mode) || st.st_uid != 0)
                return -ESTALE;
        return fchownat(fd, "", like->st_uid, like->st_gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0 ? -errno
                                                                                                     : 0;
}

/* --- The place --- */

/* What has the name now: 1, 0 for nothing, -ESTALE if it is not what was checked. */
static int look_again(const struct job *j, const struct cay_change *c, int dir, const char *name,
                      struct stat *ret)
{
        if (fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? (c->base.type == CAY_CHANGE_NONE || j->check->force ? 0 : -ESTALE)
                                       : -errno;
        if (j->check->force || cay_check_is_base(ret, c, j->check->began_ns))
                return 1;
        return -ESTALE;
}

/* A directory that something else replaces is empty by now; the rename replaces anything else. */
static int clear_place(const struct stat *old, int dir, const char *name)
{
        if (!S_ISDIR(old->st_mode))
                return 0;
        return unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/*
 * Makes a directory, closed to others for now. A directory that another process made meanwhile is left alone.
 */
static int make_directory(const struct job *j, const char *path, int at, const char *name, mode_t mode)
{
        cay_auto_close int fd = -1;
        struct stat st;

        if (mkdirat(at, name, mode) < 0)
                return -errno;
        cay_folder_forget(j->folder);
        fd = cay_folder_open_dir(j->folder, path);
        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        return st.st_uid == geteuid() ? give(j, fd, NULL) : -ESTALE;
}

/* Makes missing directories above it, if --force requires it. */
static int make_parents(const struct job *j, const char *path)
{
        char dir[CAY_CHANGE_PATH_MAX + 1];
        size_t len = strlen(path);

        memcpy(dir, path, len + 1);
        for (char *slash = strchr(dir, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
                const char *name;
                int at, r;

                *slash = '\0';
                at = cay_folder_parent(j->folder, dir, &name);
                r = at < 0 ? at : make_directory(j, dir, at, name, 0755);
                if (r < 0 && r != -EEXIST)
                        return r;
                *slash = '/';
        }
        return 0;
}

static int parent(const struct job *j, const struct cay_change *c, const char **ret_name)
{
        int dir = cay_folder_parent(j->folder, c->path, ret_name);

        if (dir == -ENOENT && j->check->force) {
                int r = make_parents(j, c->path);

                if (r < 0)
                        return r;
                dir = cay_folder_parent(j->folder, c->path, ret_name);
        }
        return dir;
}

/* --- Files and links --- */

static int write_content(const struct job *j, const struct cay_change *c, int fd)
{
        for (uint64_t at = 0; at < c->size;) {
                ssize_t n = cay_change_set_read(j->set, c, at, j->mem, COPY_BYTES);
                int r = n < 0 ? (int)n : sys_sparse_write(fd, j->mem, (size_t)n);

                if (r < 0)
                        return r;
                at += (uint64_t)n;
        }
        return 0;
}

/* A file without a name if the file system supports that, else with a temporary one. */
static int temp_open(int dir, char temp[TEMP_NAME])
{
        int fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), r;

        temp[0] = '\0';
        if (fd >= 0)
                return fd;
        r = temp_name(temp);
        if (r == 0) {
                fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
                r = fd < 0 ? -errno : fd;
        }
        if (r < 0)
                temp[0] = '\0';
        return r;
}

/* Gives the file its name; replacing needs a temporary name first. */
static int put_in_place(int fd, int dir, char temp[TEMP_NAME], const char *name, bool replaces)
{
        char link[32];
        int r;

        if (temp[0] == '\0') {
                snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
                r = replaces ? temp_name(temp) : 0;
                if (r < 0)
                        return r;
                if (linkat(AT_FDCWD, link, dir, replaces ? temp : name, AT_SYMLINK_FOLLOW) < 0) {
                        r = -errno;
                        temp[0] = '\0';
                        return r;
                }
                if (!replaces)
                        return 0;
        } else if (!replaces) {
                r = linkat(dir, temp, dir, name, 0) < 0 ? -errno : 0;
                unlinkat(dir, temp, 0);
                temp[0] = '\0';
                return r;
        }
        r = renameat(dir, temp, dir, name) < 0 ? -errno : 0;
        if (r < 0)
                unlinkat(dir, temp, 0);
        temp[0] = '\0';
        return r;
}

static int put_file(const struct job *j, const struct cay_change *c)
{
        char temp[TEMP_NAME];
        cay_auto_close int fd = -1;
        const char *name;
        struct stat old;
        int dir = parent(j, c, &name), r, there = 0;

        if (dir < 0)
                return dir;
        fd = temp_open(dir, temp);
        if (fd < 0)
                return fd;
        r = write_content(j, c, fd);
        if (r == 0)
                r = sys_sparse_end(fd);
        if (r == 0)
                r = there = look_again(j, c, dir, name, &old);
        if (r >= 0)
                r = give(j, fd, there ? &old : NULL);
        if (r == 0 && fchmod(fd, c->mode) < 0)
                r = -errno;
        if (r == 0 && fsync(fd) < 0)
                r = -errno;
        if (r == 0 && there)
                r = clear_place(&old, dir, name);
        if (r == 0)
                r = put_in_place(fd, dir, temp, name, there && !S_ISDIR(old.st_mode));
        if (temp[0] != '\0')
                unlinkat(dir, temp, 0);
        return r;
}

static int put_link(const struct job *j, const struct cay_change *c)
{
        char temp[TEMP_NAME];
        const char *name;
        struct stat old;
        int dir = parent(j, c, &name), r, there;

        if (dir < 0)
                return dir;
        r = temp_name(temp);
        if (r == 0 && symlinkat(c->target, dir, temp) < 0)
                r = -errno;
        if (r < 0)
                return r;
        r = there = look_again(j, c, dir, name, &old);
        if (r >= 0)
                r = give_link(j, dir, temp, there ? &old : NULL);
        if (r == 0 && there)
                r = clear_place(&old, dir, name);
        if (r == 0 && there && !S_ISDIR(old.st_mode))
                r = renameat(dir, temp, dir, name) < 0 ? -errno : 0;
        else if (r == 0) {
                r = linkat(dir, temp, dir, name, 0) < 0 ? -errno
                                                        : 0; /* a link to the link: nothing is replaced */
                unlinkat(dir, temp, 0);
        }
        if (r < 0)
                unlinkat(dir, temp, 0);
        return r;
}

/* --- Directories --- */

/* Bits that a change set does not define (sticky, group inheritance) stay as in the folder. */
static int dir_chmod(const struct job *j, const struct cay_change *c, uint32_t mode)
{
        cay_auto_close int fd = cay_folder_open_dir(j->folder, c->path);
        struct stat st;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if ((st.st_mode & 0777) == mode)
                return 0;
        return fchmod(fd, (st.st_mode & 07000) | mode) < 0 ? -errno : 0;
}

static int put_directory(const struct job *j, const struct cay_change *c)
{
        const char *name;
        struct stat old;
        int dir = parent(j, c, &name), r;

        if (dir < 0)
                return dir;
        if (keeps_directory(c) && fstatat(dir, name, &old, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(old.st_mode))
                return 0; /* its mode comes last, and we may have changed it ourselves */
        r = look_again(j, c, dir, name, &old);
        if (r < 0)
                return r;
        if (r > 0 && unlinkat(dir, name, 0) < 0)
                return -errno;
        return make_directory(j, c->path, dir, name, 0700);
}

/* --- The passes --- */

static bool is_ready(const struct job *j, size_t i)
{
        return j->check->verdicts[i] == CAY_VERDICT_READY;
}

/* Directories that stay and that their owner cannot write to. */
static bool needs_opening(const struct job *j, size_t i, const struct cay_change *c)
{
        return is_ready(j, i) && keeps_directory(c) && (c->base.mode & 0700) != 0700;
}

/* Nothing was put in place: they are unchanged. */
static void restore_directories(const struct job *j)
{
        for (size_t i = cay_change_set_count(j->set); i-- > 0;) {
                const struct cay_change *c = cay_change_set_at(j->set, i);

                if (needs_opening(j, i, c))
                        dir_chmod(j, c, c->base.mode & 0777);
        }
}

static int open_directories(struct job *j, struct cay_error *err)
{
        for (size_t i = 0; i < cay_change_set_count(j->set); i++) {
                const struct cay_change *c = cay_change_set_at(j->set, i);
                int r;

                if (!needs_opening(j, i, c))
                        continue;
                r = dir_chmod(j, c, (c->base.mode & 0777) | 0700);
                if (r < 0 && !(r == -ENOENT && j->check->force))
                        return fail(c, r, "change directory", err);
        }
        return 0;
}

static void applied(struct job *j, const struct cay_change *c)
{
        j->a->applied++;
        if (j->a->on_applied != NULL)
                j->a->on_applied(j->a->ctx, c);
}

static int remove_one(struct job *j, const struct cay_change *c)
{
        const char *name;
        struct stat st;
        int dir = cay_folder_parent(j->folder, c->path, &name), r;

        if (dir == -ENOENT)
                return 0;
        if (dir < 0)
                return dir;
        r = look_again(j, c, dir, name, &st);
        if (r <= 0)
                return r;
        if (!S_ISDIR(st.st_mode))
                return unlinkat(dir, name, 0) < 0 ? -errno : 0;
        r = unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
        cay_folder_forget(j->folder);
        if (r == -ENOTEMPTY && j->check->force) { /* something in it had to stay, or was just made */
                j->a->left++;
                return 0;
        }
        return r;
}

static int remove_all(struct job *j, struct cay_error *err)
{
        for (size_t i = cay_change_set_count(j->set); i-- > 0;) {
                const struct cay_change *c = cay_change_set_at(j->set, i);
                int r;

                j->a->left += j->check->verdicts[i] == CAY_VERDICT_LEFT;
                if (!is_ready(j, i) || c->type != CAY_CHANGE_NONE)
                        continue;
                r = remove_one(j, c);
                if (r < 0)
                        return fail(c, r, "remove", err);
                applied(j, c);
        }
        return 0;
}

static int put_one(struct job *j, const struct cay_change *c)
{
        switch (c->type) {
        case CAY_CHANGE_FILE:
                return put_file(j, c);
        case CAY_CHANGE_SYMLINK:
                return put_link(j, c);
        default:
                return put_directory(j, c);
        }
}

/* *ret_end: how far it came. */
static int put_all(struct job *j, size_t *ret_end, struct cay_error *err)
{
        for (size_t i = 0; i < cay_change_set_count(j->set); i++) {
                const struct cay_change *c = cay_change_set_at(j->set, i);
                int r;

                *ret_end = i;
                if (!is_ready(j, i) || c->type == CAY_CHANGE_NONE)
                        continue;
                r = put_one(j, c);
                if (r < 0)
                        return fail(c, r, "write", err);
                if (c->type != CAY_CHANGE_DIRECTORY)
                        applied(j, c);
        }
        *ret_end = cay_change_set_count(j->set);
        return 0;
}

/* Up to `end` they get the set's modes; after it nothing was put in place, and they get their old ones. */
static int close_directories(struct job *j, size_t end, struct cay_error *err)
{
        int result = 0;

        for (size_t i = cay_change_set_count(j->set); i-- > 0;) {
                const struct cay_change *c = cay_change_set_at(j->set, i);
                int r;

                if (i >= end && needs_opening(j, i, c))
                        dir_chmod(j, c, c->base.mode & 0777);
                if (i >= end || !is_ready(j, i) || c->type != CAY_CHANGE_DIRECTORY)
                        continue;
                r = dir_chmod(j, c, c->mode);
                if (r == 0)
                        applied(j, c);
                else if (result == 0)
                        result = fail(c, r, "change directory", err);
        }
        return result;
}

static int run_passes(struct job *j, struct cay_error *err)
{
        struct cay_error later = { 0 };
        size_t end = 0;
        int r;

        r = open_directories(j, err);
        if (r == 0)
                r = remove_all(j, err);
        if (r < 0) {
                restore_directories(j);
                return r;
        }
        r = put_all(j, &end, err);
        /* Also after a failure: no directory stays more open than it should be. */
        if (close_directories(j, end, r == 0 ? err : &later) < 0)
                r = -1;
        return r;
}

int cay_apply_run(struct cay_apply *a, struct cay_error *err)
{
        cay_auto_free char *mem = malloc(COPY_BYTES);
        struct job j = {
                .a = a, .check = a->check, .set = a->check->set, .folder = a->check->folder, .mem = mem
        };
        cay_auto_close int top = -1;
        int r;

        a->applied = a->left = 0;
        if (mem == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        if (a->check->conflicts > 0)
                return cay_fail(err, CAY_CONFLICT, "there are conflicts");
        if (fstat(j.folder->fd, &j.top) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "look at the folder");
        cay_folder_forget(j.folder);
        r = run_passes(&j, err);
        cay_folder_forget(j.folder);
        /* Syncs names; files are synced already. */
        top = openat(j.folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (top >= 0)
                syncfs(top);
        return r;
}
