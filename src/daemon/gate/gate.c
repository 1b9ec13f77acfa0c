/* SPDX-License-Identifier: Apache-2.0 */
/* The gate that every request passes. */
#include "daemon/gate/gate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "domain/auth/digest.h"
#include "domain/auth/rate.h"
#include "domain/auth/token.h"
#include "domain/auth/token_clock.h"
#include "foundation/base/clock.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "daemon/gate/gate_priv.h"
#include "daemon/gate/gate_sandbox.h"

static uint64_t wall_ms(const struct cay_gate *g)
{
        struct cay_clock_reading now;

        g->env.clock->read(g->env.clock, &now);
        return now.wall_ms;
}

int cay_gate_new(const struct cay_gate_env *env, struct cay_gate **ret, struct cay_error *err)
{
        cay_auto(cay_gate_freep) struct cay_gate *g = calloc(1, sizeof(*g));
        struct cay_rate_config rate = { .per_minute = env->config->rate_limit,
                                        .burst = env->config->rate_burst };

        if (!g)
                return cay_fail(err, CAY_INTERNAL, "no memory for the gate");
        g->env = *env;
        if (cay_digest_random(rate.seed, sizeof(rate.seed)) < 0)
                return cay_fail(err, CAY_INTERNAL, "no random bytes are available");
        g->rate = cay_rate_new(&rate);
        g->anonymous = cay_rate_new(&rate);
        if (!g->rate || !g->anonymous)
                return cay_fail(err, CAY_INTERNAL, "no memory for the rate limit");
        cay_token_clock_init(&g->wall, wall_ms(g), cay_clock_ms(), 0);
        if (env->config->allow_origin_regex[0]) {
                if (regcomp(&g->regex, env->config->allow_origin_regex, REG_EXTENDED) != 0)
                        return cay_fail(err, CAY_INVALID,
                                        "allow_origin_regex is not a valid regular expression");
                g->has_regex = true;
        }
        *ret = cay_take(g);
        return 0;
}

void cay_gate_free(struct cay_gate *g)
{
        if (!g)
                return;
        if (g->has_regex)
                regfree(&g->regex);
        cay_rate_free(g->rate);
        cay_rate_free(g->anonymous);
        free(g);
}

void cay_gate_make_id(char ret[CAY_GATE_ID + 1])
{
        uint8_t random[CAY_GATE_ID / 2] = { 0 };

        cay_digest_random(random, sizeof(random));
        for (unsigned i = 0; i < sizeof(random); i++)
                snprintf(ret + 2 * i, 3, "%02x", random[i]);
}

/* Host */

static bool is_health(const struct cay_http_request *req)
{
        return strncmp(req->target.path, "/api/health", 11) == 0 ||
               strcmp(req->target.path, "/health") == 0 || strcmp(req->target.path, "/healthz") == 0 ||
               strcmp(req->target.path, "/sandbox/health") == 0;
}

static unsigned check_host(const struct cay_gate *g, const struct cay_http_request *req,
                           struct cay_error *err)
{
        if (req->peer.is_unix || is_health(req) || cay_gate_host_is_ours(g->env.config, req->host))
                return 0;
        cay_fail(err, CAY_DENIED, "this server does not answer to the name '%.100s'; add it to trusted_hosts",
                 req->host);
        return 421;
}

/* Origin */

static void check_origin(const struct cay_gate *g, struct cay_http_request *req, struct cay_visitor *v)
{
        const char *host = cay_http_request_header(req, "Host");
        char self[CAY_HTTP_HOST_MAX + 32];

        v->origin = cay_http_request_header(req, "Origin");
        if (!v->origin || cay_http_request_header_count(req, "Origin") > 1)
                return;
        snprintf(self, sizeof(self), "%s://%.*s", req->peer.is_tls ? "https" : "http", (int)CAY_HTTP_HOST_MAX,
                 host ? host : "");
        v->origin_is_fine =
                cay_gate_origin_is_fine(g->env.config, g->has_regex ? &g->regex : NULL, v->origin, self);
        if (v->origin_is_fine) {
                cay_http_response_add(req, "Access-Control-Allow-Origin", v->origin);
                cay_http_response_add(req, "Access-Control-Expose-Headers", "X-Request-Id, Retry-After");
        }
        cay_http_response_add(req, "Vary", "Origin");
}

/* Who */

static enum cay_token_verdict check_token(struct cay_gate *g, enum cay_token_use use, const char *text,
                                          size_t len, struct cay_token *ret)
{
        uint64_t now_s = cay_gate_now_ms(g) / 1000;
        enum cay_token_verdict verdict = cay_token_check(g->env.secret, use, text, len, now_s, ret);

        if (verdict != CAY_TOKEN_OK)
                cay_log_debug("token refused", "why=%s", cay_token_verdict_word(verdict));
        ret->caller.credential = use == CAY_TOKEN_BEARER ? CAY_CREDENTIAL_TOKEN : CAY_CREDENTIAL_SESSION;
        return verdict;
}

