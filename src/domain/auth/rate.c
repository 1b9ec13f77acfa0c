/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token buckets in sets (rate.h has the theory of operation). Levels count 60,000ths of a request, which is
 * exact for any rate.
 */

#include "domain/auth/rate.h"

#include "domain/auth/digest.h"

enum {
        WAYS = 8,
        KEYS_DEFAULT = 4096,
        UNIT = 60000,  /* one request, in units of a level */
        KEY_MAX = 128, /* bytes of a key that are hashed */
};

struct bucket {
        uint64_t tag;   /* 0: free */
        uint64_t level; /* at seen_ms */
        uint64_t seen_ms;
};

struct set {
        struct bucket ways[WAYS];
        struct bucket shared; /* shared by keys without a slot */
};

struct cay_rate {
        uint64_t per_minute, full;
        uint8_t seed[16];
        unsigned sets;
        struct set set[];
};

struct cay_rate *cay_rate_new(const struct cay_rate_config *config)
{
        unsigned keys = config->keys > 0 ? config->keys : KEYS_DEFAULT, sets = (keys + WAYS - 1) / WAYS;
        uint64_t burst = config->burst > 0 ? config->burst : config->per_minute / 10;
        struct cay_rate *r = calloc(1, sizeof(*r) + sets * sizeof(r->set[0]));

        if (!r)
                return NULL;
        if (config->burst == 0 && burst < 10)
                burst = 10;
        r->per_minute = config->per_minute;
        r->full = burst < UINT64_MAX / UNIT / 2 ? burst * UNIT : UINT64_MAX / 2;
        r->sets = sets;
        memcpy(r->seed, config->seed, sizeof(r->seed));
        return r;
}

void cay_rate_free(struct cay_rate *r)
{
        free(r);
}

static uint64_t level_now(const struct cay_rate *r, const struct bucket *b, uint64_t mono_ms)
{
        uint64_t elapsed_ms = mono_ms > b->seen_ms ? mono_ms - b->seen_ms : 0, more;

        if (__builtin_mul_overflow(elapsed_ms, r->per_minute, &more) || more > r->full - b->level)
                return r->full;
        return b->level + more;
}

/* The key's own bucket, else a slot that can be evicted, else the shared bucket. */
static struct bucket *find(struct cay_rate *r, struct set *set, uint64_t tag, uint64_t mono_ms)
{
        struct bucket *open = NULL;

        for (unsigned i = 0; i < WAYS; i++) {
                struct bucket *b = &set->ways[i];

                if (b->tag == tag)
                        return b;
                if (!open && (b->tag == 0 || level_now(r, b, mono_ms) == r->full))
                        open = b;
        }
        if (open) {
                *open = (struct bucket){ .tag = tag, .level = r->full, .seen_ms = mono_ms };
                return open;
        }
        if (set->shared.tag == 0)
                set->shared = (struct bucket){ .tag = 1, .level = r->full, .seen_ms = mono_ms };
        return &set->shared;
}

static struct bucket *look_up(struct cay_rate *r, const char *key, uint64_t mono_ms)
{
        uint8_t text[sizeof(r->seed) + KEY_MAX], hash[CAY_DIGEST_SIZE] = { 0 };
        size_t len = strnlen(key, KEY_MAX);
        uint64_t where, tag;

        memcpy(text, r->seed, sizeof(r->seed));
        memcpy(text + sizeof(r->seed), key, len);
        cay_digest_sha256(text, sizeof(r->seed) + len,
                          hash); /* on failure all keys share one bucket: stricter */
        memcpy(&where, hash, sizeof(where));
        memcpy(&tag, hash + sizeof(where), sizeof(tag));
        return find(r, &r->set[where % r->sets], tag > 0 ? tag : 1, mono_ms);
}

bool cay_rate_take(struct cay_rate *r, const char *key, uint64_t mono_ms, uint64_t *ret_wait_ms)
{
        struct bucket *b;
        uint64_t missing;

        if (r->per_minute == 0)
                return true;
        b = look_up(r, key, mono_ms);
        b->level = level_now(r, b, mono_ms);
        if (mono_ms > b->seen_ms)
                b->seen_ms = mono_ms;
        if (b->level >= UNIT) {
                b->level -= UNIT;
                return true;
        }
        missing = UNIT - b->level;
        *ret_wait_ms = (missing + r->per_minute - 1) / r->per_minute;
        return false;
}
