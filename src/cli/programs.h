/* SPDX-License-Identifier: Apache-2.0 */
/* Where this program's siblings are. */
#pragma once

#include "base/error.h"

/* The folder of cay-init and cay-warden: beside this program in a build folder, in ../lib/cay once installed. */
int cay_cli_find_programs(char *dir, size_t size, struct cay_error *err);
