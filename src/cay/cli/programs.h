/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the other programs of Cay. */
#pragma once

#include "foundation/base/error.h"

/* The folder of cay-init and cay-warden: beside this program in a build folder, ../lib/cay when installed. */
int cay_cli_find_programs(char *dir, size_t size, struct cay_error *err);
/*
 * Executes cay-front with our arguments, argv[0] being the verb, for what needs libraries (cryptography,
 * YAML). Returns only on failure.
 */
int cay_cli_become_front(int argc, char **argv, struct cay_error *err);
/*
 * Makes a bearer token from a shared secret: cay-front does it in a child, which gets the secret in its own
 * environment.
 */
int cay_cli_make_token(const char *secret, char *ret, size_t size, struct cay_error *err);
