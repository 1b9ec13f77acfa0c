/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox service's HTTP API (/health, /healthz, /sandbox/…): one request runs one piece of code.
 * Translation only; docs/api-003.md shows every row with its fields.
 */
#pragma once

#include "dialects/rest/rest.h"

extern const struct cay_rest_more cay_service_rows[];
extern const unsigned cay_service_count;
