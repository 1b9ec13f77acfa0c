/* SPDX-License-Identifier: Apache-2.0 */
/* Hellos as OpenSSL writes them, whole, byte by byte and over many records; and such as nobody writes. */
#include "domain/network/tls_hello.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <openssl/ssl.h>
#include <string.h>

static char name[CAY_POLICY_NAME_MAX + 1];

/* The first bytes of a client. */
static size_t hello_of(const char *host, uint8_t *ret, size_t size)
{
        SSL_CTX *context = SSL_CTX_new(TLS_client_method());
        SSL *client = SSL_new(context);
        BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
        int n;

        SSL_set_bio(client, in, out);
        if (host != NULL)
                assert_int_equal(SSL_set_tlsext_host_name(client, host), 1);
        assert_true(SSL_connect(client) < 0);
        n = BIO_read(out, ret, (int)size);
        assert_true(n > 0);
        SSL_free(client);
        SSL_CTX_free(context);
        return (size_t)n;
}

static void test_a_name(void **state)
{
        uint8_t bytes[4096];
        size_t len = hello_of("API.Example.com", bytes, sizeof(bytes));

        assert_int_equal(cay_tls_hello_read(bytes, len, name), CAY_TLS_HELLO_NAMED);
        assert_string_equal(name, "api.example.com");
        for (size_t i = 0; i < len; i++)
                assert_int_equal(cay_tls_hello_read(bytes, i, name), CAY_TLS_HELLO_MORE);
}

static void test_no_name(void **state)
{
        uint8_t bytes[4096];
        size_t len = hello_of(NULL, bytes, sizeof(bytes));

        assert_int_equal(cay_tls_hello_read(bytes, len, name), CAY_TLS_HELLO_UNNAMED);
}

/* The same handshake in records of `piece` bytes. */
static size_t split(const uint8_t *from, size_t len, size_t piece, uint8_t *to)
{
        size_t out = 0;

        for (size_t at = 5; at < len; at += piece) {
                size_t n = len - at < piece ? len - at : piece;

                memcpy(to + out, from, 3);
                to[out + 3] = (uint8_t)(n >> 8);
                to[out + 4] = (uint8_t)n;
                memcpy(to + out + 5, from + at, n);
                out += 5 + n;
        }
        return out;
}

static void test_split_over_records(void **state)
{
        static const size_t pieces[] = { 1, 2, 3, 7, 64, 200 };
        uint8_t bytes[4096], parts[CAY_TLS_HELLO_MAX];
        size_t len = hello_of("example.com", bytes, sizeof(bytes));

        for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
                size_t n = split(bytes, len, pieces[i], parts);

                memset(name, 0, sizeof(name));
                assert_int_equal(cay_tls_hello_read(parts, n, name), CAY_TLS_HELLO_NAMED);
                assert_string_equal(name, "example.com");
                assert_int_equal(cay_tls_hello_read(parts, n - 1, name), CAY_TLS_HELLO_MORE);
        }
}

static void test_not_tls(void **state)
{
        assert_int_equal(cay_tls_hello_read("", 0, name), CAY_TLS_HELLO_MORE);
        assert_int_equal(cay_tls_hello_read("GET / HTTP/1.1\r\n", 16, name), CAY_TLS_HELLO_NOT_TLS);
        assert_int_equal(cay_tls_hello_read("SSH-2.0-x\r\n", 11, name), CAY_TLS_HELLO_NOT_TLS);
        assert_int_equal(cay_tls_hello_read("\26", 1, name), CAY_TLS_HELLO_MORE);
        assert_int_equal(cay_tls_hello_read("\26\2", 2, name), CAY_TLS_HELLO_NOT_TLS);
        assert_int_equal(cay_tls_hello_read("\26\3\1\0\0", 5, name), CAY_TLS_HELLO_BAD); /* an empty record */
        assert_int_equal(cay_tls_hello_read("\26\3\1\377\377", 5, name), CAY_TLS_HELLO_BAD); /* a long one */
        assert_int_equal(cay_tls_hello_read("\26\3\1\0\4\2\0\0\0", 9, name),
                         CAY_TLS_HELLO_BAD); /* a server's */
        assert_int_equal(cay_tls_hello_read("\26\3\1\0\4\1\0\0\0", 9, name), CAY_TLS_HELLO_BAD); /* empty */
        assert_int_equal(cay_tls_hello_read("\26\3\1\0\4\1\1\0\0", 9, name),
                         CAY_TLS_HELLO_BAD); /* says 64 KiB */
}

/* Every byte changed in turn: never a crash, and never another host of the same length that nobody wrote. */
static void test_each_byte_changed(void **state)
{
        uint8_t bytes[4096];
        size_t len = hello_of("example.com", bytes, sizeof(bytes));

        for (size_t i = 0; i < len; i++) {
                for (unsigned bit = 0; bit < 8; bit++) {
                        bytes[i] ^= (uint8_t)(1u << bit);
                        if (cay_tls_hello_read(bytes, len, name) == CAY_TLS_HELLO_NAMED)
                                assert_true(strlen(name) > 0);
                        bytes[i] ^= (uint8_t)(1u << bit);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_name),
                cmocka_unit_test(test_no_name),
                cmocka_unit_test(test_split_over_records),
                cmocka_unit_test(test_not_tls),
                cmocka_unit_test(test_each_byte_changed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
