/* SPDX-License-Identifier: Apache-2.0 */
/* Ports of sandboxes by host name. */
#include "daemon/gate/gate_port.h"

#include <stdio.h>
#include <string.h>

#include "domain/auth/token.h"
#include "daemon/gate/gate_priv.h"

#define FIELD_MAX (CAY_TOKEN_MAX + 200)

/* The length of the part before ".domain"; 0: not below it, or by more than one label. */
static size_t label_len(const char *host, const char *domain)
{
        size_t len = strlen(host), tail = strlen(domain);

        if (tail == 0 || len <= tail + 1 || host[len - tail - 1] != '.' ||
            strcmp(host + len - tail, domain) != 0)
                return 0;
        len -= tail + 1;
        return memchr(host, '.', len) ? 0 : len;
}

uint16_t cay_port_read(const char *text, size_t len)
{
        unsigned port = 0;

        if (len == 0 || len > 5 || text[0] == '0')
                return 0;
        for (size_t i = 0; i < len; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return 0;
                port = port * 10 + (unsigned)(text[i] - '0');
        }
        return port <= UINT16_MAX ? (uint16_t)port : 0;
}

static bool read_label(const char *label, size_t len, struct cay_port_host *ret)
{
        const char *dash = memchr(label, '-', len);
        size_t name_len = dash ? len - (size_t)(dash + 1 - label) : 0;
        struct cay_port_host h = { 0 };

        if (name_len == 0 || name_len > CAY_NAME_MAX)
                return false;
        h.port = cay_port_read(label, (size_t)(dash - label));
        memcpy(h.sandbox, dash + 1, name_len);
        if (h.port == 0 || !cay_id_is_valid(h.sandbox))
                return false;
        snprintf(h.label, sizeof(h.label), "%u-%s", (unsigned)h.port, h.sandbox);
        *ret = h;
        return true;
}

bool cay_port_host_read(const struct cay_config_list *domains, const char *host, struct cay_port_host *ret)
{
        ret->port = 0;
        for (unsigned i = 0; i < domains->count; i++) {
                size_t len = label_len(host, domains->items[i]);

                if (len > 0 && read_label(host, len, ret))
                        return true;
        }
        return false;
}

/* With TLS, the name's prefix keeps out cookies that were set from a neighbour below the same domain. */
static const char *cookie_name(bool is_tls)
{
        return is_tls ? "__Host-cay_port" : "cay_port";
}

bool cay_port_cookie_find(const struct cay_http_request *req, const char **ret, size_t *ret_len)
{
        const char *field = cay_http_request_header(req, "Cookie");

        return field && cay_http_request_header_count(req, "Cookie") == 1 &&
               cay_gate_cookie_find(field, cookie_name(req->peer.is_tls), ret, ret_len) == 1;
}

/*
 * Matches the port's cookie by its whole name, and a session's by its prefix (browsers do not send one here,
 * but other clients may).
 */
bool cay_port_cookie_is_ours(const char *cookie)
{
        size_t prefix = strncmp(cookie, "__Host-", 7) == 0 ? 7 : 0;

        if (strncmp(cookie + prefix, CAY_GATE_SESSION_NAME, strlen(CAY_GATE_SESSION_NAME)) == 0)
                return true;
        for (unsigned i = 0; i < 2; i++) {
                const char *name = cookie_name(i == 1);
                size_t len = strlen(name);

                if (strncmp(cookie, name, len) == 0 && (cookie[len] == '=' || cookie[len] == ' '))
                        return true;
        }
        return false;
}

bool cay_port_page_is_own(const struct cay_http_request *req)
{
        const char *site = cay_http_request_header(req, "Sec-Fetch-Site");
        const char *mode = cay_http_request_header(req, "Sec-Fetch-Mode");

        return !site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0 ||
               (mode && strcmp(mode, "navigate") == 0 && req->method == CAY_HTTP_GET);
}

void cay_port_cookie_give(struct cay_http_request *req, const char *token)
{
        char text[FIELD_MAX];

        snprintf(text, sizeof(text), "%s=%.*s; Path=/; Max-Age=%u; HttpOnly; SameSite=Lax%s",
                 cookie_name(req->peer.is_tls), CAY_TOKEN_MAX, token, CAY_PORT_COOKIE_MS / 1000,
                 req->peer.is_tls ? "; Secure" : "");
        cay_http_response_add(req, "Set-Cookie", text);
        cay_http_response_add(req, "Cache-Control", "no-store");
        explicit_bzero(text, sizeof(text));
}
