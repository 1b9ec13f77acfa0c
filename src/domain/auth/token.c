/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens; token.h has the theory of operation. */

#include "domain/auth/token.h"

#include <sys/types.h>

#include "foundation/base/base64.h"
#include "domain/auth/digest.h"
#include "foundation/base/json_out.h"
#include "foundation/base/str.h"
#include "foundation/json/json_in.h"

enum {
        MAC_LEN = 43,      /* 32 bytes in base64url */
        PAYLOAD_MAX = 320, /* of JSON */
        ID_BYTES = 9,      /* of a random id */
};

static const char *const words[] = {
        [CAY_TOKEN_BEARER] = "cay1.", [CAY_TOKEN_SESSION] = "cays1.", [CAY_TOKEN_PORT] = "cayp1."
};
_Static_assert(CAY_COUNT(words) == CAY_TOKEN_USE_COUNT, "a word for every use");

static const char *const verdicts[] = {
        [CAY_TOKEN_OK] = "ok",           [CAY_TOKEN_MALFORMED] = "malformed", [CAY_TOKEN_FORGED] = "forged",
        [CAY_TOKEN_EXPIRED] = "expired", [CAY_TOKEN_TOO_FAR] = "too_far",
};
_Static_assert(CAY_COUNT(verdicts) == CAY_TOKEN_VERDICT_COUNT, "a word for every verdict");

struct claims {
        const char *owner, *scopes, *id;
        uint64_t expires_s;
};

static const struct cay_field fields[] = {
        { "o", CAY_FIELD_TEXT, offsetof(struct claims, owner), CAY_FIELD_REQUIRED, "owner",
          .max = CAY_OWNER_MAX },
        { "s", CAY_FIELD_TEXT, offsetof(struct claims, scopes), CAY_FIELD_REQUIRED, "scopes",
          .max = CAY_SCOPE_TEXT_MAX },
        { "e", CAY_FIELD_U64, offsetof(struct claims, expires_s), CAY_FIELD_REQUIRED,
          "expiry, seconds since 1970" },
        { "i", CAY_FIELD_TEXT, offsetof(struct claims, id), 0, "id", .max = CAY_OWNER_MAX },
        {},
};

const char *cay_token_verdict_word(enum cay_token_verdict v)
{
        return (unsigned)v < CAY_COUNT(verdicts) ? verdicts[v] : "unknown";
}

/* Appends base64url(payload) after the `ret_len` bytes that are there. */
static int add_payload(const struct cay_token *token, char *ret, size_t *ret_len)
{
        cay_auto_buf struct cay_buf b;
        struct cay_json j;
        ssize_t n;

        cay_buf_init(&b, PAYLOAD_MAX);
        cay_json_init(&j, &b);
        cay_json_begin_object(&j);
        cay_json_key(&j, "o");
        cay_json_text(&j, token->caller.owner);
        cay_json_key(&j, "s");
        cay_json_text(&j, cay_scope_text(token->caller.scopes));
        cay_json_key(&j, "e");
        cay_json_u64(&j, token->expires_s);
        cay_json_key(&j, "i");
        cay_json_text(&j, token->caller.id);
        cay_json_end_object(&j);
        if (cay_json_end(&j) < 0)
                return -1;
        n = cay_base64url_encode(cay_buf_data(&b), b.len, ret + *ret_len, CAY_TOKEN_MAX + 1 - *ret_len);
        if (n < 0)
                return -1;
        *ret_len += (size_t)n;
        return 0;
}

static int add_mac(const struct cay_secret *secret, char *ret, size_t len)
{
        uint8_t mac[CAY_DIGEST_SIZE];

        if (len + 1 + MAC_LEN > CAY_TOKEN_MAX || cay_digest_hmac(secret, ret, len, mac) < 0)
                return -1;
        ret[len] = '.';
        return cay_base64url_encode(mac, sizeof(mac), ret + len + 1, CAY_TOKEN_MAX - len) < 0 ? -1 : 0;
}

static int give_id(struct cay_token *token)
{
        uint8_t random[ID_BYTES];

        if (token->caller.id[0] != '\0')
                return 0;
        if (cay_digest_random(random, sizeof(random)) < 0)
                return -1;
        return cay_base64url_encode(random, sizeof(random), token->caller.id, sizeof(token->caller.id)) < 0
                       ? -1
                       : 0;
}

