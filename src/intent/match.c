/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phrases over words. A pattern is a row of elements, parted by blanks:
 *
 *   word          that word;  a|b|c one of them;  ejecut~ every word that starts so;  # a piece of inline code
 *   @name         one of a set of words (CAY_WORDS of the same language)
 *   _2            up to two words, whichever they are (_1 to _4); at most two such gaps
 *   ^             a clause starts here
 *   $             a clause ends here
 *   ?             the sentence is a question
 *
 * A match never leaves its sentence. Patterns are made into elements anew for each message: a few thousand of them, and no state is kept.
 */
#include <errno.h>

#include "intent/intent_priv.h"

#define ELEMENTS_MAX 12u
#define GAPS_MAX 2u

/* No order to run reaches over one of these: "please do not just run it". */
static const char denials[] =
        "not|don|dont|never|no|nor|without|cannot|nicht|nie|niemals|nichts|kein|keine|keinen|ohne|"
        "nunca|jamas|sin|tampoco|ne|n|pas|jamais|rien|sans|aucun|aucune|"
        "avoid|refrain|vermeide|vermeiden|evita|evitar|evite|evitez|eviter";

enum kind { WORD, GAP, START, END, QUESTION };

struct element {
        enum kind kind;
        unsigned gap;
        uint32_t letters; /* that a word may begin with: one bit each */
        const char *words;
        size_t len;
};

struct compiled {
        const struct cay_intent_phrase *phrase;
        struct element elements[ELEMENTS_MAX];
        unsigned count, first; /* first: the first that is a word */
};

#define CAY_WORDS(name, words)
const struct cay_intent_phrase cay_intent_phrases[] = {
#define CAY_PHRASE(what, weight, pattern) { CAY_CLASS_##what, weight, pattern, "en" },
#include "intent/phrases_en.def"
#undef CAY_PHRASE
#define CAY_PHRASE(what, weight, pattern) { CAY_CLASS_##what, weight, pattern, "de" },
#include "intent/phrases_de.def"
#undef CAY_PHRASE
#define CAY_PHRASE(what, weight, pattern) { CAY_CLASS_##what, weight, pattern, "es" },
#include "intent/phrases_es.def"
#undef CAY_PHRASE
#define CAY_PHRASE(what, weight, pattern) { CAY_CLASS_##what, weight, pattern, "fr" },
#include "intent/phrases_fr.def"
#undef CAY_PHRASE
};
#undef CAY_WORDS
const unsigned cay_intent_phrase_count = CAY_COUNT(cay_intent_phrases);

#define CAY_PHRASE(what, weight, pattern)
static const struct set {
        const char *name, *words, *speech;
} sets[] = {
#define CAY_WORDS(name, words) { name, words, "en" },
#include "intent/phrases_en.def"
#undef CAY_WORDS
#define CAY_WORDS(name, words) { name, words, "de" },
#include "intent/phrases_de.def"
#undef CAY_WORDS
#define CAY_WORDS(name, words) { name, words, "es" },
#include "intent/phrases_es.def"
#undef CAY_WORDS
#define CAY_WORDS(name, words) { name, words, "fr" },
#include "intent/phrases_fr.def"
#undef CAY_WORDS
};
#undef CAY_PHRASE

static uint32_t letter_bit(char c)
{
        return c >= 'a' && c <= 'z' ? 1u << (c - 'a') : 1u << 31;
}

static const struct set *find_set(const char *name, size_t len, const char *speech)
{
        for (size_t i = 0; i < CAY_COUNT(sets); i++)
                if (strlen(sets[i].name) == len && memcmp(sets[i].name, name, len) == 0 &&
                    strcmp(sets[i].speech, speech) == 0)
                        return &sets[i];
        return NULL;
}

static bool compile_words(const char *words, size_t len, struct element *e)
{
        *e = (struct element){ .kind = WORD, .words = words, .len = len };
        for (size_t i = 0; i < len; i++)
                if (i == 0 || words[i - 1] == '|')
                        e->letters |= letter_bit(words[i]);
        return len > 0;
}

static bool compile_element(const char *text, size_t len, const char *speech, struct element *e)
{
        const struct set *set;

        if (len == 1 && strchr("^$?", *text)) {
                *e = (struct element){ .kind = *text == '^' ? START : *text == '$' ? END : QUESTION };
                return true;
        }
        if (len == 2 && text[0] == '_' && text[1] >= '1' && text[1] <= '4') {
                *e = (struct element){ .kind = GAP, .gap = (unsigned)(text[1] - '0') };
                return true;
        }
        if (*text != '@')
                return compile_words(text, len, e);
        set = find_set(text + 1, len - 1, speech);
        return set && compile_words(set->words, strlen(set->words), e);
}

static bool compile(const char *pattern, const char *speech, struct compiled *c)
{
        c->count = 0;
        while (*pattern) {
                size_t len = strcspn(pattern, " ");

                if (c->count == ELEMENTS_MAX ||
                    !compile_element(pattern, len, speech, &c->elements[c->count]))
                        return false;
                c->count++;
                pattern += len + (pattern[len] == ' ');
        }
        for (c->first = 0; c->first < c->count && c->elements[c->first].kind == START; c->first++)
                ;
        return c->first < c->count && c->elements[c->first].kind == WORD;
}

