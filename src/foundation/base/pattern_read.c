/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns read: regular expressions and globs into programs. */
#include <stdlib.h>
#include <string.h>

#include "foundation/base/buf.h"
#include "foundation/base/cleanup.h"
#include "foundation/base/pattern_code.h"

#define REPEAT_MAX 1000u
#define NO_MAX UINT32_MAX

struct reader {
        struct cay_pattern *p;
        const char *at, *end, *start;
        unsigned depth;
        struct cay_error *err;
};

static int refuse(struct reader *r, const char *why)
{
        return cay_fail(r->err, CAY_INVALID, "%s (at character %u)", why, (unsigned)(r->at - r->start) + 1);
}

static int emit(struct reader *r, unsigned op, unsigned c, int to, int or)
{
        struct cay_pattern *p = r->p;

        if (p->count >= CAY_PATTERN_CODE_MAX - 1)
                return refuse(r, "the pattern is too large: repeat less, or write it shorter");
        p->code[p->count++] = (struct cay_pattern_step){ (uint8_t)op, (uint8_t)c, (int16_t)to, (int16_t) or };
        return 0;
}

/* One step before those from `at` on, which move. */
static int insert(struct reader *r, unsigned at, unsigned op, int to, int or)
{
        struct cay_pattern *p = r->p;
        struct cay_pattern_step step;

        if (emit(r, op, 0, to, or) < 0)
                return -1;
        step = p->code[p->count - 1];
        memmove(&p->code[at + 1], &p->code[at], (p->count - 1 - at) * sizeof(p->code[0]));
        p->code[at] = step;
        return 0;
}

static int copy(struct reader *r, const struct cay_pattern_step *block, unsigned len)
{
        struct cay_pattern *p = r->p;

        if (len > CAY_PATTERN_CODE_MAX - 1 - p->count)
                return refuse(r, "the pattern is too large: repeat less, or write it shorter");
        memcpy(&p->code[p->count], block, len * sizeof(block[0]));
        p->count += len;
        return 0;
}

/* Classes */

static void add(uint8_t *set, unsigned from, unsigned to)
{
        for (unsigned c = from; c <= to; c++)
                set[c >> 3] |= (uint8_t)(1u << (c & 7));
}

static void add_folded(uint8_t *set, unsigned from, unsigned to, bool no_case)
{
        add(set, from, to);
        for (unsigned c = from; no_case && c <= to; c++)
                if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
                        add(set, c ^ 0x20, c ^ 0x20);
}

/* \d, \w, \s and their opposites, which are of ASCII alone; false: it is none. */
static bool add_named(uint8_t *set, char name)
{
        uint8_t named[32] = { 0 };

        switch (name | 0x20) {
        case 'd':
                add(named, '0', '9');
                break;
        case 'w':
                add(named, '0', '9');
                add(named, 'a', 'z');
                add(named, 'A', 'Z');
                add(named, '_', '_');
                break;
        case 's':
                add(named, '\t', '\r');
                add(named, ' ', ' ');
                break;
        default:
                return false;
        }
        for (unsigned i = 0; i < sizeof(named); i++)
                set[i] |= name & 0x20 ? named[i] : (uint8_t)(i < 16 ? ~named[i] : 0);
        return true;
}

static int class_new(struct reader *r)
{
        struct cay_pattern *p = r->p;

        if (p->class_count >= CAY_PATTERN_CLASSES_MAX)
                return refuse(r, "the pattern has too many classes");
        memset(p->classes[p->class_count], 0, sizeof(p->classes[0]));
        return (int)p->class_count++;
}

/* The bytes behind a character's first: none or more of them. */
static int emit_rest(struct reader *r)
{
        int n = class_new(r);

        if (n < 0)
                return -1;
        add(r->p->classes[n], 0x80, 0xbf);
        for (int i = 0; i < n; i++) {
                if (memcmp(r->p->classes[i], r->p->classes[n], sizeof(r->p->classes[0])) == 0) {
                        r->p->class_count--;
                        n = i;
                        break;
                }
        }
        if (emit(r, CAY_STEP_FORK, 0, 1, 3) < 0 || emit(r, CAY_STEP_CLASS, (unsigned)n, 0, 0) < 0)
                return -1;
        return emit(r, CAY_STEP_JUMP, 0, -2, 0);
}

