/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS for connections: OpenSSL on the non-blocking socket itself. The only place (with digest.c) that names
 * OpenSSL. TLS 1.2 or newer, no renegotiation, ALPN says http/1.1.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "foundation/base/error.h"

enum cay_tls_fault { /* why a connection failed, as far as known */
                     CAY_TLS_NO_FAULT,
                     CAY_TLS_PEER_UNTRUSTED, /* no given CA certificate signs the other side's */
                     CAY_TLS_PEER_EXPIRED,
                     CAY_TLS_PEER_TOO_EARLY, /* it is not valid yet */
                     CAY_TLS_PEER_OTHER_NAME,
                     CAY_TLS_OWN_REFUSED, /* the other side refuses our certificate */
                     CAY_TLS_OWN_EXPIRED,
                     CAY_TLS_OWN_MISSING, /* it requires one, and we have none */
                     CAY_TLS_NOT_SPOKEN,  /* the input is not TLS */
                     CAY_TLS_OTHER_FAULT,
                     CAY_TLS_FAULT_COUNT
};

struct cay_tls_context; /* certificate and key, shared by connections */
struct cay_tls;         /* one connection */

/*
 * Reads PEM files: the chain, own certificate first, and its key. Blocks; for start-up. NULL: err says why.
 */
struct cay_tls_context *cay_tls_context_new(const char *cert_path, const char *key_path,
                                            struct cay_error *err);
/*
 * For the client's side: servers must present a certificate signed by `ca_path` (PEM; "": by one that the
 * system trusts), and get ours (both paths "": none). Blocks; for start-up.
 */
struct cay_tls_context *cay_tls_context_new_client(const char *ca_path, const char *cert_path,
                                                   const char *key_path, struct cay_error *err);
bool cay_tls_has_usual_certificates(
        void); /* where this OpenSSL looks for those of the system, there is something */
/*
 * The same with the trusted certificates as PEM text, for a process that may open no file. Those that cannot
 * be read are left out.
 */
struct cay_tls_context *cay_tls_context_new_client_pem(const char *pem, size_t len, struct cay_error *err);
void cay_tls_context_free(struct cay_tls_context *ctx); /* connections keep what they need */
CAY_DEFINE_AUTO(struct cay_tls_context, cay_tls_context_free)

struct cay_tls *cay_tls_accept(struct cay_tls_context *ctx, int fd); /* fd is borrowed; NULL: no memory */
/* The client's side: the certificate must be valid for `host`, a name or an address. */
struct cay_tls *cay_tls_connect(struct cay_tls_context *ctx, int fd, const char *host);
void cay_tls_free(struct cay_tls *t); /* accepts NULL; sends nothing */

/*
 * The handshake happens inside the first of these. A length; 0: the end (read only); -EAGAIN: wait until the
 * socket is readable or, when *ret_wants_out, writable, and call again; other -errno: the connection is dead.
 */
ssize_t cay_tls_read(struct cay_tls *t, void *bytes, size_t size, bool *ret_wants_out);
/* May take less than len. After -EAGAIN call it again with the same bytes first (they may have moved). */
ssize_t cay_tls_write(struct cay_tls *t, const void *bytes, size_t len, bool *ret_wants_in);
void cay_tls_shut(struct cay_tls *t); /* sends close_notify, if possible without waiting */
enum cay_tls_fault cay_tls_fault(const struct cay_tls *t); /* of a dead one */
bool cay_tls_has_pending(const struct cay_tls *t);         /* bytes that the socket does not show any more */
