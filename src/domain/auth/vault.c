/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/auth/vault.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "domain/auth/digest.h"
#include "foundation/base/base64.h"
#include "foundation/base/parse.h"
#include "foundation/base/str.h"

#define NONCE 12
#define TAG 16
#define SEALED_MAX (NONCE + CAY_VAULT_VALUE_MAX + TAG)
#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

struct row {
        struct row *next;
        char record_name[CAY_VAULT_RECORD_NAME];
        char name[CAY_VAULT_NAME_MAX + 1];
        const char *owner; /* in record_name */
        char host[CAY_VAULT_HOST_MAX + 1], header[CAY_VAULT_HEADER_MAX + 1];
        uint64_t created_wall_ms;
        size_t sealed_len;
        uint8_t sealed[SEALED_MAX]; /* nonce, value, tag */
};

struct cay_vault {
        struct cay_secret key;
        struct row *rows; /* owned */
        unsigned count;
};

CAY_DEFINE_AUTO(EVP_CIPHER_CTX, EVP_CIPHER_CTX_free)

struct cay_vault *cay_vault_new(const struct cay_secret *key)
{
        struct cay_vault *v = calloc(1, sizeof(*v));

        if (v)
                v->key = *key;
        return v;
}

void cay_vault_free(struct cay_vault *v)
{
        if (!v)
                return;
        while (v->rows) {
                struct row *r = v->rows;

                v->rows = r->next;
                free(r);
        }
        cay_secret_done(&v->key);
        free(v);
}

int cay_vault_ca_seed(const struct cay_vault *v, uint8_t ret[CAY_VAULT_SEED])
{
        static const char what[] = "authority of sandboxes with secrets";

        return cay_digest_hmac(&v->key, what, sizeof(what) - 1, ret);
}

int cay_vault_agents_seed(const struct cay_vault *v, uint8_t ret[CAY_VAULT_SEED])
{
        static const char what[] = "key of the daemon for agents";

        return cay_digest_hmac(&v->key, what, sizeof(what) - 1, ret);
}

int cay_vault_recordings_seed(const struct cay_vault *v, uint8_t ret[CAY_VAULT_SEED])
{
        static const char what[] = "recordings of sandboxes";

        return cay_digest_hmac(&v->key, what, sizeof(what) - 1, ret);
}

/* Encryption */

static int derive_key(const struct cay_vault *v, uint8_t ret[CAY_DIGEST_SIZE])
{
        static const char what[] = "values of secrets";

        return cay_digest_hmac(&v->key, what, sizeof(what) - 1, ret);
}

/* What the value is bound to. */
static int put_beside(struct cay_buf *out, const char *record_name, const char *host, const char *header)
{
        return cay_buf_printf(out, "%s %s %s", record_name, host, header);
}

static bool start(EVP_CIPHER_CTX *ctx, const uint8_t *key, const uint8_t *nonce, const struct cay_buf *beside,
                  bool seals)
{
        int n;

        return EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, nonce, seals) == 1 &&
               EVP_CipherUpdate(ctx, NULL, &n, (const uint8_t *)cay_buf_data(beside), (int)beside->len) == 1;
}

/* ret: nonce, bytes, tag. Returns the length, or -1. */
static ssize_t seal(const struct cay_vault *v, const struct cay_buf *beside, const char *value,
                    uint8_t ret[SEALED_MAX])
{
        cay_auto(EVP_CIPHER_CTX_freep) EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        size_t len = strlen(value);
        uint8_t key[CAY_DIGEST_SIZE];
        int n = 0, last = 0;
        bool is_good = ctx && derive_key(v, key) == 0 && cay_digest_random(ret, NONCE) == 0 &&
                       start(ctx, key, ret, beside, true) &&
                       EVP_CipherUpdate(ctx, ret + NONCE, &n, (const uint8_t *)value, (int)len) == 1 &&
                       EVP_CipherFinal_ex(ctx, ret + NONCE + n, &last) == 1 &&
                       EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG, ret + NONCE + len) == 1;

        cay_digest_wipe(key, sizeof(key));
        return is_good ? (ssize_t)(NONCE + len + TAG) : -1;
}

