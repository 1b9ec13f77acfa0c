/* SPDX-License-Identifier: Apache-2.0 */
/* Members, their contents and the end, through one buffer. */
#include "cay-init/archive_stream.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "foundation/base/files_text.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/sparse.h"

#define END_BYTES (2 * CAY_TAR_BLOCK)
#define HOLE_LEAST (16u * 1024) /* a smaller hole is hardly worth an entry in the map */

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
        int r = sys_write_all(s->fd, s->buf, s->len);

        s->len = 0;
        return r < 0 ? cay_fail_sys(err, cay_files_code(r), r, "send the %s", s->what) : 0;
}

/* Counts what was appended to the buffer. */
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

/*
 * Finds all pieces with holes of at least `least` bytes between them; false: there are too many, or the file
 * system does not report holes.
 */
static bool pieces_find(struct cay_archive_stream *s, int fd, uint64_t size, uint64_t least, int *ret_error)
{
        uint64_t from = 0, at, len;
        int r;

        s->pieces_count = 0;
        while ((r = sys_sparse_next(fd, from, size, &at, &len)) > 0) {
                struct cay_tar_piece *last = s->pieces_count > 0 ? &s->pieces[s->pieces_count - 1] : NULL;

                if (last ? at - (last->at + last->len) < least : at < least) {
                        uint64_t begin = last ? last->at : 0;

                        s->pieces_count = last ? s->pieces_count : 1;
                        s->pieces[s->pieces_count - 1] = (struct cay_tar_piece){ begin, at + len - begin };
                } else if (s->pieces_count == CAY_TAR_PIECES_MAX - 1) { /* the last place is for the end */
                        return false;
                } else {
                        s->pieces[s->pieces_count++] = (struct cay_tar_piece){ at, len };
                }
                from = at + len;
        }
        *ret_error = r;
        return true;
}

uint64_t cay_archive_stream_map(struct cay_archive_stream *s, int fd, const struct stat *st)
{
        uint64_t size = (uint64_t)st->st_size, bytes = 0, map;
        struct cay_tar_piece *last;
        int r = 0;

        if (size < HOLE_LEAST || (uint64_t)st->st_blocks * 512 >= size)
                return 0;
        for (uint64_t least = HOLE_LEAST; !pieces_find(s, fd, size, least, &r); least *= 4)
                ;
        if (lseek(fd, 0, SEEK_SET) < 0 || r < 0)
                return 0;
        last = s->pieces_count > 0 ? &s->pieces[s->pieces_count - 1] : NULL;
        if (last && last->at == 0 && last->len == size)
                return 0;
        if (!last || last->at + last->len < size)
                s->pieces[s->pieces_count++] = (struct cay_tar_piece){ size, 0 };
        for (size_t i = 0; i < s->pieces_count; i++)
                bytes += s->pieces[i].len;
        map = cay_tar_map_bytes(s->pieces, s->pieces_count);
        return map + cay_tar_padding(map) + bytes;
}

int cay_archive_stream_member(struct cay_archive_stream *s, const struct cay_tar_member *m,
                              struct cay_error *err)
{
        struct cay_files_text t;
        uint64_t need, content;
        int n;

        if (sizeof(s->buf) - s->len < CAY_TAR_HEADERS_MAX && flush(s, err) < 0)
                return -1;
        n = cay_tar_member_format(m, s->buf + s->len, sizeof(s->buf) - s->len);
        if (n < 0)
                return 1;
        content = m->stored > 0 ? m->stored : m->size;
        need = (uint64_t)n + content + cay_tar_padding(content);
        if (need + END_BYTES > s->max_bytes - s->bytes)
                return cay_fail(err, CAY_LIMIT, "with '%s' the %s would be longer than %llu bytes",
                                cay_files_quote(&t, m->name), s->what, (unsigned long long)s->max_bytes);
        s->bytes += need;
        return grow(s, (size_t)n, err);
}

static int put_bytes(struct cay_archive_stream *s, const char *bytes, size_t size, struct cay_error *err)
{
        for (size_t left = size; left > 0;) {
                size_t n = room(s, left);

                memcpy(s->buf + s->len, bytes, n);
                bytes += n;
                left -= n;
                if (grow(s, n, err) < 0)
                        return -1;
        }
        return 0;
}

int cay_archive_stream_bytes(struct cay_archive_stream *s, const char *bytes, size_t size,
                             struct cay_error *err)
{
        return put_bytes(s, bytes, size, err) < 0 ? -1 : put_zeros(s, cay_tar_padding(size), err);
}

/* Sends that many bytes from the file's position, and zeros where it ends earlier. */
static int put_file(struct cay_archive_stream *s, int fd, uint64_t left, const char *path,
                    struct cay_error *err)
{
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
        return put_zeros(s, left, err);
}

int cay_archive_stream_file(struct cay_archive_stream *s, int fd, uint64_t size, const char *path,
                            struct cay_error *err)
{
        return put_file(s, fd, size, path, err) < 0 ? -1 : put_zeros(s, cay_tar_padding(size), err);
}

static int put_line(struct cay_archive_stream *s, uint64_t number, struct cay_error *err)
{
        char line[CAY_TAR_MAP_LINE];

        return put_bytes(s, line, cay_tar_map_line(number, line), err);
}

static int put_map(struct cay_archive_stream *s, struct cay_error *err)
{
        if (put_line(s, s->pieces_count, err) < 0)
                return -1;
        for (size_t i = 0; i < s->pieces_count; i++)
                if (put_line(s, s->pieces[i].at, err) < 0 || put_line(s, s->pieces[i].len, err) < 0)
                        return -1;
        return put_zeros(s, cay_tar_padding(cay_tar_map_bytes(s->pieces, s->pieces_count)), err);
}

int cay_archive_stream_pieces(struct cay_archive_stream *s, int fd, const char *path, struct cay_error *err)
{
        uint64_t bytes = 0;

        if (put_map(s, err) < 0)
                return -1;
        for (size_t i = 0; i < s->pieces_count; i++) {
                const struct cay_tar_piece *p = &s->pieces[i];

                if (lseek(fd, (off_t)p->at, SEEK_SET) < 0)
                        return cay_files_fail(err, -errno, "read", path);
                if (put_file(s, fd, p->len, path, err) < 0)
                        return -1;
                bytes += p->len;
        }
        return put_zeros(s, cay_tar_padding(bytes), err);
}

int cay_archive_stream_end(struct cay_archive_stream *s, struct cay_error *err)
{
        if (put_zeros(s, END_BYTES, err) < 0)
                return -1;
        s->bytes += END_BYTES;
        return flush(s, err);
}
