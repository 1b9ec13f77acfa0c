/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a box: made, limited, measured, frozen, killed, removed; and what happens where pieces are
 * missing.
 */
#include "sys_test.h"

#include <sys/mman.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/clock.h"
#include "foundation/sys/cgroup.h"
#include "foundation/sys/fd.h"

static struct sys_cgroup_host host;
static char name[48];

static int set_up(void **state)
{
        static unsigned serial;

        if (geteuid() != 0)
                return 0;
        snprintf(name, sizeof(name), "cay-unit-%d-%u", (int)getpid(), serial++);
        return sys_cgroup_host_open(&host);
}

static uint64_t soon(void)
{
        return cay_clock_ms() + 60000;
}

static bool exists(enum sys_cgroup_part part)
{
        char path[SYS_CGROUP_PATH];

        return sys_cgroup_path(&host, part, name, path) && access(path, F_OK) == 0;
}

/* Nothing of the test may stay, whatever failed in it. */
static int tear_down(void **state)
{
        bool left = false;

        if (geteuid() != 0)
                return 0;
        for (unsigned i = 0; i < SYS_CGROUP_PARTS; i++) {
                char path[SYS_CGROUP_PATH];

                left |= exists(i);
                if (sys_cgroup_path(&host, i, name, path))
                        sys_cgroup_remove_at(AT_FDCWD, path, soon());
        }
        sys_cgroup_host_close(&host);
        return left ? -1 : 0;
}

#define need_parts()                                                                                         \
        do {                                                                                                 \
                need_root();                                                                                 \
                if (sys_cgroup_counts_init(&host) || sys_cgroup_can_hold(&host) != 15 ||                     \
                    host.parent[SYS_CGROUP_2] < 0) {                                                         \
                        print_message("skipped: this host lacks some of memory, cpu, cpuset, pids on v1, "   \
                                      "or cgroup2\n");                                                       \
                        skip();                                                                              \
                }                                                                                            \
        } while (0)

/* Both halves of making; what a failure leaves is removed, as the warden does it. */
static int make_all(const struct sys_cgroup_host *at, struct sys_cgroup *cg)
{
        int r = sys_cgroup_begin(at, name, cg);

        if (r == 0)
                r = sys_cgroup_make(at, cg);
        if (r < 0)
                sys_cgroup_remove(at, cg);
        return r;
}

/* A process that waits, in the box's nodes (all of them, or cgroup2 alone). */
static pid_t put_sleeper(struct sys_cgroup *cg, bool v1_too)
{
        pid_t pid = fork();
        int joins[8], count;

        assert_true(pid >= 0);
        if (pid == 0) {
                check(sys_write_file(cg->dir[SYS_CGROUP_2], "cgroup.procs", "0") == 0);
                count = v1_too ? sys_cgroup_open_joins(cg, joins, 8) : 0;
                check(count >= 0);
                for (int i = 0; i < count; i++)
                        check(write(joins[i], "0", 1) == 1);
                for (;;)
                        pause();
        }
        for (int i = 0; i < 10000; i++) {
                struct sys_cgroup_stats s;
                char text[32];

                sys_cgroup_stats(cg, &s);
                if (v1_too ? s.pids > 0
                           : sys_read_file(cg->dir[SYS_CGROUP_2], "cgroup.procs", text, sizeof(text)) > 0)
                        return pid;
                nap_ms(2);
        }
        fail_msg("the process did not join");
        return -1;
}

static bool ends(pid_t pid)
{
        for (int i = 0; i < 10000; i++) {
                if (waitpid(pid, NULL, WNOHANG) == pid)
                        return true;
                nap_ms(2);
        }
        return false;
}

/* What was killed, and is nobody's child here, is gone from the nodes. */
static void wait_for_none(struct sys_cgroup *cg)
{
        char text[256];

        for (int i = 0; i < 10000; i++) {
                assert_true(sys_read_file(cg->dir[SYS_CGROUP_2], "cgroup.events", text, sizeof(text)) > 0);
                if (sys_keyed_u64(text, "populated") == 0)
                        return;
                nap_ms(2);
        }
        fail_msg("the processes did not end");
}

static uint64_t number(int dir, const char *file)
{
        char text[64];

        assert_true(sys_read_file(dir, file, text, sizeof(text)) > 0);
        return strtoull(text, NULL, 10);
}