static bool open_sealed(const struct cay_vault *v, const struct cay_buf *beside, const struct row *r,
                        char ret[CAY_VAULT_VALUE_MAX + 1])
{
        cay_auto(EVP_CIPHER_CTX_freep) EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        int len = (int)r->sealed_len - NONCE - TAG, n = 0, last = 0;
        uint8_t key[CAY_DIGEST_SIZE], tag[TAG];
        bool is_good;

        memcpy(tag, r->sealed + NONCE + len, TAG);
        is_good = ctx && derive_key(v, key) == 0 && start(ctx, key, r->sealed, beside, false) &&
                  EVP_CipherUpdate(ctx, (uint8_t *)ret, &n, r->sealed + NONCE, len) == 1 &&
                  EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG, tag) == 1 &&
                  EVP_CipherFinal_ex(ctx, (uint8_t *)ret + n, &last) == 1;
        cay_digest_wipe(key, sizeof(key));
        ret[is_good ? len : 0] = '\0';
        return is_good;
}

/* Rows */

bool cay_vault_name_is_valid(const char *name)
{
        size_t len = strnlen(name, CAY_VAULT_NAME_MAX + 1);

        return len >= 1 && len <= CAY_VAULT_NAME_MAX && strspn(name, NAME_CHARS) == len &&
               !(name[0] >= '0' && name[0] <= '9');
}

static struct row **find(struct cay_vault *v, const char *owner, const char *name)
{
        struct row **at = &v->rows;

        while (*at && (strcmp((*at)->name, name) != 0 || strcmp((*at)->owner, owner) != 0))
                at = &(*at)->next;
        return at;
}

static const struct row *find_const(const struct cay_vault *v, const char *owner, const char *name)
{
        const struct row *r = v->rows;

        while (r && (strcmp(r->name, name) != 0 || strcmp(r->owner, owner) != 0))
                r = r->next;
        return r;
}

static struct cay_vault_item view(const struct row *r)
{
        return (struct cay_vault_item){ r->owner, r->name, r->host, r->header, r->created_wall_ms };
}

static int check_room(const struct cay_vault *v, const struct cay_vault_item *item, struct cay_error *err)
{
        unsigned own = 0;

        if (find_const(v, item->owner, item->name))
                return 0;
        for (const struct row *r = v->rows; r; r = r->next)
                own += strcmp(r->owner, item->owner) == 0;
        if (own >= CAY_VAULT_OWNER_MAX || v->count >= CAY_VAULT_MAX)
                return cay_fail(err, CAY_LIMIT, "there are %u secrets already: remove some",
                                own >= CAY_VAULT_OWNER_MAX ? own : v->count);
        return 0;
}

int cay_vault_seal(const struct cay_vault *v, const struct cay_vault_item *item, const char *value,
                   char ret_name[CAY_VAULT_RECORD_NAME], struct cay_buf *ret_record, struct cay_error *err)
{
        cay_auto_buf struct cay_buf beside = { 0 };
        uint8_t sealed[SEALED_MAX];
        ssize_t len = -1;

        if (check_room(v, item, err) < 0)
                return -1;
        if (strlen(value) > CAY_VAULT_VALUE_MAX || strlen(item->host) > CAY_VAULT_HOST_MAX ||
            strlen(item->header) > CAY_VAULT_HEADER_MAX || !cay_vault_name_is_valid(item->name))
                return cay_fail(err, CAY_INVALID, "a secret's name, host, header or value is too long");
        snprintf(ret_name, CAY_VAULT_RECORD_NAME, CAY_VAULT_PREFIX "%s.%s", item->name, item->owner);
        cay_buf_init(&beside, 1024);
        if (put_beside(&beside, ret_name, item->host, item->header) == 0)
                len = seal(v, &beside, value, sealed);
        if (len < 0 ||
            cay_buf_printf(ret_record, "%s %s %" PRIu64 " ", item->host, item->header,
                           item->created_wall_ms) < 0 ||
            cay_base64_encode(sealed, (size_t)len, ret_record) < 0)
                return cay_fail(err, CAY_INTERNAL, "encrypt a secret");
        return 0;
}

