/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words as phrases are written: small letters without accents. An apostrophe parts words like a blank does
 * ("don't" is don, t), whichever of its forms is typed. Words know their sentence, whether that is a
 * question, and whether a clause starts with them; words that say nothing (please, ok…) pass a clause's start
 * on to the next one. Chinese, Japanese and Korean have a word for every character.
 */
#include <assert.h>
#include <ctype.h>
#include <errno.h>

#include "foundation/base/utf8.h"
#include "domain/intent/intent_priv.h"

#define HALF (CAY_INTENT_WORDS_MAX / 2)

/* U+00C0 to U+017F without their accents; a blank: no letter. */
static const char *const latin[] = {
        "a", "a", "a",  "a",  "a", "a", "ae", "c", "e", "e", "e", "e", "i", "i", "i",  "i", /* 00c0 */
        "d", "n", "o",  "o",  "o", "o", "o",  " ", "o", "u", "u", "u", "u", "y", "th", "ss",
        "a", "a", "a",  "a",  "a", "a", "ae", "c", "e", "e", "e", "e", "i", "i", "i",  "i", /* 00e0 */
        "d", "n", "o",  "o",  "o", "o", "o",  " ", "o", "u", "u", "u", "u", "y", "th", "y",
        "a", "a", "a",  "a",  "a", "a", "c",  "c", "c", "c", "c", "c", "c", "c", "d",  "d", /* 0100 */
        "d", "d", "e",  "e",  "e", "e", "e",  "e", "e", "e", "e", "e", "g", "g", "g",  "g",
        "g", "g", "g",  "g",  "h", "h", "h",  "h", "i", "i", "i", "i", "i", "i", "i",  "i", /* 0120 */
        "i", "i", "ij", "ij", "j", "j", "k",  "k", "k", "l", "l", "l", "l", "l", "l",  "l",
        "l", "l", "l",  "n",  "n", "n", "n",  "n", "n", "n", "n", "n", "o", "o", "o",  "o", /* 0140 */
        "o", "o", "oe", "oe", "r", "r", "r",  "r", "r", "r", "s", "s", "s", "s", "s",  "s",
        "s", "s", "t",  "t",  "t", "t", "t",  "t", "u", "u", "u", "u", "u", "u", "u",  "u", /* 0160 */
        "u", "u", "u",  "u",  "w", "w", "y",  "y", "y", "z", "z", "z", "z", "z", "z",  "s",
};

static_assert(CAY_COUNT(latin) == 0x180 - 0xc0, "a row for every letter");

/* Signs above ASCII that part words. */
static const struct range {
        uint32_t from, to;
} signs[] = {
        { 0x80, 0xa9 },     { 0xab, 0xb4 },     { 0xb6, 0xb9 },     { 0xbb, 0xbf },     { 0x2000, 0x206f },
        { 0x20a0, 0x20cf }, { 0x2190, 0x2bff }, { 0x3000, 0x3004 }, { 0x3008, 0x3020 }, { 0x30fb, 0x30fb },
        { 0xfe00, 0xfe0f }, { 0xff01, 0xff0f }, { 0xff1a, 0xff20 }, { 0xff5e, 0xff65 }, { 0x1f000, 0x1faff },
};

/*
 * Scripts that are written without blanks, or with blanks where the writer likes: every character is a word
 * of its own.
 */
static const struct range single[] = {
        { 0x3005, 0x3007 }, { 0x3040, 0x30ff }, { 0x3400, 0x9fff }, { 0xac00, 0xd7a3 }, { 0x20000, 0x2ffff },
};

/* Signs above ASCII that end something, as the ASCII sign that does the same. */
static const struct sign {
        uint32_t c;
        char as;
} enders[] = {
        { 0x2013, ',' }, { 0x2014, ',' }, { 0x2026, ',' }, { 0x3001, ',' }, { 0x3002, '!' },
        { 0xff01, '!' }, { 0xff0c, ',' }, { 0xff1a, '!' }, { 0xff1b, '!' }, { 0xff1f, '?' },
        { 0xff08, ',' }, { 0xff09, ',' }, { 0xbf, ',' },   { 0xa1, ',' },
};

