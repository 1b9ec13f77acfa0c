/* SPDX-License-Identifier: Apache-2.0 */
/* What the phrases that were found amount to. */
#include <errno.h>
#include <stdio.h>

#include "foundation/base/str.h"
#include "foundation/base/utf8.h"
#include "domain/intent/intent_priv.h"

#define MATCHES_MAX CAY_INTENT_WORDS_MAX /* none is lost: it may be the one that says no */
#define PICK_REACH 3u                    /* words behind an order that may name a piece */
#define STRONG 8u                        /* a plain order */
#define FIRM 7u        /* words that it is not for now, and that a plain order does not outweigh */
#define HEARD 4u       /* enough to say what a message asks for */
#define SCORE_MAX 30u  /* of one kind: saying it ten times does not make it truer */
#define FEW_WORDS 6u   /* around a block that runs for being there */
#define QUOTED_MAX 60u /* bytes of the message in a reason */
#define CONFIDENT_MAX 99u

struct weighed {
        const char *text;
        struct cay_intent_words words;
        struct cay_intent_match matches[MATCHES_MAX];
        unsigned count;
        const struct cay_intent_match *held; /* a condition that an order stands under */
        const struct cay_intent_match *veto, *best[CAY_INTENT_COUNT]; /* the heaviest of each kind */
        unsigned first[CAY_INTENT_COUNT];                             /* word that each kind starts at */
        unsigned pick;                                                /* 0: nobody said which piece */
};

static const char *const words[] = {
        [CAY_INTENT_NONE] = "none",   [CAY_INTENT_RUN] = "run",         [CAY_INTENT_EXPLAIN] = "explain",
        [CAY_INTENT_WRITE] = "write", [CAY_INTENT_IMPROVE] = "improve", [CAY_INTENT_WHY] = "why",
};

/* What each is, in a reason. */
static const char *const wishes[] = {
        [CAY_INTENT_NONE] = "asks for nothing to be done with it now",
        [CAY_INTENT_RUN] = "asks for a run",
        [CAY_INTENT_EXPLAIN] = "asks for an explanation",
        [CAY_INTENT_WRITE] = "asks for something to be written",
        [CAY_INTENT_IMPROVE] = "asks for a change of the code",
        [CAY_INTENT_WHY] = "asks for a cause",
};

static const char *const kind_words[] = {
        [CAY_INTENT_NO_CODE] = "none",
        [CAY_INTENT_FENCED] = "fenced",
        [CAY_INTENT_INLINE] = "inline",
        [CAY_INTENT_LOOSE] = "loose",
};

const char *cay_intent_word(enum cay_intent what)
{
        return (unsigned)what < CAY_COUNT(words) ? words[what] : "none";
}

const char *cay_intent_code_kind_word(enum cay_intent_code_kind kind)
{
        return (unsigned)kind < CAY_COUNT(kind_words) ? kind_words[kind] : "none";
}

/* Pieces */

/* Tags that people put on anything: then the code itself says more. */
static bool says_nothing(const struct cay_language *l)
{
        return strcmp(l->name, "text") == 0 || strcmp(l->name, "console") == 0;
}

static void fill_code(const char *text, const struct cay_intent_piece *p, struct cay_intent_code *ret)
{
        const struct cay_language *l = cay_language_find(text + p->tag_at, p->tag_len);
        const char *name = NULL;
        size_t len = 0;

        *ret = (struct cay_intent_code){
                .kind = p->kind, .text = text + p->at, .len = p->len, .is_tagged = p->tag_len > 0
        };
        if (l && says_nothing(l))
                l = cay_intent_guess_language(ret->text, ret->len) ? NULL : l;
        if (p->tag_len > 0 && !l && !cay_language_find(text + p->tag_at, p->tag_len)) {
                name = text + p->tag_at;
                len = cay_utf8_cut(name, p->tag_len < CAY_INTENT_LANGUAGE_MAX ? p->tag_len
                                                                              : CAY_INTENT_LANGUAGE_MAX);
        } else {
                l = l ? l : cay_intent_guess_language(ret->text, ret->len);
                name = l ? l->name : "";
                len = strlen(name);
        }
        memcpy(ret->language, name, len);
        ret->language[len] = '\0';
        ret->is_runnable = l && l->kind == CAY_LANGUAGE_PROGRAM;
}

