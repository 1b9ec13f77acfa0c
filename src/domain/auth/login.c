/* SPDX-License-Identifier: Apache-2.0 */
/* One-time logins, as hashes in a few slots, and ended sessions. */

#include "domain/auth/login.h"

#include "foundation/base/base64.h"
#include "foundation/base/str.h"

enum { SECRET_BYTES = 32 };
_Static_assert(CAY_BASE64URL_LEN(SECRET_BYTES) == CAY_LOGIN_LEN, "32 bytes");

/* A free slot, or that of the same owner's login that expires first. NULL: neither exists. */
static struct cay_login_slot *choose(struct cay_logins *l, const char *owner, uint64_t mono_ms)
{
        struct cay_login_slot *open = NULL, *oldest = NULL;
        unsigned own = 0;

        for (size_t i = 0; i < CAY_COUNT(l->slots); i++) {
                struct cay_login_slot *s = &l->slots[i];

                if (s->until_ms <= mono_ms) {
                        open = open ? open : s;
                } else if (strcmp(s->owner, owner) == 0) {
                        own++;
                        if (!oldest || s->until_ms < oldest->until_ms)
                                oldest = s;
                }
        }
        return open && own < CAY_LOGIN_OWNER ? open : oldest;
}

int cay_login_make(struct cay_logins *l, const char *owner, unsigned scopes, uint64_t mono_ms,
                   char ret[CAY_LOGIN_LEN + 1], struct cay_error *err)
{
        struct cay_login_slot *slot = choose(l, owner, mono_ms);
        uint8_t random[SECRET_BYTES];

        if (!cay_owner_is_valid(owner))
                return cay_fail(err, CAY_INVALID, "'%.63s' is not a valid owner", owner);
        if (!slot)
                return cay_fail(err, CAY_LIMIT,
                                "%u unused logins of other owners exist; try again in ten minutes",
                                CAY_LOGIN_SLOTS);
        if (cay_digest_random(random, sizeof(random)) < 0)
                return cay_fail(err, CAY_INTERNAL, "no random bytes for a login");
        cay_base64url_encode(random, sizeof(random), ret, CAY_LOGIN_LEN + 1);
        cay_digest_wipe(random, sizeof(random));
        *slot = (struct cay_login_slot){ .until_ms = mono_ms + CAY_LOGIN_MS, .scopes = scopes };
        cay_str_copy(slot->owner, sizeof(slot->owner), owner);
        if (cay_digest_sha256(ret, CAY_LOGIN_LEN, slot->hash) < 0) {
                *slot = (struct cay_login_slot){ 0 };
                return cay_fail(err, CAY_INTERNAL, "a login could not be made");
        }
        return 0;
}

bool cay_login_take(struct cay_logins *l, const char *text, size_t len, uint64_t mono_ms,
                    struct cay_caller *ret)
{
        struct cay_login_slot *found = NULL;
        uint8_t hash[CAY_DIGEST_SIZE];

        if (len != CAY_LOGIN_LEN || cay_digest_sha256(text, len, hash) < 0)
                return false;
        /* All slots are compared, to take the same time for each. */
        for (size_t i = 0; i < CAY_COUNT(l->slots); i++) {
                bool equal = cay_digest_equal(l->slots[i].hash, hash, sizeof(hash));

                if (equal && l->slots[i].until_ms > mono_ms)
                        found = &l->slots[i];
        }
        if (!found)
                return false;
        *ret = (struct cay_caller){ .scopes = found->scopes };
        cay_str_copy(ret->owner, sizeof(ret->owner), found->owner);
        *found = (struct cay_login_slot){ 0 };
        return true;
}

void cay_session_end(struct cay_logins *l, const char *id, uint64_t now_s)
{
        struct cay_session_ended *e = &l->ended[l->ended_next];

        if (e->id[0] && e->until_s > l->over_s)
                l->over_s = e->until_s;
        cay_str_copy(e->id, sizeof(e->id), id);
        e->until_s = now_s + CAY_SESSION_S;
        l->ended_next = (l->ended_next + 1) % CAY_SESSION_ENDED;
        l->ended_count++;
}

bool cay_session_is_over(const struct cay_logins *l, const struct cay_token *session)
{
        if (session->expires_s <= l->over_s)
                return true;
        for (size_t i = 0; i < CAY_COUNT(l->ended); i++)
                if (l->ended[i].id[0] && strcmp(l->ended[i].id, session->caller.id) == 0)
                        return true;
        return false;
}
