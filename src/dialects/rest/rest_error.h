/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One form for every error: {"error": {"code", "message", "field", "request_id"}}, and which status a code
 * is.
 */
#pragma once

#include "foundation/base/buf.h"
#include "foundation/base/error.h"

#define CAY_REST_ERROR_MAX 8192u
#define CAY_REST_WORDS_MAX 32u
#define CAY_REST_JSON "application/json; charset=utf-8"

struct cay_rest_error {
        unsigned status;
        const char *code;                         /* word */
        const char *message, *field, *request_id; /* field NULL: none */
        const char *reason;                       /* NULL or "": the code says it (base/error_reasons.def) */
        const char *first;                        /* NULL, or what the first use of a single-use id made */
        /* NULL, or the token that the same request is to come back with; message says what for */
        const char *confirm;
};

unsigned cay_rest_status(enum cay_code code);
const char *cay_rest_status_code(
        unsigned status); /* the word for errors that have a status and no code of ours */
/* Every word that an error's code can be, each once; how many. */
unsigned cay_rest_error_words(const char *ret[static CAY_REST_WORDS_MAX]);
/* Appends; 0 or -errno. */
int cay_rest_error_put(struct cay_buf *out, const struct cay_rest_error *e);
