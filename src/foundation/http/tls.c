/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS on the socket itself. OpenSSL's own socket BIO calls write(2), which raises SIGPIPE when the other side
 * has closed. A library must not rely on its caller to ignore that, so our own BIO sends with MSG_NOSIGNAL.
 */
#include "foundation/http/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include "foundation/http/tls_priv.h"

struct cay_tls_context {
        SSL_CTX *ctx;          /* owned */
        BIO_METHOD *socket_io; /* owned */
};

struct cay_tls {
        SSL *ssl; /* owned */
        int fd;   /* borrowed from the connection */
        bool dead;
        enum cay_tls_fault fault; /* why it failed */
};

/* The BIO: its data is the struct cay_tls. */

static int io_write(BIO *bio, const char *bytes, int len)
{
        const struct cay_tls *t = BIO_get_data(bio);
        ssize_t n;

        do
                n = send(t->fd, bytes, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
        while (n < 0 && errno == EINTR);
        BIO_clear_retry_flags(bio);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS))
                BIO_set_retry_write(bio);
        return (int)n;
}

static int io_read(BIO *bio, char *bytes, int size)
{
        const struct cay_tls *t = BIO_get_data(bio);
        ssize_t n;

        do
                n = recv(t->fd, bytes, (size_t)size, MSG_DONTWAIT);
        while (n < 0 && errno == EINTR);
        BIO_clear_retry_flags(bio);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
                BIO_set_retry_read(bio);
        return (int)n;
}

static long io_ctrl(BIO *bio, int what, long num, void *ptr)
{
        return what == BIO_CTRL_FLUSH || what == BIO_CTRL_DUP;
}

static BIO_METHOD *new_socket_io(void)
{
        BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "cay socket");

        if (m && BIO_meth_set_write(m, io_write) && BIO_meth_set_read(m, io_read) &&
            BIO_meth_set_ctrl(m, io_ctrl))
                return m;
        BIO_meth_free(m);
        return NULL;
}

/* Contexts */

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *arg)
{
        static const unsigned char ours[] = "\x08http/1.1";
        unsigned char *chosen;

        if (SSL_select_next_proto(&chosen, out_len, ours, sizeof(ours) - 1, in, in_len) !=
            OPENSSL_NPN_NEGOTIATED)
                return SSL_TLSEXT_ERR_ALERT_FATAL;
        *out = chosen;
        return SSL_TLSEXT_ERR_OK;
}

/* OpenSSL's text for the first error; empties its queue. */
static int fail_tls(struct cay_error *err, enum cay_code code, const char *what, const char *path)
{
        char text[160] = "unknown reason";
        unsigned long first = ERR_get_error();

        if (first)
                ERR_error_string_n(first, text, sizeof(text));
        ERR_clear_error();
        return cay_fail(err, code, "%s '%s': %s", what, path, text);
}

static int load(SSL_CTX *ctx, const char *cert_path, const char *key_path, struct cay_error *err)
{
        ERR_clear_error();
        if (SSL_CTX_use_certificate_chain_file(ctx, cert_path) != 1)
                return fail_tls(err, CAY_INVALID, "read TLS certificate", cert_path);
        if (SSL_CTX_use_PrivateKey_file(ctx, key_path, SSL_FILETYPE_PEM) != 1)
                return fail_tls(err, CAY_INVALID, "read TLS key", key_path);
        if (SSL_CTX_check_private_key(ctx) != 1)
                return fail_tls(err, CAY_INVALID, "TLS certificate and key do not belong together, key",
                                key_path);
        return 0;
}

static int set_up_server(struct cay_tls_context *t, struct cay_error *err)
{
        t->socket_io = new_socket_io();
        t->ctx = SSL_CTX_new(TLS_server_method());
        if (!t->socket_io || !t->ctx) {
                ERR_clear_error();
                return cay_fail(err, CAY_INTERNAL, "no memory for TLS");
        }
        SSL_CTX_set_min_proto_version(t->ctx, TLS1_2_VERSION);
        SSL_CTX_set_options(t->ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                            SSL_OP_CIPHER_SERVER_PREFERENCE);
        SSL_CTX_set_mode(t->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                         SSL_MODE_RELEASE_BUFFERS);
        SSL_CTX_set_session_cache_mode(t->ctx, SSL_SESS_CACHE_OFF); /* tickets do without */
        SSL_CTX_set_alpn_select_cb(t->ctx, choose_protocol, NULL);
        return 0;
}

struct cay_tls_context *cay_tls_context_new(const char *cert_path, const char *key_path,
                                            struct cay_error *err)
{
        struct cay_tls_context *t = calloc(1, sizeof(*t));

        if (!t) {
                cay_fail(err, CAY_INTERNAL, "no memory for TLS");
                return NULL;
        }
        if (set_up_server(t, err) < 0 || load(t->ctx, cert_path, key_path, err) < 0) {
                cay_tls_context_free(t);
                return NULL;
        }
        return t;
}

