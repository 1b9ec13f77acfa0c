/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of a plan: ranges, what this host cannot hold, and the kinds of writable layer. */
#include "rig.h"

#include <sched.h>
#include <sys/mount.h>

#include "foundation/sys/fd.h"

#define LACKING "/sys/fs/cgroup/cay-lacking"

static struct rig rig;

static void remove_lacking(void)
{
        rmdir(LACKING "/in/cay-self"); /* where the warden went */
        rmdir(LACKING "/in");
        rmdir(LACKING);
}

static int set_up(void **state)
{
        rig = (struct rig){ .sock = -1, .pid = -1 };
        return rig_set_up(state);
}

static int tear_down(void **state)
{
        rig_abandon(&rig);
        remove_lacking();
        return rig_tear_down(state);
}

static void test_limits_out_of_range(void **state)
{
        rig_start(&rig, NULL);
#define try_limit(field, value)                                                                              \
        do {                                                                                                 \
                struct wire_plan p = rig_plan("limits");                                                     \
                                                                                                             \
                p.field = (value);                                                                           \
                rig_refused(&rig, &p, -1, -1, CAY_INVALID, "limit");                                         \
        } while (0)
        try_limit(memory_bytes, UINT64_MAX);
        try_limit(memory_bytes, 1ull << 62);
        try_limit(memory_bytes, 1);
        try_limit(memory_bytes, (4 << 20) - 1);
        try_limit(swap_bytes, UINT64_MAX);
        try_limit(disk_bytes, UINT64_MAX);
        try_limit(disk_bytes, 1ull << 50);
        try_limit(inodes, UINT64_MAX);
        try_limit(inodes, 1ull << 33);
        try_limit(pids, UINT64_MAX);
        try_limit(pids, 4194305);
        try_limit(cpu_milli, UINT32_MAX);
        try_limit(cpu_milli, 1024001);
        try_limit(cpu_milli, 9);
#undef try_limit
        rig_stop(&rig);
}

/* Just inside: the edges are good plans (where the machine has the means). */
static void test_limits_at_the_edge(void **state)
{
        struct wire_plan p = rig_plan("edge");
        struct rig_box box;

        rig_start(&rig, NULL);
        p.memory_bytes = 4 << 20;
        p.disk_bytes = 1 << 20;
        p.inodes = 1;
        p.cpu_milli = 10;
        p.pids = 1;
        rig_must(rig_make(&rig, &p, -1, -1, &box));
        assert_string_equal(rig_tell(&box, "ping"), "pong");
        rig_box_close(&box);
        p = rig_plan("edge2");
        p.memory_bytes = 1ull << 46;
        p.swap_bytes = 1ull << 46;
        p.disk_bytes = 1 << 20;
        p.inodes = 1ull << 32;
        p.cpu_milli = 1024000;
        p.pids = 4194304;
        rig_must(rig_make(&rig, &p, -1, -1, &box));
        assert_string_equal(rig_tell(&box, "ping"), "pong");
        rig_box_close(&box);
        rig_stop(&rig);
}

static void test_no_limits(void **state)
{
        struct wire_plan p = { .id = "free" };
        struct rig_box box;

        rig_start(&rig, NULL);
        rig_must(rig_make(&rig, &p, -1, -1, &box));
        assert_string_equal(rig_tell(&box, "write /workspace/a text"), "ok");
        rig_box_close(&box);
        rig_stop(&rig);
}

/* Takes hierarchies out of the warden's sight. */
static void hide(const char *path)
{
        for (int i = 0; i < 16 && umount2(path, MNT_DETACH) == 0; i++)
                ;
}

static bool is_v2(void)
{
        return access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
}

/* Where one mount has all controllers: the warden sees no more than a node that was not given one of them. */
static void enter_lacking(const char *without)
{
        static const char *const all[] = { "memory", "cpu", "pids", "cpuset" };

        if (mkdir(LACKING, 0755) < 0)
                _exit(126);
        for (unsigned i = 0; i < CAY_COUNT(all); i++) {
                char word[16];

                snprintf(word, sizeof(word), "+%s", all[i]);
                if (sys_write_file(AT_FDCWD, "/sys/fs/cgroup/cgroup.subtree_control", word) < 0 ||
                    (strcmp(all[i], without) != 0 &&
                     sys_write_file(AT_FDCWD, LACKING "/cgroup.subtree_control", word) < 0))
                        _exit(126);
        }
        if (mkdir(LACKING "/in", 0755) < 0 || sys_write_file(AT_FDCWD, LACKING "/in/cgroup.procs", "0") < 0 ||
            unshare(CLONE_NEWCGROUP) < 0 || umount2("/sys/fs/cgroup", MNT_DETACH) < 0 ||
            mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL) < 0)
                _exit(126);
}

static void hide_pids(void)
{
        rig_own_mounts();
        if (is_v2())
                enter_lacking("pids");
        hide("/sys/fs/cgroup/pids");
}

static void hide_memory(void)
{
        rig_own_mounts();
        if (is_v2())
                enter_lacking("memory");
        hide("/sys/fs/cgroup/memory");
}

static void hide_cpu(void)
{
        rig_own_mounts();
        if (is_v2())
                enter_lacking("cpu");
        hide("/sys/fs/cgroup/cpuset");
        hide("/sys/fs/cgroup/cpu");
        hide("/sys/fs/cgroup/cpu,cpuacct");
}

static void hide_loops(void)
{
        rig_own_mounts();
        if (mount("/dev/null", "/dev/loop-control", NULL, MS_BIND, NULL) < 0 ||
            mount("/dev/null", "/sbin/mke2fs", NULL, MS_BIND, NULL) < 0)
                _exit(126);
}

