/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is the same whatever version the host has: freezing and killing, with cgroup.kill and without it, and
 * hosts that give nothing.
 */
#include "cgroup_test.h"

/* The cgroup2 node alone. */
static void begin_box(struct sys_cgroup *cg)
{
        assert_int_equal(sys_cgroup_begin(&host, name, cg), 0);
}

/* A box without the memory controller has nothing to open. */
static void test_no_memory_controller(void **state)
{
        struct sys_cgroup_limits l = { .memory_bytes = 64 << 20, .pids = 3, .cpu_milli = 500, .owner = USER };
        struct sys_cgroup_host bare = host;
        const char *what = "?";
        int usage, stat;
        struct sys_cgroup cg;
        struct sys_cgroup_stats s;

        need_node();
        bare.ops = &sys_cgroup_v2_ops;
        bare.held = 0;
        assert_int_equal(sys_cgroup_can_hold(&bare), 0);
        assert_int_equal(sys_cgroup_begin(&bare, name, &cg), 0);
        assert_int_equal(sys_cgroup_limit(&bare, &cg, &l, &what), 0);
        sys_cgroup_stats(&cg, &s);
        if (faccessat(cg.dir[SYS_CGROUP_2], "memory.current", F_OK, 0) < 0) {
                assert_int_equal(sys_cgroup_open_usage(&cg, &usage, &stat), 0);
                assert_true(usage == -1 && stat == -1);
                assert_true(s.memory_bytes == 0 && s.pids == 0);
        }
        assert_int_equal(sys_cgroup_remove(&bare, &cg), 0);
}