struct cay_tls_context *cay_tls_context_new_with(X509 *cert, EVP_PKEY *key, struct cay_error *err)
{
        struct cay_tls_context *t = calloc(1, sizeof(*t));
        int r = t ? set_up_server(t, err) : cay_fail(err, CAY_INTERNAL, "no memory for TLS");

        if (r == 0 &&
            (SSL_CTX_use_certificate(t->ctx, cert) != 1 || SSL_CTX_use_PrivateKey(t->ctx, key) != 1))
                r = fail_tls(err, CAY_INTERNAL, "use a TLS certificate for", "a name");
        if (r < 0)
                cay_tls_context_free(cay_take(t));
        return t;
}

static int begin_client(struct cay_tls_context *t, struct cay_error *err)
{
        t->socket_io = new_socket_io();
        t->ctx = SSL_CTX_new(TLS_client_method());
        if (!t->socket_io || !t->ctx) {
                ERR_clear_error();
                return cay_fail(err, CAY_INTERNAL, "no memory for TLS");
        }
        SSL_CTX_set_min_proto_version(t->ctx, TLS1_2_VERSION);
        SSL_CTX_set_options(t->ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
        SSL_CTX_set_mode(t->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                         SSL_MODE_RELEASE_BUFFERS);
        SSL_CTX_set_verify(t->ctx, SSL_VERIFY_PEER, NULL);
        ERR_clear_error();
        return 0;
}

static int set_up_client(struct cay_tls_context *t, const char *ca_path, const char *cert_path,
                         const char *key_path, struct cay_error *err)
{
        if (begin_client(t, err) < 0)
                return -1;
        if (!ca_path[0] && SSL_CTX_set_default_verify_paths(t->ctx) != 1)
                return fail_tls(err, CAY_UNAVAILABLE, "read TLS certificates to trust", "of the system");
        if (ca_path[0] && SSL_CTX_load_verify_file(t->ctx, ca_path) != 1)
                return fail_tls(err, CAY_INVALID, "read TLS certificates to trust", ca_path);
        return cert_path[0] ? load(t->ctx, cert_path, key_path, err) : 0;
}

bool cay_tls_has_usual_certificates(void)
{
        return access(X509_get_default_cert_dir(), R_OK | X_OK) == 0 ||
               access(X509_get_default_cert_file(), R_OK) == 0;
}

struct cay_tls_context *cay_tls_context_new_client(const char *ca_path, const char *cert_path,
                                                   const char *key_path, struct cay_error *err)
{
        struct cay_tls_context *t = calloc(1, sizeof(*t));

        if (!t) {
                cay_fail(err, CAY_INTERNAL, "no memory for TLS");
                return NULL;
        }
        if (set_up_client(t, ca_path, cert_path, key_path, err) < 0) {
                cay_tls_context_free(t);
                return NULL;
        }
        return t;
}

/* How many are trusted now. */
static unsigned trust_pem(SSL_CTX *ctx, BIO *pem)
{
        unsigned count = 0;
        X509 *cert;

        while ((cert = PEM_read_bio_X509(pem, NULL, NULL, NULL))) {
                count += X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), cert) == 1;
                X509_free(cert);
        }
        ERR_clear_error();
        return count;
}

struct cay_tls_context *cay_tls_context_new_client_pem(const char *pem, size_t len, struct cay_error *err)
{
        struct cay_tls_context *t = calloc(1, sizeof(*t));
        BIO *bio = len <= INT_MAX ? BIO_new_mem_buf(pem, (int)len) : NULL;
        int r = t && bio ? begin_client(t, err) : cay_fail(err, CAY_INTERNAL, "no memory for TLS");

        if (r == 0 && trust_pem(t->ctx, bio) == 0)
                r = cay_fail(err, CAY_INVALID, "there is no certificate to trust in the file");
        BIO_free(bio);
        if (r < 0)
                cay_tls_context_free(cay_take(t));
        return t;
}

void cay_tls_context_free(struct cay_tls_context *ctx)
{
        if (!ctx)
                return;
        SSL_CTX_free(ctx->ctx);
        BIO_meth_free(ctx->socket_io);
        free(ctx);
}

/* Connections */

static struct cay_tls *new_connection(struct cay_tls_context *ctx, int fd)
{
        struct cay_tls *t = calloc(1, sizeof(*t));
        BIO *bio = BIO_new(ctx->socket_io);

        if (t)
                t->ssl = SSL_new(ctx->ctx);
        if (!t || !t->ssl || !bio) {
                ERR_clear_error();
                BIO_free(bio);
                cay_tls_free(t);
                return NULL;
        }
        t->fd = fd;
        BIO_set_data(bio, t);
        BIO_set_init(bio, 1);
        SSL_set_bio(t->ssl, bio, bio);
        return t;
}

