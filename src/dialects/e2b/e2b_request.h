/* SPDX-License-Identifier: Apache-2.0 */
/* Making a request of what HTTP brought: for e2b.c. */
#pragma once

#include "dialects/e2b/e2b_priv.h"

/* Takes over the HTTP request. NULL: no memory, and it is still the caller's. */
struct e2b_request *e2b_request_new(struct cay_e2b *e, const struct e2b_row *row,
                                    struct cay_http_request *req, const struct cay_visitor *v);
void e2b_request_begin(struct e2b_request *q); /* reads the body, if the row has one, then runs the row */
