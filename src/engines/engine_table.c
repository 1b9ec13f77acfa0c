/* SPDX-License-Identifier: Apache-2.0 */
/* The one place of this layer that knows every engine. */
#include "engines/engine_table.h"

#define CAY_ENGINE(name) extern const struct cay_engine_ops cay_engine_##name##_ops;
#include "engines/engines.def"
#undef CAY_ENGINE

static const struct cay_engine_ops *const engines[] = {
#define CAY_ENGINE(name) &cay_engine_##name##_ops,
#include "engines/engines.def"
#undef CAY_ENGINE
};

const struct cay_engine_ops *cay_engine_at(unsigned index)
{
        return index < CAY_COUNT(engines) ? engines[index] : NULL;
}

const struct cay_engine_ops *cay_engine_find(const char *name)
{
        for (unsigned i = 0; i < CAY_COUNT(engines); i++)
                if (strcmp(engines[i]->name, name) == 0)
                        return engines[i];
        return NULL;
}

const char *cay_engine_names(char *buf, size_t size)
{
        size_t at = 0;

        buf[0] = '\0';
        for (unsigned i = 0; i < CAY_COUNT(engines); i++) {
                int n = snprintf(buf + at, size - at, "%s%s", i > 0 ? ", " : "", engines[i]->name);

                if (n < 0 || (size_t)n >= size - at)
                        break;
                at += (size_t)n;
        }
        return buf;
}
