/* SPDX-License-Identifier: Apache-2.0 */
/* The gate that every request passes. */
#include "dialect/gate/gate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "auth/digest.h"
#include "auth/rate.h"
#include "auth/token.h"
#include "auth/wall.h"
#include "base/clock.h"
#include "base/log.h"
#include "dialect/gate/gate_priv.h"

struct cay_gate {
        struct cay_gate_env env;
        struct cay_rate *rate; /* owned */
        struct cay_wall wall;
        regex_t regex;
        bool has_regex;
};

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
                return cay_fail(err, CAY_INTERNAL, "no random bytes to be had");
        g->rate = cay_rate_new(&rate);
        if (!g->rate)
                return cay_fail(err, CAY_INTERNAL, "no memory for the rate limit");
        cay_wall_init(&g->wall, wall_ms(g), cay_clock_ms(), 0);
        if (env->config->allow_origin_regex[0]) {
                if (regcomp(&g->regex, env->config->allow_origin_regex, REG_EXTENDED) != 0)
                        return cay_fail(err, CAY_INVALID, "allow_origin_regex is no regular expression");
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
        free(g);
}

static void make_id(char ret[CAY_GATE_ID + 1])
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
               strcmp(req->target.path, "/health") == 0 || strcmp(req->target.path, "/healthz") == 0;
}

static unsigned check_host(const struct cay_gate *g, const struct cay_http_request *req,
                           struct cay_error *err)
{
        if (req->peer.is_unix || is_health(req) || cay_gate_host_is_ours(g->env.config, req->host))
                return 0;
        cay_fail(err, CAY_DENIED, "this server does not answer to the name '%.100s': add it to trusted_hosts",
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

static bool check_token(struct cay_gate *g, const char *text, size_t len, struct cay_caller *ret)
{
        uint64_t now_ms = cay_wall_now_ms(&g->wall, wall_ms(g), cay_clock_ms());
        struct cay_token token;
        enum cay_token_verdict verdict;

        if (cay_api_key_is_one(text, len))
                return cay_api_keys_check(g->env.keys, text, len, now_ms, ret);
        verdict = cay_token_check(g->env.secret, CAY_TOKEN_BEARER, text, len, now_ms / 1000, &token);
        if (verdict == CAY_TOKEN_OK)
                *ret = token.caller;
        else
                cay_log_debug("token refused", "why=%s", cay_token_verdict_word(verdict));
        return verdict == CAY_TOKEN_OK;
}

/* "Bearer TEXT"; anything else in that field is refused like a wrong token. */
static bool check_authorization(struct cay_gate *g, const char *value, struct cay_caller *ret)
{
        if (strncasecmp(value, "Bearer ", 7) != 0)
                return false;
        value += 7;
        while (*value == ' ')
                value++;
        return check_token(g, value, strlen(value), ret);
}

static void check_caller(struct cay_gate *g, const struct cay_http_request *req, struct cay_visitor *v)
{
        unsigned count = cay_http_request_header_count(req, "Authorization");

        if (count > 0) {
                v->is_known =
                        count == 1 &&
                        check_authorization(g, cay_http_request_header(req, "Authorization"), &v->caller);
                v->was_refused = !v->is_known;
        } else if (req->peer.is_unix) {
                cay_caller_from_uid(&v->caller, (unsigned)req->peer.cred.uid, g->env.own_uid);
                v->is_known = true;
        }
}

/* How often: by owner and token, or by address for whoever is not known. Local users are held by connections alone. */
static unsigned check_rate(struct cay_gate *g, struct cay_http_request *req, const struct cay_visitor *v,
                           struct cay_error *err)
{
        char key[2 * CAY_OWNER_MAX + 80], seconds[24];
        uint64_t wait_ms = 0;

        if (req->peer.is_unix)
                return 0;
        if (v->is_known)
                snprintf(key, sizeof(key), "%s/%s", v->caller.owner, v->caller.id);
        else
                snprintf(key, sizeof(key), "@%s", req->peer.address);
        if (cay_rate_take(g->rate, key, cay_clock_ms(), &wait_ms))
                return 0;
        snprintf(seconds, sizeof(seconds), "%" PRIu64, (wait_ms + 999) / 1000);
        cay_http_response_add(req, "Retry-After", seconds);
        cay_fail(err, CAY_LIMIT, "more than %" PRIu64 " requests in a minute: wait %s s",
                 g->env.config->rate_limit, seconds);
        return 429;
}

unsigned cay_gate_check(struct cay_gate *g, struct cay_http_request *req, struct cay_visitor *ret,
                        struct cay_error *err)
{
        unsigned status;

        *ret = (struct cay_visitor){ 0 };
        make_id(ret->request_id);
        cay_http_response_add(req, "X-Request-Id", ret->request_id);
        status = check_host(g, req, err);
        if (status != 0)
                return status;
        check_origin(g, req, ret);
        check_caller(g, req, ret);
        return check_rate(g, req, ret, err);
}
