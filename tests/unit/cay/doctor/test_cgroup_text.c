/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/self/cgroup and mountinfo of several systems: the version, and where our own group's folder is. */
#include "doctor_test.h"

#include "foundation/base/cleanup.h"
#include "cay/doctor/cgroup_text.h"

#define ALL_BITS ((1u << CAY_DOCTOR_CONTROLLERS) - 1)
#define V2_MOUNT                                                                                             \
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 "            \
        "rw,nsdelegate\n"
#define HYBRID_MOUNTS                                                                                        \
        "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"                                \
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"               \
        "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"                         \
        "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"                         \
        "39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"                             \
        "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd\n"

static const struct {
        const char *name, *self, *mounts;
        enum cay_doctor_cgroup_version version;
        const char *v2, *memory, *cpu;
} rows[] = {
        { "Debian 12, a person's session", "0::/user.slice/user-1000.slice/session-2.scope\n", V2_MOUNT,
          CAY_DOCTOR_CGROUP_2, "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope", "", "" },
        { "in a cgroup namespace (Docker)", "0::/\n",
          "900 890 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate\n",
          CAY_DOCTOR_CGROUP_2, "/sys/fs/cgroup", "", "" },
        { "outside of its namespace's root", "0::/../../user.slice\n", V2_MOUNT, CAY_DOCTOR_CGROUP_2, "", "",
          "" },
        { "hybrid", "9:name=systemd:/\n4:memory:/box/a\n2:cpu,cpuacct:/\n0::/\n",
          HYBRID_MOUNTS "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
          CAY_DOCTOR_CGROUP_BOTH, "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory/box/a",
          "/sys/fs/cgroup/cpu,cpuacct" },
        { "version 1 (RHEL 7)", "11:memory:/user.slice\n7:cpuacct,cpu:/\n1:name=systemd:/user.slice\n",
          HYBRID_MOUNTS, CAY_DOCTOR_CGROUP_1, "", "/sys/fs/cgroup/memory/user.slice",
          "/sys/fs/cgroup/cpu,cpuacct" },
        { "a container's part of version 1", "4:memory:/docker/abc/sub\n2:cpu,cpuacct:/docker/abcdef\n",
          "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
          "36 31 0:32 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n",
          CAY_DOCTOR_CGROUP_1, "", "/sys/fs/cgroup/memory/sub", "" },
        { "WSL 1, gVisor: nothing", "", "27 1 254:0 / / rw - ext4 /dev/vda rw\n", CAY_DOCTOR_CGROUP_NONE, "",
          "", "" },
        { "mounted, but we are told no group", "nonsense\n::\n", V2_MOUNT, CAY_DOCTOR_CGROUP_2, "", "", "" },
};

static void test_parse(void **state)
{
        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                struct cay_doctor_cgroup_dirs dirs;
                enum cay_doctor_cgroup_version version;

                cay_doctor_cgroup_parse(rows[i].self, rows[i].mounts, &version, &dirs);
                if (version != rows[i].version || strcmp(dirs.v2, rows[i].v2) != 0 ||
                    strcmp(dirs.v1[CAY_DOCTOR_MEMORY], rows[i].memory) != 0 ||
                    strcmp(dirs.v1[CAY_DOCTOR_CPU], rows[i].cpu) != 0)
                        fail_msg("%s: version %d, v2 '%s', memory '%s', cpu '%s'", rows[i].name, version,
                                 dirs.v2, dirs.v1[CAY_DOCTOR_MEMORY], dirs.v1[CAY_DOCTOR_CPU]);
        }
}

static void test_long_path(void **state)
{
        char self[CAY_DOCTOR_CGROUP_DIR * 2] = "0::/";
        struct cay_doctor_cgroup_dirs dirs;
        enum cay_doctor_cgroup_version version;

        memset(self + 4, 'x', CAY_DOCTOR_CGROUP_DIR - 10); /* fits alone, not behind the mount point */
        cay_doctor_cgroup_parse(self, V2_MOUNT, &version, &dirs);
        assert_string_equal(dirs.v2, "");
        memset(self + 4, 'x', CAY_DOCTOR_CGROUP_DIR + 10);
        cay_doctor_cgroup_parse(self, V2_MOUNT, &version, &dirs);
        assert_string_equal(dirs.v2, "");
}

static void test_controllers(void **state)
{
        const char *text = "cpuset cpu io memory hugetlb pids rdma misc\n";
        char words[64];
        unsigned bits = cay_doctor_controllers_parse(text, strlen(text), ' ');

        assert_string_equal(cay_doctor_controllers_text(bits, words, sizeof(words)),
                            "memory, cpu, cpuset, pids");
        bits = cay_doctor_controllers_parse("memory pids\n", 12, ' ');
        assert_string_equal(cay_doctor_controllers_text(bits, words, sizeof(words)), "memory, pids");
        assert_int_equal(cay_doctor_controllers_parse("", 0, ' '), 0);
        assert_int_equal(cay_doctor_controllers_parse("memo", 4, ' '), 0);
        assert_int_equal(cay_doctor_controllers_parse("memory", 3, ' '), 0);
        assert_string_equal(cay_doctor_controllers_text(0, words, sizeof(words)), "");
        assert_string_equal(cay_doctor_controllers_text(ALL_BITS, words, 9), "memory");
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_parse), cmocka_unit_test(test_long_path),
                                            cmocka_unit_test(test_controllers) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
