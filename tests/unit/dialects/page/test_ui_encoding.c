/* SPDX-License-Identifier: Apache-2.0 */
/* What browsers and others say about encodings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dialects/page/ui_encoding.h"

static void gzip_is_taken_where_it_is_allowed(void **state)
{
        (void)state;
        assert_true(cay_ui_accepts_gzip("gzip"));
        assert_true(cay_ui_accepts_gzip("gzip, deflate, br, zstd"));
        assert_true(cay_ui_accepts_gzip("br ,\tGZip;q=0.5"));
        assert_true(cay_ui_accepts_gzip("identity, *"));
        assert_true(cay_ui_accepts_gzip("*;q=0, gzip"));
        assert_true(cay_ui_accepts_gzip("gzip;q=0.001"));
        assert_true(cay_ui_accepts_gzip("gzip ; q=1"));
}

static void gzip_is_not_sent_where_it_is_not(void **state)
{
        (void)state;
        assert_false(cay_ui_accepts_gzip(NULL));
        assert_false(cay_ui_accepts_gzip(""));
        assert_false(cay_ui_accepts_gzip(", ,"));
        assert_false(cay_ui_accepts_gzip("br, deflate"));
        assert_false(cay_ui_accepts_gzip("gzipped"));
        assert_false(cay_ui_accepts_gzip("gzip;q=0"));
        assert_false(cay_ui_accepts_gzip("gzip; q=0.000, *"));
        assert_false(cay_ui_accepts_gzip("*;q=0"));
        assert_false(cay_ui_accepts_gzip("identity"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(gzip_is_taken_where_it_is_allowed),
                cmocka_unit_test(gzip_is_not_sent_where_it_is_not),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
