/* SPDX-License-Identifier: Apache-2.0 */
#include "foundation/http/tls_ca.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "foundation/base/cleanup.h"
#include "foundation/http/tls_priv.h"

#define DAY 86400
#define HOST_MAX 253
#define POINT_BYTES 65 /* of P-256, uncompressed */

CAY_DEFINE_AUTO(BIGNUM, BN_clear_free)
CAY_DEFINE_AUTO(EC_GROUP, EC_GROUP_free)
CAY_DEFINE_AUTO(EC_POINT, EC_POINT_free)
CAY_DEFINE_AUTO(EVP_PKEY, EVP_PKEY_free)
CAY_DEFINE_AUTO(EVP_PKEY_CTX, EVP_PKEY_CTX_free)
CAY_DEFINE_AUTO(OSSL_PARAM_BLD, OSSL_PARAM_BLD_free)
CAY_DEFINE_AUTO(X509, X509_free)
CAY_DEFINE_AUTO(BIO, BIO_free_all)

struct cay_tls_ca {
        EVP_PKEY *key; /* owned */
        X509 *cert;    /* owned */
};

static int fail(struct cay_error *err, const char *what)
{
        char text[160] = "no memory";
        unsigned long first = ERR_get_error();

        if (first)
                ERR_error_string_n(first, text, sizeof(text));
        ERR_clear_error();
        return cay_fail(err, CAY_INTERNAL, "%s: %s", what, text);
}

/* Keys */

/* A number from 1 to the group's order less 1. */
static BIGNUM *scalar_of(const uint8_t seed[CAY_TLS_CA_SEED], const EC_GROUP *group)
{
        cay_auto(BN_clear_freep) BIGNUM *d = BN_bin2bn(seed, CAY_TLS_CA_SEED, NULL);
        cay_auto(BN_clear_freep) BIGNUM *most = BN_dup(EC_GROUP_get0_order(group));
        BN_CTX *ctx = BN_CTX_new();
        bool is_good =
                d && most && ctx && BN_sub_word(most, 1) && BN_mod(d, d, most, ctx) && BN_add_word(d, 1);

        BN_CTX_free(ctx);
        return is_good ? cay_take(d) : NULL;
}

static EVP_PKEY *key_of(const BIGNUM *d, const EC_GROUP *group)
{
        cay_auto(EC_POINT_freep) EC_POINT *point = EC_POINT_new(group);
        cay_auto(OSSL_PARAM_BLD_freep) OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
        cay_auto(EVP_PKEY_CTX_freep) EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
        unsigned char public[POINT_BYTES];
        OSSL_PARAM *params = NULL;
        EVP_PKEY *key = NULL;

        if (point && build && ctx && EC_POINT_mul(group, point, d, NULL, NULL, NULL) &&
            EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, public, sizeof(public), NULL) ==
                    sizeof(public) &&
            OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) &&
            OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, public, sizeof(public)) &&
            OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_PRIV_KEY, d))
                params = OSSL_PARAM_BLD_to_param(build);
        if (params && EVP_PKEY_fromdata_init(ctx) == 1)
                EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_KEYPAIR, params);
        OSSL_PARAM_free(params);
        return key;
}

static EVP_PKEY *derive_key(const uint8_t seed[CAY_TLS_CA_SEED])
{
        cay_auto(EC_GROUP_freep) EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
        cay_auto(BN_clear_freep) BIGNUM *d = group ? scalar_of(seed, group) : NULL;

        return d ? key_of(d, group) : NULL;
}

/* Certificates */

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
        X509V3_CTX ctx;
        X509_EXTENSION *e;
        bool is_good;

        X509V3_set_ctx_nodb(&ctx);
        X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
        e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
        is_good = e && X509_add_ext(cert, e, -1) == 1;
        X509_EXTENSION_free(e);
        return is_good;
}

static bool set_serial(X509 *cert)
{
        unsigned char bytes[16];
        BIGNUM *n;
        bool is_good;

        if (RAND_bytes(bytes, sizeof(bytes)) != 1)
                return false;
        bytes[0] &= 0x7f;
        n = BN_bin2bn(bytes, sizeof(bytes), NULL);
        is_good = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert));
        BN_free(n);
        return is_good;
}

static bool set_name(X509_NAME *name, const char *text)
{
        return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)text, -1, -1, 0) ==
               1;
}