/*
 * The piece that is meant: the one that the message names, else the first that is a program's text, else the
 * first.
 */
static void choose_code(const struct cay_intent_split *s, const char *text, unsigned pick,
                        struct cay_intent_code *ret)
{
        struct cay_intent_code c;

        *ret = (struct cay_intent_code){ 0 };
        if (pick == CAY_INTENT_PICK_LAST || pick > s->count)
                pick = pick == CAY_INTENT_PICK_LAST ? s->count : 0;
        for (unsigned i = 0; i < s->count; i++) {
                if (pick > 0 && i + 1 != pick)
                        continue;
                fill_code(text, &s->pieces[i], &c);
                if (ret->kind == CAY_INTENT_NO_CODE || (c.is_runnable && !ret->is_runnable)) {
                        *ret = c;
                        ret->nr = i + 1;
                }
        }
        ret->count = s->count;
}

/* Scopes */

static const struct cay_intent_word *first_word(const struct weighed *w, const struct cay_intent_match *m)
{
        return &w->words.list[m->first];
}

static bool is_run(const struct cay_intent_match *m)
{
        return m->phrase->what == CAY_CLASS_RUN || m->phrase->what == CAY_CLASS_ACT;
}

static bool is_order(const struct cay_intent_match *m)
{
        return is_run(m) && m->phrase->weight >= STRONG;
}

/* Languages whose questions have their words of asking behind the verb. */
static bool ends_with_verb(const char *speech)
{
        return memchr("zjkt", speech[0], 4) != NULL; /* zh, ja, ko, tr */
}

/*
 * "what happens if I run this": what follows in the clause is no order, and no hint of the sentence counts.
 */
static void drop_asked_about(struct weighed *w, const struct cay_intent_match *about)
{
        const struct cay_intent_word *at = first_word(w, about);

        for (unsigned i = 0; i < w->count; i++) {
                struct cay_intent_match *m = &w->matches[i];
                const struct cay_intent_word *word = first_word(w, m);

                if (is_run(m) && word->sentence == at->sentence &&
                    (!is_order(m) || ((m->first > about->first || ends_with_verb(about->phrase->speech)) &&
                                      word->clause == at->clause)))
                        m->is_dropped = true;
        }
}

/* "once I say go, run this": orders of the sentence are for another time. */
static void drop_conditional(struct weighed *w, const struct cay_intent_match *condition)
{
        for (unsigned i = 0; i < w->count; i++) {
                struct cay_intent_match *m = &w->matches[i];

                if (is_run(m) && first_word(w, m)->sentence == first_word(w, condition)->sentence) {
                        m->is_dropped = true;
                        w->held = w->held || !is_order(m) ? w->held : condition;
                }
        }
}

/*
 * A word of denial that no phrase has read, before an order in its clause: whatever it says, it is no plain
 * order.
 */
static bool is_denied(const struct weighed *w, unsigned nr)
{
        const struct cay_intent_match *m = &w->matches[nr];
        unsigned from = nr > 0 ? w->matches[nr - 1].first + w->matches[nr - 1].count : 0;

        if (memchr("jkt", m->phrase->speech[0],
                   3)) /* ja, ko, tr: denial follows the verb, and is part of the phrase */
                return false;
        for (unsigned at = m->first; at > from && w->words.list[at - 1].clause == first_word(w, m)->clause;
             at--)
                if (w->words.list[at - 1].flags & CAY_INTENT_DENY)
                        return true;
        return false;
}

/*
 * In some languages the order is also what one says of others ("corre en Windows?"): in a question it is
 * none.
 */