struct reader {
        const char *plain;
        size_t at, len;
        struct cay_intent_words *out;
        uint32_t fold, sentence, clause;
        unsigned seen, total; /* words; total 0: they are only counted */
        unsigned newlines;
        bool starts;
};

static bool is_in(const struct range *list, size_t count, uint32_t c)
{
        for (size_t i = 0; i < count; i++)
                if (c >= list[i].from && c <= list[i].to)
                        return true;
        return false;
}

static bool is_sign(uint32_t c)
{
        return is_in(signs, CAY_COUNT(signs), c);
}

static bool is_single(const char *s, size_t n)
{
        return n >= 3 && is_in(single, CAY_COUNT(single), cay_utf8_decode(s, n));
}

/* An accent of its own, as some systems type "e" and then the accent: no letter, and no end of the word. */
static bool is_accent(const char *s, size_t n)
{
        return n == 2 && (unsigned char)s[0] >= 0xcc && cay_utf8_decode(s, n) >= 0x300 &&
               cay_utf8_decode(s, n) <= 0x36f;
}

/* Small letters of Russian and its neighbours; e for io. */
static uint32_t fold_cyrillic(uint32_t c)
{
        if (c >= 0x400 && c <= 0x40f)
                c += 0x50;
        else if (c >= 0x410 && c <= 0x42f)
                c += 0x20;
        return c == 0x451 ? 0x435 : c;
}

/* The letter at s as phrases have it, in room bytes of its own length; 0: no letter. */
static size_t fold(const char *s, size_t n, char *to)
{
        uint32_t c = cay_utf8_decode(s, n);
        const char *base;

        if (c < 0x80) {
                *to = (char)tolower((int)c);
                return isalnum((int)c) || c == '_';
        }
        if (is_sign(c))
                return 0;
        base = c >= 0xc0 && c - 0xc0 < CAY_COUNT(latin) ? latin[c - 0xc0] : NULL;
        if (base && base[0] == ' ')
                return 0;
        if (c >= 0x400 && c <= 0x45f) {
                c = fold_cyrillic(c);
                to[0] = (char)(0xc0 | c >> 6);
                to[1] = (char)(0x80 | (c & 0x3f));
                return 2;
        }
        memcpy(to, base ? base : s, base ? strlen(base) : n);
        return base ? strlen(base) : n;
}

static size_t char_len(const struct reader *r)
{
        size_t n = cay_utf8_next(r->plain + r->at, r->len - r->at);

        return n ? n : 1;
}

static bool is_kept(const struct reader *r)
{
        return r->total > 0 && (r->seen < HALF || r->seen + HALF >= r->total);
}

static void put_word(struct reader *r, size_t from, uint32_t flen)
{
        struct cay_intent_words *w = r->out;

        if (is_kept(r)) {
                w->list[w->count++] = (struct cay_intent_word){ .at = (uint32_t)from,
                                                                .end = (uint32_t)r->at,
                                                                .fold = r->fold,
                                                                .flen = flen,
                                                                .sentence = r->sentence,
                                                                .clause = r->clause,
                                                                .starts = r->starts };
                r->fold += flen;
        } else if (r->seen == HALF) {
                r->sentence++; /* what follows the gap is another one */
                r->clause++;
        }
        r->seen++;
        r->starts = false;
        r->newlines = 0;
}

static void mark_question(struct reader *r)
{
        struct cay_intent_words *w = r->out;

        for (unsigned i = w->count; i > 0 && w->list[i - 1].sentence == r->sentence; i--)
                w->list[i - 1].is_question = true;
}

static void start_clause(struct reader *r)
{
        r->clause++;
        r->starts = true;
}

static void end_sentence(struct reader *r)
{
        r->sentence++;
        start_clause(r);
}

