/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox's server calls its own addresses, and what clients ask for parts of: the first line is the
 * path that was asked for, the second a Location, the third a Refresh, the rest a Range. Wherever a browser
 * goes then, it is another host or below the prefix.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dialects/rest/rest_location.h"
#include "dialects/rest/rest_range.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

#define PREFIX "/api/sandboxes/x/ports/3000"
#define HOST "cay.example:8888"

/*
 * A browser on a page of ours, in as few words as its standard allows: does this address lead to us, and
 * where? Written apart from what it judges, and for both schemes that the page may have.
 */
struct visit {
        const char *page; /* "http:" or "https:" */
        const char *path; /* of the page, below the prefix */
        char *at;         /* out: the path that is asked for, without query; owned */
        bool is_ours;
};

static bool is_slash(char c)
{
        return c == '/' || c == '\\';
}

static char *clean(const char *text)
{
        size_t len = strlen(text);
        char *copy = malloc(len + 1), *to = copy;

        HOLDS(copy);
        while (len > 0 && (unsigned char)text[len - 1] <= ' ')
                len--;
        for (size_t i = 0; i < len; i++)
                if (!(to == copy && (unsigned char)text[i] <= ' ') && !strchr("\t\r\n", text[i]))
                        *to++ = text[i];
        *to = '\0';
        return copy;
}

static bool is_dots(const char *segment, size_t len, unsigned want)
{
        unsigned dots = 0;

        for (size_t i = 0; i < len; dots++) {
                if (segment[i] == '.')
                        i++;
                else if (len - i >= 3 && strncasecmp(segment + i, "%2e", 3) == 0)
                        i += 3;
                else
                        return false;
        }
        return dots == want;
}

static void walk(struct visit *v, const char *path, size_t len)
{
        char *to = v->at + strlen(v->at);

        while (len > 0) { /* path begins with a slash */
                size_t segment = 1;

                while (segment < len && !is_slash(path[segment]))
                        segment++;
                if (is_dots(path + 1, segment - 1, 2)) {
                        while (to > v->at && *--to != '/')
                                ;
                } else if (!is_dots(path + 1, segment - 1, 1)) {
                        *to++ = '/';
                        memcpy(to, path + 1, segment - 1);
                        to += segment - 1;
                }
                *to = '\0';
                path += segment;
                len -= segment;
        }
}

static void walk_relative(struct visit *v, const char *ref, size_t len)
{
        size_t size = strlen(PREFIX) + strlen(v->path) + len + 2, dir = 0;
        char *whole = malloc(size);

        HOLDS(whole);
        snprintf(whole, size, PREFIX "%s", v->path);
        for (size_t i = 0; whole[i]; i++)
                if (is_slash(whole[i]))
                        dir = i + 1;
        memcpy(whole + dir, ref, len);
        walk(v, whole, dir + len);
        free(whole);
}

static void visit(struct visit *v, const char *value)
{
        char *text = clean(value);
        size_t scheme = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-."),
               end;
        const char *at = text;
        bool has_scheme = text[scheme] == ':' && ((text[0] | 32) >= 'a' && (text[0] | 32) <= 'z');
        bool is_same =
                has_scheme && strncasecmp(text, v->page, scheme + 1) == 0 && v->page[scheme + 1] == '\0';

        v->at = calloc(1, strlen(PREFIX) + strlen(v->path) + strlen(text) + 8);
        HOLDS(v->at);
        v->is_ours = true;
        if (has_scheme && !is_same && strncasecmp(text, "http:", 5) != 0 &&
            strncasecmp(text, "https:", 6) != 0) {
                v->is_ours = false;
                free(text);
                return;
        }
        at += has_scheme ? scheme + 1 : 0;
        if ((is_slash(at[0]) && is_slash(at[1])) || (has_scheme && !is_same)) {
                const char *user = at;

                while (is_slash(*at))
                        at++;
                end = strcspn(at, "/\\?#");
                for (size_t i = 0; i < end; i++)
                        user = at[i] == '@' ? at + i + 1 : user;
                user = user < at ? at : user;
                v->is_ours = (size_t)(at + end - user) == strlen(HOST) &&
                             strncasecmp(user, HOST, strlen(HOST)) == 0;
                at += end;
                walk(v, at, strcspn(at, "?#"));
        } else if (is_slash(at[0])) {
                walk(v, at, strcspn(at, "?#"));
        } else if (strcspn(at, "?#") > 0) {
                walk_relative(v, at, strcspn(at, "?#"));
        } else {
                memcpy(v->at, PREFIX, sizeof(PREFIX));
        }
        free(text);
}

