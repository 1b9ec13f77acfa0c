/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses in answers of a sandbox's server. */
#include "dialect/rest/rest_location.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PATH_MAX_BYTES (64u * 1024)

static bool is_slash(char c)
{
        return c == '/' || c == '\\';
}

static const char *find_slash(const char *at, const char *end)
{
        while (at < end && !is_slash(*at))
                at++;
        return at;
}

/* 1 for ".", 2 for "..", however they are written; 0: it is a name. */
static unsigned count_dots(const char *segment, const char *end)
{
        unsigned dots = 0;

        while (segment < end && dots <= 2) {
                if (*segment == '.')
                        segment++;
                else if (end - segment >= 3 && strncasecmp(segment, "%2e", 3) == 0)
                        segment += 3;
                else
                        return 0;
                dots++;
        }
        return dots <= 2 ? dots : 0;
}

static bool has_parent(const char *path, const char *end)
{
        while (path < end) {
                const char *stop = find_slash(path, end);

                if (count_dots(path, stop) == 2)
                        return true;
                path = stop + 1;
        }
        return false;
}

/* What was put since `start` without its last segment. */
static void drop_last(struct cay_buf *out, size_t start)
{
        const char *text = cay_buf_data(out);
        size_t len = out->len;

        while (len > start && text[len - 1] != '/')
                len--;
        cay_buf_cut(out, len > start ? len - 1 : start);
}

/* A path that begins with a slash, its dots resolved; above the root there is nothing. */
static int put_resolved(struct cay_buf *out, const char *path, const char *end)
{
        size_t start = out->len;
        int r = 0;

        while (path < end && r == 0) {
                const char *segment = path + 1, *stop = find_slash(segment, end);
                unsigned dots = count_dots(segment, stop);

                if (dots == 2)
                        drop_last(out, start);
                if (dots == 0 || stop == end)
                        r = cay_buf_putc(out, '/');
                if (dots == 0 && r == 0)
                        r = cay_buf_put(out, segment, (size_t)(stop - segment));
                path = stop;
        }
        return r;
}

static bool is_below(const struct cay_proxy_place *place, const char *path)
{
        return strncmp(path, place->prefix, place->prefix_len) == 0 &&
               (path[place->prefix_len] == '\0' || path[place->prefix_len] == '/');
}

/* path: begins with a slash, or is empty: then it is the root. */
static int put_below(struct cay_buf *out, const struct cay_proxy_place *place, const char *path,
                     const char *end)
{
        cay_auto_buf struct cay_buf plain = { 0 };
        int r;

        cay_buf_init(&plain, PATH_MAX_BYTES);
        r = path < end ? put_resolved(&plain, path, end) : cay_buf_putc(&plain, '/');
        if (r == 0 && !is_below(place, cay_buf_data(&plain)))
                r = cay_buf_put(out, place->prefix, place->prefix_len);
        return r < 0 ? r : cay_buf_put(out, cay_buf_data(&plain), plain.len);
}

/* "../x", seen from what was asked for. */
static int put_relative(struct cay_buf *out, const struct cay_proxy_place *place, const char *path,
                        const char *end)
{
        cay_auto_buf struct cay_buf whole = { 0 };
        const char *last = strrchr(place->path, '/');
        int r;

        cay_buf_init(&whole, PATH_MAX_BYTES);
        r = last ? cay_buf_put(&whole, place->path, (size_t)(last + 1 - place->path))
                 : cay_buf_putc(&whole, '/');
        if (r == 0)
                r = cay_buf_put(&whole, path, (size_t)(end - path));
        if (r < 0)
                return r;
        path = cay_buf_data(&whole);
        return put_below(out, place, path, path + whole.len);
}

/* "localhost:3000": the server's own name for itself. */
static bool is_own_host(const struct cay_proxy_place *place, const char *text, size_t len)
{
        static const char *const names[] = { "localhost", "127.0.0.1", "[::1]", "0.0.0.0" };
        char port[8];

        snprintf(port, sizeof(port), ":%u", (unsigned)place->port);
        for (unsigned i = 0; i < CAY_COUNT(names); i++) {
                size_t name = strlen(names[i]);

                if (len < name || strncasecmp(text, names[i], name) != 0)
                        continue;
                if (len == name)
                        return place->port == 80 || place->port == 443;
                return len - name == strlen(port) && memcmp(text + name, port, len - name) == 0;
        }
        return false;
}

/* Behind "http:" or "https:"; the beginning when there is no scheme; NULL: another one. */
static const char *skip_scheme(const char *ref)
{
        const char *at = ref;

        if (strncasecmp(ref, "http:", 5) == 0)
                return ref + 5;
        if (strncasecmp(ref, "https:", 6) == 0)
                return ref + 6;
        while (isalnum((unsigned char)*at) || (at > ref && *at && strchr("+-.", *at)))
                at++;
        return *at == ':' && at > ref ? NULL : ref;
}

static int put_reference(struct cay_buf *out, const struct cay_proxy_place *place, const char *ref,
                         size_t len)
{
        cay_auto_free char *copy = strndup(ref, len);
        const char *path, *end;
        int r;

        if (!copy)
                return -ENOMEM;
        path = skip_scheme(copy);
        if (path && is_slash(path[0]) && is_slash(path[1])) {
                size_t host = strcspn(path + 2, "/\\?#");

                path = is_own_host(place, path + 2, host) ? path + 2 + host : NULL;
        } else if (path != copy) {
                path = NULL; /* a scheme and no host: not ours to read */
        }
        if (!path)
                return cay_buf_put(out, ref, len);
        end = path + strcspn(path, "?#");
        if (is_slash(path[0]) || path != copy)
                r = put_below(out, place, path, end);
        else if (has_parent(path, end))
                r = put_relative(out, place, path, end);
        else
                return cay_buf_put(out, ref, len);
        return r < 0 ? r : cay_buf_puts(out, end);
}

/* "5; url=/login", with or without quotes. */
static int put_refresh(struct cay_buf *out, const struct cay_proxy_place *place, const char *value)
{
        const char *at = value + strcspn(value, ";,");
        size_t len;
        int r;

        at += strspn(at, ";, \t");
        if (strncasecmp(at, "url", 3) == 0) {
                at += 3;
                at += strspn(at, " \t");
                at += *at == '=';
                at += strspn(at, " \t");
        }
        at += *at == '"' || *at == '\'';
        len = strcspn(at, "\"'");
        r = cay_buf_put(out, value, (size_t)(at - value));
        if (r == 0 && len > 0)
                r = put_reference(out, place, at, len);
        return r < 0 ? r : cay_buf_puts(out, at + len);
}

static bool is_refresh(const char *field)
{
        return strcasecmp(field, "Refresh") == 0;
}

bool cay_location_is_in(const char *field)
{
        return is_refresh(field) || strcasecmp(field, "Location") == 0 ||
               strcasecmp(field, "Content-Location") == 0;
}

int cay_location_put(struct cay_buf *out, const struct cay_proxy_place *place, const char *field,
                     const char *value)
{
        return is_refresh(field) ? put_refresh(out, place, value)
                                 : put_reference(out, place, value, strlen(value));
}
