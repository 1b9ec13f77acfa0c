/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens: 6 bytes of time, 2 random bytes, 12 bytes of digest, as 32 letters. */
#include "domain/ops/confirm.h"

#include <stdio.h>
#include <string.h>

#include "domain/auth/digest.h"

#define TIME_BYTES 6
#define CHANCE_BYTES 2
#define MAC_AT (TIME_BYTES + CHANCE_BYTES)
#define TOKEN_BYTES 20
_Static_assert(TOKEN_BYTES * 8 == CAY_CONFIRM_TOKEN * 5, "a letter for every five bits");

static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";

static int no_digest(struct cay_error *err)
{
        return cay_fail(err, CAY_INTERNAL, "make a confirmation");
}

/* Five bits at a time, the highest first. */
static void to_letters(const uint8_t bytes[TOKEN_BYTES], char ret[CAY_CONFIRM_TOKEN + 1])
{
        for (unsigned i = 0; i < CAY_CONFIRM_TOKEN; i++) {
                unsigned value = 0;

                for (unsigned bit = 5 * i; bit < 5 * i + 5; bit++)
                        value = 2 * value + (bytes[bit / 8] >> (7 - bit % 8) & 1);
                ret[i] = letters[value];
        }
        ret[CAY_CONFIRM_TOKEN] = '\0';
}

static int from_letters(const char *text, uint8_t ret[TOKEN_BYTES])
{
        memset(ret, 0, TOKEN_BYTES);
        if (strlen(text) != CAY_CONFIRM_TOKEN || strspn(text, letters) != CAY_CONFIRM_TOKEN)
                return -1;
        for (unsigned bit = 0; bit < TOKEN_BYTES * 8; bit++) {
                unsigned value = (unsigned)(strchr(letters, text[bit / 5]) - letters);

                ret[bit / 8] |= (uint8_t)((value >> (4 - bit % 5) & 1) << (7 - bit % 8));
        }
        return 0;
}

/*
 * The digest covers everything, including the token's first bytes. No other use of the secret begins with
 * this word.
 */
static int sign(const struct cay_confirms *c, const char *owner, const struct cay_buf *what,
                const uint8_t *head, uint8_t ret[CAY_DIGEST_SIZE])
{
        static const char use[] = "confirmation";
        uint8_t text[sizeof(use) + MAC_AT + 2 * CAY_DIGEST_SIZE], *at = text;

        if (!c->secret)
                return -1;
        memcpy(at, use, sizeof(use));
        memcpy(at += sizeof(use), head, MAC_AT);
        at += MAC_AT;
        if (cay_digest_sha256(owner, strlen(owner), at) < 0 ||
            cay_digest_sha256(cay_buf_data(what), what->len, at + CAY_DIGEST_SIZE) < 0)
                return -1;
        return cay_digest_hmac(c->secret, text, sizeof(text), ret);
}

int cay_confirm_ask(const struct cay_confirms *c, const char *owner, const struct cay_buf *what,
                    uint64_t now_ms, char ret_token[CAY_CONFIRM_TOKEN + 1], struct cay_error *err)
{
        uint8_t token[TOKEN_BYTES], mac[CAY_DIGEST_SIZE];
        uint64_t ends_ms = now_ms + CAY_CONFIRM_MS;

        for (unsigned i = 0; i < TIME_BYTES; i++)
                token[i] = (uint8_t)(ends_ms >> (8 * (TIME_BYTES - 1 - i)));
        if (cay_digest_random(token + TIME_BYTES, CHANCE_BYTES) < 0 || sign(c, owner, what, token, mac) < 0)
                return no_digest(err);
        memcpy(token + MAC_AT, mac, TOKEN_BYTES - MAC_AT);
        to_letters(token, ret_token);
        return 0;
}

int cay_confirm_check(const struct cay_confirms *c, const char *owner, const struct cay_buf *what,
                      const char *token, uint64_t now_ms, bool *ret_is_right,
                      char ret_claim[CAY_CONFIRM_CLAIM], struct cay_error *err)
{
        uint8_t bytes[TOKEN_BYTES], mac[CAY_DIGEST_SIZE];
        bool formed = from_letters(token, bytes) == 0;
        uint64_t ends_ms = 0;

        for (unsigned i = 0; i < TIME_BYTES; i++)
                ends_ms = ends_ms << 8 | bytes[i];
        if (!formed || ends_ms <= now_ms || ends_ms > now_ms + CAY_CONFIRM_MS)
                return cay_fail(err, CAY_CONFLICT,
                                "confirm: not a valid confirmation; leave it out to get a new one");
        if (sign(c, owner, what, bytes, mac) < 0)
                return no_digest(err);
        *ret_is_right = cay_digest_equal(bytes + MAC_AT, mac, TOKEN_BYTES - MAC_AT);
        snprintf(ret_claim, CAY_CONFIRM_CLAIM, "confirm %s", token);
        return 0;
}
