/* SPDX-License-Identifier: Apache-2.0 */
/* A file that has blocks but no content. */

#include "daemon/store/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"

enum { AGAIN_MS = 5000 };

#define LOG_IF_FREE (4ull * CAY_RESERVE_LOG_BYTES)

void cay_reserve_open(struct cay_reserve *r, int dirfd, const char *name)
{
        *r = (struct cay_reserve){
                .fd = openat(dirfd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600),
        };
}

void cay_reserve_close(struct cay_reserve *r)
{
        if (r->fd >= 0)
                close(r->fd);
        r->fd = -1;
}

void cay_reserve_take(struct cay_reserve *r, uint64_t mono_ms)
{
        int e;

        if (r->is_held || r->fd < 0 || (r->tried_ms > 0 && mono_ms - r->tried_ms < AGAIN_MS))
                return;
        r->tried_ms = mono_ms > 0 ? mono_ms : 1;
        do
                e = posix_fallocate(r->fd, 0, CAY_RESERVE_BYTES);
        while (e == EINTR); /* on tmpfs, any signal interrupts it */
        r->is_held = e == 0;
        if (!r->is_held && ftruncate(r->fd, 0) < 0)
                return; /* nothing else would help */
}

/* SQLite holds no locks on the log, so closing this descriptor releases none. */
void cay_reserve_log(int dirfd, const char *name)
{
        cay_auto_close int fd = openat(dirfd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        struct statvfs fs;
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0 || (uint64_t)st.st_blocks * 512 >= CAY_RESERVE_LOG_BYTES)
                return;
        if (fstatvfs(fd, &fs) < 0 || (uint64_t)fs.f_bavail * fs.f_frsize < LOG_IF_FREE)
                return; /* one that fails halfway keeps what it got, which is little */
        if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, CAY_RESERVE_LOG_BYTES) < 0)
                return; /* not supported, or no room: unchanged */
}

#define LOG_HEAD 32 /* bytes; without it the steps below are useless */

void cay_reserve_empty_log(int dirfd, const char *name)
{
        cay_auto_close int fd = openat(dirfd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        static const char nothing[LOG_HEAD];
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0 || st.st_size == 0)
                return;
        if (pwrite(fd, nothing, sizeof(nothing), 0) != (ssize_t)sizeof(nothing) && ftruncate(fd, 0) < 0)
                return; /* a failing disk: the database has the same content */
}

bool cay_reserve_is_empty_log(int dirfd, const char *name)
{
        cay_auto_close int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        static const char nothing[LOG_HEAD];
        char head[LOG_HEAD];

        return fd < 0 || pread(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
               memcmp(head, nothing, sizeof(head)) == 0;
}

bool cay_reserve_give(struct cay_reserve *r)
{
        if (!r->is_held || ftruncate(r->fd, 0) < 0)
                return false;
        r->is_held = false;
        return true;
}
