/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a one-shot run is made from, and which program takes its code: from what the request says to a template's name and a command.
 *
 * The template: the one that is named; else the one that the task's words mean; else, for code, the one named after its language
 * (python when nobody says), or whose triggers mean "run LANGUAGE"; else host. The program: the one of the language when the request
 * names template and language, else the template's interpreter.
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
        const struct cay_template *row;     /* NULL: host without a row; good until the loop's next round */
        struct cay_field_texts interpreter; /* with code; in mem */
};

/* set NULL: there is host alone. CAY_NOT_FOUND, CAY_INVALID; ret_field says about which field. */
int cay_run_choose(const struct cay_template_set *set, const struct cay_run_asks *asks, struct cay_arena *mem,
                   struct cay_run_choice *ret, const char **ret_field, struct cay_error *err);
/* A copy in mem: -1 when there is no memory. */
int cay_run_copy_words(struct cay_arena *mem, const struct cay_field_texts *words,
                       struct cay_field_texts *ret);
