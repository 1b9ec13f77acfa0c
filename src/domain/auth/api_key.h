/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long-lived API keys: "cayk_", 32 characters of base 32 (160 random bits), and 6 characters of checksum. The
 * checksum tells a mistyped key from a wrong one, and lets scanners find leaked keys. For clients of E2B,
 * which refuse other shapes, a key can have theirs: "e2b_", 32 hexadecimal digits (128 random bits) and 8 of
 * checksum. Only the SHA-256 of a key is kept; its id is the start of that hash. All keys are in memory, so
 * that requests never wait for the disk. The store has the same records.
 */
#pragma once

#include "domain/auth/scope.h"
#include "domain/model/port_store.h"

#define CAY_API_KEY_LEN (5 + 32 + 6)
#define CAY_API_KEY_E2B_LEN (4 + 32 + 8)
#define CAY_API_KEY_MAX CAY_API_KEY_E2B_LEN /* the longer one */
#define CAY_API_KEY_ID_LEN 17               /* "k" and 16 hexadecimal digits */

#define CAY_API_KEYS_OWNER 1000u /* of one owner; revoked ones do not count */

enum cay_api_key_form { CAY_API_KEY_CAY, CAY_API_KEY_E2B, CAY_API_KEY_FORM_COUNT };

int cay_api_key_form_find(const char *word); /* "cay", "e2b"; -1: none */

struct cay_api_keys; /* a table of at most CAY_STORE_KEYS_MAX */

struct cay_api_keys *cay_api_keys_new(void); /* NULL: no memory */
void cay_api_keys_free(struct cay_api_keys *keys);
CAY_DEFINE_AUTO(struct cay_api_keys, cay_api_keys_free)

bool cay_api_key_is_one(const char *text, size_t len); /* has the form, and the checksum is right */
/*
 * Makes a key: its text (CAY_API_KEY_MAX + 1 bytes), which is shown once, and its record. The caller stores
 * the record before it shows the key. The record's texts point into the table. CAY_LIMIT: the table is full.
 */
int cay_api_keys_make(struct cay_api_keys *keys, enum cay_api_key_form form, const char *owner,
                      unsigned scopes, const char *label, uint64_t wall_ms,
                      char ret_text[CAY_API_KEY_MAX + 1], const struct cay_store_key **ret_record,
                      struct cay_error *err);
int cay_api_keys_add(struct cay_api_keys *keys, const struct cay_store_key *record,
                     struct cay_error *err); /* from the store; copies */
/* The key's owner and scopes; false: unknown or revoked. Sets the time of use (wall_ms) in the record. */
bool cay_api_keys_check(struct cay_api_keys *keys, const char *text, size_t len, uint64_t wall_ms,
                        struct cay_caller *ret);
/* Revokes it immediately; the caller stores the record (CAY_STORE_SURE). NULL: no such id. */
const struct cay_store_key *cay_api_keys_revoke(struct cay_api_keys *keys, const char *id, uint64_t wall_ms);
bool cay_api_keys_is_good(const struct cay_api_keys *keys, const char *id); /* exists and is not revoked */
uint64_t cay_api_keys_revoked(const struct cay_api_keys *keys);    /* revocations since the table was made */
void cay_api_keys_drop(struct cay_api_keys *keys, const char *id); /* removes one that could not be stored */
/* Calls back for every key, revoked ones included. */
void cay_api_keys_each(struct cay_api_keys *keys, bool (*each)(void *ctx, const struct cay_store_key *record),
                       void *ctx);
/*
 * The next record whose time of use is newer by more than `after_ms` than the stored one; NULL: none. Marks
 * it as stored.
 */
const struct cay_store_key *cay_api_keys_next_used(struct cay_api_keys *keys, uint64_t after_ms);