static bool is_asked(const struct weighed *w, const struct cay_intent_match *m)
{
        static const char *const speeches[] = { "es", "pt", "it", "fr" };
        unsigned last = m->first + m->count - 1;

        if (strcmp(m->phrase->speech, "zh") == 0 &&
            (unsigned char)m->phrase->pattern[0] == 0xe8) /* yunxing: first */
                return w->words.list[last].is_question;
        if (m->phrase->pattern[0] != '^' || !w->words.list[last].is_question)
                return false;
        if (m->phrase->what == CAY_CLASS_ACT) /* "wipes it the disk?" is asked in every language */
                return true;
        while (last + 1 < w->words.count && w->words.list[last + 1].sentence == w->words.list[last].sentence)
                last++;
        for (size_t i = 0; i < CAY_COUNT(speeches); i++)
                if (strcmp(m->phrase->speech, speeches[i]) == 0)
                        return w->words.list[last].clause == first_word(w, m)->clause;
        return false;
}

/*
 * "delete the folder" beside code that deletes asks for that; beside other code it asks for a change of it.
 */
static void drop_acts(struct weighed *w, const struct cay_intent_danger *danger)
{
        for (unsigned i = 0; i < w->count; i++)
                if (w->matches[i].phrase->what == CAY_CLASS_ACT && (!danger->what || danger->in_words))
                        w->matches[i].is_dropped = true;
}

static void apply_scopes(struct weighed *w)
{
        for (unsigned i = 0; i < w->count; i++)
                if (is_order(&w->matches[i]) && (is_denied(w, i) || is_asked(w, &w->matches[i])))
                        w->matches[i].is_dropped = true;
        for (unsigned i = 0; i < w->count; i++) {
                if (w->matches[i].phrase->what == CAY_CLASS_ABOUT ||
                    (w->matches[i].phrase->what == CAY_CLASS_WHY && w->matches[i].phrase->weight >= STRONG))
                        drop_asked_about(w, &w->matches[i]);
                else if (w->matches[i].phrase->what == CAY_CLASS_IF)
                        drop_conditional(w, &w->matches[i]);
        }
}

/* Weights */

/* What a match counts as. */
static enum cay_intent find_kind(const struct cay_intent_match *m)
{
        switch (m->phrase->what) {
        case CAY_CLASS_ACT:
                return CAY_INTENT_RUN;
        case CAY_CLASS_ABOUT:
                return CAY_INTENT_EXPLAIN;
        case CAY_CLASS_IF:
        case CAY_CLASS_VETO:
                return CAY_INTENT_NONE;
        default:
                return (enum cay_intent)m->phrase->what;
        }
}

static unsigned find_weight(const struct cay_intent_match *m)
{
        return m->phrase->weight;
}

/* The words of a match as they stand in the message; inline code at its end is left out. */
static const char *find_span(const struct weighed *w, const struct cay_intent_match *m, size_t *ret_len)
{
        const struct cay_intent_word *from = &w->words.list[m->first], *to = from + m->count - 1;

        while (to > from && w->words.folded[to->fold] == '#')
                to--;
        *ret_len = to->end - from->at;
        return w->text + from->at;
}

static void note_hit(struct weighed *w, const struct cay_intent_match *m, struct cay_intent_result *ret)
{
        struct cay_intent_hit *hit;

        if (ret->hit_count == CAY_INTENT_HITS_MAX)
                return;
        hit = &ret->hits[ret->hit_count++];
        hit->what = find_kind(m);
        hit->is_veto = m->phrase->what == CAY_CLASS_VETO;
        hit->weight = find_weight(m);
        hit->text = find_span(w, m, &hit->len);
}

static void weigh_kind(struct weighed *w, const struct cay_intent_match *m, struct cay_intent_result *ret)
{
        unsigned what = find_kind(m), weight = find_weight(m), sum = ret->scores[what] + weight;

        if (!w->best[what])
                w->first[what] = m->first;
        if (!w->best[what] || weight > find_weight(w->best[what]))
                w->best[what] = m;
        ret->scores[what] = sum < SCORE_MAX ? sum : SCORE_MAX;
}

static bool counts(const struct weighed *w, const struct cay_intent_match *m)
{
        if (m->phrase->what == CAY_CLASS_IF)
                return m == w->held;
        return !m->is_dropped && m->phrase->what != CAY_CLASS_MASK && m->phrase->what != CAY_CLASS_PICK;
}

