/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which language code is in: by the word behind its fence, else by what gives languages away. All of it is in
 * marks.def and foundation/base/languages.def.
 */
#include <ctype.h>
#include <strings.h>

#include "domain/intent/intent_priv.h"

#define LOOK_MAX 8192u /* bytes of a piece that are looked at */
#define ENOUGH 2u      /* points of a guess */

/* Each table is made of its own rows of marks.def. */
#define CAY_TITLE(name, title)
#define CAY_COMMAND(name, is_word)
#define CAY_STATEMENT(text)
#define CAY_SHOWS(text)
static const struct mark {
        const char *name;
        unsigned points;
        const char *text;
} marks[] = {
#define CAY_MARK(name, points, text) { name, points, text },
#include "domain/intent/marks.def"
#undef CAY_MARK
};
#define CAY_MARK(name, points, text)
#undef CAY_TITLE
static const struct title {
        const char *name, *title;
} titles[] = {
#define CAY_TITLE(name, title) { name, title },
#include "domain/intent/marks.def"
#undef CAY_TITLE
};
#define CAY_TITLE(name, title)
#undef CAY_COMMAND
static const struct command {
        const char *name;
        bool is_word; /* of English too */
} commands[] = {
#define CAY_COMMAND(name, is_word) { name, is_word },
#include "domain/intent/marks.def"
#undef CAY_COMMAND
};
#define CAY_COMMAND(name, is_word)
#undef CAY_STATEMENT
static const char *const statements[] = {
#define CAY_STATEMENT(text) text,
#include "domain/intent/marks.def"
#undef CAY_STATEMENT
};
#define CAY_STATEMENT(text)
#undef CAY_SHOWS
static const char *const shows[] = {
#define CAY_SHOWS(text) text,
#include "domain/intent/marks.def"
#undef CAY_SHOWS
};
#undef CAY_STATEMENT
#undef CAY_COMMAND
#undef CAY_TITLE
#undef CAY_MARK

const char *cay_intent_language_title(const char *language)
{
        for (size_t i = 0; i < CAY_COUNT(titles); i++)
                if (strcmp(titles[i].name, language) == 0)
                        return titles[i].title;
        return language;
}

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

