/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-edge: where secrets are put into requests. cay-net starts it and hands it single connections
 * (links/net/edge_message.h).
 *
 * Theory of operation. This process waits for orders and for the end of its children; it reads no byte of a
 * stranger. For each order it makes a child. The child makes a certificate for the host, forgets the
 * authority's key and every other socket, gives up all system calls but those on the two sockets, and only
 * then speaks with the sandbox and the server (connection.h). So a fault in TLS or HTTP has in hand what this
 * one connection has: the secrets that the sandbox may use at this host. It cannot open a file or a socket,
 * and has neither the authority's key nor another sandbox's secrets. Between two orders this process holds no
 * secret at all: they come with the order and are wiped when the child has been made.
 *
 * The certificates that servers are judged by are the host's own file, read again when it changes.
 */
#pragma once

int edge_main(int argc, char **argv);
