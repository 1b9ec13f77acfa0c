/* SPDX-License-Identifier: Apache-2.0 */
/* Prints cells, tables, records. */
#include "cay/cli/table.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "foundation/base/arena.h"
#include "foundation/base/buf.h"
#include "foundation/base/clock.h"
#include "cay/cli/safe.h"
#include "cay/cli/tty.h"

#define COLUMNS_MAX 32u
#define TABLE_MAX (64u * 1024 * 1024)
#define TEXT_MAX 256u /* of one value, before it is escaped */

const char *cay_bytes_text(uint64_t bytes, char *ret, size_t size)
{
        static const char units[] = "BKMGT";
        double n = (double)bytes;
        unsigned unit = 0;

        for (; n >= 1000 && unit < sizeof(units) - 2; unit++)
                n /= 1024;
        snprintf(ret, size, unit == 0 || n >= 10 || n == (double)(unsigned)n ? "%.0f%c" : "%.1f%c", n,
                 units[unit]);
        return ret;
}

const char *cay_ms_text(uint64_t ms, char *ret, size_t size)
{
        if (ms < 1000)
                snprintf(ret, size, "%" PRIu64 "ms", ms);
        else if (ms < 10000)
                snprintf(ret, size, "%.1fs", (double)ms / 1000);
        else if (ms < 120000)
                snprintf(ret, size, "%" PRIu64 "s", ms / 1000);
        else if (ms < 7200000)
                snprintf(ret, size, "%" PRIu64 "m", ms / 60000);
        else if (ms < 172800000)
                snprintf(ret, size, "%" PRIu64 "h", ms / 3600000);
        else
                snprintf(ret, size, "%" PRIu64 "d", ms / 86400000);
        return ret;
}

/* "2026-11-16T03:44:02.123Z" in milliseconds since 1970; false: invalid. */
static bool read_time(struct cay_json_view v, uint64_t *ret_ms)
{
        char text[40];
        struct tm tm = { 0 };
        unsigned ms = 0;
        char *rest;
        time_t seconds;

        cay_json_view_copy(v, text, sizeof(text));
        rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
        if (rest == NULL)
                return false;
        if (rest[0] == '.')
                ms = (unsigned)strtoul(rest + 1, NULL, 10) % 1000;
        seconds = timegm(&tm);
        *ret_ms = (uint64_t)seconds * 1000 + ms;
        return seconds >= 0;
}

static void format_time(struct cay_json_view v, enum cay_cell kind, char *ret)
{
        uint64_t ms, now_ms = cay_clock_wall_ms();
        time_t seconds;
        struct tm tm;

        if (!read_time(v, &ms))
                return;
        seconds = (time_t)(ms / 1000);
        if (kind == CAY_CELL_AGE)
                cay_ms_text(now_ms > ms ? now_ms - ms : 0, ret, CAY_CELL_MAX);
        else if (localtime_r(&seconds, &tm) != NULL)
                strftime(ret, CAY_CELL_MAX, "%Y-%m-%d %H:%M:%S", &tm);
}

static void format_number(struct cay_json_view v, enum cay_cell kind, char *ret)
{
        uint64_t n;

        if (!cay_json_view_u64(v, &n) || ((kind == CAY_CELL_LIMIT_MS || kind == CAY_CELL_SIZE) && n == 0))
                return;
        if (kind == CAY_CELL_BYTES || kind == CAY_CELL_SIZE)
                cay_bytes_text(n, ret, CAY_CELL_MAX);
        else if (kind == CAY_CELL_MILLI)
                snprintf(ret, CAY_CELL_MAX, "%g", (double)n / 1000);
        else
                cay_ms_text(kind == CAY_CELL_US ? n / 1000 : n, ret, CAY_CELL_MAX);
}

