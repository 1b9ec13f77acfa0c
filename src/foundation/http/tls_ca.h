/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A certification authority of our own, made from a seed.
 *
 * Theory of operation. The private key (P-256) is derived from 32 secret bytes and from nothing else: whoever
 * has the seed has the authority, and there is no file to keep in step. Its certificate is signed again each
 * time it is made; clients compare name and key, so all of these certificates are the same authority to them.
 * It signs certificates for single names, each with a key of its own that lives no longer than the context.
 */
#pragma once

#include <stdint.h>

#include "foundation/http/tls.h"

#define CAY_TLS_CA_SEED 32
#define CAY_TLS_CA_PEM 768 /* the certificate as text fits, with a NUL */

struct cay_tls_ca;

struct cay_tls_ca *cay_tls_ca_new(const uint8_t seed[CAY_TLS_CA_SEED], const char *name,
                                  struct cay_error *err);
void cay_tls_ca_free(struct cay_tls_ca *ca); /* accepts NULL; wipes the key */
CAY_DEFINE_AUTO(struct cay_tls_ca, cay_tls_ca_free)

int cay_tls_ca_pem(const struct cay_tls_ca *ca, char ret[CAY_TLS_CA_PEM], struct cay_error *err);
/* For a server that is `host`: letters, digits, '-', '_' and dots. Valid for a week. NULL: err says why. */
struct cay_tls_context *cay_tls_ca_context(const struct cay_tls_ca *ca, const char *host,
                                           struct cay_error *err);
