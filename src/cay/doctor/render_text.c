/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints one screen. Each check has a line; adjacent checks with the same result share one; a remedy is below
 * the first check it fixes. If that is more than a screen holds, the remedies of notes are left out, then all
 * (they are in --json).
 */
#include <errno.h>

#include "cay/doctor/doctor.h"

#define COLUMNS 100
#define LINES 40
#define MARK_COLUMN 12
#define TITLE_COLUMN (MARK_COLUMN + 2)
#define FOUND_COLUMN (TITLE_COLUMN + 18)
#define REMEDY_COLUMN (TITLE_COLUMN + 3)

enum remedies { ALL_REMEDIES, NEEDED_REMEDIES, NO_REMEDIES };

struct page {
        struct cay_buf *out;
        enum remedies remedies;
        const struct cay_doctor_style *style;
        unsigned column, lines;
        int failed;
};

static const struct {
        const char *utf8, *ascii, *colour;
} marks[] = {
        [CAY_DOCTOR_OK] = { "✓", "+", "\033[32m" },
        [CAY_DOCTOR_NOTE] = { "!", "!", "\033[33m" },
        [CAY_DOCTOR_MISSING] = { "✗", "x", "\033[31m" },
        [CAY_DOCTOR_BROKEN] = { "✗", "x", "\033[31m" },
};
_Static_assert(CAY_COUNT(marks) == CAY_DOCTOR_STATUS_COUNT, "a mark for every status");

static void put(struct page *p, const char *bytes, size_t len)
{
        int r = cay_buf_put(p->out, bytes, len);

        if (r < 0 && p->failed == 0)
                p->failed = r;
}

/* Takes no columns. */
static void put_escape(struct page *p, const char *escape)
{
        if (p->style->colours)
                put(p, escape, strlen(escape));
}

static void put_sign(struct page *p, const char *utf8, const char *ascii)
{
        const char *sign = p->style->utf8 ? utf8 : ascii;

        put(p, sign, strlen(sign));
        p->column += p->style->utf8 ? 1 : (unsigned)strlen(ascii);
}

static void end_line(struct page *p)
{
        put(p, "\n", 1);
        p->column = 0;
        p->lines++;
}

static void go_to(struct page *p, unsigned column)
{
        for (; p->column < column; p->column++)
                put(p, " ", 1);
}

/* Findings are ASCII. Other bytes (from a system's error text) are escaped. */
static void put_word(struct page *p, const char *word, size_t len)
{
        for (size_t i = 0; i < len; i++)
                put(p, word[i] >= ' ' && word[i] <= '~' ? &word[i] : "?", 1);
        p->column += (unsigned)len;
}

/* Starts at the current column; further lines start at `indent`. A word that is longer than a line is cut. */
static void put_wrapped(struct page *p, const char *text, unsigned indent)
{
        bool is_first = true;

        while (*text != '\0') {
                size_t len = strcspn(text, " "), room = COLUMNS - indent;

                if (!is_first && p->column + 1 + len > COLUMNS) {
                        end_line(p);
                        go_to(p, indent);
                } else if (!is_first) {
                        put_word(p, " ", 1);
                }
                put_word(p, text, len < room ? len : room);
                is_first = false;
                text += len + strspn(text + len, " ");
        }
}

static bool is_same(const struct cay_doctor_report *r, unsigned a, unsigned b)
{
        const struct cay_doctor_finding *x = &r->findings[a], *y = &r->findings[b];

        return strcmp(cay_doctor_group(a), cay_doctor_group(b)) == 0 && x->status == y->status &&
               strcmp(x->found, y->found) == 0 && strcmp(x->remedy, y->remedy) == 0;
}

static void put_titles(struct page *p, unsigned from, unsigned to, const char *found)
{
        char text[512];
        size_t at = 0;

        for (unsigned i = from; i < to && at < sizeof(text); i++)
                at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i > from ? ", " : "",
                                       cay_doctor_title(i));
        if (at < sizeof(text))
                snprintf(text + at, sizeof(text) - at, ": %s", found);
        put_wrapped(p, text, TITLE_COLUMN);
}

static bool wants_remedy(const struct page *p, const struct cay_doctor_report *r, unsigned nr)
{
        const struct cay_doctor_finding *f = &r->findings[nr];

        if (f->remedy[0] == '\0' || p->remedies == NO_REMEDIES ||
            (p->remedies == NEEDED_REMEDIES && f->status == CAY_DOCTOR_NOTE))
                return false;
        for (unsigned i = 0; i < nr; i++)
                if (strcmp(r->findings[i].remedy, f->remedy) == 0)
                        return false;
        return true;
}

static void put_remedy(struct page *p, const char *remedy)
{
        go_to(p, TITLE_COLUMN);
        put_sign(p, "→", "->");
        go_to(p, REMEDY_COLUMN);
        put_wrapped(p, remedy, REMEDY_COLUMN);
        end_line(p);
}

/* The checks [from, to), which have the same result. */
static void put_finding(struct page *p, const struct cay_doctor_report *r, unsigned from, unsigned to)
{
        const struct cay_doctor_finding *f = &r->findings[from];
        const char *group = cay_doctor_group(from), *title = cay_doctor_title(from);

        if (from == 0 || strcmp(group, cay_doctor_group(from - 1)) != 0) {
                put_escape(p, "\033[1m");
                put_word(p, group, strlen(group));
                put_escape(p, "\033[0m");
        }
        go_to(p, MARK_COLUMN);
        put_escape(p, marks[f->status].colour);
        put_sign(p, marks[f->status].utf8, marks[f->status].ascii);
        put_escape(p, "\033[0m");
        go_to(p, TITLE_COLUMN);
        if (to - from > 1) {
                put_titles(p, from, to, f->found);
        } else {
                put_word(p, title, strlen(title));
                go_to(p, FOUND_COLUMN);
                put_wrapped(p, f->found, FOUND_COLUMN);
        }
        end_line(p);
        if (wants_remedy(p, r, from))
                put_remedy(p, f->remedy);
}

static void put_page(struct page *p, const struct cay_doctor_report *r)
{
        for (unsigned i = 0, end; i < CAY_CHECK_COUNT; i = end) {
                for (end = i + 1; end < CAY_CHECK_COUNT && is_same(r, i, end);)
                        end++;
                put_finding(p, r, i, end);
        }
        if (p->remedies == NO_REMEDIES)
                put_remedy(p, "there is more to fix: cay doctor --json says how");
}

int cay_doctor_render_text(const struct cay_doctor_report *r, const struct cay_doctor_style *style,
                           struct cay_buf *out)
{
        struct page p = { 0 };

        for (enum remedies level = ALL_REMEDIES; level <= NO_REMEDIES; level++) {
                cay_buf_clear(out);
                p = (struct page){ .out = out, .style = style, .remedies = level };
                put_page(&p, r);
                if (p.lines <= LINES)
                        break;
        }
        return p.failed;
}
