/* SPDX-License-Identifier: Apache-2.0 */
/* The pipe. */
#include "cay-tls/pipe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#define PIECE (16u * 1024)
#define HANDSHAKE_MS 20000
#define GOODBYE_MS 1000

struct half {
        size_t at, len;
        char bytes[PIECE];
};

struct pipe {
        const struct cay_tls_pipe *p;
        SSL_CTX *ctx;        /* owned */
        SSL *ssl;            /* owned */
        struct half in, out; /* from the wire; to it */
        bool wire_ended, clear_ended;
        short wire_wants; /* what the last call on it waits for */
};

static int why(struct pipe *t, const char *what, struct cay_error *err)
{
        unsigned long code = ERR_peek_last_error();
        long verify = t->ssl != NULL ? SSL_get_verify_result(t->ssl) : X509_V_OK;

        if (verify != X509_V_OK)
                return cay_fail(err, CAY_DENIED, "%s %.100s: its certificate is not to be trusted: %s", what,
                                t->p->host, X509_verify_cert_error_string(verify));
        return cay_fail(err, CAY_UNAVAILABLE, "%s %.100s: %s", what, t->p->host,
                        code != 0 ? ERR_reason_error_string(code) : "the connection was ended");
}

static int set_name(SSL *ssl, const char *host)
{
        unsigned char address[16];

        if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
                return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
        return SSL_set_tlsext_host_name(ssl, host) == 1 && SSL_set1_host(ssl, host) == 1;
}

