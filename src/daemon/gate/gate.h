/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate that every request passes, whatever dialect it speaks: does it name this machine (Host), which page sent it (Origin), who
 * is calling, how often. One function, so that no route can forget it.
 *
 * Who. Over the unix socket the kernel says (peer credentials), unless a token is given. Over TCP a bearer token or an API
 * key, in the Authorization field; a WebSocket, whose clients often cannot set that, may bring it as X-Auth-Token or as an offered
 * subprotocol "mcp.auth.TOKEN", which is never chosen. Refusals look alike, but for a token whose time is over (who has it
 * knows what it was); the log knows more. A visitor who gave nothing is
 * unknown, which is enough for the few things that anybody may ask.
 *
 * Sessions. Over TCP, where no Authorization is given, the page's cookie counts (domain/auth/login.h). A browser adds it to what any page asks
 * for, so it counts only for pages of ours: a request that changes something, or asks for a WebSocket, must carry their Origin; one
 * whose Sec-Fetch-Site names another site is nobody's. A cookie that is no good is as good as none. Who spends a login must not come
 * from a foreign page either, or that page could sign somebody in as somebody else.
 *
 * Host. A web page can give any name of its own to this machine's address (DNS rebinding), so a request must name loopback, the address
 * listened on, or one of trusted_hosts. The unix socket is out of pages' reach; health paths answer any Host.
 *
 * Staying. A request is judged and charged once; what stays open behind it is judged and charged again by its pass (gate_pass.h).
 *
 * Origin. Pages of allow_origins (or the regular expression, or this server itself) are told that they may read answers. Others get
 * no such field: their browser keeps the answer from them, and without the preflight it sends no token. WebSockets have no preflight:
 * an upgrade with a foreign Origin is refused here, whatever else it brings.
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
        struct cay_loop *loop; /* for looking after what stays open; NULL: with each message alone */
        unsigned own_uid;      /* the daemon's: that peer is admin, like root */
};

/* A token in the query of a WebSocket's address, good for its path alone (cay_token_ws_label). */
#define CAY_GATE_WS_LINK "token"

struct cay_visitor {
        char request_id[CAY_GATE_ID + 1];
        struct cay_caller caller;
        bool is_known;    /* caller is filled */
        bool was_refused; /* gave a token that is none: not even what anybody may ask */
        bool has_expired; /* and it was one of ours once: its signature is right */
        bool origin_is_fine;
        const char *origin;        /* borrowed from the request; NULL: none */
        struct cay_port_host port; /* asked by the name of a port of a sandbox: nothing else is there */
        bool by_link;              /* and known by a link in the query */
        struct cay_pass pass;      /* for what stays open behind the request */
        uint64_t wait_ms;          /* with 429: how long until there is room */
        bool is_published;         /* at the sandbox's port of the host: nothing from inside is there */
};

int cay_gate_new(const struct cay_gate_env *env, struct cay_gate **ret, struct cay_error *err);
void cay_gate_free(struct cay_gate *g); /* accepts NULL */
CAY_DEFINE_AUTO(struct cay_gate, cay_gate_free)

void cay_gate_make_id(char ret[CAY_GATE_ID + 1]); /* for a request that never gets so far */
/* Why a visitor is not known, and what to do: the text of a 401. */
const char *cay_gate_unknown_text(const struct cay_visitor *v);
/*
 * 0: it may go on (fields that allow its page to read the answer are added to the request). Else the status to answer with, and
 * err: 400, 403 (a foreign page), 421 (Host), 429 (too often; the field Retry-After is added). ret is filled either way.
 */
unsigned cay_gate_check(struct cay_gate *g, struct cay_http_request *req, struct cay_visitor *ret,
                        struct cay_error *err);
/*
 * For a WebSocket that was opened by nobody known and brings its token in its first message (ttyd's AuthToken): judges the token or key as a
 * request's would be, and makes p the pass of its caller. False: it is no good, and nothing has changed.
 */
bool cay_gate_admit(struct cay_pass *p, const char *text, size_t len, struct cay_caller *ret);
/*
 * Appends a field of a request for whoever it is passed on to, a sandbox's server: without a token that a WebSocket brought, and not at
 * all where a token or key of ours stands anywhere in it. Nothing is
 * appended where nothing else was in it. Authorization and Cookie are the caller's to keep back. 0 or -errno.
 */
int cay_gate_put_field(struct cay_buf *out, const struct cay_http_request *req, const char *name,
                       const char *value);
/* A field of the answer that gives the page its cookie; "" takes it away. */
void cay_gate_give_session(struct cay_http_request *req, const char *session);
