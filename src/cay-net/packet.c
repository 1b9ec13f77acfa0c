/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-net/packet.h"

#include <netinet/in.h>
#include <string.h>

#define V4_HEAD 20u
#define V6_HEAD 40u
#define UDP_HEAD 8u
#define ICMP_HEAD 8u
#define TTL 64u

static void put16(uint8_t *at, size_t value)
{
        at[0] = (uint8_t)(value >> 8);
        at[1] = (uint8_t)value;
}

/* The internet checksum, of pieces of which all but the last have an even length. */
static uint32_t add(uint32_t sum, const uint8_t *bytes, size_t len)
{
        for (size_t i = 0; i + 1 < len; i += 2) {
                sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
                sum = (sum & 0xffff) + (sum >> 16);
        }
        if (len % 2 == 1)
                sum += (uint32_t)bytes[len - 1] << 8;
        return (sum & 0xffff) + (sum >> 16);
}

static uint16_t finish(uint32_t sum)
{
        sum = (sum & 0xffff) + (sum >> 16);
        return (uint16_t)~sum;
}

/* Of the addresses and the rest that a transport's checksum begins with. */
static uint32_t add_pseudo(const struct cay_address *from, const struct cay_address *to, uint8_t protocol,
                           size_t len)
{
        unsigned skip = cay_address_is_v4(from) ? 12 : 0;
        uint8_t tail[4] = { 0, protocol };
        uint32_t sum = add(0, from->bytes + skip, 16 - skip);

        sum = add(sum, to->bytes + skip, 16 - skip);
        put16(tail + 2, len);
        return add(sum, tail, sizeof(tail));
}

/* Returns its length. */
static size_t put_ip_head(uint8_t *at, const struct cay_address *from, const struct cay_address *to,
                          uint8_t protocol, size_t len)
{
        if (cay_address_is_v4(from)) {
                memset(at, 0, V4_HEAD);
                at[0] = 0x45;
                put16(at + 2, V4_HEAD + len);
                at[8] = TTL;
                at[9] = protocol;
                memcpy(at + 12, from->bytes + 12, 4);
                memcpy(at + 16, to->bytes + 12, 4);
                put16(at + 10, finish(add(0, at, V4_HEAD)));
                return V4_HEAD;
        }
        memset(at, 0, V6_HEAD);
        at[0] = 0x60;
        put16(at + 4, len);
        at[6] = protocol;
        at[7] = TTL;
        memcpy(at + 8, from->bytes, 16);
        memcpy(at + 24, to->bytes, 16);
        return V6_HEAD;
}

static void put_udp_head(uint8_t *at, const struct net_ends *e, size_t len)
{
        put16(at, e->from_port);
        put16(at + 2, e->to_port);
        put16(at + 4, UDP_HEAD + len);
        put16(at + 6, 0);
}

size_t net_packet_udp_head(const struct net_ends *e, const void *bytes, size_t len,
                           uint8_t ret[NET_PACKET_HEAD])
{
        size_t head = put_ip_head(ret, &e->from, &e->to, IPPROTO_UDP, UDP_HEAD + len);
        uint16_t sum;

        put_udp_head(ret + head, e, len);
        sum = finish(add(add(add_pseudo(&e->from, &e->to, IPPROTO_UDP, UDP_HEAD + len), ret + head, UDP_HEAD),
                         bytes, len));
        put16(ret + head + 6, sum == 0 ? 0xffff : sum); /* 0 would say that there is none */
        return head + UDP_HEAD;
}

size_t net_packet_unreachable(const struct net_ends *e, size_t len, uint8_t ret[NET_UNREACHABLE_MAX])
{
        bool is_v4 = cay_address_is_v4(&e->from);
        size_t head = is_v4 ? V4_HEAD : V6_HEAD, about = ICMP_HEAD + head + UDP_HEAD;
        uint8_t *icmp = ret + head;
        uint32_t sum;

        put_ip_head(ret, &e->to, &e->from, is_v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6, about);
        memset(icmp, 0, ICMP_HEAD);
        icmp[0] = is_v4 ? 3 : 1; /* destination unreachable */
        icmp[1] = is_v4 ? 3 : 4; /* its port */
        put_ip_head(icmp + ICMP_HEAD, &e->from, &e->to, IPPROTO_UDP, UDP_HEAD + len);
        put_udp_head(icmp + ICMP_HEAD + head, e, len);
        sum = is_v4 ? 0 : add_pseudo(&e->to, &e->from, IPPROTO_ICMPV6, about);
        put16(icmp + 2, finish(add(sum, icmp, about)));
        return head + about;
}