static void test_freeze_and_kill_frozen(void **state)
{
        struct sys_cgroup cg;
        char text[256];
        pid_t pid;

        need_node();
        begin_box(&cg);
        pid = put_sleeper(cg.dir[SYS_CGROUP_2]);
        assert_int_equal(sys_cgroup_freeze(&cg, true), 0);
        for (int i = 0; i < 10000; i++) {
                assert_true(sys_read_file(cg.dir[SYS_CGROUP_2], "cgroup.events", text, sizeof(text)) > 0);
                if (sys_keyed_u64(text, "frozen") == 1)
                        break;
                nap_ms(2);
        }
        assert_int_equal(sys_keyed_u64(text, "frozen"), 1);
        assert_int_equal(sys_cgroup_kill(&cg), 0); /* frozen, and yet it dies */
        assert_true(ends(pid));
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

/* Forks faster than somebody who reads a list and signals what is on it: only freezing stops it. */
static _Noreturn void run_away(void)
{
        signal(SIGCHLD, SIG_IGN);
        for (unsigned i = 0;; i++) {
                pid_t pid = fork();

                if (pid > 0)
                        _exit(0);
        }
}

/*
 * Without cgroup.kill: processes in the node and in its children, one of which changes its pid all the time.
 * They must be gone when the call returns.
 */
static void kill_by_list(void)
{
        char text[256];
        struct sys_cgroup cg;
        cay_auto_close int child = -1;
        int there[2], r = -EBUSY;
        pid_t pid;

        check(pipe2(there, O_CLOEXEC) == 0);
        check(sys_cgroup_begin(&host, name, &cg) == 0);
        check(mkdirat(cg.dir[SYS_CGROUP_2], "x1", 0755) == 0);
        child = sys_open_at(cg.dir[SYS_CGROUP_2], "x1", O_RDONLY | O_DIRECTORY, 0);
        for (int i = 0; i < 6; i++) {
                pid = fork();
                check(pid >= 0);
                if (pid > 0)
                        continue;
                check(sys_write_file(i % 2 ? child : cg.dir[SYS_CGROUP_2], "cgroup.procs", "0") == 0);
                check(write(there[1], "x", 1) == 1);
                if (i == 5)
                        run_away();
                for (;;)
                        pause();
        }
        for (int i = 0; i < 6; i++) /* who joined later would be left out */
                check(read(there[0], text, 1) == 1);
        for (int i = 0; i < 100 && r == -EBUSY; i++) /* it says so when its time was too short */
                r = sys_cgroup_kill(&cg);
        check(r == 0);
        check(sys_read_file(cg.dir[SYS_CGROUP_2], "cgroup.events", text, sizeof(text)) > 0);
        check(sys_keyed_u64(text, "populated") == 0 && sys_keyed_u64(text, "frozen") == 0);
        while (waitpid(-1, NULL, 0) > 0)
                ;
        check(sys_cgroup_remove(&host, &cg) == 0);
}

static void kill_by_list_alone(void)
{
#ifndef CAY_TEST_HOOKS
        (void)kill_by_list;
        skip_child("this build has no test hooks");
#else
        setenv("CAY_TEST_NO", "openat2 cgroup.kill", 1);
        kill_by_list();
#endif
}

static void test_kill_without_cgroup_kill(void **state)
{
        need_node();
        in_child(kill_by_list_alone);
}

/* The hook blocks whole words only, else it would not be known which way was tested. */
static void test_kill_is_immediate(void **state)
{
        struct sys_cgroup cg;
        pid_t pid;

        need_node();
        begin_box(&cg);
        pid = put_sleeper(cg.dir[SYS_CGROUP_2]);
        setenv("CAY_TEST_NO", "cgroup.killer cgroup", 1);
        assert_int_equal(sys_cgroup_kill(&cg), 0);
        unsetenv("CAY_TEST_NO");
        assert_true(ends(pid));
        assert_int_equal(sys_cgroup_remove(&host, &cg), 0);
}

/* What a record names: the processes die and node and children go, whichever way of killing there is. */
static void remove_at(bool by_list)
{
        struct sys_cgroup cg;
        pid_t pid, killer;
        cay_auto_close int child = -1;

        begin_box(&cg);
        assert_int_equal(mkdirat(cg.dir[SYS_CGROUP_2], "x1", 0755), 0);
        child = sys_open_at(cg.dir[SYS_CGROUP_2], "x1", O_RDONLY | O_DIRECTORY, 0);
        pid = put_sleeper(child);
        killer = fork();
        if (killer == 0) {
                if (by_list)
                        setenv("CAY_TEST_NO", "cgroup.kill", 1);
                _exit(sys_cgroup_remove_at(host.parent[SYS_CGROUP_2], name, soon()) == 0 ? 0 : 1);
        }
        assert_true(ends(pid));
        assert_true(ends(killer));
        assert_false(exists());
        assert_int_equal(sys_cgroup_remove_at(host.parent[SYS_CGROUP_2], name, soon()),
                         0); /* absent is success */
        close(cg.dir[SYS_CGROUP_2]);
}

static void test_remove_at(void **state)
{
        need_node();
        remove_at(false);
}

static void test_remove_at_by_list(void **state)
{
        need_node();
        remove_at(true);
}

/* Without any time it is tried once: what can go goes, the rest is told. */
static void test_remove_at_now(void **state)
{
        struct sys_cgroup cg;
        pid_t pid;

        need_node();
        begin_box(&cg);
        assert_int_equal(mkdirat(cg.dir[SYS_CGROUP_2], "x1", 0755), 0);
        assert_int_equal(mkdirat(cg.dir[SYS_CGROUP_2], "x1/y1", 0755),
                         0); /* one of its kind keeps it for good */
        pid = put_sleeper(cg.dir[SYS_CGROUP_2]);
        assert_int_equal(sys_cgroup_remove_at(host.parent[SYS_CGROUP_2], name, 0), -EBUSY);
        assert_true(ends(pid));
        assert_true(exists());
        assert_int_equal(unlinkat(cg.dir[SYS_CGROUP_2], "x1/y1", AT_REMOVEDIR), 0);
        assert_int_equal(sys_cgroup_remove_at(host.parent[SYS_CGROUP_2], name, soon()), 0);
        assert_false(exists());
        close(cg.dir[SYS_CGROUP_2]);
}

/* Bounded, and told. */
static void test_remove_in_use(void **state)
{
        struct sys_cgroup cg;
        pid_t pid;

        need_node();
        begin_box(&cg);
        pid = put_sleeper(cg.dir[SYS_CGROUP_2]);
        assert_int_equal(sys_cgroup_remove(&host, &cg), -EBUSY);
        assert_true(exists());
        assert_int_equal(sys_cgroup_remove_at(host.parent[SYS_CGROUP_2], name, soon()), 0);
        assert_true(ends(pid));
}

/* An ordinary user whom nobody has given anything: on any version. */
static void user_without_delegation(void)
{
        struct sys_cgroup_host own;

        become(USER);
        check(sys_cgroup_host_open(&own) == 0);
        check_nothing(&own);
        sys_cgroup_host_close(&own);
}

static void test_user_without_delegation(void **state)
{
        need_root();
        in_child(user_without_delegation);
}

/* A fresh struct, as the warden has before it begins. */
static void test_nothing_begun(void **state)
{
        struct sys_cgroup cg = { .dir = { -1, -1, -1, -1, -1 } };
        struct sys_cgroup_host none = { .parent = { -1, -1, -1, -1, -1 } };
        struct sys_cgroup_stats s;
        int usage, stat, fds[2];

        sys_cgroup_stats(&cg, &s);
        assert_int_equal(s.pids, 0);
        assert_int_equal(sys_cgroup_open_joins(&cg, fds, 2), 0);
        assert_int_equal(sys_cgroup_open_usage(&cg, &usage, &stat), 0);
        assert_int_equal(sys_cgroup_kill(&cg), -EOPNOTSUPP);
        assert_int_equal(sys_cgroup_remove(&none, &cg), 0);
        assert_int_equal(sys_cgroup_can_hold(&none), 0);
        assert_false(sys_cgroup_counts_init(&none));
        assert_int_equal(sys_cgroup_cpus(&none, 500), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                with_host(test_no_memory_controller),
                with_host(test_freeze_and_kill_frozen),
                with_host(test_kill_without_cgroup_kill),
                with_host(test_kill_is_immediate),
                with_host(test_remove_at),
                with_host(test_remove_at_by_list),
                with_host(test_remove_at_now),
                with_host(test_remove_in_use),
                with_host(test_user_without_delegation),
                with_host(test_nothing_begun),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
