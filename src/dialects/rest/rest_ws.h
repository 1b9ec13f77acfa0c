/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebSocket, the third encoding of a stream of events, for ops that may stream (CAY_OP_STREAM).
 *
 * Beginning. An op whose row is a GET is called as by a plain GET: what it answers or refuses before its
 * stream begins is an ordinary HTTP answer, and the upgrade comes with the stream. An op whose row is a POST
 * is asked for by a GET with an upgrade; the first text message is then the JSON body of that POST, and
 * refusals are messages {"error": …} as in REST, followed by a close.
 *
 * From here: one text message per event, the same JSON as in NDJSON; one binary message per piece of a stream
 * of bytes. From the client: a binary message is input; a text message is an order, {"input": TEXT,
 * "input_base64": BYTES, "eof": true, "rows": N, "cols": N, "signal": NAME}, any of them. Messages are
 * handled in order, and input is taken as fast as the op takes it.
 *
 * Messages are charged as requests are: input waits for room, an order without input is refused with an
 * event. The caller is judged again with each, and let go when its key was revoked or its time is over
 * (rest_call.h).
 *
 * Closes: 1000 at the stream's end, 1001 when the daemon stops; 1002, 1007, 1009 for what is no WebSocket, no
 * UTF-8, too big; 1008 for what is refused, 1011 when it is our fault. Both directions are held by what the
 * other side takes; nothing here grows with the stream.
 */
#pragma once

#include "dialects/rest/rest.h"
#include "dialects/rest/rest_stream.h"
#include "foundation/http/router.h"

bool cay_rest_ws_wanted(const struct cay_http_request *req);
/* Takes the request over. first_is_body: the row is no GET. The visitor is known, and its page is fine. */
void cay_rest_ws(const struct cay_op_world *world, const struct cay_op *op, const struct cay_route_match *m,
                 struct cay_http_request *req, const struct cay_visitor *v, bool first_is_body,
                 struct cay_rest_stream **streams);
