/* SPDX-License-Identifier: Apache-2.0 */
/* Capability sets: what is set is what the kernel says, in every set, and dropping is for good. */
#include "sys_test.h"

#include <inttypes.h>
#include <sys/prctl.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/caps.h"
#include "foundation/sys/fd.h"

#define SOME                                                                                                 \
        (SYS_CAP(CAP_KILL) | SYS_CAP(CAP_SETPCAP) | SYS_CAP(CAP_SETUID) |                                    \
         SYS_CAP(CAP_BPF)) /* BPF: above bit 31 */

/* A line of /proc/self/status, as the kernel's own word. */
static uint64_t status_mask(const char *key)
{
        char text[8192];
        const char *at;

        check(sys_read_file(AT_FDCWD, "/proc/self/status", text, sizeof(text)) > 0);
        at = strstr(text, key);
        check(at);
        return strtoull(at + strlen(key), NULL, 16);
}

static void get_agrees(void)
{
        uint64_t e, p, i;

        check(sys_caps_get(&e, &p, &i) == 0);
        check(e == status_mask("CapEff:\t") && p == status_mask("CapPrm:\t") &&
              i == status_mask("CapInh:\t"));
}

static void test_get(void **state)
{
        in_child(get_agrees);
}

static void set_some(void)
{
        uint64_t e, p, i;

        check(sys_caps_set(SYS_CAP(CAP_KILL), SOME, SYS_CAP(CAP_BPF)) == 0);
        check(sys_caps_get(&e, &p, &i) == 0);
        check(e == SYS_CAP(CAP_KILL) && p == SOME && i == SYS_CAP(CAP_BPF));
        check(status_mask("CapPrm:\t") == SOME);
        /* What is not permitted does not come back. */
        check(sys_caps_set(SOME | SYS_CAP(CAP_SYS_ADMIN), SOME | SYS_CAP(CAP_SYS_ADMIN), 0) == -EPERM);
        check(sys_caps_set(0, 0, 0) == 0);
        get_agrees();
        check(status_mask("CapPrm:\t") == 0);
}

static void test_set(void **state)
{
        need_root();
        in_child(set_some);
}

static void bound(void)
{
        check(sys_caps_bound(SOME) == 0);
        check(status_mask("CapBnd:\t") == SOME);
        check(sys_caps_bound(SOME) == 0);
        check(sys_caps_bound(0) == 0);
        check(status_mask("CapBnd:\t") == 0);
        check(sys_caps_set(0, 0, 0) == 0);
        check(sys_caps_bound(0) == 0); /* nothing to drop needs no right */
}

static void test_bound(void **state)
{
        need_root();
        in_child(bound);
}

static void bound_without_right(void)
{
        check(sys_caps_set(0, 0, 0) == 0);
        check(sys_caps_bound(0) == -EPERM);
}

static void test_bound_without_right(void **state)
{
        need_root();
        in_child(bound_without_right);
}

static void ambient(void)
{
        check(sys_caps_set(SOME, SOME, SOME) == 0);
        check(sys_caps_ambient(SOME) == 0);
        check(status_mask("CapAmb:\t") == SOME);
        check(sys_caps_ambient(SYS_CAP(CAP_KILL)) == 0);
        check(status_mask("CapAmb:\t") == SYS_CAP(CAP_KILL));
        check(sys_caps_set(SOME, SOME, 0) == 0); /* what is not inheritable leaves it too */
        check(sys_caps_ambient(SYS_CAP(CAP_KILL)) == -EPERM);
        check(sys_caps_ambient(0) == 0);
        check(status_mask("CapAmb:\t") == 0);
}

static void test_ambient(void **state)
{
        need_root();
        in_child(ambient);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_get),     cmocka_unit_test(test_set),
                cmocka_unit_test(test_bound),   cmocka_unit_test(test_bound_without_right),
                cmocka_unit_test(test_ambient),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
