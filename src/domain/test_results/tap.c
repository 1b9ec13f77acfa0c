/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TAP, versions 12 to 14: a line per test, a diagnosis behind it (comments, or YAML between --- and ...),
 * subtests by indents of four. Other lines are a program's own output and are passed over. A test that is
 * expected to fail (TODO) and does counts as skipped.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "domain/test_results/reader.h"

void cay_test_tap_begin(struct cay_test_reader *r)
{
        r->tap = (struct cay_test_tap){ 0 };
}

static const char *skip_blanks(const char *at)
{
        return at + strspn(at, " \t");
}

static size_t trimmed(const char *text, size_t len)
{
        while (len > 0 && strchr(" \t\r\n", text[len - 1]))
                len--;
        return len;
}

static void tell(struct cay_test_reader *r)
{
        struct cay_test_tap *t = &r->tap;
        unsigned level = t->indent / 4;

        if (!t->is_open)
                return;
        t->is_open = false;
        t->in_yaml = false;
        cay_test_draft_tell(r, level > 0 && level <= CAY_TEST_SUITES_MAX ? t->subtests[level - 1].text : "");
}

/* The # of a directive, not escaped; NULL: none. */
static const char *find_directive(const char *text)
{
        for (const char *at = text; (at = strchr(at, '#')); at++)
                if (at == text || at[-1] != '\\') {
                        const char *word = skip_blanks(at + 1);

                        if (strncasecmp(word, "skip", 4) == 0 || strncasecmp(word, "todo", 4) == 0)
                                return at;
                }
        return NULL;
}

static void set_directive(struct cay_test_draft *d, const char *at, bool is_ok)
{
        const char *word = skip_blanks(at + 1), *why = word + strcspn(word, " \t:");

        why += strspn(why, " \t:");
        if (strncasecmp(word, "skip", 4) == 0 || !is_ok)
                d->status = CAY_TEST_SKIPPED;
        cay_test_text_put(&d->message, why, trimmed(why, strlen(why)));
}

/* "ok 3 - name # SKIP why"; at is behind "ok". */
static void on_test(struct cay_test_reader *r, const char *at, unsigned indent, bool is_ok)
{
        struct cay_test_draft *d = &r->draft;
        const char *directive;
        size_t len;

        tell(r);
        at = skip_blanks(at);
        at = skip_blanks(at + strspn(at, "0123456789"));
        if (*at == '-')
                at = skip_blanks(at + 1);
        directive = find_directive(at);
        len = trimmed(at, directive ? (size_t)(directive - at) : strlen(at));
        if (len > 0 && at[len - 1] == '{') /* a subtest's block, of version 14 */
                len = trimmed(at, len - 1);
        cay_test_draft_begin(r);
        cay_test_name_set(&d->name, at, len);
        d->status = is_ok ? CAY_TEST_PASSED : CAY_TEST_FAILED;
        if (directive)
                set_directive(d, directive, is_ok);
        r->tap.is_open = true;
        r->tap.indent = indent;
        if (indent == 0)
                r->tap.seen++;
}

/* A value of YAML on its own line: quotes around it are no part of it. */
static const char *yaml_value(const char *line, const char *key, size_t *ret_len)
{
        size_t n = strlen(key);

        if (strncmp(line, key, n) != 0 || line[n] != ':')
                return NULL;
        line = skip_blanks(line + n + 1);
        n = trimmed(line, strlen(line));
        if (n >= 2 && (line[0] == '\'' || line[0] == '"') && line[n - 1] == line[0]) {
                line++;
                n -= 2;
        }
        *ret_len = n;
        return n > 0 && line[0] != '|' && line[0] != '>' ? line : NULL;
}

static void on_yaml(struct cay_test_reader *r, const char *line)
{
        struct cay_test_draft *d = &r->draft;
        const char *value;
        size_t len;

        if (strncmp(line, "...", 3) == 0) {
                r->tap.in_yaml = false;
                return;
        }
        value = yaml_value(line, "message", &len);
        if (!value)
                value = yaml_value(line, "error", &len);
        if (value && d->message.len == 0)
                cay_test_text_put(&d->message, value, len);
        value = yaml_value(line, "duration_ms", &len);
        if (value)
                d->duration_us = cay_test_duration(value, 1000);
        if (d->status != CAY_TEST_PASSED) {
                cay_test_text_put(&d->text, line, strlen(line));
                cay_test_text_put(&d->text, "\n", 1);
        }
}

