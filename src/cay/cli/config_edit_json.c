/* SPDX-License-Identifier: Apache-2.0 */
/* JSON with comments: walked once and checked, then edited by pieces of the text. */
#include "cay/cli/config_edit.h"

#include <errno.h>
#include <string.h>

#include "foundation/base/utf8.h"

#define DEPTH_MAX 64u

struct scan {
        const char *text;
        size_t len, at;
        unsigned depth;
        struct cay_error *err;
};

struct object {                 /* what is needed to add to it; places in the text */
        size_t open, close;     /* its braces */
        size_t first, last_end; /* its first member's name, its last value's end; 0: it has none */
        size_t content_end;     /* behind the last value, comma or comment */
        bool ends_with_comma;
        size_t value, value_end; /* of the member that was looked for; 0: it is not there */
};

static int fail_at(struct scan *s, const char *what)
{
        unsigned line = 1;

        for (size_t i = 0; i < s->at && i < s->len; i++)
                line += s->text[i] == '\n';
        return cay_fail(s->err, CAY_INVALID, "line %u: %s", line, what);
}

static int skip_comment(struct scan *s)
{
        const char *from = s->text + s->at;
        size_t left = s->len - s->at;
        const char *end;

        if (left >= 2 && from[1] == '/') {
                end = memchr(from, '\n', left);
                s->at = end ? (size_t)(end - s->text) : s->len;
                s->at -= end && end[-1] == '\r'; /* which belongs to the line's end */
                return 0;
        }
        end = left >= 4 && from[1] == '*' ? memmem(from + 2, left - 2, "*/", 2) : NULL;
        if (!end)
                return fail_at(s, "a '/' that begins no comment, or one without an end");
        s->at = (size_t)(end - s->text) + 2;
        return 0;
}

/* *ret_end: behind the last comment, if there is one. */
static int skip_space(struct scan *s, size_t *ret_end)
{
        for (; s->at < s->len; s->at++) {
                char c = s->text[s->at];

                while (c == '/') {
                        if (skip_comment(s) < 0)
                                return -1;
                        if (ret_end)
                                *ret_end = s->at;
                        c = s->at < s->len ? s->text[s->at] : '\0';
                }
                if (s->at >= s->len || !memchr(" \t\r\n", c, 4))
                        break;
        }
        return 0;
}

static char peek(const struct scan *s)
{
        return s->at < s->len ? s->text[s->at] : '\0';
}

static int skip_string(struct scan *s)
{
        for (s->at++; s->at < s->len; s->at++) {
                unsigned char c = (unsigned char)s->text[s->at];

                if (c == '"') {
                        s->at++;
                        return 0;
                }
                if (c < 0x20)
                        return fail_at(s, "a text without an end");
                if (c == '\\' && ++s->at < s->len && !strchr("\"\\/bfnrtu", s->text[s->at]))
                        return fail_at(s, "a backslash before a character that needs none");
        }
        return fail_at(s, "a text without an end");
}

