/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live view of a sandbox's browser (domain/browser/live.h) over a WebSocket. Addresses:
 *
 *   /api/sandboxes/ID/browser/live    may take over; starts the browser if none runs
 *   /api/sandboxes/ID/browser/view    only to look at, and starts nothing
 *
 * The caller authenticates as for any request, or by a link (browser_live_link), whose query carries a token
 * that is good for one of the two addresses; the connection ends when it expires. Who may only read may only
 * look.
 *
 * The daemon sends texts (JSON objects) and pictures. A frame is a text with the member `frame`, its number,
 * followed by one binary message: a JPEG. Other texts have one or more of `tabs`, `pointer`, `dialog`,
 * `note`, `turn`, `error`. The viewer sends texts alone: the words of domain/browser/live_order.h. It
 * acknowledges each frame when it has drawn it; two may be on their way, so a viewer that is slow, or reads
 * nothing, gets fewer frames. Other news wait until what was sent has been read, and are sent as they are
 * then. Orders beside acknowledgements are charged like requests, and those beyond the rate wait.
 *
 * Ends: 1000 when the browser was closed, 1011 when it ended otherwise, 1008 when a message was none of the
 * words or the access has ended, 1001 when the daemon stops. The reason says more.
 */
#pragma once

#include "dialects/rest/rest.h"

extern const struct cay_rest_more cay_live_rows[];
extern const unsigned cay_live_count;
