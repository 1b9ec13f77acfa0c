/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of the one JSON object that `cay run --json` prints: strict about the form, simple about the rest.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "attack/attack_run.h"

#define DEPTH_MAX 16

static const char *blank(const char *p)
{
        return p + strspn(p, " \t\r\n");
}

static const char *skip_string(const char *p)
{
        if (*p++ != '"')
                return NULL;
        while (*p != '"') {
                if ((unsigned char)*p < 0x20)
                        return NULL;
                if (*p == '\\') {
                        p++;
                        if (*p == 'u') {
                                for (int i = 1; i <= 4; i++)
                                        if (!isxdigit((unsigned char)p[i]))
                                                return NULL;
                                p += 4;
                        } else if (!*p || !strchr("\"\\/bfnrt", *p)) {
                                return NULL;
                        }
                }
                p++;
        }
        return p + 1;
}

static const char *skip_value(const char *p, int depth);

/* Members of an object or elements of an array, up to and with the closing bracket. */
static const char *skip_members(const char *p, char close, int depth)
{
        p = blank(p + 1);
        if (*p == close)
                return p + 1;
        for (;;) {
                if (close == '}') {
                        p = skip_string(p);
                        if (!p || *(p = blank(p)) != ':')
                                return NULL;
                        p++;
                }
                p = skip_value(blank(p), depth + 1);
                if (!p)
                        return NULL;
                p = blank(p);
                if (*p == close)
                        return p + 1;
                if (*p != ',')
                        return NULL;
                p = blank(p + 1);
        }
}

static const char *skip_number(const char *p)
{
        char *end;

        if (*p != '-' && !isdigit((unsigned char)*p))
                return NULL;
        strtod(p, &end);
        return end == p ? NULL : end;
}

static const char *skip_value(const char *p, int depth)
{
        if (depth > DEPTH_MAX)
                return NULL;
        switch (*p) {
        case '"':
                return skip_string(p);
        case '{':
                return skip_members(p, '}', depth);
        case '[':
                return skip_members(p, ']', depth);
        case 't':
                return strncmp(p, "true", 4) ? NULL : p + 4;
        case 'f':
                return strncmp(p, "false", 5) ? NULL : p + 5;
        case 'n':
                return strncmp(p, "null", 4) ? NULL : p + 4;
        default:
                return skip_number(p);
        }
}

/* Bytes above ASCII must be whole UTF-8 characters. */
static bool is_utf8(const char *text)
{
        const unsigned char *p = (const unsigned char *)text;

        while (*p) {
                unsigned more = *p < 0x80                 ? 0
                                : *p >= 0xc2 && *p < 0xe0 ? 1
                                : *p >= 0xe0 && *p < 0xf0 ? 2
                                : *p >= 0xf0 && *p < 0xf5 ? 3
                                                          : 9;

                if (more == 9)
                        return false;
                for (unsigned i = 1; i <= more; i++)
                        if ((p[i] & 0xc0) != 0x80)
                                return false;
                p += more + 1;
        }
        return true;
}

bool attack_json_is_valid(const char *json)
{
        const char *p = blank(json);

        if (*p != '{')
                return false;
        p = skip_value(p, 0);
        return p && *blank(p) == '\0' && is_utf8(json);
}

/* The value behind a key of the object that begins at p; NULL when there is none. */
static const char *member(const char *p, const char *key)
{
        size_t len = strlen(key);

        p = blank(p);
        if (*p != '{')
                return NULL;
        p = blank(p + 1);
        while (*p == '"') {
                const char *name = p + 1, *end = skip_string(p);
                bool found;

                if (!end)
                        return NULL;
                found = (size_t)(end - 1 - name) == len && strncmp(name, key, len) == 0;
                p = blank(blank(end) + 1);
                if (found)
                        return p;
                p = skip_value(p, 0);
                if (!p)
                        return NULL;
                p = blank(p);
                if (*p == ',')
                        p = blank(p + 1);
        }
        return NULL;
}

static size_t put_utf8(char *to, unsigned code)
{
        if (code < 0x80) {
                to[0] = (char)code;
                return 1;
        }
        if (code < 0x800) {
                to[0] = (char)(0xc0 | code >> 6);
                to[1] = (char)(0x80 | (code & 0x3f));
                return 2;
        }
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        return 3;
}

static bool unescape(const char *p, char *buf, size_t size)
{
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        size_t have = 0;

        if (!p || *p++ != '"')
                return false;
        while (*p != '"' && have + 4 < size) {
                if (*p != '\\') {
                        buf[have++] = *p++;
                } else if (p[1] == 'u') {
                        char digits[5] = { p[2], p[3], p[4], p[5], 0 };

                        have += put_utf8(buf + have, (unsigned)strtoul(digits, NULL, 16));
                        p += 6;
                } else {
                        buf[have++] = to[strchr(from, p[1]) - from];
                        p += 2;
                }
        }
        buf[have] = '\0';
        return true;
}

bool attack_json_text(const char *json, const char *key, char *buf, size_t size)
{
        return unescape(member(json, key), buf, size);
}

bool attack_json_number(const char *json, const char *key, double *ret)
{
        const char *p = member(json, key);

        if (!p || !skip_number(p))
                return false;
        *ret = strtod(p, NULL);
        return true;
}

bool attack_json_has_word(const char *json, const char *key, const char *word)
{
        const char *p = member(json, key);
        char text[128];

        if (!p || *p != '[')
                return false;
        p = blank(p + 1);
        while (*p && *p != ']') {
                if (unescape(*p == '{' ? member(p, "name") : p, text, sizeof(text)) &&
                    strcmp(text, word) == 0)
                        return true;
                p = skip_value(p, 0);
                if (!p)
                        return false;
                p = blank(p);
                if (*p == ',')
                        p = blank(p + 1);
        }
        return false;
}
