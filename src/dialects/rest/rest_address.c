/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as browsers read them; the rules are in rest_address.h. */
#include "dialects/rest/rest_address.h"

#include <string.h>
#include <strings.h>

/* Of ASCII alone: what a locale calls a letter is none here. */
static bool is_letter(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static bool is_slash(char c)
{
        return c == '/' || c == '\\';
}

static bool is_blank(char c)
{
        return (unsigned char)c <= ' ';
}

static void clean(char *text)
{
        const char *from = text, *end = text + strlen(text);
        char *to = text;

        while (from < end && is_blank(*from))
                from++;
        while (end > from && is_blank(end[-1]))
                end--;
        for (; from < end; from++)
                if (*from != '\t' && *from != '\r' && *from != '\n')
                        *to++ = *from;
        *to = '\0';
}

/* Bytes of "http:" with the colon; 0: there is no scheme. */
static size_t measure_scheme(const char *text)
{
        size_t len = 0;

        if (!is_letter(text[0]))
                return 0;
        while (is_letter(text[len]) || is_digit(text[len]) || (text[len] && strchr("+-.", text[len])))
                len++;
        return text[len] == ':' ? len + 1 : 0;
}

static bool is_web(const char *scheme, size_t len)
{
        return (len == 5 && strncasecmp(scheme, "http:", 5) == 0) ||
               (len == 6 && strncasecmp(scheme, "https:", 6) == 0);
}

/* A host of which everybody reads the same: no escapes, nothing beyond ASCII. */
static bool is_plain_host(const char *host, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (!is_letter(host[i]) && !is_digit(host[i]) && !strchr("-._:[]", host[i]))
                        return false;
        return len > 0;
}

static void read_host(const char *at, struct cay_address *ret)
{
        const char *end, *user;

        while (is_slash(*at))
                at++;
        end = at + strcspn(at, "/\\?#");
        user = memrchr(at, '@', (size_t)(end - at));
        ret->host = user ? user + 1 : at;
        ret->host_len = (size_t)(end - ret->host);
        ret->path = end;
        ret->kind = is_plain_host(ret->host, ret->host_len) ? CAY_ADDRESS_HOST : CAY_ADDRESS_NONE;
}

void cay_address_read(char *text, struct cay_address *ret)
{
        const char *at;
        size_t scheme;

        clean(text);
        scheme = measure_scheme(text);
        at = text + scheme;
        *ret = (struct cay_address){ .is_plain = scheme == 0, .path = at };
        if (scheme > 0 && !is_web(text, scheme))
                ret->kind = CAY_ADDRESS_FOREIGN;
        else if (is_slash(at[0]) && is_slash(at[1]))
                read_host(at, ret);
        else if (is_slash(at[0]))
                ret->kind = CAY_ADDRESS_PATH;
        else
                ret->kind = at[0] == '\0' || at[0] == '?' || at[0] == '#' ? CAY_ADDRESS_SAME
                                                                          : CAY_ADDRESS_RELATIVE;
        ret->end = ret->path + strcspn(ret->path, "?#");
}
