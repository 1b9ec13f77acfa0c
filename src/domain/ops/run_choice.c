/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses template and program. */
#include "domain/ops/run_choice.h"

#include <stdio.h>
#include <string.h>

#include "foundation/base/language.h"
#include "foundation/base/str.h"

static const struct cay_language *find_language(const char *word)
{
        return word ? cay_language_find(word, strlen(word)) : NULL;
}

int cay_run_copy_words(struct cay_arena *mem, const struct cay_field_texts *words,
                       struct cay_field_texts *ret)
{
        const char **items = cay_arena_array(mem, words->count + 1u, sizeof(*items));
        const char *line = words->line ? cay_arena_copy(mem, words->line, strlen(words->line)) : NULL;

        if (!items || (words->line && !line))
                return -1;
        for (unsigned i = 0; i < words->count; i++) {
                items[i] = cay_arena_copy(mem, words->items[i], strlen(words->items[i]));
                if (!items[i])
                        return -1;
        }
        *ret = (struct cay_field_texts){ .items = items, .count = words->count, .line = line };
        return 0;
}

static int choose_by_task(const struct cay_template_set *set, const char *task,
                          const struct cay_template **ret, struct cay_error *err)
{
        *ret = set ? cay_template_match(set, task) : NULL;
        if (*ret)
                return 0;
        return cay_fail(err, CAY_NOT_FOUND, "task: it contains no template's trigger; name a template");
}

static int choose_by_language(const struct cay_template_set *set, const char *word,
                              const struct cay_template **ret, struct cay_error *err)
{
        const struct cay_language *l = find_language(word);
        bool has_program = l && l->program[0];
        char task[80], name[CAY_LANGUAGE_ALIAS_MAX];

        if (!set)
                return has_program ? 0 : cay_fail(err, CAY_INVALID, "language: '%.40s' is unknown", word);
        *ret = cay_template_find(set, l ? l->template_name : word);
        for (size_t n = 0; !*ret && l && cay_language_name_at(l, n, name); n++) {
                snprintf(task, sizeof(task), "run %s", name);
                *ret = cay_template_match(set, task);
        }
        if (!*ret && !l) {
                snprintf(task, sizeof(task), "run %.60s", word);
                *ret = cay_template_match(set, task);
        }
        if (*ret)
                return 0;
        return cay_fail(err, has_program ? CAY_NOT_FOUND : CAY_INVALID,
                        "language: no template runs '%.40s': add one to the registry, or name a template",
                        word);
}

static int choose_row(const struct cay_template_set *set, const struct cay_run_asks *asks,
                      const struct cay_template **ret, const char **ret_field, struct cay_error *err)
{
        const char *name = asks->template_name;

        if (!name && asks->task) {
                *ret_field = "task";
                return choose_by_task(set, asks->task, ret, err);
        }
        if (!name && asks->has_code) {
                *ret_field = "language";
                return choose_by_language(set, asks->language ? asks->language : CAY_LANGUAGE_DEFAULT, ret,
                                          err);
        }
        *ret = set ? cay_template_find(set, name ? name : CAY_TEMPLATE_DEFAULT) : NULL;
        return 0; /* a missing one is refused where sandboxes are made */
}

/* The language of the template's interpreter, by its name: "/usr/bin/bash" is for bash. NULL: unknown. */
static const struct cay_language *language_of(const struct cay_template *t)
{
        const char *program, *slash;

        if (!t || t->interpret.count == 0)
                return NULL;
        program = t->interpret.items[0];
        slash = strrchr(program, '/');
        return find_language(slash ? slash + 1 : program);
}

/*
 * A template that was named, or chosen by a task, may be for another language than the code's: then that
 * language's own program is used. The same holds if one template serves several languages: bash code is not
 * run by a template's /bin/sh.
 */
static bool takes_own_program(const struct cay_run_asks *asks, const struct cay_run_choice *c,
                              const struct cay_language *l)
{
        const struct cay_language *other = language_of(c->row);

        if (!l->program[0])
                return false;
        if (asks->template_name || asks->task || !c->row)
                return true;
        return other && other != l && strcmp(other->template_name, l->template_name) == 0 &&
               strcmp(l->name, l->template_name) != 0;
}

static int choose_program(const struct cay_run_asks *asks, struct cay_arena *mem, struct cay_run_choice *c,
                          struct cay_error *err)
{
        const struct cay_language *l = find_language(asks->language), *other = language_of(c->row);
        const struct cay_language *usual = find_language(CAY_LANGUAGE_DEFAULT);
        struct cay_field_texts words = { .items = (const char **)(uintptr_t)usual->program, .count = 2 };

        if (l && takes_own_program(asks, c, l))
                words.items = (const char **)(uintptr_t)l->program;
        else if (l && !l->program[0] && other && other != l)
                return cay_fail(err, CAY_INVALID, "language: template '%s' runs %s, not %s: name another",
                                c->row->name, other->name, l->name);
        else if (c->row && c->row->interpret.count > 0)
                words = c->row->interpret;
        if (cay_run_copy_words(mem, &words, &c->interpreter) < 0)
                return cay_fail(err, CAY_INTERNAL, "no memory for a command");
        return 0;
}

int cay_run_choose(const struct cay_template_set *set, const struct cay_run_asks *asks, struct cay_arena *mem,
                   struct cay_run_choice *ret, const char **ret_field, struct cay_error *err)
{
        const char *name;

        *ret = (struct cay_run_choice){ 0 };
        if (choose_row(set, asks, &ret->row, ret_field, err) < 0)
                return -1;
        name = ret->row ? ret->row->name : asks->template_name ? asks->template_name : CAY_TEMPLATE_DEFAULT;
        cay_str_copy(ret->template_name, sizeof(ret->template_name), name);
        *ret_field = asks->has_code ? "language" : NULL;
        if (asks->has_code && choose_program(asks, mem, ret, err) < 0)
                return -1;
        *ret_field = NULL;
        return 0;
}
