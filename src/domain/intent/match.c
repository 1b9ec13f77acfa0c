/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phrases over words. A pattern is a row of elements, parted by blanks:
 *
 *   word          that word;  a|b|c one of them;  ejecut~ every word that starts so;  ~ing that ends so;  # a piece of inline code
 *   @name         one of a set of words (CAY_WORDS of the same language)
 *   _2            up to two words, whichever they are (_1 to _9); at most two such gaps
 *   ^             a clause starts here
 *   $             a clause ends here
 *   ?             the sentence is a question
 *
 * Chinese, Japanese and Korean are read character by character: a "word" of theirs in a pattern is a row of
 * characters, with blanks in the message or without, and a gap counts characters.
 *
 * A match never leaves its sentence. Orders to run, words against running and words about who runs it never
 * leave their clause either: in "don't explain it, run it" nothing is forbidden. Patterns are made into
 * elements again for each message: a few thousand of them, and no state is kept.
 */
#include <errno.h>

#include "domain/intent/intent_priv.h"

#define ELEMENTS_MAX 12u
#define GAPS_MAX 2u
#define SETS_MAX 256u
#define CLEAR 3u /* words that tell a language */
#define ORDER 8u /* the least weight of a plain order */

enum kind { WORD, GAP, START, END, QUESTION };

struct element {
        enum kind kind;
        unsigned gap;
        uint64_t letters; /* that a word may begin with: one bit each */
        const char *words;
        size_t len;
};

struct compiled {
        const struct cay_intent_phrase *phrase;
        /* words that no order (not), no denial (but, just) reaches over; NULL: none */
        const struct element *deny;
        struct element elements[ELEMENTS_MAX];
        unsigned count, first; /* first: the first that is a word */
};

#define CAY_WORDS(name, words)
const struct cay_intent_phrase cay_intent_phrases[] = {
#define CAY_PHRASE(what, weight, pattern) { CAY_CLASS_##what, weight, pattern, CAY_SPEECH },
#include "domain/intent/phrases_all.def"
#undef CAY_PHRASE
};
#undef CAY_WORDS
const unsigned cay_intent_phrase_count = CAY_COUNT(cay_intent_phrases);

#define CAY_PHRASE(what, weight, pattern)
static const struct set {
        const char *name, *words, *speech;
} sets[] = {
#define CAY_WORDS(name, words) { name, words, CAY_SPEECH },
#include "domain/intent/phrases_all.def"
#undef CAY_WORDS
};
#undef CAY_PHRASE
_Static_assert(CAY_COUNT(sets) <= SETS_MAX, "room for every set");

/* What a call makes of the tables. */
struct tables {
        struct element sets[SETS_MAX];   /* as in sets */
        unsigned common[SETS_MAX], most; /* words of the message that a set "common" has */
        struct compiled phrases[];
};

/* A bit for each small letter, one for other ASCII, the rest by the first two bytes after the leading one. */
static uint64_t letter_bit(const char *s, size_t len)
{
        unsigned char c = (unsigned char)*s;

        if (c >= 'a' && c <= 'z')
                return UINT64_C(1) << (c - 'a');
        if (c < 0x80)
                return UINT64_C(1) << 26;
        c = (unsigned char)(len > 1 ? c * 31 + (unsigned char)s[1] * 7 +
                                              (len > 2 && c >= 0xe0 ? (unsigned char)s[2] : 0)
                                    : c);
        return UINT64_C(1) << (27 + c % 37);
}

static bool compile_words(const char *words, size_t len, struct element *e)
{
        *e = (struct element){ .kind = WORD, .words = words, .len = len };
        for (size_t i = 0; i < len; i++)
                if (i == 0 || words[i - 1] == '|')
                        e->letters |= words[i] == '~' ? UINT64_MAX : letter_bit(words + i, len - i);
        return len > 0;
}

/* Sets of one language stand together. */
static const struct element *find_set(const struct element *made, const char *name, size_t len,
                                      const char *speech)
{
        for (size_t i = 0; i < CAY_COUNT(sets); i++)
                if (sets[i].speech[0] == speech[0] && sets[i].speech[1] == speech[1] &&
                    sets[i].name[0] == name[0] && strlen(sets[i].name) == len &&
                    memcmp(sets[i].name, name, len) == 0)
                        return &made[i];
        return NULL;
}

