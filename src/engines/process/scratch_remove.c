/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. Removal is flat: a directory found inside a directory is moved up to the top of the
 * scratch folder before its content is read, so that depth costs neither stack nor descriptors. Links are not
 * followed: entries are named relative to directory descriptors opened with O_NOFOLLOW.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "engines/process/scratch.h"

#define TRIES 8

/*
 * Only for a directory, not for what replaced it: other processes may be active in there, and we may be root.
 */
static int open_up(int at, const char *name)
{
        cay_auto_close int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        char path[32];

        if (fd < 0)
                return -errno;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        return chmod(path, 0700) < 0 ? -errno : 0;
}

static int open_dir(int at, const char *name)
{
        int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (fd < 0 && errno == EACCES && open_up(at, name) == 0)
                fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

static bool is_dots(const char *name)
{
        return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/*
 * Moves a directory up to the top under a free name: a random one, since predictable names may be in use a
 * million times.
 */
static int lift(int top, int at, const char *name)
{
        int r = open_up(at, name); /* its ".." changes, which needs the right to write to it */
        uint64_t chance;
        char up[32];

        for (unsigned i = 0; r == 0 && i < TRIES; i++) {
                if (getrandom(&chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
                        return -errno;
                snprintf(up, sizeof(up), "up-%016llx", (unsigned long long)chance);
                if (syscall(SYS_renameat2, at, name, top, up, RENAME_NOREPLACE) == 0)
                        return 0;
                if (errno != EEXIST)
                        r = -errno;
        }
        return r < 0 ? r : -EEXIST;
}

/* Its content from the beginning, even if it was read before. */
static int open_list(int at, DIR **ret)
{
        int copy = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

        if (copy < 0)
                return -errno;
        *ret = fdopendir(copy);
        r = *ret != NULL ? 0 : -errno;
        if (r < 0)
                close(copy);
        return r;
}

/* Empties a directory, lifting what is a directory itself; `at` is the top's own for the first pass. */
static int empty(int top, int at, unsigned *budget)
{
        struct dirent *entry;
        DIR *dir;
        int r = open_list(at, &dir);

        if (r < 0)
                return r;
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
        struct dirent *entry;
        DIR *dir;
        int r = open_list(top, &dir);

        if (r < 0)
                return r;
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

static int remove_empty(struct cay_scratch *s)
{
        char *slash = s->around >= 0 ? strrchr(s->path, '/') : NULL;

        if (rmdir(s->path) < 0 && errno != ENOENT)
                return -errno;
        if (slash)
                *slash = '\0';
        if (slash && rmdir(s->path) < 0 && errno != ENOENT)
                return -errno;
        cay_scratch_close(s);
        return 1;
}

int cay_scratch_remove_some(struct cay_scratch *s, unsigned *budget)
{
        bool any = true;
        int r;

        if (s->fd < 0)
                return 1;
        fchmod(s->fd, 0700);
        do {
                r = pass(s->fd, budget, &any);
                if (r < 0)
                        return r;
        } while (any && *budget > 0);
        return any ? 0 : remove_empty(s);
}

int cay_scratch_remove(struct cay_scratch *s, unsigned budget)
{
        return cay_scratch_remove_some(s, &budget);
}
