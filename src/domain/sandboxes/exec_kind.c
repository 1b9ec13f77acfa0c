/* SPDX-License-Identifier: Apache-2.0 */
/* What a command is for. The names are stored: they must stay. */
#include "domain/sandboxes/exec_kind.h"

#include <stddef.h>
#include <string.h>

static const char *const names[CAY_EXEC_KIND_COUNT] = {
        [CAY_EXEC_DESKTOP] = ".desktop",
        [CAY_EXEC_BROWSER] = ".browser",
};

enum cay_exec_kind cay_exec_kind_of(const char *context)
{
        if (!context || context[0] == '\0')
                return CAY_EXEC_PLAIN;
        for (unsigned i = 0; i < CAY_EXEC_KIND_COUNT; i++)
                if (names[i] && strcmp(names[i], context) == 0)
                        return (enum cay_exec_kind)i;
        return CAY_EXEC_KERNEL;
}

const char *cay_exec_kind_name(enum cay_exec_kind kind)
{
        return names[kind];
}
