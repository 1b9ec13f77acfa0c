/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets for requests of sandboxes: read from the store, opened for the broker, and the authority that boxes
 * trust.
 */
#include <string.h>

#include "cay-front/front_priv.h"
#include "domain/network/secret_text.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "foundation/http/tls_ca.h"

#define CA_NAME "Cay secrets of this daemon" /* as cay-edge has it */

static bool add_secret(void *ctx, const void *record)
{
        const struct cay_store_value *v = record;
        struct cay_error err = { 0 };
        struct front *f = ctx;

        if (strncmp(v->name, CAY_VAULT_PREFIX, sizeof(CAY_VAULT_PREFIX) - 1) == 0 &&
            cay_vault_add(f->vault, v->name, v->value, &err) < 0)
                cay_log_warn("a secret could not be read, ignoring", "error=%s", err.msg);
        return true;
}

static int make_ca(struct front *f, struct cay_error *err)
{
        cay_auto(cay_tls_ca_freep) struct cay_tls_ca *ca = NULL;
        uint8_t seed[CAY_VAULT_SEED];

        if (cay_vault_ca_seed(f->vault, seed) < 0)
                return cay_fail(err, CAY_INTERNAL, "derive the authority of secrets");
        ca = cay_tls_ca_new(seed, CA_NAME, err);
        explicit_bzero(seed, sizeof(seed));
        return ca ? cay_tls_ca_pem(ca, f->vault_ca, err) : -1;
}

int cay_front_load_vault(struct front *f, struct cay_error *err)
{
        if (f->vault_key.len == 0)
                return 0;
        f->vault = cay_vault_new(&f->vault_key);
        cay_secret_done(&f->vault_key);
        if (!f->vault)
                return cay_fail(err, CAY_INTERNAL, "no memory for secrets");
        if (make_ca(f, err) < 0)
                return -1;
        if (cay_vault_recordings_seed(f->vault, f->recordings_seed) < 0)
                return cay_fail(err, CAY_INTERNAL, "derive the key of recordings");
        return f->store->ops->load(f->store, CAY_STORE_VALUE, add_secret, f, err);
}

const char *cay_front_secrets_ca(void *ctx)
{
        const struct front *f = ctx;

        return f->vault ? f->vault_ca : NULL;
}

/* A line of NAME PLACEHOLDER. One that was removed is left out: its placeholder stays what it is. */
static int put_one(struct front *f, const char *owner, const char *line, size_t len, struct cay_buf *out)
{
        const char *space = memchr(line, ' ', len);
        struct cay_net_secret s = { 0 };
        struct cay_vault_item item;
        char name[CAY_VAULT_NAME_MAX + 1];
        struct cay_error err = { 0 };
        int r = 0;

        if (!space || (size_t)(space - line) >= sizeof(name) ||
            len - (size_t)(space - line) - 1 >= sizeof(s.placeholder))
                return -1;
        memcpy(name, line, (size_t)(space - line));
        name[space - line] = '\0';
        memcpy(s.placeholder, space + 1, len - (size_t)(space - line) - 1);
        if (!cay_vault_find(f->vault, owner, name, &item, NULL))
                return 0;
        if (cay_vault_open(f->vault, owner, name, s.value, &err) < 0) {
                cay_log_error("a sandbox lacks a secret", "error=%s", err.msg);
                return 0;
        }
        cay_str_copy(s.host, sizeof(s.host), item.host);
        cay_str_copy(s.header, sizeof(s.header), item.header);
        r = cay_secret_text_add(out, &s);
        explicit_bzero(&s, sizeof(s));
        return r;
}

int cay_front_secrets_text(void *ctx, const char *owner, const char *secrets, struct cay_buf *out)
{
        struct front *f = ctx;
        uint8_t seed[CAY_VAULT_SEED];
        int r;

        if (!f->vault || cay_vault_ca_seed(f->vault, seed) < 0)
                return -1;
        r = cay_secret_text_begin(out, seed);
        explicit_bzero(seed, sizeof(seed));
        for (const char *line = secrets, *end; r == 0 && (end = strchr(line, '\n')); line = end + 1)
                r = put_one(f, owner, line, (size_t)(end - line), out);
        return r;
}
