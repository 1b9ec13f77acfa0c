/* SPDX-License-Identifier: Apache-2.0 */
/* Walking a tree by descriptors, with getdents64 directly: libc's DIR would cost a buffer per level. */

#include "cay-init/files_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cay-init/files.h"

int cay_files_walk_init_take(struct cay_files_walk *w, int root_fd)
{
        w->mount = cay_files_mount_of(root_fd);
        w->name = NULL;
        w->dtype = 0;
        w->next_pos = 0;
        w->leaving = false;
        w->at = w->len = 0;
        return cay_files_chain_init_take(&w->chain, root_fd);
}

void cay_files_walk_done(struct cay_files_walk *w)
{
        cay_files_chain_done(&w->chain);
}

static bool is_dot(const char *name)
{
        return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* Steps up to the parent and restores the position in it. */
static int leave(struct cay_files_walk *w)
{
        int fd;

        w->leaving = false;
        cay_files_chain_leave(&w->chain);
        w->at = w->len = 0;
        fd = cay_files_chain_fd(&w->chain);
        if (fd < 0)
                return fd;
        return lseek(fd, cay_files_chain_level(&w->chain)->pos, SEEK_SET) < 0 ? -errno : 0;
}

int cay_files_walk_next(struct cay_files_walk *w)
{
        int r;

        if (w->leaving) {
                r = leave(w);
                if (r < 0)
                        return r;
        }
        for (;;) {
                const struct cay_dent *d;

                if (w->at >= w->len) {
                        long n;
                        int fd = cay_files_chain_fd(&w->chain);

                        if (fd < 0)
                                return fd;
                        n = syscall(SYS_getdents64, fd, w->dents, sizeof(w->dents));
                        if (n < 0 && errno != ENOENT) /* ENOENT: the directory was removed meanwhile */
                                return -errno;
                        if (n <= 0) {
                                if (w->chain.depth == 0)
                                        return CAY_FILES_END;
                                w->leaving = true;
                                return CAY_FILES_LEAVE;
                        }
                        w->at = 0;
                        w->len = (size_t)n;
                }
                d = (const struct cay_dent *)(const void *)(w->dents + w->at);
                w->at += d->reclen;
                if (is_dot(d->name))
                        continue;
                w->name = d->name;
                w->dtype = d->type;
                w->next_pos = d->off;
                return CAY_FILES_ENTRY;
        }
}

int cay_files_walk_descend(struct cay_files_walk *w)
{
        struct cay_files_chain *c = &w->chain;
        int r, fd, flags;

        c->levels[c->depth].pos = w->next_pos;
        r = cay_files_chain_enter(c, w->name, strlen(w->name));
        if (r < 0)
                return r;
        fd = cay_files_chain_fd(c);
        flags = fd < 0 ? fd : fcntl(fd, F_GETFL);
        if (fd < 0)
                r = fd;
        else if (flags < 0 || (flags & O_PATH))
                r = -EACCES;
        else if (cay_files_mount_of(fd) != w->mount || c->levels[c->depth].dev != c->levels[0].dev)
                r = -EXDEV;
        if (r < 0) {
                /* The parent's descriptor and the entries read from it are as they were. */
                cay_files_chain_leave(c);
                return r;
        }
        w->at = w->len = 0;
        return 0;
}
