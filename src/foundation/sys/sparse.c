/* SPDX-License-Identifier: Apache-2.0 */
/* Files with holes (sparse.h). */
#include "foundation/sys/sparse.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "foundation/sys/fd.h"

#define BLOCK 4096u

static bool is_zero(const char *bytes, size_t len)
{
        return bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0;
}

/* How much of it lies in the block that the position is in. */
static size_t to_block_end(off_t at, size_t len)
{
        size_t part = BLOCK - (size_t)(at % BLOCK);

        return part < len ? part : len;
}

int sys_sparse_next(int fd, uint64_t from, uint64_t size, uint64_t *ret_at, uint64_t *ret_len)
{
        off_t at, end;

        if (from >= size)
                return 0;
        at = lseek(fd, (off_t)from, SEEK_DATA);
        if (at < 0 && errno == ENXIO)
                return 0;
        end = at < 0 ? -1 : lseek(fd, at, SEEK_HOLE);
        if (at < 0 || end < 0) {
                if (errno != EINVAL && errno != EOPNOTSUPP)
                        return -errno;
                at = (off_t)from;
                end = (off_t)size;
        }
        if ((uint64_t)at >= size)
                return 0;
        if (end <= at || (uint64_t)end > size)
                end = (off_t)size;
        *ret_at = (uint64_t)at;
        *ret_len = (uint64_t)(end - at);
        return 1;
}

int sys_sparse_write(int fd, const void *bytes, size_t len)
{
        off_t at = lseek(fd, 0, SEEK_CUR);
        const char *p = bytes;

        if (at < 0)
                return errno == ESPIPE ? sys_write_all(fd, bytes, len) : -errno;
        while (len > 0) {
                size_t n = to_block_end(at, len);
                bool skip = is_zero(p, n);
                int r = 0;

                while (n < len) { /* as far as it goes on like this */
                        size_t more = to_block_end(at + (off_t)n, len - n);

                        if (is_zero(p + n, more) != skip)
                                break;
                        n += more;
                }
                if (skip)
                        r = lseek(fd, (off_t)n, SEEK_CUR) < 0 ? -errno : 0;
                else
                        r = sys_write_all(fd, p, n);
                if (r < 0)
                        return r;
                p += n;
                len -= n;
                at += (off_t)n;
        }
        return 0;
}

int sys_sparse_end(int fd)
{
        off_t at = lseek(fd, 0, SEEK_CUR);

        if (at < 0)
                return errno == ESPIPE ? 0 : -errno;
        return ftruncate(fd, at) < 0 ? -errno : 0;
}
