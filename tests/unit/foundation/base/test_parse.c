/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers from text: what is refused matters as much as what is taken. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "foundation/base/parse.h"

struct row {
        const char *text;
        int r;
        uint64_t value;
};

static void check(int (*parse)(const char *, uint64_t *), const struct row *rows, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                uint64_t v = 4711;
                int r = parse(rows[i].text, &v);

                if (r != rows[i].r || v != (r < 0 ? 4711 : rows[i].value))
                        fail_msg("'%s' gave %d and %llu", rows[i].text, r, (unsigned long long)v);
        }
}

#define CHECK(parse, rows) check(parse, rows, sizeof(rows) / sizeof((rows)[0]))

static void test_u64(void **state)
{
        static const struct row rows[] = {
                { "0", 0, 0 },
                { "7", 0, 7 },
                { "007", 0, 7 },
                { "18446744073709551615", 0, UINT64_MAX },
                { "18446744073709551616", -ERANGE, 0 },
                { "18446744073709551620", -ERANGE, 0 },
                { "99999999999999999999999999", -ERANGE, 0 },
                { "99999999999999999999999999x", -EINVAL, 0 },
                { "", -EINVAL, 0 },
                { " 1", -EINVAL, 0 },
                { "1 ", -EINVAL, 0 },
                { "1\n", -EINVAL, 0 },
                { "-1", -EINVAL, 0 },
                { "+1", -EINVAL, 0 },
                { "0x10", -EINVAL, 0 },
                { "1e3", -EINVAL, 0 },
                { "1.0", -EINVAL, 0 },
                { "1k", -EINVAL, 0 },
                { "\xd9\xa1", -EINVAL, 0 }, /* an Arabic one */
        };

        CHECK(cay_parse_u64, rows);
}

static void test_size(void **state)
{
        static const struct row rows[] = {
                { "0", 0, 0 },
                { "1048576", 0, 1048576 },
                { "64b", 0, 64 },
                { "64k", 0, 65536 },
                { "64K", 0, 65536 },
                { "64kb", 0, 65536 },
                { "64KiB", 0, 65536 },
                { "64kIB", 0, 65536 },
                { "256m", 0, UINT64_C(256) << 20 },
                { "256MB", 0, UINT64_C(256) << 20 },
                { "1mib", 0, UINT64_C(1) << 20 },
                { "256Mi", 0, UINT64_C(256) << 20 },
                { "1Gi", 0, UINT64_C(1) << 30 },
                { "64ki", 0, 65536 },
                { "2Ti", 0, UINT64_C(2) << 40 },
                { "1i", -EINVAL, 0 },
                { "1g", 0, UINT64_C(1) << 30 },
                { "1.5g", 0, UINT64_C(3) << 29 },
                { "0.5GiB", 0, UINT64_C(1) << 29 },
                { "2gb", 0, UINT64_C(2) << 30 },
                { "1t", 0, UINT64_C(1) << 40 },
                { "1tb", 0, UINT64_C(1) << 40 },
                { "1tib", 0, UINT64_C(1) << 40 },
                { "0.0001k", 0, 1 }, /* never nothing */
                { "1.3k", 0, 1332 },
                { "0.0k", 0, 0 },
                { "0.999999999999999999k", 0, 1024 },
                { "0.0000000000000000000k", -EINVAL, 0 }, /* 19 decimals */
                { "16777215t", 0, UINT64_C(16777215) << 40 },
                { "16777215.999999t", 0, UINT64_C(18446744073708452105) },
                { "16777215.999999999999999999t", -ERANGE, 0 },
                { "16777216t", -ERANGE, 0 },
                { "18446744073709551615", 0, UINT64_MAX },
                { "18446744073709551615b", 0, UINT64_MAX },
                { "18446744073709551616", -ERANGE, 0 },
                { "99999999999999g", -ERANGE, 0 },
                { "99999999999999999999999.5g", -ERANGE, 0 },
                { "", -EINVAL, 0 },
                { "k", -EINVAL, 0 },
                { ".5k", -EINVAL, 0 },
                { "1.k", -EINVAL, 0 },
                { "1.", -EINVAL, 0 },
                { "1.5", -EINVAL, 0 },
                { "1.5b", -EINVAL, 0 },
                { "0.0.5", -EINVAL, 0 },
                { "0.0.5k", -EINVAL, 0 },
                { "-1", -EINVAL, 0 },
                { "-1k", -EINVAL, 0 },
                { "1 k", -EINVAL, 0 },
                { "1k ", -EINVAL, 0 },
                { "1kk", -EINVAL, 0 },
                { "1kI", 0, 1024 },
                { "1kk i", -EINVAL, 0 },
                { "1bb", -EINVAL, 0 },
                { "1bib", -EINVAL, 0 },
                { "1p", -EINVAL, 0 },
                { "1e3", -EINVAL, 0 },
                { "0x10", -EINVAL, 0 },
                { "nan", -EINVAL, 0 },
                { "inf", -EINVAL, 0 },
        };

        CHECK(cay_parse_size, rows);
}