/* The authority's own: until the last day that every reader of certificates understands. */
static X509 *make_own(EVP_PKEY *key, const char *name)
{
        cay_auto(X509_freep) X509 *cert = X509_new();

        if (cert && X509_set_version(cert, 2) && set_serial(cert) &&
            ASN1_TIME_set_string(X509_getm_notBefore(cert), "200101000000Z") &&
            ASN1_TIME_set_string(X509_getm_notAfter(cert), "491231235959Z") &&
            set_name(X509_get_subject_name(cert), name) &&
            X509_set_issuer_name(cert, X509_get_subject_name(cert)) && X509_set_pubkey(cert, key) &&
            add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
            add_extension(cert, cert, NID_key_usage, "critical,keyCertSign") &&
            add_extension(cert, cert, NID_subject_key_identifier, "hash") &&
            X509_sign(cert, key, EVP_sha256()) > 0)
                return cay_take(cert);
        return NULL;
}

static X509 *make_leaf(const struct cay_tls_ca *ca, EVP_PKEY *key, const char *host)
{
        cay_auto(X509_freep) X509 *cert = X509_new();
        char names[HOST_MAX + 8];

        snprintf(names, sizeof(names), "DNS:%s", host);
        /*
         * The name is in the list of names alone: the subject has room for 64 characters, and nobody compares
         * it.
         */
        if (cert && X509_set_version(cert, 2) && set_serial(cert) &&
            X509_gmtime_adj(X509_getm_notBefore(cert), -DAY) &&
            X509_gmtime_adj(X509_getm_notAfter(cert), 7 * DAY) &&
            set_name(X509_get_subject_name(cert), "by Cay, for one sandbox") &&
            X509_set_issuer_name(cert, X509_get_subject_name(ca->cert)) && X509_set_pubkey(cert, key) &&
            add_extension(cert, ca->cert, NID_basic_constraints, "critical,CA:FALSE") &&
            add_extension(cert, ca->cert, NID_key_usage, "critical,digitalSignature") &&
            add_extension(cert, ca->cert, NID_ext_key_usage, "serverAuth") &&
            add_extension(cert, ca->cert, NID_authority_key_identifier, "keyid") &&
            add_extension(cert, ca->cert, NID_subject_alt_name, names) &&
            X509_sign(cert, ca->key, EVP_sha256()) > 0)
                return cay_take(cert);
        return NULL;
}

/* The authority */

struct cay_tls_ca *cay_tls_ca_new(const uint8_t seed[CAY_TLS_CA_SEED], const char *name,
                                  struct cay_error *err)
{
        cay_auto(cay_tls_ca_freep) struct cay_tls_ca *ca = calloc(1, sizeof(*ca));

        ERR_clear_error();
        if (ca)
                ca->key = derive_key(seed);
        if (ca && ca->key)
                ca->cert = make_own(ca->key, name);
        if (!ca || !ca->cert) {
                fail(err, "make a certification authority");
                return NULL;
        }
        return cay_take(ca);
}

void cay_tls_ca_free(struct cay_tls_ca *ca)
{
        if (!ca)
                return;
        EVP_PKEY_free(ca->key);
        X509_free(ca->cert);
        free(ca);
}

int cay_tls_ca_pem(const struct cay_tls_ca *ca, char ret[CAY_TLS_CA_PEM], struct cay_error *err)
{
        cay_auto(BIO_free_allp) BIO *out = BIO_new(BIO_s_mem());
        char *text;
        long len;

        if (!out || PEM_write_bio_X509(out, ca->cert) != 1)
                return fail(err, "write a certificate");
        len = BIO_get_mem_data(out, &text);
        if (len < 1 || len >= CAY_TLS_CA_PEM)
                return cay_fail(err, CAY_INTERNAL, "a certificate of %ld bytes", len);
        memcpy(ret, text, (size_t)len);
        ret[len] = '\0';
        return 0;
}

static bool is_host(const char *host)
{
        size_t len = strnlen(host, HOST_MAX + 1);

        return len >= 1 && len <= HOST_MAX &&
               strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == len;
}

struct cay_tls_context *cay_tls_ca_context(const struct cay_tls_ca *ca, const char *host,
                                           struct cay_error *err)
{
        cay_auto(EVP_PKEY_freep) EVP_PKEY *key = NULL;
        cay_auto(X509_freep) X509 *cert = NULL;

        if (!is_host(host)) {
                cay_fail(err, CAY_INVALID, "'%.80s' is no name that a certificate can be made for", host);
                return NULL;
        }
        ERR_clear_error();
        key = EVP_EC_gen("P-256");
        cert = key ? make_leaf(ca, key, host) : NULL;
        if (!cert) {
                fail(err, "make a certificate");
                return NULL;
        }
        return cay_tls_context_new_with(cert, key, err);
}
