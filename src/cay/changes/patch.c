/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes patches. A file that became something else is one patch that deletes it and one that makes the new
 * entry, as in git.
 */
#include "cay/changes/patch.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/files_text.h"
#include "foundation/base/utf8.h"
#include "cay/changes/check.h"
#include "cay/changes/line_diff.h"
#include "foundation/sys/fd.h"

enum { CONTEXT = 3 };

/* One side of a comparison. */
struct blob {
        enum cay_change_type type; /* NONE: nothing; FILE, SYMLINK; others are not part of a patch */
        uint32_t mode;
        uint64_t size;
        char *mem; /* owned; NULL if too large */
        bool is_binary;
};

static const struct blob nothing = { .type = CAY_CHANGE_NONE };

static void blob_done(struct blob *b)
{
        free(cay_take(b->mem));
}

/* --- Names and bytes --- */

/* Characters that reverse text, hide it or look like the end of a line. */
static bool is_tricky(const unsigned char *p, size_t len)
{
        unsigned code = 0;

        if (len == 2)
                code = (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
        else if (len == 3)
                code = (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
        return (code >= 0x80 && code < 0xa0) || code == 0xad || (code >= 0x200b && code <= 0x200f) ||
               (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
}

/* How many bytes at p may be shown unchanged; 0: none. */
static size_t plain_bytes(const unsigned char *p, size_t len)
{
        size_t n;

        if (p[0] < 0x80)
                return p[0] >= ' ' && p[0] != 0x7f;
        n = cay_utf8_next(p, len);
        return n > 0 && !is_tricky(p, n) ? n : 0;
}

static bool needs_quotes(const char *path)
{
        const unsigned char *p = (const unsigned char *)path;

        for (size_t len = strlen(path), n; len > 0; p += n, len -= n) {
                n = plain_bytes(p, len);
                if (n == 0 || *p == '"' || *p == '\\')
                        return true;
        }
        return false;
}

static void print_quoted(FILE *out, const char *prefix, const char *path)
{
        static const char letters[] = "\a\b\t\n\v\f\r\"\\", escapes[] = "abtnvfr\"\\";
        const unsigned char *p = (const unsigned char *)path;

        fprintf(out, "\"%s", prefix);
        for (size_t len = strlen(path), n; len > 0; p += n, len -= n) {
                const char *special = memchr(letters, *p, sizeof(letters) - 1);

                n = special != NULL ? 0 : plain_bytes(p, len);
                if (n > 0) {
                        fwrite(p, 1, n, out);
                        continue;
                }
                if (special != NULL)
                        fprintf(out, "\\%c", escapes[special - letters]);
                else
                        fprintf(out, "\\%03o", *p);
                n = 1;
        }
        fputc('"', out);
}

void cay_patch_print_name(FILE *out, const char *prefix, const char *path)
{
        if (needs_quotes(path))
                print_quoted(out, prefix, path);
        else
                fprintf(out, "%s%s", prefix, path);
}

/* Two names on one line: if they contain a blank, only quotes show where the first ends. */
static void put_name_of_two(const struct cay_patch *p, const char *prefix, const char *path)
{
        if (strchr(path, ' ') != NULL)
                print_quoted(p->out, prefix, path);
        else
                cay_patch_print_name(p->out, prefix, path);
}

/* A line's bytes; on a terminal without control characters. */
static void put_bytes(const struct cay_patch *p, const char *bytes, size_t len)
{
        const unsigned char *at = (const unsigned char *)bytes;

        if (!p->is_terminal) {
                fwrite(bytes, 1, len, p->out);
                return;
        }
        for (size_t n; len > 0; at += n, len -= n) {
                n = *at == '\t' ? 1 : plain_bytes(at, len);
                if (n > 0) {
                        fwrite(at, 1, n, p->out);
                        continue;
                }
                n = 1;
                if (*at < ' ' || *at == 0x7f)
                        fprintf(p->out, "^%c", *at ^ 0x40);
                else
                        fprintf(p->out, "<%02X>", *at);
        }
}

static void put_line(const struct cay_patch *p, char mark, const char *bytes, size_t len)
{
        bool has_end = len > 0 && bytes[len - 1] == '\n';

        fputc(mark, p->out);
        put_bytes(p, bytes, len - has_end);
        fputs(has_end ? "\n" : "\n\\ No newline at end of file\n", p->out);
}

/* --- Reading the two sides --- */

static void blob_look(struct blob *b)
{
        b->is_binary =
                b->type == CAY_CHANGE_FILE && (b->mem == NULL || memchr(b->mem, '\0', b->size) != NULL);
}

static int no_memory(struct cay_error *err)
{
        return cay_fail(err, CAY_INTERNAL, "no memory for a file's content");
}

static int load_new(const struct cay_patch *p, const struct cay_change *c, struct blob *ret,
                    struct cay_error *err)
{
        struct cay_files_text t;
        ssize_t n;

        *ret = (struct blob){ .type = c->type, .mode = c->mode, .size = c->size };
        if (c->type == CAY_CHANGE_SYMLINK) {
                ret->size = strlen(c->target);
                ret->mem = strdup(c->target);
                return ret->mem == NULL ? no_memory(err) : 0;
        }
        if (c->type == CAY_CHANGE_FILE && c->size <= CAY_PATCH_FILE_MAX) {
                ret->mem = malloc(c->size + 1);
                if (ret->mem == NULL)
                        return no_memory(err);
                n = cay_change_set_read(p->set, c, 0, ret->mem, c->size);
                if (n < 0)
                        return cay_fail_sys(err, CAY_INTERNAL, (int)n, "read '%s' of the change set",
                                            cay_files_quote(&t, c->path));
        }
        blob_look(ret);
        return 0;
}

/* As much as there is: it may shrink while it is read. */
static int read_file(int fd, struct blob *b)
{
        ssize_t n;

        b->mem = malloc(b->size + 1);
        if (b->mem == NULL)
                return -ENOMEM;
        n = sys_read_fd(fd, b->mem, b->size + 1);
        if (n < 0)
                return (int)n;
        b->size = (size_t)n;
        return 0;
}

static int load_old(const struct cay_patch *p, const struct cay_change *c, struct blob *ret,
                    struct cay_error *err)
{
        char target[CAY_CHANGE_PATH_MAX + 1];
        struct cay_change_base now;
        struct cay_files_text t;
        struct stat st;
        int r = cay_folder_stat(p->folder, c->path, &st);

        *ret = nothing;
        if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
                return 0;
        if (r == 0) {
                cay_change_base_of(&st, &now);
                *ret = (struct blob){ .type = now.type, .mode = now.mode & 0777 };
        }
        if (r == 0 && now.type == CAY_CHANGE_SYMLINK) {
                r = (int)cay_folder_readlink(p->folder, c->path, target);
                if (r >= 0) {
                        ret->size = (uint64_t)r;
                        ret->mem = strdup(target);
                        r = ret->mem == NULL ? -ENOMEM : 0;
                }
        } else if (r == 0 && now.type == CAY_CHANGE_FILE) {
                cay_auto_close int fd = -1;

                fd = r = cay_folder_open_file(p->folder, c->path, &st);
                if (fd >= 0) {
                        ret->size = (uint64_t)st.st_size;
                        r = ret->size <= CAY_PATCH_FILE_MAX ? read_file(fd, ret) : 0;
                }
                blob_look(ret);
        }
        if (r < 0)
                return cay_fail_sys(err, r == -EACCES ? CAY_DENIED : CAY_INTERNAL, r,
                                    "read '%s' in the folder", cay_files_quote(&t, c->path));
        return 0;
}

static bool is_in_patch(const struct blob *b)
{
        return b->type == CAY_CHANGE_FILE || b->type == CAY_CHANGE_SYMLINK;
}

static bool has_same_content(const struct blob *a, const struct blob *b)
{
        return a->size == b->size && a->mem != NULL && b->mem != NULL && memcmp(a->mem, b->mem, a->size) == 0;
}

/* --- Hunks --- */

static void put_range(const struct cay_patch *p, char mark, uint32_t at, uint32_t count)
{
        fprintf(p->out, " %c%u", mark, count > 0 ? at + 1 : at);
        if (count != 1)
                fprintf(p->out, ",%u", count);
}

static void put_head(const struct cay_patch *p, uint32_t a_at, uint32_t a_count, uint32_t b_at,
                     uint32_t b_count)
{
        fputs("@@", p->out);
        put_range(p, '-', a_at, a_count);
        put_range(p, '+', b_at, b_count);
        fputs(" @@\n", p->out);
}

static void put_lines(const struct cay_patch *p, char mark, const struct cay_text *t, uint32_t at,
                      uint32_t end)
{
        for (; at < end; at++)
                put_line(p, mark, t->bytes + t->starts[at], t->starts[at + 1] - t->starts[at]);
}

/* Nearby edits share a hunk: [first, end). */
static void put_hunk(const struct cay_patch *p, const struct cay_text *a, const struct cay_text *b,
                     const struct cay_edit *first, const struct cay_edit *end)
{
        const struct cay_edit *last = end - 1;
        uint32_t lead = first->a_at < CONTEXT ? first->a_at : CONTEXT;
        uint32_t a_last = last->a_at + last->a_count, b_last = last->b_at + last->b_count;
        uint32_t tail = a->lines - a_last < CONTEXT ? a->lines - a_last : CONTEXT;
        uint32_t at = first->a_at - lead;

        put_head(p, at, a_last + tail - at, first->b_at - lead, b_last + tail - (first->b_at - lead));
        for (const struct cay_edit *e = first; e < end; e++) {
                put_lines(p, ' ', a, at, e->a_at);
                put_lines(p, '-', a, e->a_at, e->a_at + e->a_count);
                put_lines(p, '+', b, e->b_at, e->b_at + e->b_count);
                at = e->a_at + e->a_count;
        }
        put_lines(p, ' ', a, at, a_last + tail);
}

static void put_edits(const struct cay_patch *p, const struct cay_text *a, const struct cay_text *b,
                      const struct cay_edits *edits)
{
        const struct cay_edit *first = edits->list, *end = first + edits->count;

        while (first < end) {
                const struct cay_edit *next = first + 1;

                while (next < end && next->a_at - (next[-1].a_at + next[-1].a_count) <= 2 * CONTEXT)
                        next++;
                put_hunk(p, a, b, first, next);
                first = next;
        }
}

static uint32_t count_lines(const struct blob *b)
{
        uint32_t lines = 0;

        for (const char *at = b->mem, *end = at + b->size; at < end; lines++) {
                const char *newline = memchr(at, '\n', (size_t)(end - at));

                at = newline != NULL ? newline + 1 : end;
        }
        return lines;
}

static void put_all_lines(const struct cay_patch *p, char mark, const struct blob *b)
{
        for (const char *at = b->mem, *end = at + b->size, *next; at < end; at = next) {
                const char *newline = memchr(at, '\n', (size_t)(end - at));

                next = newline != NULL ? newline + 1 : end;
                put_line(p, mark, at, (size_t)(next - at));
        }
}

/* Too many lines to compare: replaces all old lines by all new ones. */
static void put_replaced(const struct cay_patch *p, const struct blob *a, const struct blob *b,
                         struct cay_patch_lines *count)
{
        count->removed = count_lines(a);
        count->added = count_lines(b);
        if (p->out == NULL)
                return;
        put_head(p, 0, (uint32_t)count->removed, 0, (uint32_t)count->added);
        put_all_lines(p, '-', a);
        put_all_lines(p, '+', b);
}

/* Writes the hunks of a text (with p->out), or only counts their lines. */
static int compare(const struct cay_patch *p, const struct blob *a, const struct blob *b,
                   struct cay_patch_lines *count, struct cay_error *err)
{
        cay_auto(cay_text_done) struct cay_text old = { 0 }, new = { 0 };
        cay_auto(cay_edits_done) struct cay_edits edits = { 0 };
        int r = cay_text_init(&old, a->mem != NULL ? a->mem : "", a->size);

        if (r == 0)
                r = cay_text_init(&new, b->mem != NULL ? b->mem : "", b->size);
        if (r == -E2BIG) {
                put_replaced(p, a, b, count);
                return 0;
        }
        if (r == 0)
                r = cay_line_diff(&old, &new, &edits);
        if (r < 0)
                return no_memory(err);
        count->added = edits.added;
        count->removed = edits.removed;
        if (p->out != NULL)
                put_edits(p, &old, &new, &edits);
        return 0;
}

/* --- Blocks --- */

static unsigned git_mode(const struct blob *b)
{
        return b->type == CAY_CHANGE_SYMLINK ? 0120000 : 0100000 | b->mode;
}

static void put_name_line(const struct cay_patch *p, const char *mark, const char *prefix, const char *path)
{
        fputs(mark, p->out);
        cay_patch_print_name(p->out, prefix, path);
        /* Without a tab, `patch` would end the name at a blank. */
        fputs(strchr(path, ' ') != NULL ? "\t\n" : "\n", p->out);
}

static void put_header(const struct cay_patch *p, const char *path, const struct blob *a,
                       const struct blob *b)
{
        fputs("diff --git ", p->out);
        put_name_of_two(p, "a/", path);
        fputc(' ', p->out);
        put_name_of_two(p, "b/", path);
        fputc('\n', p->out);
        if (a->type == CAY_CHANGE_NONE)
                fprintf(p->out, "new file mode %06o\n", git_mode(b));
        else if (b->type == CAY_CHANGE_NONE)
                fprintf(p->out, "deleted file mode %06o\n", git_mode(a));
        else if (git_mode(a) != git_mode(b))
                fprintf(p->out, "old mode %06o\nnew mode %06o\n", git_mode(a), git_mode(b));
}

static void put_binary(const struct cay_patch *p, const char *path, const struct blob *a,
                       const struct blob *b)
{
        fputs("Binary files ", p->out);
        if (a->type == CAY_CHANGE_NONE)
                fputs("/dev/null", p->out);
        else
                cay_patch_print_name(p->out, "a/", path);
        fputs(" and ", p->out);
        if (b->type == CAY_CHANGE_NONE)
                fputs("/dev/null", p->out);
        else
                cay_patch_print_name(p->out, "b/", path);
        fputs(" differ\n", p->out);
}

/* One block of a patch: both sides are files or links, or one of them is nothing. */
static int put_block(const struct cay_patch *p, const char *path, const struct blob *a, const struct blob *b,
                     struct cay_error *err)
{
        struct cay_patch_lines count = { 0 };

        put_header(p, path, a, b);
        if (has_same_content(a, b) || (a->size == 0 && b->size == 0))
                return 0;
        if (a->is_binary || b->is_binary) {
                put_binary(p, path, a, b);
                return 0;
        }
        if (a->type == CAY_CHANGE_NONE)
                fputs("--- /dev/null\n", p->out);
        else
                put_name_line(p, "--- ", "a/", path);
        if (b->type == CAY_CHANGE_NONE)
                fputs("+++ /dev/null\n", p->out);
        else
                put_name_line(p, "+++ ", "b/", path);
        return compare(p, a, b, &count, err);
}

static int load(const struct cay_patch *p, const struct cay_change *c, struct blob *a, struct blob *b,
                struct cay_error *err)
{
        return load_old(p, c, a, err) < 0 || load_new(p, c, b, err) < 0 ? -1 : 0;
}

static int put_entry(const struct cay_patch *p, const struct cay_change *c, struct cay_error *err)
{
        cay_auto(blob_done) struct blob a = nothing, b = nothing;

        if (cay_check_is_applied(p->set, p->folder, c) > 0)
                return 0;
        if (load(p, c, &a, &b, err) < 0)
                return -1;
        if (a.type == b.type && is_in_patch(&a))
                return put_block(p, c->path, &a, &b, err);
        if (is_in_patch(&a) && put_block(p, c->path, &a, &nothing, err) < 0)
                return -1;
        return is_in_patch(&b) ? put_block(p, c->path, &nothing, &b, err) : 0;
}

/* The entry after i and all below it. */
static size_t end_of_tree(const struct cay_patch *p, size_t i)
{
        const char *dir = cay_change_set_at(p->set, i)->path;
        size_t end = i + 1;

        while (end < cay_change_set_count(p->set) &&
               cay_change_is_below(cay_change_set_at(p->set, end)->path, dir))
                end++;
        return end;
}

int cay_patch_print(const struct cay_patch *p, struct cay_error *err)
{
        for (size_t i = 0, end; i < cay_change_set_count(p->set); i = end) {
                const struct cay_change *c = cay_change_set_at(p->set, i);

                end = i + 1;
                /* The content of a directory is removed before something else gets its name. */
                if (c->base.type == CAY_CHANGE_DIRECTORY && c->type != CAY_CHANGE_DIRECTORY)
                        end = end_of_tree(p, i);
                for (size_t k = i + 1; k < end; k++) {
                        const struct cay_change *child = cay_change_set_at(p->set, k);

                        if (child->is_selected && put_entry(p, child, err) < 0)
                                return -1;
                }
                if (c->is_selected && put_entry(p, c, err) < 0)
                        return -1;
        }
        return 0;
}

int cay_patch_count(const struct cay_patch *p, const struct cay_change *c, struct cay_patch_lines *ret,
                    struct cay_error *err)
{
        const struct cay_patch silent = { .set = p->set, .folder = p->folder };
        cay_auto(blob_done) struct blob a = nothing, b = nothing;

        *ret = (struct cay_patch_lines){ .is_same = cay_check_is_applied(p->set, p->folder, c) > 0 };
        if (ret->is_same)
                return 0;
        if (load(p, c, &a, &b, err) < 0)
                return -1;
        ret->old_size = is_in_patch(&a) ? a.size : 0;
        ret->new_size = is_in_patch(&b) ? b.size : 0;
        ret->is_binary = a.is_binary || b.is_binary;
        if (ret->is_binary || (!is_in_patch(&a) && !is_in_patch(&b)))
                return 0;
        return compare(&silent, is_in_patch(&a) ? &a : &nothing, is_in_patch(&b) ? &b : &nothing, ret, err);
}