static bool let_in(struct cay_gate *g, struct cay_visitor *v, enum cay_pass_kind kind,
                   const struct cay_token *token)
{
        v->caller = token->caller;
        cay_gate_fill_pass(g, &v->pass, kind, token);
        return true;
}

static bool check_key(struct cay_gate *g, const char *text, size_t len, struct cay_visitor *v)
{
        struct cay_token key = { 0 };

        if (!cay_api_keys_check(g->env.keys, text, len, cay_gate_now_ms(g), &key.caller))
                return false;
        key.caller.credential = CAY_CREDENTIAL_KEY;
        return let_in(g, v, CAY_PASS_KEY, &key);
}

static bool check_bearer(struct cay_gate *g, const char *text, size_t len, struct cay_visitor *v)
{
        enum cay_token_verdict verdict;
        struct cay_token token;

        if (cay_api_key_is_one(text, len))
                return check_key(g, text, len, v);
        verdict = check_token(g, CAY_TOKEN_BEARER, text, len, &token);
        v->has_expired = verdict == CAY_TOKEN_EXPIRED;
        return verdict == CAY_TOKEN_OK && let_in(g, v, CAY_PASS_TOKEN, &token);
}

/* "Bearer TEXT"; anything else in that field is refused like a wrong token. */
static bool check_authorization(struct cay_gate *g, const char *value, struct cay_visitor *v)
{
        if (strncasecmp(value, "Bearer ", 7) != 0)
                return false;
        value += 7;
        while (*value == ' ')
                value++;
        return check_bearer(g, value, strlen(value), v);
}

/* What the browser says about the site that made the request. Old browsers say nothing. */
static bool is_from_own_page(const struct cay_http_request *req, const struct cay_visitor *v)
{
        const char *site = cay_http_request_header(req, "Sec-Fetch-Site");

        return !site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0 || v->origin_is_fine;
}

static bool check_session(struct cay_gate *g, const struct cay_http_request *req, struct cay_visitor *v)
{
        const char *field = cay_http_request_header(req, "Cookie"), *text;
        char name[CAY_GATE_COOKIE_NAME];
        struct cay_token token;
        size_t len;

        if (!field || cay_http_request_header_count(req, "Cookie") > 1 || !is_from_own_page(req, v))
                return false;
        cay_gate_cookie_name(name, req->peer.is_tls, req->port);
        if (cay_gate_cookie_find(field, name, &text, &len) != 1 ||
            check_token(g, CAY_TOKEN_SESSION, text, len, &token) != CAY_TOKEN_OK ||
            cay_session_is_over(g->env.logins, &token))
                return false;
        return let_in(g, v, CAY_PASS_SESSION, &token);
}

/* "Basic …" where it names a user inside a sandbox. */
static bool is_user_name(const struct cay_http_request *req, const struct cay_visitor *v)
{
        const char *text = cay_http_request_header(req, "Authorization");

        return v->port.port && cay_gate_is_api_port(v->port.port) && text &&
               strncasecmp(text, "Basic ", 6) == 0;
}

/*
 * The operator's own key for clients of another API. Hashes are compared, so that its length takes no time
 * either.
 */
static bool check_own_key(struct cay_gate *g, const char *own, const char *id, const char *text,
                          struct cay_visitor *v)
{
        struct cay_token token = { .caller = { .owner = "default",
                                               .scopes = CAY_SCOPE_READ | CAY_SCOPE_EXEC,
                                               .credential = CAY_CREDENTIAL_KEY } };
        uint8_t given_hash[CAY_DIGEST_SIZE], own_hash[CAY_DIGEST_SIZE];

        cay_str_copy(token.caller.id, sizeof(token.caller.id), id);
        if (!own[0] || cay_digest_sha256(text, strlen(text), given_hash) < 0 ||
            cay_digest_sha256(own, strlen(own), own_hash) < 0 ||
            !cay_digest_equal(given_hash, own_hash, sizeof(own_hash)))
                return false;
        return let_in(g, v, CAY_PASS_FREE, &token);
}

/* The field in which clients of E2B or of Browserbase send their key. False: there is none. */
static bool check_api_key(struct cay_gate *g, const struct cay_http_request *req, struct cay_visitor *v)
{
        const struct cay_config *config = g->env.config;
        const struct {
                const char *field, *own, *id;
        } rows[] = { { "X-API-KEY", config->e2b_api_key, "e2b_api_key" },
                     { "X-BB-API-Key", config->browserbase_api_key, "browserbase_api_key" } };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                const char *text = cay_http_request_header(req, rows[i].field);

                if (!text)
                        continue;
                v->is_known = cay_http_request_header_count(req, rows[i].field) == 1 &&
                              (check_bearer(g, text, strlen(text), v) ||
                               check_own_key(g, rows[i].own, rows[i].id, text, v));
                v->was_refused = !v->is_known;
                return true;
        }
        return false;
}

