/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a chat message asks for: that the code in it be run, or something else. Never a model, never a guess
 * that cannot be explained: the answer follows from tables of phrases (phrases_*.def) and of languages
 * (foundation/base/languages.def, marks.def), and says which phrase decided.
 *
 * Theory of operation. split.c takes out what is not the writer's own words: fenced blocks, `inline code`,
 * code and logs pasted without a fence, "quotations", lines quoted from others (>). words.c folds the rest
 * into words: no case, no accents, sentences and clauses known. match.c walks over them from left to right,
 * takes the longest phrase that stands at each place and goes on behind it, so that "when I run this" is read
 * as that and never as "run this". decide.c weighs: words against running win over everything; orders inside
 * of a question about running, or under a condition, are none; a plain order to run wins over questions; a
 * mere hint (does it work?) loses against any wish for words or for other code; a block with hardly a word
 * around it runs. danger.c looks for code that destroys: it needs a plain order, and whoever runs it has to
 * ask a person first.
 *
 * In doubt it does not run: a message that is not run costs a click, one that is run by mistake may cost
 * more.
 *
 * The time is bounded: phrases are matched without backtracking but for gaps of a few words, and of a long
 * message only its first and last words are looked at (CAY_INTENT_WORDS_MAX). No state is kept between calls.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/buf.h"
#include "foundation/base/error.h"

#define CAY_INTENT_TEXT_MAX 65536u
#define CAY_INTENT_WORDS_MAX 2048u
#define CAY_INTENT_HITS_MAX 16u
#define CAY_INTENT_LANGUAGE_MAX 31u

enum cay_intent {
        CAY_INTENT_NONE, /* nothing that is known, or: not now */
        CAY_INTENT_RUN,
        CAY_INTENT_EXPLAIN,
        CAY_INTENT_WRITE,
        CAY_INTENT_IMPROVE,
        CAY_INTENT_WHY,
        CAY_INTENT_COUNT
};

enum cay_intent_code_kind {
        CAY_INTENT_NO_CODE,
        CAY_INTENT_FENCED,
        CAY_INTENT_INLINE, /* between backticks */
        CAY_INTENT_LOOSE,  /* pasted without any mark */
        CAY_INTENT_CODE_KIND_COUNT
};

struct cay_intent_code {
        enum cay_intent_code_kind kind;
        const char *text; /* in the message; not terminated */
        size_t len;
        char language[CAY_INTENT_LANGUAGE_MAX +
                      1];   /* "python"; a tag that is not known as it is; "": unknown */
        bool is_tagged;     /* the message says so; else guessed */
        bool is_runnable;   /* a program's text, as far as one can tell */
        unsigned nr, count; /* the nr-th, from 1, of count pieces */
};

struct cay_intent_hit {
        enum cay_intent what;
        bool is_veto;     /* it must not run */
        unsigned weight;  /* 0 for a veto */
        const char *text; /* in the message */
        size_t len;
};

/* What makes a person's agreement necessary, whatever the words say. */
struct cay_intent_danger {
        const char *what; /* "deletes files"; NULL: nothing was found */
        const char *text; /* where; not terminated */
        size_t len;
        bool in_words; /* in the message's words, not in its code */
};

struct cay_intent_result {
        enum cay_intent decision;
        unsigned confidence; /* percent */
        char reason[256];    /* in words, valid UTF-8 */
        const char *speech;  /* "en": of the phrases that were found; "": none was */
        unsigned scores[CAY_INTENT_COUNT];
        struct cay_intent_hit hits[CAY_INTENT_HITS_MAX]; /* what counted, in the order of the message */
        unsigned hit_count;
        struct cay_intent_code code;     /* what there is to run, whatever the decision */
        struct cay_intent_danger danger; /* of any code of the message, else of its words */
};

/*
 * The text must be UTF-8 without NUL of at most CAY_INTENT_TEXT_MAX bytes: CAY_INVALID. The result points
 * into it. prose, unless NULL, gets the message without code and quotations (for triggers of templates); its
 * maximum must be CAY_INTENT_TEXT_MAX at least.
 */
int cay_intent_detect(const char *text, size_t len, struct cay_intent_result *ret, struct cay_buf *prose,
                      struct cay_error *err);
/*
 * Looks for commands and calls that destroy, overwrite, give away or touch production, in any language. The
 * result points into the code.
 */
bool cay_intent_find_danger(const char *code, size_t len, struct cay_intent_danger *ret);
const char *cay_intent_word(enum cay_intent what);           /* "run"; never NULL */
const char *cay_intent_language_title(const char *language); /* "Go" for "go"; what is not known as it is */
const char *cay_intent_code_kind_word(enum cay_intent_code_kind kind); /* "fenced"; never NULL */
