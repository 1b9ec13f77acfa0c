/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of fields; the rules are in proxy_fields.h. */
#include "dialects/rest/proxy_fields.h"

#include <string.h>
#include <strings.h>

#include "foundation/base/cleanup.h"
#include "daemon/gate/gate_port.h"

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

/* clang-format off */
static const char *const reserved_words[] = {
        /* who somebody is, and secrets */
        "oidc", "saml", "sso", "iap", "key", "keys", "accesskey", "passphrase", "pin", "otp", "sid", "bearer", "assertion",
        "signature", "identity", "user", "username", "userid", "email", "account", "group", "groups", "role", "roles",
        "principal", "login",
        /* what a proxy in front of us has seen, or tells its own servers */
        "forward", "proxy", "real", "remote", "client", "ip", "cf", "fly", "amzn", "amz", "goog", "azure", "ms", "envoy",
        "akamai", "fastly", "cloudfront", "tailscale", "original", "rewrite", "ssl", "tls", "cert", "certificate", "dn",
        "arr", "cluster", "internal", "accel", "sendfile", "cay", "sandbox",
};
/* clang-format on */

static bool is_reserved_word(const char *word, size_t len)
{
        for (size_t i = 0; i < CAY_COUNT(reserved_words); i++)
                if (strlen(reserved_words[i]) == len && strncasecmp(word, reserved_words[i], len) == 0)
                        return true;
        return false;
}

/* Written in one with other words (X-UserToken), these still say what it is. */
static bool has_reserved_part(const char *field)
{
        static const char *const parts[] = { "token",      "secret", "passw",  "cookie", "session",
                                             "credential", "jwt",    "apikey", "auth",   "forwarded" };

        for (size_t i = 0; i < CAY_COUNT(parts); i++)
                if (strcasestr(field, parts[i]))
                        return true;
        return false;
}

static bool request_passes(const char *field)
{
        if (is_hop(field))
                return false;
        if (is_plain_request(field))
                return true;
        if (has_reserved_part(field))
                return false;
        while (*field) {
                size_t len = strcspn(field, "-_.");

                if (is_reserved_word(field, len))
                        return false;
                field += len + (field[len] != '\0');
        }
        return true;
}

/* Answers */

/* clang-format off */
static const char *const known_answers[] = {
        /* the content */
        "Content-Type", "Content-Encoding", "Content-Language", "Content-Location", "Content-Disposition",
        "Content-Range", "Content-MD5", "Content-Digest", "Repr-Digest", "Digest", "ETag", "Last-Modified",
        "Expires", "Age", "Cache-Control", "Pragma", "Vary", "Accept-Ranges", "Accept-Patch", "Accept-Post",
        "Allow", "Link", "SourceMap", "X-SourceMap", "Server-Timing", "Retry-After", "Deprecation", "Sunset",
        "Preference-Applied", "Warning", "MIME-Version", "Server", "X-Powered-By", "DAV", "MS-Author-Via",
        /* where else it is (rest_location.h) */
        "Location", "Refresh",
        /* how a browser is to treat this page, more strictly than it would */
        "X-Frame-Options", "X-Content-Type-Options", "X-XSS-Protection", "X-DNS-Prefetch-Control",
        "X-Download-Options", "X-UA-Compatible", "X-Robots-Tag",
        "Referrer-Policy", "Permissions-Policy", "Feature-Policy", "Document-Policy", "Origin-Agent-Cluster",
        "Cross-Origin-Embedder-Policy", "Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy",
        "Timing-Allow-Origin", "Sec-WebSocket-*",
        /* what servers tell their own pages and clients */
        "X-App-*", "X-Total-*", "X-Page*", "X-Per-Page", "X-Next-Page", "X-Prev-Page", "X-Pagination*",
        "X-RateLimit-*", "RateLimit*", "X-Runtime", "X-Response-Time", "X-Process-Time", "X-Correlation-Id",
        "X-Trace-Id", "traceresponse", "X-Version", "X-Api-Version", "X-CSRF*", "X-XSRF*", "HX-*", "Turbo-*",
        "X-Turbo-*", "X-Inertia*", "X-Livewire*", "X-Nextjs-*", "Next-*", "RSC", "X-Sveltekit-*", "X-Remix-*",
        "X-Gradio-*", "X-Jupyter-*", "X-Streamlit-*", "X-Apollo-*", "Grpc-*", "Tus-*", "Upload-*", "Lock-Token",
        "Mcp-*",
};
/* clang-format on */

static bool answer_passes(const char *field)
{
        return !is_hop(field) && is_in(known_answers, CAY_COUNT(known_answers), field);
}

bool cay_proxy_passes(const char *field, bool is_answer)
{
        return is_answer ? answer_passes(field) : request_passes(field);
}

/* Cookies */

int cay_proxy_put_cookies(struct cay_buf *out, const char *value)
{
        size_t before = out->len;
        int r = 0;

        while (*value && r == 0) {
                size_t len;

                value += strspn(value, " \t;");
                len = strcspn(value, ";");
                if (len > 0 && !cay_port_cookie_is_ours(value)) {
                        r = out->len > before ? cay_buf_puts(out, "; ") : 0;
                        if (r == 0)
                                r = cay_buf_put(out, value, len);
                }
                value += len;
        }
        return r < 0 ? r : out->len == before;
}

/*
 * Attributes begin behind the first semicolon; browsers take their names in any case, and the last one
 * counts.
 */
bool cay_proxy_cookie_stays(const char *set_cookie)
{
        const char *at = set_cookie + strspn(set_cookie, " \t");

        if (cay_port_cookie_is_ours(at))
                return false;
        while ((at = strchr(at, ';')) != NULL) {
                at += 1 + strspn(at + 1, " \t");
                if (strncasecmp(at, "Domain", 6) == 0 && strchr(" \t=;", at[6]))
                        return false;
        }
        return true;
}

/* Links */

static bool is_link(const char *parameter, size_t len)
{
        size_t name = strlen(CAY_PORT_LINK);

        return len >= name && strncmp(parameter, CAY_PORT_LINK, name) == 0 &&
               (len == name || parameter[name] == '=');
}

bool cay_proxy_has_link(const char *query)
{
        while (query && *query) {
                size_t len = strcspn(query, "&");

                if (is_link(query, len))
                        return true;
                query += len + (query[len] == '&');
        }
        return false;
}

int cay_proxy_put_unlinked(struct cay_buf *out, const char *path, const char *query)
{
        char mark = '?';
        int r = cay_buf_puts(out, path);

        while (query && *query && r == 0) {
                size_t len = strcspn(query, "&");

                if (len > 0 && !is_link(query, len)) {
                        r = cay_buf_putc(out, mark);
                        if (r == 0)
                                r = cay_buf_put(out, query, len);
                        mark = '&';
                }
                query += len + (query[len] == '&');
        }
        return r;
}