static unsigned count_blanks(const char *line, size_t len)
{
        unsigned n = 0;

        for (size_t i = 0; i < len; i++)
                n += line[i] == ' ';
        return n;
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

static size_t word_len(const char *s, size_t len)
{
        size_t n = 0;

        while (n < len && (isalnum((unsigned char)s[n]) || strchr("_.-/~", s[n])) && s[n])
                n++;
        return n;
}

static bool has_any(const char *line, size_t len, const char *const *parts, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (memmem(line, len, parts[i], strlen(parts[i])))
                        return true;
        return false;
}

static bool ends_sentence(const char *line, size_t len)
{
        for (size_t i = 1; i + 1 < len; i++)
                if (line[i] == '.' && line[i + 1] == ' ' && isalpha((unsigned char)line[i - 1]))
                        return true;
        return false;
}

/*
 * "ls -la | head": a command that is known, and something that sentences do not have; a word that is also
 * English needs more.
 */
static bool is_command_line(const char *line, size_t len)
{
        static const char *const signs[] = { " -", " | ", " && ", " > ", "/", "$", "~", "*", "=", " .", "_" };
        static const char *const plain[] = { " | ", " && ", " --" };
        size_t n;

        if (len > 2 && (memcmp(line, "$ ", 2) == 0 || memcmp(line, "# ", 2) == 0)) {
                line += 2;
                len -= 2;
        }
        n = word_len(line, len);
        if (n == 0 || (n < len && line[n] != ' ') || memchr(line, '`', len))
                return false;
        for (size_t i = 0; i < CAY_COUNT(commands); i++) {
                if (strlen(commands[i].name) != n || memcmp(commands[i].name, line, n) != 0)
                        continue;
                if (line[len - 1] == '?' || line[len - 1] == ':' || line[len - 1] == ',' ||
                    memmem(line, len, ", ", 2) || ends_sentence(line, len))
                        return has_any(line, len, signs, 4) && line[len - 1] != '?' && !commands[i].is_word;
                if (commands[i].is_word)
                        return has_any(line, len, plain, CAY_COUNT(plain)) ||
                               (n + 2 < len && strchr("/.~$-\"'", line[n + 1]) && line[n + 2] != ' ') ||
                               (n + 3 < len && memcmp(line + n, " . ", 3) == 0);
                return n == len || has_any(line, len, signs, CAY_COUNT(signs)) ||
                       count_blanks(line, len) <= 3;
        }
        return n > 2 && (line[0] == '.' || line[0] == '/') && memchr(line, '/', n) != NULL;
}

static bool starts_with_command(const char *code, size_t len)
{
        size_t from = 0, n;

        while (from < len && isspace((unsigned char)code[from]))
                from++;
        n = line_len(code + from, len - from);
        while (n > 0 && isspace((unsigned char)code[from + n - 1]))
                n--;
        return n > 0 && is_command_line(code + from, n);
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
        return best || !starts_with_command(code, len) ? best : cay_language_find("shell", 5);
}

static bool starts_like_code(const char *line, size_t len)
{
        for (size_t i = 0; i < CAY_COUNT(marks); i++) {
                const struct cay_language *l;

                if (marks[i].text[0] != '^' || !line_has(&marks[i], line, len))
                        continue;
                l = cay_language_find(marks[i].name, strlen(marks[i].name));
                if (l && l->kind == CAY_LANGUAGE_PROGRAM)
                        return true;
        }
        return false;
}

/* "x = 1", "f(x)", "a.b(c);": what is assigned or called, and nothing that reads like a sentence. */
static bool is_statement(const char *line, size_t len)
{
        size_t n = 0, rest;

        while (n < len && (isalnum((unsigned char)line[n]) || strchr("_.$@", line[n])) && line[n])
                n++;
        if (n == 0 || n == len)
                return false;
        rest = n + skip_blanks(line + n, len - n);
        if (line[n] == '(')
                return memchr(")};,{", line[len - 1], 5) != NULL && len > n + 1;
        if (rest + 1 < len && line[rest] == '=' && line[rest + 1] != '>')
                return true;
        if (rest + 2 < len && ((memcmp(line + rest, "+=", 2) == 0) || memcmp(line + rest, ":=", 2) == 0 ||
                               memcmp(line + rest, "<-", 2) == 0 || memcmp(line + rest, "-=", 2) == 0))
                return true;
        return line[n] == '[' && memchr(line, '=', len) != NULL;
}

static bool is_sql(const char *line, size_t len)
{
        for (size_t i = 0; i < CAY_COUNT(statements); i++) {
                size_t n = strlen(statements[i]);

                if (len > n && strncasecmp(line, statements[i], n) == 0 &&
                    (line[len - 1] == ';' || isupper((unsigned char)line[0])))
                        return true;
        }
        return false;
}

/* "import x", "from x import y": words of English too, but for their number. */
static bool is_import(const char *line, size_t len)
{
        return (len > 7 && memcmp(line, "import ", 7) == 0 && count_blanks(line, len) == 1) ||
               (len > 5 && memcmp(line, "from ", 5) == 0 && memmem(line, len, " import ", 8));
}

/*
 * "for i in 1 2; do echo $i; done", "while (x) f();", "<?php": how statements that are no calls begin and
 * end.
 */
static bool is_block_line(const char *line, size_t len)
{
        static const struct {
                const char *start, *has, *end;
        } blocks[] = {
                { "for ", "; do ", "done" }, { "while ", "; do ", "done" }, { "until ", "; do ", "done" },
                { "if ", "; then ", "fi" },  { "for (", ")", ";" },         { "for (", ")", "}" },
                { "while (", ")", ";" },     { "while (", ")", "}" },       { "<?php", "", "" },
        };

        for (size_t i = 0; i < CAY_COUNT(blocks); i++) {
                size_t start = strlen(blocks[i].start), end = strlen(blocks[i].end);

                if (len >= start + end && memcmp(line, blocks[i].start, start) == 0 &&
                    memcmp(line + len - end, blocks[i].end, end) == 0 &&
                    memmem(line, len, blocks[i].has, strlen(blocks[i].has)))
                        return true;
        }
        return false;
}

/*
 * A line without a fence is code when it starts like code and ends like it, is a command, a statement, or
 * SQL.
 */
bool cay_intent_is_code_line(const char *line, size_t len)
{
        size_t from = skip_blanks(line, len);

        line += from;
        len -= from;
        while (len > 0 && isspace((unsigned char)line[len - 1]))
                len--;
        if (len < 2)
                return false;
        return (memchr("){};:>\"'", line[len - 1], 8) && starts_like_code(line, len)) ||
               is_command_line(line, len) || is_statement(line, len) || is_sql(line, len) ||
               is_import(line, len) || is_block_line(line, len);
}

/* Words of sentences that commands seldom have: "docker and tell me" is no command. */
static bool has_sentence_word(const char *line, size_t len)
{
        static const char *const words[] = { "and",  "the",   "me",   "it", "to",   "for",  "please",
                                             "then", "now",   "on",   "my", "this", "that", "in",
                                             "is",   "a",     "with", "so", "or",   "does", "do",
                                             "und",  "bitte", "et",   "y",  "e",    "en" };

        for (size_t at = 0, n; at < len; at += n + 1) {
                const char *end = memchr(line + at, ' ', len - at);

                n = end ? (size_t)(end - line) - at : len - at;
                for (size_t i = 0; i < CAY_COUNT(words); i++)
                        if (strlen(words[i]) == n && strncasecmp(words[i], line + at, n) == 0)
                                return true;
        }
        return false;
}

/*
 * Behind words of a sentence less is code than on a line of its own: a command without words of sentences, a
 * call that ends like one, SQL in capitals or with its semicolon.
 */
bool cay_intent_is_code_tail(const char *tail, size_t len)
{
        while (len > 0 && isspace((unsigned char)tail[len - 1]))
                len--;
        if (len < 3 || tail[len - 1] == '?')
                return false;
        return (is_command_line(tail, len) && !has_sentence_word(tail, len)) ||
               (memchr(");}", tail[len - 1], 3) && memchr(tail, '(', len) && is_statement(tail, len)) ||
               (is_sql(tail, len) && (isupper((unsigned char)tail[1]) || tail[len - 1] == ';'));
}

/* What was typed and what came back, copied from a terminal. */
static bool is_transcript_line(const char *line, size_t len)
{
        static const char *const prompts[] = { "$ ",    ">>> ",     "In [", "irb(", "mysql> ",
                                               "PS C:", "sqlite> ", "% ",   "> " };

        for (size_t i = 0; i < CAY_COUNT(prompts); i++)
                if (len >= strlen(prompts[i]) && memcmp(line, prompts[i], strlen(prompts[i])) == 0)
                        return true;
        return false;
}

/* A transcript has run already. */
bool cay_intent_shows_something(const char *code, size_t len, bool is_shell)
{
        bool does = is_shell;

        len = len < LOOK_MAX ? len : LOOK_MAX;
        for (size_t at = 0, n; at < len; at += n + 1) {
                size_t from;

                n = line_len(code + at, len - at);
                from = skip_blanks(code + at, n);
                if (is_transcript_line(code + at, n))
                        return false;
                does = does || has_any(code + at, n, shows, CAY_COUNT(shows)) ||
                       (n > from && is_command_line(code + at + from, n - from));
        }
        return does;
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
