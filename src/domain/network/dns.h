/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS as far as a stub needs it: one question out of a query, and an answer to it. Names of answers that come
 * from real servers are not read here (the resolver's library does that).
 *
 * Strict where it costs nobody: one question, class IN, no compression in the question, a host name as the
 * policy has it. Whatever else a program sends gets an answer that ends its wait: FORMERR, NOTIMP, NXDOMAIN,
 * or no record.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "domain/network/policy.h"

#define CAY_DNS_MESSAGE_MAX 512u /* of a query and of our answers, which are short */
#define CAY_DNS_TTL_S 60u

enum cay_dns_code {
        CAY_DNS_OK = 0,
        CAY_DNS_FORMERR = 1,
        CAY_DNS_SERVFAIL = 2,
        CAY_DNS_NXDOMAIN = 3,
        CAY_DNS_NOTIMP = 4,
        CAY_DNS_REFUSED = 5
};
enum { CAY_DNS_A = 1, CAY_DNS_PTR = 12, CAY_DNS_AAAA = 28 };

struct cay_dns_query {
        uint16_t id, flags, type;
        char name[CAY_POLICY_NAME_MAX + 1]; /* folded; "": not a host name */
        size_t question_len;                /* bytes behind the head, repeated in the answer as they came */
        uint8_t question[CAY_POLICY_NAME_MAX + 6];
};

/* 0: *ret is filled. 1: it can be answered with this code only. -1: it is no query; say nothing. */
int cay_dns_read(const void *bytes, size_t len, struct cay_dns_query *ret, enum cay_dns_code *ret_code);
/*
 * Writes an answer of at most CAY_DNS_MESSAGE_MAX bytes; address: NULL or of the query's type. Returns its
 * length.
 */
size_t cay_dns_answer(const struct cay_dns_query *q, enum cay_dns_code code,
                      const struct cay_address *address, uint8_t ret[CAY_DNS_MESSAGE_MAX]);
