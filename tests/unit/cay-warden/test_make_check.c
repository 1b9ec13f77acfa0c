/* SPDX-License-Identifier: Apache-2.0 */
/* Which limits may be skipped on a host that cannot enforce them. */
#include "cay-warden/make.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct warden w; /* it can enforce nothing */

static const struct wire_plan plan = { .memory_bytes = 64 << 20,
                                       .cpu_milli = 1000,
                                       .pids = 50,
                                       .disk_bytes = 64 << 20,
                                       .may_skip = HELPER_LIMIT_ALL };

static void requests_may_skip_them(void **state)
{
        struct cay_error err = { 0 };
        unsigned skipped = 0;

        w = (struct warden){ .has_ceiling = true, .ceiling = { .memory_bytes = 1 << 30 } };
        assert_int_equal(warden_make_check_limits(&w, &plan, &skipped, &err), 0);
        assert_int_equal(skipped & HELPER_LIMIT_MEMORY, HELPER_LIMIT_MEMORY);
}

/* The user of an agent's machine is not asked by the daemon's requests. */
static void what_an_agents_user_bounds_is_enforced(void **state)
{
        static const char *const words[] = { "memory", "cpus", "pids", "disk" };

        for (unsigned i = 0; i < 4; i++) {
                struct cay_error err = { 0 };
                unsigned skipped = 0;

                w = (struct warden){ .has_ceiling = true,
                                     .has_own_roots = true,
                                     .ceiling = { .memory_bytes = i == 0 ? 1 << 30 : UINT64_MAX,
                                                  .cpu_milli = i == 1 ? 2000 : UINT64_MAX,
                                                  .pids = i == 2 ? 100 : UINT64_MAX,
                                                  .disk_bytes = i == 3 ? 1 << 30 : UINT64_MAX,
                                                  .inodes = UINT64_MAX,
                                                  .boxes = 10 } };
                assert_int_equal(warden_make_check_limits(&w, &plan, &skipped, &err), -1);
                assert_int_equal(err.code, CAY_UNSUPPORTED);
                assert_int_equal(strncmp(err.msg, words[i], strlen(words[i])), 0);
                w.can_hold = HELPER_LIMIT_ALL;
                assert_int_equal(warden_make_check_limits(&w, &plan, &skipped, &err), 0);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(requests_may_skip_them),
                cmocka_unit_test(what_an_agents_user_bounds_is_enforced),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
