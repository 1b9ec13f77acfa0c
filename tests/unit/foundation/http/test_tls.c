/* SPDX-License-Identifier: Apache-2.0 */
/* TLS connections: handshake, large bodies both ways with back-pressure, ends, and what is refused. */
#include "unit/foundation/http/http_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>

#include "fake/http_listen.h"
#include "unit/foundation/http/tls_test.h"

static struct test_cert cert;
static struct cay_tls_context *tls;
static SSL_CTX *client_ctx;
static SSL *ssl;
static int fd;

static int group_setup(void **state)
{
        signal(SIGPIPE, SIG_DFL); /* the server must not raise it */
        return test_cert_make(&cert) ? 0 : -1;
}

static int group_teardown(void **state)
{
        test_cert_remove(&cert);
        return 0;
}

static int setup(void **state)
{
        struct cay_error err;

        test_setup(state);
        tls = cay_tls_context_new(cert.cert, cert.key, &err);
        client_ctx = SSL_CTX_new(TLS_client_method());
        ssl = NULL;
        fd = -1;
        return tls && http_listen(rig.server, "127.0.0.1", 0, tls, &err) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
        SSL_free(ssl);
        SSL_CTX_free(client_ctx);
        if (fd >= 0)
                close(fd);
        test_teardown(state);
        cay_tls_context_free(tls);
        return 0;
}

