/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The op table as an OpenAPI 3.1 document: paths, parameters and bodies from the rows' fields, answers from
 * their results.
 */
#pragma once

#include "dialects/rest/rest_reference.h"

int cay_openapi_put(const struct cay_rest_listing *l, struct cay_buf *out); /* appends; 0 or -errno */
