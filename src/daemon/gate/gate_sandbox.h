/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests for a sandbox in E2B's manner: the sandbox and the port inside it are named by two header fields,
 * or by the host name (gate_port.h). Two ports are no servers of the sandbox: the daemon answers them itself
 * (commands and files; code). There the caller has a token of that sandbox (domain/auth/sandbox_token.h), and
 * `Authorization: Basic USER:` is not a credential but the name of a user inside.
 *
 * A page of another site cannot send these fields without a preflight, and that is answered by allow_origins
 * alone.
 */
#pragma once

#include "daemon/gate/gate.h"

#define CAY_GATE_SANDBOX_FIELD "E2b-Sandbox-Id"
#define CAY_GATE_PORT_FIELD "E2b-Sandbox-Port"
#define CAY_GATE_ACCESS_FIELD "X-Access-Token"
#define CAY_GATE_TRAFFIC_FIELD "E2B-Traffic-Access-Token"

#define CAY_GATE_ENVD_PORT 49983 /* commands and files */
#define CAY_GATE_CODE_PORT 49999 /* code */

bool cay_gate_is_api_port(uint16_t port); /* one of the two */
/*
 * The two fields, if they are there: 1, and ret names port and sandbox; 0: not there; -1: malformed. Without
 * a port it is CAY_GATE_ENVD_PORT.
 */
int cay_gate_sandbox_read(const struct cay_http_request *req, struct cay_port_host *ret);
/* Whether a field holds a token of a sandbox, which servers inside must not see. */
bool cay_gate_sandbox_field(const char *name);
