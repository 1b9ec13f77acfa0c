/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which node is chosen by the real kernel's rules: for root below a service manager, for ordinary users with
 * and without a tree of their own, in containers, and where cgroup2 is hidden. And that limits hold there.
 */
#include "cgroup_test.h"

#include <sys/mman.h>

static void check_no_probes(int dir)
{
        static const char *const prefixes[] = { "cay-probe", "cay-look" };
        DIR *d = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        struct dirent *e;

        check(d != NULL);
        while ((e = readdir(d)))
                for (unsigned i = 0; i < 2; i++)
                        check(strncmp(e->d_name, prefixes[i], strlen(prefixes[i])) != 0);
        closedir(d);
}

/* Makes a box below the node that was chosen and puts a process under its limits. */
static void check_box(const struct sys_cgroup_host *own, uint32_t owner)
{
        struct sys_cgroup_limits l = {
                .memory_bytes = 16 << 20, .hold_swap = true, .pids = 3, .cpu_milli = 500, .owner = owner
        };
        struct sys_cgroup_stats s;
        const char *what = "?";
        struct sys_cgroup cg;
        int status;
        pid_t pid;

        check(sys_cgroup_begin(own, "cay-box", &cg) == 0);
        check(sys_cgroup_make(own, &cg) == 0);
        check(sys_cgroup_limit(own, &cg, &l, &what) == 0);
        check(cg.is_delegated == (geteuid() == 0 || owner == geteuid()));
        pid = fork();
        if (pid == 0) {
                char *big = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                check(big != MAP_FAILED && sys_write_file(cg.dir[SYS_CGROUP_2], "cgroup.procs", "0") == 0);
                memset(big, 1, 64 << 20);
                _exit(0);
        }
        check(waitpid(pid, &status, 0) == pid);
        sys_cgroup_stats(&cg, &s);
        if (own->held & 1u << SYS_CGROUP_MEMORY)
                check(WIFSIGNALED(status) && s.oom_kills == 1);
        else
                check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        check(sys_cgroup_kill(&cg) == 0);
        check(sys_cgroup_remove(own, &cg) == 0);
        check_no_probes(own->parent[SYS_CGROUP_2]);
}

/* A node below the machine's root with a leaf in it; both belong to `uid`. */
static void make_branch(uid_t uid)
{
        static const char *const given[] = { "",     "cgroup.procs",      "cgroup.subtree_control",
                                             "leaf", "leaf/cgroup.procs", "leaf/cgroup.subtree_control" };
        char path[600];

        snprintf(path, sizeof(path), "%s/%s", host.path[SYS_CGROUP_2], name);
        check(mkdir(path, 0755) == 0);
        check(chdir(path) == 0);
        check(mkdir("leaf", 0755) == 0);
        for (unsigned i = 0; i < sizeof(given) / sizeof(given[0]); i++)
                check(chown(given[i][0] ? given[i] : ".", uid, uid) == 0);
}

static void enter_branch(uid_t uid)
{
        make_branch(uid);
        check(sys_write_file(AT_FDCWD, "leaf/cgroup.procs", "0") == 0);
}

/* As below a user's service manager: a tree of the user's own, the process in a leaf of it. */
static void delegated(void)
{
        struct sys_cgroup_host own;
        char path[600];

        snprintf(path, sizeof(path), "%s/%s", host.path[SYS_CGROUP_2], name);
        enter_branch(USER);
        become(USER);
        check(sys_cgroup_host_open(&own) == 0);
        check(strcmp(own.path[SYS_CGROUP_2], path) == 0);
        check(sys_cgroup_counts_init(&own) && sys_cgroup_can_hold(&own) == 15);
        check_box(&own, USER);
        check_box(&own, USER + 1); /* which a user cannot give it to: the limits hold all the same */
        sys_cgroup_host_close(&own);
        /* What was chosen is as good for the next one. */
        check(sys_cgroup_host_open(&own) == 0);
        check(sys_cgroup_can_hold(&own) == 15);
        sys_cgroup_host_close(&own);
}

/* The leaf alone is the user's: boxes can be made in it, without limits, since it has processes. */
static void leaf_only(void)
{
        struct sys_cgroup_host own;
        char path[600];
        pid_t other;

        enter_branch(0);
        check(chown("leaf", USER, USER) == 0 && chown("leaf/cgroup.procs", USER, USER) == 0 &&
              chown("leaf/cgroup.subtree_control", USER, USER) == 0);
        snprintf(path, sizeof(path), "%s/%s/leaf", host.path[SYS_CGROUP_2], name);
        other = fork();
        check(other >= 0);
        if (other == 0)
                for (;;)
                        pause();
        become(USER);
        check(sys_cgroup_host_open(&own) == 0);
        check(strcmp(own.path[SYS_CGROUP_2], path) == 0 && sys_cgroup_can_hold(&own) == 0);
        check_box(&own, USER);
        sys_cgroup_host_close(&own);
}

/* A process outside the tree that is the user's own cannot come into it, whatever the modes say. */
static void delegated_elsewhere(void)
{
        struct sys_cgroup_host own;

        make_branch(USER);
        become(USER);
        check(sys_cgroup_host_open(&own) == 0);
        check_nothing(&own);
}

