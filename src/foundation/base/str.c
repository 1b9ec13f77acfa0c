/* SPDX-License-Identifier: Apache-2.0 */
/* Small helpers for C strings. */

#include "foundation/base/str.h"

bool cay_str_copy(char *dst, size_t size, const char *src)
{
        size_t len = strlen(src);

        if (len >= size) {
                dst[0] = '\0';
                return false;
        }
        memmove(dst, src, len + 1);
        return true;
}

bool cay_str_starts(const char *s, const char *prefix)
{
        return strncmp(s, prefix, strlen(prefix)) == 0;
}
