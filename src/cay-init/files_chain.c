/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of directory descriptors of any depth. */

#include "cay-init/files_chain.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "foundation/base/cleanup.h"

enum { LEVELS_FIRST = 64, PATH_FIRST = 1024 };

/*
 * Opens one directory below another without following a link. A directory that can be entered but not listed
 * is still usable for creating entries.
 */
static int dir_open(int at, const char *name)
{
        int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        int fd = openat(at, name, flags | O_RDONLY);

        if (fd < 0 && errno == EACCES)
                fd = openat(at, name, flags | O_PATH);
        if (fd < 0)
                return errno == ELOOP ? -ENOTDIR : -errno;
        return fd;
}

static int *slot(struct cay_files_chain *c, uint32_t level)
{
        return &c->window[level % CAY_FILES_WINDOW];
}

static void slot_set(struct cay_files_chain *c, uint32_t level, int fd)
{
        int *s = slot(c, level);

        if (*s >= 0)
                close(*s);
        *s = fd;
}

int cay_files_chain_init_take(struct cay_files_chain *c, int root_fd)
{
        struct stat st;

        *c = (struct cay_files_chain){ .root_fd = root_fd };
        for (unsigned i = 0; i < CAY_FILES_WINDOW; i++)
                c->window[i] = -1;
        c->levels = calloc(LEVELS_FIRST, sizeof(*c->levels));
        c->path = calloc(PATH_FIRST, 1);
        c->levels_cap = LEVELS_FIRST;
        c->path_cap = PATH_FIRST;
        if (!c->levels || !c->path || fstat(root_fd, &st) < 0) {
                int r = c->levels && c->path ? -errno : -ENOMEM;

                free(c->levels);
                free(c->path);
                close(root_fd);
                *c = (struct cay_files_chain){ .root_fd = -1 };
                return r;
        }
        c->levels[0].dev = st.st_dev;
        c->levels[0].ino = st.st_ino;
        return 0;
}

void cay_files_chain_done(struct cay_files_chain *c)
{
        if (!c->levels && !c->path)
                return;
        for (unsigned i = 0; i < CAY_FILES_WINDOW; i++)
                if (c->window[i] >= 0)
                        close(c->window[i]);
        if (c->root_fd >= 0)
                close(c->root_fd);
        free(c->levels);
        free(c->path);
        *c = (struct cay_files_chain){ .root_fd = -1 };
}

/* Room for one more level whose name has `len` bytes. */
static int grow(struct cay_files_chain *c, size_t len)
{
        uint32_t path_need = cay_files_chain_level(c)->path_len + (uint32_t)len + 2;

        if (c->depth >= CAY_FILES_DEPTH_MAX || len > CAY_FILES_PATH_MAX || path_need > CAY_FILES_PATH_MAX + 1)
                return -ENAMETOOLONG;
        if (c->depth + 1 == c->levels_cap) {
                uint32_t cap = c->levels_cap * 2;
                struct cay_files_level *levels = realloc(c->levels, cap * sizeof(*levels));

                if (!levels)
                        return -ENOMEM;
                c->levels = levels;
                c->levels_cap = cap;
        }
        if (path_need > c->path_cap) {
                uint32_t cap = c->path_cap * 2 > path_need ? c->path_cap * 2 : path_need;
                char *path = realloc(c->path, cap);

                if (!path)
                        return -ENOMEM;
                c->path = path;
                c->path_cap = cap;
        }
        return 0;
}

int cay_files_chain_enter(struct cay_files_chain *c, const char *name, size_t len)
{
        uint32_t at = cay_files_chain_level(c)->path_len;
        cay_auto_close int fd = -1;
        struct stat st;
        int r, dir;

        r = grow(c, len);
        if (r < 0)
                return r;
        dir = cay_files_chain_fd(c);
        if (dir < 0)
                return dir;

        if (at > 0)
                c->path[at] = '/';
        memcpy(c->path + at + (at > 0), name, len);
        c->path[at + (at > 0) + len] = '\0';
        fd = dir_open(dir, c->path + at + (at > 0));
        r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;
        if (r < 0) {
                c->path[at] = '\0';
                return r;
        }
        c->depth++;
        c->levels[c->depth] = (struct cay_files_level){
                .dev = st.st_dev,
                .ino = st.st_ino,
                .path_len = at + (at > 0) + (uint32_t)len,
        };
        slot_set(c, c->depth, cay_take_fd(fd));
        return 0;
}

void cay_files_chain_leave(struct cay_files_chain *c)
{
        slot_set(c, c->depth, -1);
        c->depth--;
        c->path[cay_files_chain_level(c)->path_len] = '\0';
}

/* Opens every level from the root to the current one again; the last ones stay in the window. */
static int reopen(struct cay_files_chain *c)
{
        int dir = c->root_fd;

        for (uint32_t i = 1; i <= c->depth; i++) {
                uint32_t start = c->levels[i - 1].path_len, end = c->levels[i].path_len;
                char kept = c->path[end];
                struct stat st;
                int fd;

                c->path[end] = '\0';
                fd = dir_open(dir, c->path + start + (start > 0));
                c->path[end] = kept;
                if (fd < 0)
                        return fd == -ENOENT || fd == -ENOTDIR ? -ESTALE : fd;
                slot_set(c, i, fd);
                dir = fd;
                if (fstat(fd, &st) < 0)
                        return -errno;
                if (st.st_dev != c->levels[i].dev || st.st_ino != c->levels[i].ino)
                        return -ESTALE;
        }
        return 0;
}

int cay_files_chain_fd(struct cay_files_chain *c)
{
        int r;

        if (c->depth == 0)
                return c->root_fd;
        if (*slot(c, c->depth) < 0) {
                r = reopen(c);
                if (r < 0) {
                        /* Half of the slots may hold other levels than they stand for now. */
                        for (uint32_t i = 0; i < CAY_FILES_WINDOW; i++)
                                slot_set(c, i, -1);
                        return r;
                }
        }
        return *slot(c, c->depth);
}

int cay_files_chain_join(const struct cay_files_chain *c, const char *name, char *ret, size_t size)
{
        size_t at = c->levels[c->depth].path_len, len = strlen(name), total = at + (at > 0) + len;

        if (total >= size)
                return -ENAMETOOLONG;
        memcpy(ret, c->path, at);
        if (at > 0)
                ret[at] = '/';
        memcpy(ret + at + (at > 0), name, len + 1);
        return (int)total;
}

uint64_t cay_files_mount_of(int fd)
{
        /*
         * struct statx as the kernel has it; musl 1.2.3 does not declare it. Mount ids came with Linux 5.8.
         */
        enum { LENGTH = 256, MASK_AT = 0, MOUNT_AT = 0x90, MNT_ID = 0x1000 };
        uint8_t st[LENGTH] = { 0 };
        uint32_t mask;
        uint64_t id;

        if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, MNT_ID, st) < 0)
                return 0;
        memcpy(&mask, st + MASK_AT, sizeof(mask));
        memcpy(&id, st + MOUNT_AT, sizeof(id));
        return mask & MNT_ID ? id + 1 : 0;
}
