/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/ops/pairs.h"

#include <stdbool.h>
#include <string.h>

static int digit(char c)
{
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
}

/* %XX, in place. False: broken, or a NUL. */
static bool decode(char *text)
{
        char *out = text;

        for (; *text; text++) {
                if (*text != '%') {
                        *out++ = *text;
                        continue;
                }
                if (digit(text[1]) < 0 || digit(text[2]) < 0 || (text[1] == '0' && text[2] == '0'))
                        return false;
                *out++ = (char)(digit(text[1]) * 16 + digit(text[2]));
                text += 2;
        }
        *out = '\0';
        return true;
}

int cay_op_pairs_read(char *text, struct cay_field_pair *ret, unsigned max, const char *field,
                      struct cay_error *err)
{
        unsigned count = 0;
        char *save = NULL;

        for (char *word = strtok_r(text, "&", &save); word; word = strtok_r(NULL, "&", &save)) {
                char *equals = strchr(word, '=');

                if (count == max)
                        return cay_fail(err, CAY_INVALID, "%s: at most %u are allowed", field, max);
                if (!equals || equals == word)
                        return cay_fail(err, CAY_INVALID, "%s: must be key=value pairs with & between them",
                                        field);
                *equals++ = '\0';
                if (!decode(word) || !decode(equals))
                        return cay_fail(err, CAY_INVALID, "%s: an escape (%%XX) is not valid", field);
                ret[count++] = (struct cay_field_pair){ word, equals };
        }
        return (int)count;
}
