/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. Removal is flat: a directory found inside a directory is moved up to the top of the scratch folder
 * before anything in it is looked at, so that depth costs neither stack nor descriptors, however deep the code in the
 * box went. Nothing is followed: entries are named relative to directory descriptors opened with O_NOFOLLOW.
 */
#include "engine/process/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/str.h"

#define PREFIX "cay-process-"
#define TRIES 8

static const char *folder(void)
{
        const char *dir = getenv("TMPDIR");

        return dir != NULL && dir[0] == '/' ? dir : "/tmp";
}

/* A sweeper may take the folder between its making and its locking; then it is simply made again. */
static int make_once(struct cay_scratch *s)
{
        cay_auto_close int fd = -1;
        struct stat st;
        int n = snprintf(s->path, sizeof(s->path), "%s/" PREFIX "XXXXXX", folder());

        if (n < 0 || (size_t)n >= sizeof(s->path))
                return -ENAMETOOLONG;
        if (mkdtemp(s->path) == NULL)
                return -errno;
        fd = open(s->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT ? -EAGAIN : -errno;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 || st.st_nlink == 0)
                return -EAGAIN;
        s->fd = cay_take_fd(fd);
        return 0;
}

int cay_scratch_make(struct cay_scratch *s, struct cay_error *err)
{
        int r = -EAGAIN;

        s->fd = -1;
        for (unsigned i = 0; i < TRIES && r == -EAGAIN; i++)
                r = make_once(s);
        if (r < 0)
                return cay_fail_sys(err, r == -ENOSPC ? CAY_NO_SPACE : CAY_INTERNAL, r, "make a folder in %s",
                                    folder());
        return 0;
}

static int open_dir(int at, const char *name)
{
        int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (fd < 0 && errno == EACCES && fchmodat(at, name, 0700, 0) == 0)
                fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

static bool is_dots(const char *name)
{
        return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Moves a directory up to the top under a free name. */
static int lift(int top, int at, const char *name)
{
        if (fchmodat(at, name, 0700, 0) < 0) /* its ".." changes, which needs the right to write to it */
                return -errno;
        for (unsigned i = 0; i < 1u << 20; i++) {
                char up[16];

                snprintf(up, sizeof(up), "up%u", i);
                if (syscall(SYS_renameat2, at, name, top, up, RENAME_NOREPLACE) == 0)
                        return 0;
                if (errno != EEXIST)
                        return -errno;
        }
        return -EEXIST;
}

/* Empties a directory, lifting what is a directory itself; `at` is the top's own for the first pass. */
static int empty(int top, int at, unsigned *budget)
{
        int copy = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
        struct dirent *entry;
        int r = 0;

        if (dir == NULL) {
                r = -errno;
                if (copy >= 0)
                        close(copy);
                return r;
        }
        fchmod(at, 0700);
        while (r == 0 && *budget > 0 && (entry = readdir(dir)) != NULL) {
                if (is_dots(entry->d_name))
                        continue;
                (*budget)--;
                if (unlinkat(at, entry->d_name, 0) == 0)
                        continue;
                if (errno != EISDIR && errno != EPERM)
                        r = -errno;
                else if (unlinkat(at, entry->d_name, AT_REMOVEDIR) < 0)
                        r = errno == ENOTEMPTY || errno == EEXIST ? lift(top, at, entry->d_name) : -errno;
        }
        closedir(dir);
        return r;
}

/* One pass over the top: files go, directories are emptied one level and go. */
static int pass(int top, unsigned *budget, bool *ret_any)
{
        int copy = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
        struct dirent *entry;
        int r = 0;

        if (dir == NULL) {
                r = -errno;
                if (copy >= 0)
                        close(copy);
                return r;
        }
        *ret_any = false;
        while (r == 0 && (entry = readdir(dir)) != NULL) {
                cay_auto_close int child = -1;

                if (is_dots(entry->d_name))
                        continue;
                *ret_any = true;
                if (*budget == 0)
                        break;
                (*budget)--;
                if (unlinkat(top, entry->d_name, 0) == 0 || unlinkat(top, entry->d_name, AT_REMOVEDIR) == 0)
                        continue;
                child = open_dir(top, entry->d_name);
                if (child < 0) {
                        r = child == -ENOENT ? 0 : child;
                        continue;
                }
                r = empty(top, child, budget);
                if (r == 0 && unlinkat(top, entry->d_name, AT_REMOVEDIR) < 0 && errno != ENOTEMPTY &&
                    errno != EEXIST)
                        r = -errno;
        }
        closedir(dir);
        return r;
}

int cay_scratch_remove(struct cay_scratch *s, unsigned budget)
{
        bool any = true;
        int r;

        if (s->fd < 0)
                return 1;
        fchmod(s->fd, 0700);
        do {
                r = pass(s->fd, &budget, &any);
                if (r < 0)
                        return r;
        } while (any && budget > 0);
        if (any)
                return 0;
        if (rmdir(s->path) < 0 && errno != ENOENT)
                return -errno;
        close(cay_take_fd(s->fd));
        return 1;
}

void cay_scratch_sweep(void)
{
        const char *dir_path = folder();
        DIR *dir = opendir(dir_path);
        struct dirent *entry;

        if (dir == NULL)
                return;
        while ((entry = readdir(dir)) != NULL) {
                struct cay_scratch s = { .fd = -1 };
                struct stat st;
                int n;

                if (!cay_str_starts(entry->d_name, PREFIX))
                        continue;
                n = snprintf(s.path, sizeof(s.path), "%s/%s", dir_path, entry->d_name);
                if (n < 0 || (size_t)n >= sizeof(s.path))
                        continue;
                s.fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (s.fd < 0)
                        continue;
                if (fstat(s.fd, &st) < 0 || st.st_uid != geteuid() || flock(s.fd, LOCK_EX | LOCK_NB) < 0 ||
                    cay_scratch_remove(&s, 1u << 20) != 1)
                        close(s.fd);
        }
        closedir(dir);
}
