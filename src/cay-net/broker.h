/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-net: the network of all sandboxes, in a program of its own that has the host's sockets and nothing
 * else.
 *
 * Theory of operation. A front hands over the sockets of a sandbox's network namespace, its policy and its
 * limits (links/net/net_message.h). From then on the sandbox's programs speak with this program alone: names
 * are answered (stub.h), connections judged, made and relayed (conn.h), everything is counted and logged. The
 * front hears log entries and may change the policy; no byte of a connection passes through it.
 *
 * Ends. A front's: everything goes on; the next one asks what is there (box_list) and what was logged
 * (log_read). The keeper's: we end, and with us every connection. Our own: the kernel resets them all; a
 * front that still has the sandboxes' sockets hands them to the next one. A front that does not read misses
 * entries, which stay readable; nothing else waits for it.
 */
#pragma once

#include <stdbool.h>

#include "foundation/base/error.h"

struct net_options {
        const char *resolv_conf;
        const char *edge; /* path of cay-edge; NULL: sandboxes have no secrets */
        bool keep;        /* there is a keeper at HELPER_KEEPER_FD */
        unsigned id;      /* user and group to become when started as root; 0: nobody */
};

int net_options_read(int argc, char **argv, struct net_options *ret, struct cay_error *err);
int net_main(int argc, char **argv);