static void format_text(struct cay_json_view v, char *ret)
{
        char text[TEXT_MAX];

        if (cay_json_view_is_text(v))
                cay_json_view_copy(v, text, sizeof(text));
        else
                snprintf(text, sizeof(text), "%.*s", (int)(v.len < TEXT_MAX ? v.len : TEXT_MAX - 1), v.at);
        cay_safe_copy(text, ret, CAY_CELL_MAX);
}

/* Appends, cut where the cell is full. */
static void append(char *cell, const char *text)
{
        size_t at = strlen(cell), len = strlen(text), room = CAY_CELL_MAX - 1 - at;

        if (len > room)
                len = room;
        memcpy(cell + at, text, len);
        cell[at + len] = '\0';
}

static void format_port(struct cay_json_view port, char *ret)
{
        char inside[CAY_CELL_MAX], host[CAY_CELL_MAX];

        format_text(cay_json_view_find(port, "inside"), inside);
        if (!cay_json_view_is_null(cay_json_view_find(port, "host"))) {
                format_text(cay_json_view_find(port, "host"), host);
                append(ret, host);
                append(ret, "->");
        }
        append(ret, inside);
}

static void format_volume(struct cay_json_view volume, char *ret)
{
        char text[CAY_CELL_MAX];

        format_text(cay_json_view_find(volume, "name"), text);
        append(ret, text);
        append(ret, ":");
        format_text(cay_json_view_find(volume, "at"), text);
        append(ret, text);
        append(ret, cay_json_view_is_true(cay_json_view_find(volume, "read_only")) ? ":ro" : "");
}

/* Items separated by blanks, members as name=value. */
static void format_items(struct cay_json_view v, enum cay_cell kind, char *ret)
{
        struct cay_json_walk w = cay_json_view_walk(v);
        struct cay_json_view key, value;

        while (strlen(ret) < CAY_CELL_MAX - 1 && cay_json_view_next(&w, &key, &value)) {
                char text[CAY_CELL_MAX];

                if (ret[0] != '\0')
                        append(ret, " ");
                if (kind == CAY_CELL_PORTS || kind == CAY_CELL_VOLUMES) {
                        (kind == CAY_CELL_PORTS ? format_port : format_volume)(value, ret);
                        continue;
                }
                if (w.is_object) {
                        format_text(key, text);
                        append(ret, text);
                        append(ret, "=");
                }
                format_text(value, text);
                append(ret, kind == CAY_CELL_QUOTED ? "\"" : "");
                append(ret, text);
                append(ret, kind == CAY_CELL_QUOTED ? "\"" : "");
        }
}

const char *cay_cell_format(struct cay_json_view value, enum cay_cell kind, char ret[CAY_CELL_MAX])
{
        ret[0] = '\0';
        if (!cay_json_view_is_null(value)) {
                switch (kind) {
                case CAY_CELL_BYTES:
                case CAY_CELL_SIZE:
                case CAY_CELL_MILLI:
                case CAY_CELL_MS:
                case CAY_CELL_LIMIT_MS:
                case CAY_CELL_US:
                        format_number(value, kind, ret);
                        break;
                case CAY_CELL_AGE:
                case CAY_CELL_WHEN:
                        format_time(value, kind, ret);
                        break;
                case CAY_CELL_BOOL:
                        snprintf(ret, CAY_CELL_MAX, "%s", cay_json_view_is_true(value) ? "yes" : "no");
                        break;
                case CAY_CELL_COMMAND:
                case CAY_CELL_PAIRS:
                case CAY_CELL_LIST:
                case CAY_CELL_QUOTED:
                case CAY_CELL_PORTS:
                case CAY_CELL_VOLUMES:
                        if (!cay_json_view_is_text(value)) {
                                format_items(value, kind, ret);
                                break;
                        }
                        /* fall through */
                default:
                        format_text(value, ret);
                }
        }
        if (ret[0] == '\0')
                snprintf(ret, CAY_CELL_MAX, "-");
        return ret;
}

