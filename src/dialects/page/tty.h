/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A terminal in a sandbox, over a WebSocket with ttyd's subprotocol "tty", so that ttyd's clients work. The
 * base is /tty/SANDBOX, so they use /tty/SANDBOX/ws and /tty/SANDBOX/token. Either the gate has authenticated
 * the client before, or the client offers the subprotocol "tty" and sends a token or key as AuthToken in its
 * first message. Nothing is looked up before that is checked.
 *
 * By default a shell starts with the first message and ends with its client. With ?exec=ID&from=CURSOR the
 * client views a command that it started itself (exec_run with tty), which continues without it. A client
 * that was cut off returns with `from` plus the number of bytes received, and has lost nothing.
 *
 * The same is served at port 17681 of every sandbox, where callers of sandbox-mcp-server expect ttyd:
 * /ports/17681/ws, or by host name.
 *
 * Messages are charged like requests; those beyond the rate wait. A client whose key was revoked or has
 * expired is closed with 1008, and a shell that was started for it continues.
 *
 * Pausing stops the reading of the command's output within one piece (128 KiB), and so the command. When the
 * command has ended, the close is 1000 "exit N". 1008 says what was refused; after 1001 and 1011 the client
 * should reconnect.
 */
#pragma once

#include "dialects/rest/rest.h"

/* Handlers of rows (rest.h). */
void cay_ui_tty(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                const struct cay_visitor *v);
void cay_ui_tty_token(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                      const struct cay_visitor *v);

#define CAY_UI_TTY_PORT 17681
