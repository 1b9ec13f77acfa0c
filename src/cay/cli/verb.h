/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs that call the daemon. A row names the op whose fields become the verb's options (with the op's own
 * words as help), which fields are words instead, and how the answer looks to people. The op's own row holds
 * it (domain/ops/op_verb.h), or verbs.c where a verb is not one op and its answer. Most need no more code.
 * Those that do (exec, cp…) read their options here and go on by themselves.
 */
#pragma once

#include "cay/cli/args_flags.h"
#include "cay/cli/reach.h"
#include "cay/cli/show.h"
#include "cay/cli/table.h"
#include "cay/cli/values.h"

#define CAY_VERB_FLAGS_MAX 96u
#define CAY_VERB_NAME_MAX 40u

enum cay_verb_more { /* options of its own; offsets are into struct cay_verb_args */
                     CAY_MORE_NONE,
                     CAY_MORE_CREATE,
                     CAY_MORE_EXEC,
                     CAY_MORE_QUIET,
                     CAY_MORE_LOGS,
                     CAY_MORE_STATS,
                     CAY_MORE_TEMPLATE,
                     CAY_MORE_OUTPUT,
                     CAY_MORE_COPY,
                     CAY_MORE_BODY,
};

/*
 * Texts are arrays in the row: pointers would need relocation at every start of the program, also if it uses
 * no row.
 */
struct cay_verb {
        char name[CAY_VERB_NAME_MAX]; /* "" ends the table */
        char op[24];
        /*
         * Fields that are words, separated by blanks: "id exec?" (optional), "id+" (at least one, a call for
         * each), "id*" (any number). Names that are not fields ("source") are for the verb itself. "..." at
         * the end: a command follows; "...?": it is optional.
         */
        char words[24];
        char hide[176];    /* fields that are not options */
        char flat[8];      /* an object whose members are options themselves */
        char letters[48];  /* "env:e workdir:w" */
        char renames[32];  /* "labels:label": a repeatable option has a singular name */
        char about[400];   /* help: what it does */
        char other_op[24]; /* used when an optional first word is left out */
        char pages[16];    /* the answer's array that continues on further pages */
        bool no_json;      /* has no --json */
        bool both_ways;    /* optional words are options, too */
        enum cay_verb_more more;
        enum cay_show show; /* the answer for people */
        char list[16];      /* CAY_SHOW_COLUMNS: of this member; "": of the answer itself */
        unsigned columns;   /* the same: the first of cay_op_columns */
};

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
        bool follow, detach, quiet, no_stdin, once, dry, confirm, raw;
        const char *workspace, *interval, *body, *output, *from, *task, *max_bytes;
        char confirm_token[64];

        /* below: of verb.c */
        struct cay_flag flags[CAY_VERB_FLAGS_MAX + 1];
        char names[CAY_VERB_FLAGS_MAX][CAY_VERB_NAME_MAX];  /* of options */
        char fields[CAY_VERB_FLAGS_MAX][CAY_VERB_NAME_MAX]; /* of what they fill */
        unsigned flag_count;
};

extern const struct cay_verb cay_verbs[]; /* ends with a row without a name */
/* Of ops' own rows (domain/ops/op_verb.h), written by tools/gen_cli; they end the same. */
extern const struct cay_verb cay_op_verbs[];
extern const struct cay_column cay_op_columns[];
const struct cay_verb *cay_verb_find(const char *name);
const struct cay_flag *cay_verb_more(const struct cay_verb *verb); /* never NULL */

/* 0; 1: --help was given and is printed; -1. Free the arguments in any case. */
int cay_verb_read(struct cay_verb_args *a, const struct cay_verb *verb, int argc, char **argv,
                  struct cay_error *err);
void cay_verb_args_done(struct cay_verb_args *a);
#define cay_auto_verb cay_auto(cay_verb_args_done)

/*
 * A whole verb; argv[0] is its name. `run` gets parsed options and a connected daemon; it returns the exit
 * status, or -1.
 */
int cay_verb_main(int argc, char **argv,
                  int (*run)(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err));
/* One that is its row and nothing else, or the verb of two words that its first argument makes of it. */
int cay_verb_run(int argc, char **argv);
/* Calls and prints what the row says; as `run` above. */
int cay_verb_call(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err);
/* The same; with --follow as a stream, until it is ended (cmd_events.c). */
int cay_verb_follow(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err);
int cay_verb_print(const struct cay_verb_args *a, struct cay_json_view answer, struct cay_error *err);
/* As cay_reach_complain; a field that the daemon names is shown by its name on the command line. */
int cay_verb_complain(const struct cay_verb_args *a, const struct cay_reach *r, const struct cay_error *err);
/* Flushes standard output; err says why it failed. */
int cay_verb_flush(struct cay_error *err);
