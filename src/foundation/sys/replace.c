/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files in the place of others (replace.h). */
#include "foundation/sys/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"

enum { TRIES = 8 }; /* against names that are taken */

static int random_name(char ret[32])
{
        unsigned long long n;

        if (getrandom(&n, sizeof(n), 0) != (ssize_t)sizeof(n))
                return -EIO;
        snprintf(ret, 32, ".cay-%016llx", n);
        return 0;
}

static void own_path(const struct sys_replace *r, char ret[40])
{
        snprintf(ret, 40, "/proc/self/fd/%d", r->fd);
}

/* 1: not here. */
static int open_nameless(struct sys_replace *r)
{
        char path[40];

        r->fd = openat(r->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (r->fd < 0)
                return errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOSYS ||
                                       errno == ENOENT
                               ? 1
                               : -errno;
        own_path(r, path);
        if (faccessat(AT_FDCWD, path, F_OK, 0) == 0)
                return 0;
        close(cay_take_fd(r->fd)); /* without /proc it could never be named */
        return 1;
}

static int open_named(struct sys_replace *r)
{
        for (unsigned i = 0; i < TRIES; i++) {
                int named = random_name(r->temp);

                if (named == 0) {
                        r->fd = openat(r->dir, r->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                       0600);
                        named = r->fd < 0 ? -errno : 0;
                }
                if (named == 0)
                        return 0;
                r->temp[0] = '\0';
                if (named != -EEXIST)
                        return named;
        }
        return -EEXIST;
}

int sys_replace_open(struct sys_replace *r, int dir)
{
        int done;

        *r = (struct sys_replace){ .dir = dir, .fd = -1 };
        done = open_nameless(r);
        return done <= 0 ? done : open_named(r);
}

/* A name of its own for what has none; 0, -errno. */
static int give_name(struct sys_replace *r, const char *name)
{
        char path[40];

        own_path(r, path);
        return linkat(AT_FDCWD, path, r->dir, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static int give_temp(struct sys_replace *r)
{
        int done = 0;

        for (unsigned i = 0; r->temp[0] == '\0' && i < TRIES; i++) {
                char temp[32];

                done = random_name(temp);
                if (done == 0)
                        done = give_name(r, temp);
                if (done == 0)
                        snprintf(r->temp, sizeof(r->temp), "%s", temp);
                else if (done != -EEXIST)
                        return done;
        }
        return done;
}

int sys_replace_commit(struct sys_replace *r, const char *name, bool exclusive)
{
        bool named = r->temp[0] != '\0';
        int done = -EEXIST;

        if (!named)
                done = give_name(r, name);
        else if (exclusive)
                done = linkat(r->dir, r->temp, r->dir, name, 0) < 0 ? -errno : 0;
        if (done == 0 || exclusive || done != -EEXIST) {
                if (done == 0 && named)
                        unlinkat(r->dir, r->temp, 0); /* ignoring: it was there a moment ago */
                if (done == 0)
                        r->temp[0] = '\0';
                return done;
        }
        done = give_temp(r);
        if (done == 0 && renameat(r->dir, r->temp, r->dir, name) < 0)
                done = -errno;
        if (done < 0 && !named && r->temp[0] != '\0')
                unlinkat(r->dir, r->temp, 0);
        if (done == 0 || !named)
                r->temp[0] = '\0';
        return done;
}

void sys_replace_drop(struct sys_replace *r)
{
        if (r->temp[0] != '\0')
                unlinkat(r->dir, r->temp, 0); /* ignoring: gone already */
        r->temp[0] = '\0';
        if (r->fd >= 0)
                close(cay_take_fd(r->fd));
}
