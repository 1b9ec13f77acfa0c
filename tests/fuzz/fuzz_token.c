/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens from strangers: the text as it is (never passes, for nobody guesses a MAC), its payload as if the
 * MAC were right, and the same bytes as API key, login and base64url.
 */

#include <stdint.h>

#include "domain/auth/api_key.h"
#include "foundation/base/base64.h"
#include "domain/auth/login.h"
#include "domain/auth/token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

enum { NOW = 1700000000 };

static void fuzz_payload(const char *text, size_t size)
{
        const struct cay_secret secret = { .bytes = "another secret", .len = 14 };
        char made[CAY_TOKEN_MAX + 1];
        struct cay_token t, again;
        struct cay_error err;

        if (cay_token_read_payload(text, size, NOW, &t) != CAY_TOKEN_OK)
                return;
        HOLDS(cay_owner_is_valid(t.caller.owner) && cay_scope_has(t.caller.scopes, CAY_SCOPE_READ));
        HOLDS(t.expires_s > NOW && t.expires_s - NOW <= CAY_TOKEN_AHEAD_S);
        /* Whatever passes can be made by us and passes again. */
        HOLDS(cay_token_make(&secret, CAY_TOKEN_BEARER, &t, made, &err) == 0);
        HOLDS(cay_token_check(&secret, CAY_TOKEN_BEARER, made, strlen(made), NOW, &again) == CAY_TOKEN_OK);
        HOLDS(strcmp(again.caller.owner, t.caller.owner) == 0 && again.caller.scopes == t.caller.scopes);
}

static void fuzz_base64(const char *text, size_t size)
{
        char bytes[512], back[700];
        ssize_t n = cay_base64url_decode(text, size, bytes, sizeof(bytes));

        if (n < 0)
                return;
        HOLDS((size_t)n <= sizeof(bytes));
        HOLDS(cay_base64url_encode(bytes, (size_t)n, back, sizeof(back)) == (ssize_t)size);
        HOLDS(memcmp(back, text, size) == 0); /* one form per value */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const struct cay_secret secret = { .bytes = "a secret of some length", .len = 23 };
        struct cay_logins logins = { 0 };
        const char *text = (const char *)data;
        struct cay_caller caller;
        struct cay_token t;

        HOLDS(cay_token_check(&secret, CAY_TOKEN_BEARER, text, size, NOW, &t) != CAY_TOKEN_OK);
        HOLDS(cay_token_check(&secret, CAY_TOKEN_SESSION, text, size, NOW, &t) != CAY_TOKEN_OK);
        HOLDS(!cay_login_take(&logins, text, size, 1, &caller));
        if (cay_api_key_is_one(text, size))
                HOLDS(size == CAY_API_KEY_LEN || size == CAY_API_KEY_E2B_LEN);
        fuzz_payload(text, size);
        fuzz_base64(text, size);
        return 0;
}
