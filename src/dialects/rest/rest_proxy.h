/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reverse proxy to ports inside sandboxes, with upgrades (WebSocket): by path,
 * /api/sandboxes/{id}/ports/{port}/…, and by host name, {port}-{id}.{domain}. Requests are rewritten, never
 * copied: framing is our own, credentials are removed. By path, what comes back gets an opaque origin (CSP
 * sandbox) and there are no cookies, so a page from a sandbox cannot act as this server; addresses in its
 * fields are rewritten (rest_location.h). A host name is an origin of its own: there, its policies and
 * cookies are the page's, but for ours among them and for those that reach beyond it.
 */
#pragma once

#include "daemon/gate/gate.h"
#include "foundation/http/request.h"
#include "foundation/http/router.h"
#include "domain/ops/op.h"

#define CAY_PROXY_ROW "* /api/sandboxes/{id}/ports/{port}/*rest"
#define CAY_PROXY_BARE_ROW "* /api/sandboxes/{id}/ports/{port}" /* is sent to the one with a slash (308) */

/* Takes over the request. The caller is known. */
void cay_rest_proxy(const struct cay_op_world *world, struct cay_http_request *req,
                    const struct cay_route_match *m, const struct cay_visitor *v);
/*
 * The same for a request by host name: to v->port. One that came by a link is sent on with a cookie instead.
 */
void cay_rest_proxy_host(const struct cay_op_world *world, struct cay_http_request *req,
                         const struct cay_visitor *v);
int cay_proxy_parse_port(const char *text,
                         uint16_t *ret); /* "8080": digits alone, no zero in front; 0 or -EINVAL */
