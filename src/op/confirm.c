/* SPDX-License-Identifier: Apache-2.0 */
/* A small table; every look goes over all of it. */
#include "op/confirm.h"

#include <string.h>

#include "auth/digest.h"

_Static_assert(CAY_CONFIRM_DIGEST == CAY_DIGEST_SIZE, "one digest");

static int no_digest(struct cay_error *err)
{
        return cay_fail(err, CAY_INTERNAL, "make a confirmation");
}

/* The row for another token of this owner: a free one, else the owner's oldest when there are enough of those. */
static struct cay_confirm_row *find_room(struct cay_confirms *c, const uint8_t *owner, uint64_t now_ms)
{
        struct cay_confirm_row *unused = NULL, *oldest = NULL;
        unsigned own = 0;

        for (unsigned i = 0; i < CAY_CONFIRM_ROWS; i++) {
                struct cay_confirm_row *row = &c->rows[i];

                if (row->expires_ms <= now_ms) {
                        unused = row;
                } else if (memcmp(row->owner, owner, CAY_CONFIRM_DIGEST) == 0) {
                        own++;
                        if (!oldest || row->expires_ms < oldest->expires_ms)
                                oldest = row;
                }
        }
        return own >= CAY_CONFIRM_OWNER_ROWS ? oldest : unused;
}

int cay_confirm_ask(struct cay_confirms *c, const char *owner, const struct cay_buf *what, uint64_t now_ms,
                    char ret_token[CAY_CONFIRM_TOKEN + 1], struct cay_error *err)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
        struct cay_confirm_row made = { .expires_ms = now_ms + CAY_CONFIRM_MS }, *row;
        uint8_t random[CAY_CONFIRM_TOKEN];

        if (cay_digest_random(random, sizeof(random)) < 0 ||
            cay_digest_sha256(owner, strlen(owner), made.owner) < 0 ||
            cay_digest_sha256(cay_buf_data(what), what->len, made.what) < 0)
                return no_digest(err);
        row = find_room(c, made.owner, now_ms);
        if (!row)
                return cay_fail(err, CAY_LIMIT,
                                "too many confirmations are awaited; try again in a few minutes");
        for (unsigned i = 0; i < CAY_CONFIRM_TOKEN; i++)
                ret_token[i] = letters[random[i] % 32];
        ret_token[CAY_CONFIRM_TOKEN] = '\0';
        if (cay_digest_sha256(ret_token, CAY_CONFIRM_TOKEN, made.token) < 0)
                return no_digest(err);
        *row = made;
        return 0;
}

int cay_confirm_take(struct cay_confirms *c, const char *owner, const struct cay_buf *what, const char *token,
                     uint64_t now_ms, struct cay_error *err)
{
        uint8_t token_is[CAY_CONFIRM_DIGEST], what_is[CAY_CONFIRM_DIGEST], owner_is[CAY_CONFIRM_DIGEST];
        struct cay_confirm_row found = { 0 };

        if (cay_digest_sha256(token, strlen(token), token_is) < 0 ||
            cay_digest_sha256(owner, strlen(owner), owner_is) < 0 ||
            cay_digest_sha256(cay_buf_data(what), what->len, what_is) < 0)
                return no_digest(err);
        for (unsigned i = 0; i < CAY_CONFIRM_ROWS; i++) {
                struct cay_confirm_row *row = &c->rows[i];

                if (row->expires_ms > now_ms && cay_digest_equal(row->token, token_is, sizeof(token_is)) &&
                    cay_digest_equal(row->owner, owner_is, sizeof(owner_is))) {
                        found = *row;
                        *row = (struct cay_confirm_row){ 0 };
                }
        }
        if (found.expires_ms == 0)
                return cay_fail(
                        err, CAY_CONFLICT,
                        "confirm: is no confirmation that is still good; leave it out to get a new one");
        if (!cay_digest_equal(found.what, what_is, sizeof(what_is)))
                return cay_fail(
                        err, CAY_CONFLICT,
                        "confirm: was given for another request; repeat the one that was asked about, or "
                        "leave it out");
        return 0;
}
