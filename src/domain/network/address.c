/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges come from the registries of special-purpose addresses (RFC 6890 and its successors). */
#include "domain/network/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/banned.h"
#include "foundation/base/parse.h"

#define MAPPED 12 /* bytes before an IPv4 address */

static const uint8_t mapped[MAPPED] = { [10] = 0xff, [11] = 0xff };

static void set_v4(struct cay_address *a, const uint8_t v4[4])
{
        memcpy(a->bytes, mapped, MAPPED);
        memcpy(a->bytes + MAPPED, v4, 4);
}

bool cay_address_is_v4(const struct cay_address *a)
{
        return memcmp(a->bytes, mapped, MAPPED) == 0;
}

bool cay_address_is_loopback(const struct cay_address *a)
{
        static const struct cay_address v6 = { .bytes[15] = 1 };

        return cay_address_is_v4(a) ? a->bytes[MAPPED] == 127 : memcmp(a, &v6, sizeof(v6)) == 0;
}

bool cay_address_parse(const char *text, struct cay_address *ret)
{
        uint8_t v4[4];

        if (strchr(text, ':') != NULL)
                return inet_pton(AF_INET6, text, ret->bytes) == 1;
        if (inet_pton(AF_INET, text, v4) != 1)
                return false;
        set_v4(ret, v4);
        return true;
}

/* The bits of `a` beyond the first `bits` are zero. */
static bool is_aligned(const struct cay_address *a, unsigned bits)
{
        for (unsigned i = bits; i < 128; i++)
                if (a->bytes[i / 8] & (0x80u >> i % 8))
                        return false;
        return true;
}

bool cay_address_range_parse(const char *text, struct cay_address_range *ret)
{
        const char *slash = strchr(text, '/');
        char address[CAY_ADDRESS_TEXT];
        size_t len = slash != NULL ? (size_t)(slash - text) : strlen(text);
        uint64_t bits;
        bool is_v4;

        if (len >= sizeof(address))
                return false;
        memcpy(address, text, len);
        address[len] = '\0';
        if (!cay_address_parse(address, &ret->first))
                return false;
        is_v4 = strchr(address, ':') == NULL;
        ret->bits = 128;
        if (slash == NULL)
                return true;
        if (cay_parse_u64(slash + 1, &bits) < 0 || bits > (is_v4 ? 32 : 128) ||
            (slash[1] == '0' && slash[2] != '\0'))
                return false;
        ret->bits = (unsigned)bits + (is_v4 ? 96 : 0);
        return is_aligned(&ret->first, ret->bits);
}

static bool is_same(const uint8_t *a, const uint8_t *b, unsigned bits)
{
        if (memcmp(a, b, bits / 8) != 0)
                return false;
        return bits % 8 == 0 || ((a[bits / 8] ^ b[bits / 8]) & (0xff00u >> bits % 8) & 0xff) == 0;
}

/*
 * A range of IPv6 holds no IPv4 address, although that is written as one inside: who allows ::/0 does not
 * mean 10.0.0.1.
 */
bool cay_address_in(const struct cay_address *a, const struct cay_address_range *r)
{
        if (r->bits < 8 * MAPPED && cay_address_is_v4(a))
                return false;
        return is_same(a->bytes, r->first.bytes, r->bits);
}

bool cay_address_range_in(const struct cay_address_range *inner, const struct cay_address_range *outer)
{
        return inner->bits >= outer->bits && cay_address_in(&inner->first, outer);
}

const char *cay_address_text(const struct cay_address *a, char ret[CAY_ADDRESS_TEXT])
{
        if (cay_address_is_v4(a))
                inet_ntop(AF_INET, a->bytes + MAPPED, ret, CAY_ADDRESS_TEXT);
        else
                inet_ntop(AF_INET6, a->bytes, ret, CAY_ADDRESS_TEXT);
        return ret;
}

bool cay_address_from_socket(const struct sockaddr_storage *from, struct cay_address *ret, uint16_t *ret_port)
{
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;

        if (from->ss_family == AF_INET) {
                set_v4(ret, (const uint8_t *)&v4->sin_addr);
                *ret_port = ntohs(v4->sin_port);
                return true;
        }
        if (from->ss_family != AF_INET6)
                return false;
        memcpy(ret->bytes, &v6->sin6_addr, sizeof(ret->bytes));
        *ret_port = ntohs(v6->sin6_port);
        return true;
}

socklen_t cay_address_to_socket(const struct cay_address *a, uint16_t port, struct sockaddr_storage *ret)
{
        struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

        memset(ret, 0, sizeof(*ret));
        if (cay_address_is_v4(a)) {
                v4->sin_family = AF_INET;
                v4->sin_port = htons(port);
                memcpy(&v4->sin_addr, a->bytes + MAPPED, 4);
                return sizeof(*v4);
        }
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        memcpy(&v6->sin6_addr, a->bytes, sizeof(a->bytes));
        return sizeof(*v6);
}

/* Which are public */

/* Texts are parsed at the first use: an address is judged at every connect. */
struct text_range {
        const char *text;
        struct cay_address_range parsed; /* bits 0: not yet; no row has a range of all */
};

