/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports of sandboxes by host name: {port}-{sandbox}.{domain}, where the domain is one of proxy_domains. Each
 * is an origin of its own to browsers, so that a sandbox's page can act as nobody else. Only that port is
 * served under such a name.
 *
 * Caller. A bearer token or API key as elsewhere, or a link for browsers. A link's token has its own kind and
 * names port and sandbox (its id is "{port}-{sandbox}"). It works for a few minutes in the query as cay_link,
 * and is exchanged for a cookie of that host alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/id.h"
#include "domain/settings/config.h"
#include "foundation/http/request.h"

#define CAY_PORT_LINK "cay_link"           /* the parameter */
#define CAY_PORT_COOKIE_MS 3600000u        /* how long its cookie is valid */
#define CAY_PORT_LABEL (CAY_NAME_MAX + 6u) /* "65535-" and a name */

struct cay_port_host {
        uint16_t port; /* 0: not the name of a port */
        char sandbox[CAY_NAME_MAX + 1];
        char label[CAY_PORT_LABEL + 1]; /* "3000-name": what links are bound to */
};

/* host: lower case, without port. False: ret->port is 0. */
bool cay_port_host_read(const struct cay_config_list *domains, const char *host, struct cay_port_host *ret);
/* Digits without leading zeros: each number has one spelling. 0: invalid. */
uint16_t cay_port_read(const char *text, size_t len);
/* Finds our cookie among those of such a host: where its value is. */
bool cay_port_cookie_find(const struct cay_http_request *req, const char **ret, size_t *ret_len);
bool cay_port_cookie_is_ours(
        const char *cookie); /* "name=value…": a port's or a session's cookie, not forwarded to the sandbox */
/*
 * Whether a page of that host itself made the request, or a user who followed a link. Old browsers do not
 * say.
 */
bool cay_port_page_is_own(const struct cay_http_request *req);
/* The answer's field that sets the cookie. */
void cay_port_cookie_give(struct cay_http_request *req, const char *token);
