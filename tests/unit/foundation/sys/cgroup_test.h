/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of cgroups: a host that is opened anew for every test, a node's name of its own, and processes to
 * put there.
 */
#pragma once

#include "sys_test.h"

#include <grp.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/clock.h"
#include "foundation/sys/cgroup_priv.h"
#include "foundation/sys/fd.h"

#define USER 12345 /* nobody of this machine's */

static struct sys_cgroup_host host;
static char name[48];

static inline int set_up(void **state)
{
        static unsigned serial;

        if (geteuid() != 0)
                return 0;
        snprintf(name, sizeof(name), "cay-unit-%d-%u", (int)getpid(), serial++);
        return sys_cgroup_host_open(&host);
}

static inline uint64_t soon(void)
{
        return cay_clock_ms() + 60000;
}

static inline bool exists(void)
{
        return host.parent[SYS_CGROUP_2] >= 0 && faccessat(host.parent[SYS_CGROUP_2], name, F_OK, 0) == 0;
}

/* Nothing of the test may stay, whatever failed in it. */
static inline int tear_down(void **state)
{
        bool left;

        if (geteuid() != 0)
                return 0;
        left = exists();
        if (left)
                sys_cgroup_remove_at(host.parent[SYS_CGROUP_2], name, soon());
        sys_cgroup_host_close(&host);
        return left ? -1 : 0;
}

#define need_node()                                                                                          \
        do {                                                                                                 \
                need_root();                                                                                 \
                if (host.parent[SYS_CGROUP_2] < 0) {                                                         \
                        print_message("skipped: this host has no cgroup2\n");                                \
                        skip();                                                                              \
                }                                                                                            \
        } while (0)

static inline void make_box(struct sys_cgroup *cg)
{
        assert_int_equal(sys_cgroup_begin(&host, name, cg), 0);
        assert_int_equal(sys_cgroup_make(&host, cg), 0);
}

static inline uint64_t number(int dir, const char *file)
{
        char text[64];

        assert_true(sys_read_file(dir, file, text, sizeof(text)) > 0);
        return strtoull(text, NULL, 10);
}

static inline void wait_for_procs(int dir)
{
        char text[32];

        for (int i = 0; i < 10000; i++) {
                if (sys_read_file(dir, "cgroup.procs", text, sizeof(text)) > 0)
                        return;
                nap_ms(2);
        }
        fail_msg("the process did not join");
}

static inline pid_t put_sleeper(int dir)
{
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                check(sys_write_file(dir, "cgroup.procs", "0") == 0);
                for (;;)
                        pause();
        }
        wait_for_procs(dir);
        return pid;
}

static inline bool ends(pid_t pid)
{
        for (int i = 0; i < 10000; i++) {
                if (waitpid(pid, NULL, WNOHANG) == pid)
                        return true;
                nap_ms(2);
        }
        return false;
}

/* What was killed, and is nobody's child here, is gone from the node. */
static inline void wait_for_none(int dir)
{
        char text[256];

        for (int i = 0; i < 10000; i++) {
                assert_true(sys_read_file(dir, "cgroup.events", text, sizeof(text)) > 0);
                if (sys_keyed_u64(text, "populated") == 0)
                        return;
                nap_ms(2);
        }
        fail_msg("the processes did not end");
}

/* Else this program has nothing to test here. */
static inline bool has_controllers(void)
{
        struct sys_cgroup_host own;
        bool has = geteuid() == 0 && sys_cgroup_host_open(&own) == 0 && sys_cgroup_counts_init(&own) &&
                   sys_cgroup_can_hold(&own) == 15;

        if (!has)
                fprintf(stderr,
                        "skipped: needs root and the controllers on cgroup2 (make test-vm has both)\n");
        return has;
}

static inline void become(uid_t uid)
{
        check(setgroups(0, NULL) == 0);
        check(setresgid(uid, uid, uid) == 0);
        check(setresuid(uid, uid, uid) == 0);
}

/* Everything does nothing where there is no node. */
static inline void check_nothing(struct sys_cgroup_host *h)
{
        struct sys_cgroup_limits l = { .memory_bytes = 32 << 20, .pids = 3, .cpu_milli = 500, .owner = USER };
        struct sys_cgroup_stats s;
        char path[SYS_CGROUP_PATH];
        const char *what = "?";
        struct sys_cgroup cg;
        int usage, stat, fds[4];

        for (unsigned i = 0; i < SYS_CGROUP_PARTS; i++) {
                check(h->parent[i] == -1);
                check(!sys_cgroup_path(h, i, name, path));
        }
        check(sys_cgroup_can_hold(h) == 0);
        check(sys_cgroup_begin(h, name, &cg) == 0);
        check(sys_cgroup_make(h, &cg) == 0);
        check(sys_cgroup_limit(h, &cg, &l, &what) == 0);
        check(sys_cgroup_cpus(h, 500) == 0);
        check(sys_cgroup_open_joins(&cg, fds, 4) == 0);
        check(sys_cgroup_open_usage(&cg, &usage, &stat) == 0 && usage == -1 && stat == -1);
        memset(&s, 0xff, sizeof(s));
        sys_cgroup_stats(&cg, &s);
        check(s.memory_bytes == 0 && s.pids == 0 && s.cpu_us == 0 && s.oom_kills == 0);
        check(sys_cgroup_freeze(&cg, true) == -EOPNOTSUPP);
        check(sys_cgroup_kill(&cg) == -EOPNOTSUPP);
        sys_cgroup_remove_empty(h, &cg);
        check(sys_cgroup_remove(h, &cg) == 0);
}

#define with_host(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
