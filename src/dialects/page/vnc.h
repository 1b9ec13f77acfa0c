/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The desktop of a sandbox for people: noVNC's WebSocket, whose binary messages are the bytes of RFB.
 * Addresses:
 *
 *   /api/sandboxes/ID/desktop/ws      the pointer and the keys too; ?view_only=1: without them
 *   /api/sandboxes/ID/desktop/view    only to look at
 *   /websockify, /view                the same at port 16080 of the sandbox (/ports/16080/, by host name, or
 *                                     published)
 *
 * The caller authenticates as for any request, or by a link (desktop_link), whose query carries a token that
 * is good for one of the two addresses. Who may only read may only look. The desktop is started if none runs
 * and the caller may do that. The request becomes a WebSocket when the desktop is there; what fails before is
 * answered as plain HTTP with the reason.
 *
 * What the viewer says is read (domain/desktop/viewer.h), so that one person at a time has the pointer and
 * the keys; what the desktop says is relayed. Messages are charged like requests, and those beyond the rate
 * wait.
 *
 * A viewer that offers the subprotocol "cay.desktop" is told by text messages whose input counts, when that
 * changes for it: {"input":"others"} when something of it was left out since somebody else has the pointer
 * and the keys, {"input":"yours"} when it is passed on again. noVNC itself offers "binary" or nothing, and
 * gets bytes alone.
 *
 * Ends: 1011 when the desktop ended, 1008 when the viewer broke the protocol or its access has ended, 1013
 * when there is no memory for what it does not read, 1001 when the daemon stops. The reason says more.
 */
#pragma once

#include "dialects/rest/rest.h"

#define CAY_VNC_PATH_MAX (CAY_NAME_MAX + 48u)

extern const struct cay_rest_more cay_vnc_rows[];
extern const unsigned cay_vnc_count;

/* Which of the addresses below /api a request at port 16080 of this sandbox stands for. */
void cay_vnc_path(const struct cay_http_request *req, const char *sandbox, char ret[CAY_VNC_PATH_MAX]);
