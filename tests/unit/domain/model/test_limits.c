/* SPDX-License-Identifier: Apache-2.0 */
/* Limits: every row parses, every bound holds, every error names its option. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/model/limits.h"

static uint64_t parsed(enum cay_limit nr, const char *text)
{
        struct cay_limits l = { 0 };
        struct cay_error err = { 0 };
        const uint64_t *all = &l.memory_bytes;

        if (cay_limit_parse(&l, nr, "--it", text, &err) < 0)
                fail_msg("'%s': %s", text, err.msg);
        assert_int_equal(err.code, CAY_OK);
        return all[nr];
}

static void refused(enum cay_limit nr, const char *text, const char *msg)
{
        struct cay_limits l = { .memory_bytes = 7 }, before = l;
        struct cay_error err = { 0 };

        assert_int_equal(cay_limit_parse(&l, nr, "--it", text, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        assert_string_equal(err.msg, msg);
        assert_memory_equal(&l, &before, sizeof(l));
}

static void parses_each_kind(void **state)
{
        assert_int_equal(parsed(CAY_LIMIT_NR_memory_bytes, "256m"), 256u << 20);
        assert_int_equal(parsed(CAY_LIMIT_NR_memory_bytes, "1.5g"), 1536ull << 20);
        assert_int_equal(parsed(CAY_LIMIT_NR_memory_bytes, "64t"), 1ull << 46);
        assert_int_equal(parsed(CAY_LIMIT_NR_swap_bytes, "0"), 0);
        assert_int_equal(parsed(CAY_LIMIT_NR_cpu_milli, "0.5"), 500);
        assert_int_equal(parsed(CAY_LIMIT_NR_pids, "50"), 50);
        assert_int_equal(parsed(CAY_LIMIT_NR_wall_ms, "60"), 60000);
        assert_int_equal(parsed(CAY_LIMIT_NR_wall_ms, "250ms"), 250);
        assert_int_equal(parsed(CAY_LIMIT_NR_cpu_time_ms, "0.5"), 500);
        assert_int_equal(parsed(CAY_LIMIT_NR_output_bytes, "1"), 1);
}

static void refuses_with_the_option_and_the_bound(void **state)
{
        refused(CAY_LIMIT_NR_memory_bytes, "99999999999999g",
                "--it: '99999999999999g' is too big: at most 64 TiB");
        refused(CAY_LIMIT_NR_memory_bytes, "65t", "--it: '65t' is too big: at most 64 TiB");
        refused(CAY_LIMIT_NR_memory_bytes, "99999999999999999999999999",
                "--it: '99999999999999999999999999' is too big: at most 64 TiB");
        refused(CAY_LIMIT_NR_memory_bytes, "1k", "--it: '1k' is too small: at least 4 MiB");
        refused(CAY_LIMIT_NR_memory_bytes, "0", "--it: '0' is too small: at least 4 MiB");
        refused(CAY_LIMIT_NR_output_bytes, "0", "--it: '0' is too small: at least 1 byte");
        refused(CAY_LIMIT_NR_cpu_milli, "0.0.5",
                "--it: '0.0.5' is not a number of processors (like 0.5 or 2, with at most three decimals)");
        refused(CAY_LIMIT_NR_cpu_milli, "0.001", "--it: '0.001' is too small: at least 0.01");
        refused(CAY_LIMIT_NR_cpu_milli, "2000", "--it: '2000' is too big: at most 1024");
        refused(CAY_LIMIT_NR_pids, "-1", "--it: '-1' is not a number (like 50)");
        refused(CAY_LIMIT_NR_pids, "", "--it: '' is not a number (like 50)");
        refused(CAY_LIMIT_NR_pids, "0", "--it: '0' is too small: at least 1");
        refused(CAY_LIMIT_NR_wall_ms, "soon",
                "--it: 'soon' is not a duration (like 60, 0.5, 250ms, 10m, 2h or 1d)");
        refused(CAY_LIMIT_NR_wall_ms, "0", "--it: '0' is too small: at least 1 ms");
        refused(CAY_LIMIT_NR_wall_ms, "9999999h", "--it: '9999999h' is too big: at most 366 days");
        refused(CAY_LIMIT_NR_memory_bytes, " 1g", "--it: ' 1g' is not a size (like 256m, 1.5g or 1048576)");
}

static void a_bound_itself_is_fine(void **state)
{
#define CAY_LIMIT(field, word, kind, min, max, doc)                                                          \
        {                                                                                                    \
                struct cay_limits l = { .field = max };                                                      \
                struct cay_error err = { 0 };                                                                \
                assert_int_equal(cay_limits_check(&l, &err), 0);                                             \
                l.field = min;                                                                               \
                assert_int_equal(cay_limits_check(&l, &err), 0);                                             \
                l.field = (max) + 1;                                                                         \
                assert_int_equal(cay_limits_check(&l, &err), -1);                                            \
                assert_non_null(strstr(err.msg, word));                                                      \
                assert_true(strlen(doc) > 0);                                                                \
                assert_int_equal(cay_limit_find(word), CAY_LIMIT_NR_##field);                                \
                assert_string_equal(cay_limit_word(CAY_LIMIT_NR_##field), word);                             \
        }
#include "domain/model/limits.def"
#undef CAY_LIMIT
}

static void defaults_are_those_of_the_design(void **state)
{
        struct cay_limits l = cay_limits_default_run();
        struct cay_error err = { 0 };

        assert_int_equal(cay_limits_check(&l, &err), 0);
        assert_int_equal(l.memory_bytes, 256u << 20);
        assert_int_equal(l.swap_bytes, 0);
        assert_int_equal(l.cpu_milli, 500);
        assert_int_equal(l.pids, 50);
        assert_int_equal(l.disk_bytes, 64u << 20);
        assert_int_equal(l.files, 4096);
        assert_int_equal(l.output_bytes, 8u << 20);
        assert_int_equal(l.wall_ms, 60000);
        assert_int_equal(l.cpu_time_ms, 0);
        assert_false(l.output_cut);
}

static void masks_as_words(void **state)
{
        struct cay_error err = { 0 };
        char text[160], tiny[10];
        unsigned mask = 0;

        assert_string_equal(cay_limit_mask_text(CAY_LIMIT_BIT(memory_bytes) | CAY_LIMIT_BIT(pids), text,
                                                sizeof(text)),
                            "memory, pids");
        assert_string_equal(cay_limit_mask_text(0, text, sizeof(text)), "");
        assert_true(strlen(cay_limit_mask_text(CAY_LIMIT_MASK_ALL, tiny, sizeof(tiny))) < sizeof(tiny));
        assert_int_equal(cay_limit_mask_parse("--x", "all", &mask, &err), 0);
        assert_int_equal(mask, CAY_LIMIT_MASK_ALL);
        assert_int_equal(cay_limit_mask_parse("--x", "pids,memory,pids", &mask, &err), 0);
        assert_int_equal(mask, CAY_LIMIT_BIT(memory_bytes) | CAY_LIMIT_BIT(pids));
        assert_int_equal(cay_limit_mask_parse("--x", "pids,,memory", &mask, &err), -1);
        assert_int_equal(cay_limit_mask_parse("--x", "", &mask, &err), -1);
        assert_int_equal(cay_limit_mask_parse("--x", "memory,luck", &mask, &err), -1);
        assert_non_null(strstr(err.msg, "--x: 'luck' is no limit; there are: memory, swap"));
}

static void what_is_set(void **state)
{
        struct cay_limits l = { .memory_bytes = 1 << 30 };

        /* "no swap" is a limit too, as soon as memory is limited. */
        assert_int_equal(cay_limits_set_mask(&l), CAY_LIMIT_BIT(memory_bytes) | CAY_LIMIT_BIT(swap_bytes));
        l = (struct cay_limits){ .files = 20 };
        assert_int_equal(cay_limits_set_mask(&l), CAY_LIMIT_BIT(files));
        l = (struct cay_limits){ 0 };
        assert_int_equal(cay_limits_set_mask(&l), 0);
}

