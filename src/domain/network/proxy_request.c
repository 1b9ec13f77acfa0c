/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/network/proxy_request.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "foundation/base/parse.h"
#include "foundation/base/str.h"

#define SOCKS_VERSION 5
#define SOCKS_CONNECT 1
#define SCHEME "http://"

struct span { /* borrowed from the head */
        const char *at;
        size_t len;
};

static enum cay_proxy bad(struct cay_proxy_request *ret, const char *why)
{
        ret->why = why;
        return CAY_PROXY_BAD;
}

/* Hosts */

static bool read_port(struct span text, uint16_t *ret)
{
        char digits[6];
        uint64_t port;

        if (text.len == 0 || text.len >= sizeof(digits))
                return false;
        memcpy(digits, text.at, text.len);
        digits[text.len] = '\0';
        if (cay_parse_u64(digits, &port) < 0 || port < 1 || port > UINT16_MAX)
                return false;
        *ret = (uint16_t)port;
        return true;
}

static bool set_host(struct cay_proxy_request *ret, struct span host, bool is_v6)
{
        char text[CAY_POLICY_NAME_MAX + 1];

        if (host.len == 0 || host.len >= sizeof(text))
                return false;
        memcpy(text, host.at, host.len);
        text[host.len] = '\0';
        ret->name[0] = '\0';
        if (strlen(text) != host.len || is_v6 != (strchr(text, ':') != NULL))
                return false;
        return cay_address_parse(text, &ret->address) ||
               (!is_v6 && cay_policy_name_fold(text, host.len, ret->name));
}

/* "host", "host:port" or "[v6]:port"; port 0 as a default: it must be there. */
static bool read_authority(struct span text, uint16_t port, struct cay_proxy_request *ret)
{
        struct span host = text, rest = { 0 };
        bool is_v6 = text.len > 0 && text.at[0] == '[';
        const char *end = is_v6 ? memchr(text.at, ']', text.len) : memchr(text.at, ':', text.len);

        if (is_v6 && !end)
                return false;
        if (end) {
                host = is_v6 ? (struct span){ text.at + 1, (size_t)(end - text.at) - 1 }
                             : (struct span){ text.at, (size_t)(end - text.at) };
                rest = (struct span){ end + is_v6, text.len - (size_t)(end - text.at) - is_v6 };
        }
        ret->port = port;
        if (rest.len > 0 &&
            (rest.at[0] != ':' || !read_port((struct span){ rest.at + 1, rest.len - 1 }, &ret->port)))
                return false;
        return ret->port > 0 && set_host(ret, host, is_v6);
}

/* HTTP */

static bool is_token(struct span text)
{
        for (size_t i = 0; i < text.len; i++)
                if (!isalnum((unsigned char)text.at[i]) && !strchr("!#$%&'*+-.^_`|~", text.at[i]))
                        return false;
        return text.len > 0 && !memchr(text.at, 0, text.len);
}

/* The next line without its CRLF; lines are what two CRLF end, so each is there. */
static struct span next_line(struct span *rest)
{
        const char *end = memmem(rest->at, rest->len, "\r\n", 2);
        struct span line = { rest->at, (size_t)(end - rest->at) };

        rest->len -= line.len + 2;
        rest->at = end + 2;
        return line;
}

static struct span name_of(struct span line)
{
        const char *colon = memchr(line.at, ':', line.len);

        return (struct span){ line.at, colon ? (size_t)(colon - line.at) : 0 };
}

/* What may be in a line: no control character but a tab. */
static bool is_text(struct span line)
{
        for (size_t i = 0; i < line.len; i++)
                if (((unsigned char)line.at[i] < 0x20 && line.at[i] != '\t') || line.at[i] == 0x7f)
                        return false;
        return true;
}

struct head {
        struct span method, target, version, headers;
};

