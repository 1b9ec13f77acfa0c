/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that destroys, overwrites, gives data away or touches production. Not a parser: commands hide in
 * strings of other languages (os.system("rm -rf /")), so every pattern is looked for in every language. What
 * is found wrongly costs a question; what is missed may cost more.
 *
 * A pattern (danger.def) is text, whatever its case: a blank is one blank or more, '*' up to REACH bytes of
 * the same line, '^' before it: where a command starts, '#' a digit. A pattern that begins or ends with a
 * letter or digit stands at the edge of a word there.
 */
#include <ctype.h>

#include "domain/intent/intent_priv.h"

#define REACH 120u  /* bytes that '*' stands for */
#define COMMAND 24u /* bytes of the longest word that a command stands behind */
#define FLAGS 4u    /* that may stand between such a word and the command: xargs -0 -n 1 rm */

#define CAY_BEFORE(word)
static const struct pattern {
        const char *what, *text;
} patterns[] = {
#define CAY_DANGER(what, text) { what, text },
#include "domain/intent/danger.def"
#undef CAY_DANGER
};
#undef CAY_BEFORE

#define CAY_DANGER(what, text)
static const char *const before[] = {
#define CAY_BEFORE(word) word,
#include "domain/intent/danger.def"
#undef CAY_BEFORE
};
#undef CAY_DANGER

static bool is_word(char c)
{
        return isalnum((unsigned char)c) || c == '_';
}

static bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}

static char lower(char c)
{
        return (char)tolower((unsigned char)c);
}

/* Where the pattern that goes on at s ends; NULL: it does not stand there. As deep as it has '*'. */
static const char *find_end(const char *p, const char *s, const char *end)
{
        for (; *p; p++) {
                if (*p == '*') {
                        for (const char *from = s; from <= end && from - s <= (ptrdiff_t)REACH; from++) {
                                const char *got = find_end(p + 1, from, end);

                                if (got)
                                        return got;
                        }
                        return NULL;
                }
                if (s == end)
                        return p[0] == ' ' && p[1] == '\0' ? s : NULL;
                if (*p == ' ') {
                        if (!is_blank(*s))
                                return NULL;
                        while (s < end && is_blank(*s))
                                s++;
                } else if (*p == '#' ? isdigit((unsigned char)*s) : lower(*s) == *p) {
                        s++;
                } else {
                        return NULL;
                }
        }
        return isalnum((unsigned char)p[-1]) && s < end && is_word(*s) ? NULL : s;
}

/*
 * At the start of the line, behind a sign that ends a command, or behind a word that runs another one: sudo,
 * xargs.
 */
static bool starts_command(const char *line, const char *at, unsigned flags)
{
        const char *s = at, *from;

        while (s > line && is_blank(s[-1]))
                s--;
        if (s == line || strchr(";|&(`{!\"'[=>$", s[-1]))
                return true;
        for (from = s; from > line && !is_blank(from[-1]) && s - from < (ptrdiff_t)COMMAND; from--)
                ;
        for (size_t i = 0; i < CAY_COUNT(before); i++)
                if (strlen(before[i]) == (size_t)(s - from) &&
                    memcmp(before[i], from, (size_t)(s - from)) == 0)
                        return true;
        return flags > 0 && (*from == '-' || isdigit((unsigned char)*from)) &&
               starts_command(line, from, flags - 1);
}

static const char *match_at(const struct pattern *p, const char *line, const char *at, const char *end)
{
        bool is_command = p->text[0] == '^';
        const char *text = p->text + is_command;

        if (lower(*at) != *text || (isalnum((unsigned char)*text) && at > line && is_word(at[-1])) ||
            (is_command && !starts_command(line, at, FLAGS)))
                return NULL;
        return find_end(text, at, end);
}

/* Patterns by the character that they begin with: the first of each, and the next one with the same. */
struct index {
        uint16_t first[128], next[CAY_COUNT(patterns)]; /* nr + 1; 0: none */
};

static void fill_index(struct index *x)
{
        *x = (struct index){ 0 };
        for (size_t i = CAY_COUNT(patterns); i-- > 0;) {
                unsigned char c = (unsigned char)patterns[i].text[patterns[i].text[0] == '^'];

                x->next[i] = x->first[c];
                x->first[c] = (uint16_t)(i + 1);
        }
}

static bool search_line(const struct index *x, const char *line, const char *end,
                        struct cay_intent_danger *ret)
{
        for (const char *at = line; at < end; at++) {
                unsigned char c = (unsigned char)lower(*at);

                for (unsigned nr = c < CAY_COUNT(x->first) ? x->first[c] : 0; nr > 0; nr = x->next[nr - 1]) {
                        const char *to = match_at(&patterns[nr - 1], line, at, end);

                        if (!to)
                                continue;
                        *ret = (struct cay_intent_danger){ .what = patterns[nr - 1].what,
                                                           .text = at,
                                                           .len = (size_t)(to - at) };
                        return true;
                }
        }
        return false;
}

bool cay_intent_find_danger(const char *code, size_t len, struct cay_intent_danger *ret)
{
        const char *end = code + len;
        struct index x;

        fill_index(&x);
        for (const char *line = code, *next; line < end; line = next) {
                const char *newline = memchr(line, '\n', (size_t)(end - line));

                next = newline ? newline + 1 : end;
                if (search_line(&x, line, newline ? newline : end, ret))
                        return true;
        }
        return false;
}
