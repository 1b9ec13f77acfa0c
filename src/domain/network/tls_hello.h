/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server name in the first bytes of a TLS connection, read as they come, without a TLS library: a
 * client's hello in records of at most CAY_TLS_HELLO_MAX bytes in all, split over records in any way.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "domain/network/policy.h"

#define CAY_TLS_HELLO_MAX 16640u /* one full record and its head; browsers' hellos are below 2,500 */

enum cay_tls_hello {
        CAY_TLS_HELLO_MORE,    /* not enough bytes yet */
        CAY_TLS_HELLO_NAMED,   /* the name is known */
        CAY_TLS_HELLO_UNNAMED, /* a hello without a name */
        CAY_TLS_HELLO_NOT_TLS, /* something else */
        CAY_TLS_HELLO_BAD,     /* begins as TLS and is malformed, or too long */
};

/* Looks at all bytes so far, from the first. name: folded as the policy has it; written for NAMED alone. */
enum cay_tls_hello cay_tls_hello_read(const void *bytes, size_t len, char name[CAY_POLICY_NAME_MAX + 1]);
