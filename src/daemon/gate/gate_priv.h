/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's state, for its files; also pure functions for hosts, origins and cookies, which tests call. */
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
        struct cay_rate *rate, *anonymous; /* owned: by token for known callers, by address for others */
        struct cay_token_clock wall;
        struct cay_guard *guards; /* open connections */
        struct cay_timer look;    /* while there are any */
        regex_t regex;
        bool has_regex;
};

/* gate_pass.c */
uint64_t cay_gate_now_ms(struct cay_gate *g); /* the time by which tokens expire */
/* token: for a key, only its caller. */
void cay_gate_fill_pass(struct cay_gate *g, struct cay_pass *p, enum cay_pass_kind kind,
                        const struct cay_token *token);

/* host: lower case, without port, IPv6 without brackets. */
bool cay_gate_host_is_ours(const struct cay_config *c, const char *host);
/* origin as sent; `self`: this server's name in the request ("http://host:port"); regex NULL: none. */
bool cay_gate_origin_is_fine(const struct cay_config *c, const regex_t *regex, const char *origin,
                             const char *self);

/* gate_sandbox.c. A token of the sandbox in v->port: true: there is one, and v says whether it is right. */
bool cay_gate_check_sandbox(struct cay_gate *g, const struct cay_http_request *req, struct cay_visitor *v);

#define CAY_GATE_COOKIE_NAME 40
#define CAY_GATE_SESSION_NAME "cay_session_" /* the port follows; with TLS "__Host-" comes first */
void cay_gate_cookie_name(char ret[CAY_GATE_COOKIE_NAME], bool is_tls, uint16_t port);
/* Finds a cookie's value in a Cookie field: 1; 0: not there; -1: there more than once, so it is ambiguous. */
int cay_gate_cookie_find(const char *field, const char *name, const char **ret, size_t *ret_len);

/* The token among offered subprotocols, "mcp.auth.TOKEN": 1, 0 or -1, as above. */
int cay_gate_offer_find(const char *field, const char **ret, size_t *ret_len);
/*
 * The token of a WebSocket whose client cannot set Authorization: X-Auth-Token, or a subprotocol. 1, 0 or -1,
 * as above.
 */
int cay_gate_ws_token(const struct cay_http_request *req, const char **ret, size_t *ret_len);