int cay_token_make(const struct cay_secret *secret, enum cay_token_use use, struct cay_token *token,
                   char ret[CAY_TOKEN_MAX + 1], struct cay_error *err)
{
        size_t len = strlen(words[use]);

        if (!cay_owner_is_valid(token->caller.owner))
                return cay_fail(err, CAY_INVALID,
                                "'%.63s' is not a valid owner: 1 to 63 letters, digits or . _ @ : + -",
                                token->caller.owner);
        if (!cay_scope_has(token->caller.scopes, CAY_SCOPE_READ))
                return cay_fail(err, CAY_INVALID, "a token needs a scope (read, exec or admin)");
        memcpy(ret, words[use], len + 1);
        if (give_id(token) < 0 || add_payload(token, ret, &len) < 0 || add_mac(secret, ret, len) < 0)
                return cay_fail(err, CAY_INTERNAL, "a token could not be made");
        return 0;
}

static bool is_id(const char *id)
{
        return strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@:+-") ==
               strlen(id);
}

enum cay_token_verdict cay_token_read_payload(const char *json, size_t len, uint64_t now_s,
                                              struct cay_token *ret)
{
        const struct cay_json_in_limits limits = { .bytes = PAYLOAD_MAX, .values = 16, .depth = 1 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct claims c = { .id = "" };
        struct cay_error err;
        struct cay_token t;

        if (cay_json_in_parse(json, len, &limits, &doc, &err) < 0 ||
            cay_json_in_read(doc, cay_json_in_root(doc), fields, &c, NULL, &err) < 0)
                return CAY_TOKEN_MALFORMED;
        t = (struct cay_token){ .expires_s = c.expires_s };
        if (!cay_owner_is_valid(c.owner) || !is_id(c.id) ||
            cay_scope_parse(c.scopes, &t.caller.scopes, &err) < 0)
                return CAY_TOKEN_MALFORMED;
        cay_str_copy(t.caller.owner, sizeof(t.caller.owner), c.owner);
        cay_str_copy(t.caller.id, sizeof(t.caller.id), c.id);
        if (c.expires_s <= now_s)
                return CAY_TOKEN_EXPIRED;
        if (c.expires_s - now_s > CAY_TOKEN_AHEAD_S)
                return CAY_TOKEN_TOO_FAR;
        *ret = t;
        return CAY_TOKEN_OK;
}

/* The offset of the MAC's dot, or 0: a token is word, payload, dot, 43 characters. */
static size_t find_dot(const char *text, size_t len, size_t word_len)
{
        size_t dot = len > MAC_LEN ? len - MAC_LEN - 1 : 0;

        return dot > word_len && text[dot] == '.' && !memchr(text + word_len, '.', dot - word_len) ? dot : 0;
}

enum cay_token_verdict cay_token_check(const struct cay_secret *secret, enum cay_token_use use,
                                       const char *text, size_t len, uint64_t now_s, struct cay_token *ret)
{
        uint8_t given[CAY_DIGEST_SIZE] = { 0 }, right[CAY_DIGEST_SIZE];
        size_t word_len = strlen(words[use]), dot;
        char payload[PAYLOAD_MAX];
        bool formed, equal;
        ssize_t n;

        if (len > CAY_TOKEN_MAX)
                return CAY_TOKEN_MALFORMED;
        dot = find_dot(text, len, word_len);
        formed = dot > 0 && memcmp(text, words[use], word_len) == 0 &&
                 cay_base64url_decode(text + dot + 1, MAC_LEN, given, sizeof(given)) == CAY_DIGEST_SIZE;
        /* A malformed token takes as long as a forged one. */
        if (cay_digest_hmac(secret, text, formed ? dot : len, right) < 0)
                return CAY_TOKEN_FORGED;
        equal = cay_digest_equal(given, right, sizeof(right));
        if (!formed)
                return CAY_TOKEN_MALFORMED;
        if (!equal)
                return CAY_TOKEN_FORGED;
        n = cay_base64url_decode(text + word_len, dot - word_len, payload, sizeof(payload));
        return n < 0 ? CAY_TOKEN_MALFORMED : cay_token_read_payload(payload, (size_t)n, now_s, ret);
}

bool cay_token_ws_label(const char *path, char ret[CAY_OWNER_MAX + 1])
{
        static const char common[] = "/api/sandboxes/";
        int n;

        if (strncmp(path, common, sizeof(common) - 1) == 0)
                path += sizeof(common) - 1;
        n = snprintf(ret, CAY_OWNER_MAX + 1, "ws+%s", path);
        if (n < 0 || n > (int)CAY_OWNER_MAX || strchr(path, '+') != NULL || strchr(path, ':') != NULL)
                return false;
        for (char *at = strchr(ret, '/'); at; at = strchr(at, '/'))
                *at = '+';
        return true;
}