/* Cuts a whole head; the blank line at its end is not part of `headers`. */
static bool split_head(struct span all, struct head *ret)
{
        struct span line = next_line(&all), rest;
        const char *first = memchr(line.at, ' ', line.len), *last = memrchr(line.at, ' ', line.len);

        if (!first || first == last || !is_text(line))
                return false;
        ret->method = (struct span){ line.at, (size_t)(first - line.at) };
        ret->target = (struct span){ first + 1, (size_t)(last - first) - 1 };
        ret->version = (struct span){ last + 1, line.len - (size_t)(last + 1 - line.at) };
        ret->headers = (struct span){ all.at, all.len - 2 };
        if (!is_token(ret->method) || memchr(ret->target.at, ' ', ret->target.len) ||
            memchr(ret->target.at, '\t', ret->target.len) || ret->version.len != 8 ||
            (memcmp(ret->version.at, "HTTP/1.1", 8) != 0 && memcmp(ret->version.at, "HTTP/1.0", 8) != 0))
                return false;
        for (rest = ret->headers; rest.len > 0;) {
                line = next_line(&rest);
                if (!is_text(line) || !is_token(name_of(line)))
                        return false;
        }
        return true;
}

/* Of "http://host:port/path?query": the authority and what is after it, which may be empty. */
static bool split_url(struct span target, struct span *ret_authority, struct span *ret_path)
{
        size_t scheme = strlen(SCHEME), len;

        if (target.len <= scheme || strncasecmp(target.at, SCHEME, scheme) != 0)
                return false;
        target = (struct span){ target.at + scheme, target.len - scheme };
        for (len = 0; len < target.len && !strchr("/?#", target.at[len]); len++)
                ;
        *ret_authority = (struct span){ target.at, len };
        *ret_path = (struct span){ target.at + len, target.len - len };
        return ret_path->len == 0 || ret_path->at[0] != '#';
}

static enum cay_proxy read_http(const uint8_t *bytes, size_t len, struct cay_proxy_request *ret)
{
        const char *text = (const char *)bytes, *end = memmem(text, len, "\r\n\r\n", 4);
        struct span authority, path;
        struct head h;

        if (!end)
                return len < CAY_PROXY_HEAD_MAX ? CAY_PROXY_MORE
                                                : bad(ret, "the request's head is longer than 16 KiB");
        ret->len = (size_t)(end - text) + 4;
        if (!split_head((struct span){ text, ret->len }, &h))
                return bad(ret, "this is no HTTP request");
        if (h.method.len == 7 && memcmp(h.method.at, "CONNECT", 7) == 0)
                return read_authority(h.target, 0, ret) ? CAY_PROXY_CONNECT
                                                        : bad(ret, "CONNECT needs a host and a port");
        if (!split_url(h.target, &authority, &path))
                return bad(ret, "a proxy is asked with http://HOST/PATH, or with CONNECT HOST:PORT");
        return read_authority(authority, 80, ret) ? CAY_PROXY_HTTP
                                                  : bad(ret, "the URL names no host that there can be");
}

/* Those that are between two neighbours, and Host, which the URL says. */
static bool is_dropped(struct span name)
{
        static const char *const names[] = {
                "host",    "connection", "proxy-connection", "keep-alive", "proxy-authorization",
                "upgrade", "te",         "trailer"
        };

        for (unsigned i = 0; i < CAY_COUNT(names); i++)
                if (strlen(names[i]) == name.len && strncasecmp(names[i], name.at, name.len) == 0)
                        return true;
        return false;
}

struct writer {
        char *at;
        size_t left;
        bool is_full;
};

static void put(struct writer *w, struct span text)
{
        if (text.len > w->left) {
                w->is_full = true;
                return;
        }
        memcpy(w->at, text.at, text.len);
        w->at += text.len;
        w->left -= text.len;
}

#define PUT(w, literal) put(w, (struct span){ literal, sizeof(literal) - 1 })