/* Wherever a browser ends up: if it is with us, it is below the port's path. */
static void must_stay(const char *path, const char *value)
{
        static const char *const pages[] = { "http:", "https:" };

        for (unsigned i = 0; i < 2; i++) {
                struct visit v = { .page = pages[i], .path = path };

                visit(&v, value);
                if (v.is_ours)
                        HOLDS(strncmp(v.at, PREFIX, strlen(PREFIX)) == 0 &&
                              (v.at[strlen(PREFIX)] == '\0' || v.at[strlen(PREFIX)] == '/'));
                free(v.at);
        }
}

static void put(struct cay_buf *out, const char *path, const char *field, const char *value)
{
        const struct cay_proxy_place place = {
                .prefix = PREFIX, .prefix_len = strlen(PREFIX), .path = path, .host = HOST, .port = 3000
        };

        cay_buf_init(out, 1u << 20);
        HOLDS(cay_location_put(out, &place, field, value) == 0);
        HOLDS(strlen(cay_buf_data(out)) == out->len);
}

static void try_location(const char *path, const char *value)
{
        cay_auto_buf struct cay_buf out = { 0 };

        put(&out, path, "Location", value);
        must_stay(path, cay_buf_data(&out));
}

/* A number alone, or one with an address between quotes of which there are no more within. */
static void try_refresh(const char *path, const char *value)
{
        cay_auto_buf struct cay_buf out = { 0 };
        char *text, *address;

        put(&out, path, "Refresh", value);
        text = strdup(cay_buf_data(&out));
        HOLDS(text);
        address = text + strspn(text, "0123456789.");
        if (*address) {
                HOLDS(strncmp(address, "; url=\"", 7) == 0);
                address += 7;
                HOLDS(strcspn(address, "\"") == strlen(address) - 1);
                address[strlen(address) - 1] = '\0';
                must_stay(path, address);
        }
        free(text);
}

static void try_range(const char *value)
{
        struct cay_rest_range r;

        if (cay_rest_range_read(value, &r))
                HOLDS(r.from <= INT64_MAX && r.length <= INT64_MAX &&
                      (r.is_tail || r.length > 0 || !r.has_length));
}

/* The path of a target, which has no blanks and no control characters in it. */
static size_t measure_target(const char *text)
{
        size_t len = 0;

        while ((unsigned char)text[len] > ' ' && text[len] != '?' && text[len] != '#')
                len++;
        return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = size <= 16384 ? malloc(size + 1) : NULL, *line[4] = { NULL };
        unsigned count = 0;

        if (!text)
                return 0;
        memcpy(text, data, size);
        text[size] = '\0';
        for (char *at = text; at && count < 4; count++) {
                line[count] = at;
                at = count < 3 ? strchr(at, '\n') : NULL;
                if (at)
                        *at++ = '\0';
        }
        line[0][measure_target(line[0])] = '\0'; /* a path begins with a slash; the bare port has none */
        if (line[0][0] != '/' && line[0][0] != '\0')
                line[0] = "/";
        if (line[1])
                try_location(line[0], line[1]);
        if (line[2])
                try_refresh(line[0], line[2]);
        if (line[3])
                try_range(line[3]);
        free(text);
        return 0;
}
