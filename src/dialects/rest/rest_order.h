/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a client to a stream, in JSON: {"input": …, "input_base64": …, "eof": …, "rows": …, "cols": …,
 * "signal": …}.
 */
#pragma once

#include "foundation/json/json_in.h"
#include "domain/ops/op.h"

struct cay_rest_order {
        struct cay_op_order order; /* points into doc */
        bool has_order;
        struct cay_buf input; /* bytes to be given to the op */
        bool eof;             /* then nothing more */
        struct cay_json_in *doc;
};

/* CAY_INVALID: says what is wrong. max: of the input's bytes. Done is needed either way. */
int cay_rest_order_read(struct cay_rest_order *o, const char *bytes, size_t len, size_t max,
                        struct cay_error *err);
void cay_rest_order_done(struct cay_rest_order *o); /* fine when zeroed */
