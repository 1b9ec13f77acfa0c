/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/auth/machine_url.h"

#include <stdio.h>
#include <string.h>

#include "foundation/base/parse.h"
#include "foundation/base/str.h"

static int bad(const char *why, struct cay_error *err)
{
        return cay_fail(err, CAY_INVALID, "url: %s; it must be like wss://HOST/PATH", why);
}

static bool is_name_char(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

static bool is_path(const char *s)
{
        for (; *s; s++)
                if (*s <= ' ' || *s >= 0x7f || strchr("\"<>\\^`{|}?#@", *s))
                        return false;
        return true;
}

/* A name or an IPv4 address; or what is between brackets. */
static int read_host(const char *at, size_t len, bool in_brackets, struct cay_machine_url *ret,
                     struct cay_error *err)
{
        if (len == 0 || len > CAY_MACHINE_HOST_MAX)
                return bad(len == 0 ? "it has no host" : "its host is too long", err);
        for (size_t i = 0; i < len; i++) {
                char c = at[i] >= 'A' && at[i] <= 'Z' ? (char)(at[i] - 'A' + 'a') : at[i];

                if (in_brackets ? !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f') && c != ':' && c != '.'
                                : !is_name_char(c))
                        return bad("its host has a character that no host has", err);
                ret->host[i] = c;
        }
        ret->host[len] = '\0';
        return 0;
}

static int read_port(const char *at, size_t len, uint16_t *ret, struct cay_error *err)
{
        char text[6];
        uint64_t port;

        if (len == 0 || len >= sizeof(text))
                return bad("its port is not a number from 1 to 65535", err);
        memcpy(text, at, len);
        text[len] = '\0';
        if (cay_parse_u64(text, &port) < 0 || port < 1 || port > UINT16_MAX)
                return bad("its port is not a number from 1 to 65535", err);
        *ret = (uint16_t)port;
        return 0;
}

static int read_authority(const char *at, size_t len, struct cay_machine_url *ret, struct cay_error *err)
{
        const char *end = at + len, *rest;
        bool in_brackets = len > 0 && at[0] == '[';
        int r;

        if (in_brackets) {
                const char *close = memchr(at, ']', len);

                if (!close)
                        return bad("a bracket is missing", err);
                r = read_host(at + 1, (size_t)(close - at - 1), true, ret, err);
                rest = close + 1;
        } else {
                rest = memchr(at, ':', len);
                if (!rest)
                        rest = end;
                r = read_host(at, (size_t)(rest - at), false, ret, err);
        }
        if (r < 0)
                return -1;
        ret->port = ret->is_tls ? 443 : 80;
        if (rest < end && (*rest != ':' ? bad("something follows its host", err)
                                        : read_port(rest + 1, (size_t)(end - rest - 1), &ret->port, err)) < 0)
                return -1;
        snprintf(ret->authority, sizeof(ret->authority), rest < end ? "%s%s%s:%u" : "%s%s%s",
                 in_brackets ? "[" : "", ret->host, in_brackets ? "]" : "", ret->port);
        return 0;
}

int cay_machine_url_read(const char *text, struct cay_machine_url *ret, struct cay_error *err)
{
        const char *at;
        size_t len;

        *ret = (struct cay_machine_url){ .is_tls = cay_str_starts(text, "wss://") };
        if (!ret->is_tls && !cay_str_starts(text, "ws://"))
                return bad("it does not begin with wss:// or ws://", err);
        if (strlen(text) > CAY_MACHINE_URL_MAX)
                return bad("it is longer than 400 bytes", err);
        at = strstr(text, "//") + 2;
        len = strcspn(at, "/");
        if (memchr(at, '@', len))
                return bad("it must not have a user name or password", err);
        if (read_authority(at, len, ret, err) < 0)
                return -1;
        if (!is_path(at + len))
                return bad("its path has special characters", err);
        cay_str_copy(ret->path, sizeof(ret->path), at[len] && at[len + 1] ? at + len : "/agent");
        return 0;
}
