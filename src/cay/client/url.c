/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of daemons. */
#include "cay/client/url.h"

#include <stdio.h>
#include <string.h>

#include "foundation/base/buf.h"
#include "foundation/base/parse.h"
#include "foundation/base/str.h"

int cay_url_unix(const char *path, struct cay_url *ret, struct cay_error *err)
{
        *ret = (struct cay_url){ .kind = CAY_URL_UNIX, .authority = "localhost" };
        if (path[0] == '\0' || !cay_str_copy(ret->path, sizeof(ret->path), path))
                return cay_fail(err, CAY_INVALID, "the socket's path '%.60s…' is longer than %zu bytes", path,
                                sizeof(ret->path) - 1);
        return 0;
}

static int bad(const char *text, const char *why, struct cay_error *err)
{
        return cay_fail(
                err, CAY_INVALID,
                "'%.80s' is not the address of a daemon: %s (http://HOST:PORT, https://HOST, unix:/PATH)",
                text, why);
}

/* Printable ASCII, except characters that would end a header or hide a name. */
static bool is_plain(const char *s, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (s[i] <= ' ' || s[i] >= 0x7f || strchr("\"<>\\^`{|}?#@", s[i]) != NULL)
                        return false;
        return true;
}

static bool copy(char *dst, size_t size, const char *src, size_t len)
{
        if (len >= size)
                return false;
        memcpy(dst, src, len);
        dst[len] = '\0';
        return true;
}

static int read_port(struct cay_url *u, const char *at, size_t len)
{
        uint64_t port;

        return len > 0 && copy(u->port, sizeof(u->port), at, len) && cay_parse_u64(u->port, &port) == 0 &&
                               port > 0 && port <= 65535
                       ? 0
                       : -1;
}

static int read_authority(struct cay_url *u, const char *text, const char *at, size_t len,
                          struct cay_error *err)
{
        const char *host = at, *end = at + len, *rest;
        size_t host_len;

        if (at[0] == '[') {
                const char *close = memchr(at, ']', len);

                if (close == NULL)
                        return bad(text, "a bracket is missing", err);
                host++;
                host_len = (size_t)(close - host);
                rest = close + 1;
        } else {
                rest = memchr(at, ':', len);
                if (rest == NULL)
                        rest = end;
                host_len = (size_t)(rest - host);
        }
        if (host_len == 0 || !is_plain(at, len) || !copy(u->host, sizeof(u->host), host, host_len))
                return bad(text, "it has no host", err);
        cay_str_copy(u->port, sizeof(u->port), u->kind == CAY_URL_HTTPS ? "443" : "80");
        if (rest < end && (*rest != ':' || read_port(u, rest + 1, (size_t)(end - rest - 1)) < 0))
                return bad(text, "the port is not a number from 1 to 65535", err);
        copy(u->authority, sizeof(u->authority), at, len);
        return 0;
}

int cay_url_parse(const char *text, struct cay_url *ret, struct cay_error *err)
{
        const char *at;
        size_t len;

        if (cay_str_starts(text, "unix:"))
                return cay_url_unix(text + (cay_str_starts(text, "unix:///") ? 7 : 5), ret, err);
        *ret = (struct cay_url){ .kind = cay_str_starts(text, "https://") ? CAY_URL_HTTPS : CAY_URL_HTTP };
        if (ret->kind == CAY_URL_HTTP && !cay_str_starts(text, "http://"))
                return bad(text, "it does not start with http://, https:// or unix:", err);
        at = strstr(text, "//") + 2;
        len = strcspn(at, "/");
        if (len >= sizeof(ret->authority))
                return bad(text, "it is too long", err);
        if (memchr(at, '@', len) != NULL)
                return bad(text, "it must not have a user name or password", err);
        if (len == 0)
                return bad(text, "it has no host", err);
        if (read_authority(ret, text, at, len, err) < 0)
                return -1;
        at += len;
        for (len = strlen(at); len > 0 && at[len - 1] == '/'; len--)
                ;
        if (!is_plain(at, len) || !copy(ret->base, sizeof(ret->base), at, len))
                return bad(text, "its path is too long or has special characters", err);
        return 0;
}

int cay_url_escape(struct cay_buf *out, const char *text, bool keep_slash)
{
        int r = 0;

        for (; *text != '\0' && r == 0; text++) {
                unsigned char c = (unsigned char)*text;

                if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                    strchr("-._~", c) != NULL || (keep_slash && c == '/'))
                        r = cay_buf_putc(out, (char)c);
                else
                        r = cay_buf_printf(out, "%%%02X", c);
        }
        return r;
}