/* "HOST HEADER MS BASE64" */
static bool read_record(struct row *r, const char *record)
{
        cay_auto_buf struct cay_buf sealed = { 0 };
        const char *header = strchr(record, ' '), *ms = header ? strchr(header + 1, ' ') : NULL,
                   *bytes = ms ? strchr(ms + 1, ' ') : NULL;
        char number[24];

        if (!bytes || (size_t)(header - record) >= sizeof(r->host) ||
            (size_t)(ms - header - 1) >= sizeof(r->header) || (size_t)(bytes - ms - 1) >= sizeof(number))
                return false;
        memcpy(r->host, record, (size_t)(header - record));
        memcpy(r->header, header + 1, (size_t)(ms - header - 1));
        memcpy(number, ms + 1, (size_t)(bytes - ms - 1));
        number[bytes - ms - 1] = '\0';
        cay_buf_init(&sealed, SEALED_MAX);
        if (cay_parse_u64(number, &r->created_wall_ms) < 0 ||
            cay_base64_decode(bytes + 1, strlen(bytes + 1), &sealed) < 0 || sealed.len <= NONCE + TAG)
                return false;
        memcpy(r->sealed, cay_buf_data(&sealed), sealed.len);
        r->sealed_len = sealed.len;
        return true;
}

static bool read_name(struct row *r, const char *record_name)
{
        const size_t skip = sizeof(CAY_VAULT_PREFIX) - 1;
        const char *dot;

        if (strncmp(record_name, CAY_VAULT_PREFIX, skip) != 0 ||
            !cay_str_copy(r->record_name, sizeof(r->record_name), record_name))
                return false;
        dot = strchr(r->record_name + skip, '.');
        if (!dot || (size_t)(dot - r->record_name) - skip >= sizeof(r->name))
                return false;
        memcpy(r->name, r->record_name + skip, (size_t)(dot - r->record_name) - skip);
        r->owner = dot + 1;
        return cay_vault_name_is_valid(r->name);
}

int cay_vault_add(struct cay_vault *v, const char *record_name, const char *record, struct cay_error *err)
{
        struct row *r = calloc(1, sizeof(*r));

        if (!r || !read_name(r, record_name) || !read_record(r, record)) {
                free(r);
                return cay_fail(err, CAY_INTERNAL, "a secret's record cannot be read");
        }
        cay_vault_drop(v, r->owner, r->name);
        r->next = v->rows;
        v->rows = r;
        v->count++;
        return 0;
}

bool cay_vault_find(const struct cay_vault *v, const char *owner, const char *name,
                    struct cay_vault_item *ret, char ret_name[CAY_VAULT_RECORD_NAME])
{
        const struct row *r = find_const(v, owner, name);

        if (!r)
                return false;
        *ret = view(r);
        if (ret_name)
                memcpy(ret_name, r->record_name, sizeof(r->record_name));
        return true;
}

void cay_vault_drop(struct cay_vault *v, const char *owner, const char *name)
{
        struct row **at = find(v, owner, name), *r = *at;

        if (!r)
                return;
        *at = r->next;
        v->count--;
        free(r);
}

void cay_vault_each(const struct cay_vault *v, const char *owner,
                    void (*each)(void *ctx, const struct cay_vault_item *item), void *ctx)
{
        for (const struct row *r = v->rows; r; r = r->next) {
                const struct cay_vault_item item = view(r);

                if (strcmp(r->owner, owner) == 0)
                        each(ctx, &item);
        }
}

int cay_vault_open(const struct cay_vault *v, const char *owner, const char *name,
                   char ret[CAY_VAULT_VALUE_MAX + 1], struct cay_error *err)
{
        cay_auto_buf struct cay_buf beside = { 0 };
        const struct row *r = find_const(v, owner, name);

        if (!r)
                return cay_fail(err, CAY_NOT_FOUND, "there is no secret '%.63s'", name);
        cay_buf_init(&beside, 1024);
        if (put_beside(&beside, r->record_name, r->host, r->header) < 0 || !open_sealed(v, &beside, r, ret))
                return cay_fail(err, CAY_INTERNAL,
                                "secret '%.63s' cannot be opened: its record or " CAY_VAULT_KEY_FILE
                                " is not the one it was set with; set it again",
                                name);
        return 0;
}
