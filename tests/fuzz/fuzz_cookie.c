/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cookie fields from strangers: what is found lies inside of the field, behind the name and up to the next
 * semicolon.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/gate/gate_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char name[CAY_GATE_COOKIE_NAME], *field = strndup((const char *)data, size);
        const char *value = NULL;
        size_t len = 0;

        HOLDS(field != NULL);
        cay_gate_cookie_name(name, false, 1);
        if (cay_gate_cookie_find(field, name, &value, &len) == 1) {
                HOLDS(value > field + strlen(name) && value + len <= field + strlen(field));
                HOLDS(value[-1] == '=' && memcmp(value - 1 - strlen(name), name, strlen(name)) == 0);
                HOLDS(!memchr(value, ';', len) && (value[len] == ';' || value[len] == '\0'));
        }
        free(field);
        return 0;
}
