/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bearer tokens: a claim, signed with the shared secret. The form is public (docs/tokens.md), so that whoever
 * has the secret makes one with a few lines of anything:
 *
 *     cay1.PAYLOAD.MAC     PAYLOAD = base64url({"o": owner, "s": scopes, "e": expiry, "i": id})
 *                          MAC     = base64url(HMAC-SHA256(secret, "cay1.PAYLOAD"))
 *
 * Theory of operation. The MAC is checked, in constant time, before a byte of the payload is looked at; then
 * the payload is read strictly. All refusals look alike to the caller; the reason is for the log. The expiry
 * is by the wall clock as domain/auth/token_clock.h sees it, without grace: at its second the token is over.
 * One that reaches further ahead than CAY_TOKEN_AHEAD_S is refused: long-lived access is what API keys are
 * for, and those can be revoked. Sessions of the page have the same form behind another word, so that neither
 * passes for the other.
 */
#pragma once

#include "domain/auth/scope.h"
#include "domain/auth/secret.h"

#define CAY_TOKEN_MAX 512              /* bytes of a token */
#define CAY_TOKEN_LIFETIME_S 1800      /* the default lifetime */
#define CAY_TOKEN_AHEAD_S (86400 + 60) /* a day, and a minute for clocks that differ */

enum cay_token_use {
        CAY_TOKEN_BEARER,  /* "cay1." */
        CAY_TOKEN_SESSION, /* "cays1." */
        CAY_TOKEN_PORT,    /* "cayp1.": one port of one sandbox, named by its id */
        CAY_TOKEN_USE_COUNT
};

enum cay_token_verdict {
        CAY_TOKEN_OK,
        CAY_TOKEN_MALFORMED,
        CAY_TOKEN_FORGED,
        CAY_TOKEN_EXPIRED,
        CAY_TOKEN_TOO_FAR, /* expiry too far ahead */
        CAY_TOKEN_VERDICT_COUNT
};

struct cay_token {
        struct cay_caller caller; /* caller.id is the token's id; "": none */
        uint64_t expires_s;
};

/* Fills ret (CAY_TOKEN_MAX + 1 bytes); an empty caller.id gets a random one. CAY_INVALID: owner, scopes. */
int cay_token_make(const struct cay_secret *secret, enum cay_token_use use, struct cay_token *token,
                   char ret[CAY_TOKEN_MAX + 1], struct cay_error *err);
enum cay_token_verdict cay_token_check(const struct cay_secret *secret, enum cay_token_use use,
                                       const char *text, size_t len, uint64_t now_s, struct cay_token *ret);
/*
 * The id of a token that is valid only for a WebSocket at one path: "ws+" and the path with '+' for each
 * slash, without the prefix that all sandboxes' paths share. False: the path has a '+' or is too long, so no
 * such token can be made.
 */
bool cay_token_ws_label(const char *path, char ret[CAY_OWNER_MAX + 1]);
const char *cay_token_verdict_word(enum cay_token_verdict v); /* for the log */
/*
 * Parses the payload, after the MAC was checked: the last step of cay_token_check. Public for tests and the
 * fuzzer.
 */
enum cay_token_verdict cay_token_read_payload(const char *json, size_t len, uint64_t now_s,
                                              struct cay_token *ret);
