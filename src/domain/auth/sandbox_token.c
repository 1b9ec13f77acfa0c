/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens that are valid for one sandbox. */
#include "domain/auth/sandbox_token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "domain/auth/digest.h"
#include "foundation/base/id.h"

int cay_sandbox_token_make(const struct cay_secret *secret, enum cay_sandbox_token_use use,
                           const char *sandbox, char ret[CAY_SANDBOX_TOKEN_LEN + 1])
{
        static const char *const words[CAY_SANDBOX_TOKEN_USE_COUNT] = { "cay sandbox access ",
                                                                        "cay sandbox traffic ",
                                                                        "cay volume " };
        char text[32 + CAY_NAME_MAX + 1];
        uint8_t mac[CAY_DIGEST_SIZE];
        int len = snprintf(text, sizeof(text), "%s%s", words[use], sandbox);

        ret[0] = '\0';
        if (len >= (int)sizeof(text) || cay_digest_hmac(secret, text, (size_t)len, mac) < 0)
                return -EIO;
        for (unsigned i = 0; i < sizeof(mac); i++)
                snprintf(ret + 2 * i, 3, "%02x", mac[i]);
        cay_digest_wipe(mac, sizeof(mac));
        return 0;
}

bool cay_sandbox_token_check(const struct cay_secret *secret, enum cay_sandbox_token_use use,
                             const char *sandbox, const char *text)
{
        char right[CAY_SANDBOX_TOKEN_LEN + 1];
        bool same;

        if (strlen(text) != CAY_SANDBOX_TOKEN_LEN || cay_sandbox_token_make(secret, use, sandbox, right) < 0)
                return false;
        same = cay_digest_equal(text, right, CAY_SANDBOX_TOKEN_LEN);
        cay_digest_wipe(right, sizeof(right));
        return same;
}