static void connect_plain(void)
{
        struct sockaddr_in at = { .sin_family = AF_INET,
                                  .sin_port = htons(http_listen_port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
        fcntl(fd, F_SETFL, O_NONBLOCK);
}

static void turn(void)
{
        assert_int_equal(cay_loop_round(rig.loop, 1), 0);
}

/* The kernel may take its time to bring bytes from one end to the other, on the loopback too. */
#define TURN_UNTIL(what)                                                                                     \
        for (unsigned turns_ = 0; turns_ < 20000 && !(what); turns_++)                                       \
        turn()

/* 1 when connected, 0 when the handshake failed. */
static int handshake(void)
{
        connect_plain();
        ssl = SSL_new(client_ctx);
        SSL_set_fd(ssl, fd);
        for (unsigned i = 0; i < 20000; i++) {
                int r = SSL_connect(ssl);

                if (r == 1)
                        return 1;
                r = SSL_get_error(ssl, r);
                ERR_clear_error();
                if (r != SSL_ERROR_WANT_READ && r != SSL_ERROR_WANT_WRITE)
                        return 0;
                turn();
        }
        return 0;
}

static void write_all(const char *bytes, size_t len)
{
        for (unsigned i = 0; len > 0 && i < 100000; i++) {
                int n = SSL_write(ssl, bytes, len < 16384 ? (int)len : 16384);

                if (n > 0) {
                        bytes += n;
                        len -= (size_t)n;
                }
                turn();
        }
        assert_int_equal(len, 0);
}

static void write_text(const char *text)
{
        write_all(text, strlen(text));
}

/* Reads until so many bytes came, or the end; returns the last SSL error. */
static int read_until(size_t len)
{
        for (unsigned i = 0; i < 20000; i++) {
                int n = SSL_read(ssl, rig.got + rig.got_len, (int)(TEST_GOT_MAX - rig.got_len)), error;

                if (n > 0) {
                        rig.got_len += (size_t)n;
                        rig.got[rig.got_len] = '\0';
                } else {
                        error = SSL_get_error(ssl, n);
                        ERR_clear_error();
                        if (error != SSL_ERROR_WANT_READ)
                                return error;
                }
                if (rig.got_len >= len)
                        return 0;
                turn();
        }
        return -1;
}

static void serves(void **state)
{
        static const unsigned char protocols[] = "\x02h2\x08http/1.1";
        const unsigned char *chosen;
        unsigned len;

        SSL_CTX_set_alpn_protos(client_ctx, protocols, sizeof(protocols) - 1);
        assert_int_equal(handshake(), 1);
        SSL_get0_alpn_selected(ssl, &chosen, &len);
        assert_int_equal(len, 8);
        assert_memory_equal(chosen, "http/1.1", 8);
        write_text("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        assert_int_equal(read_until(SIZE_MAX), SSL_ERROR_ZERO_RETURN); /* a proper goodbye, not a cut */
        assert_int_equal(test_count(rig.got, "hello"), 2);
}

static void refuses_old_versions_and_other_protocols(void **state)
{
        static const unsigned char protocols[] = "\x02h2";

        SSL_CTX_set_max_proto_version(client_ctx, TLS1_1_VERSION);
        SSL_CTX_set_security_level(client_ctx, 0);
        assert_int_equal(handshake(), 0);
        SSL_free(ssl);
        close(fd);
        SSL_CTX_set_max_proto_version(client_ctx, 0);
        SSL_CTX_set_alpn_protos(client_ctx, protocols, sizeof(protocols) - 1);
        assert_int_equal(handshake(), 0);
}

static void moves_much_both_ways(void **state)
{
        enum { LEN = 1 << 20 };
        static char body[LEN];
        const char *begin;

        for (unsigned i = 0; i < LEN; i++)
                body[i] = (char)('a' + i % 23);
        assert_int_equal(handshake(), 1);
        write_text("POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n");
        TURN_UNTIL(rig.req);
        assert_non_null(rig.req);
        assert_true(rig.req->peer.is_tls);
        rig.take = 0; /* hold at once, then go on: what TLS has decrypted must not be forgotten */
        assert_int_equal(cay_http_request_read(rig.req, LEN, 0), 0);
        for (unsigned i = 0; i < 20; i++)
                write_all(body, 1000);
        rig.take = SIZE_MAX;
        cay_http_request_resume(rig.req);
        for (size_t sent = (size_t)20 * 1000, i = 0; i < 100000 && strcmp(rig.trail, "end") != 0; i++) {
                size_t piece = LEN - sent < 16000 ? LEN - sent : 16000;
                int n = piece ? SSL_write(ssl, body + sent, (int)piece) : 0;

                sent += n > 0 ? (size_t)n : 0;
                turn();
        }
        assert_string_equal(rig.trail, "end");
        assert_int_equal(rig.body_len, LEN);
        assert_int_equal(cay_http_response_begin(rig.req, 200, NULL, LEN), 0);
        assert_true(cay_http_response_write(rig.req, body, LEN) >= 0);
        cay_http_response_end(rig.req);
        assert_int_equal(read_until(1), 0);
        for (unsigned i = 0; i < 1000 && !strstr(rig.got, "\r\n\r\n"); i++)
                assert_int_equal(read_until(rig.got_len + 1), 0);
        begin = strstr(rig.got, "\r\n\r\n");
        assert_non_null(begin);
        assert_int_equal(read_until((size_t)(begin + 4 - rig.got) + LEN), 0);
        assert_memory_equal(begin + 4, body, LEN);
}

/* All of a record was read from the socket, so the socket will not tell of what is left of it. */
static void the_rest_of_a_record_is_not_forgotten(void **state)
{
        static char body[16000];

        assert_int_equal(handshake(), 1);
        write_text("PUT /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 16000\r\n\r\n");
        TURN_UNTIL(rig.req);
        assert_non_null(rig.req);
        rig.take = 100;
        assert_int_equal(cay_http_request_read(rig.req, sizeof(body), 0), 0);
        assert_int_equal(SSL_write(ssl, body, sizeof(body)), sizeof(body));
        TURN_UNTIL(rig.body_len > 0);
        for (unsigned i = 0; i < 20; i++)
                turn();
        assert_int_equal(rig.body_len, 100);
        rig.take = SIZE_MAX;
        cay_http_request_resume(rig.req);
        TURN_UNTIL(rig.trail[0]);
        assert_int_equal(rig.body_len, sizeof(body));
        assert_string_equal(rig.trail, "end");
        cay_http_response_send(rig.req, 200, NULL, "", 0);
}

static void a_cut_connection_is_told(void **state)
{
        assert_int_equal(handshake(), 1);
        write_text("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        TURN_UNTIL(rig.req);
        assert_non_null(rig.req);
        SSL_read(ssl, rig.got, 1); /* tickets: unread, they would make a reset of the end */
        close(fd);                 /* without a goodbye of TLS */
        fd = -1;
        TURN_UNTIL(rig.trail[0]);
        assert_true(rig.trail[0]);
        cay_http_response_begin(rig.req, 200, NULL, CAY_HTTP_NO_LENGTH);
        for (unsigned i = 0; i < 5000 && !strstr(rig.trail, "lost"); i++) {
                for (unsigned k = 0; k < 5; k++) /* no SIGPIPE: the first one is answered by a reset */
                        cay_http_response_write(rig.req, "x", 1);
                turn();
        }
        assert_non_null(strstr(rig.trail, "lost"));
        cay_http_response_end(rig.req);
        ERR_clear_error();
}

static void rubbish_is_closed(void **state)
{
        char byte;

        connect_plain();
        assert_int_equal(send(fd, "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
        for (unsigned i = 0; i < 5000 && cay_http_server_count(rig.server) == 0; i++)
                turn();
        TURN_UNTIL(cay_http_server_count(rig.server) == 0);
        assert_int_equal(cay_http_server_count(rig.server), 0);
        while (recv(fd, &byte, 1, 0) > 0) /* an alert may come */
                ;
}

static void a_handshake_has_a_deadline(void **state)
{
        connect_plain();
        TURN_UNTIL(cay_http_server_count(rig.server) > 0);
        send(fd, "\x16\x03\x01", 3, 0);
        turn();
        assert_int_equal(cay_http_server_count(rig.server), 1);
        test_now_ms += 10001;
        TURN_UNTIL(cay_http_server_count(rig.server) == 0);
        assert_int_equal(cay_http_server_count(rig.server), 0);
}

static void says_what_is_wrong_with_files(void **state)
{
        struct cay_error err = { 0 };
        struct test_cert other;

        assert_null(cay_tls_context_new("/nonexistent", cert.key, &err));
        assert_non_null(strstr(err.msg, "/nonexistent"));
        assert_null(cay_tls_context_new(cert.cert, cert.cert, &err));
        assert_non_null(strstr(err.msg, "TLS key"));
        assert_true(test_cert_make(&other));
        assert_null(cay_tls_context_new(cert.cert, other.key, &err));
        assert_int_equal(err.code, CAY_INVALID);
        test_cert_remove(&other);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(serves),
                T(refuses_old_versions_and_other_protocols),
                T(moves_much_both_ways),
                T(the_rest_of_a_record_is_not_forgotten),
                T(a_cut_connection_is_told),
                T(rubbish_is_closed),
                T(a_handshake_has_a_deadline),
                T(says_what_is_wrong_with_files),
        };

        return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
