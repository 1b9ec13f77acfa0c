/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a page could not be loaded. Chromium names what it met (net::ERR_…); whether the sandbox's network is
 * the reason is asked of its own policy.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "domain/browser/browser_priv.h"
#include "domain/network/policy_text.h"
#include "foundation/base/str.h"

struct place { /* where an address leads */
        char host[CAY_POLICY_NAME_MAX + 1];
        uint16_t port;
};

/* Of "https://user@Host:8443/path". False: it names no host. */
static bool read_place(const char *url, struct place *ret)
{
        const char *host = strstr(url, "://"), *end, *at, *colon = NULL;
        unsigned long port;
        size_t len;

        *ret = (struct place){ .port = strncasecmp(url, "http:", 5) == 0 ? 80 : 443 };
        host = host ? host + 3 : url;
        end = host + strcspn(host, "/?#");
        at = memrchr(host, '@', (size_t)(end - host));
        host = at ? at + 1 : host;
        if (*host == '[')
                colon = memchr(host, ']', (size_t)(end - host));
        colon = memchr(colon ? colon : host, ':', (size_t)(end - (colon ? colon : host)));
        len = (size_t)((colon ? colon : end) - host);
        if (*host == '[' && len > 2) { /* IPv6 */
                host++;
                len -= 2;
        }
        if (len == 0 || len >= sizeof(ret->host))
                return false;
        memcpy(ret->host, host, len);
        if (colon) {
                port = strtoul(colon + 1, NULL, 10);
                ret->port = port > 0 && port < 65536 ? (uint16_t)port : ret->port;
        }
        return true;
}

static bool is_own(const struct place *p)
{
        return strcasecmp(p->host, "localhost") == 0 || strncmp(p->host, "127.", 4) == 0 ||
               strcmp(p->host, "::1") == 0;
}

/* By its policy; a name counts with any public address. */
static bool is_refused(const char *policy, const struct place *p)
{
        struct cay_policy_target target = { .port = p->port };
        struct cay_policy_verdict verdict = { 0 };
        struct cay_policy_pair pair = { 0 };
        struct cay_error err = { 0 };
        char name[CAY_POLICY_NAME_MAX + 1];

        if (cay_policy_text_read(policy, strlen(policy), &pair, &err) < 0)
                return false;
        if (!cay_address_parse(p->host, &target.address)) {
                if (!cay_policy_name_fold(p->host, strlen(p->host), name) ||
                    !cay_address_parse("1.1.1.1", &target.address)) {
                        cay_policy_pair_done(&pair);
                        return false;
                }
                target.name = name;
        }
        cay_policy_pair_judge(&pair, &target, &verdict);
        cay_policy_pair_done(&pair);
        return !verdict.is_allowed;
}

/* False: the network is not the reason. */
static bool explain_policy(const struct cay_browser *b, const char *what, const struct place *p,
                           struct cay_error *ret)
{
        struct cay_viewer viewer = cay_browser_viewer(b);
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };

        if (is_own(p) || cay_service_get(b->all->env.service, &viewer, b->sandbox, &view, &err) < 0)
                return false;
        if (view.network == CAY_NETWORK_NONE)
                cay_fail(ret, CAY_DENIED,
                         "%s blocked: %.100s is not allowed by this sandbox's network (it has none)", what,
                         p->host);
        else if (view.policy && is_refused(view.policy, p))
                cay_fail(ret, CAY_DENIED,
                         "%s blocked: %.100s (port %u) is not allowed by this sandbox's network", what,
                         p->host, p->port);
        else
                return false;
        return true;
}

static const struct {
        const char *error, *words; /* words: behind the host */
} words[] = {
        { "net::ERR_NAME_NOT_RESOLVED", "this name does not exist, or cannot be looked up" },
        { "net::ERR_CONNECTION_REFUSED", "nothing listens there" },
        { "net::ERR_CONNECTION_TIMED_OUT", "it does not answer" },
        { "net::ERR_TIMED_OUT", "it does not answer" },
        { "net::ERR_CONNECTION_RESET", "the connection was cut" },
        { "net::ERR_CONNECTION_CLOSED", "the connection was cut" },
        { "net::ERR_EMPTY_RESPONSE", "it closed the connection without an answer" },
        { "net::ERR_ADDRESS_UNREACHABLE", "it cannot be reached" },
        { "net::ERR_INTERNET_DISCONNECTED", "the sandbox has no way out" },
        { "net::ERR_TOO_MANY_REDIRECTS", "it leads to itself" },
        { "net::ERR_ABORTED", "the page was not loaded: it was stopped, or there is nothing to show" },
        { "net::ERR_FILE_NOT_FOUND", "there is no such file in the sandbox" },
        { "net::ERR_ACCESS_DENIED", "the browser may not read it" },
        { "net::ERR_HTTP_RESPONSE_CODE_FAILURE", "it answered with an error and an empty page" },
        { "net::ERR_UNSAFE_PORT", "the browser does not connect to this port" },
        { "net::ERR_SSL_PROTOCOL_ERROR", "it does not speak TLS; try http://" },
        { "net::ERR_INVALID_HTTP_RESPONSE", "it does not speak HTTP" },
        { "net::ERR_UNKNOWN_URL_SCHEME", "the browser does not know this kind of address" },
        { "net::ERR_INVALID_URL", "this is no address" },
};

void cay_browser_explain_net(const struct cay_browser *b, const char *what, const char *url,
                             const char *error, struct cay_error *ret)
{
        struct place p;
        bool has_place = read_place(url, &p);

        if (has_place && !cay_str_starts(error, "net::ERR_CERT") &&
            !cay_str_starts(error, "net::ERR_ABORTED") && explain_policy(b, what, &p, ret))
                return;
        if (cay_str_starts(error, "net::ERR_CERT")) {
                cay_fail(ret, CAY_CONFLICT,
                         "%s failed: the certificate of %.80s is not valid (%s); start the browser with "
                         "ignore_certificate_errors if that is meant to be",
                         what, has_place ? p.host : url, error);
                return;
        }
        for (unsigned i = 0; i < CAY_COUNT(words); i++) {
                if (strcmp(words[i].error, error) == 0) {
                        cay_fail(ret, CAY_CONFLICT, "%s failed: %.100s: %s (%s)", what,
                                 has_place ? p.host : url, words[i].words, error);
                        return;
                }
        }
        cay_fail(ret, CAY_CONFLICT, "%s failed: %.120s: %.80s", what, has_place ? p.host : url, error);
}
