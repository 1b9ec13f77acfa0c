/* SPDX-License-Identifier: Apache-2.0 */
/*
 * API keys in memory: a hash table of records. The key's own hash is as random as the key, so it serves as
 * the table's hash.
 */

#include "domain/auth/api_key.h"

#include "domain/auth/digest.h"
#include "foundation/base/fair.h"
#include "foundation/base/str.h"

#define PREFIX "cayk_"
#define E2B_PREFIX "e2b_"

enum {
        PREFIX_LEN = 5,
        RANDOM_LEN = 32,
        SUM_LEN = 6,
        RANDOM_BYTES = 20,
        LABEL_MAX = 63,
        E2B_RANDOM_BYTES = 16,
        E2B_SUM_BYTES = 4,
        SLOTS = 32768, /* a power of two, three times the keys: keeps chains short */
};

_Static_assert(PREFIX_LEN + RANDOM_LEN + SUM_LEN == CAY_API_KEY_LEN, "prefix, 160 bits, checksum");
_Static_assert(SLOTS > 2 * CAY_STORE_KEYS_MAX, "the table is never full");

struct entry {
        struct cay_store_key record; /* its texts point to the members below */
        char id[CAY_API_KEY_ID_LEN + 1], owner[CAY_OWNER_MAX + 1], label[LABEL_MAX + 1];
        uint64_t stored_wall_ms; /* time of use as stored */
};

struct cay_api_keys {
        struct entry *entries[CAY_STORE_KEYS_MAX]; /* owned, in order of arrival */
        unsigned count;
        uint64_t revoked;      /* number of revocations */
        uint16_t slots[SLOTS]; /* 1 + index of an entry; 0: free */
};

_Static_assert(CAY_STORE_KEYS_MAX < UINT16_MAX, "indices fit");

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";

struct cay_api_keys *cay_api_keys_new(void)
{
        return calloc(1, sizeof(struct cay_api_keys));
}

void cay_api_keys_free(struct cay_api_keys *keys)
{
        if (!keys)
                return;
        for (unsigned i = 0; i < keys->count; i++)
                free(keys->entries[i]);
        free(keys);
}

/* The checksum of the first PREFIX_LEN + RANDOM_LEN characters. */
static void checksum(const char *text, char ret[SUM_LEN])
{
        uint8_t hash[CAY_DIGEST_SIZE] = { 0 };
        uint32_t bits;

        cay_digest_sha256(text, PREFIX_LEN + RANDOM_LEN, hash);
        bits = (uint32_t)hash[0] << 24 | (uint32_t)hash[1] << 16 | (uint32_t)hash[2] << 8 | hash[3];
        for (unsigned i = 0; i < SUM_LEN; i++)
                ret[i] = alphabet[bits >> (27 - 5 * i) & 31];
}

int cay_api_key_form_find(const char *word)
{
        static const char *const words[CAY_API_KEY_FORM_COUNT] = { "cay", "e2b" };

        for (int i = 0; i < CAY_API_KEY_FORM_COUNT; i++)
                if (strcmp(word, words[i]) == 0)
                        return i;
        return -1;
}

/* In E2B's shape: the last eight digits are the start of the hash of what is before them. */
static void e2b_sum(const char *text, char ret[2 * E2B_SUM_BYTES + 1])
{
        uint8_t hash[CAY_DIGEST_SIZE] = { 0 };

        cay_digest_sha256(text, CAY_API_KEY_E2B_LEN - 2 * E2B_SUM_BYTES, hash);
        for (unsigned i = 0; i < E2B_SUM_BYTES; i++)
                snprintf(ret + 2 * i, 3, "%02x", hash[i]);
}

static bool is_e2b(const char *text, size_t len)
{
        char sum[2 * E2B_SUM_BYTES + 1];

        if (len != CAY_API_KEY_E2B_LEN || memcmp(text, E2B_PREFIX, strlen(E2B_PREFIX)) != 0)
                return false;
        for (size_t i = strlen(E2B_PREFIX); i < len; i++)
                if (!memchr("0123456789abcdef", text[i], 16))
                        return false;
        e2b_sum(text, sum);
        return memcmp(text + len - 2 * E2B_SUM_BYTES, sum, 2 * E2B_SUM_BYTES) == 0;
}

bool cay_api_key_is_one(const char *text, size_t len)
{
        char sum[SUM_LEN];

        if (is_e2b(text, len))
                return true;
        if (len != CAY_API_KEY_LEN || memcmp(text, PREFIX, PREFIX_LEN) != 0)
                return false;
        for (size_t i = PREFIX_LEN; i < len; i++) {
                if (text[i] == '\0' || !strchr(alphabet, text[i]))
                        return false;
        }
        checksum(text, sum);
        return memcmp(text + PREFIX_LEN + RANDOM_LEN, sum, SUM_LEN) == 0;
}