static int skip_word(struct scan *s)
{
        static const char *const words[] = { "true", "false", "null" };
        const char *from = s->text + s->at;
        size_t n = strspn(from, "0123456789+-.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

        for (unsigned i = 0; i < CAY_COUNT(words); i++)
                if (n == strlen(words[i]) && memcmp(from, words[i], n) == 0) {
                        s->at += n;
                        return 0;
                }
        if (n == 0 || !strchr("-0123456789", from[0]) || strspn(from, "0123456789+-.eE") < n)
                return fail_at(s, "here a value is expected");
        s->at += n;
        return 0;
}

static int skip_value(struct scan *s);

static bool is_name(const struct scan *s, size_t from, size_t end, const char *name)
{
        return name && end - from == strlen(name) + 2 && memcmp(s->text + from + 1, name, strlen(name)) == 0;
}

/* One member; *ret says what was found. */
static int read_member(struct scan *s, const char *name, struct object *ret)
{
        size_t from = s->at, end;

        if (peek(s) != '"')
                return fail_at(s, "here the name of a member is expected");
        if (skip_string(s) < 0)
                return -1;
        end = s->at;
        if (skip_space(s, NULL) < 0)
                return -1;
        if (peek(s) != ':')
                return fail_at(s, "here a ':' is expected");
        s->at++;
        if (skip_space(s, NULL) < 0)
                return -1;
        if (is_name(s, from, end, name)) {
                if (ret->value)
                        return fail_at(s, "a member of this name is there twice");
                ret->value = s->at;
        }
        if (skip_value(s) < 0)
                return -1;
        if (is_name(s, from, end, name))
                ret->value_end = s->at;
        if (!ret->first)
                ret->first = from;
        ret->last_end = ret->content_end = s->at;
        ret->ends_with_comma = false;
        return 0;
}

/* An object, at its brace; name: the member to look for, or NULL. */
static int read_object(struct scan *s, const char *name, struct object *ret)
{
        *ret = (struct object){ .open = s->at, .content_end = s->at + 1 };
        if (++s->depth > DEPTH_MAX)
                return fail_at(s, "nested too deeply");
        s->at++;
        for (;;) {
                if (skip_space(s, &ret->content_end) < 0)
                        return -1;
                if (peek(s) == '}')
                        break;
                if (ret->last_end && !ret->ends_with_comma)
                        return fail_at(s, "here a ',' or '}' is expected");
                if (read_member(s, name, ret) < 0 || skip_space(s, &ret->content_end) < 0)
                        return -1;
                if (peek(s) == ',') {
                        s->at++;
                        ret->ends_with_comma = true;
                        ret->content_end = s->at;
                }
        }
        ret->close = s->at++;
        s->depth--;
        return 0;
}

static int skip_array(struct scan *s)
{
        bool wants_comma = false;

        if (++s->depth > DEPTH_MAX)
                return fail_at(s, "nested too deeply");
        s->at++;
        for (;;) {
                if (skip_space(s, NULL) < 0)
                        return -1;
                if (peek(s) == ']')
                        break;
                if (wants_comma)
                        return fail_at(s, "here a ',' or ']' is expected");
                if (skip_value(s) < 0 || skip_space(s, NULL) < 0)
                        return -1;
                wants_comma = peek(s) != ',';
                s->at += !wants_comma;
        }
        s->at++;
        s->depth--;
        return 0;
}

static int skip_value(struct scan *s)
{
        struct object ignored;

        switch (peek(s)) {
        case '{':
                return read_object(s, NULL, &ignored);
        case '[':
                return skip_array(s);
        case '"':
                return skip_string(s);
        default:
                return skip_word(s);
        }
}

/* Output, piece by piece; failure is told by the last call. */
struct edit {
        struct scan *s;
        struct cay_buf *out;
        int status;
        const char *eol;
};

static void put(struct edit *e, const char *text, size_t len)
{
        if (e->status == 0)
                e->status = cay_buf_put(e->out, text, len);
}

static void put_text(struct edit *e, const char *text)
{
        put(e, text, strlen(text));
}

static void put_range(struct edit *e, size_t from, size_t end)
{
        put(e, e->s->text + from, end - from);
}

/* The white space before a place, if it begins its line. */
static size_t indent_at(const struct scan *s, size_t at, const char **ret)
{
        size_t from = at;

        while (from > 0 && (s->text[from - 1] == ' ' || s->text[from - 1] == '\t'))
                from--;
        *ret = s->text + from;
        return from == 0 || s->text[from - 1] == '\n' ? at - from : (size_t)-1;
}

/* The indentation of the line that a place is on. */
static size_t line_indent(const struct scan *s, size_t at, const char **ret)
{
        while (at > 0 && s->text[at - 1] != '\n')
                at--;
        *ret = s->text + at;
        return at < s->len ? strspn(*ret, " \t") : 0;
}

static void put_member(struct edit *e, const char *group, const char *name, const char *value)
{
        if (group) {
                put_text(e, "\"");
                put_text(e, group);
                put_text(e, "\": { ");
        }
        put_text(e, "\"");
        put_text(e, name);
        put_text(e, "\": ");
        put_text(e, value);
        put_text(e, group ? " }" : "");
}

/* A new line with the member, indented as the others. */
static void add_member(struct edit *e, const struct object *o, const char *group, const char *name,
                       const char *value)
{
        const char *indent = "", *outer = "";
        size_t outer_len = line_indent(e->s, o->open, &outer);
        size_t indent_len = o->first ? indent_at(e->s, o->first, &indent) : (size_t)-1;
        bool is_one_line = !memchr(e->s->text + o->open, '\n', o->close - o->open) && o->first;

        put_range(e, 0, o->first ? o->last_end : o->content_end);
        if (o->first && !o->ends_with_comma)
                put_text(e, ",");
        if (o->first)
                put_range(e, o->last_end, o->content_end);
        if (is_one_line) {
                put_text(e, " ");
        } else {
                put_text(e, e->eol);
                if (indent_len != (size_t)-1) {
                        put(e, indent, indent_len);
                } else {
                        put(e, outer, outer_len);
                        put_text(e, "  ");
                }
        }
        put_member(e, group, name, value);
        if (!is_one_line && !memchr(e->s->text + o->content_end, '\n', o->close - o->content_end)) {
                put_text(e, e->eol);
                put(e, outer, outer_len);
                put_range(e, o->close, e->s->len);
        } else {
                put_range(e, o->content_end, e->s->len);
        }
}

static bool is_blank(const char *text, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (!memchr(" \t\r\n", text[i], 4))
                        return false;
        return true;
}

/* The same value, whatever the white space between its parts. */
static bool is_same(const char *a, size_t a_len, const char *b, size_t b_len)
{
        size_t i = 0, k = 0;
        bool in_text = false;

        for (;;) {
                while (!in_text && i < a_len && memchr(" \t\r\n", a[i], 4))
                        i++;
                while (!in_text && k < b_len && memchr(" \t\r\n", b[k], 4))
                        k++;
                if (i >= a_len || k >= b_len)
                        return i >= a_len && k >= b_len;
                if (a[i] != b[k])
                        return false;
                if (in_text && a[i] == '\\' && i + 1 < a_len && k + 1 < b_len) {
                        if (a[++i] != b[++k])
                                return false;
                } else if (a[i] == '"') {
                        in_text = !in_text;
                }
                i++, k++;
        }
}

static int end_edit(struct edit *e, enum cay_config_edit what)
{
        if (e->status < 0)
                return cay_fail_sys(e->s->err, CAY_INTERNAL, e->status, "write the new text");
        return what;
}

static int edit_group(struct edit *e, const struct object *root, const char *group, const char *name,
                      const char *value)
{
        struct scan inner = { .text = e->s->text, .len = e->s->len, .at = root->value, .err = e->s->err };
        struct object o;

        if (peek(&inner) != '{')
                return cay_fail(e->s->err, CAY_INVALID, "'%s' is not an object", group);
        if (read_object(&inner, name, &o) < 0)
                return -1;
        if (!o.value) {
                add_member(e, &o, NULL, name, value);
                return end_edit(e, CAY_CONFIG_ADDED);
        }
        if (is_same(e->s->text + o.value, o.value_end - o.value, value, strlen(value))) {
                put_range(e, 0, e->s->len);
                return end_edit(e, CAY_CONFIG_SAME);
        }
        put_range(e, 0, o.value);
        put_text(e, value);
        put_range(e, o.value_end, e->s->len);
        return end_edit(e, CAY_CONFIG_OTHER);
}

int cay_config_edit_json(const char *text, size_t len, const char *group, const char *name, const char *value,
                         struct cay_buf *out, struct cay_error *err)
{
        size_t mark = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        const char *line = memchr(text, '\n', len);
        struct scan s = { .text = text, .len = len, .at = mark, .err = err };
        struct edit e = { .s = &s,
                          .out = out,
                          .eol = line && line > text && line[-1] == '\r' ? "\r\n" : "\n" };
        struct object root;

        if (len > CAY_CONFIG_EDIT_MAX || memchr(text, '\0', len) || !cay_utf8_valid(text, len))
                return cay_fail(err, CAY_INVALID, "it is not text in UTF-8, or too long");
        if (is_blank(text + mark, len - mark)) {
                put_range(&e, 0, mark);
                put_text(&e, "{\n  ");
                put_member(&e, group, name, value);
                put_text(&e, "\n}\n");
                return end_edit(&e, CAY_CONFIG_ADDED);
        }
        if (skip_space(&s, NULL) < 0)
                return -1;
        if (peek(&s) != '{')
                return fail_at(&s, "it does not begin with '{'");
        if (read_object(&s, group, &root) < 0 || skip_space(&s, NULL) < 0)
                return -1;
        if (s.at < s.len)
                return fail_at(&s, "there is something behind the last '}'");
        if (root.value)
                return edit_group(&e, &root, group, name, value);
        add_member(&e, &root, group, name, value);
        return end_edit(&e, CAY_CONFIG_ADDED);
}
