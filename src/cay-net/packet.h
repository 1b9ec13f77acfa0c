/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets with their headers, as a raw socket takes them: a datagram that answers, and the error that says
 * that nobody is there. Both come from the address that the sandbox's program sent to; plain memory, no
 * sockets.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "domain/network/address.h"

#define NET_DATAGRAM_MAX 65507u           /* bytes in a datagram; of IPv4, which has the lower limit */
#define NET_PACKET_HEAD 48u               /* the longest head: IPv6 and UDP */
#define NET_UNREACHABLE_MAX (40 + 8 + 48) /* IPv6, ICMP, and the head of what could not be delivered */

struct net_ends { /* of one family */
        struct cay_address from, to;
        uint16_t from_port, to_port;
};

/* Writes the headers of a datagram whose len bytes follow them; the number of bytes that the headers take. */
size_t net_packet_udp_head(const struct net_ends *e, const void *bytes, size_t len,
                           uint8_t ret[NET_PACKET_HEAD]);
/*
 * ICMP port unreachable about a datagram of len bytes that went `e->from` → `e->to`; its length. It goes to
 * e->from.
 */
size_t net_packet_unreachable(const struct net_ends *e, size_t len, uint8_t ret[NET_UNREACHABLE_MAX]);