static unsigned slot_of(const uint8_t hash[CAY_STORE_HASH])
{
        return ((unsigned)hash[0] << 8 | hash[1]) % SLOTS;
}

static struct entry *find_hash(const struct cay_api_keys *keys, const uint8_t hash[CAY_STORE_HASH])
{
        for (unsigned i = slot_of(hash); keys->slots[i] > 0; i = (i + 1) % SLOTS) {
                struct entry *e = keys->entries[keys->slots[i] - 1];

                if (cay_digest_equal(e->record.hash, hash, CAY_STORE_HASH))
                        return e;
        }
        return NULL;
}

static struct entry *find_id(const struct cay_api_keys *keys, const char *id)
{
        for (unsigned i = 0; i < keys->count; i++) {
                if (strcmp(keys->entries[i]->id, id) == 0)
                        return keys->entries[i];
        }
        return NULL;
}

static void index_entry(struct cay_api_keys *keys, unsigned nr)
{
        unsigned i = slot_of(keys->entries[nr]->record.hash);

        while (keys->slots[i] > 0)
                i = (i + 1) % SLOTS;
        keys->slots[i] = (uint16_t)(nr + 1);
}

int cay_api_keys_add(struct cay_api_keys *keys, const struct cay_store_key *record, struct cay_error *err)
{
        struct entry *e;

        if (keys->count == CAY_STORE_KEYS_MAX)
                return cay_fail(err, CAY_LIMIT, "there are %u API keys, which is the maximum; revoke some",
                                keys->count);
        if (find_hash(keys, record->hash)) /* and therefore its id, which is derived from the hash */
                return cay_fail(err, CAY_EXISTS, "API key '%.20s' exists already", record->id);
        e = calloc(1, sizeof(*e));
        if (!e)
                return cay_fail(err, CAY_INTERNAL, "no memory for an API key");
        e->record = *record;
        if (!cay_str_copy(e->id, sizeof(e->id), record->id) ||
            !cay_str_copy(e->owner, sizeof(e->owner), record->owner) ||
            !cay_str_copy(e->label, sizeof(e->label), record->label ? record->label : "")) {
                free(e);
                return cay_fail(err, CAY_INVALID,
                                "id, owner and label of an API key have at most %d, %d and %d bytes",
                                CAY_API_KEY_ID_LEN, CAY_OWNER_MAX, LABEL_MAX);
        }
        e->record.id = e->id;
        e->record.owner = e->owner;
        e->record.label = e->label;
        e->stored_wall_ms = record->used_wall_ms;
        keys->entries[keys->count] = e;
        index_entry(keys, keys->count++);
        return 0;
}

static int make_text(char ret[CAY_API_KEY_MAX + 1])
{
        uint8_t random[RANDOM_BYTES];
        unsigned bits = 0, have = 0;
        char *at = ret + PREFIX_LEN;

        if (cay_digest_random(random, sizeof(random)) < 0)
                return -1;
        memcpy(ret, PREFIX, PREFIX_LEN);
        for (size_t i = 0; i < sizeof(random); i++) {
                bits = (bits << 8 | random[i]) & 0xfff;
                for (have += 8; have >= 5; have -= 5)
                        *at++ = alphabet[bits >> (have - 5) & 31];
        }
        checksum(ret, at);
        at[SUM_LEN] = '\0';
        cay_digest_wipe(random, sizeof(random));
        return 0;
}

static int make_e2b_text(char ret[CAY_API_KEY_MAX + 1])
{
        uint8_t random[E2B_RANDOM_BYTES];
        char *at = ret + strlen(E2B_PREFIX);

        if (cay_digest_random(random, sizeof(random)) < 0)
                return -1;
        memcpy(ret, E2B_PREFIX, strlen(E2B_PREFIX));
        for (size_t i = 0; i < sizeof(random); i++, at += 2)
                snprintf(at, 3, "%02x", random[i]);
        e2b_sum(ret, at);
        cay_digest_wipe(random, sizeof(random));
        return 0;
}

static void make_id(const uint8_t hash[CAY_DIGEST_SIZE], char ret[CAY_API_KEY_ID_LEN + 1])
{
        ret[0] = 'k';
        for (unsigned i = 0; i < (CAY_API_KEY_ID_LEN - 1) / 2; i++)
                snprintf(ret + 1 + 2 * i, 3, "%02x", hash[i]);
}

static unsigned count_good(const struct cay_api_keys *keys, const char *owner)
{
        unsigned count = 0;

        for (unsigned i = 0; i < keys->count; i++)
                count += keys->entries[i]->record.revoked_wall_ms == 0 &&
                         strcmp(keys->entries[i]->owner, owner) == 0;
        return count;
}

