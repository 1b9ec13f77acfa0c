/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker SEARCH: lines of files that match a pattern, as records on OUT (links/box/match.h), files in the
 * order of their names. path2 is a glob that names of files must match ("": any), a newline, and the pattern.
 *
 * Trees are hostile: nothing but plain files is opened, links are not followed, other mounts not entered. A
 * file with a NUL byte at its beginning is skipped as binary. A line that is longer than the buffer is
 * searched in overlapping pieces. Matches, bytes of the answer and time have limits, and END's mode says
 * which was reached.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/clock.h"
#include "links/box/match.h"
#include "cay-init/files.h"
#include "cay-init/files_gather.h"
#include "foundation/sys/fd.h"

#define TIME_MS 10000u
#define MATCHES_DEFAULT 1000u
#define BYTES_DEFAULT (1024u * 1024)
#define BUFFER (64u * 1024)
#define OVERLAP 1024u
#define BINARY_LOOK 8192u
#define BEFORE 150u /* bytes of a long line that are reported before the match's end */

struct search {
        struct cay_pattern pattern, glob;
        struct cay_pattern_run run;
        uint64_t until_ms, max_matches, max_bytes;
        uint64_t matches, told, read, files;
        uint32_t why; /* CAY_SEARCH_* */
        const char *name;
        uint64_t line;
        bool was_told; /* this line */
        int out_fd;
        size_t out_len;
        char buf[BUFFER];
        char out[CAY_FILES_BUFFER / 2];
};

static int flush(struct search *s)
{
        int r = sys_write_all(s->out_fd, s->out, s->out_len);

        s->out_len = 0;
        return r;
}

static int tell(struct search *s, const char *bytes, size_t len, size_t end, bool at_start, bool at_end)
{
        size_t from = len > CAY_BOX_MATCH_TEXT && end > BEFORE ? end - BEFORE : 0;
        size_t size = len - from > CAY_BOX_MATCH_TEXT ? CAY_BOX_MATCH_TEXT : len - from;
        struct cay_box_match m = { .line = s->line };
        int r;

        m.flags = (uint8_t)((from > 0 || !at_start ? CAY_MATCH_CUT_BEFORE : 0) |
                            (from + size < len || !at_end ? CAY_MATCH_CUT_BEHIND : 0));
        m.name = (struct cay_view){ s->name, (uint32_t)strlen(s->name) };
        m.text = (struct cay_view){ bytes + from, (uint32_t)size };
        if (s->matches >= s->max_matches || s->told + size + m.name.len > s->max_bytes) {
                s->why |= CAY_SEARCH_ENOUGH;
                return 0;
        }
        r = cay_box_match_encode(&m, s->out + s->out_len, sizeof(s->out) - s->out_len);
        if (r == -EMSGSIZE) {
                r = flush(s);
                if (r == 0)
                        r = cay_box_match_encode(&m, s->out, sizeof(s->out));
        }
        if (r < 0)
                return r;
        s->out_len += (size_t)r;
        s->told += size + m.name.len;
        s->matches++;
        return 0;
}

static int look(struct search *s, const char *bytes, size_t len, bool at_start, bool at_end)
{
        size_t end;

        if (at_end && len > 0 && bytes[len - 1] == '\r')
                len--;
        if (s->was_told || !cay_pattern_find(&s->pattern, &s->run, bytes, len, at_start, at_end, &end))
                return 0;
        s->was_told = true;
        return tell(s, bytes, len, end, at_start, at_end);
}

static bool is_over(const struct search *s)
{
        return s->why & (CAY_SEARCH_ENOUGH | CAY_SEARCH_TIME);
}

/* The whole lines in the buffer; how much they are. */
static int look_lines(struct search *s, size_t len, bool *at_start, size_t *ret)
{
        const char *newline;
        size_t at = 0;
        int r = 0;

        while (r == 0 && !is_over(s) && (newline = memchr(s->buf + at, '\n', len - at)) != NULL) {
                r = look(s, s->buf + at, (size_t)(newline - s->buf) - at, *at_start, true);
                at = (size_t)(newline - s->buf) + 1;
                s->line++;
                s->was_told = false;
                *at_start = true;
        }
        *ret = at;
        return r;
}

static int search_fd(struct search *s, int fd)
{
        bool at_start = true, is_first = true;
        size_t len = 0, done;
        int r = 0;

        s->line = 1;
        s->was_told = false;
        while (r == 0 && !is_over(s)) {
                size_t room = sizeof(s->buf) - len;
                ssize_t n = sys_read_all(fd, s->buf + len, room);

                if (n < 0)
                        s->why |= CAY_SEARCH_PASSED;
                if (n < 0 ||
                    (is_first && memchr(s->buf, '\0', (size_t)n < BINARY_LOOK ? (size_t)n : BINARY_LOOK)))
                        return 0;
                is_first = false;
                s->read += (uint64_t)n;
                len += (size_t)n;
                r = look_lines(s, len, &at_start, &done);
                if (r < 0 || is_over(s))
                        return r;
                memmove(s->buf, s->buf + done, len - done);
                len -= done;
                if (cay_clock_ms() > s->until_ms)
                        s->why |= CAY_SEARCH_TIME;
                if ((size_t)n < room)
                        return len > 0 ? look(s, s->buf, len, at_start, true) : 0;
                if (len == sizeof(s->buf)) {
                        r = look(s, s->buf, len, at_start, false);
                        memmove(s->buf, s->buf + len - OVERLAP, OVERLAP);
                        len = OVERLAP;
                        at_start = false;
                }
        }
        return r;
}

