/* SPDX-License-Identifier: Apache-2.0 */
/* What a process learns about itself: maps read right, and the real facts in namespaces made for it. */
#include "sys_test.h"

#include "foundation/sys/fd.h"
#include "foundation/sys/idmap.h"
#include "foundation/sys/userns_facts.h"

static void test_maps(void **state)
{
        const char *two = "         0       1000          1\n         1     100000      65536\n";

        assert_true(sys_userns_map_has(two, 0));
        assert_true(sys_userns_map_has(two, 65536));
        assert_false(sys_userns_map_has(two, 65537));
        assert_true(sys_userns_map_has("0 0 4294967295\n", 65534));
        assert_false(sys_userns_map_has("1000 1000 1\n", 65534));
        assert_false(sys_userns_map_has("", 0));
        assert_false(sys_userns_map_has("0 1000 0\n", 0));

        assert_true(sys_userns_map_is_first("         0          0 4294967295\n"));
        assert_false(sys_userns_map_is_first("0 0 65536\n"));
        assert_false(sys_userns_map_is_first("0 1000 1\n"));
        assert_false(sys_userns_map_is_first(""));
}

static void unmapped(void)
{
        struct sys_userns_facts f;

        check(unshare(CLONE_NEWUSER) == 0);
        sys_userns_facts_collect(&f);
        check(!f.ids_mapped && f.nested && f.privileged && f.has_userns);
}

static void mapped(void)
{
        struct sys_userns_facts f;
        struct sys_idmap ids = { 0, 0, 1 };

        check(unshare(CLONE_NEWUSER) == 0);
        check(sys_write_file(AT_FDCWD, "/proc/self/setgroups", "deny") == 0);
        check(sys_idmap_write(getpid(), &ids, &ids) == 0);
        sys_userns_facts_collect(&f);
        check(f.ids_mapped && f.nested && f.privileged);
}

static void ordinary(void)
{
        struct sys_userns_facts f;

        check(setresgid(4321, 4321, 4321) == 0 && setresuid(4321, 4321, 4321) == 0);
        sys_userns_facts_collect(&f);
        check(f.ids_mapped && !f.privileged && !f.chroot);
}

static void test_namespaces(void **state)
{
        need_root();
        in_child(unmapped);
        in_child(mapped);
        in_child(ordinary);
}

static void test_here(void **state)
{
        struct sys_userns_facts f;

        sys_userns_facts_collect(&f);
        assert_true(f.has_userns);
        assert_true(f.ids_mapped);
        assert_false(f.in_cay);
        assert_false(f.wsl1);
        assert_true(f.max_namespaces >= 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_maps), cmocka_unit_test(test_namespaces),
                                            cmocka_unit_test(test_here) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
