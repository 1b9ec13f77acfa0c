/* SPDX-License-Identifier: Apache-2.0 */
/* The op table as an OpenAPI 3.1 document: paths, parameters and bodies from the rows' fields, answers from op/answers.h. */
#pragma once

#include "base/buf.h"

int cay_openapi_put(struct cay_buf *out); /* appends; 0 or -errno */
