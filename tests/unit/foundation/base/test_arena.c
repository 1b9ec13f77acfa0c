/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas: zeroed, aligned, in place until the end, never more than the maximum. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/base/arena.h"

static void gives_zeroed_aligned_memory_that_stays(void **state)
{
        cay_auto_arena struct cay_arena a;
        char *things[300];

        cay_arena_init(&a, 1 << 20);
        for (size_t i = 0; i < 300; i++) {
                things[i] = cay_arena_alloc(&a, i + 1);
                assert_non_null(things[i]);
                assert_int_equal((uintptr_t)things[i] % _Alignof(max_align_t), 0);
                for (size_t k = 0; k <= i; k++)
                        assert_int_equal(things[i][k], 0);
                memset(things[i], (int)i % 255 + 1, i + 1);
        }
        for (size_t i = 0; i < 300; i++) {
                for (size_t k = 0; k <= i; k++)
                        assert_int_equal((uint8_t)things[i][k], i % 255 + 1);
        }
}

static void stops_at_its_maximum(void **state)
{
        cay_auto_arena struct cay_arena a;

        cay_arena_init(&a, 100);
        assert_non_null(cay_arena_alloc(&a, 64));
        assert_null(cay_arena_alloc(&a, 64));
        assert_non_null(cay_arena_alloc(&a, 32));
        assert_null(cay_arena_alloc(&a, 16));
        assert_null(cay_arena_alloc(&a, SIZE_MAX));
        assert_null(cay_arena_alloc(&a, SIZE_MAX - 20));
        assert_null(cay_arena_array(&a, SIZE_MAX / 2, 3));
        assert_null(cay_arena_copy(&a, "", SIZE_MAX));
        cay_arena_done(&a);
        cay_arena_done(&a);
}

static void copies_with_a_nul(void **state)
{
        cay_auto_arena struct cay_arena a;

        cay_arena_init(&a, 4096);
        assert_string_equal(cay_arena_copy(&a, "abcdef", 3), "abc");
        assert_string_equal(cay_arena_copy(&a, NULL, 0), "");
}

static void a_big_thing_gets_a_chunk_of_its_own(void **state)
{
        cay_auto_arena struct cay_arena a;
        char *big;

        cay_arena_init(&a, 4 << 20);
        assert_non_null(cay_arena_alloc(&a, 10));
        big = cay_arena_alloc(&a, 3 << 20);
        assert_non_null(big);
        big[(3 << 20) - 1] = 1;
        assert_null(cay_arena_alloc(&a, 3 << 20));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(gives_zeroed_aligned_memory_that_stays),
                cmocka_unit_test(stops_at_its_maximum),
                cmocka_unit_test(copies_with_a_nul),
                cmocka_unit_test(a_big_thing_gets_a_chunk_of_its_own),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
