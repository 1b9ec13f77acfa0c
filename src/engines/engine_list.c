/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of engines.def. */
#include "engines/engine_list.h"

#include <stdio.h>
#include <string.h>

const struct cay_engine_info cay_engine_infos[CAY_ENGINE_COUNT] = {
#define CAY_ENGINE(name, lacks, caps, helper, start, doc)                                                    \
        [CAY_ENGINE_##name] = { #name, doc, lacks, caps, CAY_HELPER_##helper, start },
#include "engines/engines.def"
#undef CAY_ENGINE
};

int cay_engine_list_find(const char *name)
{
        for (int i = 0; i < CAY_ENGINE_COUNT; i++)
                if (strcmp(cay_engine_infos[i].name, name) == 0)
                        return i;
        return -1;
}

const char *cay_engine_list_names(char *buf, size_t size)
{
        size_t at = 0;

        buf[0] = '\0';
        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++) {
                int n = snprintf(buf + at, size - at, "%s%s", i > 0 ? ", " : "", cay_engine_infos[i].name);

                if (n < 0 || (size_t)n >= size - at)
                        break;
                at += (size_t)n;
        }
        return buf;
}