struct cay_tls *cay_tls_accept(struct cay_tls_context *ctx, int fd)
{
        struct cay_tls *t = new_connection(ctx, fd);

        if (t)
                SSL_set_accept_state(t->ssl);
        return t;
}

/* An address is compared with the certificate's addresses, anything else with its names. */
static bool expect_host(SSL *ssl, const char *host)
{
        struct in6_addr address;

        if (inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1)
                return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
        /* Only the names in the subject alternative name extension count; a subject is free text. */
        X509_VERIFY_PARAM_set_hostflags(SSL_get0_param(ssl), X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
        return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

struct cay_tls *cay_tls_connect(struct cay_tls_context *ctx, int fd, const char *host)
{
        struct cay_tls *t = new_connection(ctx, fd);

        if (t && !expect_host(t->ssl, host)) {
                ERR_clear_error();
                cay_tls_free(t);
                return NULL;
        }
        if (t)
                SSL_set_connect_state(t->ssl);
        return t;
}

void cay_tls_free(struct cay_tls *t)
{
        if (!t)
                return;
        SSL_free(t->ssl);
        free(t);
}

static enum cay_tls_fault judge_peer(const SSL *ssl)
{
        switch (SSL_get_verify_result(ssl)) {
        case X509_V_OK:
                return CAY_TLS_NO_FAULT;
        case X509_V_ERR_CERT_HAS_EXPIRED:
                return CAY_TLS_PEER_EXPIRED;
        case X509_V_ERR_CERT_NOT_YET_VALID:
                return CAY_TLS_PEER_TOO_EARLY;
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
                return CAY_TLS_PEER_OTHER_NAME;
        default:
                return CAY_TLS_PEER_UNTRUSTED;
        }
}

/* The peer's alert about our certificate, or a protocol error. */
static enum cay_tls_fault judge_reason(unsigned long error)
{
        switch (ERR_GET_REASON(error)) {
        case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
        case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
        case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
        case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
                return CAY_TLS_OWN_REFUSED;
        case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
                return CAY_TLS_OWN_EXPIRED;
        case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
                return CAY_TLS_OWN_MISSING;
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_UNKNOWN_PROTOCOL:
        case SSL_R_HTTP_REQUEST:
        case SSL_R_PACKET_LENGTH_TOO_LONG:
                return CAY_TLS_NOT_SPOKEN;
        default:
                return CAY_TLS_OTHER_FAULT;
        }
}

enum cay_tls_fault cay_tls_fault(const struct cay_tls *t)
{
        return t->fault;
}

/* Interprets a call that returned no bytes. *ret_turned: the other direction must progress first. */
static ssize_t explain(struct cay_tls *t, int n, int turned_error, bool *ret_turned)
{
        int saved_errno = errno, error = SSL_get_error(t->ssl, n);
        unsigned long reason = ERR_peek_error();

        ERR_clear_error();
        *ret_turned = error == turned_error;
        if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
                return -EAGAIN;
        if (error == SSL_ERROR_ZERO_RETURN)
                return 0;
        t->dead = true;
        if (t->fault == CAY_TLS_NO_FAULT && !SSL_is_server(t->ssl))
                t->fault = judge_peer(t->ssl);
        if (t->fault == CAY_TLS_NO_FAULT && error == SSL_ERROR_SSL)
                t->fault = judge_reason(reason);
        return error == SSL_ERROR_SYSCALL && saved_errno != 0 ? -saved_errno : -EPROTO;
}

ssize_t cay_tls_read(struct cay_tls *t, void *bytes, size_t size, bool *ret_wants_out)
{
        int n;

        *ret_wants_out = false;
        errno = 0;
        ERR_clear_error();
        n = SSL_read(t->ssl, bytes, size < INT32_MAX ? (int)size : INT32_MAX);
        return n > 0 ? n : explain(t, n, SSL_ERROR_WANT_WRITE, ret_wants_out);
}

ssize_t cay_tls_write(struct cay_tls *t, const void *bytes, size_t len, bool *ret_wants_in)
{
        ssize_t r;
        int n;

        *ret_wants_in = false;
        errno = 0;
        ERR_clear_error();
        n = SSL_write(t->ssl, bytes, len < INT32_MAX ? (int)len : INT32_MAX);
        if (n > 0)
                return n;
        r = explain(t, n, SSL_ERROR_WANT_READ, ret_wants_in);
        return r == 0 ? -EPIPE : r;
}

void cay_tls_shut(struct cay_tls *t)
{
        if (t->dead || !SSL_is_init_finished(t->ssl))
                return;
        SSL_shutdown(t->ssl);
        ERR_clear_error();
}

bool cay_tls_has_pending(const struct cay_tls *t)
{
        return SSL_pending(t->ssl) > 0;
}
