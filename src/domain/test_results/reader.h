/* SPDX-License-Identifier: Apache-2.0 */
/* What the two formats share: texts of a bounded size, and the case that is being read. */
#pragma once

#include "domain/test_results/test_results.h"
#include "domain/test_results/xml.h"

struct cay_test_text { /* cut when full */
        size_t len;
        bool is_cut;
        char text[CAY_TEST_TEXT_MAX + 1];
};

struct cay_test_name {
        char text[CAY_TEST_NAME_MAX + 1];
};

struct cay_test_draft { /* a case that is not complete yet */
        struct cay_test_name name, class_name, file;
        struct cay_test_text message, text;
        enum cay_test_status status;
        int64_t duration_us;
        uint64_t line;
};

struct cay_test_junit {
        struct cay_xml xml;
        unsigned depth, suites, cases; /* suites, cases: how many are open */
        unsigned kinds[CAY_XML_DEPTH_MAX];
        bool is_deep, takes_text;
        struct cay_test_name suite_names[CAY_TEST_SUITES_MAX];
};

struct cay_test_tap {
        char line[CAY_TEST_TEXT_MAX + 1];
        size_t line_len;
        bool is_open;    /* the draft is of a test whose diagnosis may follow */
        bool in_yaml;    /* between --- and ... */
        bool has_ended;  /* bailed out */
        unsigned indent; /* of the draft's line */
        uint64_t planned, seen;
        bool has_plan;
        struct cay_test_name subtests[CAY_TEST_SUITES_MAX];
};

struct cay_test_reader {
        enum cay_test_format format;
        void (*on_case)(void *ctx, const struct cay_test_case *c);
        void *ctx;
        bool is_sniffed;
        unsigned blanks; /* of the line on which the first byte that says something is */
        struct cay_test_draft draft;
        union {
                struct cay_test_junit junit;
                struct cay_test_tap tap;
        };
};

void cay_test_text_put(struct cay_test_text *t, const char *bytes, size_t len);
void cay_test_name_set(struct cay_test_name *n, const char *text, size_t len);
void cay_test_draft_begin(struct cay_test_reader *r);
void cay_test_draft_tell(struct cay_test_reader *r, const char *suite);
int64_t cay_test_duration(const char *text, int64_t unit_us); /* "1.25", "1,234.5"; -1: none */

void cay_test_junit_begin(struct cay_test_reader *r);
int cay_test_junit_feed(struct cay_test_reader *r, const char *bytes, size_t len, struct cay_error *err);
int cay_test_junit_end(struct cay_test_reader *r, struct cay_error *err);
void cay_test_tap_begin(struct cay_test_reader *r);
int cay_test_tap_feed(struct cay_test_reader *r, const char *bytes, size_t len, struct cay_error *err);
int cay_test_tap_end(struct cay_test_reader *r, struct cay_error *err);