static void weigh(struct weighed *w, struct cay_intent_result *ret)
{
        unsigned most = 0;

        for (unsigned i = 0; i < w->count; i++) {
                const struct cay_intent_match *m = &w->matches[i];

                if (!counts(w, m))
                        continue;
                if (is_run(m) && w->pick == 0)
                        w->pick = cay_intent_find_pick(&w->words, m->first, m->first + m->count + PICK_REACH);
                if (m->phrase->what == CAY_CLASS_VETO)
                        w->veto = w->veto ? w->veto : m;
                else
                        weigh_kind(w, m, ret);
                note_hit(w, m, ret);
                if (find_weight(m) > most || ret->speech[0] == '\0') {
                        most = find_weight(m);
                        ret->speech = m->phrase->speech;
                }
        }
}

/*
 * The wish that is not a run with the most weight; NONE counts as one: "for later". CAY_INTENT_RUN: there is
 * none.
 */
static enum cay_intent find_other(const struct cay_intent_result *r)
{
        enum cay_intent best = CAY_INTENT_RUN;
        unsigned most = HEARD - 1;

        for (unsigned i = 0; i < CAY_INTENT_COUNT; i++)
                if (i != CAY_INTENT_RUN && r->scores[i] > most) {
                        most = r->scores[i];
                        best = (enum cay_intent)i;
                }
        return best;
}

/*
 * Firm words that it is not for now, in the sentence of the last order or behind it; a condition wherever it
 * stands.
 */
static bool is_put_off(const struct weighed *w)
{
        uint32_t last = 0;

        for (unsigned i = 0; i < w->count; i++)
                if (!w->matches[i].is_dropped && is_order(&w->matches[i]))
                        last = first_word(w, &w->matches[i])->sentence;
        for (unsigned i = 0; i < w->count; i++)
                if (w->matches[i].phrase->what == CAY_CLASS_NONE && find_weight(&w->matches[i]) >= FIRM &&
                    first_word(w, &w->matches[i])->sentence >= last)
                        return true;
        return w->held != NULL;
}

/*
 * Words about what there is are no wish; a plain order to run is one. Code that is yet to be made is not the
 * code that is there.
 */
static bool order_wins(const struct weighed *w)
{
        static const enum cay_intent makers[] = { CAY_INTENT_WRITE, CAY_INTENT_IMPROVE };
        const struct cay_intent_match *run = w->best[CAY_INTENT_RUN];

        if (!run || run->phrase->weight < STRONG || is_put_off(w))
                return false;
        for (size_t i = 0; i < CAY_COUNT(makers); i++) {
                const struct cay_intent_match *m = w->best[makers[i]];

                if (m && m->phrase->weight >= STRONG && w->first[makers[i]] < w->first[CAY_INTENT_RUN])
                        return false;
        }
        return true;
}

/* Answers */

static void quote(const struct weighed *w, const struct cay_intent_match *m, char *ret, size_t size)
{
        size_t len;
        const char *said = find_span(w, m, &len);
        bool is_cut = len > QUOTED_MAX;

        len = is_cut ? cay_utf8_cut(said, QUOTED_MAX) : len;
        snprintf(ret, size, "%.*s%s", (int)len, said, is_cut ? "…" : "");
        for (char *c = ret; *c; c++)
                if ((unsigned char)*c < ' ')
                        *c = ' ';
}

static void decide(struct cay_intent_result *r, enum cay_intent what, unsigned confidence)
{
        r->decision = what;
        r->confidence = confidence < CONFIDENT_MAX ? confidence : CONFIDENT_MAX;
}

static void say_other(const struct weighed *w, struct cay_intent_result *r, enum cay_intent other)
{
        unsigned against = other == CAY_INTENT_NONE ? 0 : r->scores[CAY_INTENT_RUN];
        unsigned margin = r->scores[other] > against ? r->scores[other] - against : 0;
        char said[QUOTED_MAX + 8];

        quote(w, w->best[other], said, sizeof(said));
        snprintf(r->reason, sizeof(r->reason), "'%s' %s", said, wishes[other]);
        decide(r, other, 60 + 4 * margin);
}

