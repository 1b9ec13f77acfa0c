/* SPDX-License-Identifier: Apache-2.0 */
/* Between the two files of TLS. */
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "foundation/http/tls.h"

/* A server's context with this certificate and key; both are borrowed for the call. */
struct cay_tls_context *cay_tls_context_new_with(X509 *cert, EVP_PKEY *key, struct cay_error *err);
