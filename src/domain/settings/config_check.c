/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules between keys: one small function each, all in one table. The first broken rule is reported with its
 * fix.
 */

#include <arpa/inet.h>
#include <strings.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/str.h"
#include "domain/settings/config_priv.h"

static const char *where(const struct cay_config *c, enum cay_config_key key)
{
        return c->where[key] ? c->where[key] : "default";
}

static bool is_loopback(const char *host)
{
        uint8_t v4[4], v6[16], mapped[12] = { [10] = 0xff, [11] = 0xff };

        if (inet_pton(AF_INET, host, v4) == 1)
                return v4[0] == 127;
        if (inet_pton(AF_INET6, host, v6) == 1)
                return memcmp(v6, (uint8_t[16]){ [15] = 1 }, 16) == 0 ||
                       (memcmp(v6, mapped, 12) == 0 && v6[12] == 127);
        return strcasecmp(host, "localhost") == 0;
}

static int hosts_are_named(const struct cay_config *c, struct cay_error *err)
{
        if (is_loopback(c->host) || c->trusted_hosts.count > 0)
                return 0;
        return cay_fail(err, CAY_INVALID,
                        "%s: listening on %.60s makes the daemon reachable for others: set trusted_hosts "
                        "(SANDBOX_TRUSTED_HOSTS) to the host names they may use, or listen on 127.0.0.1",
                        where(c, CAY_CONFIG_KEY_host), c->host);
}

static int tls_is_whole(const struct cay_config *c, struct cay_error *err)
{
        bool cert = c->tls_cert[0] != '\0', key = c->tls_key[0] != '\0';

        if (cert == key)
                return 0;
        return cay_fail(err, CAY_INVALID, "%s: %s is set, so %s must be set too",
                        where(c, cert ? CAY_CONFIG_KEY_tls_cert : CAY_CONFIG_KEY_tls_key),
                        cert ? "tls_cert" : "tls_key", cert ? "tls_key" : "tls_cert");
}

/* A letter, digit, '-' or '.', and ':' with digits after the name: what a Host header may contain. */
static bool is_host(const char *s)
{
        size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._[]:");

        return len > 0 && len < 256 && s[len] == '\0';
}

static int hosts_are_hosts(const struct cay_config *c, struct cay_error *err)
{
        for (unsigned i = 0; i < c->trusted_hosts.count; i++) {
                const char *host = c->trusted_hosts.items[i];

                if (strcmp(host, "*") == 0)
                        return cay_fail(err, CAY_INVALID,
                                        "%s: trusted_hosts can't be '*', which would trust any name that a "
                                        "hostile page "
                                        "gives this machine: name the hosts",
                                        where(c, CAY_CONFIG_KEY_trusted_hosts));
                if (!is_host(host))
                        return cay_fail(err, CAY_INVALID,
                                        "%s: trusted_hosts: '%.60s' is not a host name (no scheme, no path)",
                                        where(c, CAY_CONFIG_KEY_trusted_hosts), host);
        }
        return 0;
}

/*
 * A name that is also trusted as a whole would let a sandbox's page pass for ours: the first label tells them
 * apart.
 */