static void compile_sets(struct element made[SETS_MAX])
{
        for (size_t i = 0; i < CAY_COUNT(sets); i++)
                compile_words(sets[i].words, strlen(sets[i].words), &made[i]);
}

static bool compile_element(const struct element *made, const char *text, size_t len, const char *speech,
                            struct element *e)
{
        const struct element *set;

        if (len == 1 && strchr("^$?", *text)) {
                *e = (struct element){ .kind = *text == '^' ? START : *text == '$' ? END : QUESTION };
                return true;
        }
        if (len == 2 && text[0] == '_' && text[1] >= '1' && text[1] <= '9') {
                *e = (struct element){ .kind = GAP, .gap = (unsigned)(text[1] - '0') };
                return true;
        }
        if (*text != '@')
                return compile_words(text, len, e);
        set = find_set(made, text + 1, len - 1, speech);
        if (set)
                *e = *set;
        return set != NULL;
}

static bool compile(const struct element *made, const struct cay_intent_phrase *phrase, struct compiled *c)
{
        const char *pattern = phrase->pattern;

        c->phrase = phrase;
        c->count = 0;
        c->deny = phrase->what == CAY_CLASS_RUN || phrase->what == CAY_CLASS_ACT ||
                                  phrase->what == CAY_CLASS_NONE
                          ? find_set(made, "deny", 4, phrase->speech)
                  : phrase->what == CAY_CLASS_VETO ? find_set(made, "turn", 4, phrase->speech)
                                                   : NULL;
        while (*pattern) {
                size_t len = strcspn(pattern, " ");

                if (c->count == ELEMENTS_MAX ||
                    !compile_element(made, pattern, len, phrase->speech, &c->elements[c->count]))
                        return false;
                c->count++;
                pattern += len + (pattern[len] == ' ');
        }
        for (c->first = 0; c->first < c->count && c->elements[c->first].kind == START; c->first++)
                ;
        return c->first < c->count && c->elements[c->first].kind == WORD;
}

static bool is_folded(const struct element *e)
{
        if (e->words[0] == '_')
                return false;
        for (size_t k = 0; k < e->len; k++)
                if ((unsigned char)e->words[k] < 0x80 &&
                    !strchr("abcdefghijklmnopqrstuvwxyz0123456789_|~#", e->words[k]))
                        return false;
        return true;
}

bool cay_intent_pattern_valid(const char *pattern, const char *speech)
{
        struct element made[SETS_MAX];
        struct compiled c;
        unsigned gaps = 0;

        compile_sets(made);
        if (!compile(made, &(struct cay_intent_phrase){ .pattern = pattern, .speech = speech }, &c))
                return false;
        for (unsigned i = 0; i < c.count; i++) {
                gaps += c.elements[i].kind == GAP;
                if (c.elements[i].kind == WORD && !is_folded(&c.elements[i]))
                        return false;
        }
        return gaps <= GAPS_MAX && c.elements[c.count - 1].kind != GAP;
}

/* Whether what is n bytes long ends where a word does; 0: no, else how many words it is. */
static unsigned count_covered(const struct cay_intent_words *w, unsigned at, size_t n)
{
        unsigned count = 0;

        while (n > 0 && at + count < w->count && w->list[at + count].flen <= n &&
               w->list[at + count].sentence == w->list[at].sentence)
                n -= w->list[at + count++].flen;
        return n == 0 ? count : 0;
}

/* One alternative of n bytes at a word: how many words it is there; 0: it does not stand there. */
static unsigned count_alternative(const struct cay_intent_words *w, unsigned at, const char *alt, size_t n)
{
        const char *word = w->folded + w->list[at].fold;
        size_t len = w->list[at].flen;

        if (n > 1 && alt[0] == '~')
                return len > n - 1 && memcmp(alt + 1, word + len - (n - 1), n - 1) == 0;
        if (n > 0 && alt[n - 1] == '~')
                return len >= n - 1 && memcmp(alt, word, n - 1) == 0;
        if (len == n)
                return memcmp(alt, word, n) == 0;
        if (len != 3 || n < 6 || (unsigned char)*alt < 0xe3 || n > w->folded_len - w->list[at].fold ||
            memcmp(alt, word, n) != 0)
                return 0;
        return count_covered(w, at, n);
}