static void test_make_and_remove(void **state)
{
        struct sys_cgroup cg, twice;
        unsigned fds = count_fds();

        need_parts();
        assert_int_equal(make_all(&host, &cg), 0);
        for (unsigned i = 0; i < SYS_CGROUP_PARTS; i++) {
                assert_true(cg.dir[i] >= 0);
                assert_true(!host.path[i][0] || exists(i));
        }
        /* The same name again is refused, and the first is left alone. */
        assert_int_equal(make_all(&host, &twice), -EEXIST);
        for (unsigned i = 0; i < SYS_CGROUP_PARTS; i++)
                assert_true(!host.path[i][0] || exists(i));
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
        for (unsigned i = 0; i < SYS_CGROUP_PARTS; i++) {
                assert_int_equal(cg.dir[i], -1);
                assert_false(exists(i));
        }
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0); /* nothing to do is fine */
        assert_int_equal(count_fds(), fds);
}

/* One hierarchy has the name already: what was made in the others before is unmade. */
static void test_half_made_is_unmade(void **state)
{
        struct sys_cgroup cg;

        need_parts();
        assert_int_equal(mkdirat(host.parent[SYS_CGROUP_CPUSET], name, 0755), 0);
        assert_int_equal(make_all(&host, &cg), -EEXIST);
        for (unsigned i = 0; i < SYS_CGROUP_PARTS; i++)
                assert_true(exists(i) == (i == SYS_CGROUP_CPUSET));
        assert_int_equal(unlinkat(host.parent[SYS_CGROUP_CPUSET], name, AT_REMOVEDIR), 0);
}

