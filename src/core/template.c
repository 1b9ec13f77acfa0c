/* SPDX-License-Identifier: Apache-2.0 */
/* Looking templates up. */
#include "core/template.h"

#include <assert.h>
#include <ctype.h>
#include <strings.h>

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

static bool is_word(char c)
{
        return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* As whole words: "run" does not stand in "prune". */
static bool stands_in(const char *text, const char *words, size_t len)
{
        for (const char *at = text; *at; at++) {
                if ((at == text || !is_word(at[-1]) || !is_word(words[0])) &&
                    strncasecmp(at, words, len) == 0 && (!is_word(words[len - 1]) || !is_word(at[len])))
                        return true;
        }
        return false;
}

const struct cay_template *cay_template_match(const struct cay_template_set *set, const char *text)
{
        const struct cay_template *best = NULL;
        size_t longest = 0;

        for (unsigned i = 0; i < set->count; i++) {
                const struct cay_field_texts *triggers = &set->rows[i].triggers;

                for (unsigned k = 0; k < triggers->count; k++) {
                        size_t len = strlen(triggers->items[k]);

                        if (len > longest && stands_in(text, triggers->items[k], len)) {
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
