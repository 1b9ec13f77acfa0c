/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of both families in one form, ranges of them, and which of them are public.
 *
 * An IPv4 address is kept as its IPv4-mapped IPv6 address (::ffff:a.b.c.d), so one comparison serves both.
 * Forms that carry an IPv4 address inside an IPv6 one (NAT64, 6to4, Teredo, IPv4-compatible) are judged by
 * the address inside as well: what leads to a private address is private, however it is written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct cay_address {
        uint8_t bytes[16];
};

struct cay_address_range {
        struct cay_address first;
        unsigned bits; /* of the 128 that count */
};

enum { CAY_ADDRESS_TEXT = 46 }; /* with its NUL */

/* "192.0.2.1" or "2001:db8::1"; nothing else: no octal, no decimal, no shortened IPv4, no zone. */
bool cay_address_parse(const char *text, struct cay_address *ret);
/* "10.0.0.0/8", "2001:db8::/32" or one address. Bits beyond the length must be zero. */
bool cay_address_range_parse(const char *text, struct cay_address_range *ret);
bool cay_address_in(const struct cay_address *a, const struct cay_address_range *r);
bool cay_address_range_in(const struct cay_address_range *inner, const struct cay_address_range *outer);

bool cay_address_is_loopback(const struct cay_address *a);
bool cay_address_is_v4(const struct cay_address *a);
const char *cay_address_text(const struct cay_address *a, char ret[CAY_ADDRESS_TEXT]); /* IPv4 as such */

/* False: neither family. The port is in the machine's order. */
bool cay_address_from_socket(const struct sockaddr_storage *from, struct cay_address *ret,
                             uint16_t *ret_port);
socklen_t cay_address_to_socket(const struct cay_address *a, uint16_t port, struct sockaddr_storage *ret);

/* NULL: it is public. Else the kind of address it is, for people: "loopback", "private", "link-local" … */
const char *cay_address_why_not_public(const struct cay_address *a);
/*
 * The IPv4 address that an IPv6 address leads to through a translator or tunnel (NAT64, 6to4, Teredo). False:
 * it leads to none.
 */
bool cay_address_inside(const struct cay_address *a, struct cay_address *ret);
/* Whether every address in it is public; those that carry an IPv4 address count only one by one. */
bool cay_address_range_is_public(const struct cay_address_range *r);
