/* SPDX-License-Identifier: Apache-2.0 */
/* TOML: heads of tables are found, everything else is skipped with its strings and comments. */
#include "cay/cli/config_edit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "foundation/base/utf8.h"

#define HEAD_MAX 256u

struct toml {
        const char *text;
        size_t len, at;
        unsigned brackets; /* of arrays and inline tables that are open */
        struct cay_error *err;
};

static int fail_at(struct toml *t, const char *what)
{
        unsigned line = 1;

        for (size_t i = 0; i < t->at && i < t->len; i++)
                line += t->text[i] == '\n';
        return cay_fail(t->err, CAY_INVALID, "line %u: %s", line, what);
}

static bool has(const struct toml *t, const char *word)
{
        return t->len - t->at >= strlen(word) && memcmp(t->text + t->at, word, strlen(word)) == 0;
}

static int skip_string(struct toml *t)
{
        char quote = t->text[t->at];
        const char three[] = { quote, quote, quote, '\0' };
        bool is_long = has(t, three);

        t->at += is_long ? 3 : 1;
        while (t->at < t->len) {
                if (quote == '"' && t->text[t->at] == '\\') {
                        t->at += 2;
                        continue;
                }
                if (is_long ? has(t, three) : t->text[t->at] == quote) {
                        t->at += is_long ? 3 : 1;
                        while (is_long && t->at < t->len &&
                               t->text[t->at] == quote) /* up to two more belong to it */
                                t->at++;
                        return 0;
                }
                if (!is_long && t->text[t->at] == '\n')
                        break;
                t->at++;
        }
        return fail_at(t, "a text without an end");
}

/* To the end of the line on which brackets are closed, and behind it. */
static int skip_line(struct toml *t)
{
        while (t->at < t->len) {
                char c = t->text[t->at];

                if (c == '"' || c == '\'') {
                        if (skip_string(t) < 0)
                                return -1;
                        continue;
                }
                if (c == '#')
                        while (t->at + 1 < t->len && t->text[t->at + 1] != '\n')
                                t->at++;
                t->brackets += c == '[' || c == '{';
                if (c == ']' || c == '}') {
                        if (t->brackets == 0)
                                return fail_at(t, "a bracket that was not opened");
                        t->brackets--;
                }
                t->at++;
                if (c == '\n' && t->brackets == 0)
                        return 0;
        }
        return t->brackets == 0 ? 0 : fail_at(t, "a bracket without an end");
}

/* The dotted name from here to a character of `ends`, without spaces and quotes: [a . "b"] is a.b. */
static void read_name(const struct toml *t, size_t at, const char *ends, char ret[HEAD_MAX])
{
        size_t n = 0;

        for (; at < t->len && !strchr(ends, t->text[at]) && t->text[at] != '\n' && t->text[at]; at++)
                if (!strchr(" \t\"'\r", t->text[at]) && n + 1 < HEAD_MAX)
                        ret[n++] = t->text[at];
        ret[n] = '\0';
}

struct place {
        size_t from, end; /* of our table, to the next head; end 0: it is not there */
};

/* Where the table [whole] is. Other ways to write the same entry are refused. */
static int find(struct toml *t, const char *group, const char *whole, struct place *ret)
{
        char table[HEAD_MAX] = "", name[HEAD_MAX];
        bool in_ours = false;

        while (t->at < t->len) {
                size_t from = t->at;
                size_t word = from + strspn(t->text + from, " \t");

                if (word < t->len && t->text[word] == '[') {
                        read_name(t, word + 1 + (t->text[word + 1] == '['), "]", table);
                        if (in_ours)
                                ret->end = from;
                        in_ours = strcmp(table, whole) == 0;
                        if (in_ours && ret->end)
                                return fail_at(t, "this table is there twice");
                        if (in_ours)
                                ret->from = from;
                } else if (word < t->len && !strchr("#\r\n", t->text[word])) {
                        char full[2 * HEAD_MAX + 1];

                        read_name(t, word, "=", name);
                        snprintf(full, sizeof(full), "%s%s%s", table, table[0] ? "." : "", name);
                        if (!in_ours &&
                            (strcmp(full, group) == 0 || strcmp(full, whole) == 0 ||
                             (strncmp(full, whole, strlen(whole)) == 0 && full[strlen(whole)] == '.' &&
                              strncmp(table, whole, strlen(whole)) != 0)))
                                return fail_at(
                                        t,
                                        "this entry is not written as a table of its own; change it by hand");
                }
                if (skip_line(t) < 0)
                        return -1;
        }
        if (in_ours)
                ret->end = t->len;
        return 0;
}

/* Lines compared without their ends and without empty ones. */
static bool is_same(const char *a, size_t a_len, const char *b)
{
        size_t k = 0, b_len = strlen(b);

        for (size_t i = 0; i < a_len; i++) {
                if (strchr("\r\n", a[i]))
                        continue;
                while (k < b_len && b[k] == '\n')
                        k++;
                if (k >= b_len || b[k++] != a[i])
                        return false;
        }
        while (k < b_len && b[k] == '\n')
                k++;
        return k == b_len;
}

static int put_table(struct cay_buf *out, const char *head, const char *body, const char *eol)
{
        int r = cay_buf_put(out, head, strlen(head));

        for (const char *at = body; r == 0 && *at; at++)
                r = *at == '\n' ? cay_buf_put(out, eol, strlen(eol)) : cay_buf_put(out, at, 1);
        return r;
}

int cay_config_edit_toml(const char *text, size_t len, const char *group, const char *name, const char *body,
                         struct cay_buf *out, struct cay_error *err)
{
        const char *line = memchr(text, '\n', len);
        const char *eol = line && line > text && line[-1] == '\r' ? "\r\n" : "\n";
        struct toml t = { .text = text, .len = len, .err = err };
        struct place p = { 0 };
        char whole[HEAD_MAX], head[HEAD_MAX + 8];
        enum cay_config_edit what = CAY_CONFIG_ADDED;
        int r;

        if (len > CAY_CONFIG_EDIT_MAX || memchr(text, '\0', len) || !cay_utf8_valid(text, len))
                return cay_fail(err, CAY_INVALID, "it is not text in UTF-8, or too long");
        snprintf(whole, sizeof(whole), "%s.%s", group, name);
        snprintf(head, sizeof(head), "[%s]%s", whole, eol);
        if (find(&t, group, whole, &p) < 0)
                return -1;
        if (p.end) {
                const char *first = memchr(text + p.from, '\n', p.end - p.from);
                size_t begin = first ? (size_t)(first - text) + 1 : p.end;

                if (is_same(text + begin, p.end - begin, body)) {
                        r = cay_buf_put(out, text, len);
                        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "write the new text")
                                     : CAY_CONFIG_SAME;
                }
                what = CAY_CONFIG_OTHER;
        }
        r = cay_buf_put(out, text, p.end ? p.from : len);
        if (r == 0 && !p.end && len > 0 && text[len - 1] != '\n')
                r = cay_buf_put(out, eol, strlen(eol));
        if (r == 0 && !p.end && len > 0)
                r = cay_buf_put(out, eol, strlen(eol));
        if (r == 0)
                r = put_table(out, head, body, eol);
        if (r == 0 && p.end && p.end < len)
                r = cay_buf_put(out, eol, strlen(eol));
        if (r == 0 && p.end)
                r = cay_buf_put(out, text + p.end, len - p.end);
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "write the new text") : (int)what;
}
