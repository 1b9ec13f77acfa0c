/* SPDX-License-Identifier: Apache-2.0 */
/* What every test of the doctor includes first. */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static inline void assert_has(const char *text, const char *part)
{
        if (strstr(text, part) == NULL)
                fail_msg("no '%s' in: %s", part, text);
}
