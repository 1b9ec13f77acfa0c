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
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/str.h"
#include "engine/process/own_id.h"

#define PREFIX "cay-process-"
#define TRIES 8
#define INNER "w" /* of a folder that is named after an id */
#define END_TRIES 500u

static const char *folder(void)
{
        const char *dir = getenv("TMPDIR");

        return dir != NULL && dir[0] == '/' ? dir : "/tmp";
}

static int open_locked(const char *path, int *ret)
{
        cay_auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd < 0)
                return errno == ENOENT ? -EAGAIN : -errno;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 || st.st_nlink == 0)
                return -EAGAIN;
        *ret = cay_take_fd(fd);
        return 0;
}

/* A sweeper may take the folder between its making and its locking; then it is simply made again. */
static int make_once(struct cay_scratch *s)
{
        int n = snprintf(s->path, sizeof(s->path), "%s/" PREFIX "XXXXXX", folder());

        if (n < 0 || (size_t)n >= sizeof(s->path))
                return -ENAMETOOLONG;
        return mkdtemp(s->path) == NULL ? -errno : open_locked(s->path, &s->fd);
}

static int fail_to_make(int r, struct cay_error *err)
{
        return cay_fail_sys(err, r == -ENOSPC ? CAY_NO_SPACE : CAY_INTERNAL, r, "make a folder in %s",
                            folder());
}

int cay_scratch_make(struct cay_scratch *s, struct cay_error *err)
{
        int r = -EAGAIN;

        *s = (struct cay_scratch)CAY_SCRATCH_NONE;
        for (unsigned i = 0; i < TRIES && r == -EAGAIN; i++)
                r = make_once(s);
        return r < 0 ? fail_to_make(r, err) : 0;
}

/* Of the folder around it, whose path s->path is. */
static int make_inner(struct cay_scratch *s)
{
        size_t len = strlen(s->path);

        if (mkdirat(s->around, INNER, 0700) < 0 ||
            fchownat(s->around, INNER, s->id, s->id, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        s->fd = openat(s->around, INNER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (s->fd < 0)
                return -errno;
        snprintf(s->path + len, sizeof(s->path) - len, "/" INNER);
        return 0;
}

/* -EAGAIN: the id is taken, or was for a moment. */
static int make_with(struct cay_scratch *s, uint32_t id)
{
        int n = snprintf(s->path, sizeof(s->path), "%s/" PREFIX "%u", folder(), id), r;

        if (n < 0 || (size_t)n + sizeof(INNER) >= sizeof(s->path))
                return -ENAMETOOLONG;
        if (mkdir(s->path, 0711) < 0)
                return errno == EEXIST ? -EAGAIN : -errno;
        r = open_locked(s->path, &s->around);
        if (r == -EAGAIN)
                return r;
        s->id = id;
        if (r == 0 && fchmod(s->around, 0711) < 0) /* whatever our mask is */
                r = -errno;
        if (r == 0)
                r = make_inner(s);
        if (r == 0)
                return 0;
        if (s->around >= 0)
                unlinkat(s->around, INNER, AT_REMOVEDIR);
        rmdir(s->path);
        cay_scratch_close(s);
        return r;
}

int cay_scratch_make_with_id(struct cay_scratch *s, struct cay_error *err)
{
        uint32_t from;
        int r = -EAGAIN;

        if (getrandom(&from, sizeof(from), 0) != (ssize_t)sizeof(from))
                return fail_to_make(-errno, err);
        for (uint32_t i = 0; i < CAY_OWN_IDS && r == -EAGAIN; i++) {
                *s = (struct cay_scratch)CAY_SCRATCH_NONE;
                r = make_with(s, CAY_OWN_ID_FIRST + (from % CAY_OWN_IDS + i) % CAY_OWN_IDS);
        }
        if (r == -EAGAIN)
                return cay_fail(err, CAY_LIMIT,
                                "all %u ids for boxes are in use: the folders " PREFIX "* in %s have them",
                                CAY_OWN_IDS, folder());
        return r < 0 ? fail_to_make(r, err) : 0;
}

void cay_scratch_close(struct cay_scratch *s)
{
        if (s->fd >= 0)
                close(cay_take_fd(s->fd));
        if (s->around >= 0)
                close(cay_take_fd(s->around));
}

/* Of a directory and nothing that took its place: others may be at work in there, and we may be root. */
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

/* Moves a directory up to the top under a free name. */
static int lift(int top, int at, const char *name)
{
        int r = open_up(at, name); /* its ".." changes, which needs the right to write to it */

        if (r < 0)
                return r;
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
        return any ? 0 : remove_empty(s);
}

/* The id that a folder's name says; 0: none. */
static uint32_t read_id(const char *name)
{
        char *end;
        unsigned long long id = strtoull(name + strlen(PREFIX), &end, 10);

        return *end == '\0' && cay_own_id_is(id) ? (uint32_t)id : 0;
}

static bool end_all(uint32_t id)
{
        int r = cay_own_id_kill(id);

        for (unsigned i = 0; i < END_TRIES && r == 0; i++) {
                usleep(1000);
                r = cay_own_id_kill(id);
        }
        return r == 1;
}

/* Of a dead run: its lock is ours now. */
static void sweep_one(struct cay_scratch *s)
{
        struct stat st;

        if (fstat(s->fd, &st) < 0 || st.st_uid != geteuid() || flock(s->fd, LOCK_EX | LOCK_NB) < 0)
                return;
        if (s->id != 0 && geteuid() == 0) {
                s->around = cay_take_fd(s->fd);
                if (!end_all(s->id))
                        return; /* one that is stuck in the kernel: nobody else gets its id as long as the folder is there */
                s->fd = openat(s->around, INNER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (s->fd < 0) { /* it was cut off before that was made */
                        rmdir(s->path);
                        return;
                }
                snprintf(s->path + strlen(s->path), sizeof(s->path) - strlen(s->path), "/" INNER);
        }
        cay_scratch_remove(s, 1u << 20);
}

void cay_scratch_sweep(void)
{
        const char *dir_path = folder();
        DIR *dir = opendir(dir_path);
        struct dirent *entry;

        if (dir == NULL)
                return;
        while ((entry = readdir(dir)) != NULL) {
                struct cay_scratch s = CAY_SCRATCH_NONE;
                int n;

                if (!cay_str_starts(entry->d_name, PREFIX))
                        continue;
                n = snprintf(s.path, sizeof(s.path), "%s/%s", dir_path, entry->d_name);
                if (n < 0 || (size_t)n + sizeof(INNER) >= sizeof(s.path))
                        continue;
                s.fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                s.id = read_id(entry->d_name);
                if (s.fd >= 0)
                        sweep_one(&s);
                cay_scratch_close(&s);
        }
        closedir(dir);
}
