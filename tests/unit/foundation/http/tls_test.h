/* SPDX-License-Identifier: Apache-2.0 */
/* A certificate of our own, made for a test and written to a folder, and a TLS client that takes steps. */
#pragma once

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

struct test_cert {
        char folder[64], cert[96], key[96];
};

static inline bool test_cert_write(struct test_cert *t, X509 *x, EVP_PKEY *key)
{
        FILE *c = fopen(t->cert, "we"), *k = fopen(t->key, "we");
        bool fine = c && k && PEM_write_X509(c, x) == 1 &&
                    PEM_write_PrivateKey(k, key, NULL, NULL, 0, NULL, NULL) == 1;

        if (c)
                fclose(c);
        if (k)
                fclose(k);
        return fine;
}

/* Self-signed, for "localhost". */
static inline bool test_cert_make(struct test_cert *t)
{
        EVP_PKEY *key = EVP_EC_gen("P-256");
        X509 *x = X509_new();
        X509_NAME *name = X509_get_subject_name(x);
        bool fine;

        snprintf(t->folder, sizeof(t->folder), "/tmp/cay-tls-XXXXXX");
        if (!key || !mkdtemp(t->folder))
                return false;
        snprintf(t->cert, sizeof(t->cert), "%s/cert.pem", t->folder);
        snprintf(t->key, sizeof(t->key), "%s/key.pem", t->folder);
        ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
        X509_gmtime_adj(X509_getm_notBefore(x), -3600);
        X509_gmtime_adj(X509_getm_notAfter(x), 3600);
        X509_set_pubkey(x, key);
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1, 0);
        X509_set_issuer_name(x, name);
        fine = X509_sign(x, key, EVP_sha256()) > 0 && test_cert_write(t, x, key);
        X509_free(x);
        EVP_PKEY_free(key);
        return fine;
}

static inline void test_cert_remove(struct test_cert *t)
{
        unlink(t->cert);
        unlink(t->key);
        rmdir(t->folder);
}