static void on_comment(struct cay_test_reader *r, const char *at, unsigned indent)
{
        static const char subtest[] = "Subtest:";
        struct cay_test_tap *t = &r->tap;
        unsigned level = indent / 4;

        at = skip_blanks(at + 1);
        if (strncmp(at, subtest, strlen(subtest)) == 0) {
                tell(r);
                at = skip_blanks(at + strlen(subtest));
                if (level < CAY_TEST_SUITES_MAX)
                        cay_test_name_set(&t->subtests[level], at, trimmed(at, strlen(at)));
        } else if (t->is_open && r->draft.status == CAY_TEST_FAILED) {
                cay_test_text_put(&r->draft.text, at, strlen(at));
                cay_test_text_put(&r->draft.text, "\n", 1);
        }
}

static void on_plan(struct cay_test_reader *r, const char *at)
{
        size_t n = strspn(at, "0123456789");

        if (n == 0 || n > 9)
                return;
        r->tap.has_plan = true;
        r->tap.planned = strtoul(at, NULL, 10);
}

static bool is_word(const char *at, const char *word)
{
        size_t n = strlen(word);

        return strncmp(at, word, n) == 0 && (at[n] == '\0' || at[n] == ' ' || at[n] == '\t');
}

static void on_bail(struct cay_test_reader *r, const char *why)
{
        struct cay_test_draft *d = &r->draft;

        tell(r);
        cay_test_draft_begin(r);
        cay_test_name_set(&d->name, "Bail out!", 9);
        why = skip_blanks(why);
        cay_test_text_put(&d->message, why, strlen(why));
        d->status = CAY_TEST_ERROR;
        r->tap.is_open = r->tap.has_ended = true;
        r->tap.indent = 0;
}

static void on_line(struct cay_test_reader *r)
{
        struct cay_test_tap *t = &r->tap;
        const char *at = skip_blanks(t->line);
        unsigned indent = (unsigned)(at - t->line);

        t->line[trimmed(t->line, t->line_len)] = '\0';
        if (t->in_yaml)
                on_yaml(r, at);
        else if (t->has_ended)
                return;
        else if (t->is_open && strncmp(at, "---", 3) == 0 && indent > t->indent)
                t->in_yaml = true;
        else if (is_word(at, "ok"))
                on_test(r, at + 2, indent, true);
        else if (is_word(at, "not ok"))
                on_test(r, at + 6, indent, false);
        else if (at[0] == '#')
                on_comment(r, at, indent);
        else if (indent == 0 && strncmp(at, "1..", 3) == 0)
                on_plan(r, at + 3);
        else if (strncmp(at, "Bail out!", 9) == 0)
                on_bail(r, at + 9);
}

int cay_test_tap_feed(struct cay_test_reader *r, const char *bytes, size_t len, struct cay_error *err)
{
        struct cay_test_tap *t = &r->tap;

        (void)err;
        for (size_t i = 0; i < len; i++) {
                char c = bytes[i] ? bytes[i] : ' ';

                if (c != '\n') {
                        if (t->line_len < CAY_TEST_TEXT_MAX)
                                t->line[t->line_len++] = c;
                        continue;
                }
                t->line[t->line_len] = '\0';
                on_line(r);
                t->line_len = 0;
        }
        return 0;
}

int cay_test_tap_end(struct cay_test_reader *r, struct cay_error *err)
{
        struct cay_test_tap *t = &r->tap;

        if (t->line_len > 0) {
                t->line[t->line_len] = '\0';
                on_line(r);
                t->line_len = 0;
        }
        tell(r);
        if (t->has_plan && t->planned != t->seen)
                return cay_fail(err, CAY_INVALID, "%llu tests were planned, and %llu were reported",
                                (unsigned long long)t->planned, (unsigned long long)t->seen);
        if (!t->has_plan && t->seen == 0)
                return cay_fail(err, CAY_INVALID, "there are neither TAP nor JUnit results in it");
        return 0;
}