/* How many words of the message an element takes here, the most it can; 0: none fits. */
static unsigned count_words(const struct cay_intent_words *w, unsigned at, const struct element *e)
{
        const char *alt = e->words, *end = e->words + e->len;
        unsigned most = 0;

        if (!(e->letters & w->list[at].letter))
                return 0;
        while (alt < end) {
                const char *bar = memchr(alt, '|', (size_t)(end - alt));
                size_t n = (size_t)((bar ? bar : end) - alt);
                unsigned got = count_alternative(w, at, alt, n);

                if (got > most)
                        most = got;
                if (most == 1 && w->list[at].flen != 3)
                        break; /* whole words: there is no longer one */
                alt += n + 1;
        }
        return most;
}

static bool ends_clause(const struct cay_intent_words *w, unsigned at)
{
        return at == w->count || w->list[at].sentence != w->list[at - 1].sentence || w->list[at].starts;
}

/* Where a phrase may go: to the end of its sentence, or of its clause. */
static bool is_within(const struct cay_intent_words *w, const struct compiled *c, unsigned first, unsigned at)
{
        const struct cay_intent_phrase *p = c->phrase;
        bool is_narrow = p->what == CAY_CLASS_VETO || p->what == CAY_CLASS_NONE ||
                         p->what == CAY_CLASS_MASK || p->what == CAY_CLASS_ACT ||
                         (p->what == CAY_CLASS_RUN && p->weight >= ORDER) ||
                         (p->what == CAY_CLASS_WHY && p->weight < ORDER);

        return at < w->count && w->list[at].sentence == w->list[first].sentence &&
               (!is_narrow || w->list[at].clause == w->list[first].clause);
}

/*
 * Where a match of the elements from nr on ends, when it goes on at word `at`; 0: there is none. The shortest
 * gap that does is taken. As deep as there are gaps.
 */
static unsigned match_from(const struct cay_intent_words *w, const struct compiled *c, unsigned nr,
                           unsigned at, unsigned first)
{
        for (; nr < c->count; nr++) {
                const struct element *e = &c->elements[nr];
                unsigned got;

                switch (e->kind) {
                case START:
                        if (at >= w->count || !w->list[at].starts)
                                return 0;
                        break;
                case END:
                        if (at == 0 || !ends_clause(w, at))
                                return 0;
                        break;
                case QUESTION:
                        if (at == 0 || !w->list[at - 1].is_question)
                                return 0;
                        break;
                case WORD:
                        got = is_within(w, c, first, at) ? count_words(w, at, e) : 0;
                        if (got == 0)
                                return 0;
                        at += got;
                        break;
                case GAP:
                        for (unsigned skip = 0; skip <= e->gap; skip++) {
                                unsigned end = match_from(w, c, nr + 1, at + skip, first);

                                if (end)
                                        return end;
                                if (!is_within(w, c, first, at + skip) ||
                                    (c->deny && count_words(w, at + skip, c->deny)))
                                        return 0;
                        }
                        return 0;
                }
        }
        return at;
}

/*
 * Of two of the same length: "I cannot run it" is no denial, and "don't forget to run it" an order; else a
 * denial wins.
 */
static bool is_better(const struct cay_intent_phrase *a, const struct cay_intent_phrase *b)
{
        if (b->what == CAY_CLASS_VETO)
                return a->what == CAY_CLASS_MASK || a->what == CAY_CLASS_RUN;
        if (a->what == CAY_CLASS_VETO)
                return b->what != CAY_CLASS_MASK && b->what != CAY_CLASS_RUN;
        return a->weight > b->weight;
}

/* The longest at this word; of equals the one that weighs more, then the first of the table. */
static unsigned find_longest(const struct cay_intent_words *w, const struct compiled *all, unsigned at,
                             const struct cay_intent_phrase **ret)
{
        uint64_t bit = w->list[at].letter;
        unsigned longest = 0;

        for (unsigned i = 0; i < cay_intent_phrase_count; i++) {
                const struct compiled *c = &all[i];
                unsigned end;

                if (!(c->elements[c->first].letters & bit))
                        continue;
                end = match_from(w, c, 0, at, at);
                if (end > longest || (end && end == longest && is_better(c->phrase, *ret))) {
                        longest = end;
                        *ret = c->phrase;
                }
        }
        return longest;
}

