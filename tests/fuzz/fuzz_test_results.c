/* SPDX-License-Identifier: Apache-2.0 */
/* Results of tests from strangers: whatever the pieces, the same cases, with ended and bounded texts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "domain/test_results/test_results.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sum {
        uint64_t cases, digest;
};

static void add(struct sum *s, const char *text, size_t max)
{
        size_t len = strlen(text);

        must(len <= max);
        for (size_t i = 0; i <= len; i++)
                s->digest = (s->digest ^ (unsigned char)text[i]) * 1099511628211u;
}

static void on_case(void *ctx, const struct cay_test_case *c)
{
        struct sum *s = ctx;

        s->cases++;
        must((unsigned)c->status < CAY_TEST_STATUS_COUNT && c->duration_us >= -1);
        add(s, c->suite, CAY_TEST_NAME_MAX);
        add(s, c->name, CAY_TEST_NAME_MAX);
        add(s, c->class_name, CAY_TEST_NAME_MAX);
        add(s, c->file, CAY_TEST_NAME_MAX);
        add(s, c->message, CAY_TEST_TEXT_MAX);
        add(s, c->text, CAY_TEST_TEXT_MAX);
        s->digest += (uint64_t)c->status + (uint64_t)c->duration_us + c->line;
}

static int read_all(const char *bytes, size_t len, size_t piece, enum cay_test_format format, struct sum *s)
{
        struct cay_test_reader *r = cay_test_reader_new(format, on_case, s);
        struct cay_error err = { 0 };
        int n = 0;

        must(r != NULL);
        for (size_t at = 0; n == 0 && at < len; at += piece)
                n = cay_test_reader_feed(r, bytes + at, len - at < piece ? len - at : piece, &err);
        if (n == 0)
                n = cay_test_reader_end(r, &err);
        must((n == 0) == (err.code == CAY_OK));
        cay_test_reader_free(r);
        return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *bytes = malloc(size ? size : 1); /* of its very size: reading beyond is seen */

        must(bytes != NULL);
        memcpy(bytes, data, size);
        for (unsigned format = CAY_TEST_AUTO; format <= CAY_TEST_TAP; format++) {
                struct sum whole = { 0 }, parts = { 0 };
                int a = read_all(bytes, size, size ? size : 1, format, &whole);
                int b = read_all(bytes, size, 1, format, &parts);

                /*
                 * Bytes behind an error may come to more cases in one piece than byte by byte, never to
                 * fewer.
                 */
                must(a == b && (a < 0 || (whole.cases == parts.cases && whole.digest == parts.digest)));
        }
        free(bytes);
        return 0;
}
