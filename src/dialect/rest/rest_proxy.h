/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reverse proxy to ports inside sandboxes, by path: /api/sandboxes/{id}/ports/{port}/…, with upgrades (WebSocket). Requests are
 * written anew, never copied: framing is our own, credentials (Authorization, Cookie) stay outside, and what comes back gets an opaque
 * origin (CSP sandbox) and cannot set cookies, so a page from a sandbox cannot act as this server.
 */
#pragma once

#include "dialect/gate/gate.h"
#include "http/request.h"
#include "http/router.h"
#include "op/op.h"

#define CAY_PROXY_ROW "* /api/sandboxes/{id}/ports/{port}/*rest"

/* Takes the request over. The visitor is known. */
void cay_rest_proxy(const struct cay_op_world *world, struct cay_http_request *req,
                    const struct cay_route_match *m, const struct cay_visitor *v);
int cay_proxy_parse_port(const char *text,
                         uint16_t *ret); /* "8080": digits alone, no zero in front; 0 or -EINVAL */
bool cay_proxy_passes(const char *field, bool is_answer); /* whether a field is passed on */
