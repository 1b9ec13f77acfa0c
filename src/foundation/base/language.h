/* SPDX-License-Identifier: Apache-2.0 */
/* Languages of code by name: the rows of languages.def, for whoever runs code and whoever recognises it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CAY_LANGUAGE_DEFAULT "python"
#define CAY_LANGUAGE_ALIAS_MAX 32u /* bytes of a name, with its end */

enum cay_language_kind { CAY_LANGUAGE_PROGRAM, CAY_LANGUAGE_DATA };

struct cay_language {
        const char *name, *aliases; /* "py|python3" */
        enum cay_language_kind kind;
        const char *template_name;
        const char *program[3]; /* NULL first: there is none of its own; NULL at the end */
};

/* By its name or one of the others, in either case. NULL: none. */
const struct cay_language *cay_language_find(const char *word, size_t len);
/* NULL from the end on. */
const struct cay_language *cay_language_at(size_t nr);
/* Its names: the first, then the others. False from the end on. */
bool cay_language_name_at(const struct cay_language *l, size_t nr, char ret[CAY_LANGUAGE_ALIAS_MAX]);
/* The names of those with a program: "python, javascript, shell, bash". Returns buf. */
const char *cay_languages_text(char *buf, size_t size);
