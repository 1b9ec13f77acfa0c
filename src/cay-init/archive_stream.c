/* SPDX-License-Identifier: Apache-2.0 */
/* Members, their contents and the end, through one buffer. */
#include "cay-init/archive_stream.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "foundation/base/files_text.h"

#define END_BYTES (2 * CAY_TAR_BLOCK)

static_assert(CAY_FILES_BUFFER >= CAY_TAR_HEADERS_MAX, "a header fits in an empty buffer");

void cay_archive_stream_init(struct cay_archive_stream *s, int fd, const char *what, uint64_t max_bytes)
{
        s->fd = fd;
        s->what = what;
        s->bytes = 0;
        s->max_bytes = max_bytes > 0 ? max_bytes : UINT64_MAX;
        s->len = 0;
}

static int flush(struct cay_archive_stream *s, struct cay_error *err)
{
        int r = cay_files_write_full(s->fd, s->buf, s->len);

        s->len = 0;
        return r < 0 ? cay_fail_sys(err, cay_files_code(r), r, "send the %s", s->what) : 0;
}

/* Takes note of what was put behind the buffer's end. */
static int grow(struct cay_archive_stream *s, size_t len, struct cay_error *err)
{
        s->len += len;
        return s->len == sizeof(s->buf) ? flush(s, err) : 0;
}

static size_t room(const struct cay_archive_stream *s, uint64_t wanted)
{
        size_t free_bytes = sizeof(s->buf) - s->len;

        return wanted < free_bytes ? (size_t)wanted : free_bytes;
}

static int put_zeros(struct cay_archive_stream *s, uint64_t count, struct cay_error *err)
{
        while (count > 0) {
                size_t n = room(s, count);

                memset(s->buf + s->len, 0, n);
                count -= n;
                if (grow(s, n, err) < 0)
                        return -1;
        }
        return 0;
}

int cay_archive_stream_member(struct cay_archive_stream *s, const struct cay_tar_member *m,
                              struct cay_error *err)
{
        struct cay_files_text t;
        uint64_t need;
        int n;

        if (sizeof(s->buf) - s->len < CAY_TAR_HEADERS_MAX && flush(s, err) < 0)
                return -1;
        n = cay_tar_member_format(m, s->buf + s->len, sizeof(s->buf) - s->len);
        if (n < 0)
                return 1;
        need = (uint64_t)n + m->size + cay_tar_padding(m->size);
        if (need + END_BYTES > s->max_bytes - s->bytes)
                return cay_fail(err, CAY_LIMIT,
                                "with '%s' the %s would be longer than %llu bytes (holes count)",
                                cay_files_quote(&t, m->name), s->what, (unsigned long long)s->max_bytes);
        s->bytes += need;
        return grow(s, (size_t)n, err);
}

int cay_archive_stream_bytes(struct cay_archive_stream *s, const char *bytes, size_t size,
                             struct cay_error *err)
{
        for (size_t left = size; left > 0;) {
                size_t n = room(s, left);

                memcpy(s->buf + s->len, bytes, n);
                bytes += n;
                left -= n;
                if (grow(s, n, err) < 0)
                        return -1;
        }
        return put_zeros(s, cay_tar_padding(size), err);
}

int cay_archive_stream_file(struct cay_archive_stream *s, int fd, uint64_t size, const char *path,
                            struct cay_error *err)
{
        uint64_t left = size;

        while (left > 0) {
                ssize_t n = read(fd, s->buf + s->len, room(s, left));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return cay_files_fail(err, -errno, "read", path);
                if (n == 0)
                        break; /* shorter than it was */
                left -= (uint64_t)n;
                if (grow(s, (size_t)n, err) < 0)
                        return -1;
        }
        return put_zeros(s, left + cay_tar_padding(size), err);
}

int cay_archive_stream_end(struct cay_archive_stream *s, struct cay_error *err)
{
        if (put_zeros(s, END_BYTES, err) < 0)
                return -1;
        s->bytes += END_BYTES;
        return flush(s, err);
}
