/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A terminal in a sandbox, over a WebSocket that speaks as ttyd does (subprotocol "tty"), so that ttyd's clients work: the base is
 * /tty/SANDBOX, hence /tty/SANDBOX/ws and /tty/SANDBOX/token. The gate has let the client in before; or else the
 * client offers the subprotocol "tty" and brings a token or key as AuthToken in its first message: nothing is looked up before that was judged.
 *
 * Without more a shell starts with the first message and ends with its client. With ?exec=ID&from=CURSOR the client looks at a command
 * that it has started itself (exec_run with tty), which goes on without it: whoever was cut off comes back with `from` plus the number of
 * bytes that came, and has lost nothing.
 *
 * The same is port 17681 of every sandbox, where callers of sandbox-mcp-server look for ttyd: /ports/17681/ws, or by host name.
 *
 * Messages are charged as requests are; what is too much waits. A client whose key was revoked or whose time is over is let go with 1008, and a shell that
 * was started for it runs on.
 *
 * Pausing stops the reading of the command's output within one piece (128 KiB), and with it the command. When the command has ended the close is 1000 "exit N"; 1008 says
 * what was refused, 1001 and 1011 that coming back is worth it.
 */
#pragma once

#include "dialects/rest/rest.h"

/* Handlers of rows (rest.h). */
void cay_ui_tty(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                const struct cay_visitor *v);
void cay_ui_tty_token(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                      const struct cay_visitor *v);

#define CAY_UI_TTY_PORT 17681
#define CAY_UI_DESKTOP_PORT 16080
