/* SPDX-License-Identifier: Apache-2.0 */
/* The page's cookie: its name, how it is found in a Cookie field, and the field that sets it. */
#include <stdio.h>
#include <string.h>

#include "domain/auth/login.h"
#include "daemon/gate/gate.h"
#include "daemon/gate/gate_priv.h"

#define FIELD_MAX (CAY_TOKEN_MAX + 200)

/*
 * Browsers keep cookies by host, not by port, so daemons on one host need different names. With TLS, the
 * name's prefix makes browsers refuse a cookie that was set from elsewhere (another path, a neighbour below
 * the same domain, plain HTTP).
 */
void cay_gate_cookie_name(char ret[CAY_GATE_COOKIE_NAME], bool is_tls, uint16_t port)
{
        snprintf(ret, CAY_GATE_COOKIE_NAME, "%s" CAY_GATE_SESSION_NAME "%u", is_tls ? "__Host-" : "",
                 (unsigned)port);
}

int cay_gate_cookie_find(const char *field, const char *name, const char **ret, size_t *ret_len)
{
        size_t name_len = strlen(name);
        int found = 0;

        while (*field) {
                size_t len;

                field += strspn(field, " \t;");
                len = strcspn(field, ";");
                if (len > name_len && field[name_len] == '=' && strncmp(field, name, name_len) == 0) {
                        if (found++)
                                return -1;
                        *ret = field + name_len + 1;
                        *ret_len = len - name_len - 1;
                }
                field += len;
        }
        return found;
}

void cay_gate_give_session(struct cay_http_request *req, const char *session)
{
        char name[CAY_GATE_COOKIE_NAME], text[FIELD_MAX];

        cay_gate_cookie_name(name, req->peer.is_tls, req->port);
        snprintf(text, sizeof(text), "%s=%.*s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s", name,
                 CAY_TOKEN_MAX, session, session[0] ? CAY_SESSION_S : 0, req->peer.is_tls ? "; Secure" : "");
        cay_http_response_add(req, "Set-Cookie", text);
        cay_http_response_add(req, "Cache-Control", "no-store");
        explicit_bzero(text, sizeof(text));
}
