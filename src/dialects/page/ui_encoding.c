/* SPDX-License-Identifier: Apache-2.0 */
/* Accept-Encoding, by RFC 9110 section 12.5.3. */
#include "dialects/page/ui_encoding.h"

#include <string.h>
#include <strings.h>

#define BLANKS " \t"

/* A weight of zero ("q=0", "q=0.000") refuses; an invalid weight is ignored. */
static bool is_refused(const char *at, const char *end)
{
        while (at < end && strchr(";" BLANKS, *at))
                at++;
        if (end - at < 3 || strncasecmp(at, "q=", 2) != 0)
                return false;
        for (at += 2; at < end && !strchr(BLANKS, *at); at++)
                if (*at != '0' && *at != '.')
                        return false;
        return true;
}

static bool is_word(const char *at, size_t len, const char *word)
{
        return len == strlen(word) && strncasecmp(at, word, len) == 0;
}

/* An explicit gzip has precedence over "*". */
bool cay_ui_accepts_gzip(const char *value)
{
        bool any = false;

        while (value && *value) {
                const char *end = value + strcspn(value, ",");
                size_t len;

                value += strspn(value, BLANKS);
                len = value < end ? strcspn(value, ",;" BLANKS) : 0;
                if (is_word(value, len, "gzip") || is_word(value, len, "x-gzip"))
                        return !is_refused(value + len, end);
                if (is_word(value, len, "*"))
                        any = !is_refused(value + len, end);
                value = *end ? end + 1 : end;
        }
        return any;
}
