/* SPDX-License-Identifier: Apache-2.0 */
/* Folders in the temporary folder of whoever runs us, with names that mkdtemp chooses. */
#include "engines/process/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "foundation/base/str.h"

#define PREFIX "cay-process-"
#define TRIES 8

static const char *folder(void)
{
        const char *dir = getenv("TMPDIR");

        return dir != NULL && dir[0] == '/' ? dir : "/tmp";
}

/* Its owner may have removed it, and another may have made one with its name, before the lock was ours. */
static bool is_linked(int fd, int at, const char *name)
{
        struct stat here, there;

        return fstat(fd, &here) == 0 && here.st_nlink > 0 &&
               fstatat(at, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && here.st_dev == there.st_dev &&
               here.st_ino == there.st_ino;
}

int cay_scratch_lock(int at, const char *name, int *ret)
{
        cay_auto_close int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd < 0)
                return errno == ENOENT ? -EAGAIN : -errno;
        if (fstat(fd, &st) < 0 || st.st_uid != geteuid())
                return -EPERM;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0 || !is_linked(fd, at, name))
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
        return mkdtemp(s->path) == NULL ? -errno : cay_scratch_lock(AT_FDCWD, s->path, &s->fd);
}

int cay_scratch_make(struct cay_scratch *s, struct cay_error *err)
{
        int r = -EAGAIN;

        *s = (struct cay_scratch)CAY_SCRATCH_NONE;
        for (unsigned i = 0; i < TRIES && r == -EAGAIN; i++)
                r = make_once(s);
        return r < 0 ? cay_fail_sys(err, r == -ENOSPC ? CAY_NO_SPACE : CAY_INTERNAL, r, "make a folder in %s",
                                    folder())
                     : 0;
}

void cay_scratch_close(struct cay_scratch *s)
{
        if (s->fd >= 0)
                close(cay_take_fd(s->fd));
        if (s->around >= 0)
                close(cay_take_fd(s->around));
}

enum cay_swept cay_scratch_sweep(unsigned budget)
{
        const char *dir_path = folder();
        DIR *dir = opendir(dir_path);
        enum cay_swept swept = CAY_SWEPT;
        struct dirent *entry;

        if (dir == NULL)
                return swept;
        while (budget > 0 && (entry = readdir(dir)) != NULL) {
                struct cay_scratch s = CAY_SCRATCH_NONE;
                int n;

                if (!cay_str_starts(entry->d_name, PREFIX))
                        continue;
                n = snprintf(s.path, sizeof(s.path), "%s/%s", dir_path, entry->d_name);
                if (n < 0 || (size_t)n >= sizeof(s.path))
                        continue;
                if (cay_scratch_lock(dirfd(dir), entry->d_name, &s.fd) == 0 &&
                    cay_scratch_remove_some(&s, &budget) == 0)
                        swept = CAY_SWEPT_MORE;
                cay_scratch_close(&s);
        }
        closedir(dir);
        return swept;
}
