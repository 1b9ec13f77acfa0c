/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of fallbacks: CAY_TEST_NO lists, separated by blanks, kernel features to treat as missing. Only
 * in builds with test hooks; elsewhere it is the constant "no".
 */
#pragma once

#include <stdbool.h>

#ifdef CAY_TEST_HOOKS
#include <stdlib.h>
#include <string.h>
#endif

#include "foundation/base/banned.h"

static inline bool sys_test_no(const char *feature)
{
#ifdef CAY_TEST_HOOKS
        const char *list = getenv("CAY_TEST_NO");

        for (size_t len; list && *list; list += len) {
                list += strspn(list, " ");
                len = strcspn(list, " ");
                if (len == strlen(feature) && memcmp(list, feature, len) == 0)
                        return true;
        }
#else
        (void)feature;
#endif
        return false;
}
