/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection: TLS to the program in the sandbox, TLS to the real server, requests between them
 * (request.h), answers as they are. It runs in a process of its own, which has the two sockets, the secrets
 * for this host and nothing else, and returns how it ended.
 */
#pragma once

#include "foundation/http/tls.h"
#include "links/net/edge_message.h"

/*
 * server: trusts what this host trusts; box: has the certificate for the host. Descriptors and contexts are
 * borrowed.
 */
enum edge_how edge_connection_run(const struct edge_order *o, const int fds[EDGE_FD_COUNT],
                                  struct cay_tls_context *box, struct cay_tls_context *server);
