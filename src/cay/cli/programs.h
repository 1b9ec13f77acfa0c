/* SPDX-License-Identifier: Apache-2.0 */
/* Where this program's siblings are. */
#pragma once

#include "foundation/base/error.h"

/*
 * The folder of cay-init and cay-warden: beside this program in a build folder, in ../lib/cay once installed.
 */
int cay_cli_find_programs(char *dir, size_t size, struct cay_error *err);
/*
 * What needs libraries (cryptography, YAML) is cay-front's: it is executed with our words, argv[0] being the
 * verb. Returns when that fails.
 */
int cay_cli_become_front(int argc, char **argv, struct cay_error *err);
/*
 * A bearer token made of a shared secret, by cay-front in a child that gets the secret in an environment of
 * its own.
 */
int cay_cli_make_token(const char *secret, char *ret, size_t size, struct cay_error *err);