static struct special {
        struct text_range range;
        const char *kind;
} special_v4[] = {
        { { .text = "0.0.0.0/8" }, "unspecified" },
        { { .text = "10.0.0.0/8" }, "private" },
        { { .text = "100.64.0.0/10" }, "shared by a provider" },
        { { .text = "127.0.0.0/8" }, "loopback" },
        { { .text = "168.63.129.16/32" }, "Azure's own, for metadata" }, /* of each of its machines */
        { { .text = "169.254.0.0/16" }, "link-local" },
        { { .text = "172.16.0.0/12" }, "private" },
        { { .text = "192.0.0.0/24" }, "reserved" },
        { { .text = "192.0.2.0/24" }, "for documentation" },
        { { .text = "192.88.99.0/24" }, "reserved" },
        { { .text = "192.168.0.0/16" }, "private" },
        { { .text = "198.18.0.0/15" }, "for tests" },
        { { .text = "198.51.100.0/24" }, "for documentation" },
        { { .text = "203.0.113.0/24" }, "for documentation" },
        { { .text = "224.0.0.0/4" }, "multicast" },
        { { .text = "240.0.0.0/4" }, "reserved" },
};

/* Where an IPv4 address lies inside; `offset` 0: none does. Teredo's is stored inverted. */
static struct special_v6 {
        struct text_range range;
        const char *kind;
        unsigned offset;
        bool is_inverted;
} special_v6[] = {
        { { .text = "::1/128" }, "loopback", 0, false },
        { { .text = "::/96" }, "IPv4-compatible", 0, false },
        { { .text = "64:ff9b::/96" }, NULL, 12, false },
        { { .text = "64:ff9b:1::/48" }, "private", 0, false },
        { { .text = "100::/64" }, "discarded", 0, false },
        { { .text = "2001::/32" }, NULL, 12, true },
        { { .text = "2001:20::/28" }, "reserved", 0, false },
        { { .text = "2001:db8::/32" }, "for documentation", 0, false },
        { { .text = "2002::/16" }, NULL, 2, false },
        { { .text = "3fff::/20" }, "for documentation", 0, false },
        { { .text = "5f00::/16" }, "reserved", 0, false },
        { { .text = "fc00::/7" }, "private", 0, false },
        { { .text = "fe80::/10" }, "link-local", 0, false },
        { { .text = "fec0::/10" }, "private", 0, false },
        { { .text = "ff00::/8" }, "multicast", 0, false },
};

/* A row that is no range is a mistake here, which must not make its addresses public ones. */
static const struct cay_address_range *parsed(struct text_range *r)
{
        if (r->parsed.bits == 0 && !cay_address_range_parse(r->text, &r->parsed))
                abort();
        return &r->parsed;
}

static const char *why_v4(const struct cay_address *a)
{
        for (size_t i = 0; i < sizeof(special_v4) / sizeof(special_v4[0]); i++)
                if (cay_address_in(a, parsed(&special_v4[i].range)))
                        return special_v4[i].kind;
        return NULL;
}

static struct special_v6 *find_v6(const struct cay_address *a)
{
        for (size_t i = 0; i < sizeof(special_v6) / sizeof(special_v6[0]); i++)
                if (cay_address_in(a, parsed(&special_v6[i].range)))
                        return &special_v6[i];
        return NULL;
}

bool cay_address_inside(const struct cay_address *a, struct cay_address *ret)
{
        const struct special_v6 *row = cay_address_is_v4(a) ? NULL : find_v6(a);
        uint8_t v4[4];

        if (row == NULL || row->offset == 0)
                return false;
        for (unsigned b = 0; b < 4; b++)
                v4[b] = (uint8_t)(a->bytes[row->offset + b] ^ (row->is_inverted ? 0xff : 0));
        set_v4(ret, v4);
        return true;
}

const char *cay_address_why_not_public(const struct cay_address *a)
{
        const struct special_v6 *row;
        struct cay_address inside;

        if (cay_address_is_v4(a))
                return why_v4(a);
        if (cay_address_inside(a, &inside))
                return why_v4(&inside);
        row = find_v6(a);
        if (row != NULL)
                return row->kind;
        return (a->bytes[0] & 0xe0) == 0x20 ? NULL : "reserved"; /* 2000::/3 is all that is handed out */
}

/* Of two ranges, one is inside the other or they have nothing in common. */
static bool overlaps(const struct cay_address_range *r, const struct cay_address_range *other)
{
        return cay_address_range_in(r, other) || cay_address_range_in(other, r);
}

bool cay_address_range_is_public(const struct cay_address_range *r)
{
        if (cay_address_why_not_public(&r->first) != NULL)
                return false;
        if (r->bits == 128)
                return true;
        if (cay_address_is_v4(&r->first) && r->bits >= 96) {
                for (size_t i = 0; i < sizeof(special_v4) / sizeof(special_v4[0]); i++)
                        if (overlaps(r, parsed(&special_v4[i].range)))
                                return false;
                return true;
        }
        for (size_t i = 0; i < sizeof(special_v6) / sizeof(special_v6[0]); i++)
                if (overlaps(r, parsed(&special_v6[i].range)))
                        return false;
        return r->bits >= 3;
}
