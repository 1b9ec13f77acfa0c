/* SPDX-License-Identifier: Apache-2.0 */
/* The gate itself, for its files; hosts, origins and cookies, for its tests too: these are pure. */
#pragma once

#include <regex.h>

#include "domain/auth/rate.h"
#include "domain/auth/token.h"
#include "domain/auth/token_clock.h"
#include "domain/settings/config.h"
#include "daemon/gate/gate.h"
#include "foundation/http/request.h"

struct cay_gate {
        struct cay_gate_env env;
        struct cay_rate *rate,
                *strangers; /* owned: of those who are known, by token; of others, by address */
        struct cay_token_clock wall;
        struct cay_guard *guards; /* what is open */
        struct cay_timer look;    /* while there are any */
        regex_t regex;
        bool has_regex;
};

/* gate_pass.c */
uint64_t cay_gate_now_ms(struct cay_gate *g); /* the time by which tokens expire */
/* token: of a key its caller alone. */
void cay_gate_fill_pass(struct cay_gate *g, struct cay_pass *p, enum cay_pass_kind kind,
                        const struct cay_token *token);

/* host: lower case, without port, IPv6 without brackets. */
bool cay_gate_host_is_ours(const struct cay_config *c, const char *host);
/* origin as sent; `self`: what this server is called in the request ("http://host:port"); regex NULL: none. */
bool cay_gate_origin_is_fine(const struct cay_config *c, const regex_t *regex, const char *origin,
                             const char *self);

#define CAY_GATE_COOKIE_NAME 40
#define CAY_GATE_SESSION_NAME "cay_session_" /* the port follows; "__Host-" in front behind TLS */
void cay_gate_cookie_name(char ret[CAY_GATE_COOKIE_NAME], bool is_tls, uint16_t port);
/* Where a cookie's value is in a Cookie field: 1; 0: not there; -1: more than once, and who knows which is whose. */
int cay_gate_cookie_find(const char *field, const char *name, const char **ret, size_t *ret_len);

/* The token among offered subprotocols, "mcp.auth.TOKEN": 1, 0 or -1 like a cookie's. */
int cay_gate_offer_find(const char *field, const char **ret, size_t *ret_len);
/* The token of a WebSocket whose client cannot set Authorization: X-Auth-Token, or among its subprotocols. The same. */
int cay_gate_ws_token(const struct cay_http_request *req, const char **ret, size_t *ret_len);
