/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids of sandboxes and runs: 28 lowercase letters and digits, the first a letter (a DNS label): node (2),
 * node epoch (2) and 24 of 32-letter alphabet = 120 random bits. Names given by callers ("--id") follow
 * cay_id_is_valid too: 1 to 63 of [a-z0-9-], starting and ending with a letter or digit.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CAY_ID_LEN 28
#define CAY_NAME_MAX 63

#define CAY_ID_NODES 832   /* 26 × 32: the first character is a letter */
#define CAY_ID_EPOCHS 1024 /* 32 × 32 */

/*
 * Fills ret (CAY_ID_LEN + 1 bytes) from 15 random bytes. Node below CAY_ID_NODES, epoch below CAY_ID_EPOCHS.
 */
void cay_id_make(char ret[CAY_ID_LEN + 1], unsigned node, unsigned epoch, const uint8_t random[15]);
bool cay_id_is_made(const char *id);  /* has the form that cay_id_make gives */
bool cay_id_is_valid(const char *id); /* any id or name that callers may use */