static void test_duration(void **state)
{
        static const struct row rows[] = {
                { "0", 0, 0 },
                { "60", 0, 60000 },
                { "0.5", 0, 500 },
                { "90s", 0, 90000 },
                { "10m", 0, 600000 },
                { "2h", 0, 7200000 },
                { "1.5h", 0, 5400000 },
                { "250ms", 0, 250 },
                { "0.0001", 0, 1 }, /* not "no timeout" */
                { "0.30000000000000004", 0, 301 },
                { "18446744073709551615ms", 0, UINT64_MAX },
                { "18446744073709551616ms", -ERANGE, 0 },
                { "18446744073709551s", 0, UINT64_C(18446744073709551000) },
                { "18446744073709551.615s", 0, UINT64_MAX },
                { "18446744073709551.616s", -ERANGE, 0 },
                { "18446744073709552", -ERANGE, 0 },
                { "18446744073709551615h", -ERANGE, 0 },
                { "0.5ms", -EINVAL, 0 },
                { "1M", -EINVAL, 0 },
                { "1d", 0, 86400000 },
                { "1.5d", 0, 129600000 },
                { "1D", -EINVAL, 0 },
                { "1m30s", -EINVAL, 0 },
                { "0.0.5", -EINVAL, 0 },
                { "", -EINVAL, 0 },
                { "s", -EINVAL, 0 },
                { "-1", -EINVAL, 0 },
                { " 1", -EINVAL, 0 },
                { "1 ", -EINVAL, 0 },
                { "1e3", -EINVAL, 0 },
        };

        CHECK(cay_parse_duration, rows);
}

static void test_milli(void **state)
{
        static const struct row rows[] = {
                { "0", 0, 0 },
                { "0.5", 0, 500 },
                { "2", 0, 2000 },
                { "1.25", 0, 1250 },
                { "0.001", 0, 1 },
                { "1.000", 0, 1000 },
                { "18446744073709551.615", 0, UINT64_MAX },
                { "18446744073709551.616", -ERANGE, 0 },
                { "18446744073709552", -ERANGE, 0 },
                { "0.0005", -EINVAL, 0 },
                { "1.0000", -EINVAL, 0 },
                { "0.0.5", -EINVAL, 0 },
                { ".5", -EINVAL, 0 },
                { "5.", -EINVAL, 0 },
                { "", -EINVAL, 0 },
                { "1m", -EINVAL, 0 },
                { "-0.5", -EINVAL, 0 },
        };

        CHECK(cay_parse_milli, rows);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_u64),
                cmocka_unit_test(test_size),
                cmocka_unit_test(test_duration),
                cmocka_unit_test(test_milli),
        };

        return cmocka_run_group_tests_name("base/parse", tests, NULL, NULL);
}
