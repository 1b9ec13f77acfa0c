/* SPDX-License-Identifier: Apache-2.0 */
/* Reads results with pieces of a size, and writes what came as one line per case. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "domain/test_results/test_results.h"

struct told {
        char text[16384];
        size_t len;
};

static inline void on_case(void *ctx, const struct cay_test_case *c)
{
        struct told *t = ctx;
        int n = snprintf(t->text + t->len, sizeof(t->text) - t->len, "%s|%s|%s|%s|%s|%s|%lld%s\n", c->suite,
                         c->class_name, c->name, cay_test_status_word(c->status), c->message, c->text,
                         (long long)c->duration_us, c->is_cut ? "|cut" : "");

        if (n > 0 && (size_t)n < sizeof(t->text) - t->len)
                t->len += (size_t)n;
}

/* 0: whole. The message of what is wrong with it goes to err. */
static inline int read_cases(const char *bytes, size_t len, size_t piece, struct told *t,
                             struct cay_error *err)
{
        struct cay_test_reader *r = cay_test_reader_new(CAY_TEST_AUTO, on_case, t);
        int n = 0;

        t->len = 0;
        t->text[0] = '\0';
        *err = (struct cay_error){ 0 };
        for (size_t at = 0; n == 0 && at < len; at += piece)
                n = cay_test_reader_feed(r, bytes + at, len - at < piece ? len - at : piece, err);
        if (n == 0)
                n = cay_test_reader_end(r, err);
        cay_test_reader_free(r);
        return n;
}
