/* SPDX-License-Identifier: Apache-2.0 */
/* The address that people type. */
#include <stdio.h>
#include <string.h>

#include "domain/settings/config.h"

void cay_config_url(const struct cay_config *c, unsigned port, char ret[CAY_CONFIG_URL_MAX])
{
        bool is_all =
                strcmp(c->host, "0.0.0.0") == 0 || strcmp(c->host, "::") == 0 || strcmp(c->host, "") == 0;
        const char *host = is_all ? "localhost" : c->host;
        bool is_v6 = strchr(host, ':') != NULL;

        snprintf(ret, CAY_CONFIG_URL_MAX, "%s://%s%.255s%s:%u", c->tls_cert[0] ? "https" : "http",
                 is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}