static void check_caller(struct cay_gate *g, const struct cay_http_request *req, struct cay_visitor *v)
{
        unsigned count = is_user_name(req, v) ? 0 : cay_http_request_header_count(req, "Authorization");
        const char *text = NULL;
        size_t len = 0;
        int in_ws = count > 0 ? 0 : cay_gate_ws_token(req, &text, &len);

        if (v->port.port && cay_gate_check_sandbox(g, req, v))
                return;
        if (count == 0 && in_ws == 0 && check_api_key(g, req, v))
                return;
        if (count > 0) {
                v->is_known = count == 1 &&
                              check_authorization(g, cay_http_request_header(req, "Authorization"), v);
                v->was_refused = !v->is_known;
        } else if (in_ws != 0) {
                v->is_known = in_ws == 1 && check_bearer(g, text, len, v);
                v->was_refused = !v->is_known;
        } else if (req->peer.is_unix) {
                cay_caller_from_uid(&v->caller, (unsigned)req->peer.cred.uid, g->env.own_uid);
                v->is_known = true;
        } else if (!v->port.port) { /* a sandbox's page has a cookie of its own */
                v->is_known = check_session(g, req, v);
        }
}

/*
 * A link's id names its port; after a colon comes the id of the key that made it, which must still be valid.
 */
static bool let_in_link(struct cay_gate *g, struct cay_visitor *v, struct cay_token *token, const char *label)
{
        char *colon = strchr(token->caller.id, ':');

        if (colon)
                *colon = '\0';
        if (strcmp(token->caller.id, label) != 0)
                return false;
        if (!colon)
                return let_in(g, v, CAY_PASS_TOKEN, token);
        memmove(token->caller.id, colon + 1, strlen(colon + 1) + 1);
        if (!g->env.keys || !cay_api_keys_is_good(g->env.keys, token->caller.id))
                return false;
        token->caller.credential = CAY_CREDENTIAL_KEY;
        return let_in(g, v, CAY_PASS_KEY, token);
}

/* A link, or the cookie that it was exchanged for: valid for the port that it names. */
static void check_port_caller(struct cay_gate *g, const struct cay_http_request *req, struct cay_visitor *v)
{
        char room[CAY_TOKEN_MAX + 64];
        const char *text = NULL;
        struct cay_token token;
        bool by_link = false;
        size_t len = 0;

        if (v->is_known || v->was_refused)
                return;
        if (!cay_port_page_is_own(req) || !cay_port_cookie_find(req, &text, &len)) {
                if (cay_http_query_get(req->target.query, CAY_PORT_LINK, room, sizeof(room), &text) != 1)
                        return;
                len = strlen(text);
                by_link = true;
        }
        if (check_token(g, CAY_TOKEN_PORT, text, len, &token) != CAY_TOKEN_OK)
                return;
        /* the address was given to the caller: unlike a cookie, a page cannot make a browser add it */
        if (by_link)
                token.caller.credential = CAY_CREDENTIAL_TOKEN;
        v->is_known = let_in_link(g, v, &token, v->port.label);
        v->by_link = by_link && v->is_known;
}

static void name_payer(struct cay_visitor *v)
{
        snprintf(v->pass.payer, sizeof(v->pass.payer), "%s/%s", v->caller.owner, v->caller.id);
}

/*
 * A WebSocket whose address has a token. It is made for exactly this path, for clients that can set nothing
 * but an address.
 */
static bool take_ws_link(struct cay_gate *g, const struct cay_http_request *req, const char *path,
                         struct cay_visitor *v)
{
        char room[CAY_TOKEN_MAX + 64], label[CAY_OWNER_MAX + 1];
        const char *text = NULL;
        struct cay_token token;

        if (!req->upgrade ||
            cay_http_query_get(req->target.query, CAY_GATE_WS_LINK, room, sizeof(room), &text) != 1)
                return false;
        v->was_refused = true;
        if (!cay_token_ws_label(path, label) ||
            check_token(g, CAY_TOKEN_PORT, text, strlen(text), &token) != CAY_TOKEN_OK)
                return false;
        token.caller.credential = CAY_CREDENTIAL_TOKEN; /* it came in the address, not in a cookie */
        v->is_known = let_in_link(g, v, &token, label);
        v->was_refused = !v->is_known;
        return v->is_known;
}

