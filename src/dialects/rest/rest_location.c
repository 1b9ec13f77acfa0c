/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses in answers of a sandbox's server. */
#include "dialects/rest/rest_location.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "dialects/rest/rest_address.h"

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

/*
 * Length of "host" in "host:80"; *ret_port is what is behind it, "" for the usual ones, which are left out as
 * often as not.
 */
static size_t cut_port(const char *host, size_t len, const char **ret_port, size_t *ret_port_len)
{
        size_t name = len;

        while (name > 0 && host[name - 1] >= '0' && host[name - 1] <= '9')
                name--;
        if (name == 0 || host[name - 1] != ':')
                name = len + 1; /* digits of a name */
        *ret_port = host + (name <= len ? name : len);
        *ret_port_len = name <= len ? len - name : 0;
        if ((*ret_port_len == 2 && memcmp(*ret_port, "80", 2) == 0) ||
            (*ret_port_len == 3 && memcmp(*ret_port, "443", 3) == 0))
                *ret_port_len = 0;
        return name - 1;
}

static bool is_same_host(const char *a, size_t a_len, const char *b, size_t b_len)
{
        const char *a_port, *b_port;
        size_t a_digits, b_digits;

        a_len = cut_port(a, a_len, &a_port, &a_digits);
        b_len = cut_port(b, b_len, &b_port, &b_digits);
        return a_len == b_len && strncasecmp(a, b, a_len) == 0 && a_digits == b_digits &&
               memcmp(a_port, b_port, a_digits) == 0;
}

/*
 * "localhost:3000", the server's own name for itself; or the name by which the client came, which may have
 * reached the server.
 */
static bool is_own_host(const struct cay_proxy_place *place, const char *host, size_t len)
{
        static const char *const names[] = { "localhost", "127.0.0.1", "[::1]", "0.0.0.0" };
        char own[32];

        if (place->host && is_same_host(host, len, place->host, strlen(place->host)))
                return true;
        for (unsigned i = 0; i < CAY_COUNT(names); i++) {
                snprintf(own, sizeof(own), "%s:%u", names[i], (unsigned)place->port);
                if (is_same_host(host, len, own, strlen(own)))
                        return true;
        }
        return false;
}

/* Only a path with nothing that leads up, seen from a folder that is below the prefix, may stay relative. */
static bool stays_below(const struct cay_proxy_place *place, const struct cay_address *a)
{
        return a->is_plain && place->path[0] == '/' && !has_parent(a->path, a->end) &&
               !has_parent(place->path, place->path + strlen(place->path));
}

static int put_reference(struct cay_buf *out, const struct cay_proxy_place *place, const char *ref,
                         size_t len)
{
        cay_auto_free char *text = strndup(ref, len);
        struct cay_address a;
        int r = 0;

        if (!text)
                return -ENOMEM;
        cay_address_read(text, &a);
        switch (a.kind) {
        case CAY_ADDRESS_SAME:
                return cay_buf_puts(out, a.path);
        case CAY_ADDRESS_FOREIGN:
                return cay_buf_puts(out, text);
        case CAY_ADDRESS_NONE:
                return put_below(out, place, "", "");
        case CAY_ADDRESS_HOST:
                if (!is_own_host(place, a.host, a.host_len))
                        return cay_buf_puts(out, text);
                r = put_below(out, place, a.path, a.end);
                break;
        case CAY_ADDRESS_PATH:
                r = put_below(out, place, a.path, a.end);
                break;
        case CAY_ADDRESS_RELATIVE:
                if (stays_below(place, &a))
                        return cay_buf_puts(out, text);
                r = put_relative(out, place, a.path, a.end);
                break;
        }
        return r < 0 ? r : cay_buf_puts(out, a.end);
}

#define BLANKS " \t\n\f\r"
#define NUMBER "0123456789."

/* The address in "5; url=/login", as browsers look for it behind the number; false: there is none. */
static bool find_refresh(const char *at, const char **ret, size_t *ret_len)
{
        const char *url;

        if (*at == '\0' || !strchr(";," BLANKS, *at))
                return false;
        at += strspn(at, BLANKS);
        at += *at == ';' || *at == ',';
        at += strspn(at, BLANKS);
        if (strncasecmp(at, "url", 3) == 0) {
                url = at + 3 + strspn(at + 3, BLANKS);
                at = *url == '=' ? url + 1 + strspn(url + 1, BLANKS) : at;
        }
        *ret = at + (*at == '"' || *at == '\'');
        *ret_len = *ret > at ? strcspn(*ret, (char[]){ *at, '\0' }) : strlen(at);
        return *ret_len > 0;
}

static int put_quoted(struct cay_buf *out, const char *text)
{
        int r = cay_buf_putc(out, '"');

        for (; *text && r == 0; text++)
                r = *text == '"' ? cay_buf_puts(out, "%22") : cay_buf_putc(out, *text);
        return r < 0 ? r : cay_buf_putc(out, '"');
}

/*
 * Written in one form, whatever it was: what is cleaned within its quotes cannot become another word or
 * another quote.
 */
static int put_refresh(struct cay_buf *out, const struct cay_proxy_place *place, const char *value)
{
        const char *number = value + strspn(value, BLANKS), *ref;
        size_t digits = strspn(number, NUMBER), len;
        cay_auto_buf struct cay_buf address = { 0 };
        int r = cay_buf_put(out, number, digits);

        if (r < 0 || digits == 0 || !find_refresh(number + digits, &ref, &len))
                return r;
        cay_buf_init(&address, PATH_MAX_BYTES);
        r = put_reference(&address, place, ref, len);
        if (r == 0)
                r = cay_buf_puts(out, "; url=");
        return r < 0 ? r : put_quoted(out, cay_buf_data(&address));
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
