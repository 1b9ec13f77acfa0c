/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets of owners, for requests of their sandboxes (docs/network.md). In the store and in memory they are
 * encrypted (AES-256-GCM) with a key that is in a file of its own, so a copy of the database alone gives none
 * away. What is beside the value (owner, name, host, header) is readable, and bound to it: a record that was
 * changed cannot be opened.
 *
 * A record is a value of the store: its name is "secret.NAME.OWNER", its text has the rest.
 */
#pragma once

#include "domain/auth/secret.h"
#include "foundation/base/buf.h"

#define CAY_VAULT_KEY_FILE "secrets.key"
#define CAY_VAULT_PREFIX "secret."
#define CAY_VAULT_MAX 5000u
#define CAY_VAULT_OWNER_MAX 100u
#define CAY_VAULT_NAME_MAX 63
#define CAY_VAULT_HOST_MAX 253
#define CAY_VAULT_HEADER_MAX 63
#define CAY_VAULT_VALUE_MAX 2048
#define CAY_VAULT_RECORD_NAME (sizeof(CAY_VAULT_PREFIX) + CAY_VAULT_NAME_MAX + 1 + 64)
#define CAY_VAULT_SEED 32

struct cay_vault;

struct cay_vault_item { /* borrowed for the call */
        const char *owner, *name, *host, *header;
        uint64_t created_wall_ms;
};

struct cay_vault *cay_vault_new(const struct cay_secret *key); /* NULL: no memory */
void cay_vault_free(struct cay_vault *v);                      /* accepts NULL */
CAY_DEFINE_AUTO(struct cay_vault, cay_vault_free)

bool cay_vault_name_is_valid(
        const char *name); /* that of a variable: A-Z, 0-9 and _, not beginning with a digit */
/* The record of a secret; the vault is not changed. CAY_LIMIT: the owner has too many. */
int cay_vault_seal(const struct cay_vault *v, const struct cay_vault_item *item, const char *value,
                   char ret_name[CAY_VAULT_RECORD_NAME], struct cay_buf *ret_record, struct cay_error *err);
/* From the store, or one that has been stored: added, or in the place of the one of the same name. */
int cay_vault_add(struct cay_vault *v, const char *record_name, const char *record, struct cay_error *err);
/* Its record's name in ret_name. False: there is none. */
bool cay_vault_find(const struct cay_vault *v, const char *owner, const char *name,
                    struct cay_vault_item *ret, char ret_name[CAY_VAULT_RECORD_NAME]);
void cay_vault_drop(struct cay_vault *v, const char *owner, const char *name);
void cay_vault_each(const struct cay_vault *v, const char *owner,
                    void (*each)(void *ctx, const struct cay_vault_item *item), void *ctx);
/*
 * The value, which the caller wipes. CAY_NOT_FOUND; CAY_INTERNAL: its record was changed, or the key is
 * another.
 */
int cay_vault_open(const struct cay_vault *v, const char *owner, const char *name,
                   char ret[CAY_VAULT_VALUE_MAX + 1], struct cay_error *err);
/* Of the authority that sandboxes with secrets trust (foundation/http/tls_ca.h). */
int cay_vault_ca_seed(const struct cay_vault *v, uint8_t ret[CAY_VAULT_SEED]);
/* Of the key by which agents on users' machines know this daemon (proof.h). */
int cay_vault_agents_seed(const struct cay_vault *v, uint8_t ret[CAY_VAULT_SEED]);
/* Of what is kept of recorded sandboxes (domain/recordings/sealed_log.h). */
int cay_vault_recordings_seed(const struct cay_vault *v, uint8_t ret[CAY_VAULT_SEED]);
