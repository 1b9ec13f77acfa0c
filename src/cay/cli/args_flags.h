/* SPDX-License-Identifier: Apache-2.0 */
/* Options from a table: the same rows drive parsing, help and what errors say. */
#pragma once

#include <stdbool.h>

#include "foundation/base/error.h"

struct cay_flag {
        const char *name;  /* without the dashes; NULL ends the table */
        const char *value; /* how help names the value; NULL: takes none */
        const char *doc;
        /* Stores the value (NULL without one) in the verb's arguments; the error names the option. */
        int (*set)(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err);
        size_t nr;   /* for `set`: an offset, a limit's number… */
        char letter; /* -x for short; 0: none */
};

struct cay_flag_list {      /* of an option that may come several times */
        const char **items; /* owned, NULL-terminated */
        unsigned count;
};

void cay_flag_list_done(struct cay_flag_list *list);

/* Predefined setters; nr is an offset into the arguments. */
int cay_flag_set_true(void *args, const struct cay_flag *flag, const char *value,
                      struct cay_error *err); /* bool */
int cay_flag_set_text(void *args, const struct cay_flag *flag, const char *value,
                      struct cay_error *err); /* const char *, not "" */
int cay_flag_add_text(void *args, const struct cay_flag *flag, const char *value,
                      struct cay_error *err); /* struct cay_flag_list */

/*
 * Reads options from argv[1] on, up to the first other word or after "--"; *ret_rest is that word's index.
 * "--name value" and "--name=value"; "-n value", "-nvalue", and letters without values together ("-it"). 1:
 * --help was given. -1: err names the wrong option.
 */
int cay_flags_parse(const struct cay_flag *table, int argc, char **argv, void *args, int *ret_rest,
                    struct cay_error *err);
void cay_flags_print(const struct cay_flag *table, FILE *out); /* one line per option; see cay_text_print */
/*
 * Prints a text and a newline. On a terminal it is wrapped, and further lines are indented by `indent`, where
 * the first begins; elsewhere it is not wrapped.
 */
void cay_text_print(const char *text, unsigned indent, FILE *out);
