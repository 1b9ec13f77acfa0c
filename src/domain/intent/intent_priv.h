/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder, and for its tests. */
#pragma once

#include "foundation/base/language.h"
#include "domain/intent/intent.h"

/* split.c */

#define CAY_INTENT_PIECES_MAX 32u
#define CAY_INTENT_CODE_MARK '\002' /* stands in the plain text where inline code stood */

struct cay_intent_piece {
        enum cay_intent_code_kind kind;
        size_t at, len;         /* of the code */
        size_t tag_at, tag_len; /* as written behind the fence */
};

struct cay_intent_split {
        /*
         * owned: as long as the message, every byte at its place; what is not the writer's words is blank or
         * a line's end
         */
        char *plain;
        size_t len;
        struct cay_intent_piece pieces[CAY_INTENT_PIECES_MAX];
        unsigned count; /* of pieces that are kept */
};

int cay_intent_split(const char *text, size_t len, struct cay_intent_split *ret); /* 0, -ENOMEM */
void cay_intent_split_done(struct cay_intent_split *s);

/* guess.c */

const struct cay_language *cay_intent_guess_language(const char *code, size_t len);
bool cay_intent_is_code_line(const char *line, size_t len); /* as programs have them and letters do not */
bool cay_intent_is_code_tail(const char *tail,
                             size_t len); /* the same for the rest of a line, behind words */
bool cay_intent_is_log_line(const char *line, size_t len);

/* Prints, or is a command: a run has an effect. */
bool cay_intent_shows_something(const char *code, size_t len, bool is_shell);

/*
 * In the set of that name in any language: "fill", words that say nothing; "small", words around code that
 * ask nothing; "risk", words of destruction and of production; "deny", words of denial.
 */
enum { CAY_INTENT_FILL = 1, CAY_INTENT_SMALL = 2, CAY_INTENT_RISK = 4, CAY_INTENT_DENY = 8 };

struct cay_intent_word {
        uint32_t at, end;          /* in the message */
        uint32_t fold, flen;       /* in folded */
        uint64_t letter;           /* match.c's: what it begins with */
        uint32_t sentence, clause; /* clauses are counted over the whole message */
        uint8_t flags;
        bool starts, is_question; /* starts: a clause, but for words that say nothing; of its sentence */
};

struct cay_intent_words {
        struct cay_intent_word *list; /* owned */
        unsigned count;
        char *folded; /* owned: the words one behind the other */
        size_t folded_len;
        bool is_cut; /* there were more: those in the middle are left out */
};

/* 0, -ENOMEM */
int cay_intent_words(const char *plain, size_t len, struct cay_intent_words *ret);
void cay_intent_words_done(struct cay_intent_words *w);

/* match.c */

enum cay_intent_class {
        CAY_CLASS_NONE, /* the first ones are those of enum cay_intent */
        CAY_CLASS_RUN,
        CAY_CLASS_EXPLAIN,
        CAY_CLASS_WRITE,
        CAY_CLASS_IMPROVE,
        CAY_CLASS_WHY,
        CAY_CLASS_VETO, /* must not run */
        CAY_CLASS_MASK, /* read, and of no weight */
        /*
         * words about running follow: an order behind it in its clause, and a hint in its sentence, is none
         */
        CAY_CLASS_ABOUT,
        CAY_CLASS_IF, /* a condition or another time: orders of its sentence are not for now */
        /*
         * an order in words of what destructive code does: an order to run such code, nothing for other code
         */
        CAY_CLASS_ACT,
        CAY_CLASS_PICK, /* which piece: the weight is its number; CAY_INTENT_PICK_LAST */
        CAY_CLASS_COUNT
};

#define CAY_INTENT_PICK_LAST 99u

struct cay_intent_phrase {
        enum cay_intent_class what;
        unsigned weight;
        const char *pattern, *speech;
};

extern const struct cay_intent_phrase cay_intent_phrases[];
extern const unsigned cay_intent_phrase_count;

struct cay_intent_match {
        const struct cay_intent_phrase *phrase;
        unsigned first, count; /* words */
        bool is_dropped;       /* decide.c's: it stands where it means nothing */
};

/* All matches in order, at most max; -ENOMEM. */
int cay_intent_match(const struct cay_intent_words *w, struct cay_intent_match *ret, unsigned max,
                     unsigned *ret_count);
/* The piece that words from..to (exclusive), of one sentence, name: the weight of a PICK; 0: none. */
unsigned cay_intent_find_pick(const struct cay_intent_words *w, unsigned from, unsigned to);
/* Fills in letter and flags of all words; for words.c. */
void cay_intent_mark_words(struct cay_intent_words *w);
/* Whether a pattern is well formed: every set known, few gaps, folded words. For tests of the table. */
bool cay_intent_pattern_valid(const char *pattern, const char *speech);
