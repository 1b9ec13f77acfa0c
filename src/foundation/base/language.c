/* SPDX-License-Identifier: Apache-2.0 */
#include "foundation/base/language.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "foundation/base/cleanup.h"

static const struct cay_language languages[] = {
#define CAY_LANGUAGE(name, aliases, kind, template_name, program, argument)                                  \
        { name, aliases, CAY_LANGUAGE_##kind, template_name, { program, argument, NULL } },
#include "foundation/base/languages.def"
#undef CAY_LANGUAGE
};

static bool is_one_of(const char *list, const char *word, size_t len)
{
        while (*list) {
                size_t n = strcspn(list, "|");

                if (n == len && strncasecmp(list, word, len) == 0)
                        return true;
                list += n + (list[n] == '|');
        }
        return false;
}

const struct cay_language *cay_language_find(const char *word, size_t len)
{
        for (size_t i = 0; len > 0 && i < CAY_COUNT(languages); i++)
                if (is_one_of(languages[i].name, word, len) || is_one_of(languages[i].aliases, word, len))
                        return &languages[i];
        return NULL;
}

const struct cay_language *cay_language_at(size_t nr)
{
        return nr < CAY_COUNT(languages) ? &languages[nr] : NULL;
}

bool cay_language_name_at(const struct cay_language *l, size_t nr, char ret[CAY_LANGUAGE_ALIAS_MAX])
{
        const char *at = nr == 0 ? l->name : l->aliases;
        size_t len;

        for (; nr > 1 && *at; nr--) {
                at += strcspn(at, "|");
                at += *at == '|';
        }
        len = strcspn(at, "|");
        if (len == 0)
                return false;
        snprintf(ret, CAY_LANGUAGE_ALIAS_MAX, "%.*s", (int)len, at);
        return true;
}

const char *cay_languages_text(char *buf, size_t size)
{
        size_t at = 0;

        buf[0] = '\0';
        for (size_t i = 0; i < CAY_COUNT(languages); i++) {
                int n;

                if (!languages[i].program[0])
                        continue;
                n = snprintf(buf + at, size - at, "%s%s", at > 0 ? ", " : "", languages[i].name);
                if (n < 0 || (size_t)n >= size - at) {
                        buf[at] = '\0';
                        break;
                }
                at += (size_t)n;
        }
        return buf;
}
