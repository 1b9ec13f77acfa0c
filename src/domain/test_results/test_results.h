/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of tests, read from what test programs write: JUnit XML and TAP. Bytes are pushed in pieces of any
 * size; each case is told as soon as it is complete. Memory is bounded, whatever is pushed. The bytes come
 * out of sandboxes: nothing in them is trusted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foundation/base/error.h"

#define CAY_TEST_TEXT_MAX 4095u /* of a case's message, and of its text */
#define CAY_TEST_NAME_MAX 511u  /* of its other members */
#define CAY_TEST_SUITES_MAX 16u /* that are open at once */

enum cay_test_format { CAY_TEST_AUTO, CAY_TEST_JUNIT, CAY_TEST_TAP };
enum cay_test_status {
        CAY_TEST_PASSED,
        CAY_TEST_FAILED, /* an expectation was not met */
        CAY_TEST_ERROR,  /* it could not be carried out */
        CAY_TEST_SKIPPED,
        CAY_TEST_STATUS_COUNT
};

struct cay_test_case { /* texts are valid during the call; "": none */
        const char *suite, *name, *class_name, *file;
        const char *message; /* why it did not pass, in a line */
        const char *text;    /* the same at length: a trace, a diagnosis */
        enum cay_test_status status;
        bool is_cut;         /* of message and text */
        int64_t duration_us; /* -1: not known */
        uint64_t line;       /* in file; 0: not known */
};

struct cay_test_reader;

/* on_case is called from feed and end. NULL: no memory. */
struct cay_test_reader *cay_test_reader_new(enum cay_test_format format,
                                            void (*on_case)(void *ctx, const struct cay_test_case *c),
                                            void *ctx);
void cay_test_reader_free(struct cay_test_reader *r); /* accepts NULL */
CAY_DEFINE_AUTO(struct cay_test_reader, cay_test_reader_free)
/* -1: what was pushed is no such results. Cases that were told stay true; nothing more may be pushed. */
int cay_test_reader_feed(struct cay_test_reader *r, const char *bytes, size_t len, struct cay_error *err);
int cay_test_reader_end(struct cay_test_reader *r, struct cay_error *err);
enum cay_test_format cay_test_reader_format(const struct cay_test_reader *r); /* AUTO: not known yet */

const char *cay_test_status_word(enum cay_test_status status); /* "passed" */
const char *cay_test_format_word(enum cay_test_format format); /* "junit" */
