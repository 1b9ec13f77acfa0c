/* SPDX-License-Identifier: Apache-2.0 */
/* Where hierarchies are: the shortcut says what mountinfo says, or nothing. */
#include "sys_test.h"

#include "foundation/sys/cgroup_priv.h"
#include "foundation/sys/fd.h"

#define TOP "/sys/fs/cgroup"

static char own[16384], mounts[1 << 20];

static void set_up_texts(void)
{
        assert_true(sys_read_file(AT_FDCWD, "/proc/self/cgroup", own, sizeof(own)) > 0);
        assert_true(sys_read_file(AT_FDCWD, "/proc/self/mountinfo", mounts, sizeof(mounts)) > 0);
}

static void test_usual_is_what_mountinfo_says(void **state)
{
        static struct sys_cgroup_place usual[SYS_CGROUP_PARTS], real[SYS_CGROUP_PARTS];

        set_up_texts();
        if (!sys_cgroup_find_usual(TOP, own, usual)) {
                print_message("skipped: hierarchies are not all at their usual places here\n");
                skip();
        }
        sys_cgroup_find(mounts, own, real);
        for (int i = 0; i < SYS_CGROUP_PARTS; i++) {
                struct stat a, b;

                assert_string_equal(usual[i].own, real[i].own);
                assert_int_equal(usual[i].mount[0] != '\0', real[i].mount[0] != '\0');
                if (!usual[i].mount[0])
                        continue;
                /* a link of the usual name leads to the mount: the same folder */
                assert_int_equal(stat(usual[i].mount, &a), 0);
                assert_int_equal(stat(real[i].mount, &b), 0);
                assert_true(a.st_dev == b.st_dev && a.st_ino == b.st_ino);
        }
}

static void test_elsewhere(void **state)
{
        static struct sys_cgroup_place places[SYS_CGROUP_PARTS];

        assert_false(sys_cgroup_find_usual("/proc/self", "0::/\n", places));
        assert_false(sys_cgroup_find_usual("/nowhere", "8:pids:/\n", places));
        assert_false(sys_cgroup_find_usual("/tmp", "3:memory:/\n0::/\n", places));
}

/* A host without cgroups has nothing to find, wherever one looks. */
static void test_none(void **state)
{
        static struct sys_cgroup_place places[SYS_CGROUP_PARTS];

        assert_true(sys_cgroup_find_usual("/nowhere", "", places));
        for (int i = 0; i < SYS_CGROUP_PARTS; i++)
                assert_string_equal(places[i].mount, "");
}

/* A part of a hierarchy in its place, as in a container, is left to mountinfo: its root is not "/". */
static void part_of_a_hierarchy(void)
{
        static struct sys_cgroup_place places[SYS_CGROUP_PARTS];
        static const char line[] = "8:pids:/\n";
        char node[64];

        enter_mount_namespace();
        if (faccessat(AT_FDCWD, TOP "/pids/release_agent", F_OK, 0) < 0)
                skip_child("no v1 hierarchy of pids");
        snprintf(node, sizeof(node), TOP "/pids/cay-unit-%d", (int)getpid());
        check(mkdir(node, 0755) == 0);
        check(mount("tmpfs", "/mnt", "tmpfs", 0, NULL) == 0);
        check(mkdir("/mnt/pids", 0755) == 0);
        check(mount(TOP "/pids", "/mnt/pids", NULL, MS_BIND, NULL) == 0);
        check(sys_cgroup_find_usual("/mnt", line, places));
        check(strcmp(places[SYS_CGROUP_PIDS].mount, "/mnt/pids") == 0);
        check(mount(node, "/mnt/pids", NULL, MS_BIND, NULL) == 0);
        check(!sys_cgroup_find_usual("/mnt", line, places));
        check(umount("/mnt/pids") == 0);
        check(rmdir(node) == 0);
}

static void test_part_of_a_hierarchy(void **state)
{
        need_root();
        in_child(part_of_a_hierarchy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_usual_is_what_mountinfo_says),
                cmocka_unit_test(test_elsewhere),
                cmocka_unit_test(test_none),
                cmocka_unit_test(test_part_of_a_hierarchy),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
