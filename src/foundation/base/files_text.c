/* SPDX-License-Identifier: Apache-2.0 */
/* Percent-encoding of names that may hold any byte but NUL and a slash. */

#include "foundation/base/files_text.h"

#include <stdbool.h>

static bool is_plain(char c)
{
        return c >= ' ' && c <= '~' && c != '%' && c != '\'' && c != '"' && c != '\\';
}

size_t cay_files_escape(const char *bytes, size_t len, char *ret, size_t size)
{
        static const char hex[] = "0123456789ABCDEF";
        size_t n = 0;

        for (size_t i = 0; i < len; i++) {
                unsigned char c = (unsigned char)bytes[i];

                if (n + (is_plain(bytes[i]) ? 1 : 3) >= size)
                        break;
                if (is_plain(bytes[i])) {
                        ret[n++] = bytes[i];
                } else {
                        ret[n++] = '%';
                        ret[n++] = hex[c >> 4];
                        ret[n++] = hex[c & 15];
                }
        }
        ret[n] = '\0';
        return n;
}

const char *cay_files_quote(struct cay_files_text *t, const char *name)
{
        size_t len = strlen(name), start = len, room = sizeof(t->s) - 1, used = 0;

        while (start > 0) {
                size_t width = is_plain(name[start - 1]) ? 1 : 3;

                if (used + width + 3 > room)
                        break;
                used += width;
                start--;
        }
        if (start > 0)
                memcpy(t->s, "...", 4);
        cay_files_escape(name + start, len - start, t->s + (start > 0 ? 3 : 0),
                         sizeof(t->s) - (start > 0 ? 3 : 0));
        return t->s;
}
