/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker COMPARE: what differs between two copies of a sandbox's layer, mounted at path (before) and path2
 * (after), as entries on OUT. An entry's name is "A ", "D " or "M " (added, removed, changed) and the path
 * that the sandbox knows the file by; the rest says how it is after, of a removed one how it was before.
 *
 * Theory of operation. Both are clones of one file system. So an entry with the same inode, time of change,
 * size, mode and owner was not touched, and is not read. Of what was touched, files of the same size are
 * compared byte by byte: a file that was written again with the same content does not differ. The first walk
 * is over `after` and looks up each entry in `before`, the second over `before` finds what is missing after.
 * Both go by descriptor, follow no link and enter no other mount; the trees are hostile.
 *
 * A layer's top has the parts of the sandbox's root, as cay-warden made them (isolate_root.c): X-up is the
 * written half of the overlay at /X ("image-up": of /), X-work is the kernel's, "root" is / of a sandbox
 * without an image, any other folder is itself. In an overlay's half, a device 0:0 hides a file of the
 * template: removed. A file that is new there and that this box, which has the same template, shows as well,
 * is a changed one. What cannot be read is counted, and told as changed where its numbers say so.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/clock.h"
#include "foundation/sys/fd.h"
#include "links/box/match.h"
#include "cay-init/files.h"
#include "cay-init/files_walk.h"

#define TIME_MS 20000u
#define ENTRIES_DEFAULT 1000u
#define PIECE (32u * 1024)
#define UP "-up"
#define IMAGE "image"
#define ROOT "root"

struct side {                   /* an entry on one side */
        bool is_there, is_hole; /* hole: it hides one of the template */
        struct stat st;
};

struct compare {
        struct cay_files_walk walk;
        struct cay_files_chain
                other; /* as deep as the walk, or less where the other side has no such folder */
        uint64_t until_ms, max, count, seen;
        uint32_t why; /* CAY_SEARCH_* */
        int out_fd;
        size_t out_len;
        char path[CAY_BOX_PATH_MAX], shown[CAY_BOX_PATH_MAX + 8];
        char link[2][CAY_BOX_PATH_MAX];
        char piece[2][PIECE];
        char out[CAY_FILES_BUFFER];
};

static int flush(struct compare *c)
{
        int r = sys_write_all(c->out_fd, c->out, c->out_len);

        c->out_len = 0;
        return r;
}

static bool ends_with(const char *name, size_t len, const char *tail)
{
        size_t n = strlen(tail);

        return len > n && memcmp(name + len - n, tail, n) == 0;
}

/* As the sandbox knows it, behind "X ": c->path is below the layer's top. */
static void show(struct compare *c)
{
        size_t first = strcspn(c->path, "/"), len = first > strlen(UP) ? first - strlen(UP) : 0;
        bool is_up = ends_with(c->path, first, UP);
        bool is_image = (is_up && len == strlen(IMAGE) && memcmp(c->path, IMAGE, len) == 0) ||
                        (first == strlen(ROOT) && memcmp(c->path, ROOT, first) == 0);
        const char *rest = c->path + first;

        snprintf(c->shown, sizeof(c->shown), "- %s%.*s%s", is_image ? "" : "/",
                 (int)(is_image ? 0
                       : is_up  ? len
                                : first),
                 c->path, is_image && !*rest ? "/" : rest);
}

static bool is_half(const struct compare *c)
{
        return ends_with(c->path, strcspn(c->path, "/"), UP);
}

static int tell(struct compare *c, char kind, const struct stat *st)
{
        struct cay_box_stat s = { 0 };
        int r;

        if (c->count >= c->max) {
                c->why |= CAY_SEARCH_ENOUGH;
                return 0;
        }
        c->shown[0] = kind;
        c->shown[1] = ' ';
        s.type = cay_files_type(st->st_mode);
        s.mode = st->st_mode & 07777;
        s.uid = st->st_uid;
        s.gid = st->st_gid;
        s.size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
        s.mtime_ns = cay_files_mtime_ns(st);
        s.name = (struct cay_view){ c->shown, (uint32_t)strlen(c->shown) };
        r = cay_box_entry_encode(&s, c->out + c->out_len, sizeof(c->out) - c->out_len);
        if (r == -EMSGSIZE) {
                r = flush(c);
                if (r == 0)
                        r = cay_box_entry_encode(&s, c->out, sizeof(c->out));
        }
        if (r < 0)
                return r;
        c->out_len += (size_t)r;
        c->count++;
        return 0;
}