static const struct {
        void (*prepare)(void);
        unsigned lacks, one_skip;
        const char *word;
} hosts[] = {
        { hide_pids, HELPER_LIMIT_PIDS, HELPER_LIMIT_PIDS, "pids" },
        { hide_memory, HELPER_LIMIT_MEMORY | HELPER_LIMIT_SWAP, HELPER_LIMIT_MEMORY, "memory" },
        { hide_cpu, HELPER_LIMIT_CPUS, HELPER_LIMIT_CPUS, "cpus" },
};

/* A limit that this host cannot hold: refused by name, unless it may be skipped; then that is said. */
static void test_missing_limits(void **state)
{
        struct rig_box box;

        for (unsigned i = 0; i < CAY_COUNT(hosts); i++) {
                struct wire_plan p = rig_plan("lacking");

                rig_start(&rig, hosts[i].prepare);
                assert_int_equal(rig.can_hold & hosts[i].lacks & ~(unsigned)HELPER_LIMIT_SWAP,
                                 0); /* swap is bounded where there is none */
                rig_refused(&rig, &p, -1, -1, CAY_UNSUPPORTED, hosts[i].word);
                p.may_skip = ~hosts[i].one_skip; /* every other one */
                rig_refused(&rig, &p, -1, -1, CAY_UNSUPPORTED, hosts[i].word);
                p.may_skip = hosts[i].lacks;
                rig_must(rig_make(&rig, &p, -1, -1, &box));
                assert_int_equal(box.skipped & hosts[i].one_skip, hosts[i].one_skip);
                assert_int_equal(box.skipped & ~hosts[i].lacks, 0);
                assert_string_equal(rig_tell(&box, "ping"), "pong");
                rig_box_close(&box);
                rig_must(rig_ask_box(&rig, WIRE_box_drop, "lacking"));
                /* Not set is not missing. */
                p = rig_plan("lacking");
                p.pids = hosts[i].lacks & HELPER_LIMIT_PIDS ? 0 : p.pids;
                p.memory_bytes = hosts[i].lacks & HELPER_LIMIT_MEMORY ? 0 : p.memory_bytes;
                p.cpu_milli = hosts[i].lacks & HELPER_LIMIT_CPUS ? 0 : p.cpu_milli;
                rig_must(rig_make(&rig, &p, -1, -1, &box));
                assert_int_equal(box.skipped, 0);
                rig_box_close(&box);
                rig_stop(&rig);
                remove_lacking();
        }
}

/* Without loop devices a small one-shot layer is a tmpfs, which holds its size; a larger one is refused. */
static void test_missing_loops(void **state)
{
        struct wire_plan p = rig_plan("layer");
        struct rig_box box;

        if (access("/dev/loop-control", F_OK) < 0 || access("/sbin/mke2fs", F_OK) < 0)
                skip();
        rig_start(&rig, hide_loops);
        rig_must(rig_make(&rig, &p, -1, -1, &box));
        assert_int_equal(box.skipped, 0);
        rig_box_close(&box);
        rig_must(rig_ask_box(&rig, WIRE_box_drop, "layer"));
        p.disk_bytes = p.memory_bytes;
        rig_refused(&rig, &p, -1, -1, CAY_UNSUPPORTED, "disk");
        p.may_skip = HELPER_LIMIT_DISK | HELPER_LIMIT_INODES;
        rig_must(rig_make(&rig, &p, -1, -1, &box));
        assert_true(box.skipped & HELPER_LIMIT_DISK);
        rig_box_close(&box);
        rig_stop(&rig);
}

/* On a loop device: for what lives longer, or is large beside its memory. */
static void test_image_layer(void **state)
{
        struct wire_plan p = rig_plan("image");
        struct rig_box box;

        p.flags = 0;
        rig_start(&rig, NULL);
        if (!(rig.can_hold & HELPER_LIMIT_DISK)) {
                rig_stop(&rig);
                print_message("skipped: no mke2fs or no loop devices here\n");
                skip();
        }
        rig_must(rig_make(&rig, &p, -1, -1, &box));
        assert_string_equal(rig_tell(&box, "write /workspace/a text"), "ok");
        assert_string_equal(rig_tell(&box, "stat /workspace"), "dir 777 1001 1001");
        rig_box_close(&box);
        rig_must(rig_ask_box(&rig, WIRE_box_drop, "image"));
        p.inodes = 0;
        rig_must(rig_make(&rig, &p, -1, -1, &box));
        rig_box_close(&box);
        rig_stop(&rig);
}

/* A size that the disk could never give: an error, and nothing half-made. */
static void test_impossible_layer(void **state)
{
        struct wire_plan p = rig_plan("huge");
        struct wire_answer a;
        struct rig_box box;

        p.flags = 0;
        p.disk_bytes = 1ull << 46;
        p.inodes = 1000;
        rig_start(&rig, NULL);
        a = rig_make(&rig, &p, -1, -1, &box);
        if (a.code != CAY_OK)
                assert_true(a.text[0]);
        rig_box_close(&box);
        rig_stop(&rig);
}

#define rigged(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                rigged(test_limits_out_of_range), rigged(test_limits_at_the_edge), rigged(test_no_limits),
                rigged(test_missing_limits),      rigged(test_missing_loops),      rigged(test_image_layer),
                rigged(test_impossible_layer),
        };

        return cmocka_run_group_tests(tests, rig_group_set_up, rig_group_tear_down);
}
