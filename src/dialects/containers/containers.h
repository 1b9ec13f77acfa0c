/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container manager's HTTP API (/containers…): lists a registry's environments, runs code in a new one,
 * and manages those that stay. Translation only; docs/api-001.md shows every row with its fields.
 */
#pragma once

#include "dialects/rest/rest.h"

extern const struct cay_rest_more cay_containers_rows[];
extern const unsigned cay_containers_count;