static void say_veto(const struct weighed *w, struct cay_intent_result *r, enum cay_intent other)
{
        char said[QUOTED_MAX + 8];

        quote(w, w->veto, said, sizeof(said));
        snprintf(r->reason, sizeof(r->reason), "'%s' says that it must not run", said);
        decide(r, other == CAY_INTENT_RUN ? CAY_INTENT_NONE : other, 95);
}

static void say_run(const struct weighed *w, struct cay_intent_result *r, enum cay_intent other)
{
        const struct cay_intent_match *m = w->best[CAY_INTENT_RUN];
        unsigned against = other == CAY_INTENT_RUN ? 0 : r->scores[other];
        unsigned margin =
                r->scores[CAY_INTENT_RUN] * 2 > against ? r->scores[CAY_INTENT_RUN] * 2 - against : 0;
        char said[QUOTED_MAX + 8];

        quote(w, m, said, sizeof(said));
        snprintf(r->reason, sizeof(r->reason), "the %s comes with '%s'",
                 r->code.kind == CAY_INTENT_FENCED ? "code block" : "code", said);
        decide(r, CAY_INTENT_RUN, 60 + 2 * margin);
}

/* Words that may ask for something, as far as the tables know. */
static unsigned count_words(const struct cay_intent_words *w)
{
        unsigned n = 0;

        for (unsigned i = 0; i < w->count; i++)
                n += !(w->list[i].flags & (CAY_INTENT_FILL | CAY_INTENT_SMALL));
        return n;
}

static void say_nothing(struct cay_intent_result *r, const char *reason)
{
        cay_str_copy(r->reason, sizeof(r->reason), reason);
        decide(r, CAY_INTENT_NONE, 70);
}

static bool is_shell(const char *language)
{
        return strcmp(language, "shell") == 0 || strcmp(language, "bash") == 0 ||
               strcmp(language, "zsh") == 0;
}

/*
 * No phrase of weight was found: a block that is there for nothing else. What destroys does not run for being
 * there.
 */
static void say_without_words(const struct weighed *w, struct cay_intent_result *r)
{
        bool is_bare = w->words.count == 0;

        if (r->code.kind == CAY_INTENT_NO_CODE)
                say_nothing(r, "there is no code in the message");
        else if (r->code.kind == CAY_INTENT_INLINE || (r->code.kind == CAY_INTENT_LOOSE && !is_bare) ||
                 w->count > 0 || w->words.count > FEW_WORDS || count_words(&w->words) > 0)
                say_nothing(r, "nothing in the message asks to run the code in it");
        else if (r->danger.what)
                say_nothing(r, "nothing in the message asks to run the code in it, and it is destructive");
        else if (!cay_intent_shows_something(r->code.text, r->code.len, is_shell(r->code.language)))
                say_nothing(r, "nothing in the message asks to run the code in it, and it prints nothing");
        else {
                snprintf(r->reason, sizeof(r->reason), "the code%s comes with %s",
                         r->code.kind == CAY_INTENT_FENCED ? " block" : "",
                         is_bare ? "no other text" : "hardly any other text");
                decide(r, CAY_INTENT_RUN, is_bare ? 80 : 70);
        }
}

/* A run needs something that can be run, and a message that was read whole: what was left out may say no. */
static void check_run(const struct weighed *w, struct cay_intent_result *r)
{
        if (r->decision == CAY_INTENT_RUN && w->words.is_cut) {
                say_nothing(r, "the message has more words than are read; in doubt nothing is run");
                return;
        }
        if (r->decision == CAY_INTENT_RUN && r->danger.what && r->scores[CAY_INTENT_RUN] > 0 &&
            !is_order(w->best[CAY_INTENT_RUN])) {
                say_nothing(r, "a question is no order to run code that is destructive");
                return;
        }
        if (r->decision != CAY_INTENT_RUN || r->code.is_runnable)
                return;
        if (cay_language_find(r->code.language, strlen(r->code.language)))
                snprintf(r->reason, sizeof(r->reason), "the block is %s, which is nothing that runs",
                         r->code.language);
        else if (r->scores[CAY_INTENT_RUN] >= HEARD)
                return; /* asked for in words: the language may be one that is not known here */
        else
                snprintf(r->reason, sizeof(r->reason),
                         "the block may be no code: it is in no language that is known here");
        decide(r, CAY_INTENT_NONE, 75);
}

