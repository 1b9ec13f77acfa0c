/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: finds the verb (commands.def) and gives it the rest. A new verb is a row and a
 * cmd_<verb>.c, or a row of verbs.c.
 */
#pragma once

#include <stdio.h>

#include "foundation/base/error.h"
#include "foundation/base/json_out.h"

enum { /* exit statuses of our own; a command's own pass through */
       CAY_EXIT_USAGE = 2,
       CAY_EXIT_FAILURE = 125,
};

/* argv[0] is the verb; returns the exit status. */
#define CAY_GROUP(doc)
#define CAY_VERB(verb, doc)
#define CAY_COMMAND(verb, doc) int cay_cmd_##verb(int argc, char **argv);
#include "cay/cli/commands.def"
#undef CAY_COMMAND
#undef CAY_VERB
#undef CAY_GROUP

int cay_cli_main(int argc, char **argv);

void cay_cli_print_verbs(FILE *out); /* one a line */

/* Prints "cay run: message" on standard error; returns the status for the code. */
int cay_cli_complain(const char *verb, const struct cay_error *err);
/* Prints JSON and a newline on standard output; -1: it is incomplete. */
int cay_cli_print_json(struct cay_json *j, struct cay_error *err);
/* Which of `words` (NULL-terminated) a mistyped one is nearest to; NULL: none is near. */
const char *cay_cli_suggest(const char *word, const char *const *words);
