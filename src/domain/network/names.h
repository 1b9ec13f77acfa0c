/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses that stand for names: what a sandbox gets for an answer, and what it then connects to. Per
 * sandbox; a name keeps its address for as long as it is known. When the table is full the name that was used
 * longest ago gives way, and its number is not given again before all others were: a program that kept the
 * old address then reaches nobody, never somebody else.
 */
#pragma once

#include "domain/network/address.h"
#include "domain/network/policy.h"

#define CAY_NAMES_MAX 1024u /* of one sandbox */

struct cay_names; /* private */

struct cay_names *cay_names_new(void); /* NULL: no memory */
void cay_names_free(struct cay_names *n);
/* The address of a folded name, made if it has none. v6: which of its two. -1: no memory. */
int cay_names_address(struct cay_names *n, const char *name, bool v6, struct cay_address *ret);
/* The name that an address stands for; NULL: none. Good until the next call. */
const char *cay_names_find(struct cay_names *n, const struct cay_address *a);
bool cay_names_is_one(const struct cay_address *a); /* of either range, known or not */
