/* SPDX-License-Identifier: Apache-2.0 */
/* Which language code is in: by the word behind its fence, else by what gives languages away. The tables are base/languages.def and marks.def. */
#include <ctype.h>
#include <strings.h>

#include "intent/intent_priv.h"

#define LOOK_MAX 8192u /* bytes of a piece that are looked at */
#define ENOUGH 2u      /* points of a guess */

static const struct mark {
        const char *name;
        unsigned points;
        const char *text;
} marks[] = {
#define CAY_MARK(name, points, text) { name, points, text },
#include "intent/marks.def"
#undef CAY_MARK
};

static bool stands_at(const char *text, const char *at, size_t left)
{
        for (; *text; text++, at++, left--)
                if (left == 0 || (*text == 'D' ? !isdigit((unsigned char)*at) : *text != *at))
                        return false;
        return true;
}

/* 'D' is a digit in marks that start with one, a bracket or name a number; in all others it is a letter. */
static bool has_digits(const char *text)
{
        return strstr(text, "DD") || (*text && text[strlen(text) - 1] == 'D');
}

static bool mark_stands_at(const char *text, const char *at, size_t left)
{
        size_t len = strlen(text);

        return has_digits(text) ? stands_at(text, at, left) : len <= left && memcmp(text, at, len) == 0;
}

static size_t skip_blanks(const char *line, size_t len)
{
        size_t n = 0;

        while (n < len && (line[n] == ' ' || line[n] == '\t'))
                n++;
        return n;
}

static bool line_has(const struct mark *m, const char *line, size_t len)
{
        size_t from;

        if (m->text[0] == '^') {
                from = skip_blanks(line, len);
                return from < len && (m->text[1] == line[from] || m->text[1] == 'D') &&
                       mark_stands_at(m->text + 1, line + from, len - from);
        }
        return memmem(line, len, m->text, strlen(m->text)) != NULL;
}

static size_t line_len(const char *text, size_t len)
{
        const char *end = memchr(text, '\n', len);

        return end ? (size_t)(end - text) : len;
}

/* Every mark counts once. */
static unsigned count_points(const char *name, const char *code, size_t len)
{
        unsigned points = 0;

        for (size_t i = 0; i < CAY_COUNT(marks); i++) {
                bool found = false;

                if (strcmp(marks[i].name, name) != 0)
                        continue;
                for (size_t at = 0, n; !found && at < len; at += n + 1) {
                        n = line_len(code + at, len - at);
                        found = line_has(&marks[i], code + at, n);
                }
                points += found ? marks[i].points : 0;
        }
        return points;
}

const struct cay_language *cay_intent_guess_language(const char *code, size_t len)
{
        const struct cay_language *best = NULL, *l;
        unsigned most = ENOUGH - 1;

        len = len < LOOK_MAX ? len : LOOK_MAX;
        for (size_t i = 0; (l = cay_language_at(i)); i++) {
                unsigned points = count_points(l->name, code, len);

                if (points > most) {
                        most = points;
                        best = l;
                }
        }
        return best;
}

/* A line without a fence is code when it starts like code and ends like it. */
bool cay_intent_is_code_line(const char *line, size_t len)
{
        bool starts = false;

        while (len > 0 && isspace((unsigned char)line[len - 1]))
                len--;
        for (size_t i = 0; !starts && i < CAY_COUNT(marks); i++) {
                const struct cay_language *l;

                if (marks[i].text[0] != '^' || !line_has(&marks[i], line, len))
                        continue;
                l = cay_language_find(marks[i].name, strlen(marks[i].name));
                starts = l && l->kind == CAY_LANGUAGE_PROGRAM;
        }
        return len > 0 && starts && memchr("){};:>\"'", line[len - 1], 8);
}

bool cay_intent_is_log_line(const char *line, size_t len)
{
        size_t from = skip_blanks(line, len);

        if (from == len || line[from] == '\n')
                return false;
        for (size_t i = 0; i < CAY_COUNT(marks); i++)
                if (marks[i].name[0] == 'l' && strcmp(marks[i].name, "log") == 0 && marks[i].text[0] == '^' &&
                    line_has(&marks[i], line, len))
                        return true;
        return false;
}