static int hex_of(char c)
{
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
}

/* A byte that an escape stands for, behind its backslash; -1: refused. */
static int read_escaped(struct reader *r)
{
        static const char names[] = "tnrfv0ae", bytes[] = "\t\n\r\f\v\0\a\033";
        const char *found;
        char c;

        if (r->at >= r->end)
                return refuse(r, "a backslash has nothing behind it");
        c = *r->at++;
        if (c == 'x' && r->end - r->at >= 2 && hex_of(r->at[0]) >= 0 && hex_of(r->at[1]) >= 0) {
                r->at += 2;
                return hex_of(r->at[-2]) * 16 + hex_of(r->at[-1]);
        }
        found = c ? strchr(names, c) : NULL;
        if (found)
                return (unsigned char)bytes[found - names];
        if (c >= '1' && c <= '9')
                return refuse(r, "references to groups (\\1) are not supported");
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80))
                return refuse(r, "this escape is not known");
        return (unsigned char)c;
}

/* One end of a range, or a class of its own (then -2). */
static int read_member(struct reader *r, uint8_t *set)
{
        static const struct {
                const char *name, *ranges;
        } posix[] = { { "[:alpha:]", "azAZ" },     { "[:digit:]", "09" },     { "[:alnum:]", "azAZ09" },
                      { "[:upper:]", "AZ" },       { "[:lower:]", "az" },     { "[:space:]", "\t\r  " },
                      { "[:punct:]", "!/:@[`{~" }, { "[:xdigit:]", "09afAF" } };
        unsigned char c = (unsigned char)*r->at;

        for (unsigned i = 0; c == '[' && i < CAY_COUNT(posix); i++) {
                size_t len = strlen(posix[i].name);

                if ((size_t)(r->end - r->at) >= len && memcmp(r->at, posix[i].name, len) == 0) {
                        for (const char *at = posix[i].ranges; *at; at += 2)
                                add(set, (unsigned char)at[0], (unsigned char)at[1]);
                        r->at += len;
                        return -2;
                }
        }
        if (c >= 0x80)
                return refuse(r, "a class [ ] can hold ASCII alone: write (é|è) instead");
        r->at++;
        if (c != '\\')
                return c;
        if (r->at < r->end && add_named(set, *r->at)) {
                r->at++;
                return -2;
        }
        if (r->at < r->end && *r->at == 'b') {
                r->at++;
                return '\b';
        }
        return read_escaped(r);
}

static int read_class(struct reader *r)
{
        int n = class_new(r);
        uint8_t *set = n < 0 ? NULL : r->p->classes[n];
        bool is_not = r->at < r->end && *r->at == '^';
        const char *first;

        if (n < 0)
                return -1;
        r->at += is_not;
        first = r->at;
        while (r->at < r->end && (*r->at != ']' || r->at == first)) {
                int from = read_member(r, set), to = from;

                if (from == -1)
                        return -1;
                if (r->end - r->at > 1 && r->at[0] == '-' && r->at[1] != ']' && from != -2) {
                        r->at++;
                        to = read_member(r, set);
                        if (to == -1)
                                return -1;
                        if (to == -2 || to < from)
                                return refuse(r, "the range in a class goes backwards");
                }
                if (from >= 0)
                        add_folded(set, (unsigned)from, (unsigned)to, r->p->no_case);
        }
        if (r->at >= r->end)
                return refuse(r, "a class [ has no ]");
        r->at++;
        for (unsigned i = 0; is_not && i < 32; i++)
                set[i] = (uint8_t)(i >= 16 && i < 24 ? 0 : ~set[i]); /* never the rest of a character */
        if (emit(r, CAY_STEP_CLASS, (unsigned)n, 0, 0) < 0)
                return -1;
        return is_not ? emit_rest(r) : 0;
}

/* Atoms */

