/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts and origins: which names are ours, and which pages may read answers. */
#include <string.h>
#include <strings.h>

#include "daemon/gate/gate_priv.h"

#define ORIGIN_MAX 512u

static bool is_below(const char *host, const char *dotted)
{
        size_t len = strlen(host), tail = strlen(dotted);

        return (len > tail && strcasecmp(host + len - tail, dotted) == 0) ||
               strcasecmp(host, dotted + 1) == 0;
}

/* Of "[::1]", the address alone. */
static bool same_host(const char *host, const char *name)
{
        size_t len = strlen(host);

        if (host[0] == '[' && len > 2 && host[len - 1] == ']' && strlen(name) == len - 2)
                return strncasecmp(host + 1, name, len - 2) == 0;
        return strcasecmp(host, name) == 0;
}

bool cay_gate_host_is_ours(const struct cay_config *c, const char *host)
{
        static const char *const loopback[] = { "localhost", "127.0.0.1", "::1" };

        for (unsigned i = 0; i < CAY_COUNT(loopback); i++)
                if (same_host(host, loopback[i]))
                        return true;
        if (same_host(host, c->host))
                return true;
        for (unsigned i = 0; i < c->trusted_hosts.count; i++) {
                const char *name = c->trusted_hosts.items[i];

                if (name[0] == '.' ? is_below(host, name) : same_host(host, name))
                        return true;
        }
        return false;
}

bool cay_gate_origin_is_fine(const struct cay_config *c, const regex_t *regex, const char *origin,
                             const char *self)
{
        regmatch_t whole;
        size_t len = strlen(origin);

        if (len > ORIGIN_MAX || strcmp(origin, "null") == 0)
                return false;
        if (strcasecmp(origin, self) == 0)
                return true;
        for (unsigned i = 0; i < c->allow_origins.count; i++)
                if (strcasecmp(origin, c->allow_origins.items[i]) == 0)
                        return true;
        return regex && regexec(regex, origin, 1, &whole, 0) == 0 && whole.rm_so == 0 &&
               (size_t)whole.rm_eo == len;
}