static int domains_are_domains(const struct cay_config *c, struct cay_error *err)
{
        for (unsigned i = 0; i < c->proxy_domains.count; i++) {
                const char *domain = c->proxy_domains.items[i];

                if (!is_host(domain) || domain[0] == '.' || strpbrk(domain, ":[]ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
                        return cay_fail(err, CAY_INVALID,
                                        "%s: proxy_domains: '%.60s' is not a domain (lower case, no leading "
                                        "dot, no port)",
                                        where(c, CAY_CONFIG_KEY_proxy_domains), domain);
        }
        return 0;
}

static int origins_are_origins(const struct cay_config *c, struct cay_error *err)
{
        for (unsigned i = 0; i < c->allow_origins.count; i++) {
                const char *origin = c->allow_origins.items[i], *host = strstr(origin, "://");
                bool web = cay_str_starts(origin, "http://") || cay_str_starts(origin, "https://");

                if (!host || !web || !is_host(host + 3))
                        return cay_fail(err, CAY_INVALID,
                                        "%s: allow_origins: '%.60s' is not an origin (like "
                                        "https://example.com, without a path; '*' is never allowed)",
                                        where(c, CAY_CONFIG_KEY_allow_origins), origin);
        }
        return 0;
}

/* Without both anchors, "https://good.example.evil.test" would match. */
static int regex_is_anchored(const struct cay_config *c, struct cay_error *err)
{
        size_t len = strlen(c->allow_origin_regex);

        if (len == 0 || (c->allow_origin_regex[0] == '^' && c->allow_origin_regex[len - 1] == '$'))
                return 0;
        return cay_fail(err, CAY_INVALID,
                        "%s: allow_origin_regex must start with ^ and end with $, or it would match parts of "
                        "hostile names",
                        where(c, CAY_CONFIG_KEY_allow_origin_regex));
}

static int roots_are_narrow(const struct cay_config *c, struct cay_error *err)
{
        for (unsigned i = 0; i < c->workspace_roots.count; i++) {
                if (strspn(c->workspace_roots.items[i], "/") == strlen(c->workspace_roots.items[i]))
                        return cay_fail(
                                err, CAY_INVALID,
                                "%s: workspace_roots can't be '/': name the folders that clients may map",
                                where(c, CAY_CONFIG_KEY_workspace_roots));
        }
        return 0;
}

static int mode_is_sandbox(const struct cay_config *c, struct cay_error *err)
{
        if (c->sandbox_mode)
                return 0;
        return cay_fail(
                err, CAY_INVALID,
                "%s: sandbox_mode can't be switched off: code always runs in a sandbox (remove the setting)",
                where(c, CAY_CONFIG_KEY_sandbox_mode));
}

static int data_is_set(const struct cay_config *c, struct cay_error *err)
{
        if (c->data[0] != '\0' && c->host[0] != '\0' && c->engine[0] != '\0')
                return 0;
        return cay_fail(err, CAY_INVALID, "data, host and engine can't be empty");
}

static int owner_fits(const struct cay_config *c, struct cay_error *err)
{
        if (c->max_sandboxes_owner <= c->max_sandboxes)
                return 0;
        return cay_fail(err, CAY_INVALID,
                        "%s: max_sandboxes_owner is more than max_sandboxes: raise that one too",
                        where(c, CAY_CONFIG_KEY_max_sandboxes_owner));
}

static int e2b_is_known(const struct cay_config *c, struct cay_error *err)
{
        if (strcmp(c->e2b_network, "template") == 0 || strcmp(c->e2b_network, "bridge") == 0)
                return 0;
        return cay_fail(err, CAY_INVALID, "%s: e2b_network must be template or bridge",
                        where(c, CAY_CONFIG_KEY_e2b_network));
}

static int browserbase_is_known(const struct cay_config *c, struct cay_error *err)
{
        if (strcmp(c->browserbase_network, "template") == 0 || strcmp(c->browserbase_network, "bridge") == 0)
                return 0;
        return cay_fail(err, CAY_INVALID, "%s: browserbase_network must be template or bridge",
                        where(c, CAY_CONFIG_KEY_browserbase_network));
}

int cay_config_check(const struct cay_config *c, struct cay_error *err)
{
        static int (*const rules[])(const struct cay_config *c, struct cay_error *err) = {
                data_is_set,         hosts_are_hosts,     hosts_are_named,   tls_is_whole,
                domains_are_domains, origins_are_origins, regex_is_anchored, roots_are_narrow,
                mode_is_sandbox,     owner_fits,          e2b_is_known,      browserbase_is_known,
        };

        for (size_t i = 0; i < CAY_COUNT(rules); i++) {
                if (rules[i](c, err) < 0)
                        return -1;
        }
        return 0;
}