/* Sees nothing of the hierarchy but the node that it is in. */
static void enter_container(void)
{
        make_branch(0);
        check(rmdir("leaf") == 0);
        check(sys_write_file(AT_FDCWD, "cgroup.procs", "0") == 0);
        enter_mount_namespace();
        check(unshare(CLONE_NEWCGROUP) == 0);
        check(umount2("/sys/fs/cgroup", MNT_DETACH) == 0);
        check(mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL) == 0);
}

static void container(void)
{
        struct sys_cgroup_host own;
        char text[64], me[16];

        enter_container();
        check(sys_cgroup_host_open(&own) == 0);
        check(strcmp(own.path[SYS_CGROUP_2], "/sys/fs/cgroup") == 0);
        check(sys_cgroup_can_hold(&own) == 15);
        snprintf(me, sizeof(me), "%d\n", (int)getpid());
        check(sys_read_file(own.parent[SYS_CGROUP_2], "cay-self/cgroup.procs", text, sizeof(text)) > 0);
        check(strcmp(text, me) == 0);
        check_box(&own, USER);
        sys_cgroup_host_close(&own);
        check(sys_cgroup_host_open(&own) == 0); /* from the leaf */
        check(sys_cgroup_can_hold(&own) == 15 && strcmp(own.path[SYS_CGROUP_2], "/sys/fs/cgroup") == 0);
        sys_cgroup_host_close(&own);
}

static void crowded_container(void)
{
        struct sys_cgroup_host own;
        char text[64];
        pid_t other;

        enter_container();
        other = fork();
        check(other >= 0);
        if (other == 0)
                for (;;)
                        pause();
        check(sys_cgroup_host_open(&own) == 0);
        check(own.parent[SYS_CGROUP_2] >= 0 && sys_cgroup_can_hold(&own) == 0);
        check(faccessat(own.parent[SYS_CGROUP_2], "cay-self", F_OK, 0) < 0);
        snprintf(text, sizeof(text), "/proc/%d/cgroup", (int)other);
        check(sys_read_file(AT_FDCWD, text, text, sizeof(text)) > 0 && strcmp(text, "0::/\n") == 0);
        check_box(&own, USER); /* killing works without controllers */
        sys_cgroup_host_close(&own);
}

static void read_only_container(void)
{
        struct sys_cgroup_host own;

        enter_container();
        check(mount(NULL, "/sys/fs/cgroup", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0);
        check(sys_cgroup_host_open(&own) == 0);
        check_nothing(&own);
}

/* Below a manager that puts processes into leaves: the node above the own one. */
static void managed(void)
{
        struct sys_cgroup_host own;

        enter_branch(0);
        check(sys_cgroup_host_open(&own) == 0);
        check(strcmp(own.path[SYS_CGROUP_2] + strlen(own.path[SYS_CGROUP_2]) - strlen(name), name) == 0);
        check(sys_cgroup_can_hold(&own) == 15);
        check_box(&own, USER);
        sys_cgroup_host_close(&own);
}

/* cgroup2 is mounted nowhere: the private mount has the controllers too. */
static void unmounted(void)
{
        struct sys_cgroup_host own;

        enter_mount_namespace();
        check(umount2("/sys/fs/cgroup", MNT_DETACH) == 0);
        check(sys_cgroup_host_open(&own) == 0);
        check(own.parent[SYS_CGROUP_2] >= 0 && !own.path[SYS_CGROUP_2][0]);
        check(sys_cgroup_can_hold(&own) == 15);
        check_box(&own, USER);
        sys_cgroup_host_close(&own);
}

/* The hierarchy is covered by another mount: what lies on top of it is not taken for it. */
static void covered(void)
{
        struct sys_cgroup_host own;

        enter_mount_namespace();
        check(mount("tmpfs", "/sys/fs/cgroup", "tmpfs", 0, NULL) == 0);
        check(mkdir("/sys/fs/cgroup/leaf", 0755) == 0);
        become(USER);
        check(sys_cgroup_host_open(&own) == 0);
        check_nothing(&own);
}

static void in_branch(void (*run)(void))
{
        int status;
        pid_t pid;

        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                run();
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (exists())
                assert_int_equal(sys_cgroup_remove_at(host.parent[SYS_CGROUP_2], name, soon()), 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                fail_msg("the child ended with status 0x%x", (unsigned)status);
}

#define BRANCH_TEST(what)                                                                                    \
        static void test_##what(void **state)                                                                \
        {                                                                                                    \
                in_branch(what);                                                                             \
        }

BRANCH_TEST(delegated)
BRANCH_TEST(leaf_only)
BRANCH_TEST(delegated_elsewhere)
BRANCH_TEST(container)
BRANCH_TEST(crowded_container)
BRANCH_TEST(read_only_container)
BRANCH_TEST(managed)
BRANCH_TEST(unmounted)
BRANCH_TEST(covered)

int main(void)
{
        const struct CMUnitTest tests[] = {
                with_host(test_delegated),
                with_host(test_leaf_only),
                with_host(test_delegated_elsewhere),
                with_host(test_container),
                with_host(test_crowded_container),
                with_host(test_read_only_container),
                with_host(test_managed),
                with_host(test_unmounted),
                with_host(test_covered),
        };

        if (!has_controllers())
                return 77;
        return cmocka_run_group_tests(tests, NULL, NULL);
}
