/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of fields; the rules are in proxy_fields.h. */
#include "dialect/rest/proxy_fields.h"

#include <string.h>
#include <strings.h>

#include "base/banned.h"
#include "base/cleanup.h"

/* A name that ends with '*' stands for all that begin so. */
static bool is_in(const char *const *names, size_t count, const char *field)
{
        for (size_t i = 0; i < count; i++) {
                size_t len = strlen(names[i]);

                if (names[i][len - 1] == '*' ? strncasecmp(field, names[i], len - 1) == 0
                                             : strcasecmp(field, names[i]) == 0)
                        return true;
        }
        return false;
}

/* About one connection, or about framing, which is our own on either side. */
static bool is_hop(const char *field)
{
        static const char *const names[] = {
                "Connection", "Keep-Alive",    "TE",   "Trailer", "Transfer-Encoding",
                "Upgrade",    "Expect",        "Date", "Via",     "Content-Length",
                "Host",       "HTTP2-Settings"
        };

        return is_in(names, CAY_COUNT(names), field);
}

/* Requests */

/* Fields whose names would be judged wrongly by their words. */
static bool is_plain_request(const char *field)
{
        static const char *const names[] = {
                "Accept*",
                "Cache-Control",
                "Content-*",
                "If-*",
                "Origin",
                "Range",
                "Referer",
                "User-Agent",
                "Sec-*",
                "X-CSRF*",
                "X-XSRF*",
                "CSRF*",
                "XSRF*",
                "X-CSRFToken",
                "Mcp-*",
                "Last-Event-ID",
                "X-Requested-With",
                "Lock-Token",
                "Tus-*",
                "Idempotency-Key",
                "Upload-*",
                "X-HTTP-Method-Override",
                "traceparent",
        };

        return is_in(names, CAY_COUNT(names), field);
}

static bool is_reserved_word(const char *word, size_t len)
{
        static const char *const words[] = {
                /* who somebody is, and secrets */
                "auth",
                "authn",
                "authz",
                "authenticated",
                "authentication",
                "authorization",
                "authorized",
                "oauth",
                "oauth2",
                "oidc",
                "saml",
                "sso",
                "iap",
                "token",
                "tokens",
                "authtoken",
                "accesstoken",
                "key",
                "keys",
                "apikey",
                "accesskey",
                "secret",
                "password",
                "passwd",
                "passphrase",
                "pin",
                "otp",
                "credential",
                "credentials",
                "cookie",
                "cookies",
                "cookie2",
                "session",
                "sessionid",
                "sid",
                "jwt",
                "bearer",
                "assertion",
                "signature",
                "identity",
                "user",
                "username",
                "userid",
                "email",
                "account",
                "group",
                "groups",
                "role",
                "roles",
                "principal",
                "login",
                "webauth",
                /* what a proxy in front of us has seen, or tells its own servers */
                "forwarded",
                "forward",
                "proxy",
                "real",
                "remote",
                "client",
                "ip",
                "cf",
                "fly",
                "amzn",
                "amz",
                "goog",
                "azure",
                "ms",
                "envoy",
                "akamai",
                "fastly",
                "cloudfront",
                "tailscale",
                "original",
                "rewrite",
                "ssl",
                "tls",
                "cert",
                "certificate",
                "dn",
                "arr",
                "cluster",
                "internal",
                "accel",
                "sendfile",
                "cay",
                "sandbox",
        };

        for (size_t i = 0; i < CAY_COUNT(words); i++)
                if (strlen(words[i]) == len && strncasecmp(word, words[i], len) == 0)
                        return true;
        return false;
}

static bool request_passes(const char *field)
{
        if (is_hop(field))
                return false;
        if (is_plain_request(field))
                return true;
        while (*field) {
                size_t len = strcspn(field, "-_.");

                if (is_reserved_word(field, len))
                        return false;
                field += len + (field[len] != '\0');
        }
        return true;
}

/* Answers */

static bool answer_passes(const char *field)
{
        static const char *const names[] = {
                /* the content */
                "Content-Type",
                "Content-Encoding",
                "Content-Language",
                "Content-Location",
                "Content-Disposition",
                "Content-Range",
                "Content-MD5",
                "Content-Digest",
                "Repr-Digest",
                "Digest",
                "ETag",
                "Last-Modified",
                "Expires",
                "Age",
                "Cache-Control",
                "Pragma",
                "Vary",
                "Accept-Ranges",
                "Accept-Patch",
                "Accept-Post",
                "Allow",
                "Link",
                "SourceMap",
                "X-SourceMap",
                "Server-Timing",
                "Retry-After",
                "Deprecation",
                "Sunset",
                "Preference-Applied",
                "Warning",
                "MIME-Version",
                "Server",
                "X-Powered-By",
                "DAV",
                "MS-Author-Via",
                /* where else it is (rest_location.h) */
                "Location",
                "Refresh",
                /* how a browser is to treat this page, more strictly than it would */
                "X-Frame-Options",
                "X-Content-Type-Options",
                "X-XSS-Protection",
                "X-DNS-Prefetch-Control",
                "X-Download-Options",
                "X-Permitted-Cross-Domain-Policies",
                "X-UA-Compatible",
                "X-Robots-Tag",
                "Referrer-Policy",
                "Permissions-Policy",
                "Feature-Policy",
                "Document-Policy",
                "Origin-Agent-Cluster",
                "Cross-Origin-Embedder-Policy",
                "Cross-Origin-Opener-Policy",
                "Cross-Origin-Resource-Policy",
                "Timing-Allow-Origin",
                "Sec-WebSocket-*",
                /* what servers tell their own pages and clients */
                "X-App-*",
                "X-Total-*",
                "X-Page*",
                "X-Per-Page",
                "X-Next-Page",
                "X-Prev-Page",
                "X-Pagination*",
                "X-RateLimit-*",
                "RateLimit*",
                "X-Runtime",
                "X-Response-Time",
                "X-Process-Time",
                "X-Correlation-Id",
                "X-Trace-Id",
                "traceresponse",
                "X-Version",
                "X-Api-Version",
                "X-CSRF*",
                "X-XSRF*",
                "HX-*",
                "Turbo-*",
                "X-Turbo-*",
                "X-Inertia*",
                "X-Livewire*",
                "X-Nextjs-*",
                "Next-*",
                "RSC",
                "X-Sveltekit-*",
                "X-Remix-*",
                "X-Gradio-*",
                "X-Jupyter-*",
                "X-Streamlit-*",
                "X-Apollo-*",
                "Grpc-*",
                "Tus-*",
                "Upload-*",
                "Lock-Token",
                "Mcp-*",
        };

        return !is_hop(field) && is_in(names, CAY_COUNT(names), field);
}

bool cay_proxy_passes(const char *field, bool is_answer)
{
        return is_answer ? answer_passes(field) : request_passes(field);
}
