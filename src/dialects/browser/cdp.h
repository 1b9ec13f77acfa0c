/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox's browser for clients of the Chrome DevTools Protocol, such as Playwright (connectOverCDP) and
 * Puppeteer: a WebSocket at /api/sandboxes/ID/browser/cdp, one text message for each message of CDP. Several
 * clients may connect at once (domain/browser/cdp_mux.h).
 *
 * The caller authenticates as for any request, or with a link (browser_link), whose query carries a token
 * that is good for this path alone. The browser is started if it does not run. Only when it has a tab the
 * request becomes a WebSocket; what fails before is answered as plain HTTP with the reason. Clients that are
 * given an HTTP address ask for json/version beside it first; so does /api/sandboxes/ID/browser/json/version
 * answer.
 *
 * Each message of a client is charged like a request; those beyond the rate wait.
 *
 * Ends: 1000 when the browser was closed, 1011 when it ended otherwise (the reason says why), 1013 when a
 * client does not read what it asked for, 1008 when its key was revoked.
 */
#pragma once

#include "dialects/rest/rest.h"

extern const struct cay_rest_more cay_cdp_rows[];
extern const unsigned cay_cdp_count;

/*
 * For other dialects' addresses in this folder: the request becomes a client of the browser of this sandbox.
 */
void cay_cdp_accept(const struct cay_rest_place *place, struct cay_http_request *req,
                    const struct cay_visitor *v, const char *sandbox);
