/* SPDX-License-Identifier: Apache-2.0 */
/* Which template, which program. */
#include "op/run_choice.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

#define NAMES_MAX 3u

static const struct language {
        const char *names[NAMES_MAX]; /* as clients say it; the first is what triggers are looked at with */
        const char *template_name;
        const char *program[3];
} languages[] = {
        { { "python", "python3", "py" }, "python", { "python3", "-" } },
        { { "javascript", "node", "js" }, "node", { "node", "-" } },
        { { "shell", "bash", "sh" }, "shell", { "/bin/sh", "-s" } },
};

static const struct language *find_language(const char *word)
{
        for (size_t i = 0; i < CAY_COUNT(languages); i++)
                for (unsigned n = 0; n < NAMES_MAX; n++)
                        if (strcasecmp(languages[i].names[n], word) == 0)
                                return &languages[i];
        return NULL;
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
        return cay_fail(err, CAY_NOT_FOUND,
                        "task: no template's triggers are in it; name a template (GET /api/templates lists "
                        "them)");
}

static int choose_by_language(const struct cay_template_set *set, const char *word,
                              const struct cay_template **ret, struct cay_error *err)
{
        const struct language *l = find_language(word);
        char task[80];

        if (!set)
                return l ? 0 : cay_fail(err, CAY_INVALID, "language: '%.40s' is not known here", word);
        *ret = cay_template_find(set, l ? l->template_name : word);
        for (unsigned n = 0; !*ret && n < (l ? NAMES_MAX : 1); n++) {
                snprintf(task, sizeof(task), "run %.60s", l ? l->names[n] : word);
                *ret = cay_template_match(set, task);
        }
        if (*ret)
                return 0;
        return cay_fail(
                err, l ? CAY_NOT_FOUND : CAY_INVALID,
                "language: no template is for '%.40s'; name a template (GET /api/templates lists them)",
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
                return choose_by_language(set, asks->language ? asks->language : "python", ret, err);
        }
        *ret = set ? cay_template_find(set, name ? name : CAY_TEMPLATE_DEFAULT) : NULL;
        return 0; /* one that is not there is refused where sandboxes are made */
}

static int choose_program(const struct cay_run_asks *asks, struct cay_arena *mem, struct cay_run_choice *c,
                          struct cay_error *err)
{
        const struct language *l = asks->language ? find_language(asks->language) : NULL;
        struct cay_field_texts words = { .items = (const char **)(uintptr_t)languages[0].program,
                                         .count = 2 };

        if (l && (asks->template_name || asks->task || !c->row))
                words.items = (const char **)(uintptr_t)l->program;
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
        *ret_field = NULL;
        name = ret->row ? ret->row->name : asks->template_name ? asks->template_name : CAY_TEMPLATE_DEFAULT;
        cay_str_copy(ret->template_name, sizeof(ret->template_name), name);
        return asks->has_code ? choose_program(asks, mem, ret, err) : 0;
}
