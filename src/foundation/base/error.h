/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One caller-owned error object: no allocation, no release. `err` is never NULL and is untouched on success.
 * The place that fails chooses the code; errno is detail. cay_fail(), cay_fail_sys() and cay_wrap() return
 * -1.
 */
#pragma once

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"

enum cay_code {
#define CAY_CODE(name, word, doc) CAY_##name,
#include "foundation/base/error_codes.def"
#undef CAY_CODE
        CAY_CODE_COUNT
};

enum cay_reason {
#define CAY_REASON(name, word, doc) CAY_REASON_##name,
#include "foundation/base/error_reasons.def"
#undef CAY_REASON
        CAY_REASON_COUNT
};

struct cay_error {
        enum cay_code code;
        enum cay_reason reason; /* more exact than the code; CAY_REASON_NONE for most */
        int sys;                /* errno, positive; 0 if none */
        char msg[256];          /* outermost context first; cut when full */
};

/* Sets code and text. */
int cay_fail(struct cay_error *err, enum cay_code code, const char *fmt, ...) CAY_PRINTF(3, 4);

/* The same, with a reason that callers decide by: never by the text. */
int cay_fail_because(struct cay_error *err, enum cay_code code, enum cay_reason reason, const char *fmt, ...)
        CAY_PRINTF(4, 5);

/* cay_fail() with a negative errno whose text is appended after ": ". */
int cay_fail_sys(struct cay_error *err, enum cay_code code, int neg_errno, const char *fmt, ...)
        CAY_PRINTF(4, 5);

/* Puts "context: " before the message that is there. */
int cay_wrap(struct cay_error *err, const char *fmt, ...) CAY_PRINTF(2, 3);

const char *cay_code_word(enum cay_code code);       /* "invalid"; never NULL */
const char *cay_reason_word(enum cay_reason reason); /* "paused"; "" for none; never NULL */