/* Anything that is not a plain file (any more) is skipped silently. */
static int search_below(struct search *s, int dir_fd, const char *name)
{
        cay_auto_close int fd =
                openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        struct stat st;

        if (fd < 0) {
                if (errno == EACCES || errno == EPERM)
                        s->why |= CAY_SEARCH_PASSED;
                return 0;
        }
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return 0;
        s->name = name;
        s->files++;
        return search_fd(s, fd);
}

static int search_tree(struct search *s, int dir_fd, bool has_glob)
{
        struct cay_files_gather g;
        const struct cay_files_gather_what what = { .is_recursive = true,
                                                    .files_only = true,
                                                    .glob = has_glob ? &s->glob : NULL,
                                                    .until_ms = s->until_ms };
        int copy = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
        int r = copy < 0 ? -errno : cay_files_gather_take(&g, copy, &what);

        if (copy < 0)
                return r;
        s->why |= (g.is_crowded ? CAY_SEARCH_CROWDED : 0u) | (g.passed > 0 ? CAY_SEARCH_PASSED : 0u) |
                  (g.is_late ? CAY_SEARCH_TIME : 0u);
        for (uint32_t i = 0; r == 0 && i < g.count && !is_over(s); i++)
                r = search_below(s, dir_fd, g.names[i]);
        cay_files_gather_done(&g);
        return r;
}

/* A file named by the caller: links are followed, and a read error is reported. */
static int search_file(struct search *s, const struct cay_files_at *at)
{
        cay_auto_close int fd = openat(at->fd, at->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -ENXIO;
        s->name = "";
        s->files = 1;
        return search_fd(s, fd);
}

static int compile(struct search *s, const struct cay_worker_request *req, bool *ret_has_glob,
                   struct cay_error *err)
{
        const char *newline = strchr(req->path2, '\n');
        uint32_t flags = req->open->file.flags;
        struct cay_error why = { 0 };

        if (!newline)
                return cay_fail(err, CAY_INVALID, "a search needs a glob, a newline and a pattern");
        *ret_has_glob = newline > req->path2;
        if (*ret_has_glob &&
            cay_pattern_compile_glob(&s->glob, req->path2, (size_t)(newline - req->path2), &why) < 0)
                return cay_fail(err, why.code, "glob: %s", why.msg);
        if (cay_pattern_compile(&s->pattern, newline + 1, strlen(newline + 1),
                                (flags & CAY_BOX_LITERAL ? CAY_PATTERN_LITERAL : 0u) |
                                        (flags & CAY_BOX_NO_CASE ? CAY_PATTERN_NO_CASE : 0u),
                                &why) < 0)
                return cay_fail(err, why.code, "pattern: %s", why.msg);
        return 0;
}

static int search(struct search *s, const struct cay_worker_request *req, struct cay_error *err)
{
        const struct cay_box_file *f = &req->open->file;
        cay_auto_at struct cay_files_at at = { AT_FDCWD, "" };
        cay_auto_close int dir_fd = -1;
        bool has_glob = false;
        int r;

        if (compile(s, req, &has_glob, err) < 0 || cay_files_at_open(&at, req->path, err) < 0)
                return -1;
        s->out_fd = req->out_fd;
        s->until_ms = cay_clock_ms() + TIME_MS;
        s->max_matches = f->max_entries ? f->max_entries : MATCHES_DEFAULT;
        s->max_bytes = f->max_bytes ? f->max_bytes : BYTES_DEFAULT;
        dir_fd = openat(at.fd, at.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd >= 0) {
                r = search_tree(s, dir_fd, has_glob);
        } else if (errno == ENOTDIR) {
                r = search_file(s, &at);
        } else {
                r = -errno;
        }
        if (r == 0)
                r = flush(s);
        return r < 0 ? cay_files_fail(err, r, "search", req->path) : 0;
}

void cay_file_search(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        cay_auto_free struct search *s = calloc(1, sizeof(*s));
        struct cay_error err = { .code = CAY_OK };

        if (!s) {
                cay_files_fail(&err, -ENOMEM, "search", req->path);
                cay_files_answer(ret, &err);
                return;
        }
        if (search(s, req, &err) < 0)
                cay_files_answer(ret, &err);
        ret->entries = s->matches;
        ret->bytes = s->read;
        ret->size = s->files;
        ret->mode = s->why;
}
