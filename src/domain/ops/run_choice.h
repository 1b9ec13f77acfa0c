/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the template of a one-shot run, and the program for its code.
 *
 * The template is the named one; else the one that the task's words match; else, for code, the one named
 * after its language (default python), or whose triggers match "run LANGUAGE"; else host. The program is that
 * of the language if the request names template and language, else the template's interpreter.
 */
#pragma once

#include "foundation/base/arena.h"
#include "domain/model/template.h"

struct cay_run_asks { /* all may be NULL */
        const char *template_name, *task, *language;
        bool has_code;
};

struct cay_run_choice {
        char template_name[CAY_TEMPLATE_NAME_MAX + 1];
        const struct cay_template *row;     /* NULL: host without a row; valid until the loop's next round */
        struct cay_field_texts interpreter; /* with code; in mem */
};

/* set NULL: only host. CAY_NOT_FOUND, CAY_INVALID; ret_field names the field. */
int cay_run_choose(const struct cay_template_set *set, const struct cay_run_asks *asks, struct cay_arena *mem,
                   struct cay_run_choice *ret, const char **ret_field, struct cay_error *err);
/* A copy in mem; -1: no memory. */
int cay_run_copy_words(struct cay_arena *mem, const struct cay_field_texts *words,
                       struct cay_field_texts *ret);