static bool has_room(const struct cay_api_keys *keys, const char *owner)
{
        return cay_fair_has_room(CAY_STORE_KEYS_MAX, CAY_API_KEYS_OWNER, keys->count,
                                 count_good(keys, owner));
}

int cay_api_keys_make(struct cay_api_keys *keys, enum cay_api_key_form form, const char *owner,
                      unsigned scopes, const char *label, uint64_t wall_ms,
                      char ret_text[CAY_API_KEY_MAX + 1], const struct cay_store_key **ret_record,
                      struct cay_error *err)
{
        struct cay_store_key record = {
                .owner = owner, .label = label, .scopes = scopes, .created_wall_ms = wall_ms
        };
        char id[CAY_API_KEY_ID_LEN + 1];

        if (!cay_owner_is_valid(owner))
                return cay_fail(err, CAY_INVALID,
                                "'%.63s' is not a valid owner: 1 to 63 letters, digits or . _ @ : + -",
                                owner);
        if (!cay_scope_has(scopes, CAY_SCOPE_READ))
                return cay_fail(err, CAY_INVALID, "an API key needs a scope (read, exec or admin)");
        if (!has_room(keys, owner))
                return cay_fail(err, CAY_LIMIT,
                                "owner: '%.63s' has %u API keys, the maximum of an owner; revoke some", owner,
                                count_good(keys, owner));
        if ((form == CAY_API_KEY_E2B ? make_e2b_text(ret_text) : make_text(ret_text)) < 0 ||
            cay_digest_sha256(ret_text, strlen(ret_text), record.hash) < 0)
                return cay_fail(err, CAY_INTERNAL, "an API key could not be made");
        make_id(record.hash, id);
        record.id = id;
        if (cay_api_keys_add(keys, &record, err) < 0)
                return -1;
        *ret_record = &keys->entries[keys->count - 1]->record;
        return 0;
}

bool cay_api_keys_check(struct cay_api_keys *keys, const char *text, size_t len, uint64_t wall_ms,
                        struct cay_caller *ret)
{
        uint8_t hash[CAY_DIGEST_SIZE];
        struct entry *e;

        if (!cay_api_key_is_one(text, len) || cay_digest_sha256(text, len, hash) < 0)
                return false;
        e = find_hash(keys, hash);
        if (!e || e->record.revoked_wall_ms > 0)
                return false;
        e->record.used_wall_ms = wall_ms;
        *ret = (struct cay_caller){ .scopes = (unsigned)e->record.scopes & CAY_SCOPE_ALL };
        cay_str_copy(ret->owner, sizeof(ret->owner), e->owner);
        cay_str_copy(ret->id, sizeof(ret->id), e->id);
        return true;
}

const struct cay_store_key *cay_api_keys_revoke(struct cay_api_keys *keys, const char *id, uint64_t wall_ms)
{
        struct entry *e = find_id(keys, id);

        if (!e)
                return NULL;
        if (e->record.revoked_wall_ms == 0) {
                e->record.revoked_wall_ms = wall_ms > 0 ? wall_ms : 1;
                keys->revoked++;
        }
        return &e->record;
}

bool cay_api_keys_is_good(const struct cay_api_keys *keys, const char *id)
{
        const struct entry *e = find_id(keys, id);

        return e && e->record.revoked_wall_ms == 0;
}

uint64_t cay_api_keys_revoked(const struct cay_api_keys *keys)
{
        return keys->revoked;
}

void cay_api_keys_drop(struct cay_api_keys *keys, const char *id)
{
        struct entry *e = find_id(keys, id);
        unsigned kept = 0;

        if (!e)
                return;
        for (unsigned i = 0; i < keys->count; i++) {
                if (keys->entries[i] != e)
                        keys->entries[kept++] = keys->entries[i];
        }
        free(e);
        keys->count = kept;
        memset(keys->slots, 0, sizeof(keys->slots));
        for (unsigned i = 0; i < kept; i++)
                index_entry(keys, i);
}

void cay_api_keys_each(struct cay_api_keys *keys, bool (*each)(void *ctx, const struct cay_store_key *record),
                       void *ctx)
{
        for (unsigned i = 0; i < keys->count; i++) {
                if (!each(ctx, &keys->entries[i]->record))
                        return;
        }
}

const struct cay_store_key *cay_api_keys_next_used(struct cay_api_keys *keys, uint64_t after_ms)
{
        for (unsigned i = 0; i < keys->count; i++) {
                struct entry *e = keys->entries[i];

                if (e->record.used_wall_ms > e->stored_wall_ms &&
                    e->record.used_wall_ms - e->stored_wall_ms >= after_ms) {
                        e->stored_wall_ms = e->record.used_wall_ms;
                        return &e->record;
                }
        }
        return NULL;
}
