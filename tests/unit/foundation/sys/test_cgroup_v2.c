/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One node with everything, on a kernel that has its controllers on cgroup2: limits that hold, and figures.
 */
#include "cgroup_test.h"

#include <sys/mman.h>

static void test_one_node(void **state)
{
        struct sys_cgroup cg, twice;
        unsigned fds = count_fds();
        char path[SYS_CGROUP_PATH], expected[SYS_CGROUP_PATH];

        make_box(&cg);
        for (unsigned i = 0; i < SYS_CGROUP_2; i++) {
                assert_int_equal(cg.dir[i], -1);
                assert_false(sys_cgroup_path(&host, i, name, path));
        }
        assert_true(cg.dir[SYS_CGROUP_2] >= 0 && exists());
        if (host.path[SYS_CGROUP_2][0]) {
                assert_true(sys_cgroup_path(&host, SYS_CGROUP_2, name, path));
                snprintf(expected, sizeof(expected), "%.150s/%s", host.path[SYS_CGROUP_2], name);
                assert_string_equal(path, expected);
                assert_int_equal(access(path, F_OK), 0);
        }
        assert_int_equal(sys_cgroup_begin(&host, name, &twice), -EEXIST);
        assert_int_equal(sys_cgroup_remove(&host, &twice), 0);
        assert_true(exists());
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
        assert_false(exists());
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0); /* nothing to do is fine */
        assert_int_equal(count_fds(), fds);
}

