/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts below a mount. */
#include "foundation/sys/mounts_below.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/sys/fd.h"

#define TABLE_MAX (1024u * 1024) /* bytes of /proc/self/mountinfo */
#define ROWS_MAX 8192u           /* mounts of a namespace */

int sys_mount_id(int fd)
{
        static const char key[] = "\nmnt_id:";
        char path[64], text[512];
        const char *at;
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
        n = sys_read_file(AT_FDCWD, path, text, sizeof(text));
        if (n < 0)
                return (int)n;
        at = strstr(text, key);
        return at ? (int)strtol(at + sizeof(key) - 1, NULL, 10) : -ENODATA;
}

struct row {
        int id, parent;
        char *point; /* borrowed from the table's text */
        bool is_below;
};

struct table {
        char *text;       /* owned */
        struct row *rows; /* owned */
        size_t count;
};

static void table_done(struct table *t)
{
        free(t->text);
        free(t->rows);
}

/* Blanks and the like are written as backslash and three octal digits. */
static void unescape(char *s)
{
        char *to = s;

        while (*s) {
                if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' &&
                    s[3] <= '7') {
                        *to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
                        s += 4;
                } else {
                        *to++ = *s++;
                }
        }
        *to = 0;
}

/* "36 35 98:0 /root /point options…" */
static int row_parse(char *line, struct row *row)
{
        char *field[5];
        char *at = line;

        for (size_t i = 0; i < CAY_COUNT(field); i++) {
                field[i] = at;
                at = strchr(at, ' ');
                if (!at)
                        return -EPROTO;
                *at++ = 0;
        }
        unescape(field[4]);
        *row = (struct row){
                .id = (int)strtol(field[0], NULL, 10),
                .parent = (int)strtol(field[1], NULL, 10),
                .point = field[4],
        };
        return 0;
}

static int table_read(struct table *t)
{
        ssize_t n;

        t->text = malloc(TABLE_MAX);
        t->rows = malloc(ROWS_MAX * sizeof(*t->rows));
        if (!t->text || !t->rows)
                return -ENOMEM;
        n = sys_read_file(AT_FDCWD, "/proc/self/mountinfo", t->text, TABLE_MAX);
        if (n < 0)
                return (int)n;
        if ((size_t)n == TABLE_MAX - 1)
                return -E2BIG;
        for (char *line = t->text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
                int r;

                *end = 0;
                if (t->count == ROWS_MAX)
                        return -E2BIG;
                r = row_parse(line, &t->rows[t->count++]);
                if (r < 0)
                        return r;
        }
        return 0;
}

static const struct row *row_find(const struct table *t, int id)
{
        for (size_t i = 0; i < t->count; i++)
                if (t->rows[i].id == id)
                        return &t->rows[i];
        return NULL;
}

/* Marks everything mounted below mount number `root`, at any depth. */
static void mark_below(struct table *t, int root)
{
        for (bool more = true; more;) {
                more = false;
                for (size_t i = 0; i < t->count; i++) {
                        struct row *row = &t->rows[i];
                        const struct row *parent = row->is_below ? NULL : row_find(t, row->parent);

                        if (row->is_below || row->id == row->parent)
                                continue;
                        if (row->parent == root || (parent && parent->is_below))
                                row->is_below = more = true;
                }
        }
}

static bool is_ancestor(const struct table *t, const struct row *a, const struct row *row)
{
        for (size_t steps = 0; row && steps <= t->count; steps++) {
                if (row == a)
                        return true;
                row = row->id == row->parent ? NULL : row_find(t, row->parent);
        }
        return false;
}

static bool is_prefix(const char *dir, const char *path)
{
        size_t len = strlen(dir);

        if (len > 0 && dir[len - 1] == '/')
                len--;
        return strncmp(dir, path, len) == 0 && (path[len] == '/' || path[len] == 0);
}

/* Something else is mounted over it or over a parent directory: it is unreachable until that is unmounted. */
static bool is_covered(const struct table *t, const struct row *row)
{
        for (size_t i = 0; i < t->count; i++) {
                const struct row *other = &t->rows[i];

                if (is_prefix(other->point, row->point) && !is_ancestor(t, other, row))
                        return true;
        }
        return false;
}

static int each_row(const struct table *t, const struct row *row, int (*each)(int fd, void *ctx), void *ctx)
{
        cay_auto_close int fd = sys_open_at(AT_FDCWD, row->point, O_PATH | O_NOFOLLOW, 0);

        if (fd >= 0 && sys_mount_id(fd) == row->id)
                return each(fd, ctx);
        return is_covered(t, row) ? 0 : -EAGAIN;
}

int sys_mounts_below(int root_fd, int (*each)(int fd, void *ctx), void *ctx)
{
        cay_auto(table_done) struct table t = { 0 };
        int id = sys_mount_id(root_fd), r;

        if (id < 0)
                return id;
        r = table_read(&t);
        if (r < 0)
                return r;
        mark_below(&t, id);
        for (size_t i = 0; i < t.count; i++) {
                if (!t.rows[i].is_below)
                        continue;
                r = each_row(&t, &t.rows[i], each, ctx);
                if (r < 0)
                        return r;
        }
        return 0;
}
