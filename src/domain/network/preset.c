/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/network/preset.h"

#include <stdio.h>
#include <string.h>

#include "foundation/base/banned.h"

static const struct {
        const char *name;
        const char *const *rules;
} presets[] = {
#define CAY_PRESET(name, ...) { #name, (const char *const[]){ __VA_ARGS__, NULL } },
#include "domain/network/presets.def"
#undef CAY_PRESET
};

const char *const *cay_preset_find(const char *name)
{
        for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++)
                if (strcmp(presets[i].name, name) == 0)
                        return presets[i].rules;
        return NULL;
}

const char *cay_preset_names(const char *between, char *buf, size_t size)
{
        size_t len = 0;

        buf[0] = '\0';
        for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]) && len < size; i++)
                len += (size_t)snprintf(buf + len, size - len, "%s%s", i > 0 ? between : "", presets[i].name);
        return buf;
}
