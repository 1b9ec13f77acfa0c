/* SPDX-License-Identifier: Apache-2.0 */
/* Looking templates up. */
#include "domain/model/template.h"

#include <assert.h>

#include "foundation/base/fold.h"

static const char *const root_words[] = {
        [CAY_TEMPLATE_ROOT_NONE] = "none",     [CAY_TEMPLATE_ROOT_HOST] = "host",
        [CAY_TEMPLATE_ROOT_ROOTFS] = "rootfs", [CAY_TEMPLATE_ROOT_DOCKERFILE] = "dockerfile",
        [CAY_TEMPLATE_ROOT_IMAGE] = "image",
};
static_assert(CAY_COUNT(root_words) == CAY_TEMPLATE_ROOT_COUNT, "a word for every root");

const char *cay_template_root_word(enum cay_template_root root)
{
        return (unsigned)root < CAY_COUNT(root_words) ? root_words[root] : "none";
}

const struct cay_template *cay_template_find(const struct cay_template_set *set, const char *name)
{
        for (unsigned i = 0; i < set->count; i++)
                if (strcmp(set->rows[i].name, name) == 0)
                        return &set->rows[i];
        return NULL;
}

static uint32_t peek(const char *at)
{
        return cay_fold_next(&at);
}

static void skip_blanks(const char **at)
{
        while (peek(*at) == ' ')
                cay_fold_next(at);
}

static bool is_end(const char *at)
{
        skip_blanks(&at);
        return *at == '\0';
}

/* Whether the text goes on with the trigger's words and does not end within a word. */
static bool begins_with(const char *text, const char *trigger)
{
        uint32_t last = 0;

        while (*trigger) {
                uint32_t c = cay_fold_next(&trigger);

                if (c == ' ')
                        skip_blanks(&trigger);
                if (c == ' ' && *trigger == '\0') /* blanks at its end */
                        break;
                if (cay_fold_next(&text) != c)
                        return false;
                if (c == ' ')
                        skip_blanks(&text);
                last = c;
        }
        return !cay_fold_is_word(last) || !cay_fold_is_word(peek(text));
}

size_t cay_template_trigger(const char *trigger, const char *text)
{
        uint32_t first, before = 0;

        skip_blanks(&trigger);
        first = peek(trigger);
        while (first != 0 && *text) {
                uint32_t c = peek(text);

                if (c == first && !(cay_fold_is_word(before) && cay_fold_is_word(c)) &&
                    begins_with(text, trigger))
                        return strlen(trigger);
                before = cay_fold_next(&text);
        }
        return 0;
}

bool cay_template_trigger_is(const char *a, const char *b)
{
        for (;;) {
                uint32_t c, d;

                skip_blanks(&a);
                skip_blanks(&b);
                do {
                        c = cay_fold_next(&a);
                        d = cay_fold_next(&b);
                } while (c == d && c != ' ' && c != 0);
                if (c == 0 || d == 0) /* blanks at an end count for nothing */
                        return (c == 0 || c == ' ') && (d == 0 || d == ' ') && is_end(a) && is_end(b);
                if (c != d)
                        return false;
        }
}

const struct cay_template *cay_template_match(const struct cay_template_set *set, const char *text)
{
        const struct cay_template *best = NULL;
        size_t longest = 0;

        for (unsigned i = 0; i < set->count; i++) {
                const struct cay_field_texts *triggers = &set->rows[i].triggers;

                for (unsigned k = 0; k < triggers->count; k++) {
                        size_t len = cay_template_trigger(triggers->items[k], text);

                        if (len > longest) {
                                best = &set->rows[i];
                                longest = len;
                        }
                }
        }
        return best;
}

int cay_template_check(const struct cay_template *t, struct cay_error *err)
{
        if (t->available)
                return 0;
        return cay_fail(err, CAY_CONFLICT, "template '%s' is not available here: %s", t->name, t->why);
}

bool cay_template_is_warm(const struct cay_template *t, bool has_pool)
{
        const char *program, *slash;

        if (t && t->has_warm)
                return t->warm.count > 0;
        if (!t || strcmp(t->name, CAY_TEMPLATE_DEFAULT) ==
                          0) /* for code of every kind, whatever takes what has none */
                return has_pool;
        if (t->interpret.count == 0)
                return false;
        program = t->interpret.items[0];
        slash = strrchr(program, '/');
        return has_pool && strcmp(slash ? slash + 1 : program, "python3") == 0;
}
