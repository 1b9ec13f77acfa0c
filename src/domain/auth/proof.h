/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a daemon and an agent prove to each other who they are: Ed25519 signatures, and while they are paired
 * also a code that a person carried from one to the other. What is signed begins with the signer's role, so
 * neither side's proof can be sent back to it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAY_PROOF_KEY 32
#define CAY_PROOF_SIGNATURE 64
#define CAY_PROOF_MAC 32
#define CAY_PROOF_PRINT 20 /* of a fingerprint, with its NUL: "ab12-cd34-ef56-7890" */
#define CAY_PROOF_CODE_ID 5
#define CAY_PROOF_CODE 24 /* of a code, with its NUL: "abcde-fghjk-mnpqr-stuvw" */

struct cay_proof_pair {
        uint8_t seed[CAY_PROOF_KEY]; /* secret */
        uint8_t key[CAY_PROOF_KEY];  /* public */
};

int cay_proof_pair_from_seed(const uint8_t seed[CAY_PROOF_KEY], struct cay_proof_pair *ret); /* 0 or -EIO */
int cay_proof_sign(const struct cay_proof_pair *pair, const char *role, const void *bytes, size_t len,
                   uint8_t ret[CAY_PROOF_SIGNATURE]);
bool cay_proof_is_signed(const uint8_t key[CAY_PROOF_KEY], const char *role, const void *bytes, size_t len,
                         const uint8_t signature[CAY_PROOF_SIGNATURE]);
/* By a code, which has 75 random bits behind its first five characters. */
int cay_proof_mac(const char *code, const char *role, const void *bytes, size_t len,
                  uint8_t ret[CAY_PROOF_MAC]);
/* For people, to compare a key on two screens. */
void cay_proof_print(const uint8_t key[CAY_PROOF_KEY], char ret[CAY_PROOF_PRINT]);

int cay_proof_code_make(char ret[CAY_PROOF_CODE]);
/* A code as a person typed it: capitals, blanks and missing dashes are fine. False: it is none. */
bool cay_proof_code_read(const char *text, char ret[CAY_PROOF_CODE]);
