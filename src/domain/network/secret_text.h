/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets that a sandbox may use, as text: how the front tells cay-net (links/net/net_message.h,
 * box_secrets). Lines, each with its newline:
 *
 *   ca HEX                                    the seed of the authority that the sandbox trusts, 64 digits;
 *                                             first
 *   secret HOST HEADER PLACEHOLDER VALUE      the value is the rest of the line
 *
 * An empty text: none.
 */
#pragma once

#include <stdint.h>

#include "domain/network/policy.h"
#include "foundation/base/buf.h"
#include "foundation/base/error.h"

#define CAY_SECRETS_MAX 32u /* of one sandbox */
#define CAY_SECRET_SEED 32
#define CAY_SECRET_HEADER_MAX 63
#define CAY_SECRET_PLACEHOLDER_MAX 63
#define CAY_SECRET_VALUE_MAX 2048

struct cay_net_secret {
        char host[CAY_POLICY_NAME_MAX + 1]; /* as cay_policy_name_fold leaves it */
        char header[CAY_SECRET_HEADER_MAX + 1];
        char placeholder[CAY_SECRET_PLACEHOLDER_MAX + 1];
        char value[CAY_SECRET_VALUE_MAX + 1];
};

struct cay_net_secrets {
        uint8_t ca[CAY_SECRET_SEED];
        unsigned count;
        struct cay_net_secret items[];
};

bool cay_secret_header_is_valid(
        const char *name); /* a token, and not one that frames messages or names hosts */
bool cay_secret_value_is_valid(const char *value); /* what a header's value may be */

int cay_secret_text_begin(struct cay_buf *out, const uint8_t ca[CAY_SECRET_SEED]);
int cay_secret_text_add(struct cay_buf *out, const struct cay_net_secret *s);
/* *ret: owned by the caller; NULL for an empty text. Error texts contain no value. */
int cay_secret_text_read(const char *text, size_t len, struct cay_net_secrets **ret, struct cay_error *err);
void cay_net_secrets_free(struct cay_net_secrets *s); /* wipes; accepts NULL */
