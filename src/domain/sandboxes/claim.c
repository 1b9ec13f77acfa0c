/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single-use ids. Two concurrent requests with one id meet here; a later one meets the first one's claim in
 * the store. The claim is stored in the same batch as what it made. So a request that fails, or dies with the
 * daemon, does not use its id up.
 */
#include "foundation/base/str.h"
#include "foundation/base/utf8.h"
#include "domain/sandboxes/service_priv.h"

int cay_claim_check(const char *claim, struct cay_error *err)
{
        if (claim == NULL)
                return 0;
        if (claim[0] == '\0' || strlen(claim) > CAY_SERVICE_CLAIM_MAX ||
            !cay_utf8_valid(claim, strlen(claim)))
                return cay_fail(err, CAY_INVALID, "execution_id: 1 to %u bytes of UTF-8",
                                CAY_SERVICE_CLAIM_MAX);
        return 0;
}

void cay_claim_say_taken(struct cay_error *err, const char *claim, const char *first)
{
        cay_fail_because(err, CAY_EXISTS, CAY_REASON_ID_USED,
                         "execution id '%.128s' was used before; it made '%s'", claim, first);
}

static struct cay_claim **find(struct cay_service *s, const char *owner, const char *key)
{
        struct cay_claim **at = &s->claims;

        while (*at != NULL && (strcmp((*at)->key, key) != 0 || strcmp((*at)->owner, owner) != 0))
                at = &(*at)->next;
        return at;
}

const char *cay_claim_take(struct cay_service *s, const char *owner, const char *key, const char *id)
{
        struct cay_claim *c = *find(s, owner, key);

        if (c != NULL)
                return c->id;
        c = cay_service_alloc(sizeof(*c));
        cay_str_copy(c->owner, sizeof(c->owner), owner);
        cay_str_copy(c->key, sizeof(c->key), key);
        cay_str_copy(c->id, sizeof(c->id), id);
        c->next = s->claims;
        s->claims = c;
        return NULL;
}

void cay_claim_release(struct cay_service *s, const char *owner, const char *key)
{
        struct cay_claim **at = find(s, owner, key), *c = *at;

        if (c == NULL)
                return;
        *at = c->next;
        free(c);
}

void cay_claim_release_all(struct cay_service *s)
{
        while (s->claims != NULL) {
                struct cay_claim *c = s->claims;

                s->claims = c->next;
                free(c);
        }
}

void cay_claim_look_up(struct cay_async *e, const char *owner, const char *key)
{
        cay_str_copy(e->claim, sizeof(e->claim), key);
        cay_str_copy(e->owner, sizeof(e->owner), owner);
        e->query.kind = CAY_STORE_CLAIM;
        e->query.id = e->claim;
        e->query.owner = e->owner;
        e->query.max = 1;
        cay_async_query(e);
}