static void values_as_text(void **state)
{
        static const struct {
                enum cay_limit nr;
                uint64_t value;
                const char *text;
        } rows[] = {
                { CAY_LIMIT_NR_memory_bytes, 0, "0 bytes" },
                { CAY_LIMIT_NR_memory_bytes, 1, "1 byte" },
                { CAY_LIMIT_NR_memory_bytes, 1023, "1023 bytes" },
                { CAY_LIMIT_NR_memory_bytes, 1536ull << 20, "1.5 GiB" },
                { CAY_LIMIT_NR_memory_bytes, 256u << 20, "256 MiB" },
                { CAY_LIMIT_NR_memory_bytes, (256u << 20) - 4096, "255.99 MiB" },
                { CAY_LIMIT_NR_wall_ms, 60000, "60 s" },
                { CAY_LIMIT_NR_wall_ms, 1500, "1.5 s" },
                { CAY_LIMIT_NR_wall_ms, 5, "5 ms" },
                { CAY_LIMIT_NR_wall_ms, 7200000, "120 min" },
                { CAY_LIMIT_NR_cpu_milli, 500, "0.5" },
                { CAY_LIMIT_NR_cpu_milli, 1250, "1.25" },
                { CAY_LIMIT_NR_cpu_milli, 3, "0.003" },
                { CAY_LIMIT_NR_pids, 50, "50" },
        };
        char text[48];

        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                assert_string_equal(cay_limit_value_text(rows[i].nr, rows[i].value, text, sizeof(text)),
                                    rows[i].text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(parses_each_kind),
                cmocka_unit_test(refuses_with_the_option_and_the_bound),
                cmocka_unit_test(a_bound_itself_is_fine),
                cmocka_unit_test(defaults_are_those_of_the_design),
                cmocka_unit_test(masks_as_words),
                cmocka_unit_test(what_is_set),
                cmocka_unit_test(values_as_text),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
