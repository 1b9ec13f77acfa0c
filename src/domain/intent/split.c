/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's own words, and the code. The plain text keeps every byte at its place, so that what is found
 * in it can be shown as it was written; what is taken out is overwritten: by blanks inside a line, by ends of
 * lines where whole lines went.
 *
 * Fences are those of CommonMark: three or more backticks or tildes, closed by at least as many, or open to
 * the end.
 */
#include <ctype.h>
#include <errno.h>

#include "domain/intent/intent_priv.h"

#define QUOTE_MAX 400u  /* bytes between two quotation marks */
#define INLINE_MIN 3u   /* a shorter one is a name */
#define LOOK_LINES 400u /* lines that are looked at for code without a fence */
#define LEAD_WORDS 12u  /* words of a line that code without marks may stand behind */

struct fence {
        char mark; /* 0: none is open */
        size_t len;
        struct cay_intent_piece piece;
};

static size_t line_end(const char *text, size_t at, size_t len)
{
        const char *end = memchr(text + at, '\n', len - at);

        return end ? (size_t)(end - text) + 1 : len;
}

static void blank(struct cay_intent_split *s, size_t from, size_t to, char with)
{
        memset(s->plain + from, with, to - from);
}

static void keep(struct cay_intent_split *s, const struct cay_intent_piece *p)
{
        if (s->count < CAY_INTENT_PIECES_MAX)
                s->pieces[s->count++] = *p;
}

static size_t skip_blanks(const char *text, size_t at, size_t end)
{
        while (at < end && (text[at] == ' ' || text[at] == '\t'))
                at++;
        return at;
}

static size_t count_same(const char *text, size_t at, size_t end)
{
        size_t n = 0;

        while (at + n < end && text[at + n] == text[at])
                n++;
        return n;
}

static bool is_all_blank(const char *text, size_t at, size_t end)
{
        while (at < end && isspace((unsigned char)text[at]))
                at++;
        return at == end;
}

/* The first word behind the fence: "python", "{.python}", "python title=x". */
static void read_tag(const char *text, size_t at, size_t end, struct cay_intent_piece *p)
{
        at = skip_blanks(text, at, end);
        while (at < end && (text[at] == '{' || text[at] == '.'))
                at++;
        p->tag_at = at;
        while (at < end && !isspace((unsigned char)text[at]) && !memchr("{},:", text[at], 5))
                at++;
        p->tag_len = at - p->tag_at;
}

static bool opens_fence(const char *text, size_t at, size_t end, struct fence *f)
{
        size_t from = skip_blanks(text, at, end), n;

        if (from - at > 3 || from == end || (text[from] != '`' && text[from] != '~'))
                return false;
        n = count_same(text, from, end);
        if (n < 3 || (text[from] == '`' && memchr(text + from + n, '`', end - from - n)))
                return false;
        *f = (struct fence){ .mark = text[from],
                             .len = n,
                             .piece = { .kind = CAY_INTENT_FENCED, .at = end } };
        read_tag(text, from + n, end, &f->piece);
        return true;
}

static bool closes_fence(const char *text, size_t at, size_t end, const struct fence *f)
{
        size_t from = skip_blanks(text, at, end), n;

        if (from == end || text[from] != f->mark)
                return false;
        n = count_same(text, from, end);
        return n >= f->len && is_all_blank(text, from + n, end);
}

static void end_fence(struct cay_intent_split *s, const char *text, struct fence *f, size_t at)
{
        f->piece.len = at - f->piece.at;
        if (!is_all_blank(text, f->piece.at, at))
                keep(s, &f->piece);
        f->mark = 0;
}

/* Fenced blocks and whole lines that are somebody else's words. */
static void take_lines(struct cay_intent_split *s, const char *text)
{
        struct fence f = { 0 };

        for (size_t at = 0, end; at < s->len; at = end) {
                end = line_end(text, at, s->len);
                if (f.mark) {
                        if (closes_fence(text, at, end, &f))
                                end_fence(s, text, &f, at);
                        blank(s, at, end, '\n');
                } else if (opens_fence(text, at, end, &f) || text[skip_blanks(text, at, end - 1)] == '>' ||
                           cay_intent_is_log_line(text + at, end - at)) {
                        blank(s, at, end, '\n');
                }
        }
        if (f.mark)
                end_fence(s, text, &f, s->len);
}

