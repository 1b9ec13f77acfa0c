/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JUnit XML: testsuite elements with testcase elements, whose child says how the case ended. Elements that
 * are not known (properties, system-out, flakyFailure …) are passed over with everything in them.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/test_results/reader.h"

enum kind { OTHER, SUITE, CASE, ENDING };

static unsigned kind_of(const char *name)
{
        if (strcmp(name, "testsuite") == 0)
                return SUITE;
        if (strcmp(name, "testcase") == 0)
                return CASE;
        return strcmp(name, "failure") == 0 || strcmp(name, "error") == 0 || strcmp(name, "skipped") == 0
                       ? ENDING
                       : OTHER;
}

static enum cay_test_status status_of(const char *name)
{
        return name[0] == 'f' ? CAY_TEST_FAILED : name[0] == 'e' ? CAY_TEST_ERROR : CAY_TEST_SKIPPED;
}

static void on_open(void *ctx, const char *name)
{
        struct cay_test_reader *r = ctx;
        struct cay_test_junit *j = &r->junit;
        unsigned kind = kind_of(name), parent = j->depth > 0 ? j->kinds[j->depth - 1] : OTHER;

        if (kind == ENDING &&
            parent != CASE) /* testsuite has attributes with these names, and no such children */
                kind = OTHER;
        if (kind == CASE && j->cases > 0)
                kind = OTHER;
        if (kind == SUITE && j->cases > 0)
                kind = OTHER;
        if (kind == SUITE && ++j->suites > CAY_TEST_SUITES_MAX)
                j->is_deep = true;
        else if (kind == SUITE)
                j->suite_names[j->suites - 1].text[0] = '\0';
        if (kind == CASE) {
                j->cases = 1;
                cay_test_draft_begin(r);
        }
        j->takes_text = false;
        if (kind == ENDING) {
                enum cay_test_status status = status_of(name);

                /* The first that says most: a failure and then an error in its cleaning up is a failure. */
                if (r->draft.status == CAY_TEST_PASSED || r->draft.status == CAY_TEST_SKIPPED) {
                        r->draft.status = status;
                        j->takes_text = true;
                } else {
                        kind = OTHER;
                }
        }
        j->kinds[j->depth++] = kind; /* the depth is the document's, which has the same maximum */
}

static void on_case_attribute(struct cay_test_draft *d, const char *name, const char *value)
{
        size_t len = strlen(value);

        if (strcmp(name, "name") == 0)
                cay_test_name_set(&d->name, value, len);
        else if (strcmp(name, "classname") == 0)
                cay_test_name_set(&d->class_name, value, len);
        else if (strcmp(name, "file") == 0)
                cay_test_name_set(&d->file, value, len);
        else if (strcmp(name, "line") == 0)
                d->line =
                        len < 10 && value[strspn(value, "0123456789")] == '\0' ? strtoul(value, NULL, 10) : 0;
        else if (strcmp(name, "time") == 0)
                d->duration_us = cay_test_duration(value, 1000000);
}

static void on_attribute(void *ctx, const char *name, const char *value, bool is_cut)
{
        struct cay_test_reader *r = ctx;
        struct cay_test_junit *j = &r->junit;
        unsigned kind = j->kinds[j->depth - 1];

        if (kind == SUITE && !j->is_deep && strcmp(name, "name") == 0)
                cay_test_name_set(&j->suite_names[j->suites - 1], value, strlen(value));
        else if (kind == CASE)
                on_case_attribute(&r->draft, name, value);
        else if (kind == ENDING && strcmp(name, "message") == 0 && r->draft.message.len == 0) {
                cay_test_text_put(&r->draft.message, value, strlen(value));
                r->draft.message.is_cut |= is_cut;
        }
}

static void on_text(void *ctx, const char *bytes, size_t len)
{
        struct cay_test_reader *r = ctx;
        struct cay_test_junit *j = &r->junit;

        if (j->takes_text && j->kinds[j->depth - 1] == ENDING)
                cay_test_text_put(&r->draft.text, bytes, len);
}

static void on_close(void *ctx)
{
        struct cay_test_reader *r = ctx;
        struct cay_test_junit *j = &r->junit;
        unsigned kind = j->kinds[--j->depth];

        if (kind == SUITE) {
                j->suites--;
        } else if (kind == CASE) {
                j->cases = 0;
                cay_test_draft_tell(r,
                                    j->suites > 0 && !j->is_deep ? j->suite_names[j->suites - 1].text : "");
        }
}

static const struct cay_xml_events events = { on_open, on_attribute, on_text, on_close };

void cay_test_junit_begin(struct cay_test_reader *r)
{
        cay_xml_init(&r->junit.xml, &events, r);
}

int cay_test_junit_feed(struct cay_test_reader *r, const char *bytes, size_t len, struct cay_error *err)
{
        int n = cay_xml_feed(&r->junit.xml, bytes, len, err);

        if (n == 0 && r->junit.is_deep)
                return cay_fail(err, CAY_INVALID, "suites are nested deeper than %u", CAY_TEST_SUITES_MAX);
        return n;
}

int cay_test_junit_end(struct cay_test_reader *r, struct cay_error *err)
{
        return cay_xml_end(&r->junit.xml, err);
}
