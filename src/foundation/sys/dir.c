/* SPDX-License-Identifier: Apache-2.0 */
/* The names in a directory. */
#include "foundation/sys/dir.h"

#include <stdint.h>
#include <string.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"

struct entry { /* as getdents64 gives it */
        uint64_t ino, off;
        uint16_t len;
        uint8_t type;
        char name[];
};

int sys_dir_each(int dirfd, void (*each)(void *ctx, int dirfd, const char *name, unsigned type), void *ctx)
{
        cay_auto_close int fd = sys_open_at(dirfd, ".", O_RDONLY | O_DIRECTORY, 0);
        char entries[4096] __attribute__((aligned(8)));
        long n;

        if (fd < 0)
                return fd;
        while ((n = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
                for (long at = 0; at < n;) {
                        const struct entry *e = (const void *)(entries + at);

                        at += e->len;
                        if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0)
                                each(ctx, fd, e->name, e->type);
                }
        }
        return n < 0 ? -errno : 0;
}