static bool is_letter_next(const struct reader *r)
{
        return r->at + 1 < r->len && isalnum((unsigned char)r->plain[r->at + 1]);
}

/* The sign here, or the ASCII one that does the same. */
static char find_sign(const struct reader *r)
{
        size_t n = char_len(r);
        uint32_t c = cay_utf8_decode(r->plain + r->at, n);

        for (size_t i = 0; n > 1 && i < CAY_COUNT(enders); i++)
                if (enders[i].c == c)
                        return enders[i].as;
        return n > 1 ? ' ' : r->plain[r->at];
}

/* A sign between words: does a clause, or a sentence, end with it? */
static void read_sign(struct reader *r)
{
        char c = find_sign(r);

        if (c == '?' && r->total > 0)
                mark_question(r);
        if (c == '\n' && ++r->newlines == 2)
                end_sentence(r);
        else if (c == '?' || c == '!' || ((c == '.' || c == ':' || c == ';') && !is_letter_next(r)))
                end_sentence(r);
        else if (c == ',' || c == '(' || c == ')' || c == '*')
                start_clause(r);
        else if (c == '\n')
                r->starts = true; /* a line that was wrapped goes on in its clause */
        else if (c == '-' && (r->at == 0 || isspace((unsigned char)r->plain[r->at - 1])))
                start_clause(r);
}

static void read_word(struct reader *r)
{
        size_t from = r->at, n, got;
        uint32_t flen = 0;
        char letter[8];

        if (r->plain[r->at] == CAY_INTENT_CODE_MARK) {
                if (is_kept(r))
                        r->out->folded[r->fold] = '#';
                r->at++;
                put_word(r, from, 1);
                return;
        }
        for (; r->at < r->len; r->at += n, flen += (uint32_t)got) {
                n = char_len(r);
                got = 0;
                if (r->at > from && is_accent(r->plain + r->at, n))
                        continue;
                if (r->at > from && is_single(r->plain + r->at, n))
                        break;
                got = fold(r->plain + r->at, n, letter);
                if (got == 0)
                        break;
                if (is_kept(r))
                        memcpy(r->out->folded + r->fold + flen, letter, got);
                if (is_single(r->plain + r->at, n)) {
                        r->at += n;
                        flen += (uint32_t)got;
                        break;
                }
        }
        if (r->at > from) {
                put_word(r, from, flen);
                return;
        }
        read_sign(r);
        r->at += char_len(r);
}

static unsigned read_all(const char *plain, size_t len, struct cay_intent_words *out, unsigned total)
{
        struct reader r = { .plain = plain, .len = len, .out = out, .total = total, .starts = true };

        while (r.at < r.len)
                read_word(&r);
        return r.seen;
}

static void pass_starts_on(struct cay_intent_words *w)
{
        for (unsigned i = 1; i < w->count; i++) {
                const struct cay_intent_word *before = &w->list[i - 1];

                if (before->starts && before->sentence == w->list[i].sentence &&
                    (before->flags & CAY_INTENT_FILL))
                        w->list[i].starts = true;
        }
}

int cay_intent_words(const char *plain, size_t len, struct cay_intent_words *ret)
{
        unsigned total;

        *ret = (struct cay_intent_words){ .list = calloc(CAY_INTENT_WORDS_MAX, sizeof(*ret->list)),
                                          .folded = malloc(len + 1) };
        if (!ret->list || !ret->folded) {
                cay_intent_words_done(ret);
                return -ENOMEM;
        }
        total = read_all(plain, len, ret, 0);
        ret->is_cut = total > CAY_INTENT_WORDS_MAX;
        if (total > 0)
                read_all(plain, len, ret, total);
        if (ret->count > 0)
                ret->folded_len = ret->list[ret->count - 1].fold + ret->list[ret->count - 1].flen;
        cay_intent_mark_words(ret);
        pass_starts_on(ret);
        return 0;
}

void cay_intent_words_done(struct cay_intent_words *w)
{
        free(w->list);
        free(w->folded);
        *w = (struct cay_intent_words){ 0 };
}
