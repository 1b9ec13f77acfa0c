/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate that every request passes, in all dialects. It checks the named host (Host), the page that sent
 * the request (Origin), the caller, and the rate. It is one function, so that no route can omit it.
 *
 * Caller. On the unix socket the kernel names the caller (peer credentials), unless a token is given. On TCP
 * the caller sends a bearer token or an API key in Authorization. WebSocket clients often cannot set that
 * field. They may send X-Auth-Token or offer the subprotocol "mcp.auth.TOKEN", which is never chosen.
 * Refusals look alike, except for an expired token, whose holder knows what it was; the log says more. A
 * visitor without credentials is unknown, which is enough for the few open operations. Clients of E2B send
 * their key in X-API-KEY, those of Browserbase in X-BB-API-Key, and E2B's a sandbox's own token where they
 * speak to the sandbox (gate_sandbox.h).
 *
 * Sessions. On TCP without Authorization, the page's cookie counts (domain/auth/login.h). A browser adds it
 * to any page's requests, so it counts only for our own pages. A request that changes something, or opens a
 * WebSocket, must carry our Origin. A request whose Sec-Fetch-Site names another site is unknown. An invalid
 * cookie counts as none. A login must not come from a foreign page either: that page could sign a user in as
 * somebody else.
 *
 * Host. A web page can map a name of its own to this machine's address (DNS rebinding). So a request must
 * name loopback, the address listened on, or one of trusted_hosts. Pages cannot reach the unix socket; health
 * paths answer any Host.
 *
 * Open connections. A request is authorised and charged once. A connection that stays open is authorised and
 * charged again by its pass (gate_pass.h).
 *
 * Origin. Pages of allow_origins (or of the regular expression, or of this server) are told that they may
 * read answers. Others get no such field: their browser withholds the answer, and without a preflight it
 * sends no token. WebSockets have no preflight, so an upgrade with a foreign Origin is refused here, whatever
 * credentials it has.
 */
#pragma once

#include "domain/auth/api_key.h"
#include "domain/auth/login.h"
#include "domain/auth/scope.h"
#include "domain/auth/secret.h"
#include "foundation/base/buf.h"
#include "foundation/base/error.h"
#include "domain/settings/config.h"
#include "domain/model/port_clock.h"
#include "daemon/gate/gate_pass.h"
#include "daemon/gate/gate_port.h"
#include "foundation/http/request.h"
#include "foundation/loop/loop.h"

#define CAY_GATE_ID 24 /* of a request: hexadecimal digits */

struct cay_gate;

struct cay_gate_env { /* borrowed: outlives the gate */
        const struct cay_config *config;
        const struct cay_secret *secret;
        struct cay_api_keys *keys;
        const struct cay_logins *logins; /* which sessions were ended */
        const struct cay_clock *clock;
        /* for checking open connections; NULL: they are checked at each message only */
        struct cay_loop *loop;
        unsigned own_uid; /* the daemon's: that peer is admin, like root */
        /* Whose sandbox this is; false: there is none. NULL: sandboxes have no tokens of their own. */
        bool (*find_owner)(void *ctx, const char *sandbox, char ret[CAY_OWNER_MAX + 1]);
        void *ctx;
};

/* A token in the query of a WebSocket's address, valid for its path only (cay_token_ws_label). */
#define CAY_GATE_WS_LINK "token"

struct cay_visitor {
        char request_id[CAY_GATE_ID + 1];
        struct cay_caller caller;
        bool is_known;    /* caller is filled */
        bool was_refused; /* gave an invalid token: not even open operations are allowed */
        bool has_expired; /* its signature is ours, so it has expired */
        bool origin_is_fine;
        const char *origin; /* borrowed from the request; NULL: none */
        /* asked by the host name of a sandbox's port: nothing else is served there */
        struct cay_port_host port;
        bool by_field;        /* the same, asked by header fields (gate_sandbox.h) */
        bool by_link;         /* and authenticated by a link in the query: only then a cookie is made of it */
        struct cay_pass pass; /* for connections that outlive the request */
        uint64_t wait_ms;     /* with 429: until there is room */
        bool is_published;    /* at the sandbox's port of the host: servers inside are not reachable here */
};

int cay_gate_new(const struct cay_gate_env *env, struct cay_gate **ret, struct cay_error *err);
void cay_gate_free(struct cay_gate *g); /* accepts NULL */
CAY_DEFINE_AUTO(struct cay_gate, cay_gate_free)

void cay_gate_make_id(char ret[CAY_GATE_ID + 1]); /* for a request that is not admitted that far */
/* Why a visitor is unknown, and what to do: the text of a 401. */
const char *cay_gate_unknown_text(const struct cay_visitor *v);
/*
 * 0: admitted (CORS fields are added to the answer). Else the status to answer with, and err: 400, 403 (a
 * foreign page), 421 (Host), 429 (rate; Retry-After is added). ret is filled in all cases.
 */
unsigned cay_gate_check(struct cay_gate *g, struct cay_http_request *req, struct cay_visitor *ret,
                        struct cay_error *err);
/*
 * For a WebSocket opened by an unknown caller that sends its token in its first message (ttyd's AuthToken).
 * Checks the token or key as in a request, and makes p the caller's pass. False: invalid, and nothing has
 * changed.
 */
bool cay_gate_admit(struct cay_pass *p, const char *text, size_t len, struct cay_caller *ret);
/*
 * At a port of the host that stands for a sandbox's: a link in the query that is good for `path` of this
 * sandbox lets its caller in, too. Changes nothing for visitors that are known.
 */
void cay_gate_check_published(struct cay_gate *g, const struct cay_http_request *req, const char *path,
                              struct cay_visitor *v);
/*
 * Appends a request's field for the sandbox's server that it is forwarded to. Removes a token that a
 * WebSocket brought, and drops the field if it contains a token or key of ours. Appends nothing if nothing
 * else is left. The caller withholds Authorization and Cookie itself. 0 or -errno.
 */
int cay_gate_put_field(struct cay_buf *out, const struct cay_http_request *req, const char *name,
                       const char *value);
/* The answer's field that sets the page's cookie; "" removes it. */
void cay_gate_give_session(struct cay_http_request *req, const char *session);