size_t cay_proxy_rewrite(const uint8_t *head, size_t len, char *out, size_t size)
{
        struct writer w = { out, size, false };
        struct span authority, path, rest;
        struct head h;

        if (!split_head((struct span){ (const char *)head, len }, &h) ||
            !split_url(h.target, &authority, &path))
                return 0;
        put(&w, h.method);
        PUT(&w, " ");
        if (path.len == 0 || path.at[0] != '/')
                PUT(&w, "/");
        put(&w, path);
        PUT(&w, " ");
        put(&w, h.version);
        PUT(&w, "\r\nHost: ");
        put(&w, authority);
        for (rest = h.headers; rest.len > 0;) {
                struct span line = next_line(&rest);

                if (is_dropped(name_of(line)))
                        continue;
                PUT(&w, "\r\n");
                put(&w, line);
        }
        PUT(&w, "\r\nConnection: close\r\n\r\n");
        return w.is_full ? 0 : size - w.left;
}

/* SOCKS */

static enum cay_proxy bad_socks(struct cay_proxy_request *ret, uint8_t answer, const char *why)
{
        ret->is_socks = true;
        ret->socks_answer = answer;
        return bad(ret, why);
}

/* Version, number of methods, methods. */
static enum cay_proxy read_greeting(const uint8_t *bytes, size_t len, struct cay_proxy_request *ret)
{
        if (len < 2 || len < 2u + bytes[1])
                return CAY_PROXY_MORE;
        ret->len = 2u + bytes[1];
        ret->is_socks = true;
        ret->is_good = memchr(bytes + 2, 0, bytes[1]) != NULL;
        return CAY_PROXY_GREETED;
}

static uint16_t port_at(const uint8_t *bytes)
{
        return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static bool set_address(struct cay_proxy_request *ret, const uint8_t *bytes, size_t len)
{
        static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

        ret->name[0] = '\0';
        if (len == 16) {
                memcpy(ret->address.bytes, bytes, 16);
                return true;
        }
        memcpy(ret->address.bytes, mapped, sizeof(mapped));
        memcpy(ret->address.bytes + sizeof(mapped), bytes, 4);
        return true;
}

/* Version, command, 0, kind of address, address, port. */
static enum cay_proxy read_socks(const uint8_t *bytes, size_t len, struct cay_proxy_request *ret)
{
        size_t at = 4, host;
        bool is_name, is_good;

        ret->is_socks = true;
        if (len < 5)
                return CAY_PROXY_MORE;
        is_name = bytes[3] == 3;
        host = bytes[3] == 1 ? 4 : bytes[3] == 4 ? 16 : is_name ? bytes[4] : 0;
        if (bytes[0] != SOCKS_VERSION || bytes[2] != 0 || host == 0)
                return bad_socks(ret, 8, "this is no request of SOCKS 5");
        at += is_name;
        if (len < at + host + 2)
                return CAY_PROXY_MORE;
        ret->len = at + host + 2;
        ret->port = port_at(bytes + at + host);
        if (bytes[1] != SOCKS_CONNECT)
                return bad_socks(ret, 7, "only CONNECT is there");
        is_good = is_name ? set_host(ret, (struct span){ (const char *)bytes + at, host },
                                     memchr(bytes + at, ':', host) != NULL)
                          : set_address(ret, bytes + at, host);
        return is_good && ret->port > 0 ? CAY_PROXY_SOCKS
                                        : bad_socks(ret, 4, "the request names no host that there can be");
}

enum cay_proxy cay_proxy_read(const uint8_t *bytes, size_t len, bool is_greeted,
                              struct cay_proxy_request *ret)
{
        *ret = (struct cay_proxy_request){ 0 };
        if (len == 0)
                return CAY_PROXY_MORE;
        if (is_greeted)
                return read_socks(bytes, len, ret);
        if (bytes[0] == SOCKS_VERSION)
                return read_greeting(bytes, len, ret);
        return read_http(bytes, len, ret);
}