static int fold(int c)
{
        return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static int emit_byte(struct reader *r, int c)
{
        return c < 0 ? -1 : emit(r, CAY_STEP_BYTE, (unsigned)(r->p->no_case ? fold(c) : c), 0, 0);
}

/* A character: all of its bytes. */
static int emit_character(struct reader *r)
{
        bool is_long = ((unsigned char)*r->at & 0xc0) == 0xc0;

        if (emit_byte(r, (unsigned char)*r->at++) < 0)
                return -1;
        while (is_long && r->at < r->end && ((unsigned char)*r->at & 0xc0) == 0x80)
                if (emit_byte(r, (unsigned char)*r->at++) < 0)
                        return -1;
        return 0;
}

static int read_backslash(struct reader *r)
{
        char c = r->at < r->end ? *r->at : '\0';
        unsigned op = c == 'b'               ? CAY_STEP_WORD
                      : c == 'B'             ? CAY_STEP_NO_WORD
                      : c == 'A'             ? CAY_STEP_BEGIN
                      : c == 'z' || c == 'Z' ? CAY_STEP_END
                                             : CAY_STEP_MATCH;
        uint8_t set[32] = { 0 };
        int n;

        if (op != CAY_STEP_MATCH) {
                r->at++;
                return emit(r, op, 0, 0, 0);
        }
        if (r->at >= r->end || !add_named(set, c))
                return emit_byte(r, read_escaped(r));
        n = class_new(r);
        if (n < 0)
                return -1;
        r->at++;
        memcpy(r->p->classes[n], set, sizeof(set));
        if (!(c & 0x20)) /* what is not a digit may be any other character */
                add(r->p->classes[n], 0xc0, 0xff);
        if (emit(r, CAY_STEP_CLASS, (unsigned)n, 0, 0) < 0)
                return -1;
        return c & 0x20 ? 0 : emit_rest(r);
}

static int read_choices(struct reader *r);

static int read_group(struct reader *r)
{
        int result;

        if (r->end - r->at >= 2 && r->at[0] == '?' && r->at[1] == ':')
                r->at += 2;
        else if (r->at < r->end && *r->at == '?')
                return refuse(r, "of (? only (?: ) is supported, and (?i) at the beginning");
        if (++r->depth > CAY_PATTERN_DEPTH)
                return refuse(r, "groups are too deep inside each other");
        result = read_choices(r);
        r->depth--;
        if (result < 0)
                return -1;
        if (r->at >= r->end)
                return refuse(r, "a group ( has no )");
        r->at++;
        return 0;
}

static int read_atom(struct reader *r)
{
        switch (*r->at) {
        case '(':
                r->at++;
                return read_group(r);
        case '[':
                r->at++;
                return read_class(r);
        case '\\':
                r->at++;
                return read_backslash(r);
        case '.':
                r->at++;
                return emit(r, CAY_STEP_ANY, 0, 0, 0) < 0 ? -1 : emit_rest(r);
        case '^':
        case '$':
                return emit(r, *r->at++ == '^' ? CAY_STEP_BEGIN : CAY_STEP_END, 0, 0, 0);
        case '*':
        case '+':
        case '?':
                return refuse(r, "there is nothing before it to repeat; a plain one is written \\* \\+ \\?");
        default:
                return emit_character(r);
        }
}

/* Repetition */

static bool read_number(const char **at, const char *end, uint32_t *ret)
{
        const char *start = *at;
        uint32_t n = 0;

        while (*at < end && **at >= '0' && **at <= '9' && n <= REPEAT_MAX)
                n = n * 10 + (uint32_t)(*(*at)++ - '0');
        *ret = n;
        return *at > start;
}

/* "{2}", "{2,}", "{2,5}"; anything else is plain characters. */
static bool read_counts(struct reader *r, uint32_t *min, uint32_t *max)
{
        const char *at = r->at + 1;

        if (!read_number(&at, r->end, min))
                return false;
        *max = *min;
        if (at < r->end && *at == ',') {
                at++;
                if (!read_number(&at, r->end, max))
                        *max = NO_MAX;
        }
        if (at >= r->end || *at != '}')
                return false;
        r->at = at + 1;
        return true;
}

static bool read_repeat(struct reader *r, uint32_t *min, uint32_t *max)
{
        char c = r->at < r->end ? *r->at : '\0';

        if (c == '{')
                return read_counts(r, min, max);
        if (c != '*' && c != '+' && c != '?')
                return false;
        r->at++;
        *min = c == '+';
        *max = c == '?' ? 1 : NO_MAX;
        return true;
}

/* What stands from `start` on, min to max times. */
static int repeat(struct reader *r, unsigned start, uint32_t min, uint32_t max)
{
        struct cay_pattern *p = r->p;
        unsigned len = p->count - start;
        cay_auto_free struct cay_pattern_step *block = NULL;

        if (min > max || (min > REPEAT_MAX) || (max != NO_MAX && max > REPEAT_MAX))
                return refuse(r, "the counts of a repetition go from 0 to 1000, the smaller one first");
        if (len == 0)
                return 0;
        block = malloc(len * sizeof(*block));
        if (!block)
                return cay_fail(r->err, CAY_INTERNAL, "no memory for a pattern");
        memcpy(block, &p->code[start], len * sizeof(*block));
        p->count = start;
        for (uint32_t i = 0; i < min; i++)
                if (copy(r, block, len) < 0)
                        return -1;
        if (max == NO_MAX && min > 0)
                return emit(r, CAY_STEP_FORK, 0, -(int)len, 1);
        if (max == NO_MAX) {
                if (emit(r, CAY_STEP_FORK, 0, 1, (int)len + 2) < 0 || copy(r, block, len) < 0)
                        return -1;
                return emit(r, CAY_STEP_JUMP, 0, -(int)len - 1, 0);
        }
        for (uint32_t i = min; i < max; i++)
                if (emit(r, CAY_STEP_FORK, 0, 1, (int)len + 1) < 0 || copy(r, block, len) < 0)
                        return -1;
        return 0;
}

static int read_piece(struct reader *r)
{
        unsigned start = r->p->count;
        uint32_t min, max;

        if (read_atom(r) < 0)
                return -1;
        while (read_repeat(r, &min, &max)) {
                if (repeat(r, start, min, max) < 0)
                        return -1;
                if (r->at < r->end && *r->at == '?')
                        r->at++; /* as little as possible: whether it matches is the same */
        }
        return 0;
}

/*
 * One after the other, each but the last: a fork, itself, a jump behind all of them. The jumps wait as a
 * chain through `or`.
 */
static int read_choices(struct reader *r)
{
        struct cay_pattern *p = r->p;
        unsigned start = p->count, jump = UINT32_MAX;

        while (r->at < r->end && *r->at != ')') {
                if (*r->at != '|') {
                        if (read_piece(r) < 0)
                                return -1;
                        continue;
                }
                r->at++;
                if (insert(r, start, CAY_STEP_FORK, 1, (int)(p->count - start) + 2) < 0 ||
                    emit(r, CAY_STEP_JUMP, 0, 0, 0) < 0)
                        return -1;
                p->code[p->count - 1].or = (int16_t)(jump == UINT32_MAX ? -1 : (int)jump);
                jump = p->count - 1;
                start = p->count;
        }
        while (jump != UINT32_MAX) {
                int before = p->code[jump].or ;

                p->code[jump].to = (int16_t)(p->count - jump);
                p->code[jump].or = 0;
                jump = before < 0 ? UINT32_MAX : (unsigned)before;
        }
        return 0;
}

static int finish(struct reader *r)
{
        cay_auto_free struct cay_pattern_run *run = malloc(sizeof(*run));

        if (!run)
                return cay_fail(r->err, CAY_INTERNAL, "no memory for a pattern");
        r->p->code[r->p->count++] = (struct cay_pattern_step){ .op = CAY_STEP_MATCH };
        cay_pattern_find_first(r->p, run);
        return 0;
}

int cay_pattern_compile(struct cay_pattern *p, const char *text, size_t len, unsigned flags,
                        struct cay_error *err)
{
        struct reader r = { .p = p, .at = text, .end = text + len, .start = text, .err = err };

        p->count = p->class_count = 0;
        p->no_case = flags & CAY_PATTERN_NO_CASE;
        if (len == 0 || len > CAY_PATTERN_TEXT_MAX)
                return cay_fail(err, CAY_INVALID, "must have 1 to %u bytes", CAY_PATTERN_TEXT_MAX);
        if (memchr(text, '\n', len) || memchr(text, '\0', len))
                return cay_fail(err, CAY_INVALID, "must be one line: a match is within one");
        if (flags & CAY_PATTERN_LITERAL) {
                while (r.at < r.end)
                        if (emit_byte(&r, (unsigned char)*r.at++) < 0)
                                return -1;
                return finish(&r);
        }
        if (len >= 4 && memcmp(text, "(?i)", 4) == 0) {
                p->no_case = true;
                r.at += 4;
        }
        if (read_choices(&r) < 0)
                return -1;
        if (r.at < r.end)
                return refuse(&r, "a ) has no group; a plain one is written \\)");
        return finish(&r);
}

/* Globs: rewritten as regular expressions. */

static int put_class(const char **at, const char *end, struct cay_buf *out)
{
        const char *close = *at + 1;

        if (close < end && (*close == '!' || *close == '^'))
                close++;
        if (close < end && *close == ']')
                close++;
        while (close < end && *close != ']')
                close++;
        if (close >= end) { /* no class: a plain bracket */
                (*at)++;
                return cay_buf_puts(out, "\\[");
        }
        cay_buf_puts(out, (*at)[1] == '!' || (*at)[1] == '^' ? "[^/" : "[");
        *at += 1 + ((*at)[1] == '!' || (*at)[1] == '^');
        for (; *at < close; (*at)++) {
                if (**at == '\\' || **at == '[')
                        cay_buf_putc(out, '\\');
                cay_buf_putc(out, **at);
        }
        (*at)++;
        return cay_buf_putc(out, ']');
}

static int put_stars(const char **at, const char *end, const char *glob, struct cay_buf *out)
{
        bool is_whole = *at == glob || (*at)[-1] == '/';
        unsigned stars = 0;

        while (*at < end && **at == '*') {
                (*at)++;
                stars++;
        }
        if (stars == 1)
                return cay_buf_puts(out, "[^/]*");
        if (is_whole && *at < end && **at == '/') {
                (*at)++;
                return cay_buf_puts(out, "(?:[^\\x00]*/)?");
        }
        return cay_buf_puts(out, "[^\\x00]*");
}

static int put_glob(const char *glob, size_t len, struct cay_buf *out)
{
        const char *at = glob, *end = glob + len;
        unsigned braces = 0;
        int r = 0;

        while (at < end && r == 0) {
                char c = *at;

                if (c == '*') {
                        r = put_stars(&at, end, glob, out);
                        continue;
                }
                if (c == '[') {
                        r = put_class(&at, end, out);
                        continue;
                }
                at++;
                if (c == '?') {
                        r = cay_buf_puts(out, "[^/]");
                } else if (c == '{' && memchr(at, '}', (size_t)(end - at))) {
                        braces++;
                        r = cay_buf_puts(out, "(?:");
                } else if (c == '}' && braces > 0) {
                        braces--;
                        r = cay_buf_putc(out, ')');
                } else if (c == ',' && braces > 0) {
                        r = cay_buf_putc(out, '|');
                } else {
                        if (c == '\\' && at < end)
                                c = *at++;
                        if (strchr("\\^$.|?*+()[]{}", c))
                                r = cay_buf_putc(out, '\\');
                        if (r == 0)
                                r = cay_buf_putc(out, c);
                }
        }
        while (r == 0 && braces-- > 0)
                r = cay_buf_putc(out, ')');
        return r;
}

int cay_pattern_compile_glob(struct cay_pattern *p, const char *glob, size_t len, struct cay_error *err)
{
        cay_auto_buf struct cay_buf text = { 0 };
        bool is_name = !memchr(glob, '/', len);
        int r;

        cay_buf_init(&text, CAY_PATTERN_TEXT_MAX);
        if (len >= 2 && glob[0] == '.' && glob[1] == '/') { /* where one looks is where paths begin */
                glob += 2;
                len -= 2;
        }
        if (len == 0)
                return cay_fail(err, CAY_INVALID, "must not be empty");
        r = cay_buf_puts(&text, is_name ? "^(?:[^\\x00]*/)?" : "^");
        if (r == 0)
                r = put_glob(glob, len, &text);
        if (r == 0)
                r = cay_buf_putc(&text, '$');
        if (r < 0)
                return cay_fail(err, CAY_INVALID, "is too long for a glob pattern");
        return cay_pattern_compile(p, cay_buf_data(&text), text.len, 0, err);
}
