/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs that call the daemon. A row names the op whose fields become the verb's options (with the op's own words as help), which
 * fields are words instead, and how the answer looks to people; verbs.c has the rows. Most need no more code. Those that do
 * (exec, cp…) read their options here and go on by themselves.
 */
#pragma once

#include "cli/args_flags.h"
#include "cli/reach.h"
#include "cli/table.h"
#include "cli/values.h"

struct cay_verb {
        const char *name;
        const char *op;
        /* Fields that are words, with blanks between: "id exec?" (may be left out), "id+" (at least one, a call for each), "id*" (any number). Names
           that are no field ("source") are for the verb itself. "..." at the end: a command follows, "...?": or none. */
        const char *words;
        const char *hide;    /* fields that are no options */
        const char *flat;    /* an object whose members are options by themselves */
        const char *letters; /* "env:e workdir:w" */
        const char *renames; /* "labels:label": an option that is given again and again is called after one */
        const char *about;   /* help: what it does */
        const struct cay_flag
                *more;        /* options of its own; offsets are into struct cay_verb_args. NULL: none */
        const char *other_op; /* used when an optional first word is left out */
        const char *pages;    /* the answer's array that goes on in further pages */
        bool no_json;         /* has no --json */
        /* The answer for people. NULL: the verb does without. */
        int (*show)(struct cay_json_view answer, FILE *out, struct cay_error *err);
};

#define CAY_VERB_FLAGS_MAX 48u
#define CAY_VERB_NAME_MAX 40u

struct cay_verb_args {
        const struct cay_verb *verb;
        struct cay_reach_args reach;
        struct cay_values values;
        bool json;
        const char **words; /* owned: of the last kind of word ("id+"), and those that are no field */
        unsigned word_count;
        char **rest; /* "...": points into argv, NULL-terminated */
        int rest_count;

        /* options of single verbs */
        bool follow, detach, quiet, no_stdin, once, dry;
        const char *workspace, *interval, *body, *output, *from;

        /* below: of verb.c */
        struct cay_flag flags[CAY_VERB_FLAGS_MAX + 1];
        char names[CAY_VERB_FLAGS_MAX][CAY_VERB_NAME_MAX];  /* of options */
        char fields[CAY_VERB_FLAGS_MAX][CAY_VERB_NAME_MAX]; /* of what they fill */
        unsigned flag_count;
};

extern const struct cay_verb cay_verbs[]; /* ends with a row without a name */
const struct cay_verb *cay_verb_find(const char *name);

/* 0; 1: help was asked for and is printed; -1. The arguments are to be freed in any case. */
int cay_verb_read(struct cay_verb_args *a, const struct cay_verb *verb, int argc, char **argv,
                  struct cay_error *err);
void cay_verb_args_done(struct cay_verb_args *a);
#define cay_auto_verb cay_auto(cay_verb_args_done)

/* A whole verb that is its row and nothing else; argv[0] is its name. */
int cay_verb_run(int argc, char **argv);
/* Standard output is written wholly, or err says why not. */
int cay_verb_flush(struct cay_error *err);