static void look(int at, const char *name, struct side *ret)
{
        ret->is_there = at >= 0 && fstatat(at, name, &ret->st, AT_SYMLINK_NOFOLLOW) == 0;
        ret->is_hole = ret->is_there && S_ISCHR(ret->st.st_mode) && ret->st.st_rdev == makedev(0, 0);
}

static bool is_untouched(const struct stat *a, const struct stat *b)
{
        return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mode == b->st_mode &&
               a->st_uid == b->st_uid && a->st_gid == b->st_gid && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
               a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static int open_file(int at, const char *name)
{
        int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

static bool same_content(struct compare *c, int at, int other_at, const char *name)
{
        cay_auto_close int a = open_file(at, name), b = open_file(other_at, name);

        if (a < 0 || b < 0) {
                c->why |= CAY_SEARCH_PASSED;
                return false;
        }
        for (;;) {
                ssize_t n = sys_read_all(a, c->piece[0], PIECE), m = sys_read_all(b, c->piece[1], PIECE);

                if (n < 0 || n != m || memcmp(c->piece[0], c->piece[1], (size_t)n) != 0)
                        return false;
                if (n == 0)
                        return true;
                if (cay_clock_ms() > c->until_ms) {
                        c->why |= CAY_SEARCH_TIME;
                        return true;
                }
        }
}

static bool same_link(struct compare *c, int at, int other_at, const char *name)
{
        ssize_t n = readlinkat(at, name, c->link[0], sizeof(c->link[0]));
        ssize_t m = readlinkat(other_at, name, c->link[1], sizeof(c->link[1]));

        return n >= 0 && n == m && memcmp(c->link[0], c->link[1], (size_t)n) == 0;
}

static bool differs(struct compare *c, int at, int other_at, const char *name, const struct stat *a,
                    const struct stat *b)
{
        if (is_untouched(a, b))
                return false;
        if (a->st_mode != b->st_mode || a->st_uid != b->st_uid || a->st_gid != b->st_gid)
                return true;
        if (S_ISREG(a->st_mode))
                return a->st_size != b->st_size || !same_content(c, at, other_at, name);
        if (S_ISLNK(a->st_mode))
                return !same_link(c, at, other_at, name);
        return !S_ISDIR(a->st_mode) && a->st_rdev != b->st_rdev;
}

/* Whether the template has it: this box shows it where the sandbox does. */
static bool template_has(const struct compare *c)
{
        struct stat st;

        return is_half(c) && lstat(c->shown + 2, &st) == 0;
}

/* An entry of the walk over `after`. */
static int after_entry(struct compare *c, int at, int other_at)
{
        struct side now, was;

        look(at, c->walk.name, &now);
        look(other_at, c->walk.name, &was);
        if (!now.is_there || (now.is_hole && was.is_there && was.is_hole))
                return 0;
        if (now.is_hole)
                return tell(c, 'D', was.is_there ? &was.st : &now.st);
        if (!was.is_there || was.is_hole)
                return S_ISDIR(now.st.st_mode) && template_has(c)
                               ? 0
                               : tell(c, template_has(c) && !was.is_hole ? 'M' : 'A', &now.st);
        return differs(c, at, other_at, c->walk.name, &now.st, &was.st) ? tell(c, 'M', &now.st) : 0;
}

/* An entry of the walk over `before`: only what is missing after is told. */
static int before_entry(struct compare *c, int at, int other_at, bool *ret_skip)
{
        struct side was, now;

        look(at, c->walk.name, &was);
        look(other_at, c->walk.name, &now);
        *ret_skip = !now.is_there || !S_ISDIR(now.st.st_mode);
        if (!was.is_there || now.is_there)
                return 0;
        return tell(c, was.is_hole ? 'A' : 'D', &was.st);
}

static bool is_ours(const char *name)
{
        size_t len = strlen(name);

        return ends_with(name, len, "-work") || ends_with(name, len, "-low") ||
               strcmp(name, "lost+found") == 0 || strcmp(name, "none") == 0;
}

static int one_entry(struct compare *c, bool is_after)
{
        bool in_step = c->other.depth == c->walk.chain.depth, skip = false;
        int at = cay_files_chain_fd(&c->walk.chain), other_at = -1, r = 0;
        uint32_t depth = c->walk.chain.depth;

        if (depth == 0 && is_ours(c->walk.name))
                return 0;
        if (at < 0)
                return at;
        if (in_step)
                other_at = cay_files_chain_fd(&c->other);
        if (cay_files_chain_join(&c->walk.chain, c->walk.name, c->path, sizeof(c->path)) < 0) {
                c->why |= CAY_SEARCH_PASSED;
                return 0;
        }
        show(c);
        if (strlen(c->shown) >= CAY_BOX_PATH_MAX) {
                c->why |= CAY_SEARCH_PASSED;
                return 0;
        }
        c->seen++;
        if (depth > 0) /* the parts themselves are ours */
                r = is_after ? after_entry(c, at, other_at) : before_entry(c, at, other_at, &skip);
        if (r < 0 || skip)
                return r;
        if (in_step)
                in_step = cay_files_chain_enter(&c->other, c->walk.name, strlen(c->walk.name)) == 0;
        r = cay_files_walk_descend(&c->walk);
        if (r < 0 && in_step)
                cay_files_chain_leave(&c->other);
        if (r == -EACCES || r == -ENAMETOOLONG)
                c->why |= CAY_SEARCH_PASSED;
        return 0;
}

static int open_top(const char *path)
{
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

static int walk(struct compare *c, const char *over, const char *other, bool is_after)
{
        int event, r = 0, top = open_top(over), other_top = open_top(other);

        if (top < 0 || other_top < 0) {
                r = top < 0 ? top : other_top;
                if (top >= 0)
                        close(top);
                if (other_top >= 0)
                        close(other_top);
                return r;
        }
        r = cay_files_walk_init_take(&c->walk, top);
        if (r == 0)
                r = cay_files_chain_init_take(&c->other, other_top);
        else
                close(other_top);
        while (r == 0 && !(c->why & (CAY_SEARCH_ENOUGH | CAY_SEARCH_TIME)) &&
               (event = cay_files_walk_next(&c->walk)) != CAY_FILES_END) {
                if (event < 0)
                        r = event;
                else if (event == CAY_FILES_ENTRY)
                        r = one_entry(c, is_after);
                else if (c->other.depth == c->walk.chain.depth && c->other.depth > 0)
                        cay_files_chain_leave(&c->other);
                if (cay_clock_ms() > c->until_ms)
                        c->why |= CAY_SEARCH_TIME;
        }
        cay_files_walk_done(&c->walk);
        cay_files_chain_done(&c->other);
        c->walk = (struct cay_files_walk){ 0 };
        c->other = (struct cay_files_chain){ 0 };
        return r;
}

void cay_file_compare(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        cay_auto_free struct compare *c = calloc(1, sizeof(*c));
        struct cay_error err = { .code = CAY_OK };
        int r = -ENOMEM;

        if (c) {
                c->out_fd = req->out_fd;
                c->until_ms = cay_clock_ms() + TIME_MS;
                c->max = req->open->file.max_entries ? req->open->file.max_entries : ENTRIES_DEFAULT;
                r = walk(c, req->path2, req->path, true);
                if (r == 0)
                        r = walk(c, req->path, req->path2, false);
                if (r == 0)
                        r = flush(c);
                ret->entries = c->count;
                ret->size = c->seen;
                ret->mode = c->why;
        }
        if (r < 0) {
                cay_files_fail(&err, r, "compare", req->path);
                cay_files_answer(ret, &err);
        }
}