/* Four blanks or a tab behind a blank line, and no item of a list. */
static bool is_indented(const char *text, size_t at, size_t end)
{
        size_t from = skip_blanks(text, at, end);

        return (text[at] == '\t' || from - at >= 4) && from < end && !strchr("-*+`~\n\r", text[from]) &&
               (unsigned char)text[from] < 0x80 && text[from] != '>';
}

/* Only where no fence is: whoever uses them uses them for all code. */
static void take_loose(struct cay_intent_split *s, const char *text)
{
        size_t from = 0, to = 0;
        unsigned lines = 0, nr = 0;
        bool is_after_blank = true;

        for (size_t at = 0, end; at < s->len && nr < LOOK_LINES; at = end, nr++) {
                bool is_code, is_inside;

                end = line_end(text, at, s->len);
                is_code = s->plain[at] != '\n' && (cay_intent_is_code_line(text + at, end - at) ||
                                                   (is_after_blank && is_indented(text, at, end)));
                is_after_blank = is_all_blank(text, at, end);
                is_inside = lines > 0 && (text[at] == ' ' || text[at] == '\t' || text[at] == '}');
                if (is_code || is_inside) {
                        from = lines == 0 ? at : from;
                        to = end;
                        lines++;
                } else if (lines > 0 && !is_all_blank(text, at, end)) {
                        break;
                }
        }
        if (lines == 0)
                return;
        blank(s, from, to, '\n');
        keep(s, &(struct cay_intent_piece){ .kind = CAY_INTENT_LOOSE, .at = from, .len = to - from });
}

static bool is_worth_running(const char *code, size_t len)
{
        return len >= INLINE_MIN && (memchr(code, ' ', len) || memchr(code, '(', len));
}

static size_t find_same_run(const char *plain, size_t at, size_t end, size_t n)
{
        while (at < end) {
                const char *tick = memchr(plain + at, '`', end - at);
                size_t found;

                if (!tick)
                        return end;
                at = (size_t)(tick - plain);
                found = count_same(plain, at, end);
                if (found == n)
                        return at;
                at += found;
        }
        return end;
}

/* `code` in a line leaves its mark in the sentence: one can say "run `ls`". */
static void take_inline(struct cay_intent_split *s, const char *text, bool keeps)
{
        for (size_t at = 0, end = 0, n, close; at < s->len;) {
                if (at >= end)
                        end = line_end(s->plain, at, s->len);
                if (s->plain[at] != '`') {
                        at++;
                        continue;
                }
                n = count_same(s->plain, at, end);
                close = find_same_run(s->plain, at + n, end, n);
                if (close < end) {
                        if (keeps && is_worth_running(text + at + n, close - at - n))
                                keep(s, &(struct cay_intent_piece){ .kind = CAY_INTENT_INLINE,
                                                                    .at = at + n,
                                                                    .len = close - at - n });
                        blank(s, at, close + n, ' ');
                        s->plain[at] = CAY_INTENT_CODE_MARK;
                        at = close + n;
                } else {
                        at += n;
                }
        }
}

/*
 * The rest of an order in words, behind a command that stands in it: "fuehr rm -rf build aus", "run ls -l
 * please".
 */
static size_t trim_order(const char *text, size_t at, size_t end)
{
        static const char *const words[] = { " please", " pls",   " plz", " now",   " thanks", " aus",
                                             " bitte",  " uit",   " aub", " graag", " stp",    " svp",
                                             " porfa",  " favor", " por", " ut",    " tack",   " prosze" };

        while (end > at && isspace((unsigned char)text[end - 1]))
                end--;
        for (size_t i = 0; i < CAY_COUNT(words); i++) {
                size_t n = strlen(words[i]);

                if (end - at > n && memcmp(text + end - n, words[i], n) == 0) {
                        end -= n;
                        i = (size_t)-1; /* from the first again: "por favor" */
                }
        }
        return end;
}

/*
 * Where in a line code begins behind words ("please run rm -rf build", "run this: print(1)"); `end`: nowhere.
 */
static size_t find_tail(const struct cay_intent_split *s, const char *text, size_t at, size_t end)
{
        for (unsigned words = 0; at < end && words < LEAD_WORDS; words++) {
                const char *gap = memchr(s->plain + at, ' ', end - at);

                if (!gap)
                        return end;
                at = skip_blanks(s->plain, (size_t)(gap - s->plain), end);
                if (at < end && cay_intent_is_code_tail(text + at, end - at))
                        return at;
        }
        return end;
}

static bool is_word_of(char c)
{
        return isalpha((unsigned char)c) || (unsigned char)c >= 0x80;
}

