/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns against paths.
 *
 * Theory of operation. A pattern is names with slashes between, as a path is. Both levels are matched the
 * same way: at a star (in a name '*', among names "**") the place is noted and as little as possible taken;
 * at a mismatch the last star takes one more. A star before the last one never needs another look, so the
 * time is at most the product of both lengths.
 */
#include "cay-docker/build_ignore.h"

#include <stdlib.h>
#include <string.h>

#include "foundation/base/banned.h"

struct span {
        const char *at, *end;
};

/*
 * "[a-z]" or "[^a-z]" at p: does c fit? *ret_end is behind it; NULL: it is not closed, and the bracket is a
 * plain one.
 */
static bool fits_class(const char *p, const char *end, char c, const char **ret_end)
{
        bool negated = p + 1 < end && (p[1] == '^' || p[1] == '!'), found = false;
        const char *at = p + 1 + negated;

        *ret_end = NULL;
        for (bool first = true; at < end && (*at != ']' || first); first = false) {
                char low = *at == '\\' && at + 1 < end ? *++at : *at, high = low;

                at++;
                if (at + 1 < end && *at == '-' && at[1] != ']') {
                        at++;
                        high = *at == '\\' && at + 1 < end ? *++at : *at;
                        at++;
                }
                found = found ||
                        ((unsigned char)c >= (unsigned char)low && (unsigned char)c <= (unsigned char)high);
        }
        if (at < end)
                *ret_end = at + 1;
        return found != negated;
}

/* One character of a name; *p moves behind what stood for it. */
static bool fits_one(const char **p, const char *end, char c)
{
        const char *behind = NULL;
        bool fits;

        if (**p == '[') {
                fits = fits_class(*p, end, c, &behind);
                if (behind) {
                        *p = behind;
                        return fits;
                }
        } else if (**p == '?') {
                (*p)++;
                return true;
        } else if (**p == '\\' && *p + 1 < end) {
                (*p)++;
        }
        fits = **p == c;
        (*p)++;
        return fits;
}

static bool fits_name(struct span pattern, struct span name)
{
        const char *p = pattern.at, *n = name.at, *star = NULL, *from = NULL;

        while (n < name.end) {
                if (p < pattern.end && *p == '*') {
                        star = ++p;
                        from = n;
                } else if (p < pattern.end && fits_one(&p, pattern.end, *n)) {
                        n++;
                } else if (star) {
                        p = star;
                        n = ++from;
                } else {
                        return false;
                }
        }
        while (p < pattern.end && *p == '*')
                p++;
        return p == pattern.end;
}

/* The name at `at`, and in *ret_next where the one behind it begins (end + 1: there is none). */
static struct span name_at(const char *at, const char *end, const char **ret_next)
{
        const char *slash = memchr(at, '/', (size_t)(end - at));

        *ret_next = (slash ? slash : end) + 1;
        return (struct span){ at, slash ? slash : end };
}

static bool is_any(struct span s)
{
        return s.end - s.at == 2 && s.at[0] == '*' && s.at[1] == '*';
}

bool docker_ignore_fits(const char *pattern, const char *path, size_t path_len)
{
        const char *p_end = pattern + strlen(pattern), *n_end = path + path_len, *p = pattern, *n = path;
        const char *star = NULL, *from = NULL, *p_next, *n_next;

        while (n <= n_end) {
                struct span name = name_at(n, n_end, &n_next), word = { 0 };

                if (p <= p_end)
                        word = name_at(p, p_end, &p_next);
                if (p <= p_end && is_any(word)) {
                        p = star = p_next;
                        from = n;
                } else if (p <= p_end && fits_name(word, name)) {
                        p = p_next;
                        n = n_next;
                } else if (star) {
                        p = star;
                        name_at(from, n_end, &from);
                        n = from;
                } else {
                        return false;
                }
        }
        while (p <= p_end && is_any(name_at(p, p_end, &p_next)))
                p = p_next;
        return p > p_end;
}

/* Blanks and slashes around a pattern say nothing; "./a" is "a". */
static char *trim(char *line)
{
        size_t len;

        line += strspn(line, " \t");
        len = strlen(line);
        while (len > 0 && strchr(" \t\r", line[len - 1]))
                line[--len] = '\0';
        return line;
}

static char *plain(char *pattern)
{
        size_t len;

        for (;;) {
                if (*pattern == '/')
                        pattern++;
                else if (pattern[0] == '.' && pattern[1] == '/')
                        pattern += 2;
                else
                        break;
        }
        len = strlen(pattern);
        while (len > 0 && pattern[len - 1] == '/')
                pattern[--len] = '\0';
        return strcmp(pattern, ".") == 0 ? pattern + 1 : pattern;
}

static int add_line(struct docker_ignore *ig, char *line, struct cay_error *err)
{
        bool takes_in;

        if (line[0] == '#')
                return 0;
        line = trim(line);
        takes_in = line[0] == '!';
        line = plain(trim(line + takes_in));
        if (line[0] == '\0')
                return 0;
        if (ig->count == DOCKER_IGNORE_PATTERNS)
                return cay_fail(err, CAY_INVALID, ".dockerignore: more than %u patterns; use fewer",
                                DOCKER_IGNORE_PATTERNS);
        ig->rows[ig->count].pattern = line;
        ig->rows[ig->count++].takes_in = takes_in;
        ig->has_exceptions = ig->has_exceptions || takes_in;
        return 0;
}

int docker_ignore_parse(struct docker_ignore *ig, const char *text, size_t len, struct cay_error *err)
{
        char *line, *next;
        int r = 0;

        *ig = (struct docker_ignore){ 0 };
        if (len > DOCKER_IGNORE_MAX || memchr(text, '\0', len))
                return cay_fail(err, CAY_INVALID,
                                ".dockerignore: more than %u bytes, or not a text; shorten it",
                                DOCKER_IGNORE_MAX);
        ig->text = strndup(text, len);
        if (!ig->text)
                return cay_fail(err, CAY_INTERNAL, "no memory for .dockerignore");
        for (line = ig->text; r == 0 && line; line = next) {
                next = strchr(line, '\n');
                if (next)
                        *next++ = '\0';
                r = add_line(ig, line, err);
        }
        if (r < 0)
                docker_ignore_done(ig);
        return r;
}

void docker_ignore_done(struct docker_ignore *ig)
{
        free(ig->text);
        *ig = (struct docker_ignore){ 0 };
}

/* The path itself or a folder that it is in. */
static bool fits_some(const char *pattern, const char *path)
{
        for (const char *end = path; (end = strchr(end, '/')); end++)
                if (docker_ignore_fits(pattern, path, (size_t)(end - path)))
                        return true;
        return docker_ignore_fits(pattern, path, strlen(path));
}

bool docker_ignore_has(const struct docker_ignore *ig, const char *path)
{
        for (unsigned i = ig->count; i > 0; i--)
                if (fits_some(ig->rows[i - 1].pattern, path))
                        return !ig->rows[i - 1].takes_in;
        return false;
}