static int open_tls(struct pipe *t, struct cay_error *err)
{
        static const unsigned char protocol[] = "\x08http/1.1";
        int trusted;

        t->ctx = SSL_CTX_new(TLS_client_method());
        if (t->ctx == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory for TLS");
        SSL_CTX_set_min_proto_version(t->ctx, TLS1_2_VERSION);
        SSL_CTX_set_verify(t->ctx, SSL_VERIFY_PEER, NULL);
        SSL_CTX_set_mode(t->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        trusted = t->p->ca != NULL ? SSL_CTX_load_verify_file(t->ctx, t->p->ca)
                                   : SSL_CTX_set_default_verify_paths(t->ctx);
        if (trusted != 1)
                return cay_fail(err, CAY_INVALID, "read the certificates to trust: %.150s",
                                t->p->ca != NULL ? t->p->ca : "the system's");
        t->ssl = SSL_new(t->ctx);
        if (t->ssl == NULL || SSL_set_fd(t->ssl, t->p->wire) != 1 || set_name(t->ssl, t->p->host) != 1 ||
            SSL_set_alpn_protos(t->ssl, protocol, sizeof(protocol) - 1) != 0)
                return cay_fail(err, CAY_INTERNAL, "no memory for TLS");
        return 0;
}

/* What a call on the wire waits for, or that it is over: true means there is nothing to do now. */
static bool must_wait(struct pipe *t, int r)
{
        int reason = SSL_get_error(t->ssl, r);

        t->wire_wants = reason == SSL_ERROR_WANT_READ ? POLLIN : reason == SSL_ERROR_WANT_WRITE ? POLLOUT : 0;
        return t->wire_wants != 0;
}

static int shake_hands(struct pipe *t, struct cay_error *err)
{
        int r;

        ERR_clear_error();
        while ((r = SSL_connect(t->ssl)) != 1) {
                struct pollfd fd = { .fd = t->p->wire };

                if (!must_wait(t, r))
                        return why(t, "TLS with", err);
                fd.events = t->wire_wants;
                r = poll(&fd, 1, HANDSHAKE_MS);
                if (r == 0)
                        return cay_fail(err, CAY_TIMEOUT, "TLS with %.100s: no answer", t->p->host);
                if (r < 0 && errno != EINTR)
                        return cay_fail_sys(err, CAY_INTERNAL, -errno, "wait");
        }
        return 0;
}

/* 1: something moved; 0: nothing; -1. */
static int from_wire(struct pipe *t, short *wants, struct cay_error *err)
{
        int n;

        if (t->in.len > 0 || t->wire_ended)
                return 0;
        ERR_clear_error();
        n = SSL_read(t->ssl, t->in.bytes, sizeof(t->in.bytes));
        if (n > 0) {
                t->in.at = 0;
                t->in.len = (size_t)n;
                return 1;
        }
        if (must_wait(t, n)) {
                *wants |= t->wire_wants;
                return 0;
        }
        if (SSL_get_error(t->ssl, n) != SSL_ERROR_ZERO_RETURN)
                return why(t, "TLS with", err);
        t->wire_ended = true;
        return 1;
}

static int to_wire(struct pipe *t, short *wants, struct cay_error *err)
{
        int n;

        if (t->out.len == 0)
                return 0;
        ERR_clear_error();
        n = SSL_write(t->ssl, t->out.bytes + t->out.at, (int)t->out.len);
        if (n <= 0) {
                if (!must_wait(t, n))
                        return why(t, "TLS with", err);
                *wants |= t->wire_wants;
                return 0;
        }
        t->out.at += (size_t)n;
        t->out.len -= (size_t)n;
        return 1;
}

static int from_clear(struct pipe *t, short *wants)
{
        ssize_t n;

        if (t->out.len > 0 || t->clear_ended)
                return 0;
        n = recv(t->p->clear, t->out.bytes, sizeof(t->out.bytes), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
                *wants |= POLLIN;
                return 0;
        }
        t->clear_ended = n <= 0;
        t->out.at = 0;
        t->out.len = n > 0 ? (size_t)n : 0;
        return 1;
}

static int to_clear(struct pipe *t, short *wants)
{
        ssize_t n;

        if (t->in.len == 0)
                return 0;
        n = send(t->p->clear, t->in.bytes + t->in.at, t->in.len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
                *wants |= POLLOUT;
                return 0;
        }
        if (n < 0) {
                t->clear_ended = true;
                t->in.len = 0;
                return 1;
        }
        t->in.at += (size_t)n;
        t->in.len -= (size_t)n;
        return 1;
}

static int pump(struct pipe *t, struct cay_error *err)
{
        for (;;) {
                struct pollfd fds[2] = { { .fd = t->p->wire }, { .fd = t->p->clear } };
                int moved[4] = { from_wire(t, &fds[0].events, err), to_clear(t, &fds[1].events),
                                 from_clear(t, &fds[1].events), to_wire(t, &fds[0].events, err) };

                if (moved[0] < 0 || moved[3] < 0)
                        return -1;
                if ((t->clear_ended && t->out.len == 0) || (t->wire_ended && t->in.len == 0))
                        return 0;
                if (moved[0] || moved[1] || moved[2] || moved[3])
                        continue;
                for (unsigned i = 0; i < 2;
                     i++) /* one that is waited for in no way would only tell of its end */
                        fds[i].fd = fds[i].events != 0 ? fds[i].fd : -1;
                if (poll(fds, 2, -1) < 0 && errno != EINTR)
                        return cay_fail_sys(err, CAY_INTERNAL, -errno, "wait");
        }
}

static void say_goodbye(struct pipe *t)
{
        struct pollfd fd = { .fd = t->p->wire, .events = POLLOUT };

        ERR_clear_error();
        if (SSL_shutdown(t->ssl) < 0 && poll(&fd, 1, GOODBYE_MS) > 0)
                SSL_shutdown(t->ssl);
}

int cay_tls_pipe_run(const struct cay_tls_pipe *p, struct cay_error *err)
{
        struct pipe t = { .p = p };
        int r = open_tls(&t, err);

        if (r == 0)
                r = shake_hands(&t, err);
        if (r == 0) {
                r = pump(&t, err);
                if (r == 0)
                        say_goodbye(&t);
        }
        SSL_free(t.ssl);
        SSL_CTX_free(t.ctx);
        return r;
}