/* A clause names a piece beside or inside of the order: "run the second block". */
unsigned cay_intent_find_pick(const struct cay_intent_words *w, unsigned from, unsigned to)
{
        struct element made[SETS_MAX];
        struct compiled c = { 0 };

        compile_sets(made);
        for (unsigned i = 0; i < cay_intent_phrase_count; i++) {
                const struct cay_intent_phrase *p = &cay_intent_phrases[i];

                if (p->what != CAY_CLASS_PICK || !compile(made, p, &c))
                        continue;
                for (unsigned at = from; at < to && at < w->count; at++)
                        if (w->list[at].sentence == w->list[from].sentence && match_from(w, &c, 0, at, at))
                                return c.phrase->weight;
        }
        return 0;
}

/*
 * Which languages a message may be in, by the words that every text has: those that come near the one with
 * the most. English is mixed into all of them. Languages without such a set are told by their script.
 */
static bool is_spoken(const struct tables *t, const char *speech)
{
        const struct element *common = find_set(t->sets, "common", 6, speech);
        unsigned score = common ? t->common[common - t->sets] : 0;

        return !common || t->most < CLEAR ||
               score * (speech[0] == 'e' && speech[1] == 'n' ? 4 : 1) * 10 >= t->most * 7;
}

static void count_common(struct tables *t, const struct cay_intent_words *w)
{
        for (size_t i = 0; i < CAY_COUNT(sets); i++) {
                if (strcmp(sets[i].name, "common") != 0)
                        continue;
                for (unsigned at = 0; at < w->count; at++)
                        t->common[i] += count_words(w, at, &t->sets[i]) > 0;
                if (t->common[i] > t->most)
                        t->most = t->common[i];
        }
}

static void match_all(const struct cay_intent_words *w, const struct compiled *all,
                      struct cay_intent_match *ret, unsigned max, unsigned *ret_count)
{
        *ret_count = 0;
        for (unsigned at = 0, end; at < w->count && *ret_count < max; at = end) {
                const struct cay_intent_phrase *phrase = NULL;

                end = find_longest(w, all, at, &phrase);
                if (end)
                        ret[(*ret_count)++] =
                                (struct cay_intent_match){ .phrase = phrase, .first = at, .count = end - at };
                else
                        end = at + 1;
        }
}

int cay_intent_match(const struct cay_intent_words *w, struct cay_intent_match *ret, unsigned max,
                     unsigned *ret_count)
{
        cay_auto_free struct tables *t =
                calloc(1, sizeof(*t) + cay_intent_phrase_count * sizeof(t->phrases[0]));
        bool spoken = false;

        if (!t)
                return -ENOMEM;
        compile_sets(t->sets);
        count_common(t, w);
        for (unsigned i = 0; i < cay_intent_phrase_count; i++) {
                const char *speech = cay_intent_phrases[i].speech;

                if (i == 0 || speech[0] != cay_intent_phrases[i - 1].speech[0] ||
                    speech[1] != cay_intent_phrases[i - 1].speech[1])
                        spoken = is_spoken(t, speech);
                if (spoken)
                        compile(t->sets, &cay_intent_phrases[i],
                                &t->phrases[i]); /* a test says: all are valid */
        }
        match_all(w, t->phrases, ret, max, ret_count);
        return 0;
}

/* Words that a set of any language has. */
static void mark_set(struct cay_intent_words *w, const char *name, unsigned flag)
{
        struct element e;

        for (size_t i = 0; i < CAY_COUNT(sets); i++) {
                if (strcmp(sets[i].name, name) != 0)
                        continue;
                compile_words(sets[i].words, strlen(sets[i].words), &e);
                for (unsigned at = 0; at < w->count; at++)
                        for (unsigned n = count_words(w, at, &e); n > 0; n--)
                                w->list[at + n - 1].flags |= flag;
        }
}

void cay_intent_mark_words(struct cay_intent_words *w)
{
        for (unsigned i = 0; i < w->count; i++)
                w->list[i].letter = letter_bit(w->folded + w->list[i].fold, w->list[i].flen);
        mark_set(w, "fill", CAY_INTENT_FILL);
        mark_set(w, "small", CAY_INTENT_SMALL);
        mark_set(w, "risk", CAY_INTENT_RISK);
        mark_set(w, "deny", CAY_INTENT_DENY);
}