static void judge(const struct weighed *w, struct cay_intent_result *r)
{
        enum cay_intent other = find_other(r);
        bool has_run = r->scores[CAY_INTENT_RUN] >= HEARD;

        if (w->veto)
                say_veto(w, r, other);
        else if (r->code.kind == CAY_INTENT_NO_CODE && has_run && other == CAY_INTENT_RUN)
                say_nothing(r, "the message asks for a run, but there is no code in it");
        else if (r->code.kind != CAY_INTENT_NO_CODE && has_run && (other == CAY_INTENT_RUN || order_wins(w)))
                say_run(w, r, other);
        else if (other != CAY_INTENT_RUN)
                say_other(w, r, other);
        else
                say_without_words(w, r);
        check_run(w, r);
}

/* The whole */

static int put_prose(const struct cay_intent_split *s, struct cay_buf *prose)
{
        int r = cay_buf_put(prose, s->plain, s->len);
        char *text = cay_buf_data(prose);

        for (size_t i = 0; r == 0 && i < prose->len; i++)
                text[i] = text[i] == CAY_INTENT_CODE_MARK ? ' ' : text[i];
        return r;
}

static int read_message(const char *text, size_t len, struct cay_intent_split *s, struct weighed *w)
{
        int r = cay_intent_split(text, len, s);

        if (r == 0)
                r = cay_intent_words(s->plain, len, &w->words);
        return r == 0 ? cay_intent_match(&w->words, w->matches, MATCHES_MAX, &w->count) : r;
}

/*
 * In any piece of code: which of them is run may be misread. Else in the words: "on the production server".
 */
static void find_danger(const struct cay_intent_split *s, const struct weighed *w,
                        struct cay_intent_result *r)
{
        for (unsigned i = 0; i < s->count; i++)
                if (cay_intent_find_danger(w->text + s->pieces[i].at, s->pieces[i].len, &r->danger))
                        return;
        for (unsigned i = 0; s->count > 0 && i < w->words.count; i++) {
                const struct cay_intent_word *word = &w->words.list[i];

                if (word->flags & CAY_INTENT_RISK) {
                        r->danger = (struct cay_intent_danger){
                                .what = "is spoken of as destructive or as production",
                                .text = w->text + word->at,
                                .len = word->end - word->at,
                                .in_words = true
                        };
                        return;
                }
        }
}

static int check_text(const char *text, size_t len, struct cay_error *err)
{
        if (len > CAY_INTENT_TEXT_MAX)
                return cay_fail(err, CAY_INVALID, "message: has %zu bytes; at most %u are read", len,
                                CAY_INTENT_TEXT_MAX);
        if (memchr(text, '\0', len) || !cay_utf8_valid(text, len))
                return cay_fail(err, CAY_INVALID, "message: is not UTF-8 text");
        return 0;
}

int cay_intent_detect(const char *text, size_t len, struct cay_intent_result *ret, struct cay_buf *prose,
                      struct cay_error *err)
{
        cay_auto_free struct weighed *w = calloc(1, sizeof(*w));
        cay_auto(cay_intent_split_done) struct cay_intent_split s = { 0 };
        int r;

        if (check_text(text, len, err) < 0)
                return -1;
        *ret = (struct cay_intent_result){ .speech = "" };
        if (!w)
                return cay_fail(err, CAY_INTERNAL, "no memory to read a message");
        w->text = text;
        r = read_message(text, len, &s, w);
        if (r == 0) {
                find_danger(&s, w, ret);
                drop_acts(w, &ret->danger);
                apply_scopes(w);
                weigh(w, ret);
                choose_code(&s, text, w->pick, &ret->code);
                judge(w, ret);
        }
        cay_intent_words_done(&w->words);
        if (r == 0 && prose)
                r = put_prose(&s, prose);
        return r == 0 ? 0 : cay_fail(err, CAY_INTERNAL, "no memory to read a message");
}