/*
 * The end of the last word that is more than letters, of the first at least: plain words behind it may be
 * words about the command ("rm -rf build tomorrow"), so that they are read too.
 */
static size_t find_last_sign(const char *text, size_t from, size_t end)
{
        size_t last = from;

        for (size_t at = from; at < end;) {
                bool is_plain = true;

                for (; at < end && text[at] != ' '; at++)
                        is_plain = is_plain && is_word_of(text[at]);
                if (!is_plain || last == from)
                        last = at;
                at = skip_blanks(text, at, end);
        }
        return last;
}

/*
 * Code in a line without any mark around it, in a message that has no other: to its line's end. It leaves its
 * mark as `code` does.
 */
static void take_tail(struct cay_intent_split *s, const char *text)
{
        unsigned nr = 0;

        for (size_t at = 0, end, from; at < s->len && nr < LOOK_LINES; at = end, nr++) {
                size_t last;

                end = line_end(text, at, s->len);
                last = trim_order(text, at, end);
                from = find_tail(s, text, at, last);
                if (from == last)
                        continue;
                keep(s,
                     &(struct cay_intent_piece){ .kind = CAY_INTENT_INLINE, .at = from, .len = last - from });
                blank(s, from, find_last_sign(text, from, last), ' ');
                s->plain[from] = CAY_INTENT_CODE_MARK;
                return;
        }
}

static const struct quote {
        const char *open, *close;
        bool is_apostrophe; /* the mark also stands inside of words */
} quotes[] = {
        { "\"", "\"", false },
        { "\342\200\234", "\342\200\235", false }, /* “ ” */
        { "\342\200\236", "\342\200\234", false }, /* „ “ */
        { "\342\200\236", "\342\200\235", false }, /* „ ” */
        { "\302\253", "\302\273", false },         /* « » */
        { "\302\273", "\302\253", false },         /* » « */
        { "\342\200\230", "\342\200\231", true },  /* ‘ ’ */
        { "'", "'", true },
};

static bool is_letter(char c)
{
        return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static bool is_at(const char *plain, size_t at, size_t end, const char *what)
{
        size_t n = strlen(what);

        return n <= end - at && memcmp(plain + at, what, n) == 0;
}

/* Where the quotation that starts at `at` ends, behind its mark; `at`: there is none. */
static size_t find_quote_end(const char *plain, size_t at, size_t end, const struct quote *q)
{
        size_t i = at + strlen(q->open), n = strlen(q->close);

        if (!is_at(plain, at, end, q->open) || (q->is_apostrophe && at > 0 && is_letter(plain[at - 1])))
                return at;
        while (i < end) {
                const char *close = memmem(plain + i, end - i, q->close, n);

                if (!close)
                        return at;
                i = (size_t)(close - plain) + n;
                if (!q->is_apostrophe || i == end || !is_letter(plain[i]))
                        return i;
        }
        return at;
}

static size_t take_quote(struct cay_intent_split *s, size_t at, size_t end)
{
        for (size_t i = 0; strchr("\"'\302\342", s->plain[at]) && i < CAY_COUNT(quotes); i++) {
                size_t to = find_quote_end(s->plain, at, end, &quotes[i]);

                if (to > at) {
                        blank(s, at, to, ' ');
                        return to;
                }
        }
        return at + 1;
}

static void take_quotes(struct cay_intent_split *s)
{
        for (size_t at = 0, end = 0; at < s->len;) {
                if (at >= end)
                        end = line_end(s->plain, at, s->len);
                at = take_quote(s, at, end - at < QUOTE_MAX ? end : at + QUOTE_MAX);
        }
}

int cay_intent_split(const char *text, size_t len, struct cay_intent_split *ret)
{
        *ret = (struct cay_intent_split){ .len = len, .plain = malloc(len + 1) };
        if (!ret->plain)
                return -ENOMEM;
        memcpy(ret->plain, text, len);
        ret->plain[len] = '\0';
        for (size_t i = 0; i < len; i++)
                if (text[i] == CAY_INTENT_CODE_MARK)
                        ret->plain[i] = ' ';
        take_lines(ret, text);
        if (ret->count == 0)
                take_loose(ret, text);
        take_inline(ret, text, ret->count == 0);
        if (ret->count == 0)
                take_tail(ret, text);
        take_quotes(ret);
        return 0;
}

void cay_intent_split_done(struct cay_intent_split *s)
{
        free(s->plain);
        s->plain = NULL;
}