static void test_long_name(void **state)
{
        struct sys_cgroup cg;
        char huge[200];

        need_root();
        memset(huge, 'a', sizeof(huge) - 1);
        huge[sizeof(huge) - 1] = 0;
        assert_int_equal(sys_cgroup_begin(&host, huge, &cg), -ENAMETOOLONG);
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

static void test_limits(void **state)
{
        struct sys_cgroup_limits l = { .memory_bytes = 64 << 20,
                                       .swap_bytes = 16 << 20,
                                       .hold_swap = true,
                                       .pids = 7,
                                       .cpu_milli = 500,
                                       .spread = 3,
                                       .owner = 12345 };
        const char *what = "?";
        struct sys_cgroup cg;
        struct stat st;

        need_parts();
        assert_int_equal(make_all(&host, &cg), 0);
        assert_int_equal(sys_cgroup_limit(&host, &cg, &l, &what), 0);
        assert_int_equal(number(cg.dir[SYS_CGROUP_MEMORY], "memory.limit_in_bytes"), 64 << 20);
        assert_int_equal(number(cg.dir[SYS_CGROUP_MEMORY], "memory.kmem.tcp.limit_in_bytes"), 8 << 20);
        if (faccessat(cg.dir[SYS_CGROUP_MEMORY], "memory.memsw.limit_in_bytes", F_OK, 0) == 0)
                assert_int_equal(number(cg.dir[SYS_CGROUP_MEMORY], "memory.memsw.limit_in_bytes"), 80 << 20);
        assert_int_equal(number(cg.dir[SYS_CGROUP_PIDS], "pids.max"), 7);
        assert_int_equal(number(cg.dir[SYS_CGROUP_CPU], "cpu.cfs_quota_us"), 50000);
        assert_int_equal(number(cg.dir[SYS_CGROUP_CPU], "cpu.cfs_period_us"), 100000);
        assert_int_equal(sys_cgroup_cpus(&host, 500), 1);
        assert_int_equal(fstat(cg.dir[SYS_CGROUP_2], &st), 0);
        assert_int_equal(st.st_uid, 12345);
        /* Nothing that sets a limit is given away with it. */
        assert_int_equal(fstatat(cg.dir[SYS_CGROUP_2], "cgroup.max.descendants", &st, 0), 0);
        assert_int_equal(st.st_uid, 0);
        assert_int_equal(fstatat(cg.dir[SYS_CGROUP_2], "cgroup.freeze", &st, 0), 0);
        assert_int_equal(st.st_uid, 0);
        assert_int_equal(number(cg.dir[SYS_CGROUP_2], "cgroup.max.depth"), 1);
        assert_int_equal(fstat(cg.dir[SYS_CGROUP_MEMORY], &st), 0);
        assert_int_equal(st.st_uid, 0);
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

/* Without limits the box sees as many processors as the caller may use. */
static void test_no_limits(void **state)
{
        struct sys_cgroup_limits l = { .owner = 1 };
        const char *what = "?";
        struct sys_cgroup cg;
        cpu_set_t mine;

        need_parts();
        CPU_ZERO(&mine);
        assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
        assert_int_equal(make_all(&host, &cg), 0);
        assert_int_equal(sys_cgroup_limit(&host, &cg, &l, &what), 0);
        assert_in_range(sys_cgroup_cpus(&host, 0), CPU_COUNT(&mine), SYS_CGROUP_CPUS);
        assert_true(number(cg.dir[SYS_CGROUP_MEMORY], "memory.limit_in_bytes") > 1ull << 60);
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

/* More processors asked for than there are: all of them. Boxes are spread over the processors. */
static void test_cpuset(void **state)
{
        struct sys_cgroup_limits l = { .cpu_milli = 1000000, .owner = 1 };
        const char *what = "?";
        struct sys_cgroup cg;
        char first[4096], second[4096];
        uint32_t all;

        need_parts();
        assert_int_equal(make_all(&host, &cg), 0);
        assert_int_equal(sys_cgroup_limit(&host, &cg, &l, &what), 0);
        all = sys_cgroup_cpus(&host, 1000000);
        assert_int_equal(all, sys_cgroup_cpus(&host, 0));
        assert_int_equal(sys_cgroup_cpus(&host, 1), 1);
        assert_int_equal(sys_cgroup_cpus(&host, 1000), 1);
        assert_int_equal(sys_cgroup_cpus(&host, 1001), all > 1 ? 2 : 1);
        l.cpu_milli = 1000;
        assert_int_equal(sys_cgroup_limit(&host, &cg, &l, &what), 0);
        assert_true(sys_read_file(cg.dir[SYS_CGROUP_CPUSET], "cpuset.cpus", first, sizeof(first)) > 0);
        l.spread = 1;
        assert_int_equal(sys_cgroup_limit(&host, &cg, &l, &what), 0);
        assert_true(sys_read_file(cg.dir[SYS_CGROUP_CPUSET], "cpuset.cpus", second, sizeof(second)) > 0);
        assert_true((strcmp(first, second) == 0) == (all == 1));
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

static void test_refused_limit_is_named(void **state)
{
        struct sys_cgroup_limits l = { .cpu_milli = 1,
                                       .owner = 1 }; /* the kernel takes a quota from 1 ms on */
        const char *what = "?";
        struct sys_cgroup cg;

        need_parts();
        assert_int_equal(make_all(&host, &cg), 0);
        assert_int_equal(sys_cgroup_limit(&host, &cg, &l, &what), -EINVAL);
        assert_string_equal(what, "cpu.cfs_quota_us");
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

static void test_stats(void **state)
{
        struct sys_cgroup_limits l = { .memory_bytes = 32 << 20, .hold_swap = true, .pids = 2, .owner = 1 };
        struct sys_cgroup_stats s;
        const char *what = "?";
        struct sys_cgroup cg;
        int status;
        pid_t pid;

        need_parts();
        assert_int_equal(make_all(&host, &cg), 0);
        assert_int_equal(sys_cgroup_limit(&host, &cg, &l, &what), 0);
        sys_cgroup_stats(&cg, &s);
        assert_true(s.pids == 0 && s.oom_kills == 0 && s.pids_refused == 0 && s.memory_bytes < 1 << 20);
        pid = fork();
        if (pid == 0) { /* two more processes than fit, then a bomb */
                int joins[8], count = sys_cgroup_open_joins(&cg, joins, 8);
                char *big = mmap(NULL, 256 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                check(count == 4 && big != MAP_FAILED);
                check(sys_write_file(cg.dir[SYS_CGROUP_2], "cgroup.procs", "0") == 0);
                for (int i = 0; i < count; i++)
                        check(write(joins[i], "0", 1) == 1);
                for (int i = 0; i < 3; i++)
                        if (fork() == 0)
                                for (;;)
                                        pause();
                for (volatile unsigned spin = 0; spin < 20000000; spin++)
                        ;
                memset(big, 1, 256 << 20);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        sys_cgroup_stats(&cg, &s);
        assert_in_range(s.oom_kills, 1, 3);
        assert_in_range(s.pids_refused, 2, 3);
        assert_in_range(s.memory_peak_bytes, 31 << 20, 32 << 20);
        assert_true(s.cpu_us > 1000);
        assert_int_equal(sys_cgroup_kill(&cg), 0);
        wait_for_none(&cg);
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

static void test_usage_files(void **state)
{
        struct sys_cgroup cg;
        int usage, stat;

        need_parts();
        assert_int_equal(make_all(&host, &cg), 0);
        assert_int_equal(sys_cgroup_open_usage(&cg, &usage, &stat), 0);
        assert_true(usage >= 0 && stat >= 0);
        close(usage);
        close(stat);
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
        cg.dir[SYS_CGROUP_MEMORY] = -1;
        assert_int_equal(sys_cgroup_open_usage(&cg, &usage, &stat), 0);
        assert_true(usage == -1 && stat == -1);
}

static void test_joins(void **state)
{
        struct sys_cgroup cg;
        int fds[8];

        need_parts();
        assert_int_equal(make_all(&host, &cg), 0);
        assert_int_equal(sys_cgroup_open_joins(&cg, fds, 2), 2);
        close(fds[0]);
        close(fds[1]);
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

static char state_of(pid_t pid)
{
        char path[64], text[512];
        const char *at;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        if (sys_read_file(AT_FDCWD, path, text, sizeof(text)) <= 0)
                return 0;
        at = strrchr(text, ')');
        return at ? at[2] : 0;
}

static void test_freeze_and_kill_frozen(void **state)
{
        struct sys_cgroup_limits l = { .owner = 1 };
        const char *what = "?";
        struct sys_cgroup cg;
        char text[256];
        pid_t pid;

        need_parts();
        assert_int_equal(make_all(&host, &cg), 0);
        assert_int_equal(sys_cgroup_limit(&host, &cg, &l, &what), 0);
        pid = put_sleeper(&cg, true);
        assert_int_equal(sys_cgroup_freeze(&cg, true), 0);
        for (int i = 0; i < 10000; i++) {
                assert_true(sys_read_file(cg.dir[SYS_CGROUP_2], "cgroup.events", text, sizeof(text)) > 0);
                if (sys_keyed_u64(text, "frozen") == 1)
                        break;
                nap_ms(2);
        }
        assert_int_equal(sys_keyed_u64(text, "frozen"), 1);
        assert_true(strchr("SDT", state_of(pid)));
        assert_int_equal(sys_cgroup_freeze(&cg, false), 0);
        assert_int_equal(sys_cgroup_freeze(&cg, true), 0);
        assert_int_equal(sys_cgroup_kill(&cg), 0); /* frozen, and yet it dies */
        assert_true(ends(pid));
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

/*
 * The wait for the last task is bounded: a node that is in use is told, not waited for for ever, and stays.
 */
static void test_remove_in_use(void **state)
{
        struct sys_cgroup cg, again = { .dir = { -1, -1, -1, -1, -1 } };
        pid_t pid;

        need_parts();
        assert_int_equal(make_all(&host, &cg), 0);
        pid = put_sleeper(&cg, false);
        assert_int_equal(sys_cgroup_remove(&host, &cg), -EBUSY);
        assert_true(!host.path[SYS_CGROUP_2][0] || exists(SYS_CGROUP_2));
        assert_false(exists(SYS_CGROUP_MEMORY));
        kill(pid, SIGKILL);
        assert_true(ends(pid));
        snprintf(again.name, sizeof(again.name), "%s", name);
        again.dir[SYS_CGROUP_2] = sys_open_at(host.parent[SYS_CGROUP_2], name, O_RDONLY | O_DIRECTORY, 0);
        assert_int_equal(sys_cgroup_remove(&host, &again), 0);
}

/* What is empty goes at once, what is not stays without a wait. */
static void test_remove_empty(void **state)
{
        struct sys_cgroup cg;
        pid_t pid;

        need_parts();
        assert_int_equal(make_all(&host, &cg), 0);
        pid = fork();
        if (pid == 0) {
                check(sys_write_file(cg.dir[SYS_CGROUP_PIDS], "tasks", "0") == 0);
                for (;;)
                        pause();
        }
        for (int i = 0; i < 10000 && number(cg.dir[SYS_CGROUP_PIDS], "pids.current") == 0; i++)
                nap_ms(2);
        sys_cgroup_remove_empty(&host, &cg);
        for (unsigned i = 0; i < SYS_CGROUP_2; i++) {
                assert_true(exists(i) == (i == SYS_CGROUP_PIDS));
                assert_true((cg.dir[i] >= 0) == (i == SYS_CGROUP_PIDS));
        }
        kill(pid, SIGKILL);
        assert_true(ends(pid));
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

/* As cay-init does: a child node per command. */
static void test_remove_with_children(void **state)
{
        struct sys_cgroup cg;
        char child[16];

        need_parts();
        assert_int_equal(make_all(&host, &cg), 0);
        for (int i = 0; i < 40; i++) {
                snprintf(child, sizeof(child), "x%d", i);
                assert_int_equal(mkdirat(cg.dir[SYS_CGROUP_2], child, 0755), 0);
        }
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

static void test_remove_path_kills(void **state)
{
        char path[SYS_CGROUP_PATH], child[SYS_CGROUP_PATH + 8];
        struct sys_cgroup cg;
        pid_t v2, v1;

        need_parts();
        if (!host.path[SYS_CGROUP_2][0]) {
                print_message("skipped: cgroup2 is mounted nowhere\n");
                skip();
        }
        assert_int_equal(make_all(&host, &cg), 0);
        v2 = put_sleeper(&cg, false);
        /* One in a child node, as a command is. */
        assert_true(sys_cgroup_path(&host, SYS_CGROUP_2, name, path));
        snprintf(child, sizeof(child), "%s/x1", path);
        assert_int_equal(mkdir(child, 0755), 0);
        v1 = fork();
        if (v1 == 0) { /* and one in a v1 node alone, where there is no cgroup.kill */
                check(sys_write_file(cg.dir[SYS_CGROUP_PIDS], "tasks", "0") == 0);
                for (;;)
                        pause();
        }
        for (int i = 0; i < 10000 && number(cg.dir[SYS_CGROUP_PIDS], "pids.current") == 0; i++)
                nap_ms(2);
        for (int i = SYS_CGROUP_PARTS - 1; i >= 0; i--) {
                assert_true(sys_cgroup_path(&host, i, name, path));
                if (i == SYS_CGROUP_PIDS) { /* its dead task must be reaped by somebody for the node to go */
                        pid_t killer = fork();

                        if (killer == 0)
                                _exit(sys_cgroup_remove_at(AT_FDCWD, path, soon()) == 0 ? 0 : 1);
                        assert_true(ends(v1));
                        assert_int_equal(waitpid(killer, NULL, 0), killer);
                } else if (i == SYS_CGROUP_2) {
                        assert_int_equal(sys_cgroup_remove_at(AT_FDCWD, path, soon()), 0);
                        assert_true(ends(v2));
                } else {
                        assert_int_equal(sys_cgroup_remove_at(AT_FDCWD, path, soon()), 0);
                }
                assert_false(exists(i));
                assert_int_equal(sys_cgroup_remove_at(AT_FDCWD, path, soon()), 0); /* absent is success */
        }
        for (unsigned i = 0; i < SYS_CGROUP_PARTS; i++)
                close(cg.dir[i]);
}

/* Where a part is missing the rest works, and what cannot be held is said. */
static void test_absent_parts(void **state)
{
        struct sys_cgroup_limits l = { .memory_bytes = 32 << 20, .pids = 5, .cpu_milli = 500, .owner = 1 };
        const char *what = "?";
        char path[SYS_CGROUP_PATH];
        struct sys_cgroup_stats s;
        struct sys_cgroup cg;
        int fds[8], joins;

        need_parts();
        for (unsigned i = 0; i < SYS_CGROUP_PARTS; i++) {
                struct sys_cgroup_host part = host;

                part.parent[i] = -1;
                part.path[i][0] = 0;
                assert_false(sys_cgroup_path(&part, i, name, path));
                switch (i) {
                case SYS_CGROUP_MEMORY:
                        assert_int_equal(sys_cgroup_can_hold(&part),
                                         SYS_CGROUP_CAN_CPU | SYS_CGROUP_CAN_PIDS);
                        break;
                case SYS_CGROUP_PIDS:
                        assert_int_equal(sys_cgroup_can_hold(&part) & SYS_CGROUP_CAN_PIDS, 0);
                        break;
                case SYS_CGROUP_CPU:
                case SYS_CGROUP_CPUSET:
                        assert_int_equal(sys_cgroup_can_hold(&part) & SYS_CGROUP_CAN_CPU, 0);
                        break;
                default:
                        assert_int_equal(sys_cgroup_can_hold(&part), 15);
                        break;
                }
                assert_int_equal(make_all(&part, &cg), 0);
                assert_int_equal(cg.dir[i], -1);
                assert_int_equal(sys_cgroup_limit(&part, &cg, &l, &what), 0);
                assert_int_equal(sys_cgroup_cpus(&part, 500), i == SYS_CGROUP_CPUSET ? 0 : 1);
                sys_cgroup_stats(&cg, &s);
                joins = sys_cgroup_open_joins(&cg, fds, 8);
                assert_int_equal(joins, i == SYS_CGROUP_2 ? 4 : 3);
                for (int k = 0; k < joins; k++)
                        close(fds[k]);
                if (i == SYS_CGROUP_2) {
                        assert_int_equal(sys_cgroup_freeze(&cg, true), -EOPNOTSUPP);
                        assert_int_equal(sys_cgroup_kill(&cg), -EOPNOTSUPP);
                }
                assert_int_equal(sys_cgroup_remove(&part, &cg), 0);
        }
}

/* A host that mounts no cgroup2: ours is private, works, and leaves no mount. */
static void private_v2(void)
{
        struct sys_cgroup_host own;
        struct sys_cgroup cg;
        char path[SYS_CGROUP_PATH];
        pid_t pid;

        enter_mount_namespace();
        if (!host.path[SYS_CGROUP_2][0])
                skip_child("cgroup2 is mounted nowhere");
        snprintf(path, sizeof(path), "%s", host.path[SYS_CGROUP_2]);
        for (int i = 0; i < 16; i++) { /* mounts can lie on mounts */
                umount2(path, MNT_DETACH);
                umount2("/sys/fs/cgroup/unified", MNT_DETACH);
        }
        check(sys_cgroup_host_open(&own) == 0);
        check(own.parent[SYS_CGROUP_2] >= 0 && !own.path[SYS_CGROUP_2][0]);
        check(make_all(&own, &cg) == 0);
        pid = fork();
        if (pid == 0) {
                check(sys_write_file(cg.dir[SYS_CGROUP_2], "cgroup.procs", "0") == 0);
                check(sys_write_file(cg.dir[SYS_CGROUP_2], "cgroup.kill", "1") == 0);
                for (;;)
                        pause();
        }
        check(ends(pid));
        check(sys_cgroup_remove(&own, &cg) == 0);
        sys_cgroup_host_close(&own);
}

static void test_private_v2(void **state)
{
        need_parts();
        in_child(private_v2);
}

static void no_cgroups(void)
{
        struct sys_cgroup_host own;
        struct sys_cgroup_limits l = { .memory_bytes = 32 << 20, .owner = 1 };
        const char *what;
        struct sys_cgroup cg;

        enter_mount_namespace();
        check(umount2("/sys/fs/cgroup", MNT_DETACH) == 0);
        check(sys_cgroup_host_open(&own) == 0);
        check(sys_cgroup_can_hold(&own) == 0);
        check(make_all(&own, &cg) == 0);
        check(sys_cgroup_limit(&own, &cg, &l, &what) == 0 && sys_cgroup_cpus(&own, 500) == 0);
        check(sys_cgroup_remove(&own, &cg) == 0);
        sys_cgroup_host_close(&own);
}

static void test_no_cgroups(void **state)
{
        need_parts();
        in_child(no_cgroups);
}

#define with_host(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                with_host(test_make_and_remove),
                with_host(test_half_made_is_unmade),
                with_host(test_long_name),
                with_host(test_limits),
                with_host(test_no_limits),
                with_host(test_cpuset),
                with_host(test_refused_limit_is_named),
                with_host(test_stats),
                with_host(test_usage_files),
                with_host(test_joins),
                with_host(test_freeze_and_kill_frozen),
                with_host(test_remove_in_use),
                with_host(test_remove_with_children),
                with_host(test_remove_path_kills),
                with_host(test_absent_parts),
                with_host(test_private_v2),
                with_host(test_no_cgroups),
                with_host(test_remove_empty),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