static void test_limits(void **state)
{
        struct sys_cgroup_limits l = { .memory_bytes = 64 << 20,
                                       .swap_bytes = 16 << 20,
                                       .hold_swap = true,
                                       .pids = 7,
                                       .cpu_milli = 500,
                                       .spread = 3,
                                       .owner = USER };
        static const char *const ours[] = { "memory.max",  "pids.max",
                                            "cpu.max",     "cgroup.max.descendants",
                                            "cpuset.cpus", "cgroup.freeze",
                                            "cgroup.kill" };
        const char *what = "?";
        struct sys_cgroup cg;
        struct stat st;
        char text[64];

        make_box(&cg);
        assert_int_equal(sys_cgroup_limit(&host, &cg, &l, &what), 0);
        assert_int_equal(number(cg.dir[SYS_CGROUP_2], "memory.max"), 64 << 20);
        if (faccessat(cg.dir[SYS_CGROUP_2], "memory.swap.max", F_OK, 0) == 0)
                assert_int_equal(number(cg.dir[SYS_CGROUP_2], "memory.swap.max"), 16 << 20);
        assert_int_equal(number(cg.dir[SYS_CGROUP_2], "pids.max"), 8); /* and the first process */
        assert_true(sys_read_file(cg.dir[SYS_CGROUP_2], "cpu.max", text, sizeof(text)) > 0);
        assert_string_equal(text, "50000 100000\n");
        assert_int_equal(number(cg.dir[SYS_CGROUP_2], "cgroup.max.depth"), 1);
        assert_true(cg.is_delegated);
        assert_int_equal(fstat(cg.dir[SYS_CGROUP_2], &st), 0);
        assert_int_equal(st.st_uid, USER);
        assert_int_equal(fstatat(cg.dir[SYS_CGROUP_2], "cgroup.procs", &st, 0), 0);
        assert_int_equal(st.st_uid, USER);
        /* Nothing that sets a limit is given away with it. */
        for (unsigned i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
                if (fstatat(cg.dir[SYS_CGROUP_2], ours[i], &st, 0) == 0)
                        assert_int_equal(st.st_uid, 0);
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

/* As many processes as the kernel has numbers for: there is no room for one more. */
static void test_most_pids(void **state)
{
        struct sys_cgroup_limits l = { .pids = 4194304, .owner = USER };
        const char *what = "?";
        struct sys_cgroup cg;

        make_box(&cg);
        assert_int_equal(sys_cgroup_limit(&host, &cg, &l, &what), 0);
        assert_int_equal(number(cg.dir[SYS_CGROUP_2], "pids.max"), 4194304);
        l.pids++;
        assert_int_equal(sys_cgroup_limit(&host, &cg, &l, &what), -EINVAL);
        assert_string_equal(what, "pids.max");
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

/* No swap at all is a limit too, where the caller wants it held. */
static void test_no_swap(void **state)
{
        struct sys_cgroup_limits l = { .memory_bytes = 64 << 20, .hold_swap = true, .owner = USER };
        const char *what = "?";
        struct sys_cgroup cg;

        make_box(&cg);
        assert_int_equal(sys_cgroup_limit(&host, &cg, &l, &what), 0);
        if (faccessat(cg.dir[SYS_CGROUP_2], "memory.swap.max", F_OK, 0) == 0)
                assert_int_equal(number(cg.dir[SYS_CGROUP_2], "memory.swap.max"), 0);
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

static void test_no_limits(void **state)
{
        static const char *const files[] = { "memory.max", "pids.max", "cpu.max" };
        struct sys_cgroup_limits l = { .owner = USER };
        const char *what = "?";
        struct sys_cgroup cg;
        char text[64];
        cpu_set_t mine;

        CPU_ZERO(&mine);
        assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
        make_box(&cg);
        assert_int_equal(sys_cgroup_limit(&host, &cg, &l, &what), 0);
        for (unsigned i = 0; i < 3; i++) {
                assert_true(sys_read_file(cg.dir[SYS_CGROUP_2], files[i], text, sizeof(text)) > 0);
                assert_true(strncmp(text, "max", 3) == 0);
        }
        if (host.held & 1u << SYS_CGROUP_CPUSET)
                assert_in_range(sys_cgroup_cpus(&host, 0), CPU_COUNT(&mine), SYS_CGROUP_CPUS);
        else
                assert_int_equal(sys_cgroup_cpus(&host, 0), 0);
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

static void test_cpuset(void **state)
{
        struct sys_cgroup_limits l = { .cpu_milli = 1000, .owner = USER };
        char first[4096], second[4096];
        const char *what = "?";
        struct sys_cgroup cg;
        uint32_t all;

        if (!(host.held & 1u << SYS_CGROUP_CPUSET)) {
                print_message("skipped: no cpuset controller\n");
                skip();
        }
        all = sys_cgroup_cpus(&host, 0);
        assert_int_equal(sys_cgroup_cpus(&host, 1000000), all);
        assert_int_equal(sys_cgroup_cpus(&host, 1001), all > 1 ? 2 : 1);
        make_box(&cg);
        assert_int_equal(sys_cgroup_limit(&host, &cg, &l, &what), 0);
        assert_true(sys_read_file(cg.dir[SYS_CGROUP_2], "cpuset.cpus.effective", first, sizeof(first)) > 0);
        l.spread = 1;
        assert_int_equal(sys_cgroup_limit(&host, &cg, &l, &what), 0);
        assert_true(sys_read_file(cg.dir[SYS_CGROUP_2], "cpuset.cpus.effective", second, sizeof(second)) > 0);
        assert_true((strcmp(first, second) == 0) == (all == 1));
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

/*
 * The first process, two more than fit beside it, then a bomb. The kernel must spare the first, as the warden
 * tells it to.
 */
static void first_process(int dir)
{
        char *big = mmap(NULL, 256 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pid_t bomb;
        int status;

        check(big != MAP_FAILED && sys_write_file(dir, "cgroup.procs", "0") == 0);
        check(sys_write_file(AT_FDCWD, "/proc/self/oom_score_adj", "-900") == 0);
        for (int i = 0; i < 3; i++)
                if (fork() == 0)
                        for (;;)
                                pause();
        check(mkdirat(dir, "x1", 0755) == 0);
        bomb = fork();
        check(bomb < 0 && errno == EAGAIN); /* 3 of 3 are there */
        for (volatile unsigned spin = 0; spin < 20000000; spin++)
                ;
        check(kill(-getpgrp(), SIGCONT) == 0);
        _exit(memset(big, 1, 256 << 20) != NULL && waitpid(-1, &status, WNOHANG) >= 0 ? 0 : 1);
}

static void test_stats(void **state)
{
        struct sys_cgroup_limits l = {
                .memory_bytes = 32 << 20, .hold_swap = true, .pids = 3, .owner = USER
        };
        struct sys_cgroup_stats s;
        const char *what = "?";
        struct sys_cgroup cg;
        int status;
        pid_t pid;

        make_box(&cg);
        assert_int_equal(sys_cgroup_limit(&host, &cg, &l, &what), 0);
        sys_cgroup_stats(&cg, &s);
        assert_true(s.pids == 0 && s.oom_kills == 0 && s.pids_refused == 0 && s.memory_bytes < 1 << 20);
        pid = fork();
        if (pid == 0) {
                setpgid(0, 0);
                first_process(cg.dir[SYS_CGROUP_2]);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        sys_cgroup_stats(&cg, &s);
        assert_in_range(s.oom_kills, 1, 4);
        assert_int_equal(s.pids_refused, 1);
        if (faccessat(cg.dir[SYS_CGROUP_2], "memory.peak", F_OK, 0) == 0)
                assert_in_range(s.memory_peak_bytes, 31 << 20, 32 << 20);
        else
                assert_int_equal(s.memory_peak_bytes, 0);
        assert_true(s.cpu_us > 1000);
        assert_int_equal(sys_cgroup_kill(&cg), 0);
        wait_for_none(cg.dir[SYS_CGROUP_2]);
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

static void test_refused_limit_is_named(void **state)
{
        struct sys_cgroup_limits l = { .cpu_milli = 1, .owner = USER }; /* the kernel takes 1 ms and more */
        const char *what = "?";
        struct sys_cgroup cg;

        make_box(&cg);
        assert_int_equal(sys_cgroup_limit(&host, &cg, &l, &what), -EINVAL);
        assert_string_equal(what, "cpu.max");
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

/* Processes are counted without the first. */
static void test_pids_without_first(void **state)
{
        struct sys_cgroup_stats s;
        struct sys_cgroup cg;
        pid_t first, second;

        make_box(&cg);
        first = put_sleeper(cg.dir[SYS_CGROUP_2]);
        sys_cgroup_stats(&cg, &s);
        assert_int_equal(s.pids, 0);
        assert_int_equal(mkdirat(cg.dir[SYS_CGROUP_2], "x1", 0755), 0);
        {
                cay_auto_close int child = sys_open_at(cg.dir[SYS_CGROUP_2], "x1", O_RDONLY | O_DIRECTORY, 0);

                second = put_sleeper(child);
        }
        sys_cgroup_stats(&cg, &s);
        assert_int_equal(s.pids, 1);
        assert_int_equal(sys_cgroup_kill(&cg), 0);
        assert_true(ends(first) && ends(second));
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

static void test_usage_and_joins(void **state)
{
        int usage, stat, fds[4];
        struct sys_cgroup cg;
        char text[8192];

        make_box(&cg);
        assert_int_equal(sys_cgroup_open_usage(&cg, &usage, &stat), 0);
        assert_true(usage >= 0 && stat >= 0);
        assert_true(sys_read_fd(stat, text, sizeof(text)) > 0);
        assert_non_null(strstr(text, "inactive_file "));
        close(usage);
        close(stat);
        assert_int_equal(sys_cgroup_open_joins(&cg, fds, 4), 0);
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
        assert_int_equal(sys_cgroup_open_usage(&cg, &usage, &stat), 0);
        assert_true(usage == -1 && stat == -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                with_host(test_one_node),
                with_host(test_limits),
                with_host(test_most_pids),
                with_host(test_no_swap),
                with_host(test_no_limits),
                with_host(test_cpuset),
                with_host(test_refused_limit_is_named),
                with_host(test_stats),
                with_host(test_pids_without_first),
                with_host(test_usage_and_joins),
        };

        if (!has_controllers())
                return 77;
        return cmocka_run_group_tests(tests, NULL, NULL);
}
