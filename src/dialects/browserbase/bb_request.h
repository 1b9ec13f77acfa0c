/* SPDX-License-Identifier: Apache-2.0 */
/* Making a request of what HTTP brought: for browserbase.c. */
#pragma once

#include "dialects/browserbase/bb_priv.h"

/* Takes over the HTTP request. NULL: no memory, and it is still the caller's. */
struct bb_request *bb_request_new(struct cay_bb *bb, const struct bb_row *row, struct cay_http_request *req,
                                  const struct cay_visitor *v);
void bb_request_begin(struct bb_request *q); /* reads the body, if the row has one, then runs the row */