static void check_ws_link(struct cay_gate *g, const struct cay_http_request *req, struct cay_visitor *v)
{
        if (!v->is_known && !v->was_refused && !v->port.port)
                take_ws_link(g, req, req->target.path, v);
}

/* The gate itself does not know whose port it is, and has refused the link for being another path's. */
void cay_gate_check_published(struct cay_gate *g, const struct cay_http_request *req, const char *path,
                              struct cay_visitor *v)
{
        if (v->is_known || cay_http_request_header_count(req, "Authorization") > 0 ||
            !take_ws_link(g, req, path, v))
                return;
        v->pass.is_anonymous = false;
        name_payer(v);
}

const char *cay_gate_unknown_text(const struct cay_visitor *v)
{
        if (v->has_expired)
                return "this token has expired; make a new one: on the daemon's machine `cay token`, for "
                       "longer "
                       "`cay token --lifetime 12h`, or a key that does not expire: `cay token --key`";
        return "a valid token is needed: Authorization: Bearer TOKEN; on the daemon's machine `cay token` "
               "prints "
               "one, and a request over its unix socket needs none";
}

/* Checks that the page's Origin allows the request; gate.h gives the reason for each of the three cases. */
static unsigned check_page(const struct cay_http_request *req, const struct cay_visitor *v,
                           struct cay_error *err)
{
        bool is_safe = req->method == CAY_HTTP_GET || req->method == CAY_HTTP_HEAD ||
                       req->method == CAY_HTTP_OPTIONS;
        bool by_session = v->is_known && v->caller.credential == CAY_CREDENTIAL_SESSION;

        if (req->peer.is_unix || (is_safe && !req->upgrade) || v->origin_is_fine)
                return 0;
        if (v->origin ? req->upgrade || by_session || !v->is_known : by_session) {
                cay_fail(err, CAY_DENIED, "%s",
                         v->origin ? "pages of this origin are not allowed; see allow_origins"
                                   : "a request with a cookie needs the page's Origin");
                return 403;
        }
        return 0;
}

/*
 * Charges the rate: by owner and token, or by address for unknown callers. The two kinds have separate
 * tables, so that anonymous callers with many addresses take no slots from known callers. Local users are
 * limited only by their connections.
 */
static void find_payer(struct cay_gate *g, const struct cay_http_request *req, struct cay_visitor *v)
{
        struct cay_pass *p = &v->pass;

        p->gate = g;
        if (req->peer.is_unix)
                return;
        p->is_anonymous = !v->is_known;
        if (v->is_known)
                name_payer(v);
        else
                snprintf(p->payer, sizeof(p->payer), "@%s", req->peer.address);
}

bool cay_gate_admit(struct cay_pass *p, const char *text, size_t len, struct cay_caller *ret)
{
        struct cay_visitor v = { 0 };

        if (!p->gate || !check_bearer(p->gate, text, len, &v))
                return false;
        name_payer(&v);
        *p = v.pass;
        *ret = v.caller;
        return true;
}

static unsigned check_rate(struct cay_http_request *req, struct cay_visitor *v, struct cay_error *err)
{
        char seconds[24];

        if (cay_pass_pay(&v->pass, &v->wait_ms, err) == 0)
                return 0;
        snprintf(seconds, sizeof(seconds), "%" PRIu64, (v->wait_ms + 999) / 1000);
        cay_http_response_add(req, "Retry-After", seconds);
        return 429;
}

/* Fields that name a sandbox win over the host name. */
static unsigned check_fields(const struct cay_http_request *req, struct cay_visitor *v, struct cay_error *err)
{
        int r = cay_gate_sandbox_read(req, &v->port);

        v->by_field = r > 0;
        if (r >= 0)
                return 0;
        cay_fail(err, CAY_INVALID, "%s and %s must name a sandbox and a port from 1 to 65535",
                 CAY_GATE_SANDBOX_FIELD, CAY_GATE_PORT_FIELD);
        return 400;
}

unsigned cay_gate_check(struct cay_gate *g, struct cay_http_request *req, struct cay_visitor *ret,
                        struct cay_error *err)
{
        unsigned status;

        *ret = (struct cay_visitor){ 0 };
        cay_gate_make_id(ret->request_id);
        cay_http_response_add(req, "X-Request-Id", ret->request_id);
        status = cay_port_host_read(&g->env.config->proxy_domains, req->host, &ret->port)
                         ? 0
                         : check_host(g, req, err);
        if (status == 0)
                status = check_fields(req, ret, err);
        if (status != 0)
                return status;
        check_origin(g, req, ret);
        check_caller(g, req, ret);
        if (ret->port.port)
                check_port_caller(g, req, ret);
        else
                check_ws_link(g, req, ret);
        find_payer(g, req, ret);
        status = check_rate(req, ret, err);
        return status != 0 ? status : check_page(req, ret, err);
}