bool cay_intent_pattern_valid(const char *pattern, const char *speech)
{
        struct compiled c;
        unsigned gaps = 0;

        if (!compile(pattern, speech, &c))
                return false;
        for (unsigned i = 0; i < c.count; i++) {
                const struct element *e = &c.elements[i];

                gaps += e->kind == GAP;
                if (e->kind == WORD && e->words[0] == '_')
                        return false;
                for (size_t k = 0; e->kind == WORD && k < e->len; k++)
                        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_|~#", e->words[k]))
                                return false;
        }
        return gaps <= GAPS_MAX && c.elements[c.count - 1].kind != GAP;
}

static bool is_one_of(const struct element *e, const char *word, size_t len)
{
        const char *at = e->words, *end = e->words + e->len;

        if (!(e->letters & letter_bit(*word)))
                return false;
        while (at < end) {
                const char *bar = memchr(at, '|', (size_t)(end - at));
                size_t n = (size_t)((bar ? bar : end) - at);

                if (n > 0 && at[n - 1] == '~' ? len >= n - 1 && memcmp(at, word, n - 1) == 0
                                              : len == n && memcmp(at, word, n) == 0)
                        return true;
                at += n + 1;
        }
        return false;
}

static bool ends_clause(const struct cay_intent_words *w, unsigned at)
{
        return at == w->count || w->list[at].sentence != w->list[at - 1].sentence || w->list[at].starts;
}

bool cay_intent_is_in_set(const char *name, const char *word, size_t len)
{
        struct element e;

        for (size_t i = 0; i < CAY_COUNT(sets); i++)
                if (strcmp(sets[i].name, name) == 0 &&
                    compile_words(sets[i].words, strlen(sets[i].words), &e) && is_one_of(&e, word, len))
                        return true;
        return false;
}

static bool is_denial(const struct cay_intent_words *w, unsigned at)
{
        struct element e = {
                .kind = WORD, .letters = UINT32_MAX, .words = denials, .len = sizeof(denials) - 1
        };

        return at < w->count && is_one_of(&e, w->folded + w->list[at].fold, w->list[at].flen);
}

/*
 * Where a match of the elements from nr on ends, when it goes on at word `at`; 0: there is none. The shortest gap that does is taken.
 * As deep as there are gaps.
 */
static unsigned match_from(const struct cay_intent_words *w, const struct compiled *c, unsigned nr,
                           unsigned at, uint32_t sentence)
{
        for (; nr < c->count; nr++) {
                const struct element *e = &c->elements[nr];
                const struct cay_intent_word *word = at < w->count ? &w->list[at] : NULL;

                switch (e->kind) {
                case START:
                        if (!word || !word->starts)
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
                        if (!word || word->sentence != sentence ||
                            !is_one_of(e, w->folded + word->fold, word->flen))
                                return 0;
                        at++;
                        break;
                case GAP:
                        for (unsigned skip = 0; skip <= e->gap; skip++) {
                                unsigned end = match_from(w, c, nr + 1, at + skip, sentence);

                                if (end)
                                        return end;
                                if (c->phrase->what == CAY_CLASS_RUN && is_denial(w, at + skip))
                                        return 0;
                        }
                        return 0;
                }
        }
        return at;
}

/* The longest at this word; of equals the one that weighs more, then the first of the table. */
static unsigned find_longest(const struct cay_intent_words *w, const struct compiled *all, unsigned at,
                             const struct cay_intent_phrase **ret)
{
        uint32_t bit = letter_bit(w->folded[w->list[at].fold]);
        unsigned longest = 0;

        for (unsigned i = 0; i < cay_intent_phrase_count; i++) {
                const struct compiled *c = &all[i];
                unsigned end;

                if (!(c->elements[c->first].letters & bit))
                        continue;
                end = match_from(w, c, 0, at, w->list[at].sentence);
                if (end > longest || (end && end == longest && c->phrase->weight > (*ret)->weight)) {
                        longest = end;
                        *ret = c->phrase;
                }
        }
        return longest;
}

/* A clause names a piece beside or inside of the order: "run the second block". */
unsigned cay_intent_find_pick(const struct cay_intent_words *w, unsigned from, unsigned to)
{
        struct compiled c = { 0 };

        for (unsigned i = 0; i < cay_intent_phrase_count; i++) {
                c.phrase = &cay_intent_phrases[i];
                if (c.phrase->what != CAY_CLASS_PICK || !compile(c.phrase->pattern, c.phrase->speech, &c))
                        continue;
                for (unsigned at = from; at < to && at < w->count; at++)
                        if (match_from(w, &c, 0, at, w->list[from].sentence))
                                return c.phrase->weight;
        }
        return 0;
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
        cay_auto_free struct compiled *all = calloc(cay_intent_phrase_count, sizeof(*all));

        if (!all)
                return -ENOMEM;
        for (unsigned i = 0; i < cay_intent_phrase_count; i++) {
                all[i].phrase = &cay_intent_phrases[i];
                compile(all[i].phrase->pattern, all[i].phrase->speech,
                        &all[i]); /* a test says that all are valid */
        }
        match_all(w, all, ret, max, ret_count);
        return 0;
}