static const char *colour(const char *status)
{
        static const struct {
                const char *word, *colour;
        } rows[] = {
                { "ready", "\033[32m" },  { "running", "\033[32m" },  { "starting", "\033[36m" },
                { "paused", "\033[33m" }, { "stopping", "\033[33m" }, { "failed", "\033[31m" },
                { "error", "\033[31m" },  { "lost", "\033[31m" },     { "stopped", "\033[2m" },
                { "ended", "\033[2m" },   { "built", "\033[32m" },    { "building", "\033[36m" },
                { "stale", "\033[33m" },  { "none", "\033[2m" },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                if (strcmp(rows[i].word, status) == 0)
                        return rows[i].colour;
        return "";
}

static struct cay_json_view find(struct cay_json_view v, const char *path)
{
        return path[0] == '\0' ? v : cay_json_view_find(v, path);
}

/* One cell, padded to its column's width unless it is the last. */
static void put_cell(FILE *out, const char *text, enum cay_cell kind, size_t width, bool is_last,
                     bool colours)
{
        const char *start = colours && kind == CAY_CELL_STATUS ? colour(text) : "";
        size_t fill = is_last ? 0 : width - cay_safe_width(text) + 2;

        fprintf(out, "%s%s%s%*s", start, text, start[0] != '\0' ? "\033[0m" : "", (int)fill, "");
}

static unsigned count_columns(const struct cay_column *columns)
{
        unsigned n = 0;

        while (n < COLUMNS_MAX && columns[n].head[0] != '\0')
                n++;
        return n;
}

/* A table in memory, before its widths are known. */
struct table {
        struct cay_arena mem; /* of the cells */
        const struct cay_column *columns;
        unsigned count;
        size_t rows, widths[COLUMNS_MAX];
        bool is_out[COLUMNS_MAX];
        char **cells;
};

static int fill(struct table *t, struct cay_json_view array, struct cay_error *err)
{
        struct cay_json_walk w = cay_json_view_walk(array);
        struct cay_json_view item;

        t->cells = cay_arena_array(&t->mem, t->rows * t->count, sizeof(*t->cells));
        for (size_t i = 0; t->cells != NULL && cay_json_view_next(&w, NULL, &item); i++) {
                for (unsigned c = 0; c < t->count; c++) {
                        char text[CAY_CELL_MAX], *copy;

                        cay_cell_format(find(item, t->columns[c].path), t->columns[c].kind, text);
                        copy = cay_arena_copy(&t->mem, text, strlen(text));
                        if (copy == NULL)
                                return cay_fail(err, CAY_LIMIT,
                                                "the table is too large: --json has no limit");
                        t->cells[i * t->count + c] = copy;
                        if (cay_safe_width(copy) > t->widths[c])
                                t->widths[c] = cay_safe_width(copy);
                        if (strcmp(copy, "-") != 0)
                                t->is_out[c] = false;
                }
        }
        return t->cells != NULL ? 0 : cay_fail(err, CAY_LIMIT, "the table is too large: --json has no limit");
}

/* All but the last column, which may be cut. */
static size_t width_of(const struct table *t)
{
        size_t width = strlen(t->columns[t->count - 1].head);

        for (unsigned c = 0; c + 1 < t->count; c++)
                width += t->is_out[c] ? 0 : t->widths[c] + 2;
        return width;
}

static void fit(struct table *t, size_t cols)
{
        for (unsigned c = t->count - 1; c-- > 0 && width_of(t) > cols;)
                t->is_out[c] = t->is_out[c] || t->columns[c].may_go;
}

/* The first characters of an escaped text; the last one is "…" if it is cut. */
static void put_cut(FILE *out, const char *text, size_t chars)
{
        const char *at = text;

        if (cay_safe_width(text) <= chars || chars == 0) {
                fputs(text, out);
                return;
        }
        for (size_t n = 0; *at != '\0'; at++)
                if (((unsigned char)*at & 0xc0) != 0x80 && n++ == chars - 1)
                        break;
        fprintf(out, "%.*s…", (int)(at - text), text);
}

static void print_line(const struct table *t, FILE *out, char *const *cells, size_t cols, bool colours)
{
        size_t used = 0;

        for (unsigned c = 0; c < t->count; c++) {
                const char *text = cells != NULL ? cells[c] : t->columns[c].head;

                if (t->is_out[c])
                        continue;
                if (c + 1 < t->count || cols == 0 ||
                    t->columns[c].kind == CAY_CELL_PAIRS) /* details are shown all or not at all */
                        put_cell(out, text, cells != NULL ? t->columns[c].kind : CAY_CELL_TEXT, t->widths[c],
                                 c + 1 == t->count, colours);
                else
                        put_cut(out, text, cols > used ? cols - used : 0);
                used += t->widths[c] + 2;
        }
        putc('\n', out);
}

int cay_table_print(FILE *out, struct cay_json_view array, const struct cay_column *columns,
                    struct cay_error *err)
{
        struct table t = { .columns = columns, .count = count_columns(columns) };
        struct cay_json_walk w = cay_json_view_walk(array);
        struct cay_json_view item;
        unsigned lines, cols = 0;
        int r;

        while (cay_json_view_next(&w, NULL, &item))
                t.rows++;
        if (t.rows == 0)
                return 0;
        cay_arena_init(&t.mem, TABLE_MAX);
        for (unsigned c = 0; c < t.count; c++)
                t.widths[c] = strlen(columns[c].head);
        for (unsigned c = 0; c < t.count; c++)
                t.is_out[c] = columns[c].if_any; /* until one is found */
        r = fill(&t, array, err);
        if (r == 0) {
                if (cay_tty_size(fileno(out), &lines, &cols))
                        fit(&t, cols);
                print_line(&t, out, NULL, cols, false);
                for (size_t i = 0; i < t.rows; i++)
                        print_line(&t, out, &t.cells[i * t.count], cols, cay_safe_has_colours(out));
        }
        cay_arena_done(&t.mem);
        return r;
}

/* On a terminal its control sequences are shown, not sent. */
static void put_whole(FILE *out, struct cay_json_view v)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_safe_tail tail = { 0 };
        const char *at;

        cay_buf_init(&text, TABLE_MAX);
        if ((cay_json_view_is_text(v) ? cay_json_view_text(v, &text) : cay_buf_put(&text, v.at, v.len)) < 0)
                return;
        if (text.len > 0 && cay_buf_data(&text)[text.len - 1] != '\n')
                cay_buf_putc(&text, '\n');
        at = cay_buf_data(&text);
        if (!isatty(fileno(out))) {
                fwrite(at, 1, text.len, out);
                return;
        }
        for (size_t left = text.len; left > 0;) {
                char shown[CAY_SAFE_SHOWN];
                size_t n = left < CAY_SAFE_PIECE ? left : CAY_SAFE_PIECE;

                fwrite(shown, 1, cay_safe_next(&tail, at, n, shown), out);
                at += n;
                left -= n;
        }
}

void cay_record_print(FILE *out, struct cay_json_view object, const struct cay_column *columns)
{
        bool colours = cay_safe_has_colours(out);
        unsigned count = count_columns(columns);
        size_t width = 0;

        for (unsigned c = 0; c < count; c++)
                if (strlen(columns[c].head) > width)
                        width = strlen(columns[c].head);
        for (unsigned c = 0; c < count; c++) {
                char text[CAY_CELL_MAX];

                if (columns[c].kind == CAY_CELL_WHOLE) {
                        put_whole(out, find(object, columns[c].path));
                        continue;
                }
                cay_cell_format(find(object, columns[c].path), columns[c].kind, text);
                if (strcmp(text, "-") == 0)
                        continue;
                fprintf(out, "%-*s  ", (int)width, columns[c].head);
                put_cell(out, text, columns[c].kind, 0, true, colours);
                putc('\n', out);
        }
}
